/* The law of wake-ups, against a model: an open name with a job that could run
 * always has a wake-up pending.
 *
 * Three names with limits of 1 to 3, one of them sometimes with a rate; jobs
 * with one to three of them in two queues, which may be bounded and fair;
 * workers that stand in line and ask again only when they are woken; crashes.
 * Whenever nothing moves any more:
 *
 *  1. no name has more holders than its limit;
 *  2. if a worker stands in line of a queue, no job of that queue has room
 *     under all of its names, by the test's own count;
 *
 * and at the end, time passing only to where the engine asked to be woken,
 * every job gets its turn. LAW_SEEDS=n runs more seeds, LAW_SEED=s one.
 */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/waiter.h"
#include "util/alloc.h"
#include "util/rng.h"

#define NAMES 3
#define WORKERS 3
#define JOBS_MAX 64
#define STEPS 60

enum phase { WAITS, RUNS, ENDED };

struct mjob {
    struct id id;
    enum phase phase;
    uint32_t queue, names; /* a bit per name */
};

struct worker {
    struct waiter waiter; /* first: wake() casts */
    bool in_line, woken;
    bool both; /* asks for both queues */
    uint32_t queue;
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
    uint32_t bounds[2], busy[2]; /* of queues; 0: none */
    bool rated;
    struct mjob jobs[JOBS_MAX];
    uint32_t jobs_n;
    struct worker workers[WORKERS];
    struct lease leases[JOBS_MAX];
    uint32_t leases_n;
};

static const char *const names[NAMES] = {"a", "b", "c"};
static const char *const queues[2] = {"p", "q"};

static void broken(struct law *l, const char *what)
{
    fail_msg("%s; repeat: LAW_SEED=%llu", what, (unsigned long long)l->seed);
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
        engine_unwait(l->engine, &l->workers[i].waiter);
        l->workers[i] = (struct worker){.waiter.wake = wake};
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

static void set_limits(struct law *l)
{
    for (int i = 0; i < 2; i++) {
        l->bounds[i] = (uint32_t)below(l, 4);
        struct queue_settings q = {.has_concurrency = true,
                                   .concurrency = l->bounds[i],
                                   .has_fair = true,
                                   .fair = below(l, 2) == 0};
        if (engine_queue_set(l->engine, slice_str(queues[i]), &q, l->now,
                             &l->err) != ERR_OK)
            broken(l, l->err.text);
    }
    l->rated = below(l, 3) == 0;
    for (int i = 0; i < NAMES; i++) {
        l->limits[i] = 1 + (uint32_t)below(l, 3);
        struct limit_rule s = {.has_concurrency = true,
                               .concurrency = l->limits[i],
                               .has_rate = true};
        if (i == 0 && l->rated)
            s.rate = (struct rate){1 + below(l, 5), 1000, 0};
        if (engine_limit_set(l->engine, slice_str(names[i]), &s, l->now,
                             &l->err) != ERR_OK)
            broken(l, l->err.text);
    }
}

static void add(struct law *l)
{
    if (l->jobs_n == JOBS_MAX)
        return;
    struct mjob *j = &l->jobs[l->jobs_n];
    struct job_options o = {.given = GIVEN(LIMIT)};
    j->phase = WAITS;
    j->queue = (uint32_t)below(l, 2);
    j->names = 1 + (uint32_t)below(l, 7);
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
    if (++l->busy[j->queue] > l->bounds[j->queue] && l->bounds[j->queue] > 0)
        broken(l, "a queue leases more than its limit");
    for (int i = 0; i < NAMES; i++)
        if ((j->names >> i & 1) != 0 && ++l->used[i] > l->limits[i])
            broken(l, "more holders than the limit");
}

/* A worker asks; what it does not get it waits for. */
static void ask(struct law *l, struct worker *w, bool stand)
{
    struct slice q[2] = {slice_str(queues[w->queue]),
                         slice_str(queues[1 - w->queue])};
    struct lease_params p = {
        .queues = q, .queues_n = w->both ? 2 : 1, .count = 1};
    enum err rc;
    w->woken = false;
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
        bool moved = engine_tick(l->engine, l->now);
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

static uint32_t reserved(struct law *l, int name)
{
    struct limit_view v;
    if (engine_limit(l->engine, slice_str(names[name]), l->now, &v, &l->err) !=
        ERR_OK)
        return 0;
    return v.reserved + (v.opens_ms > l->now.wall_ms ? 100 : 0);
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
                   "job %u of %s (names %x) could run, a worker waits, nobody "
                   "wakes it: %s, %s",
                   i, queues[l->jobs[i].queue], l->jobs[i].names,
                   job_state_name(v.state), v.text);
    broken(l, what);
}

static void check_law(struct law *l)
{
    bool open[NAMES], line[2] = {false, false};
    for (int i = 0; i < NAMES; i++)
        open[i] = l->used[i] + reserved(l, i) < l->limits[i];
    for (int w = 0; w < WORKERS; w++)
        if (l->workers[w].in_line) {
            line[l->workers[w].queue] = true;
            if (l->workers[w].both)
                line[0] = line[1] = true;
        }
    for (uint32_t i = 0; i < l->jobs_n; i++) {
        const struct mjob *j = &l->jobs[i];
        bool may = j->phase == WAITS && line[j->queue] &&
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
    if (what < 35) {
        add(l);
    } else if (what < 60) {
        if (l->leases_n > 0)
            end_lease(l, (uint32_t)below(l, l->leases_n));
    } else if (what < 85) {
        struct worker *worker = &l->workers[w];
        if (worker->woken) {
            ask(l, worker, true);
        } else if (!worker->in_line) {
            worker->queue = (uint32_t)below(l, 2);
            worker->both = below(l, 3) == 0;
            ask(l, worker, below(l, 4) != 0);
        } else if (below(l, 6) == 0) {
            engine_unwait(l->engine, &worker->waiter);
            worker->in_line = false;
        }
    } else if (what < 93) {
        uint64_t ms = below(l, 200);
        l->now.wall_ms += ms;
        l->now.mono_ms += ms;
    } else if (what < 96) {
        cancel(l);
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
    }
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
    set_limits(l);
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
    if (one != NULL) {
        run_seed(strtoull(one, NULL, 10));
        return;
    }
    uint64_t n = many != NULL ? strtoull(many, NULL, 10) : 5000;
    for (uint64_t seed = 1; seed <= n; seed++)
        run_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_name_always_has_a_wake_up_pending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
