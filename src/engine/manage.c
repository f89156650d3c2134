/* Managing jobs from outside: cancel, run now, hold, unhold, retry, delete.
 *
 *     waiting   cancel -> cancelled     hold -> held     delete -> gone
 *     delayed   runnow -> ready
 *     held      unhold -> to where it was
 *     running   cancel -> an order: told with the next EXTEND and by an event;
 *                         its execution ends the job, or a due row does
 *     finished  retry  -> ready         delete -> gone     (revive.c)
 *
 * An order to stop is durable: a flag of the lease's row, and the time of its
 * end by force in the job's. However the execution ends from then on (failed,
 * lost, released), the job is cancelled; a worker that acknowledges it all the
 * same is believed.
 */
#include "engine/core.h"
#include "util/parse.h"

/* --- may it? ------------------------------------------------------------- */

static enum err refuse(const struct job *j, const char *hint,
                       struct errbuf *err)
{
    return err_set(err, ERR_STATE, "the job is %s%s",
                   job_state_name((enum job_state)j->state), hint);
}

static enum err examine_live(struct engine *e, struct gather *g,
                             const struct manage *a, struct job *j,
                             struct errbuf *err)
{
    bool running = j->state == JOB_RUNNING;
    switch (a->verb) {
    case MANAGE_CANCEL:
        if (running && (j->run_flags & RUNF_CANCEL) != 0 && !a->has_force)
            return ERR_BUSY;
        return finish_gather(e, g, j, 0, err);
    case MANAGE_RUNNOW:
        if (j->state == JOB_READY || j->state == JOB_PARKED)
            return ERR_BUSY;
        if (j->state == JOB_HELD)
            return refuse(j, ": UNHOLD it", err);
        if (j->state == JOB_BLOCKED)
            return refuse(j, ": other jobs have to end first", err);
        return running ? refuse(j, " already", err) : ERR_OK;
    case MANAGE_HOLD:
        if (j->state == JOB_HELD)
            return ERR_BUSY;
        return running ? refuse(j, ": only waiting jobs are held", err)
                       : ERR_OK;
    case MANAGE_UNHOLD:
        return j->state == JOB_HELD ? ERR_OK : refuse(j, ", not held", err);
    case MANAGE_RETRY:
        return refuse(j, ": only finished jobs are retried", err);
    case MANAGE_DELETE:
        if (running)
            return refuse(j, ": CANCEL it first", err);
        return finish_gather(e, g, j, 0, err);
    }
    return err_set(err, ERR_INTERNAL, "unknown verb %d", (int)a->verb);
}

static enum err examine_finished(struct engine *e, struct gather *g,
                                 const struct manage *a, const struct id *id,
                                 struct now now, struct errbuf *err)
{
    if (a->verb == MANAGE_RETRY)
        return revive_examine(e, g, id, now, err);
    if (a->verb == MANAGE_DELETE)
        return done_erase_examine(e, g, id, err);
    enum job_state state;
    enum err rc = job_state_of(e, g, id, &state, err);
    if (rc != ERR_OK)
        return rc;
    if (a->verb == MANAGE_CANCEL && state == JOB_CANCELLED)
        return ERR_BUSY;
    return err_set(err, ERR_FINISHED, "the job has already %s",
                   state == JOB_COMPLETED   ? "completed"
                   : state == JOB_CANCELLED ? "been cancelled"
                   : state == JOB_EXPIRED   ? "expired"
                                            : "failed");
}

enum err manage_examine(struct engine *e, struct gather *g,
                        const struct manage *a, const struct id *id,
                        struct now now, struct errbuf *err)
{
    struct job *j;
    enum err rc = job_load(e, g, id, &j, err);
    if (rc == ERR_OK) {
        rc = examine_live(e, g, a, j, err);
        job_drop(e, j);
    } else if (rc == ERR_NOTFOUND) {
        rc = examine_finished(e, g, a, id, now, err);
    }
    if (rc == ERR_NOTFOUND)
        return err_set(err, rc, "no such job");
    return rc;
}

/* --- doing --------------------------------------------------------------- */

static void end_now(struct engine *e, struct gather *g, struct job *j,
                    bool erase, struct now now)
{
    struct outcome o = {
        .verb = VERB_CANCEL, .reason = REASON_CANCELLED, .erase = erase};
    job_finish(e, g, j, JOB_CANCELLED, &o, now);
}

static void order_to_stop(struct engine *e, struct job *j, uint64_t force_ms,
                          struct now now)
{
    struct rec_more m;
    job_more(j, &m);
    if ((j->flags & JOBF_CANCEL) != 0)
        due_del(e, m.cancel_at_ms, DUE_CANCEL, &j->id);
    m.cancel_at_ms = now.wall_ms + force_ms;
    j->run_flags |= RUNF_CANCEL;
    j->flags |= JOBF_CANCEL;
    lease_store(e, j);
    job_store(e, j, &m);
    struct due d = {.at_ms = m.cancel_at_ms, .kind = DUE_CANCEL, .id = j->id};
    due_put(e, &d, false);
    report(e, EVENT_JOB_CANCELLING, j, now, 0, SLICE_EMPTY);
}

enum err cancel_forced(struct engine *e, struct gather *g, const struct id *id,
                       struct now now, struct errbuf *err)
{
    struct job *j = job_get(e, id); /* leased jobs are in memory */
    if (j == NULL || j->state != JOB_RUNNING ||
        (j->run_flags & RUNF_CANCEL) == 0)
        return ERR_OK;
    enum err rc = finish_gather(e, g, j, 0, err);
    if (rc != ERR_OK)
        return rc;
    struct outcome o = {.verb = VERB_CANCEL,
                        .error = SLICE_LIT("did not stop in time")};
    (void)execution_cancelled(e, g, j, &o, now);
    return ERR_OK;
}

/* Its lane and order by what it says now; if there can be no more lanes it
 * stays in its old one. */
static void choose(struct engine *e, struct job *j, const struct rec_more *m)
{
    struct owner *o = m->owner == 0 ? NULL : e->owners[m->owner];
    if (!place_choose(e, j, o))
        j->order = lane_order(j->lane, j->priority, j->since_ms);
}

void job_hold(struct engine *e, struct job *j, struct now now)
{
    struct rec_more m;
    uint8_t from = j->state;
    place_none(e, j, now); /* may rewrite the row that `m` points into */
    job_more(j, &m);
    m.held_from = from;
    job_move(e, j, JOB_HELD);
    j->flags |= JOBF_MOVED;
    job_store(e, j, &m);
    report(e, EVENT_JOB_UPDATED, j, now, 0, SLICE_LIT("held"));
    job_drop(e, j);
}

/* Back to where it was; if its time has come meanwhile it is ready. */
static void unhold(struct engine *e, struct job *j, struct now now)
{
    struct rec_more m;
    job_more(j, &m);
    uint8_t from = m.held_from;
    m.held_from = 0;
    bool delayed = (from == JOB_SCHEDULED || from == JOB_RETRYING) &&
                   j->since_ms > now.wall_ms;
    bool blocked = from == JOB_BLOCKED && m.parents_left > 0;
    job_move(e, j,
             blocked   ? JOB_BLOCKED
             : delayed ? (enum job_state)from
                       : JOB_READY);
    job_store(e, j, &m);
    report(e, EVENT_JOB_UPDATED, j, now, 0, SLICE_LIT("unheld"));
    if (blocked)
        job_drop(e, j);
    else if (delayed) /* its order may be that of an older place */
        place_due(e, j, j->since_ms,
                  DUEF_OLD_PLACE | (from == JOB_RETRYING ? DUEF_RETRYING : 0),
                  false);
    else
        place_ready(e, j, false, now);
}

static void run_now(struct engine *e, struct job *j, struct now now)
{
    struct rec_more m;
    job_more(j, &m);
    place_none(e, j, now);
    j->since_ms = arrival_ms(e, now);
    choose(e, j, &m);
    job_move(e, j, JOB_READY);
    j->flags |= JOBF_MOVED;
    job_store(e, j, NULL);
    report(e, EVENT_JOB_UPDATED, j, now, 0, SLICE_LIT("runnow"));
    place_ready(e, j, false, now);
}

static void do_live(struct engine *e, struct gather *g, const struct manage *a,
                    struct job *j, struct now now)
{
    uint64_t force_ms = a->has_force ? a->force_ms : e->config.cancel_force_ms;
    switch (a->verb) {
    case MANAGE_CANCEL:
        if (j->state == JOB_RUNNING && force_ms > 0)
            order_to_stop(e, j, force_ms, now);
        else
            end_now(e, g, j, false, now);
        return;
    case MANAGE_RUNNOW:
        run_now(e, j, now);
        return;
    case MANAGE_HOLD:
        job_hold(e, j, now);
        return;
    case MANAGE_UNHOLD:
        unhold(e, j, now);
        return;
    case MANAGE_DELETE:
        end_now(e, g, j, true, now);
        return;
    case MANAGE_RETRY:
        break;
    }
    ASSERT(!"manage_examine() lets only these pass");
}

enum err manage_do(struct engine *e, struct gather *g, const struct manage *a,
                   const struct id *id, struct now now, struct errbuf *err)
{
    struct job *j;
    enum err rc = job_load(e, g, id, &j, err);
    if (rc == ERR_OK)
        do_live(e, g, a, j, now);
    else if (rc == ERR_NOTFOUND && a->verb == MANAGE_RETRY)
        rc = revive(e, g, id, now, err);
    else if (rc == ERR_NOTFOUND && a->verb == MANAGE_DELETE)
        rc = done_erase(e, g, id, now, err);
    return rc;
}

/* --- the operation ------------------------------------------------------- */

static enum err prepare(struct engine *e, struct gather *g,
                        const struct manage *a, struct slice ref,
                        struct now now, struct id *id, struct errbuf *err)
{
    enum err rc = engine_find(e, g, ref, id, err);
    return rc == ERR_OK ? manage_examine(e, g, a, id, now, err) : rc;
}

/* Ask for the rows of all, or of as many as there is time for. */
static enum err rehearse(struct engine *e, struct gather *g,
                         const struct manage *a, const struct manage_params *p,
                         uint32_t *n, struct now now, struct errbuf *err)
{
    enum err rc = ERR_OK;
    struct id id;
    if (p->cut != NULL)
        cut_begin(e, g);
    for (uint32_t i = 0; i < *n; i++) {
        if (prepare(e, g, a, p->jobs[i], now, &id, err) == ERR_PENDING)
            rc = ERR_PENDING;
        if (p->cut != NULL && cut_here(e, i))
            *n = i + 1;
    }
    return rc;
}

/* ERR_PENDING: nothing has been changed. */
static enum err manage_one(struct engine *e, struct gather *g,
                           const struct manage *a, struct slice ref,
                           struct now now, struct errbuf *err)
{
    struct id id;
    enum err rc = prepare(e, g, a, ref, now, &id, err);
    if (rc == ERR_BUSY)
        return ERR_OK; /* it is so already */
    if (rc == ERR_OK)
        rc = entry_has_room(e, STEP_BYTES, err);
    return rc == ERR_OK ? manage_do(e, g, a, &id, now, err) : rc;
}

enum err engine_manage(struct engine *e, struct gather *g,
                       const struct manage_params *p, struct now now,
                       token_fn fn, void *ud, struct errbuf *err)
{
    struct manage a = {p->verb, p->has_force, p->force_ms};
    uint32_t n = p->n;
    if (p->has_force && p->force_ms > DURATION_MS_MAX)
        return err_set(err, ERR_LIMIT, "FORCE of more than 100 years");
    /* One job needs no rehearsal. */
    enum err all = n > 1 ? rehearse(e, g, &a, p, &n, now, err) : ERR_OK;
    if (p->cut != NULL)
        *p->cut = n;
    if (all != ERR_OK)
        return all;
    if (p->cut != NULL)
        slice_begin(e);
    for (uint32_t i = 0; i < n; i++) {
        enum err rc = manage_one(e, g, &a, p->jobs[i], now, err);
        if (rc == ERR_PENDING && i == 0)
            return rc;
        if (rc == ERR_PENDING) {
            /* An earlier job changed what this one needs. */
            if (p->cut != NULL) {
                *p->cut = i;
                return ERR_OK;
            }
            rc = manage_one(e, NULL, &a, p->jobs[i], now, err);
        }
        fn(ud, i, rc, rc == ERR_OK ? "" : err->text);
        if (p->cut != NULL && cut_here(e, i))
            *p->cut = n = i + 1;
    }
    return ERR_OK;
}
