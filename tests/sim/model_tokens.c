/* What the verbs with a token are answered. */
#include "model_impl.h"

/* Is this the token in force? Then a verb must succeed, unless the lease has
 * run out, when it may. */
enum standing { CURRENT, OVERDUE, ENDED, OLD, GONE };

static enum standing standing(const struct model *m, const struct mjob *j,
                              uint32_t delivery, struct now now)
{
    if (j->state == M_NONE || j->state == M_ERASED)
        return GONE;
    if (!model_lives(j))
        return m->wall_max_ms >= j->finished_ms + m->keep_ms ? GONE : ENDED;
    if (j->state == M_RUNNING && j->delivery == delivery)
        return model_overdue(m, j, now) ? OVERDUE : CURRENT;
    return OLD;
}

static bool refusal_fits(const struct model *m, const struct mjob *j,
                         enum standing s, enum err rc, struct now now)
{
    bool poison =
        model_maybe_poison(m, j, now) ||
        (j->state == M_RUNNING && j->cancelling && model_overdue(m, j, now));
    switch (s) {
    case CURRENT:
        return false;
    case OVERDUE:
        return rc == ERR_STALE ||
               (poison && (rc == ERR_FINISHED || rc == ERR_NOTFOUND));
    case ENDED:
        return rc == ERR_FINISHED || rc == ERR_STALE || rc == ERR_NOTFOUND;
    case OLD:
        return rc == ERR_STALE ||
               (poison && (rc == ERR_FINISHED || rc == ERR_NOTFOUND));
    case GONE:
        return rc == ERR_NOTFOUND || rc == ERR_FINISHED;
    }
    return false;
}

/* A verb that is repeated with the token whose execution it ended is answered
 * as the first time, as long as no later execution has ended. */
static bool repeats(const struct mjob *j, uint32_t delivery, uint8_t verb)
{
    return j->ended == delivery && j->ended_by == verb;
}

const char *model_acked(struct model *m, uint32_t k, uint32_t delivery,
                        uint32_t epoch, enum err rc, struct now now)
{
    (void)epoch;
    const struct mjob *was = &m->jobs[k];
    enum standing s = standing(m, was, delivery, now);
    if (rc != ERR_OK)
        return refusal_fits(m, was, s, rc, now) ? NULL
                                                : "an ACK was refused wrongly";
    if (repeats(was, delivery, 'a'))
        return NULL;
    if (s != CURRENT && s != OVERDUE)
        return "an ACK without the lease was accepted";
    model_end(m, model_change(m, k), M_COMPLETED, 'a', now);
    return NULL;
}

const char *model_nacked(struct model *m, uint32_t k, uint32_t delivery,
                         uint32_t epoch, bool permanent, uint64_t delay_ms,
                         enum err rc, struct now now)
{
    (void)epoch;
    const struct mjob *was = &m->jobs[k];
    enum standing s = standing(m, was, delivery, now);
    if (rc != ERR_OK)
        return refusal_fits(m, was, s, rc, now) ? NULL
                                                : "a NACK was refused wrongly";
    if (repeats(was, delivery, 'n'))
        return NULL;
    if (s != CURRENT && s != OVERDUE)
        return "a NACK without the lease was accepted";
    struct mjob *j = model_change(m, k);
    if (j->cancelling) {
        model_end(m, j, M_CANCELLED, 'n', now);
        return NULL;
    }
    j->failures++;
    bool last = permanent || j->failures > j->retries;
    model_end(m, j, last ? M_FAILED : M_WAITING, 'n', now);
    j->not_before_ms = j->stands_ms = now.wall_ms + delay_ms;
    return NULL;
}

const char *model_released(struct model *m, uint32_t k, uint32_t delivery,
                           uint32_t epoch, enum err rc, struct now now)
{
    (void)epoch;
    const struct mjob *was = &m->jobs[k];
    enum standing s = standing(m, was, delivery, now);
    if (rc != ERR_OK)
        return refusal_fits(m, was, s, rc, now)
                   ? NULL
                   : "a RELEASE was refused wrongly";
    if (repeats(was, delivery, 'r'))
        return NULL;
    if (s != CURRENT && s != OVERDUE)
        return "a RELEASE without the lease was accepted";
    struct mjob *j = model_change(m, k);
    model_end(m, j, j->cancelling ? M_CANCELLED : M_WAITING, 'r', now);
    j->not_before_ms = j->stands_ms = 0;
    return NULL;
}

const char *model_token(const struct model *m, uint32_t k, uint32_t delivery,
                        enum err rc, struct now now)
{
    enum standing s = standing(m, &m->jobs[k], delivery, now);
    if (rc != ERR_OK)
        return refusal_fits(m, &m->jobs[k], s, rc, now)
                   ? NULL
                   : "a verb with a token was refused wrongly";
    return s == CURRENT || s == OVERDUE
               ? NULL
               : "a verb without the lease was accepted";
}

const char *model_extended(struct model *m, uint32_t k, uint32_t delivery,
                           uint32_t epoch, enum lease_order order, enum err why,
                           struct now now)
{
    (void)epoch;
    const struct mjob *was = &m->jobs[k];
    enum standing s = standing(m, was, delivery, now);
    if ((order == ORDER_LOST) != (why != ERR_OK))
        return "a renewal says why it was refused if and only if it was";
    if (order == ORDER_LOST)
        return refusal_fits(m, was, s, why, now)
                   ? NULL
                   : "a renewal was refused wrongly";
    if (s != CURRENT && s != OVERDUE)
        return "a lease that had ended was extended";
    if (model_is_slow(was, now))
        return "an execution that took too long was extended";
    if ((order == ORDER_CANCEL) != was->cancelling)
        return "the order that came with a renewal is wrong";
    struct mjob *j = model_change(m, k);
    j->lease_end_ms = now.mono_ms + j->lease_ms;
    return NULL;
}

bool model_undone(struct model *m, uint32_t k, uint32_t delivery,
                  struct now now)
{
    struct mjob *j = &m->jobs[k];
    if (j->state != M_RUNNING || j->delivery != delivery || j->again)
        return false;
    if (j->cancelling) {
        model_cut_off(m, k, now);
        return false;
    }
    j = model_change(m, k);
    model_become(m, j, M_WAITING);
    j->not_before_ms = j->stands_ms = 0;
    return true;
}

const char *model_given_back(struct model *m, uint32_t k, struct now now)
{
    struct mjob *j = &m->jobs[k];
    if (j->state != M_RUNNING)
        return "a job was given back that did not run";
    j = model_change(m, k);
    model_end(m, j, j->cancelling ? M_CANCELLED : M_WAITING, 'r', now);
    j->not_before_ms = j->stands_ms = 0;
    return NULL;
}
