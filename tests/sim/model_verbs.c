/* What is done to jobs from outside, by clients and chores. */
#include "model_impl.h"

#include <string.h>

bool model_sure(const struct model *m, uint32_t k, struct now now)
{
    const struct mjob *j = &m->jobs[k];
    if (j->state == M_NONE)
        return false;
    if (j->state == M_RUNNING)
        return !model_overdue(m, j, now);
    return j->state == M_WAITING || j->state == M_ERASED ||
           m->wall_max_ms < j->finished_ms + m->keep_ms;
}

static enum err verb_answer(const struct mjob *j, enum manage_verb verb)
{
    bool waiting = j->state == M_WAITING;
    if (j->state == M_ERASED)
        return ERR_NOTFOUND;
    if (model_lives(j)) {
        switch (verb) {
        case MANAGE_CANCEL:
            return ERR_OK;
        case MANAGE_HOLD:
        case MANAGE_DELETE:
            return waiting ? ERR_OK : ERR_STATE;
        case MANAGE_RUNNOW:
            return waiting && !j->held ? ERR_OK : ERR_STATE;
        case MANAGE_UNHOLD:
            return waiting && j->held ? ERR_OK : ERR_STATE;
        case MANAGE_RETRY:
            return ERR_STATE;
        }
    }
    if (verb == MANAGE_RETRY || verb == MANAGE_DELETE ||
        (verb == MANAGE_CANCEL && j->state == M_CANCELLED))
        return ERR_OK;
    return ERR_FINISHED;
}

const char *model_managed(struct model *m, uint32_t k, enum manage_verb verb,
                          uint64_t force_ms, enum err rc, struct now now)
{
    if (rc != verb_answer(&m->jobs[k], verb))
        return "a verb from outside got the wrong answer";
    if (rc != ERR_OK)
        return NULL;
    struct mjob *j = model_change(m, k);
    switch (verb) {
    case MANAGE_CANCEL:
        if (j->state == M_RUNNING && force_ms > 0) {
            j->cancelling = true;
            j->told_ms = now.wall_ms;
            j->force_ms = now.wall_ms + force_ms;
        } else if (model_lives(j)) {
            if (j->state == M_RUNNING)
                model_end(m, j, M_CANCELLED, 'c', now);
            model_become(m, j, M_CANCELLED);
            j->held = false;
            j->finished_ms = now.wall_ms;
        }
        break;
    case MANAGE_HOLD:
        j->held = true;
        break;
    case MANAGE_UNHOLD:
        j->held = false;
        break;
    case MANAGE_RUNNOW:
        j->not_before_ms = j->stands_ms = 0;
        break;
    case MANAGE_DELETE:
        model_become(m, j, M_ERASED);
        break;
    case MANAGE_RETRY:
        model_become(m, j, M_WAITING);
        j->in_line = j->tried = false;
        j->revived_ms = now.mono_ms;
        j->failures = 0;
        j->progress = 0;
        j->not_before_ms = j->stands_ms = 0;
        memset(j->crashed_ms, 0, sizeof(j->crashed_ms));
        if (j->expires_ms > 0)
            j->expires_at_ms = now.wall_ms + j->expires_ms;
        if (j->deadline_ms > 0)
            j->deadline_at_ms = now.wall_ms + j->deadline_ms;
        break;
    }
    return NULL;
}

/* What became of a lease that ran out, since somebody saw more than a lease. */
static void settle(struct model *m, uint32_t k, struct now now)
{
    struct mjob *j = &m->jobs[k];
    if (j->state != M_RUNNING || !model_overdue(m, j, now))
        return;
    j = model_change(m, k);
    if (j->cancelling) {
        model_end(m, j, M_CANCELLED, 'c', now);
    } else if (model_lease_over(j, now)) {
        model_crash_of(j, now);
        model_become(m, j, M_WAITING);
        j->not_before_ms = 0;
        j->stands_ms = UINT64_MAX; /* when that was noticed is unknown */
    }
}

const char *model_chored(struct model *m, uint32_t k, enum manage_verb verb,
                         uint64_t force_ms, struct now now)
{
    struct mjob *j = &m->jobs[k];
    if (j->state == M_ERASED && verb == MANAGE_DELETE) {
        model_change(m, k)->purged = false; /* its rows go now */
        return NULL;
    }
    if (j->state == M_RUNNING && j->cancelling && verb == MANAGE_CANCEL &&
        force_ms == 0) {
        if (!model_overdue(m, j, now))
            return "a job was stopped before its time";
        model_end(m, model_change(m, k), M_CANCELLED, 'c', now);
        return NULL;
    }
    if (force_ms > 0) /* only who runs is told, also if its lease is over */
        return j->state == M_RUNNING
                   ? model_managed(m, k, verb, force_ms, ERR_OK, now)
                   : "a job was told to stop that does not run";
    settle(m, k, now);
    return model_managed(m, k, verb, 0, ERR_OK, now);
}

void model_purged(struct model *m, uint8_t queue)
{
    for (uint32_t k = 0; k < m->jobs_n; k++)
        if (m->jobs[k].state == M_WAITING && m->jobs[k].queue == queue) {
            struct mjob *j = model_change(m, k);
            model_become(m, j, M_ERASED);
            j->purged = true;
        }
}
