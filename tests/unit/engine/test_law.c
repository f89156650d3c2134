/* The law of wake-ups, against a model: an open name with a job that could run
 * always has a wake-up pending.
 *
 * Three names with limits of 1 to 3, one of them sometimes with a rate; jobs of
 * three handlers with up to three of the names in two queues, which may be
 * bounded and fair; workers, some of which may have jobs of some handlers only,
 * that stand in line and ask again only when they are woken; crashes. Limits
 * and bounds change while jobs run, names are closed until a time and opened
 * before it, queues and handlers are paused, breakers trip, workers drain.
 * Whenever nothing moves any more:
 *
 *  1. no name has more holders than its limit had when they came, and nothing
 *     was leased that was closed, paused or drained;
 *  2. if a worker stands in line that may have a job, that job does not have
 *     room under all of its names, by the test's own count;
 *
 * and at the end, time passing only to where the engine asked to be woken,
 * every job gets its turn. LAW_SEEDS=n runs more seeds from LAW_FIRST on (1),
 * LAW_SEED=s one.
 */
#include "engine/handlers.h"
#include "engine/workers.h"

#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/waiter.h"
#include "util/alloc.h"
#include "util/rng.h"

#define NAMES 3
#define HANDLERS 3
#define WORKERS 3
#define UNLIMITED 1000
#define JOBS_MAX 64
#define STEPS 60

enum phase { WAITS, RUNS, ENDED };

struct mjob {
    struct id id;
    enum phase phase;
    uint32_t queue, handler, names; /* a bit per name */
};

struct worker {
    struct waiter waiter; /* first: wake() casts */
    bool in_line, woken;
    bool both; /* asks for both queues */
    uint32_t queue;
    uint32_t handlers; /* a bit per handler; 0: any */
    bool draining;
};

struct lease {
    char token[64];
    size_t len;
    uint32_t job;
};

struct law {
    uint64_t seed;
    struct rng rng;
    struct mem_knobs knobs;
    struct mem_disk *disk;
    struct store *store;
    struct engine *engine;
    struct gather *gather;
    struct engine_config config;
    struct now now;
    struct errbuf err;
    uint32_t limits[NAMES], used[NAMES];
    uint64_t closed_ms[NAMES];         /* until when; past: it is not closed */
    uint32_t bounds[2], busy[2];       /* of queues; 0: none */
    bool paused[2], stopped[HANDLERS]; /* queues, handlers */
    const struct worker *asks;
    bool calm; /* nothing fails or changes any more */
    struct mjob jobs[JOBS_MAX];
    uint32_t jobs_n;
    struct worker workers[WORKERS];
    struct lease leases[JOBS_MAX];
    uint32_t leases_n;
};

static const char *const names[NAMES] = {"a", "b", "c"};
static const char *const queues[2] = {"p", "q"};
static const char *const handlers[HANDLERS] = {"x", "y", "z"};
static const char *const workers[WORKERS] = {"u", "v", "w"};

static void broken(struct law *l, const char *what)
{
    fail_msg("%s\nrepeat: LAW_SEED=%llu", what, (unsigned long long)l->seed);
}

static uint64_t below(struct law *l, uint64_t n)
{
    return rng_below(&l->rng, n);
}

static void wake(struct waiter *w)
{
    struct worker *worker = (struct worker *)(void *)w;
    worker->woken = true;
    worker->in_line = false;
}

static void open_engine(struct law *l)
{
    struct store_options o;
    bool done = false;
    store_options_default(&o);
    if (store_start_mem(&l->store, l->disk, &o, l->now, &l->err) != ERR_OK)
        broken(l, l->err.text);
    l->engine = engine_new(l->store, &l->config);
    while (!done)
        if (engine_load(l->engine, l->now, &done, &l->err) != ERR_OK)
            broken(l, l->err.text);
    l->gather = gather_new(l->store);
}

static void close_engine(struct law *l)
{
    for (int i = 0; i < WORKERS; i++) {
        bool draining = l->workers[i].draining;
        engine_unwait(l->engine, &l->workers[i].waiter);
        l->workers[i] =
            (struct worker){.waiter.wake = wake, .draining = draining};
    }
    gather_free(&l->gather);
    engine_free(&l->engine);
}

/* A crash loses nothing that was told: every step ends with a commit. */
static void crash(struct law *l)
{
    close_engine(l);
    mem_crash(&l->store, 0);
    open_engine(l);
}

static void fetched(void *ud)
{
    *(bool *)ud = true;
}

static void fetch(struct law *l)
{
    bool done = false;
    store_fetch(l->store, l->gather, fetched, &done);
    for (int i = 0; !done && i < 1000; i++)
        store_poll(l->store, l->now);
    if (!done)
        broken(l, "a fetch never ends");
}

/* --- steps --------------------------------------------------------------- */

static void set_queue(struct law *l, int i)
{
    l->bounds[i] = (uint32_t)below(l, 4);
    struct queue_settings q = {.has_concurrency = true,
                               .concurrency = l->bounds[i],
                               .has_fair = true,
                               .fair = below(l, 2) == 0};
    if (engine_queue_set(l->engine, slice_str(queues[i]), &q, l->now,
                         &l->err) != ERR_OK)
        broken(l, l->err.text);
}

static void set_limit(struct law *l, int i)
{
    l->limits[i] = 1 + (uint32_t)below(l, 3);
    struct limit_rule s = {
        .has_concurrency = true, .concurrency = l->limits[i], .has_rate = true};
    if (i == 0 && below(l, 3) == 0)
        s.rate = (struct rate){1 + below(l, 5), 1000, 0};
    if (engine_limit_set(l->engine, slice_str(names[i]), &s, l->now, &l->err) !=
        ERR_OK)
        broken(l, l->err.text);
}

/* Its breaker trips early and opens for a short time. */
static void set_handler(struct law *l, int i)
{
    static const struct job_options none;
    struct handler_params p = {.given = HSET_BREAKER,
                               .options = &none,
                               .breaker = below(l, 2) == 0,
                               .breaker_set = {50, 2, 1000, 300, 2}};
    if (engine_handler_set(l->engine, slice_str(handlers[i]), &p, l->now,
                           &l->err) != ERR_OK)
        broken(l, l->err.text);
}

static void set_all(struct law *l)
{
    for (int i = 0; i < 2; i++)
        set_queue(l, i);
    for (int i = 0; i < NAMES; i++)
        set_limit(l, i);
    for (int i = 0; i < HANDLERS; i++)
        set_handler(l, i);
}

static void pause_queue(struct law *l, int i, bool on)
{
    l->paused[i] = on;
    if (engine_queue_pause(l->engine, slice_str(queues[i]), on, l->now,
                           &l->err) != ERR_OK)
        broken(l, l->err.text);
}

static void pause_handler(struct law *l, int i, bool on)
{
    l->stopped[i] = on;
    if (engine_handler_pause(l->engine, slice_str(handlers[i]), on, l->now,
                             &l->err) != ERR_OK)
        broken(l, l->err.text);
}

static void drain_worker(struct law *l, int i, bool on)
{
    struct worker_view v;
    struct beat_params p = {.name = slice_str(workers[i])};
    enum err rc = engine_worker_beat(l->engine, &p, l->now, &v, &l->err);
    l->workers[i].draining = on;
    if (rc == ERR_OK && (on || below(l, 2) == 0))
        rc = engine_worker_drain(l->engine, p.name, on, l->now, &l->err);
    else if (rc == ERR_OK)
        rc = engine_worker_forget(l->engine, p.name, l->now, &l->err);
    if (rc != ERR_OK)
        broken(l, l->err.text);
}

static void break_handler(struct law *l, int i)
{
    struct slice h = slice_str(handlers[i]);
    enum err rc = below(l, 2) == 0
                      ? engine_breaker_trip(l->engine, h, 100 + below(l, 200),
                                            l->now, &l->err)
                      : engine_breaker_reset(l->engine, h, l->now, &l->err);
    if (rc != ERR_OK && rc != ERR_STATE) /* it is off */
        broken(l, l->err.text);
}

/* A name that a worker closed is open then, too. */
static void delete_limit(struct law *l, int i)
{
    enum err rc =
        engine_limit_del(l->engine, slice_str(names[i]), l->now, &l->err);
    if (rc != ERR_OK && rc != ERR_NOTFOUND)
        broken(l, l->err.text);
    l->limits[i] = UNLIMITED;
    l->closed_ms[i] = 0;
}

static bool is_closed(const struct law *l, int i)
{
    return l->closed_ms[i] > l->now.wall_ms;
}

/* A name that is closed, if there is one, is open before its time; at times
 * with another limit. */
static void open_name(struct law *l, int i)
{
    struct limit_rule s = {.open = true};
    for (int k = 0; k < NAMES && !is_closed(l, i); k++)
        i = (i + 1) % NAMES;
    if (below(l, 4) == 0) {
        s.has_concurrency = true;
        s.concurrency = l->limits[i] = 1 + (uint32_t)below(l, 3);
    }
    if (engine_limit_set(l->engine, slice_str(names[i]), &s, l->now, &l->err) !=
        ERR_OK)
        broken(l, l->err.text);
    l->closed_ms[i] = 0;
}

static void change(struct law *l)
{
    int queue = (int)below(l, 2), name = (int)below(l, NAMES);
    int handler = (int)below(l, HANDLERS), worker = (int)below(l, WORKERS);
    switch (below(l, 9)) {
    case 0:
        set_queue(l, queue);
        break;
    case 1:
        pause_queue(l, queue, !l->paused[queue]);
        break;
    case 2:
        set_limit(l, name);
        break;
    case 3:
        delete_limit(l, name);
        break;
    case 4:
        pause_handler(l, handler, !l->stopped[handler]);
        break;
    case 5:
        break_handler(l, handler);
        break;
    case 6:
        set_handler(l, handler);
        break;
    case 7:
        open_name(l, name);
        break;
    default:
        drain_worker(l, worker, !l->workers[worker].draining);
        break;
    }
}

static void add(struct law *l)
{
    if (l->jobs_n == JOBS_MAX)
        return;
    struct mjob *j = &l->jobs[l->jobs_n];
    struct job_options o = {.given = GIVEN(LIMIT) | GIVEN(HANDLER) |
                                     GIVEN(RETRIES) | GIVEN(BACKOFF) |
                                     GIVEN(BASE),
                            .retries = 1000,
                            .backoff = BACKOFF_FIXED,
                            .base_ms = 20};
    j->phase = WAITS;
    j->queue = (uint32_t)below(l, 2);
    j->handler = (uint32_t)below(l, HANDLERS);
    o.handler = slice_str(handlers[j->handler]);
    j->names = (uint32_t)below(l, 8);
    uint32_t first = (uint32_t)below(l, NAMES); /* in any order */
    for (uint32_t i = 0; i < NAMES; i++)
        if ((j->names >> (first + i) % NAMES & 1) != 0)
            o.limits[o.limits_n++] = slice_str(names[(first + i) % NAMES]);
    if (below(l, 4) == 0) {
        o.given |= GIVEN(PRIORITY);
        o.priority = (uint32_t)below(l, 1001);
    }
    if (below(l, 3) == 0) {
        o.given |= GIVEN(OWNER);
        o.owner = slice_str(below(l, 2) == 0 ? "o1" : "o2");
    }
    if (below(l, 8) == 0) {
        o.given |= GIVEN(DELAY);
        o.delay_ms = below(l, 300);
    }
    struct slice payload = SLICE_LIT("x");
    struct add_params p = {.queue = slice_str(queues[j->queue]),
                           .payloads = &payload,
                           .n = 1,
                           .options = &o};
    struct add_result r;
    enum err rc;
    while ((rc = engine_add(l->engine, l->gather, &p, l->now, &r, &l->err)) ==
           ERR_PENDING)
        fetch(l);
    gather_release(l->gather);
    if (rc != ERR_OK)
        broken(l, l->err.text);
    j->id = r.id;
    l->jobs_n++;
}

static void on_lease(void *ud, const struct lease_view *v)
{
    struct law *l = ud;
    struct lease *lease = &l->leases[l->leases_n++];
    lease->len = v->token.len;
    memcpy(lease->token, v->token.data, v->token.len);
    for (lease->job = 0; lease->job < l->jobs_n; lease->job++)
        if (id_eq(&l->jobs[lease->job].id, &v->id))
            break;
    struct mjob *j = &l->jobs[lease->job];
    if (lease->job == l->jobs_n || j->phase != WAITS)
        broken(l, "a job was leased that does not wait");
    j->phase = RUNS;
    if (l->paused[j->queue] || l->stopped[j->handler] || l->asks->draining)
        broken(l, "a job was leased from what is paused, or by whom drains");
    if (l->asks->handlers != 0 && (l->asks->handlers >> j->handler & 1) == 0)
        broken(l, "a worker got a job of another handler");
    if (++l->busy[j->queue] > l->bounds[j->queue] && l->bounds[j->queue] > 0)
        broken(l, "a queue leases more than its limit");
    for (int i = 0; i < NAMES; i++) {
        if ((j->names >> i & 1) == 0)
            continue;
        if (++l->used[i] > l->limits[i])
            broken(l, "more holders than the limit");
        if (is_closed(l, i))
            broken(l, "a job was leased under a name that is closed");
    }
}

/* A worker asks; what it does not get it waits for. */
static void ask(struct law *l, struct worker *w, bool stand)
{
    struct slice q[2] = {slice_str(queues[w->queue]),
                         slice_str(queues[1 - w->queue])};
    struct slice h[HANDLERS];
    struct lease_params p = {.queues = q,
                             .queues_n = w->both ? 2 : 1,
                             .count = 1,
                             .worker = slice_str(workers[w - l->workers]),
                             .handlers = h};
    for (uint32_t i = 0; i < HANDLERS; i++)
        if ((w->handlers >> i & 1) != 0)
            h[p.handlers_n++] = slice_str(handlers[i]);
    enum err rc;
    w->woken = false;
    l->asks = w;
    while ((rc = engine_lease(l->engine, l->gather, &p, l->now, on_lease, l,
                              &l->err)) == ERR_PENDING)
        fetch(l);
    gather_release(l->gather);
    if (rc == ERR_EMPTY && stand) {
        engine_wait_lease(l->engine, &w->waiter, &p);
        w->in_line = true;
    } else if (rc == ERR_OK || rc == ERR_EMPTY) {
        engine_unwait(l->engine, &w->waiter);
        w->in_line = false;
    } else {
        broken(l, l->err.text);
    }
}

static void on_verdict(void *ud, uint32_t i, enum err rc, const char *why)
{
    struct law *l = ud;
    (void)i;
    if (rc != ERR_OK)
        broken(l, why);
}

/* It will run again; one of its names may be closed for a while. */
static enum err fail_lease(struct law *l, const struct slice *token)
{
    struct nack_params p = {.tokens = token, .n = 1};
    enum err rc;
    if (below(l, 2) == 0) {
        uint64_t name = below(l, NAMES);
        p.close = slice_str(names[name]);
        p.close_ms = l->now.wall_ms + below(l, 300);
        if (p.close_ms > l->closed_ms[name])
            l->closed_ms[name] = p.close_ms;
    }
    while ((rc = engine_nack(l->engine, l->gather, &p, l->now, on_verdict, l,
                             &l->err)) == ERR_PENDING)
        fetch(l);
    return rc;
}

static void end_lease(struct law *l, uint32_t i)
{
    struct lease lease = l->leases[i];
    struct mjob *j = &l->jobs[lease.job];
    struct slice token = slice_of(lease.token, lease.len);
    l->leases[i] = l->leases[--l->leases_n];
    l->busy[j->queue]--;
    for (int k = 0; k < NAMES; k++)
        l->used[k] -= j->names >> k & 1;
    enum err rc;
    if (below(l, 4) == 0) {
        j->phase = WAITS;
        while ((rc = engine_release(l->engine, l->gather, &token, 1, NULL,
                                    l->now, on_verdict, l, &l->err)) ==
               ERR_PENDING)
            fetch(l);
    } else if (below(l, 8) == 0) {
        j->phase = WAITS;
        engine_lease_undo(l->engine, &token, 1, l->now);
        rc = ERR_OK;
    } else if (!l->calm && below(l, 4) == 0) {
        j->phase = WAITS;
        rc = fail_lease(l, &token);
    } else {
        struct ack_params p = {.tokens = &token, .n = 1};
        j->phase = ENDED;
        while ((rc = engine_ack(l->engine, l->gather, &p, l->now, on_verdict, l,
                                &l->err)) == ERR_PENDING)
            fetch(l);
    }
    gather_release(l->gather);
    if (rc != ERR_OK)
        broken(l, l->err.text);
}

static void cancel(struct law *l)
{
    uint32_t i = l->jobs_n == 0 ? 0 : (uint32_t)below(l, l->jobs_n);
    if (l->jobs_n == 0 || l->jobs[i].phase != WAITS)
        return;
    enum err rc;
    char text[ID_TEXT_LEN];
    id_text(&l->jobs[i].id, text);
    struct slice job = slice_of(text, ID_TEXT_LEN);
    struct manage_params p = {.verb = MANAGE_CANCEL, .jobs = &job, .n = 1};
    while ((rc = engine_manage(l->engine, l->gather, &p, l->now, on_verdict, l,
                               &l->err)) == ERR_PENDING)
        fetch(l);
    gather_release(l->gather);
    if (rc != ERR_OK)
        broken(l, l->err.text);
    l->jobs[i].phase = ENDED;
}

/* --- the law ------------------------------------------------------------- */

/* Until nothing moves: timers that are due, workers that were woken. */
static void settle(struct law *l)
{
    for (int i = 0; i < 100000; i++) {
        bool moved = engine_reap(l->engine, l->now);
        moved = engine_tick(l->engine, l->now) || moved;
        store_poll(l->store, l->now);
        uint64_t next = engine_next_ms(l->engine, l->now);
        if (next <= l->now.mono_ms || (next == UINT64_MAX && i < 20))
            moved = true;
        for (int w = 0; w < WORKERS; w++)
            if (l->workers[w].woken) {
                ask(l, &l->workers[w], true);
                moved = true;
            }
        engine_commit(l->engine, l->now);
        store_poll(l->store, l->now);
        if (!moved)
            return;
    }
    broken(l, "it never comes to rest");
}

/* Whether a name is closed the test knows by itself; what its rate says, and
 * how many slots are kept for those that need others, too, the engine does. */
static bool has_room(struct law *l, int name)
{
    struct limit_view v = {.reserved = 0};
    enum err rc =
        engine_limit(l->engine, slice_str(names[name]), l->now, &v, &l->err);
    if (rc != ERR_OK && rc != ERR_NOTFOUND)
        broken(l, l->err.text);
    if (v.closed_ms != (is_closed(l, name) ? l->closed_ms[name] : 0))
        broken(l, "a name is closed until another time than was said");
    return v.opens_ms <= l->now.wall_ms &&
           l->used[name] + v.reserved < l->limits[name];
}

/* Neither paused nor held back by its breaker. */
static bool handler_runs(struct law *l, uint32_t i)
{
    struct handler_view v;
    if (engine_handler(l->engine, slice_str(handlers[i]), l->now, &v,
                       &l->err) != ERR_OK)
        broken(l, l->err.text);
    if (l->stopped[i] || v.breaker.state == BREAKER_OPEN)
        return false;
    return v.breaker.state == BREAKER_CLOSED ||
           v.breaker.probing <= v.breaker.probed_well;
}

static bool wants(const struct worker *w, const struct mjob *j)
{
    return w->in_line && !w->draining && (w->both || w->queue == j->queue) &&
           (w->handlers == 0 || (w->handlers >> j->handler & 1) != 0);
}

static bool delayed(struct law *l, const struct mjob *j)
{
    char text[ID_TEXT_LEN];
    struct why_view v;
    id_text(&j->id, text);
    if (engine_why(l->engine, NULL, slice_of(text, ID_TEXT_LEN), l->now, &v,
                   &l->err) != ERR_OK)
        broken(l, l->err.text);
    return v.state == JOB_SCHEDULED || v.state == JOB_RETRYING;
}

static void tell(struct law *l, uint32_t i)
{
    char text[ID_TEXT_LEN], what[400];
    struct why_view v;
    id_text(&l->jobs[i].id, text);
    if (engine_why(l->engine, NULL, slice_of(text, ID_TEXT_LEN), l->now, &v,
                   &l->err) != ERR_OK)
        broken(l, l->err.text);
    (void)snprintf(what, sizeof(what),
                   "job %u of %s (handler %s, names %x) could run, a worker "
                   "waits, nobody wakes it: %s, %s",
                   i, queues[l->jobs[i].queue], handlers[l->jobs[i].handler],
                   l->jobs[i].names, job_state_name(v.state), v.text);
    broken(l, what);
}

static void check_law(struct law *l)
{
    bool open[NAMES], runs[HANDLERS];
    for (int i = 0; i < NAMES; i++)
        open[i] = has_room(l, i);
    for (uint32_t i = 0; i < HANDLERS; i++)
        runs[i] = handler_runs(l, i);
    for (uint32_t i = 0; i < l->jobs_n; i++) {
        const struct mjob *j = &l->jobs[i];
        bool line = false;
        for (int w = 0; w < WORKERS; w++)
            line |= wants(&l->workers[w], j);
        bool may = j->phase == WAITS && line && runs[j->handler] &&
                   !l->paused[j->queue] &&
                   (l->bounds[j->queue] == 0 ||
                    l->busy[j->queue] < l->bounds[j->queue]);
        for (int k = 0; k < NAMES && may; k++)
            may = (j->names >> k & 1) == 0 || open[k];
        if (may && !delayed(l, j))
            tell(l, i);
    }
}

static void step(struct law *l)
{
    uint64_t what = below(l, 100);
    uint32_t w = (uint32_t)below(l, WORKERS);
    if (what < 30) {
        add(l);
    } else if (what < 50) {
        if (l->leases_n > 0)
            end_lease(l, (uint32_t)below(l, l->leases_n));
    } else if (what < 73) {
        struct worker *worker = &l->workers[w];
        if (worker->woken) {
            ask(l, worker, true);
        } else if (!worker->in_line) {
            worker->queue = (uint32_t)below(l, 2);
            worker->both = below(l, 3) == 0;
            worker->handlers =
                below(l, 2) == 0 ? 0 : (uint32_t)below(l, 1 << HANDLERS);
            ask(l, worker, below(l, 4) != 0);
        } else if (below(l, 6) == 0) {
            engine_unwait(l->engine, &worker->waiter);
            worker->in_line = false;
        }
    } else if (what < 82) {
        uint64_t ms = below(l, 200);
        l->now.wall_ms += ms;
        l->now.mono_ms += ms;
    } else if (what < 85) {
        cancel(l);
    } else if (what < 96) {
        change(l);
    } else {
        engine_commit(l->engine, l->now);
        crash(l);
    }
}

/* Nobody adds, everybody works: all jobs end, or the engine forgot one. */
static void drain(struct law *l)
{
    for (int w = 0; w < WORKERS; w++) {
        engine_unwait(l->engine, &l->workers[w].waiter);
        l->workers[w].in_line = l->workers[w].woken = false;
        drain_worker(l, w, false);
    }
    l->calm = true;
    l->workers[0].handlers = 0; /* somebody may have everything */
    for (int i = 0; i < 2; i++)
        pause_queue(l, i, false);
    for (int i = 0; i < HANDLERS; i++)
        pause_handler(l, i, false);
    for (int turn = 0; turn < 4000; turn++) {
        settle(l);
        check_law(l);
        for (int w = 0; w < WORKERS; w++)
            if (!l->workers[w].in_line) {
                l->workers[w].both = true;
                ask(l, &l->workers[w], true);
            }
        if (l->leases_n > 0) {
            end_lease(l, (uint32_t)below(l, l->leases_n));
            continue;
        }
        uint32_t left = 0;
        for (uint32_t i = 0; i < l->jobs_n; i++)
            left += l->jobs[i].phase != ENDED;
        if (left == 0)
            return;
        uint64_t next = engine_next_ms(l->engine, l->now);
        if (next == UINT64_MAX)
            broken(l, "jobs wait, nothing runs, no wake-up is pending");
        if (next > l->now.mono_ms) {
            l->now.wall_ms += next - l->now.mono_ms;
            l->now.mono_ms = next;
        }
    }
    broken(l, "jobs never get their turn");
}

static void run_seed(uint64_t seed)
{
    struct law *l = NEW(struct law);
    l->seed = seed;
    rng_seed(&l->rng, seed);
    l->knobs.seed = seed;
    l->knobs.pending_per_1000 = below(l, 2) == 0 ? 0 : 100;
    l->disk = mem_disk_new(&l->knobs);
    engine_config_default(&l->config);
    l->config.lease_ms = l->config.lease_ms_max;
    if (below(l, 2) == 0) { /* most of it is on disk only */
        l->config.window_lane = 2 + (uint32_t)below(l, 4);
        l->config.window_due = 4;
        l->config.jobs_in_memory = 4;
    }
    l->now = (struct now){1700000000000, 5000};
    for (int i = 0; i < WORKERS; i++)
        l->workers[i].waiter.wake = wake;
    open_engine(l);
    set_all(l);
    for (int i = 0; i < STEPS; i++) {
        step(l);
        if (below(l, 4) == 0) {
            engine_commit(l->engine, l->now); /* a crash may be next */
        } else {
            settle(l);
            check_law(l);
        }
        if (seed % 16 == 0) {
            engine_commit(l->engine, l->now);
            if (engine_check(l->engine, &l->err) != ERR_OK)
                broken(l, l->err.text);
        }
    }
    drain(l);
    if (engine_check(l->engine, &l->err) != ERR_OK)
        broken(l, l->err.text);
    close_engine(l);
    store_abandon(&l->store);
    mem_disk_free(&l->disk);
    mem_free(l);
}

static void an_open_name_always_has_a_wake_up_pending(void **state)
{
    (void)state;
    const char *one = getenv("LAW_SEED"), *many = getenv("LAW_SEEDS");
    const char *from = getenv("LAW_FIRST");
    if (one != NULL) {
        run_seed(strtoull(one, NULL, 10));
        return;
    }
    uint64_t n = many != NULL ? strtoull(many, NULL, 10) : 5000;
    uint64_t first = from != NULL ? strtoull(from, NULL, 10) : 1;
    if (many != NULL)
        print_message("seed %llu\n", (unsigned long long)first);
    for (uint64_t seed = first; seed < first + n; seed++)
        run_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_name_always_has_a_wake_up_pending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
