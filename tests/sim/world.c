#include "world_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/alloc.h"

#define APPLY_ALL 1000 /* generations: more than there are */
/* The overlay takes so many; with three in it, the base is busy. */
#define BUSY_GENERATIONS 8
#define NODES_BYTES 16000 /* of a small one: a node for each family */

static const char *const queue_names[] = {"mail", "report", "{a}.b", "clock"};

void note(struct world *w, uint64_t a, uint64_t b)
{
    uint64_t both[3] = {w->r->hash, a, b};
    w->r->hash = hash64(slice_of(both, sizeof(both)));
}

void violate_job(struct world *w, uint32_t k, const char *what)
{
    if (what == NULL || w->r->violation[0] != '\0')
        return;
    (void)snprintf(w->r->violation, sizeof(w->r->violation),
                   "%s (job %u, op %llu, wall %llu)", what, k,
                   (unsigned long long)w->r->ops,
                   (unsigned long long)w->now.wall_ms);
    w->r->at_op = w->r->ops;
}

void violate(struct world *w, const struct op *op, const char *what)
{
    if (what != NULL)
        violate_job(w, op == NULL ? 0 : op->k, what);
}

void trace(const struct world *w, const char *fmt, ...)
{
    if (!w->o->trace)
        return;
    va_list ap;
    (void)printf("%llu/%llu ", (unsigned long long)w->now.wall_ms,
                 (unsigned long long)w->now.mono_ms);
    va_start(ap, fmt);
    (void)vprintf(fmt, ap);
    va_end(ap);
    (void)putchar('\n');
}

bool chance(struct world *w, uint32_t per_1000)
{
    return rng_below(&w->rng, 1000) < per_1000;
}

/* Are there schedules to be watched? */
static bool ticking(const struct world *w)
{
    return w->clocks != NULL && !w->draining;
}

const char *world_queue(const struct world *w, uint32_t queue)
{
    (void)w;
    return queue_names[queue];
}

/* --- time, commits, crashes ---------------------------------------------- */

/* Answers whose entry is durable reach their clients, most of them. */
static void deliver(struct world *w)
{
    uint64_t acked = store_acked(w->store);
    LIST_FOR (it, &w->answered) {
        struct op *op = CONTAINER_OF(it, struct op, in);
        if (op->index == 0 || op->index > acked)
            continue;
        bool left = op->worker > 0 && crew_left(w, op);
        if (op->index > w->seen_index)
            w->seen_index = op->index;
        for (uint32_t i = 0; i < op->got_n; i++)
            if (!left && w->held_n < HELD_MAX &&
                chance(w, w->draining ? 1000 : 930))
                w->held[w->held_n++] = op->got[i];
        world_op_free(w, op);
    }
    model_durable(w->model, acked);
    undo_durable(w->undo, acked);
    if (w->clocks != NULL)
        clocks_durable(w->clocks, acked);
}

static void commit(struct world *w)
{
    uint64_t index = engine_commit(w->engine, w->now);
    model_committed(w->model, index);
    undo_committed(w->undo, index);
    if (w->clocks != NULL)
        clocks_committed(w->clocks, index);
    LIST_FOR (it, &w->answered) {
        struct op *op = CONTAINER_OF(it, struct op, in);
        if (op->index == 0)
            op->index = index;
    }
    if (chance(w, 500))
        mem_sync(w->disk, UINT64_MAX);
    if (chance(w, w->applies))
        mem_apply(w->disk,
                  w->o->calm ? APPLY_ALL : 1 + (unsigned)rng_below(&w->rng, 3));
    if (chance(w, 50))
        mem_flush(w->disk);
    if (store_base_is_behind(w->store)) /* a server takes no commands now */
        mem_apply(w->disk, APPLY_ALL);
    if (store_idle_pins(w->store))
        violate(w, NULL, "a gather holds the overlay between two ticks");
    store_poll(w->store, w->now);
    deliver(w);
}

static void check(struct world *w)
{
    struct store_stats st;
    w->r->checks++;
    unsigned per_1000 = no_eviction(w);
    if (engine_check(w->engine, &w->e) != ERR_OK)
        violate(w, NULL, w->e.text);
    eviction(w, per_1000);
    store_get_stats(w->store, &st);
    if (st.loop_disk_reads > 0)
        violate(w, NULL, "the loop read the disk");
    if (ticking(w))
        clock_check(w);
}

static void see_clock(struct world *w)
{
    model_clock(w->model, w->now);
    if (w->gates != NULL)
        gates_clock(w->gates, w->now);
    if (w->quotas != NULL)
        quotas_clock(w->quotas, w->now);
    if (w->wall_max_ms < w->now.wall_ms)
        w->wall_max_ms = w->now.wall_ms;
}

/* Long work stops early: so many us pass with each look at the watch. */
static uint64_t watch_us(void *ud)
{
    struct world *w = ud;
    return w->watch_us += w->watch_step;
}

static void open_world(struct world *w)
{
    struct store_options o;
    bool done = false;
    store_options_default(&o);
    o.generation_bytes = 2000 + rng_below(&w->rng, 40000);
    if (w->o->calm) /* as a server has them */
        o.generation_bytes *= 32;
    o.generation_age_ms = 1 + rng_below(&w->rng, 10000);
    w->applies = 300;
    if (!w->o->calm && w->clocks == NULL && chance(w, 300)) {
        w->applies = 20; /* so that chores wait for the base */
        o.overlay_bytes_max =
            BUSY_GENERATIONS * (o.generation_bytes + NODES_BYTES);
    }
    if (store_start_mem(&w->store, w->disk, &o, w->now, &w->e) != ERR_OK) {
        violate(w, NULL, w->e.text);
        return;
    }
    w->config.window_lane = 4 + (uint32_t)rng_below(&w->rng, 60);
    w->config.window_due = 4 + (uint32_t)rng_below(&w->rng, 60);
    w->config.jobs_in_memory = 8 + (uint32_t)rng_below(&w->rng, 500);
    w->config.seed = rng_next(&w->rng);
    w->engine = engine_new(w->store, &w->config);
    w->watch_step = rng_below(&w->rng, 400);
    engine_set_watch(w->engine, watch_us, w);
    engine_on_event(
        w->engine,
        EVENT_BIT(EVENT_JOB_ADDED) | EVENT_BIT(EVENT_JOB_UPDATED) |
            EVENT_BIT(EVENT_JOB_CANCELLED) | EVENT_BIT(EVENT_JOB_CANCELLING) |
            EVENT_BIT(EVENT_JOB_FAILED) | EVENT_BIT(EVENT_JOB_REVIVED) |
            EVENT_BIT(EVENT_JOB_DELETED) | EVENT_BIT(EVENT_LEASE_LOST) |
            EVENT_BIT(EVENT_JOB_RELEASED) | EVENT_BIT(EVENT_JOB_EXPIRED) |
            EVENT_BIT(EVENT_JOB_TIMEOUT) | EVENT_BIT(EVENT_BREAKER_OPENED) |
            EVENT_BIT(EVENT_BREAKER_HALF_OPEN) |
            EVENT_BIT(EVENT_BREAKER_CLOSED),
        events_on, w);
    while (!done && w->r->violation[0] == '\0')
        if (engine_load(w->engine, w->now, &done, &w->e) != ERR_OK)
            violate(w, NULL, w->e.text);
    store_serves(w->store);
}

static void close_world(struct world *w)
{
    if (w->crew != NULL)
        crew_leave(w, true);
    LIST_FOR (c, &w->waiting)
        world_op_free(w, CONTAINER_OF(c, struct op, in));
    LIST_FOR (d, &w->woken)
        world_op_free(w, CONTAINER_OF(d, struct op, in));
    LIST_FOR (e, &w->expecting)
        world_op_free(w, CONTAINER_OF(e, struct op, in));
    LIST_FOR (a, &w->fetching)
        world_op_free(w, CONTAINER_OF(a, struct op, in));
    LIST_FOR (b, &w->answered)
        world_op_free(w, CONTAINER_OF(b, struct op, in));
    engine_free(&w->engine);
}

static void crash(struct world *w)
{
    w->r->crashes++;
    close_world(w);
    uint64_t acked = store_acked(w->store);
    uint64_t unsynced = store_last(w->store) - acked;
    uint64_t kept = rng_below(&w->rng, unsynced + 1);
    mem_crash(&w->store, kept);
    uint64_t crash_mono_ms = w->now.mono_ms;
    w->now.mono_ms += 10 + rng_below(&w->rng, 20000);
    w->now.wall_ms += 10 + rng_below(&w->rng, 20000);
    open_world(w);
    if (w->store == NULL || w->r->violation[0] != '\0')
        return;
    uint64_t survived = acked + kept;
    trace(w, "crash: entries up to %llu survived",
          (unsigned long long)survived);
    if (survived < w->seen_index || store_last(w->store) < survived)
        violate(w, NULL, "an entry that clients had seen is gone");
    see_clock(w);
    undo_crashed(w->undo, survived);
    model_crashed(w->model, survived, crash_mono_ms, w->now);
    if (w->crew != NULL)
        crew_crashed(w->crew, w->model, w->now);
    if (w->breakers != NULL)
        breakers_crashed(w->breakers, w->model);
    if (w->quotas != NULL) {
        quotas_crashed(w->quotas);
        quotas_look(w);
    }
    if (w->turns != NULL)
        turns_crash(w);
    if (w->clocks != NULL)
        clocks_crashed(w->clocks, survived);
    check(w);
}

static void pass(struct world *w, uint64_t ms)
{
    w->now.mono_ms += ms;
    w->now.wall_ms += ms;
    w->r->simulated_ms += ms;
}

/* True if there was nothing left to do. */
static bool run_timers(struct world *w)
{
    uint64_t slices = ticking(w) ? 1 + rng_below(&w->rng, 100) : 4;
    int quiet = 0; /* a chore at the end of a slice may make something due */
    for (uint64_t i = 0; quiet < 2 && i < slices && w->r->violation[0] == '\0';
         i++) {
        w->timers = true;
        quiet = engine_tick(w->engine, w->now) ? 0 : quiet + 1;
        w->timers = false;
        if (ticking(w))
            clock_ticked(w);
    }
    if (ticking(w) && quiet == 2)
        clock_idle(w);
    return quiet == 2;
}

/* Clients wait for their answers: if more and more of them asked, a slow disk
 * would never catch up, and time stands while it is read. */
static uint32_t starts(struct world *w)
{
    uint32_t n = (uint32_t)rng_below(&w->rng, 6), waiting = 0;
    LIST_FOR (it, &w->fetching)
        if (++waiting == CLIENTS)
            return 0;
    return n;
}

/* One tick, as the server makes it. True if nothing moved. */
static bool tick(struct world *w, uint32_t starts)
{
    see_clock(w);
    w->reaping = true;
    bool quiet = !engine_reap(w->engine, w->now);
    events_lost(w);
    breakers_flush(w);
    w->reaping = false;
    LIST_FOR (it, &w->fetching) {
        struct op *op = CONTAINER_OF(it, struct op, in);
        quiet = false;
        if (op->ready)
            world_op_run(w, op);
    }
    if (w->crew != NULL)
        quiet = crew_tick(w) && quiet;
    quiet = waits_tick(w) && quiet;
    for (uint32_t i = 0; i < starts; i++)
        world_op_next(w);
    if (ticking(w))
        clock_look(w);
    quiet = run_timers(w) && !idle_reads(w) && quiet;
    waits_look(w);
    commit(w);
    return quiet;
}

bool world_tick(struct world *w)
{
    return tick(w, 0);
}

static void advance(struct world *w)
{
    uint64_t pace = w->o->pace_ms;
    if (!list_empty(&w->fetching) || chance(w, 300))
        return; /* the next tick comes at once */
    uint64_t ms = pace > 0        ? rng_below(&w->rng, 2 * pace)
                  : chance(w, 20) ? rng_below(&w->rng, 3600000)
                                  : rng_below(&w->rng, 3000);
    /* Timers ring on the way, as the loop would wake for them. */
    for (int i = 0; i < 64 && ms > 0; i++) {
        uint64_t next = engine_next_ms(w->engine, w->now);
        uint64_t step = next <= w->now.mono_ms       ? 1
                        : next - w->now.mono_ms < ms ? next - w->now.mono_ms
                                                     : ms;
        if (chance(w, 100))
            step = ms; /* the server was stopped for a while */
        pass(w, step);
        ms -= step < ms ? step : ms;
        if (ms > 0)
            (void)tick(w, 0);
    }
    if (w->o->calm)
        return;
    if (w->clocks != NULL && chance(w, 60))
        clock_step(w);
    else if (w->clocks == NULL && chance(w, 3)) /* somebody sets the clock */
        w->now.wall_ms += rng_below(&w->rng, 100000);
    else if (w->quotas != NULL && chance(w, 30)) /* or set back a little */
        w->now.wall_ms -= rng_below(&w->rng, 30000);
    else if (chance(w, 100)) /* or it is corrected */
        w->now.wall_ms -= rng_below(&w->rng, 10);
}

/* No more crashes and no more work: everything that was added must end. */
static void drain(struct world *w)
{
    while (w->clocks != NULL && !clock_drained(w) && w->r->violation[0] == '\0')
        (void)tick(w, 0);
    if (w->gates != NULL)
        gates_drain(w);
    if (w->crew != NULL)
        crew_leave(w, false);
    w->draining = true;
    w->config.slice_ops = 500;
    engine_configure(w->engine, &w->config);
    for (int i = 0;
         i < 200000 && model_live(w->model) > 0 && w->r->violation[0] == '\0';
         i++) {
        /* Clients wait for their answers: with more and more of them the
         * reader would never come to an end. */
        bool waits = !list_empty(&w->fetching);
        (void)tick(w, waits ? 0 : w->clocks == NULL ? 4 : 16);
        if (list_empty(&w->fetching))
            pass(w, i % 16 == 0 ? 60000 : 10);
        if (i % 400 == 399) /* poison is noticed by looking */
            for (uint32_t k = 0; k < w->next_k; k++)
                if (model_job(w->model, k)->state == M_RUNNING ||
                    model_job(w->model, k)->held) {
                    struct op *op = world_op(
                        w, model_job(w->model, k)->held ? OP_MANAGE : OP_GET);
                    op->verb = MANAGE_UNHOLD;
                    op->k = k;
                    world_op_run(w, op);
                }
    }
    if (w->r->violation[0] == '\0' && model_live(w->model) > 0) {
        for (uint32_t k = 0; k < w->next_k; k++) {
            const struct mjob *j = model_job(w->model, k);
            if (j->state == M_WAITING || j->state == M_RUNNING) {
                violate_job(w, k, "a job never came to an end");
                break;
            }
        }
    }
    if (w->r->violation[0] == '\0')
        check(w);
}

void world_run(const struct world_options *o, struct world_report *r)
{
    struct world *w = NEW(struct world);
    *r = (struct world_report){.hash = o->seed};
    w->o = o;
    w->r = r;
    rng_seed(&w->rng, o->seed);
    list_init(&w->fetching);
    list_init(&w->answered);
    list_init(&w->waiting);
    list_init(&w->woken);
    list_init(&w->expecting);
    struct mem_knobs knobs = {
        .seed = rng_next(&w->rng),
        .manual_sync = true,
        .manual_apply = true,
        .manual_flush = true,
        .tables = chance(w, 500),
        .pending_per_1000 = o->calm ? 0 : (unsigned)(chance(w, 500) ? 0 : 300),
        .fetch_polls_max = o->calm ? 0 : (unsigned)rng_below(&w->rng, 4),
    };
    w->disk = mem_disk_new(&knobs);
    engine_config_default(&w->config);
    if (o->calm) /* so that it forgets what ended, day after day */
        w->config.keep_ms = (uint64_t)86400 * 1000;
    w->now = (struct now){1700000000000 + rng_below(&w->rng, 1000000000),
                          1000 + rng_below(&w->rng, 1000000)};
    if (!o->calm && chance(w, 300))
        clock_begin(w);
    w->undo = undo_new();
    w->owners = 20; /* more than one row counts */
    if (!o->calm && w->clocks == NULL && chance(w, 400)) {
        gates_begin(w);
        w->owners = 6;
        if (chance(w, 500))
            breakers_begin(w);
    }
    if (!o->calm && w->clocks == NULL && chance(w, 400))
        keys_begin(w);
    w->ends = !o->calm && w->clocks == NULL && chance(w, 400);
    w->notes = !o->calm && w->clocks == NULL && chance(w, 400);
    if (!o->calm && w->clocks == NULL && chance(w, 400))
        crew_begin(w);
    if (!o->calm && w->clocks == NULL && chance(w, 300))
        room_begin(w);
    bool alone = w->gates == NULL && w->crew == NULL;
    if (!o->calm && w->clocks == NULL && chance(w, alone ? 400 : 300))
        turns_begin(w, alone);
    /* Of two queues the one that has to be read would come up less often. */
    w->weighs = !o->calm && w->clocks == NULL && w->gates == NULL &&
                knobs.pending_per_1000 == 0 && chance(w, 500);
    /* Those whose lines are looked at are not to be short of jobs. */
    if (!o->calm && w->clocks == NULL && w->turns == NULL && !w->weighs &&
        chance(w, 300))
        quotas_begin(w);
    if (!o->calm && chance(w, 300))
        waits_begin(w);
    const uint64_t minute = 60 * 1000, hour = 60 * minute;
    if (w->clocks == NULL && chance(w, 700)) /* so that crashes leave it */
        w->config.crash_window_ms = 10 * minute + rng_below(&w->rng, hour);
    w->model = model_new(o->ops, w->config.keep_ms, w->config.crashes_max,
                         w->config.crash_window_ms,
                         w->clocks == NULL ? 5 * minute : 20 * hour,
                         w->clocks == NULL ? 2 * hour : 20 * hour);
    open_world(w);
    if (w->turns != NULL)
        turns_say(w);
    uint32_t crashes = o->calm || chance(w, 200) ? 0 : 3;
    while (r->ops < o->ops && r->violation[0] == '\0') {
        (void)tick(w, starts(w));
        advance(w);
        if (!o->calm && w->clocks == NULL && chance(w, 40))
            idle_look(w);
        if (crashes > 0 && chance(w, crashes))
            crash(w);
        if (!o->calm && chance(w, 10) && r->violation[0] == '\0')
            check(w);
    }
    if (r->violation[0] == '\0')
        drain(w);
    if (r->violation[0] == '\0')
        weights_end(w);
    if (r->violation[0] == '\0')
        waits_end(w);
    note(w, w->now.wall_ms, r->leases);
    if (w->engine != NULL) {
        struct engine_stats s;
        engine_get_stats(w->engine, &s);
        r->completed = s.completed;
        r->lost = s.leases_lost;
        close_world(w);
    }
    if (w->store != NULL)
        store_abandon(&w->store);
    mem_disk_free(&w->disk);
    model_free(&w->model);
    gates_free(&w->gates);
    breakers_free(&w->breakers);
    keys_free(&w->keys);
    crew_end(w);
    room_free(&w->room);
    quotas_free(&w->quotas);
    turns_free(&w->turns);
    undo_free(&w->undo);
    clock_end(w);
    mem_free(w);
}
