/* The engine's life, its clockwork and its figures. */
#include "engine/engine.h"

#include "engine/core.h"
#include "store/generation.h"

/* A slice ends after so much time, or when the entry has so many bytes: jobs
 * may be large, and an entry has its limit. */
#define SLICE_US 1000
#define REHEARSAL_US 250
#define CUT_STEP 4 /* jobs between two looks at the watch */
#define SLICE_BYTES ((size_t)1 << 20)

void engine_config_default(struct engine_config *c)
{
    const uint64_t second = 1000, hour = 3600 * second, day = 24 * hour;
    *c = (struct engine_config){
        .seed = 1,
        .lease_ms = 30 * second,
        .keep_ms = 7 * day,
        .keep_failed_ms = 30 * day,
        .retries = 3,
        .backoff = BACKOFF_EXPONENTIAL,
        .jitter = 30,
        .base_ms = second,
        .cap_ms = hour,
        .factor = 2,
        .crashes_max = 3,
        .crash_window_ms = day,
        .crash_delay_ms = second,
        .session_grace_ms = 3 * second,
        .idempotency_ms = day,
        .worker_silent_ms = 30 * second,
        .worker_forget_ms = 600 * second,
        .cancel_force_ms = 30 * second,
        .payload_max = 1024 * 1024,
        .lease_ms_max = day,
        .names_max = 1000 * 1000,
        .lanes_max = 4 * 1000 * 1000,
        .window_entries = 1000 * 1000,
        .window_lane = 1024,
        .window_due = 2048,
        .jobs_in_memory = 200 * 1000,
        .slice_ops = 500,
        .alarms_unsynced_max = 128 * 1024,
    };
}

struct engine *engine_new(struct store *store, const struct engine_config *c)
{
    struct engine *e = NEW(struct engine);
    INIT_OBJ(e, ENGINE);
    e->store = store;
    e->config = *c;
    rng_seed(&e->rng, c->seed);
    pool_init(&e->pool);
    map_init(&e->jobs, job_is);
    list_init(&e->touched_queues);
    list_init(&e->touched_lanes);
    list_init(&e->touched_lives);
    list_init(&e->touched_counts);
    names_init(e);
    lanes_init(e);
    limits_init(e);
    leases_init(e);
    sessions_init(e);
    waits_init(e);
    done_init(e);
    chores_init(e);
    window_init(&e->due);
    e->recent = mem_zalloc(RECENT_SIZE * sizeof(*e->recent));
    e->timer_gather = gather_new(store);
    e->ahead.gather = gather_new(store);
    return e;
}

static void free_job(struct map_node *n, void *ud)
{
    struct engine *e = ud;
    struct job *j = CONTAINER_OF(n, struct job, by_id);
    j->in_window = false;
    j->by_deadline = (struct line_node){0};
    job_free(e, j);
}

void engine_free(struct engine **pe)
{
    struct engine *e = *pe;
    if (e == NULL)
        return;
    CHECK_OBJ(e, ENGINE);
    gather_free(&e->timer_gather);
    gather_free(&e->ahead.gather);
    chores_free(e);
    waits_free(e);
    leases_free(e);
    map_each(&e->jobs, free_job, e);
    map_release(&e->jobs);
    sessions_free(e);
    window_release(&e->due);
    limits_free(e);
    lanes_free(e);
    names_free(e);
    done_free(e);
    pool_release(&e->pool);
    buf_release(&e->scratch);
    buf_release(&e->more);
    buf_release(&e->tokens);
    draft_free(e);
    buf_release(&e->shown);
    buf_release(&e->load_from);
    mem_free(e->recent);
    e->magic = 0;
    FREE(pe);
}

void engine_configure(struct engine *e, const struct engine_config *c)
{
    CHECK_OBJ(e, ENGINE);
    e->config = *c;
}

const struct engine_config *engine_get_config(const struct engine *e)
{
    return &e->config;
}

void engine_on_event(struct engine *e, uint64_t mask, engine_event_fn fn,
                     void *ud)
{
    e->event_mask = fn == NULL ? 0 : mask;
    e->on_event = fn;
    e->event_ud = ud;
}

void engine_set_watch(struct engine *e, engine_watch_fn fn, void *ud)
{
    e->watch = fn;
    e->watch_ud = ud;
}

void slice_begin(struct engine *e)
{
    if (e->watch != NULL)
        e->slice_ends_us = e->watch(e->watch_ud) + SLICE_US;
}

size_t engine_entry_bytes(const struct engine *e)
{
    return entry_bytes(e);
}

enum err engine_has_room(const struct engine *e, size_t bytes,
                         struct errbuf *err)
{
    return entry_has_room(e, STEP_BYTES + bytes, err);
}

enum err entry_has_room(const struct engine *e, size_t bytes,
                        struct errbuf *err)
{
    if (entry_bytes(e) + bytes <= GENERATION_ENTRY_MAX)
        return ERR_OK;
    return err_set(
        err, ERR_LIMIT,
        "what is changed at once has at most %zu bytes, as one entry "
        "of the log; what was not done may be sent again",
        GENERATION_ENTRY_MAX);
}

void entry_cut(struct engine *e, struct now now)
{
    if (slice_full(e))
        (void)engine_commit(e, now);
}

bool slice_full(const struct engine *e)
{
    return entry_bytes(e) >= SLICE_BYTES;
}

void cut_begin(struct engine *e, struct gather *g)
{
    gather_defer(g);
    if (e->watch != NULL)
        e->slice_ends_us = e->watch(e->watch_ud) + REHEARSAL_US;
}

bool cut_here(const struct engine *e, uint32_t i)
{
    return i % CUT_STEP == CUT_STEP - 1 && slice_over(e);
}

bool slice_over(const struct engine *e)
{
    return slice_full(e) ||
           (e->watch != NULL && e->watch(e->watch_ud) >= e->slice_ends_us);
}

/* Milliseconds never go back, so ids of one start sort by their counter. */
struct id id_next(struct engine *e, const struct queue *q, struct now now)
{
    if (now.wall_ms > e->id_ms)
        e->id_ms = now.wall_ms;
    if (++e->counter == 0)
        e->id_ms++; /* four thousand million in one start: go on above them */
    return id_make(e->id_ms, q->slot, e->start, e->counter);
}

enum { CLOCK_BACK_MAX_MS = 60000 };

/* The wall clock, as it orders jobs. One that is corrected steps back a little,
 * and a later job must not overtake an earlier one by that. One that is set
 * back is followed: if it had been years ahead by mistake, jobs that retry
 * would pass all newcomers for as long, and nothing would age. */
uint64_t arrival_ms(struct engine *e, struct now now)
{
    if (now.wall_ms > e->arrival_ms ||
        now.wall_ms + CLOCK_BACK_MAX_MS < e->arrival_ms)
        e->arrival_ms = now.wall_ms;
    return e->arrival_ms;
}

/* --- timers -------------------------------------------------------------- */

static void timer_fetched(void *ud)
{
    struct engine *e = ud;
    CHECK_OBJ(e, ENGINE);
    e->timer_fetching = false;
}

void timer_fetch(struct engine *e)
{
    ASSERT(!e->timer_fetching);
    e->timer_fetching = true;
    store_fetch(e->store, e->timer_gather, timer_fetched, e);
}

static bool run_timers(struct engine *e, struct now now)
{
    slice_begin(e);
    bool more = due_step(e, now, e->config.slice_ops);
    if (!e->timer_fetching) {
        more = done_forget(e, now) || more;
        limits_clock(e, now);
        more = limits_step(e, now, e->config.slice_ops) || more;
    }
    if (!e->timer_fetching)
        schedule_guard(e, now);
    return more;
}

enum { FULL_AGAIN_MS = 100 };

/* Whatever was read in a tick is let go at its end, also what the reaper read
 * and what came for somebody who has nothing to do any more: it holds the
 * overlay, which would stay full for ever if it is full because of that. */
bool engine_tick(struct engine *e, struct now now)
{
    bool full = store_room(e->store) == STORE_FULL;
    bool more = lanes_reorder_step(e);
    if (full)
        e->full_again_ms = now.mono_ms + FULL_AGAIN_MS;
    entry_cut(e, now);
    if (!full && !e->timer_fetching)
        more = run_timers(e, now) || more;
    if (!e->timer_fetching)
        gather_release(e->timer_gather);
    entry_cut(e, now);
    if (!full && !e->chore_fetching)
        more = chore_step(e, now) || more;
    if (!e->chore_fetching)
        gather_release(e->chore_gather);
    return more;
}

bool engine_reap(struct engine *e, struct now now)
{
    if (e->timer_fetching || store_room(e->store) == STORE_FULL)
        return false;
    entry_cut(e, now);
    bool more = lease_reap(e, now, e->config.slice_ops);
    entry_cut(e, now);
    if (!e->timer_fetching) {
        more = session_reap(e, now, e->config.slice_ops) || more;
        more = worker_step(e, now, e->config.slice_ops) || more;
    }
    return more;
}

/* Wall times become monotonic ones by what is left until then. */
static uint64_t mono_of(uint64_t wall_ms, struct now now)
{
    if (wall_ms == UINT64_MAX)
        return UINT64_MAX;
    return wall_ms <= now.wall_ms ? now.mono_ms
                                  : now.mono_ms + (wall_ms - now.wall_ms);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t next_work_ms(const struct engine *e, struct now now)
{
    if (e->timer_fetching)
        return chore_next_ms(e); /* the rest waits for those rows */
    uint64_t next = mono_of(due_next_ms(e), now);
    /* The end of a sync wakes the loop, usually sooner. */
    if (due_held(e) && next <= now.mono_ms)
        next = now.mono_ms + 1;
    if (limits_busy(e))
        next = now.mono_ms;
    uint64_t forget = done_next_ms(e);
    /* What the brake holds back is looked at by the hour. */
    if (forget != UINT64_MAX)
        next = least(next, forget <= now.wall_ms ? now.mono_ms + 3600 * 1000
                                                 : mono_of(forget, now));
    next = least(next, lease_next_ms(e));
    next = least(next, e->guard.next_mono_ms);
    next = least(next, chore_next_ms(e));
    next = least(next, worker_next_ms(e));
    return least(next, session_next_ms(e));
}

uint64_t engine_next_ms(const struct engine *e, struct now now)
{
    uint64_t next = next_work_ms(e, now);
    if (!list_empty(&e->reordering))
        return now.mono_ms;
    /* What is due stays so, and the loop must not spin meanwhile. */
    if (next < e->full_again_ms && store_room(e->store) == STORE_FULL)
        return e->full_again_ms;
    return next;
}

uint64_t engine_commit(struct engine *e, struct now now)
{
#ifndef BELFRY_SABOTAGE_COUNTERS
    names_commit(e);
#endif
    owners_commit(e);
    lanes_commit(e);
    limits_commit(e, now);
    due_commit(e);
    done_commit(e);
    e->owed_bytes = 0;
    uint64_t index = store_commit(e->store, now);
#ifdef BELFRY_SABOTAGE_COUNTERS
    names_commit(e); /* a cheat that the rigs must catch: an entry late */
#endif
    return index;
}

/* --- figures ------------------------------------------------------------- */

void engine_get_stats(const struct engine *e, struct engine_stats *out)
{
    *out = e->stats;
    out->running = out->scheduled = out->ready = out->parked = 0;
    for (uint32_t i = 0; i < e->queues_n; i++) {
        const struct queue *q = e->queues[i];
        if (q == NULL)
            continue;
        out->running += q->counts[JOB_RUNNING];
        out->ready += q->counts[JOB_READY];
        out->parked += q->counts[JOB_PARKED];
        out->scheduled += q->counts[JOB_SCHEDULED] + q->counts[JOB_RETRYING];
    }
    out->waiters = e->waiters_n;
    out->limits = e->limits_n;
    out->parked_lanes = e->parked_lanes_n;
    out->jobs_in_memory = e->jobs.len;
    out->window_entries = e->window_members;
    out->due_entries = e->due.len;
    out->memory_bytes = e->pool.used_bytes +
                        e->window_members * sizeof(struct member) +
                        e->due.cap * sizeof(struct member);
    out->faults = e->timer_faults;
    out->schedules = e->guard.schedules;
    out->schedule_repairs = e->guard.repairs;
}
