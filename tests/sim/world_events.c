/* What the engine tells of its own accord: what timers, the reaper and chores
 * did to jobs. */
#include "world_impl.h"

static enum manage_verb verb_of(const struct event *ev)
{
    switch (ev->type) {
    case EVENT_JOB_CANCELLED:
    case EVENT_JOB_CANCELLING:
        return MANAGE_CANCEL;
    case EVENT_JOB_DELETED:
        return MANAGE_DELETE;
    case EVENT_JOB_REVIVED:
        return MANAGE_RETRY;
    default:
        return slice_eq(ev->text, SLICE_LIT("held"))     ? MANAGE_HOLD
               : slice_eq(ev->text, SLICE_LIT("unheld")) ? MANAGE_UNHOLD
                                                         : MANAGE_RUNNOW;
    }
}

/* The lease that was lost did not end its job, or that was told by now. */
void events_lost(struct world *w)
{
    if (w->lost)
        violate_job(
            w, w->lost_k,
            model_lost(w->model, w->lost_k, w->config.crash_delay_ms, w->now));
    w->lost = false;
}

static bool session_over(const struct world *w, uint32_t k)
{
    const struct mjob *j = model_job(w->model, k);
    return w->crew != NULL && j->session > 0 &&
           crew_over(w->crew, j->session - 1u, w->now);
}

enum crash { CRASH_NOT, CRASH_MAYBE, CRASH };

/* Is it a crash that its session is over? */
static enum crash crash_of(const struct world *w, uint32_t k)
{
    const struct mjob *j = model_job(w->model, k);
    if (!crew_back(w->crew, j->session - 1u))
        return CRASH_NOT;
    switch (crew_drains_as(w->crew, j->worker, j->session, w->now)) {
    case DRAINS_NOT:
        return CRASH;
    case DRAINS_MAYBE:
        return CRASH_MAYBE;
    case DRAINS:
        break;
    }
    return CRASH_NOT;
}

/* What a slice of a chore, or a timer, does to a job. */
void events_on(void *ud, const struct event *ev)
{
    struct world *w = ud;
    uint32_t k;
    if (breakers_event(w, ev))
        return;
    if (w->reaping || w->timers)
        breakers_flush(w);
    if (w->lost && ev->type == EVENT_JOB_FAILED &&
        id_eq(&ev->id, &model_job(w->model, w->lost_k)->id))
        w->lost = false;
    events_lost(w);
    if (ev->type == EVENT_LEASE_LOST) {
        w->lost = model_find(w->model, &ev->id, &w->lost_k);
        if (w->lost && session_over(w, w->lost_k) &&
            model_sure(w->model, w->lost_k, w->now)) {
            if (crash_of(w, w->lost_k) == CRASH_NOT)
                violate_job(w, w->lost_k, "an end that is no crash counts");
            model_cut_off(w->model, w->lost_k, w->now);
        }
        if (w->lost)
            breakers_tell(w, w->lost_k, TOLD_LOST);
        return;
    }
    if (ev->type == EVENT_JOB_CANCELLED && w->adds != NULL) {
        room_drop(w, &ev->id);
        return;
    }
    if (ev->type == EVENT_JOB_ADDED && w->clocks != NULL)
        clock_born(w, ev);
    if (ev->type == EVENT_JOB_EXPIRED) {
        if (!model_find(w->model, &ev->id, &k))
            return;
        struct op late = {.k = k};
        trace(w, "  job %u: expired", k);
        violate(w, &late, model_expired(w->model, k, w->now));
        return;
    }
    bool poisoned = ev->type == EVENT_JOB_FAILED && w->reaping;
    bool stopped = ev->type == EVENT_JOB_CANCELLED && w->reaping;
    bool slow = ev->type == EVENT_JOB_TIMEOUT;
    bool released = ev->type == EVENT_JOB_RELEASED && w->reaping;
    if ((!poisoned && !stopped && !released && !slow &&
         (ev->type == EVENT_JOB_ADDED || !w->timers)) ||
        !model_find(w->model, &ev->id, &k))
        return;
    if (slow || (poisoned && model_is_slow(model_job(w->model, k), w->now))) {
        trace(w, "  job %u: took too long", k);
        breakers_tell(w, k, TOLD_BAD);
        violate_job(w, k, model_timed_out(w->model, k, poisoned, w->now));
        return;
    }
    if (poisoned) {
        violate_job(w, k, model_poisoned(w->model, k, w->now));
        return;
    }
    if (stopped && session_over(w, k))
        model_cut_off(w->model, k, w->now);
    if (released) {
        trace(w, "  job %u: given back", k);
        if (!session_over(w, k))
            violate_job(w, k, "a job was given back before its session ended");
        else if (crash_of(w, k) == CRASH)
            violate_job(w, k, "a crash was not counted");
        violate_job(w, k, model_given_back(w->model, k, w->now));
        return;
    }
    if (slice_eq(ev->text, SLICE_LIT("its schedule fired again"))) {
        clock_stopped(w, k);
        return;
    }
    bool told = ev->type == EVENT_JOB_CANCELLING;
    if (ev->type == EVENT_JOB_REVIVED && keys_barred(w, k))
        violate_job(w, k, "a job was revived without its unique key");
    trace(w, "  job %u: %s %.*s", k, event_name(ev->type), SLICE_FMT(ev->text));
    violate_job(w, k,
                model_chored(w->model, k, verb_of(ev),
                             told ? w->config.cancel_force_ms : 0, w->now));
    if (ev->type == EVENT_JOB_REVIVED && w->keys != NULL)
        keys_revived(w->keys, w->model, k);
}
