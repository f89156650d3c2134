#include "commands/schedule_reply.h"

#include "commands/handler_reply.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

void reply_time(struct reply *r, uint64_t ms)
{
    if (ms == 0)
        reply_null(r);
    else
        reply_int(r, (int64_t)ms);
}

static void reply_strings(struct reply *r, const char *name,
                          const struct slice *list, uint32_t n)
{
    reply_str(r, name);
    reply_array(r, n);
    for (uint32_t i = 0; i < n; i++)
        reply_bulk(r, list[i]);
}

static void reply_timing(struct reply *r, const struct schedule_timing *t)
{
    reply_strings(r, "cron", t->patterns, t->patterns_n);
    reply_strings(r, "exclude", t->excludes, t->excludes_n);
    reply_field_time(r, "every_ms", t->every_ms);
    reply_field_time(r, "at_ms", t->at_ms);
    reply_field_str(r, "tz", t->zone.len > 0 ? t->zone : SLICE_LIT("UTC"));
    reply_field_str(r, "gap", slice_str(gap_list[t->gap]));
    reply_field_str(r, "fold", slice_str(fold_list[t->fold]));
    reply_field_time(r, "start_ms", t->start_ms);
    reply_field_time(r, "end_ms", t->end_ms);
    reply_field_int(r, "spread_ms", (int64_t)t->spread_ms);
}

static void reply_outcomes(struct reply *r, const struct schedule_view *v)
{
    reply_str(r, "outcomes");
    reply_array(r, v->outcomes_n);
    for (uint32_t i = 0; i < v->outcomes_n; i++) {
        const struct schedule_outcome *o = &v->outcomes[i];
        reply_map(r, 3);
        reply_field_int(r, "nominal_ms", (int64_t)o->nominal_ms);
        reply_field_int(r, "ended_ms", (int64_t)o->ended_ms);
        reply_field_str(r, "state",
                        slice_str(job_state_name((enum job_state)o->state)));
    }
}

static void reply_counters(struct reply *r, const struct schedule_view *v)
{
    reply_field_int(r, "fired", (int64_t)v->fired);
    reply_field_int(r, "missed", (int64_t)v->missed);
    reply_field_int(r, "overlapped", (int64_t)v->overlapped);
    reply_field_int(r, "completed", (int64_t)v->completed);
    reply_field_int(r, "failed", (int64_t)v->failed);
    reply_field_int(r, "rejected", (int64_t)v->rejected);
    reply_field_int(r, "manual", (int64_t)v->manual);
    reply_field_int(r, "live", v->live);
    reply_field_int(r, "buffered", v->buffered);
    reply_field_int(r, "failures_in_row", v->failures_in_row);
    reply_field_maybe(r, "error", v->error);
}

static void reply_backfill(struct reply *r, const struct schedule_view *v)
{
    reply_str(r, "backfill");
    if (!v->filling) {
        reply_null(r);
        return;
    }
    reply_map(r, 4);
    reply_field_int(r, "from_ms", (int64_t)v->fill_from_ms);
    reply_field_int(r, "to_ms", (int64_t)v->fill_to_ms);
    reply_field_int(r, "at_ms", (int64_t)v->fill_at_ms);
    reply_field_int(r, "made", (int64_t)v->filled);
}

void reply_schedule(struct reply *r, const struct schedule_view *v)
{
    reply_map(r, 40);
    reply_field_str(r, "name", v->name);
    reply_field_str(r, "queue", v->queue);
    reply_field_int(r, "paused", v->paused != PAUSED_NOT);
    if (v->paused == PAUSED_NOT)
        reply_field_null(r, "paused_by");
    else
        reply_field_str(r, "paused_by",
                        v->paused == PAUSED_BY_COMMAND ? SLICE_LIT("command")
                                                       : SLICE_LIT("failures"));
    reply_field_time(r, "next_ms", v->next_ms);
    reply_field_time(r, "fires_ms", v->due_ms);
    reply_field_time(r, "last_ms", v->last_ms);
    reply_field_time(r, "last_fired_ms", v->last_fired_ms);
    reply_str(r, "last_job");
    if (id_is_zero(&v->last_job))
        reply_null(r);
    else
        reply_id(r, &v->last_job);
    reply_timing(r, &v->timing);
    reply_field_str(r, "overlap", slice_str(overlap_list[v->overlap]));
    reply_field_str(r, "misfire", slice_str(misfire_list[v->misfire]));
    reply_field_int(r, "grace_ms", (int64_t)v->grace_ms);
    reply_field_int(r, "window_ms", (int64_t)v->window_ms);
    reply_field_time(r, "max", v->max);
    reply_field_int(r, "pause_on_failure", v->pause_after);
    reply_counters(r, v);
    reply_backfill(r, v);
    reply_field_str(r, "payload", v->payload);
    reply_str(r, "options");
    reply_job_options(r, &v->options);
    reply_outcomes(r, v);
}
