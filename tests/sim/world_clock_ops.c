/* What is asked of schedules in a world, and what they answer. */
#include "times.h"
#include "world_clock.h"

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
    trace(w, "  schedule %s", clock_name(op->schedule));
}

static enum err run_set(struct world *w, struct op *op, struct slice name)
{
    const struct clock_settings *set = &op->set;
    struct job_options options = {.given = (uint64_t)1 << JOPT_RETRIES,
                                  .retries = set->retries,
                                  .base_ms = 1000};
    if (set->retries > 0)
        options.given |= (uint64_t)1 << JOPT_BASE;
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
    clock_object(w, s, clocks_set(w->clocks, s, &op->set, rc, v, w->now));
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
    uint32_t n = clock_adopt(w, jobs);
    if (n != (rc == ERR_OK) ||
        (n == 1 && (jobs[0].schedule != op->schedule ||
                    jobs[0].nominal_ms != w->now.wall_ms)))
        violate(w, op, "RUN did not make its job");
    clock_object(w, op->schedule, clocks_ran(w->clocks, op->schedule, rc, v));
}

enum err clock_run(struct world *w, struct op *op)
{
    uint32_t s = op->schedule;
    struct slice name = slice_str(clock_name(s));
    struct schedule_view v;
    struct id id;
    uint64_t next_ms;
    enum err rc;
    clock_look_one(w,
                   s); /* what it did in this tick so far is no work of ours */
    if (op->kind == OP_SET && !clocks_exists(w->clocks, s))
        clock_resolve(w, s);
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
    trace(w, "  schedule %s: %s", clock_name(s), err_name(rc));
    note(w, s, 2000 + (uint64_t)rc);
    const struct schedule_view *shown = clock_view(w, s, &v);
    if (op->kind == OP_SET)
        learn_set(w, op, rc, shown);
    else if (op->kind == OP_DEL)
        clock_object(w, s, clocks_deleted(w->clocks, s, rc, shown));
    else if (op->kind == OP_RUN)
        learn_ran(w, op, rc, shown);
    else if (op->kind == OP_BACKFILL)
        clock_object(
            w, s,
            clocks_backfill(w->clocks, s, op->from_ms, op->to_ms, rc, shown));
    else
        clock_object(w, s,
                     clocks_pause(w->clocks, s, op->kind == OP_PAUSE, rc, shown,
                                  w->now));
    return ERR_OK; /* refusals were judged */
}
