/* Registered workers: what they say about themselves, drain, and forgetting.
 *
 * Invariant: a worker stands in engine.workers_seen, ordered by when it was
 * last heard of, if and only if it is registered, and then it has a row.
 *
 * A session is of the worker that registered with it. Should several say so it
 * is that of the first by name, also after a start; when that one leaves it,
 * the next to send a beat has it.
 */
#include "engine/workers.h"

#include <stdlib.h>

#include "engine/core.h"

static struct worker *worker_find(const struct engine *e, struct slice name)
{
    struct map_node *n = map_get(&e->workers, hash64(name), &name);
    return n == NULL ? NULL : CONTAINER_OF(n, struct worker, by_name);
}

static struct slice row_key(struct key *k, const struct worker *w)
{
    return key_named(k, NAMED_WORKER, w->name);
}

static struct worker *of_session(const struct engine *e, struct slice session)
{
    struct map_node *n =
        map_get(&e->session_workers, hash64(session), &session);
    return n == NULL ? NULL : CONTAINER_OF(n, struct worker, by_session);
}

static void leave_session(struct engine *e, struct worker *w)
{
    if (w->has_session)
        map_remove(&e->session_workers, &w->by_session);
    w->has_session = false;
}

static void join_session(struct engine *e, struct worker *w)
{
    struct slice session = w->set.session;
    if (session.len == 0 || w->has_session)
        return;
    struct worker *has = of_session(e, session);
    if (has != NULL && slice_cmp(has->name, w->name) < 0)
        return;
    if (has != NULL)
        leave_session(e, has);
    map_add(&e->session_workers, &w->by_session, hash64(session));
    w->has_session = true;
}

/* `r` may borrow the row that it replaces. */
static void take(struct engine *e, struct worker *w, const struct rec_worker *r)
{
    struct buf row = {0};
    size_t len = rec_worker_size(r);
    rec_worker_encode(r, buf_room(&row, len));
    row.len = len;
    leave_session(e, w);
    buf_release(&w->row);
    w->row = row;
    bool good = rec_worker_decode(&w->set, buf_slice(&w->row));
    ASSERT(good);
    join_session(e, w);
}

static void keep(struct engine *e, struct worker *w)
{
    struct key k;
    memcpy(store_put(e->store, FAMILY_NAMED, row_key(&k, w), w->row.len, false),
           w->row.data, w->row.len);
}

void worker_seen(struct engine *e, struct worker *w, struct now now)
{
    w->seen_mono_ms = now.mono_ms;
    if (!w->registered)
        return;
    list_remove(&w->by_seen);
    list_append(&e->workers_seen, &w->by_seen);
}

void worker_asks(struct engine *e, struct slice name, struct now now)
{
    struct worker *w = NULL;
    if (name.len > 0 && !list_empty(&e->workers_seen))
        w = worker_find(e, name);
    if (w != NULL)
        worker_seen(e, w, now);
}

static void enlist(struct engine *e, struct worker *w, struct now now)
{
    w->registered = true;
    w->seen_mono_ms = now.mono_ms;
    list_append(&e->workers_seen, &w->by_seen);
}

static void strike_off(struct engine *e, struct worker *w)
{
    if (!w->registered)
        return;
    e->draining_n -= w->set.draining != 0;
    leave_session(e, w);
    w->registered = false;
    w->set = (struct rec_worker){0};
    list_remove(&w->by_seen);
    buf_release(&w->row);
}

void worker_release(struct engine *e, struct worker *w)
{
    strike_off(e, w);
}

/* It drains no more: those in line who were passed over may have what waits. */
static void wake_all(struct engine *e, struct now now)
{
    for (uint32_t i = 0; i < e->queues_n; i++)
        if (e->queues[i] != NULL)
            ready_again(e, e->queues[i], NULL, UINT64_MAX, now);
}

/* Forget the registration; the worker goes when it has no leases. */
static void forget(struct engine *e, struct worker *w, struct now now)
{
    struct key k;
    bool drained = w->set.draining != 0;
    store_del(e->store, FAMILY_NAMED, row_key(&k, w));
    strike_off(e, w);
    worker_drop(e, w);
    if (drained)
        wake_all(e, now);
}

struct slice worker_named(const struct engine *e, struct slice name,
                          struct slice session)
{
    if (name.len > 0 || session.len == 0)
        return name;
    const struct worker *w = of_session(e, session);
    return w == NULL ? name : w->name;
}

bool worker_draining(const struct engine *e, struct slice name,
                     struct slice session)
{
    if (e->draining_n == 0)
        return false;
    name = worker_named(e, name, session);
    const struct worker *w = name.len == 0 ? NULL : worker_find(e, name);
    return w != NULL && w->set.draining != 0;
}

/* --- beats --------------------------------------------------------------- */

static enum err put_word(struct buf *to, struct slice word, const char *what,
                         struct errbuf *err)
{
    if (word.len > NAME_MAX_LEN)
        return err_set(err, ERR_LIMIT,
                       "%s: a word has %zu bytes; at most %d are allowed", what,
                       word.len, NAME_MAX_LEN);
    buf_add_char(to, (char)(unsigned char)word.len);
    buf_add_slice(to, word);
    return ERR_OK;
}

static enum err examine(const struct beat_params *p, struct buf *queues,
                        struct buf *labels, struct errbuf *err)
{
    enum err rc = name_check(p->name, "worker", err);
    if (rc == ERR_OK && p->session.len > 0)
        rc = name_check(p->session, "session", err);
    if (rc == ERR_OK &&
        (p->queues_n > WORKER_QUEUES_MAX || p->labels_n > WORKER_LABELS_MAX))
        rc = err_set(err, ERR_LIMIT,
                     "a worker has at most %d queues and %d labels",
                     WORKER_QUEUES_MAX, WORKER_LABELS_MAX);
    for (uint32_t i = 0; rc == ERR_OK && i < p->queues_n; i++) {
        rc = name_check(p->queues[i], "queue", err);
        if (rc == ERR_OK)
            rc = put_word(queues, p->queues[i], "QUEUES", err);
    }
    for (uint32_t i = 0; rc == ERR_OK && i < p->labels_n; i++) {
        rc = put_word(labels, p->labels[i].key, "LABEL", err);
        if (rc == ERR_OK)
            rc = put_word(labels, p->labels[i].value, "LABEL", err);
    }
    return rc;
}

static void view_of(const struct engine *e, const struct worker *w,
                    struct now now, struct worker_view *v)
{
    uint64_t ago =
        now.mono_ms > w->seen_mono_ms ? now.mono_ms - w->seen_mono_ms : 0;
    *v = (struct worker_view){.name = w->name,
                              .session = w->set.session,
                              .registered = w->registered,
                              .draining = w->set.draining != 0,
                              .silent = ago > e->config.worker_silent_ms,
                              .concurrency = w->set.concurrency,
                              .leases = w->leases_n,
                              .queues = w->set.queues,
                              .labels = w->set.labels,
                              .registered_ms = w->set.registered_ms,
                              .seen_ago_ms = ago};
}

static bool same(const struct rec_worker *a, const struct rec_worker *b)
{
    return slice_eq(a->session, b->session) && slice_eq(a->queues, b->queues) &&
           slice_eq(a->labels, b->labels) && a->concurrency == b->concurrency &&
           a->draining == b->draining;
}

enum err engine_worker_beat(struct engine *e, const struct beat_params *p,
                            struct now now, struct worker_view *v,
                            struct errbuf *err)
{
    struct buf queues = {0}, labels = {0};
    enum err rc = examine(p, &queues, &labels, err);
    if (rc == ERR_OK && worker_find(e, p->name) == NULL &&
        e->workers.len >= e->config.names_max)
        rc = err_set(err, ERR_LIMIT, "there are %u workers already (max-names)",
                     (unsigned)e->config.names_max);
    if (rc == ERR_OK) {
        struct worker *w = worker_make(e, p->name);
        bool fresh = !w->registered;
        struct rec_worker r = w->set;
        if (fresh) {
            enlist(e, w, now);
            r.registered_ms = now.wall_ms;
        }
        if (p->session.len > 0)
            r.session = p->session;
        if (p->concurrency_given)
            r.concurrency = p->concurrency;
        if (p->queues_n > 0)
            r.queues = buf_slice(&queues);
        if (p->labels_n > 0)
            r.labels = buf_slice(&labels);
        worker_seen(e, w, now);
        bool moved = !slice_eq(r.session, w->set.session);
        if (fresh || !same(&r, &w->set)) {
            take(e, w, &r);
            keep(e, w);
        }
        join_session(e, w);
        if (moved && e->draining_n > 0)
            wake_all(e, now); /* the session's calls may be another's now */
        view_of(e, w, now, v);
    }
    buf_release(&queues);
    buf_release(&labels);
    return rc;
}

/* --- drain, forget, silence ---------------------------------------------- */

static enum err find(struct engine *e, struct slice name, struct worker **w,
                     struct errbuf *err)
{
    *w = worker_find(e, name);
    return *w == NULL ? err_set(err, ERR_NOTFOUND, "no such worker") : ERR_OK;
}

enum err engine_worker_drain(struct engine *e, struct slice name, bool drain,
                             struct now now, struct errbuf *err)
{
    struct worker *w;
    enum err rc = find(e, name, &w, err);
    if (rc != ERR_OK || (w->set.draining != 0) == drain)
        return rc;
    struct rec_worker r = w->set;
    if (!w->registered) {
        enlist(e, w, now);
        r.registered_ms = now.wall_ms;
    }
    r.draining = drain;
    e->draining_n += drain ? 1 : UINT32_MAX;
    take(e, w, &r);
    keep(e, w);
    if (!drain)
        wake_all(e, now);
    return ERR_OK;
}

enum err engine_worker_forget(struct engine *e, struct slice name,
                              struct now now, struct errbuf *err)
{
    struct worker *w;
    enum err rc = find(e, name, &w, err);
    if (rc == ERR_OK && w->registered)
        forget(e, w, now);
    return rc;
}

uint64_t worker_next_ms(const struct engine *e)
{
    if (list_empty(&e->workers_seen))
        return UINT64_MAX;
    const struct worker *w =
        CONTAINER_OF(list_first(&e->workers_seen), struct worker, by_seen);
    return w->seen_mono_ms + e->config.worker_forget_ms;
}

static bool waits(const struct engine *e, const struct worker *w)
{
    return wait_worker(e, w->name,
                       w->has_session ? w->set.session : SLICE_EMPTY);
}

bool worker_step(struct engine *e, struct now now, uint32_t ops)
{
    while (worker_next_ms(e) <= now.mono_ms) {
        struct worker *w =
            CONTAINER_OF(list_first(&e->workers_seen), struct worker, by_seen);
        if (ops-- == 0)
            return true;
        /* Forgotten, it would get jobs again. */
        if (w->set.draining != 0 && (w->leases_n > 0 || waits(e, w)))
            worker_seen(e, w, now);
        else
            forget(e, w, now);
    }
    return false;
}

enum err worker_load_row(struct engine *e, struct slice key, struct slice value,
                         struct now now, struct errbuf *err)
{
    uint8_t kind;
    struct slice name;
    struct rec_worker r;
    if (!key_parse_named(key, &kind, &name) || !rec_worker_decode(&r, value))
        return err_set(err, ERR_CORRUPT, "family named: bad row of a worker");
    struct worker *w = worker_make(e, name);
    enlist(e, w, now);
    take(e, w, &r);
    e->draining_n += r.draining != 0;
    return ERR_OK;
}

struct session_tally {
    const struct engine *e;
    uint64_t n;
    const char *bad;
};

static void check_one(struct map_node *n, void *ud)
{
    const struct worker *w = CONTAINER_OF(n, struct worker, by_name);
    struct session_tally *t = ud;
    if (!w->has_session)
        return;
    t->n++;
    if (!w->registered || of_session(t->e, w->set.session) != w)
        t->bad = "a worker has a session that is not its own";
}

const char *workers_check(struct engine *e)
{
    struct session_tally t = {.e = e};
    map_each(&e->workers, check_one, &t);
    if (t.bad == NULL && t.n != e->session_workers.len)
        t.bad = "a session is of a worker that does not have it";
    return t.bad;
}

/* --- looking ------------------------------------------------------------- */

enum err engine_worker(struct engine *e, struct slice name, struct now now,
                       struct worker_view *v, struct errbuf *err)
{
    struct worker *w;
    enum err rc = find(e, name, &w, err);
    if (rc == ERR_OK)
        view_of(e, w, now, v);
    return rc;
}

static void offer_one(struct map_node *n, void *ud)
{
    struct worker *w = CONTAINER_OF(n, struct worker, by_name);
    page_offer(ud, w->name, w);
}

void engine_workers(struct engine *e, const struct page *page, struct now now,
                    worker_fn fn, void *ud)
{
    struct page_list l = page_begin(page);
    map_each(&e->workers, offer_one, &l);
    page_sort(&l);
    for (size_t i = 0; i < l.n; i++) {
        struct worker_view v;
        view_of(e, l.items[i].what, now, &v);
        fn(ud, &v);
    }
    page_end(&l);
}

void engine_worker_running(struct engine *e, struct slice name, uint32_t most,
                           struct now now, running_fn fn, void *ud)
{
    const struct worker *w = worker_find(e, name);
    if (w == NULL)
        return;
    LIST_FOR (it, &w->leases) {
        const struct job *j = CONTAINER_OF(it, struct job, of_worker);
        if (most-- == 0)
            return;
        struct running_view v = {.id = j->id,
                                 .queue = j->queue->name,
                                 .handler = j->handler->name,
                                 .n = j->n,
                                 .started_ms = j->started_ms,
                                 .lease_left_ms =
                                     j->reap_mono_ms > now.mono_ms
                                         ? j->reap_mono_ms - now.mono_ms
                                         : 0};
        fn(ud, &v);
    }
}
