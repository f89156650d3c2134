/* Ends that nobody asked for: leases that are lost, times that are over. */
#include "model_impl.h"

#include <string.h>

uint32_t model_crashes_since(const struct mjob *j, uint64_t wall_ms)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < M_CRASHES; i++)
        n += j->crashed_ms[i] > wall_ms;
    return n;
}

/* The wall time at which its lease ran out, as far as clocks can be trusted. */
static uint64_t lost_at(const struct mjob *j, struct now now)
{
    return now.wall_ms - (now.mono_ms - j->lease_end_ms);
}

/* The engine noticed the loss at some time from then on: might it have found
 * enough crashes within the window? Clocks that were set blur its edge, and
 * crashes that it noticed late. */
bool model_maybe_poison(const struct model *m, const struct mjob *j,
                        struct now now)
{
    return j->state == M_RUNNING && now.mono_ms >= j->lease_end_ms &&
           model_crashes_since(j, lost_at(j, now) - m->crash_window_ms -
                                      m->slack_ms) +
                   1 >=
               m->crashes_max;
}

void model_crash_of(struct mjob *j, struct now now)
{
    j->tried = true;
    memmove(j->crashed_ms + 1, j->crashed_ms,
            (M_CRASHES - 1) * sizeof(j->crashed_ms[0]));
    j->crashed_ms[0] = lost_at(j, now);
}

bool model_is_slow(const struct mjob *j, struct now now)
{
    return j->state == M_RUNNING && j->timeout_at_ms > 0 &&
           j->timeout_at_ms <= now.mono_ms;
}

bool model_overdue(const struct model *m, const struct mjob *j, struct now now)
{
    return model_lease_over(j, now) || model_is_slow(j, now) ||
           (j->cancelling && m->wall_max_ms >= j->force_ms);
}

void model_cut_off(struct model *m, uint32_t k, struct now now)
{
    if (m->jobs[k].state == M_RUNNING && !model_lease_over(&m->jobs[k], now))
        model_change(m, k)->lease_end_ms = now.mono_ms;
}

const char *model_lost(struct model *m, uint32_t k, uint64_t delay_ms,
                       struct now now)
{
    struct mjob *j = &m->jobs[k];
    if (j->state != M_RUNNING || !model_lease_over(j, now))
        return "a lease was lost before its time";
    if (j->cancelling)
        return "a job that was told to stop goes on when its lease is lost";
    if (model_is_slow(j, now))
        return "an execution that took too long counts as lost";
    j = model_change(m, k);
    model_crash_of(j, now);
    if (model_crashes_since(j, now.wall_ms - m->crash_window_ms + m->set_ms) >=
        m->crashes_max)
        return "a poisonous job goes on";
    model_become(m, j, M_WAITING);
    j->not_before_ms = 0;
    j->stands_ms = now.wall_ms + delay_ms;
    return NULL;
}

const char *model_timed_out(struct model *m, uint32_t k, bool failed,
                            struct now now)
{
    struct mjob *j = &m->jobs[k];
    if (!model_is_slow(j, now))
        return "an execution was ended before its time";
    if (j->cancelling)
        return "a job that was told to stop goes on when its time is over";
    if (failed != (j->failures >= j->retries))
        return failed ? "a job failed that has another attempt"
                      : "a job has more attempts than it may";
    j = model_change(m, k);
    uint64_t delay_ms = (uint64_t)M_BASE_MS << j->failures++;
    model_end(m, j, failed ? M_FAILED : M_WAITING, 't', now);
    j->not_before_ms = now.wall_ms + delay_ms;
    j->stands_ms = j->not_before_ms + delay_ms * 30 / 100;
    return NULL;
}

const char *model_poisoned(struct model *m, uint32_t k, struct now now)
{
    if (!model_maybe_poison(m, &m->jobs[k], now))
        return "a job failed by crashes that it did not have";
    model_end(m, model_change(m, k), M_FAILED, 'p', now);
    return NULL;
}

/* It is the oldest of its line. Lines of names may be read later than that. */
const char *model_dropped(struct model *m, uint32_t k, struct now now)
{
    struct mjob *j = &m->jobs[k];
    if (j->state != M_WAITING || j->held || j->not_before_ms > m->wall_max_ms)
        return "a job was dropped that does not stand in line";
    if (!model_has_limits(j) && model_passes(m, k, false))
        return "a job was dropped before an older one";
    j = model_change(m, k);
    model_become(m, j, M_CANCELLED);
    j->finished_ms = now.wall_ms;
    return NULL;
}

static bool is_over(uint64_t at_ms, struct now now)
{
    return at_ms > 0 && at_ms <= now.wall_ms;
}

bool model_is_late(const struct model *m, uint32_t k, struct now now)
{
    const struct mjob *j = &m->jobs[k];
    return model_lives(j) && (is_over(j->deadline_at_ms, now) ||
                              (j->state == M_WAITING && !j->tried &&
                               is_over(j->expires_at_ms, now)));
}

const char *model_expired(struct model *m, uint32_t k, struct now now)
{
    if (!model_is_late(m, k, now))
        return "a job expired before its time";
    struct mjob *j = model_change(m, k);
    if (j->state == M_RUNNING)
        model_end(m, j, M_EXPIRED, 'x', now);
    model_become(m, j, M_EXPIRED);
    j->held = false;
    j->finished_ms = now.wall_ms;
    return NULL;
}
