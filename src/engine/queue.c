/* Queues: pausing, looking, settings, bounds. */
#include "engine/core.h"

#include <stdio.h>

#define AGE_MS_MAX ((uint64_t)86400 * 1000)
/* For the oldest job so many are looked at. */
#define LANES_SHOWN 128
#define LANES_SEEN 1024
#define MEMBERS_SEEN 1024

/* The job that has been ready for longest among those in memory, or NULL: of
 * one priority that is a head, so those of all lanes come first. */
static const struct member *oldest_in(struct lane *const *lanes,
                                      uint32_t lanes_n)
{
    const struct member *oldest = NULL;
    uint32_t looked = 0;
    bool more = true;
    for (uint32_t n = 0; more && looked < MEMBERS_SEEN; n++) {
        more = false;
        for (uint32_t i = 0; i < lanes_n; i++) {
            const struct window *w = &lanes[i]->window;
            if (n >= w->len)
                continue;
            const struct member *m = window_at(w, n);
            more = true;
            looked++;
            if (oldest == NULL || m->since_ms < oldest->since_ms)
                oldest = m;
        }
    }
    return oldest;
}

static uint64_t oldest_ready(const struct queue *q)
{
    struct lane *lanes[LANES_SHOWN];
    uint32_t n = lanes_of(q, false, lanes, LANES_SHOWN);
    const struct member *m = oldest_in(lanes, n);
    return m == NULL ? 0 : m->since_ms;
}

static void view_of(const struct queue *q, struct queue_view *v)
{
    memset(v, 0, sizeof(*v));
    v->name = q->name;
    v->id = q->set.id;
    v->paused = q->set.paused != 0;
    v->exists = q->stored;
    memcpy(v->jobs, q->counts, sizeof(v->jobs));
    v->added = q->totals.added;
    v->leased = q->totals.leased;
    v->completed = q->totals.completed;
    v->failed = q->totals.failed;
    v->cancelled = q->totals.cancelled;
    v->expired = q->totals.expired;
    v->retried = q->totals.retried;
    v->lost = q->totals.lost;
    v->waiters = q->waiters_n;
    v->oldest_ready_ms = oldest_ready(q);
    v->maxlen = q->set.maxlen;
    v->fair = q->set.fair != 0;
    v->aging = q->set.order == SCHEME_AGING;
    v->age_ms = q->set.age_ms;
    v->lease_ms = q->set.lease_ms;
    v->concurrency = q->set.concurrency;
    v->rate = (struct rate){q->set.rate, q->set.rate_per_ms, q->set.burst};
    if (v->rate.n > 0)
        v->rate.burst = rate_burst(&v->rate);
    v->drops_oldest = q->set.drop_oldest != 0;
    v->keep_given = q->set.keep > 0;
    v->keep_ms = q->set.keep > 0 ? q->set.keep - 1 : 0;
}

static struct queue *stored_queue(struct engine *e, struct slice name)
{
    struct queue *q = queue_find(e, name);
    return q != NULL && q->stored ? q : NULL;
}

enum err engine_queue_heads(struct engine *e, struct gather *g,
                            struct slice queue, struct errbuf *err)
{
    struct lane *lanes[LANES_SHOWN];
    const struct queue *q = stored_queue(e, queue);
    if (q == NULL)
        return ERR_OK;
    return lanes_read(e, g, lanes, lanes_of(q, false, lanes, LANES_SHOWN), err);
}

/* One trip of the reader for many queues, but what it brings is taken in by the
 * loop: a bounded one, and then the next. */
enum err engine_queues_heads(struct engine *e, struct gather *g,
                             struct errbuf *err)
{
    struct lane *lanes[LANES_SHOWN];
    enum err all = ERR_OK;
    for (uint32_t i = 0, asked = 0; i < e->queues_n && asked < LANES_SHOWN;
         i++) {
        if (e->queues[i] == NULL || !e->queues[i]->stored)
            continue;
        uint32_t n = lanes_of(e->queues[i], false, lanes, LANES_SHOWN);
        enum err rc = lanes_read(e, g, lanes, n, err);
        if (rc != ERR_OK && rc != ERR_PENDING)
            return rc;
        if (rc == ERR_PENDING) {
            all = rc;
            asked += n;
        }
    }
    return all;
}

enum err engine_queue(struct engine *e, struct slice queue, struct now now,
                      struct queue_view *v, struct errbuf *err)
{
    (void)now;
    struct queue *q = stored_queue(e, queue);
    if (q == NULL)
        return err_set(err, ERR_NOTFOUND, "no such queue");
    view_of(q, v);
    return ERR_OK;
}

size_t engine_queues(struct engine *e, const struct page *page, queue_fn fn,
                     void *ud)
{
    struct page_list l = page_begin(page);
    for (uint32_t i = 0; i < e->queues_n; i++)
        if (e->queues[i] != NULL && e->queues[i]->stored)
            page_offer(&l, e->queues[i]->name, e->queues[i]);
    page_sort(&l);
    for (size_t i = 0; i < l.n; i++) {
        struct queue_view v;
        view_of(l.items[i].what, &v);
        fn(ud, &v);
    }
    size_t fit = l.fit;
    page_end(&l);
    return fit;
}

enum err engine_queue_pause(struct engine *e, struct slice queue, bool paused,
                            struct now now, struct errbuf *err)
{
    enum err rc = name_check(queue, "queue", err);
    if (rc != ERR_OK)
        return rc;
    struct queue *q = queue_make(e, queue, true);
    if (q == NULL)
        return err_set(err, ERR_LIMIT, "there are %u queues already",
                       (unsigned)e->config.names_max);
    if ((q->set.paused != 0) == paused)
        return ERR_OK;
    q->set.paused = paused;
    queue_store(e, q);
    struct event ev = {.type =
                           paused ? EVENT_QUEUE_PAUSED : EVENT_QUEUE_RESUMED,
                       .at_ms = now.wall_ms,
                       .queue = q->name,
                       .queue_id = q->set.id};
    report_event(e, &ev);
    if (!paused)
        ready_again(e, q, NULL, UINT64_MAX, now);
    return ERR_OK;
}

/* --- settings ------------------------------------------------------------ */

static enum err settings_check(const struct queue *q,
                               const struct queue_settings *s,
                               struct errbuf *err)
{
    const struct rec_queue *set = &q->set;
    bool aging =
        s->has_order ? s->order == SCHEME_AGING : set->order == SCHEME_AGING;
    if (s->has_age && s->age_ms > 0 && !aging)
        return err_set(err, ERR_SYNTAX, "AGE needs ORDER aging");
    if (s->has_age && s->age_ms > AGE_MS_MAX)
        return err_set(err, ERR_LIMIT, "AGE is above the limit of 1d");
    if (aging && (s->has_age ? s->age_ms : set->age_ms) == 0)
        return err_set(err, ERR_SYNTAX,
                       "ORDER aging needs AGE: how long a point of priority "
                       "is worth");
    if (s->has_overflow && s->overflow != 0 &&
        (s->has_maxlen ? s->maxlen : set->maxlen) == 0)
        return err_set(err, ERR_SYNTAX, "OVERFLOW drop needs MAXLEN");
    uint64_t n = s->has_rate ? s->rate.n : set->rate;
    struct rate r = {n, s->has_rate ? s->rate.per_ms : set->rate_per_ms,
                     s->has_burst  ? s->rate.burst
                     : s->has_rate ? 0
                                   : set->burst};
    return rate_check(&r, err);
}

static void settings_take(struct rec_queue *set, const struct queue_settings *s)
{
    if (s->has_concurrency)
        set->concurrency = s->concurrency;
    if (s->has_rate) {
        set->rate = s->rate.n;
        set->rate_per_ms = s->rate.n == 0 ? 0 : s->rate.per_ms;
        set->burst = 0;
    }
    if (s->has_burst)
        set->burst = s->rate.burst;
    if (s->has_maxlen)
        set->maxlen = s->maxlen;
    if (s->has_overflow)
        set->drop_oldest = s->overflow != 0;
    if (s->has_order) {
        set->order = (uint8_t)s->order;
        if (s->order == SCHEME_PRIORITY)
            set->age_ms = 0;
    }
    if (s->has_age)
        set->age_ms = s->age_ms;
    if (s->has_fair)
        set->fair = s->fair;
    if (s->has_lease)
        set->lease_ms = s->lease_ms;
    if (s->has_keep)
        set->keep = s->keep_ms == UINT64_MAX ? 0 : s->keep_ms + 1;
}

enum err engine_queue_set(struct engine *e, struct slice queue,
                          const struct queue_settings *s, struct now now,
                          struct errbuf *err)
{
    enum err rc = name_check(queue, "queue", err);
    if (rc == ERR_OK && s->has_lease && s->lease_ms > e->config.lease_ms_max)
        rc = err_set(err, ERR_LIMIT,
                     "LEASE %llu ms is above the limit of %llu ms",
                     (unsigned long long)s->lease_ms,
                     (unsigned long long)e->config.lease_ms_max);
    if (rc != ERR_OK)
        return rc;
    static const struct queue fresh;
    const struct queue *old = queue_find(e, queue);
    rc = settings_check(old == NULL ? &fresh : old, s, err);
    if (rc != ERR_OK)
        return rc;
    struct queue *q = queue_make(e, queue, true);
    if (q == NULL)
        return err_set(err, ERR_LIMIT, "there are %u queues already",
                       (unsigned)e->config.names_max);
    struct rec_queue set = q->set;
    settings_take(&set, s);
    bool reorder = set.order != q->set.order || set.age_ms != q->set.age_ms ||
                   set.fair != q->set.fair;
    q->set = set;
    q->default_lane = NULL; /* arrivals may belong elsewhere now */
    if (reorder)
        lanes_reorder(e, q);
    queue_store(e, q);
    if (set.concurrency > 0 || set.rate > 0 || q->gate != NULL) {
        struct limit *l = queue_gate(e, q);
        if (s->has_rate || s->has_burst)
            l->rate_until_ms = 0;
        limit_settle(e, l, now);
    }
    return ERR_OK;
}

/* --- dropping ------------------------------------------------------------ */

/* Its number stays, because finished jobs name it: they are found until they
 * are forgotten. A queue of the name that comes later gets the number again,
 * and nothing else of this one. */
enum err engine_queue_drop(struct engine *e, struct slice queue, struct now now,
                           struct id *chore, struct errbuf *err)
{
    struct queue *q = stored_queue(e, queue);
    if (q == NULL)
        return err_set(err, ERR_NOTFOUND, "no such queue");
    if (q->counts[JOB_RUNNING] > 0)
        return err_set(err, ERR_STATE,
                       "%llu jobs of the queue are running: PAUSE it and wait, "
                       "or CANCEL them",
                       (unsigned long long)q->counts[JOB_RUNNING]);
    enum err rc = engine_purge(e, queue, now, chore, err);
    if (rc != ERR_OK)
        return rc;
    q->set = (struct rec_queue){.id = q->set.id};
    q->default_lane = NULL;
    queue_store(e, q);
    q->totals = (struct rec_counts){0};
    queue_touch(e, q);
    if (q->gate != NULL) {
        q->gate->paid.tat_us = q->gate->rate_until_ms = 0;
        limit_dirty(e, q->gate);
        limit_settle(e, q->gate, now);
    }
    queue_hide(e, q);
    return ERR_OK;
}

/* --- MAXLEN -------------------------------------------------------------- */

/* Whether they may run now or not. */
static uint32_t lanes_with_work(const struct queue *q, struct lane **out,
                                uint32_t most)
{
    uint32_t n = lanes_of(q, false, out, most);
    LIST_FOR (it, &q->closed) {
        if (n == most)
            break;
        out[n++] = CONTAINER_OF(it, struct lane, closed);
    }
    return n;
}

static bool oldest_of(const struct queue *q, struct id *id)
{
    struct lane *lanes[LANES_SEEN];
    uint32_t n = lanes_with_work(q, lanes, LANES_SEEN);
    const struct member *m = oldest_in(lanes, n);
    if (m != NULL)
        *id = m->id;
    return m != NULL;
}

/* The lane to look at first, with members in memory if it has any: the one that
 * would be leased from, or, if none may be, another. After a start parked lanes
 * come to memory one after the other: not before the first is there. */
static enum err read_first(struct engine *e, struct gather *g, struct queue *q,
                           struct now now, struct errbuf *err)
{
    for (;;) {
        struct lane *l = lane_pick(e, q, NULL, 0);
        enum err rc;
        if (l == NULL)
            (void)lanes_with_work(q, &l, 1);
        if (l == NULL && e->scan_on && q->counts[JOB_PARKED] > 0)
            rc = park_scan(e, g, now, err);
        else if (l == NULL || !window_unread(&l->window))
            return ERR_OK;
        else
            rc = lane_refill(e, g, l, LANE_REFILL_ROWS, err);
        if (rc != ERR_OK)
            return rc;
    }
}

/* One waiting job goes, the oldest, if the entry has room for that and `more`
 * bytes. ERR_NOTFOUND: there is none. */
static enum err drop_oldest(struct engine *e, struct gather *g, struct queue *q,
                            size_t more, struct now now, struct errbuf *err)
{
    struct id id;
    struct job *j;
    enum err rc = read_first(e, g, q, now, err);
    if (rc != ERR_OK)
        return rc;
    if (!oldest_of(q, &id))
        return ERR_NOTFOUND;
    rc = job_load(e, g, &id, &j, err);
    if (rc != ERR_OK)
        return rc;
    rc = finish_gather(e, g, j, more, err);
    if (rc != ERR_OK) {
        job_drop(e, j);
        return rc;
    }
    struct outcome o = {.verb = VERB_CANCEL,
                        .reason = REASON_DROPPED,
                        .error = SLICE_LIT("dropped for a newer one: MAXLEN")};
    job_finish(e, g, j, JOB_CANCELLED, &o, now);
    return ERR_OK;
}

/* Room for `n`, if all that may go is enough for `all` of the call. What was
 * dropped for a call that then misses rows stays dropped: the call comes back
 * and needs the room. */
enum err queue_full(struct engine *e, struct gather *g, struct queue *q,
                    uint32_t n, uint32_t all, size_t bytes, struct now now,
                    struct errbuf *err)
{
    enum err rc = ERR_NOTFOUND;
    uint64_t stay =
        queue_live(q) - q->counts[JOB_READY] - q->counts[JOB_PARKED];
    if (q->set.drop_oldest != 0 && stay + all <= q->set.maxlen) {
        rc = ERR_OK;
        while (rc == ERR_OK && queue_live(q) + n > q->set.maxlen)
            rc = drop_oldest(e, g, q, bytes, now, err);
    }
    if (rc != ERR_NOTFOUND)
        return rc;
    char why[96] = "";
    if (q->set.drop_oldest != 0 && stay > 0)
        (void)snprintf(why, sizeof(why),
                       "; OVERFLOW drops ready and parked jobs only, and %llu "
                       "are neither",
                       (unsigned long long)stay);
    return err_set(err, ERR_LIMIT,
                   "queue %.*s holds %llu jobs; with %u more it would pass its "
                   "MAXLEN of %llu%s",
                   SLICE_FMT(q->name), (unsigned long long)queue_live(q),
                   (unsigned)all, (unsigned long long)q->set.maxlen, why);
}

uint64_t queue_live(const struct queue *q)
{
    uint64_t n = 0;
    for (unsigned s = JOB_BLOCKED; s <= JOB_RUNNING; s++)
        n += q->counts[s];
    return n;
}
