/* Schedules in a world: what is asked of them, and what is compared.
 *
 * The engine's slices are cut down to one alarm, so that each alarm can be
 * judged by itself. All alarms of a tick still go into one entry.
 */
#include <stdio.h>
#include <string.h>

#include "engine/core.h"
#include "store/key.h"
#include "times.h"
#include "util/alloc.h"
#include "util/assert.h"
#include "world_impl.h"

#define SECOND_MS ((uint64_t)1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)

static const char *const names[CLOCK_SCHEDULES] = {"a", "b", "{c}.d", "e", "f"};

static uint64_t one_of(struct world *w, const uint64_t *of, uint32_t n)
{
    return of[rng_below(&w->rng, n)];
}
#define ONE_OF(w, ...)                         \
    one_of(w, (const uint64_t[]){__VA_ARGS__}, \
           sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

void clock_begin(struct world *w)
{
    w->clocks = clocks_new();
    w->region = (uint32_t)rng_below(&w->rng, TIMES_REGIONS);
    w->now.wall_ms =
        times_change_ms(w->region) - rng_below(&w->rng, 6 * HOUR_MS);
    w->config.slice_ops = 1;
    w->config.alarms_unsynced_max = ONE_OF(w, 10000, 100000, 10000000);
}

void clock_end(struct world *w)
{
    if (w->clocks != NULL)
        clocks_free(&w->clocks);
}

void clock_born(struct world *w, const struct event *ev)
{
    if (!slice_eq(ev->queue, SLICE_LIT("clock")))
        return;
    if (w->born_n < BORN_MAX)
        w->born[w->born_n++] = ev->id;
    else
        violate(w, NULL, "one alarm made too many jobs");
}

/* As violate(), about a schedule. */
static void object(struct world *w, uint32_t s, const char *what)
{
    char text[128];
    if (what == NULL)
        return;
    (void)snprintf(text, sizeof(text), "schedule %s: %s", names[s], what);
    violate(w, NULL, text);
}

static const struct schedule_view *view(struct world *w, uint32_t s,
                                        struct schedule_view *v)
{
    unsigned per_1000 = no_eviction(w);
    enum err rc =
        engine_schedule_get(w->engine, NULL, slice_str(names[s]), v, &w->e);
    eviction(w, per_1000);
    if (rc != ERR_OK && rc != ERR_NOTFOUND)
        violate(w, NULL, w->e.text);
    w->live[s] = rc == ERR_OK ? v->live : 0;
    return rc == ERR_OK ? v : NULL;
}

/* --- jobs ---------------------------------------------------------------- */

static enum err look_up(struct world *w, const struct id *id,
                        struct job_view *v)
{
    char text[ID_TEXT_LEN];
    unsigned per_1000 = no_eviction(w);
    id_text(id, text);
    enum err rc = engine_get(w->engine, NULL, slice_of(text, sizeof(text)),
                             w->now, v, &w->e);
    eviction(w, per_1000);
    return rc;
}

static enum job_state state_of(struct world *w, uint32_t k, bool *cancelling)
{
    struct job_view v;
    enum err rc = look_up(w, &model_job(w->model, k)->id, &v);
    *cancelling = rc == ERR_OK && v.cancelling;
    return rc == ERR_OK ? v.state : 0;
}

/* Let the models know each other's jobs. */
static uint32_t adopt(struct world *w, struct clock_job *jobs)
{
    uint32_t n = w->born_n;
    for (uint32_t i = 0; i < n; i++) {
        struct job_view v;
        uint32_t s = 0;
        if (look_up(w, &w->born[i], &v) != ERR_OK) {
            violate(w, NULL, "a job that was made is gone");
            return 0;
        }
        while (s < CLOCK_SCHEDULES &&
               !slice_eq(v.schedule, slice_str(names[s])))
            s++;
        if (s == CLOCK_SCHEDULES) {
            violate(w, NULL, "a job has no schedule");
            return 0;
        }
        jobs[i] = (struct clock_job){s, v.nominal_ms};
        uint32_t k = w->next_k++;
        trace(w, "  job %u of schedule %s for %llu", k, names[s],
              (unsigned long long)v.nominal_ms);
        violate(w, NULL,
                model_added(w->model, k, &w->born[i], CLOCK_QUEUE, k, v.retries,
                            0, v.state, w->now));
        model_scheduled(w->model, k, s);
    }
    w->born_n = 0;
    return n;
}

static void look_blocking(struct world *w, struct op *op)
{
    unsigned per_1000 = no_eviction(w);
    (void)look_at(w, op);
    eviction(w, per_1000);
}

/* What the model of the jobs cannot know yet, because nobody was told. */
static void resolve(struct world *w, uint32_t s)
{
    for (uint32_t k = 0; k < w->next_k; k++) {
        const struct mjob *j = model_job(w->model, k);
        struct op op = {.kind = OP_GET, .k = k};
        if (j->schedule == s + 1 && j->state == M_RUNNING)
            look_blocking(w, &op);
    }
}

static void note_purge(void *ud, const struct chore_view *v)
{
    if (slice_eq(v->verb, SLICE_LIT("purge")) && v->finished_ms == 0 &&
        slice_eq(v->filter->queue, SLICE_LIT("clock")))
        *(bool *)ud = true;
}

/* Jobs that were purged count as live until their rows are gone. */
static bool purging(struct world *w)
{
    bool found = false;
    engine_chores(w->engine, note_purge, &found);
    return found;
}

/* Those that a chore took back in this moment, perhaps behind the alarm. */
static uint32_t revived(const struct world *w, uint32_t s, uint32_t before)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < before; k++)
        n += model_job(w->model, k)->schedule == s + 1 &&
             model_is_live(w->model, k) &&
             model_job(w->model, k)->revived_ms == w->now.mono_ms;
    return n;
}

/* Jobs of `s` older than `before` had to make room, all or some of them. */
static void displaced(struct world *w, uint32_t s, uint32_t before,
                      const struct schedule_view *v, uint32_t made, bool all)
{
    bool terminate =
        clocks_settings(w->clocks, s)->overlap == OVERLAP_TERMINATE;
    if (made > 0 && (v->live < 1 || v->live > 1 + revived(w, s, before)) &&
        !purging(w))
        object(w, s, "a job runs beside the one that displaced it");
    for (uint32_t k = 0; k < before; k++) {
        const struct mjob *j = model_job(w->model, k);
        bool cancelling;
        if (j->schedule != s + 1 || !model_is_live(w->model, k))
            continue;
        struct op op = {.kind = OP_GET, .k = k};
        enum job_state state = state_of(w, k, &cancelling);
        if (state == JOB_CANCELLED)
            violate(
                w, &op,
                model_managed(w->model, k, MANAGE_CANCEL, 0, ERR_OK, w->now));
        else if (state == JOB_RUNNING && cancelling && !j->cancelling)
            violate(w, &op,
                    model_managed(w->model, k, MANAGE_CANCEL,
                                  w->config.cancel_force_ms, ERR_OK, w->now));
        else
            look_blocking(w, &op); /* lost before, and poisonous? */
        /* A chore may have taken it back behind the alarm. */
        if (all && model_is_live(w->model, k) &&
            j->revived_ms != w->now.mono_ms &&
            (terminate || state != JOB_RUNNING))
            violate(w, &op, "a job was left alone by its successor");
    }
}

/* --- operations ---------------------------------------------------------- */

enum op_kind clock_pick(struct world *w)
{
    static const enum op_kind kinds[] = {
        OP_SET,    OP_SET,    OP_SET,    OP_SET, OP_DEL,      OP_PAUSE,
        OP_RESUME, OP_RESUME, OP_RESUME, OP_RUN, OP_BACKFILL, OP_BACKFILL};
    return kinds[rng_below(&w->rng, sizeof(kinds) / sizeof(kinds[0]))];
}

static void draw_timing(struct world *w, struct clock_settings *set)
{
    uint64_t now = w->now.wall_ms;
    uint64_t r = rng_below(&w->rng, 100);
    if (r < 10) {
        set->when = WHEN_AT;
        set->at_ms = now + rng_below(&w->rng, 2 * HOUR_MS) - HOUR_MS / 2;
        return;
    }
    set->when = r < 45 ? WHEN_EVERY : WHEN_CRON;
    if (set->when == WHEN_EVERY) {
        set->every_ms = ONE_OF(w, 45 * SECOND_MS, MINUTE_MS, 7 * MINUTE_MS,
                               7 * MINUTE_MS, HOUR_MS);
        set->spread_ms = ONE_OF(w, 0, 0, 15 * SECOND_MS, 2 * HOUR_MS);
    } else {
        set->kind = (uint32_t)rng_below(&w->rng, times_kinds());
        set->region = w->region;
        set->spread_ms = ONE_OF(w, 0, 0, times_spread_max(set->kind));
    }
    if (chance(w, 150))
        set->start_ms = now + rng_below(&w->rng, 2 * HOUR_MS) - HOUR_MS;
    if (chance(w, 100))
        set->end_ms = now + rng_below(&w->rng, DAY_MS);
}

static void draw_settings(struct world *w, uint32_t s,
                          struct clock_settings *set)
{
    *set = (struct clock_settings){0};
    if (clocks_exists(w->clocks, s) && chance(w, 500))
        *set = *clocks_settings(w->clocks, s); /* the timing stays */
    else
        draw_timing(w, set);
    set->overlap = (enum schedule_overlap)rng_below(&w->rng, OVERLAP_ALLOW + 1);
    set->misfire = (enum schedule_misfire)rng_below(&w->rng, MISFIRE_ALL + 1);
    set->grace_ms = ONE_OF(w, 0, SECOND_MS, MINUTE_MS, MINUTE_MS, HOUR_MS);
    set->window_ms = ONE_OF(w, 0, 5 * MINUTE_MS, 2 * HOUR_MS, 366 * DAY_MS);
    set->max = ONE_OF(w, 0, 0, 0, 2, 10);
    set->pause_after = (uint32_t)ONE_OF(w, 0, 0, 1, 3);
    set->retries = (uint32_t)rng_below(&w->rng, 3);
}

void clock_draw(struct world *w, struct op *op)
{
    op->schedule = (uint32_t)rng_below(&w->rng, CLOCK_SCHEDULES);
    /* Nearly all are there and go on, most of the time. */
    if (op->kind == OP_PAUSE && !clocks_exists(w->clocks, op->schedule))
        op->kind = OP_SET;
    if (op->kind == OP_SET)
        draw_settings(w, op->schedule, &op->set);
    if (op->kind == OP_BACKFILL) {
        op->to_ms = w->now.wall_ms - rng_below(&w->rng, 2 * HOUR_MS);
        op->from_ms = op->to_ms - rng_below(&w->rng, HOUR_MS);
    }
    trace(w, "  schedule %s", names[op->schedule]);
}

static enum err run_set(struct world *w, struct op *op, struct slice name)
{
    const struct clock_settings *set = &op->set;
    struct job_options options = {.given = (uint64_t)1 << JOPT_RETRIES |
                                           (uint64_t)1 << JOPT_BASE,
                                  .retries = set->retries,
                                  .base_ms = 1000};
    struct schedule_params p = {.name = name,
                                .queue = SLICE_LIT("clock"),
                                .payload = SLICE_LIT("tick"),
                                .overlap = set->overlap,
                                .misfire = set->misfire,
                                .grace_ms = set->grace_ms,
                                .window_ms = set->window_ms,
                                .max = set->max,
                                .pause_after = set->pause_after,
                                .options = &options};
    uint64_t next_ms;
    if (set->when == WHEN_CRON)
        times_say(set->kind, set->region, &p.timing);
    p.timing.when = set->when;
    p.timing.every_ms = set->every_ms;
    p.timing.at_ms = set->at_ms;
    p.timing.start_ms = set->start_ms;
    p.timing.end_ms = set->end_ms;
    p.timing.spread_ms = set->spread_ms;
    trace(w,
          "  when %d kind %u every %llu at %llu start %llu end %llu spread "
          "%llu overlap %d misfire %d grace %llu window %llu max %llu",
          set->when, set->kind, (unsigned long long)set->every_ms,
          (unsigned long long)set->at_ms, (unsigned long long)set->start_ms,
          (unsigned long long)set->end_ms, (unsigned long long)set->spread_ms,
          set->overlap, set->misfire, (unsigned long long)set->grace_ms,
          (unsigned long long)set->window_ms, (unsigned long long)set->max);
    return engine_schedule_set(w->engine, op->gather, &p, w->now, &next_ms,
                               &w->e);
}

static void learn_set(struct world *w, const struct op *op, enum err rc,
                      const struct schedule_view *v)
{
    uint32_t s = op->schedule;
    bool existed = clocks_exists(w->clocks, s);
    object(w, s, clocks_set(w->clocks, s, &op->set, rc, v, w->now));
    if (existed || rc != ERR_OK)
        return;
    /* What ended before it was made is not its own. */
    uint64_t completed, failed;
    model_ended(w->model, s, &completed, &failed);
    clocks_count_from(w->clocks, s, completed, failed);
}

static void learn_ran(struct world *w, const struct op *op, enum err rc,
                      const struct schedule_view *v)
{
    struct clock_job jobs[BORN_MAX];
    uint32_t n = adopt(w, jobs);
    if (n != (rc == ERR_OK) ||
        (n == 1 && (jobs[0].schedule != op->schedule ||
                    jobs[0].nominal_ms != w->now.wall_ms)))
        violate(w, op, "RUN did not make its job");
    object(w, op->schedule, clocks_ran(w->clocks, op->schedule, rc, v));
}

/* Jobs may have ended; nothing else may have happened. */
static void look_one(struct world *w, uint32_t s)
{
    struct schedule_view v;
    if (clocks_exists(w->clocks, s))
        object(w, s, clocks_still(w->clocks, s, view(w, s, &v)));
}

enum err clock_run(struct world *w, struct op *op)
{
    uint32_t s = op->schedule;
    struct slice name = slice_str(names[s]);
    struct schedule_view v;
    struct id id;
    uint64_t next_ms;
    enum err rc;
    look_one(w, s); /* what it did in this tick so far is no work of ours */
    if (op->kind == OP_SET && !clocks_exists(w->clocks, s))
        resolve(w, s);
    if (op->kind == OP_SET)
        rc = run_set(w, op, name);
    else if (op->kind == OP_DEL)
        rc = engine_schedule_del(w->engine, op->gather, name, &w->e);
    else if (op->kind == OP_RUN)
        rc = engine_schedule_run(w->engine, op->gather, name, w->now, &id,
                                 &w->e);
    else if (op->kind == OP_BACKFILL)
        rc = op->to_ms > w->now.wall_ms
                 ? ERR_EMPTY /* the clock went back while it was fetching */
                 : engine_schedule_backfill(w->engine, op->gather, name,
                                            op->from_ms, op->to_ms, w->now,
                                            &w->e);
    else
        rc = engine_schedule_pause(w->engine, op->gather, name,
                                   op->kind == OP_PAUSE, w->now, &next_ms,
                                   &w->e);
    if (rc == ERR_PENDING || rc == ERR_EMPTY)
        return rc;
    trace(w, "  schedule %s: %s", names[s], err_name(rc));
    note(w, s, 2000 + (uint64_t)rc);
    const struct schedule_view *shown = view(w, s, &v);
    if (op->kind == OP_SET)
        learn_set(w, op, rc, shown);
    else if (op->kind == OP_DEL)
        object(w, s, clocks_deleted(w->clocks, s, rc, shown));
    else if (op->kind == OP_RUN)
        learn_ran(w, op, rc, shown);
    else if (op->kind == OP_BACKFILL)
        object(
            w, s,
            clocks_backfill(w->clocks, s, op->from_ms, op->to_ms, rc, shown));
    else
        object(w, s,
               clocks_pause(w->clocks, s, op->kind == OP_PAUSE, rc, shown,
                            w->now));
    return ERR_OK; /* refusals were judged */
}

/* --- looking ------------------------------------------------------------- */

void clock_look(struct world *w)
{
    if (w->born_n > 0)
        violate(w, NULL, "a job was made without an alarm");
    for (uint32_t s = 0; s < CLOCK_SCHEDULES; s++)
        look_one(w, s);
}

static void tell(struct world *w, uint32_t s, const struct schedule_view *v)
{
    note(w, v->next_ms, v->fired << 32 | v->missed);
    trace(w,
          "  schedule %s: next %llu fired %llu missed %llu overlapped %llu "
          "manual %llu live %u buffered %u",
          names[s], (unsigned long long)v->next_ms,
          (unsigned long long)v->fired, (unsigned long long)v->missed,
          (unsigned long long)v->overlapped, (unsigned long long)v->manual,
          v->live, v->buffered);
}

void clock_ticked(struct world *w)
{
    struct clock_job jobs[BORN_MAX];
    uint32_t before = w->next_k, n = adopt(w, jobs);
    for (uint32_t s = 0; s < CLOCK_SCHEDULES; s++) {
        struct schedule_view v;
        uint64_t live = w->live[s];
        enum clock_displaced stopped;
        uint32_t mine = n > 0 && jobs[0].schedule == s ? n : 0;
        uint64_t next_ms = clocks_next_ms(w->clocks, s);
        if (!clocks_exists(w->clocks, s) && mine == 0)
            continue;
        const struct schedule_view *shown = view(w, s, &v);
        if (shown != NULL && (v.next_ms != next_ms || mine > 0))
            tell(w, s, shown);
        object(w, s,
               clocks_ticked(w->clocks, s, shown, live, jobs, mine, w->now,
                             &stopped));
        if (stopped != DISPLACED_NONE && w->r->violation[0] == '\0')
            displaced(w, s, before, shown, mine, stopped == DISPLACED_ALL);
    }
}

void clock_idle(struct world *w)
{
    /* Alarms wait for the disk: to read as well as to write. */
    if (w->engine->timer_fetching)
        return;
    if (store_acked(w->store) < store_last(w->store) &&
        store_pending_bytes(w->store) > w->config.alarms_unsynced_max)
        return;
    for (uint32_t s = 0; s < CLOCK_SCHEDULES; s++)
        object(w, s,
               clocks_idle(w->clocks, s, w->live[s],
                           w->now.wall_ms >= w->wall_max_ms, w->now));
}

/* --- counting ------------------------------------------------------------ */

struct alarms {
    struct id id[CLOCK_SCHEDULES];
    uint64_t at_ms[CLOCK_SCHEDULES];
    uint32_t n[CLOCK_SCHEDULES], strangers;
};

static bool count_alarm(struct slice key, struct slice value, void *ud)
{
    struct alarms *a = ud;
    struct due_key k;
    (void)value;
    if (!key_parse_due(key, &k) || k.kind != DUE_SCHEDULE)
        return true;
    for (uint32_t s = 0; s < CLOCK_SCHEDULES; s++)
        if (slice_eq(k.what, id_slice(&a->id[s]))) {
            a->n[s]++;
            a->at_ms[s] = k.time_ms;
            return true;
        }
    a->strangers++;
    return true;
}

/* Each schedule that goes on has one alarm, at its time; there are no others.*/
static void check_alarms(struct world *w)
{
    struct alarms a = {0};
    struct schedule_view v;
    for (uint32_t s = 0; s < CLOCK_SCHEDULES; s++)
        a.id[s] = due_name_id(slice_str(names[s]));
    if (store_scan(w->store, NULL, FAMILY_DUE, SLICE_EMPTY, SLICE_EMPTY,
                   SIZE_MAX, count_alarm, &a, &w->e) != ERR_OK)
        violate(w, NULL, w->e.text);
    for (uint32_t s = 0; s < CLOCK_SCHEDULES; s++) {
        bool on = view(w, s, &v) != NULL && v.next_ms > 0;
        if (a.n[s] != on || (on && a.at_ms[s] != v.due_ms))
            object(w, s, "it has not exactly its one alarm");
    }
    if (a.strangers > 0)
        violate(w, NULL, "an alarm has no schedule");
}

static void check_jobs(struct world *w, uint32_t s)
{
    struct schedule_view v;
    uint64_t live = 0, completed, failed;
    resolve(w, s);
    for (uint32_t k = 0; k < w->next_k; k++)
        live += model_job(w->model, k)->schedule == s + 1 &&
                model_is_live(w->model, k);
    if (view(w, s, &v) == NULL)
        return;
    if (v.live != live && (v.live < live || !purging(w)))
        object(w, s, "another number of jobs is live than it counts");
    model_ended(w->model, s, &completed, &failed);
    object(w, s, clocks_ends(w->clocks, s, &v, completed, failed));
}

void clock_check(struct world *w)
{
    struct engine_stats stats;
    struct schedule_view v;
    unsigned per_1000 = no_eviction(w);
    for (uint32_t s = 0; s < CLOCK_SCHEDULES; s++)
        object(w, s, clocks_still(w->clocks, s, view(w, s, &v)));
    check_alarms(w);
    for (uint32_t s = 0; s < CLOCK_SCHEDULES; s++)
        check_jobs(w, s);
    eviction(w, per_1000);
    engine_get_stats(w->engine, &stats);
    if (stats.schedule_repairs > 0)
        violate(w, NULL, "the guardian found something to mend");
}

/* --- time ---------------------------------------------------------------- */

/* Somebody sets the clock: a little, often; by hours, seldom. It stays in the
 * weeks that the calendar knows. */
void clock_step(struct world *w)
{
    uint64_t from = times_change_ms(w->region) - 2 * DAY_MS;
    uint64_t to = times_change_ms(w->region) + 4 * DAY_MS;
    uint64_t by = rng_below(&w->rng, chance(w, 200)   ? 8 * HOUR_MS
                                     : chance(w, 500) ? 30 * MINUTE_MS
                                                      : 2 * MINUTE_MS);
    if (chance(w, 500) && w->now.wall_ms - by > from)
        w->now.wall_ms -= by;
    else if (w->now.wall_ms + by < to)
        w->now.wall_ms += by;
    trace(w, "the clock was set");
}

/* Delete them all, so that the world may come to rest. */
bool clock_drained(struct world *w)
{
    if (!list_empty(&w->fetching))
        return false;
    clock_check(w);
    unsigned per_1000 = no_eviction(w);
    for (uint32_t s = 0; s < CLOCK_SCHEDULES; s++)
        if (clocks_exists(w->clocks, s)) {
            struct op op = {.kind = OP_DEL, .schedule = s};
            (void)clock_run(w, &op);
        }
    eviction(w, per_1000);
    return true;
}
