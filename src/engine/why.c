/* Why a job does not run: the nearest reason first. And when it may. */
#include "engine/core.h"

#include <stdarg.h>
#include <stdio.h>

/* --- pace ---------------------------------------------------------------- */

#define PACE_MS 10000

/* Leases of the present and the last ten seconds. */
void pace_note(struct queue *q, struct now now)
{
    uint64_t age = now.mono_ms - q->pace_from_ms;
    if (age >= PACE_MS) {
        q->pace_before = age < 2 * PACE_MS ? q->pace_n : 0;
        q->pace_from_ms = now.mono_ms;
        q->pace_n = 0;
    }
    q->pace_n++;
}

/* How long until so many more are leased, in ms, or -1. */
static int64_t pace_estimate(const struct queue *q, const struct handler *h,
                             uint64_t ahead, bool waited, struct now now)
{
    uint64_t age = now.mono_ms - q->pace_from_ms;
    if (q->set.paused != 0 || !h->open)
        return -1; /* the pace says nothing about when they open */
    if (ahead == 0 && waited)
        return 0;
    if (age >= 2 * PACE_MS || q->pace_n + q->pace_before == 0)
        return -1; /* nobody leases */
    /* The last period counts by what is left of it in the last ten seconds. */
    uint64_t left = age < PACE_MS ? PACE_MS - age : 0;
    uint64_t n = q->pace_n * PACE_MS + q->pace_before * left;
    if (n == 0)
        return -1;
    uint64_t ms = ahead > UINT64_MAX / PACE_MS / PACE_MS
                      ? INT64_MAX
                      : ahead * PACE_MS * PACE_MS / n;
    return ms > INT64_MAX ? INT64_MAX : (int64_t)ms;
}

int64_t start_estimate_last(const struct queue *q, const struct handler *h,
                            struct now now)
{
    return pace_estimate(q, h, q->counts[JOB_READY] - 1, false, now);
}

/* --- place in line ------------------------------------------------------- */

struct place {
    const struct queue *queue;
    const struct share *share; /* of one owner only, or NULL */
    uint64_t order;
    struct id id;
    uint64_t before;
    bool exact; /* that many are, and no more */
    bool whole; /* all of its line were looked at */
};

/* By the queue's present formula, as lanes compete. */
static bool stands_before(const struct lane *l, const struct member *m,
                          const struct place *line)
{
    uint64_t order = lane_order_now(l, m);
    return order < line->order ||
           (order == line->order && id_cmp(&m->id, &line->id) < 0);
}

static void count_lane(const struct lane *l, struct place *line)
{
    uint32_t low = 0, high = l->window.len;
    /* Members are sorted; by an older formula only nearly. */
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (stands_before(l, window_at(&l->window, mid), line))
            low = mid + 1;
        else
            high = mid;
    }
    line->before += low;
    if (low == l->window.len && !l->window.complete)
        line->exact = line->whole = false; /* others are on disk only */
}

/* Between owners the order is that of turns, so this is the place in the
 * owner's own line, and in that of the queue at least that. */
static void count_line(const struct queue *q, struct place *line)
{
    line->exact = q->shares_n <= 1;
    LIST_FOR (it, &line->share->parts) {
        const struct part *p = CONTAINER_OF(it, struct part, in_share);
        const struct line_node *n = NULL;
        while ((n = line_next(&p->lanes, n)) != NULL) {
            const struct lane *l = CONTAINER_OF(n, struct lane, in_part);
            if (!lane_dead(l))
                count_lane(l, line);
        }
    }
}

#define LANES_COUNTED 128 /* parked under a name */

/* Behind others of a closed name. Those of other queues, or of other owners in
 * a fair one, come whenever somebody asks for them. */
static void count_name(const struct lane *own, struct place *line)
{
    uint32_t looked = 0;
    line->exact = true;
    count_lane(own, line);
    LIST_FOR (it, &own->limit->groups) {
        struct park_group *g = CONTAINER_OF(it, struct park_group, in_limit);
        LIST_FOR (at, &g->lanes) {
            const struct lane *l = CONTAINER_OF(at, struct lane, in_group);
            if (looked++ == LANES_COUNTED) {
                line->exact = false;
                return;
            }
            if (l == own || lane_dead(l) || window_nothing(&l->window))
                continue;
            if (l->part->share == line->share)
                count_lane(l, line);
            else
                line->exact = false;
        }
    }
}

/* --- reasons ------------------------------------------------------------- */

static void say_why(struct why_view *v, const char *reason, struct slice name,
                    const char *fmt, ...) PRINTF_LIKE(4, 5);
static void say_why(struct why_view *v, const char *reason, struct slice name,
                    const char *fmt, ...)
{
    va_list args;
    v->reason = slice_str(reason);
    v->name = name;
    va_start(args, fmt);
    (void)vsnprintf(v->text, sizeof(v->text), fmt, args);
    va_end(args);
}

#define SHOWN(s) (int)((s).len > 40 ? 40 : (s).len), (s).data

/* Before it opens nothing starts, and then one after the other. */
static void estimate_limited(const struct limit_view *s, struct now now,
                             struct why_view *v)
{
    uint64_t ms = s->opens_ms > now.wall_ms ? s->opens_ms - now.wall_ms : 0;
    if (s->rate.n > 0)
        ms += (v->place - 1) * s->rate.per_ms / s->rate.n;
    if (v->start_estimate_ms >= 0 && (uint64_t)v->start_estimate_ms < ms)
        v->start_estimate_ms = (int64_t)ms;
}

static void why_limit(struct engine *e, struct limit *l, const struct job *j,
                      struct now now, struct why_view *v)
{
    struct limit_view s = {0};
    /* A queue counts starts, whatever they cost. */
    limit_view_of(e, l, l->queue != NULL ? 1 : j->cost, now, &s);
    uint64_t shut_ms = limit_shut_ms(l, now);
    bool behind = s.opens_ms == 0 && shut_ms > 0;
    if (s.opens_ms < shut_ms)
        s.opens_ms = shut_ms;
    v->changes_ms = s.opens_ms;
    estimate_limited(&s, now, v);
    if (s.full && l->queue == NULL)
        v->start_estimate_ms = -1; /* when a slot is free nobody knows */
    if (s.full)
        say_why(v, l->queue != NULL ? "queue limit" : "limit", l->name,
                "%.*s has %u of %u slots in use%s", SHOWN(l->name),
                s.running + s.reserved, s.concurrency,
                s.reserved > 0 ? ", some of them reserved" : "");
    else if (s.closed_ms > 0)
        say_why(v, "limit closed", l->name, "%.*s was closed by a worker",
                SHOWN(l->name));
    else if (behind)
        say_why(v, "rate", l->name,
                "one that costs more is before it, and waits for the rate of "
                "%.*s",
                SHOWN(l->name));
    else if (s.opens_ms > 0)
        say_why(v, l->queue != NULL ? "queue rate" : "rate", l->name,
                "%.*s has used up its rate of %llu per %llu ms", SHOWN(l->name),
                (unsigned long long)s.rate.n,
                (unsigned long long)s.rate.per_ms);
    else
        say_why(v, "in line", l->name, "%.*s is open; a worker may take it",
                SHOWN(l->name));
}

/* How many start before it, where more may than were counted: all others, if
 * they are not in memory, else as many of each owner. */
static uint64_t started_before(const struct job *j, const struct place *line)
{
    const struct queue *q = line->queue;
    uint64_t all = q->counts[JOB_READY] - (j->state == JOB_READY);
    uint64_t turns = (line->before + 1) * q->shares_n - 1;
    if (line->exact || all < line->before)
        return line->before;
    return line->whole && turns < all ? turns : all;
}

/* `exactly`: also where that takes a look at many jobs. */
static void why_ready(struct engine *e, struct job *j, bool waited,
                      bool exactly, struct now now, struct why_view *v)
{
    struct queue *q = j->queue;
    struct lane *l = j->parked != NULL ? j->parked : j->lane;
    struct limit *full = NULL;
    struct place line = {.queue = q, .share = l->part->share, .id = j->id};
    enum breaker_state breaker;
    struct member self = {.order = j->order,
                          .since_ms = j->since_ms & WALL_MS_MAX,
                          .priority = MEMBER_PRIORITY(j->priority)};
    line.order = lane_order_now(l, &self);
    line.whole = true;
    if (j->parked != NULL && !j->parked->limit->open)
        count_name(l, &line);
    else
        count_line(q, &line);
    if (exactly && !line.exact && q->set.fair != 0)
        line.exact = shares_foretell(e, j, &line.before);
    v->place = line.before + 1;
    v->place_exact = line.exact;
    v->start_estimate_ms =
        pace_estimate(q, j->handler, started_before(j, &line), waited, now);
    if (q->set.paused != 0)
        say_why(v, "queue paused", q->name, "queue %.*s is paused",
                SHOWN(q->name));
    else if (j->handler->set.paused != 0)
        say_why(v, "handler paused", j->handler->name, "handler %.*s is paused",
                SHOWN(j->handler->name));
    else if (breaker_why(j->handler, &breaker, &v->changes_ms))
        say_why(v, breaker == BREAKER_OPEN ? "breaker open" : "breaker probing",
                j->handler->name, "the breaker of handler %.*s is %s",
                SHOWN(j->handler->name), breaker_state_name(breaker));
    else if (j->parked != NULL && !j->parked->limit->open)
        why_limit(e, j->parked->limit, j, now, v);
    else if (q->gate != NULL && !limit_admits(e, q->gate, 1, now))
        why_limit(e, q->gate, j, now, v);
    else if (job_limited(e, j) && (full = limit_in_the_way(e, j, now)) != NULL)
        why_limit(e, full, j, now, v); /* under which it will be moved */
    else if (j->parked != NULL)
        why_limit(e, j->parked->limit, j, now, v);
    else if (line.before == 0 && line.exact && q->waiters_n == 0)
        say_why(v, "no worker", q->name,
                "it is the next of queue %.*s; no worker waits for it",
                SHOWN(q->name));
    else
        say_why(v, "in line", q->name, "%s%llu in line of queue %.*s",
                line.exact ? "number " : "at least number ",
                (unsigned long long)v->place, SHOWN(q->name));
}

int64_t start_estimate(struct engine *e, struct job *j, bool waited,
                       struct now now)
{
    struct why_view v = {.start_estimate_ms = -1};
    why_ready(e, j, waited, false, now, &v);
    return v.start_estimate_ms;
}

static void why_running(const struct job *j, struct why_view *v)
{
    bool stops = (j->run_flags & RUNF_CANCEL) != 0;
    const char *reason = stops ? "cancelling" : "running";
    const char *told = stops ? "; it was told to stop" : "";
    if (j->worker != NULL)
        say_why(v, reason, j->worker->name, "worker %.*s has it, delivery %u%s",
                SHOWN(j->worker->name), j->n, told);
    else
        say_why(v, reason, SLICE_EMPTY, "it is leased, delivery %u%s", j->n,
                told);
}

static void why_live(struct engine *e, struct job *j, bool exactly,
                     struct now now, struct why_view *v)
{
    switch ((enum job_state)j->state) {
    case JOB_READY:
    case JOB_PARKED:
        why_ready(e, j, j->queue->waiters_n > 0, exactly, now, v);
        return;
    case JOB_SCHEDULED:
        v->changes_ms = j->since_ms;
        say_why(v, "scheduled", SLICE_EMPTY, "it starts no earlier");
        break;
    case JOB_RETRYING:
        v->changes_ms = j->since_ms;
        say_why(v, "retrying", SLICE_EMPTY,
                "%u failed and %u lost executions; it will run again",
                j->failures, j->crashes);
        break;
    case JOB_HELD:
        say_why(v, "held", SLICE_EMPTY, "it is held until JOB.UNHOLD");
        return;
    case JOB_BLOCKED:
        say_why(v, "blocked", SLICE_EMPTY, "jobs that it comes after live");
        return;
    default:
        ASSERT(j->state == JOB_RUNNING);
        why_running(j, v);
        return;
    }
    v->start_estimate_ms = v->changes_ms > now.wall_ms
                               ? (int64_t)(v->changes_ms - now.wall_ms)
                               : 0;
}

static void no_later(struct why_view *v, uint64_t at_ms)
{
    if (v->changes_ms == 0 || at_ms < v->changes_ms)
        v->changes_ms = at_ms;
}

static void no_later_mono(struct why_view *v, uint64_t mono_ms, struct now now)
{
    uint64_t left = mono_ms > now.mono_ms ? mono_ms - now.mono_ms : 0;
    no_later(v, now.wall_ms + left);
}

/* What happens to it at a time, whatever it waits for until then. */
static void look_at_clocks(const struct job *j, struct now now,
                           struct why_view *v)
{
    struct rec_more m;
    bool running = j->state == JOB_RUNNING;
    job_more(j, &m);
    if (running)
        no_later_mono(v, j->reap_mono_ms, now);
    if (running && j->session != NULL && j->session->clients_n == 0)
        no_later_mono(v, j->session->ends_mono_ms, now);
    if (running && (j->flags & JOBF_CANCEL) != 0)
        no_later(v, m.cancel_at_ms);
    if (!running && (j->flags & JOBF_EXPIRES) != 0 && !job_tried(j))
        no_later(v, m.expires_at_ms);
    if ((j->flags & JOBF_DEADLINE) != 0)
        no_later(v, m.deadline_at_ms);
}

int64_t job_estimate(struct engine *e, const struct id *id, struct now now)
{
    struct why_view v = {.start_estimate_ms = -1};
    struct errbuf err;
    struct job *j;
    if (job_load(e, NULL, id, &j, &err) != ERR_OK)
        return -1;
    why_live(e, j, false, now, &v);
    job_drop(e, j);
    return v.start_estimate_ms;
}

enum err engine_why(struct engine *e, struct gather *g, struct slice ref,
                    struct now now, struct why_view *v, struct errbuf *err)
{
    struct job *j;
    memset(v, 0, sizeof(*v));
    v->start_estimate_ms = -1;
    enum err rc = engine_find(e, g, ref, &v->id, err);
    if (rc != ERR_OK)
        return rc;
    rc = job_load(e, g, &v->id, &j, err);
    if (rc == ERR_OK) {
        v->state = (enum job_state)j->state;
        why_live(e, j, true, now, v);
        look_at_clocks(j, now, v);
        job_drop(e, j);
        return ERR_OK;
    }
    if (rc != ERR_NOTFOUND)
        return rc;
    rc = job_state_of(e, g, &v->id, &v->state, err);
    if (rc == ERR_NOTFOUND)
        return err_set(err, rc, "no such job");
    if (rc == ERR_OK)
        say_why(v, job_state_name(v->state), SLICE_EMPTY, "it has ended: %s",
                job_state_name(v->state));
    return rc;
}
