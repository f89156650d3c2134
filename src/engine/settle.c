/* What else happens when an execution begins or ends, and when a job ends: the
 * place where limits, breakers and dependencies are told. */
#include "engine/core.h"

enum err settle_gather(struct engine *e, struct gather *g, const struct job *j,
                       struct errbuf *err)
{
    return schedule_settle_gather(e, g, j, err);
}

void lease_taken(struct engine *e, struct job *j, struct now now)
{
    breaker_taken(e, j, now);
}

void lease_untaken(struct engine *e, struct job *j, struct now now)
{
    breaker_untaken(e, j, now);
}

void settle_attempt(struct engine *e, struct job *j, const struct outcome *o,
                    struct now now)
{
    breaker_settle(e, j, o, now);
}

void settle_outcome(struct engine *e, struct gather *g, struct job *j,
                    enum job_state state, const struct outcome *o,
                    struct now now)
{
    breaker_settle(e, j, o, now);
    schedule_settle(e, g, j, state, now);
}

enum err due_fire_other(struct engine *e, struct gather *g, enum due_kind kind,
                        uint64_t at_ms, const struct id *id, struct now now,
                        struct errbuf *err)
{
    switch (kind) {
    case DUE_LIMIT:
        return limit_due(e, g, at_ms, id, now, err);
    case DUE_SCHEDULE:
        return schedule_fire(e, g, at_ms, id, now, err);
    case DUE_SCHEDULE_FREE:
        return schedule_free(e, g, at_ms, id, now, err);
    case DUE_SCHEDULE_FILL:
        return schedule_fill(e, g, at_ms, id, now, err);
    case DUE_BREAKER:
        breaker_due(e, id, at_ms, now);
        return ERR_OK;
    default:
        return err_set(err, ERR_CORRUPT, "family due: row of unknown kind %u",
                       (unsigned)kind);
    }
}
