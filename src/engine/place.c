/* Where a job stands: ready, due, or nowhere. (Parked: park.c; running:
 * lease.c.) Each function writes the row of the place and moves the state. */
#include "engine/core.h"

bool place_choose(struct engine *e, struct job *j, struct owner *o)
{
    struct lane *l = lane_for(e, j->queue, j->handler, o);
    if (l == NULL)
        return false;
    j->lane = l;
    j->order = lane_order(l, j->priority, j->since_ms);
    return true;
}

void place_outlived(struct engine *e, struct job *j)
{
    if (j->lane != NULL && !lane_dead(j->lane))
        return;
    j->lane = lane_anew(e, j);
    j->order = lane_order(j->lane, j->priority, j->since_ms);
}

static void report_ready(struct engine *e, const struct queue *q,
                         const struct handler *h, const struct id *id,
                         struct now now)
{
    if ((e->event_mask & EVENT_BIT(EVENT_JOB_READY)) != 0) { /* hot path */
        struct event ev = {.type = EVENT_JOB_READY,
                           .at_ms = now.wall_ms,
                           .id = *id,
                           .queue = q->name,
                           .handler = h->name,
                           .queue_id = q->set.id,
                           .handler_id = h->set.id};
        report_event(e, &ev);
    }
}

void ready_told(struct engine *e, struct queue *q, struct handler *h,
                const struct id *id, struct now now)
{
    wait_wake(e, q, h, 1);
    report_ready(e, q, h, id, now);
}

void ready_again(struct engine *e, struct queue *q, struct handler *h,
                 uint64_t n, struct now now)
{
    static const struct id none; /* the row has not been read yet */
    uint64_t waiting = q->counts[JOB_READY] + q->counts[JOB_PARKED];
    struct lane *l = waiting == 0 || !queue_open(q)
                         ? NULL
                         : lane_pick(e, q, &h, h == NULL ? 0 : 1);
    if (l == NULL)
        return;
    const struct member *m = window_head(&l->window);
    report_ready(e, q, l->handler, m == NULL ? &none : &m->id, now);
    wait_wake(e, q, h, n < waiting ? n : waiting);
}

enum job_state place_ready(struct engine *e, struct job *j, bool fresh,
                           struct now now)
{
    struct queue *q = j->queue;
    struct handler *h = j->handler;
    struct id id = j->id;
    ASSERT(j->state == JOB_READY);
    struct limit *l = job_limited(e, j) ? limit_refusing(e, j, now) : NULL;
    if (l != NULL) {
        park_job(e, l, j, 0, fresh, now);
        return JOB_PARKED;
    }
    lane_add(e, j->lane, j, 0, fresh);
    job_drop(e, j);
    ready_told(e, q, h, &id, now);
    return JOB_READY;
}

void place_due(struct engine *e, struct job *j, uint64_t at_ms, unsigned flags,
               bool fresh)
{
    ASSERT(j->state == JOB_SCHEDULED || j->state == JOB_RETRYING);
    ASSERT(((flags & DUEF_RETRYING) != 0) == (j->state == JOB_RETRYING));
    ASSERT(j->since_ms == at_ms);
    struct due d = {.at_ms = at_ms,
                    .kind = DUE_READY,
                    .id = j->id,
                    .lane = j->lane,
                    .priority = j->priority,
                    .flags = flags,
                    .job = j};
    due_put(e, &d, fresh);
    job_drop(e, job_get(e, &d.id)); /* a full window may have dropped it */
}

void place_none(struct engine *e, struct job *j, struct now now)
{
    switch ((enum job_state)j->state) {
    case JOB_READY:
        lane_remove(e, j);
        break;
    case JOB_PARKED:
        lane_remove(e, j);
        limits_unreserve(e, j, now);
        break;
    case JOB_SCHEDULED:
    case JOB_RETRYING:
        due_del(e, j->since_ms, DUE_READY, &j->id);
        break;
    case JOB_BLOCKED:
    case JOB_HELD:
        break;
    case JOB_RUNNING:
    case JOB_COMPLETED:
    case JOB_FAILED:
    case JOB_CANCELLED:
    case JOB_EXPIRED:
    case JOB_STATES:
        ASSERT(!"a job that does not wait has no place");
    }
}
