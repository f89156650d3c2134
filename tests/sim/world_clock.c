/* Schedules in a world: what is compared with their model.
 *
 * The engine's slices are cut down to one alarm, so that each alarm can be
 * judged by itself. All alarms of a tick still go into one entry.
 */
#include <stdio.h>

#include "engine/core.h"
#include "store/key.h"
#include "times.h"
#include "util/alloc.h"
#include "util/assert.h"
#include "world_clock.h"

static const char *const names[CLOCK_SCHEDULES] = {"a", "b", "{c}.d", "e", "f"};

const char *clock_name(uint32_t s)
{
    ASSERT(s < CLOCK_SCHEDULES);
    return names[s];
}

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

/* The model hears of it at once, as a chore may take it back in the same slice;
 * whether it was in the way is judged with the alarm. */
void clock_stopped(struct world *w, uint32_t k)
{
    const struct mjob *j = model_job(w->model, k);
    trace(w, "  job %u: stopped by its schedule", k);
    w->made_room |= 1u << j->schedule;
    if (j->schedule > 0 && j->state == M_RUNNING &&
        model_sure(w->model, k, w->now) &&
        clocks_settings(w->clocks, j->schedule - 1u)->overlap !=
            OVERLAP_TERMINATE)
        violate_job(w, k, "a job that runs was not asked to stop");
    violate_job(w, k,
                model_managed(w->model, k, MANAGE_CANCEL, 0, ERR_OK, w->now));
}

void clock_object(struct world *w, uint32_t s, const char *what)
{
    char text[128];
    if (what == NULL)
        return;
    (void)snprintf(text, sizeof(text), "schedule %s: %s", clock_name(s), what);
    violate(w, NULL, text);
}

const struct schedule_view *clock_view(struct world *w, uint32_t s,
                                       struct schedule_view *v)
{
    unsigned per_1000 = no_eviction(w);
    enum err rc = engine_schedule_get(w->engine, NULL, slice_str(clock_name(s)),
                                      v, &w->e);
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

uint32_t clock_adopt(struct world *w, struct clock_job *jobs)
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
               !slice_eq(v.schedule, slice_str(clock_name(s))))
            s++;
        if (s == CLOCK_SCHEDULES) {
            violate(w, NULL, "a job has no schedule");
            return 0;
        }
        jobs[i] = (struct clock_job){s, v.nominal_ms};
        uint32_t k = w->next_k++;
        trace(w, "  job %u of schedule %s for %llu", k, clock_name(s),
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

void clock_resolve(struct world *w, uint32_t s)
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
        clock_object(w, s, "a job runs beside the one that displaced it");
    for (uint32_t k = 0; k < before; k++) {
        const struct mjob *j = model_job(w->model, k);
        bool cancelling;
        if (j->schedule != s + 1 || !model_is_live(w->model, k))
            continue;
        struct op op = {.kind = OP_GET, .k = k};
        enum job_state state = state_of(w, k, &cancelling);
        if (state == JOB_RUNNING && cancelling && !j->cancelling)
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

/* --- looking ------------------------------------------------------------- */

void clock_look_one(struct world *w, uint32_t s)
{
    struct schedule_view v;
    if (clocks_exists(w->clocks, s))
        clock_object(w, s, clocks_still(w->clocks, s, clock_view(w, s, &v)));
}

void clock_look(struct world *w)
{
    if (w->born_n > 0)
        violate(w, NULL, "a job was made without an alarm");
    for (uint32_t s = 0; s < CLOCK_SCHEDULES; s++)
        clock_look_one(w, s);
}

static void tell(struct world *w, uint32_t s, const struct schedule_view *v)
{
    note(w, v->next_ms, v->fired << 32 | v->missed);
    trace(w,
          "  schedule %s: next %llu fired %llu missed %llu overlapped %llu "
          "manual %llu live %u buffered %u",
          clock_name(s), (unsigned long long)v->next_ms,
          (unsigned long long)v->fired, (unsigned long long)v->missed,
          (unsigned long long)v->overlapped, (unsigned long long)v->manual,
          v->live, v->buffered);
}

void clock_ticked(struct world *w)
{
    struct clock_job jobs[BORN_MAX];
    uint32_t before = w->next_k, n = clock_adopt(w, jobs);
    for (uint32_t s = 0; s < CLOCK_SCHEDULES; s++) {
        struct schedule_view v;
        uint64_t live = w->live[s];
        enum clock_displaced stopped;
        uint32_t mine = n > 0 && jobs[0].schedule == s ? n : 0;
        uint64_t next_ms = clocks_next_ms(w->clocks, s);
        if (!clocks_exists(w->clocks, s) && mine == 0)
            continue;
        const struct schedule_view *shown = clock_view(w, s, &v);
        if (shown != NULL && (v.next_ms != next_ms || mine > 0))
            tell(w, s, shown);
        clock_object(w, s,
                     clocks_ticked(w->clocks, s, shown, live, jobs, mine,
                                   w->now, &stopped));
        if (stopped != DISPLACED_NONE && w->r->violation[0] == '\0')
            displaced(w, s, before, shown, mine, stopped == DISPLACED_ALL);
        if (stopped != DISPLACED_NONE)
            w->made_room &= ~(2u << s);
    }
    if (w->made_room != 0)
        violate(w, NULL, "a schedule stopped a job that was in nobody's way");
    w->made_room = 0;
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
        clock_object(w, s,
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
        a.id[s] = due_name_id(slice_str(clock_name(s)));
    if (store_scan(w->store, NULL, FAMILY_DUE, SLICE_EMPTY, SLICE_EMPTY,
                   SIZE_MAX, count_alarm, &a, &w->e) != ERR_OK)
        violate(w, NULL, w->e.text);
    for (uint32_t s = 0; s < CLOCK_SCHEDULES; s++) {
        bool on = clock_view(w, s, &v) != NULL && v.next_ms > 0;
        if (a.n[s] != on || (on && a.at_ms[s] != v.due_ms))
            clock_object(w, s, "it has not exactly its one alarm");
    }
    if (a.strangers > 0)
        violate(w, NULL, "an alarm has no schedule");
}

static void check_jobs(struct world *w, uint32_t s)
{
    struct schedule_view v;
    uint64_t live = 0, completed, failed;
    clock_resolve(w, s);
    for (uint32_t k = 0; k < w->next_k; k++)
        live += model_job(w->model, k)->schedule == s + 1 &&
                model_is_live(w->model, k);
    if (clock_view(w, s, &v) == NULL)
        return;
    if (v.live != live && (v.live < live || !purging(w)))
        clock_object(w, s, "another number of jobs is live than it counts");
    model_ended(w->model, s, &completed, &failed);
    clock_object(w, s, clocks_ends(w->clocks, s, &v, completed, failed));
}

void clock_check(struct world *w)
{
    struct engine_stats stats;
    struct schedule_view v;
    unsigned per_1000 = no_eviction(w);
    for (uint32_t s = 0; s < CLOCK_SCHEDULES; s++)
        clock_object(w, s, clocks_still(w->clocks, s, clock_view(w, s, &v)));
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
