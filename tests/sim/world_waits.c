/* Clients that wait for jobs to end, as JOB.WAIT does: for one of some or for
 * all, and for so long; some go away, and a crash forgets them.
 *
 * What it holds the engine to:
 *  1. They are woken when one of their jobs has ended, at no other time, and
 *     once each time that they ask.
 *  2. Each end is told as it was, whatever became of the job since: nothing is
 *     unknown later that was there when they asked first.
 */
#include "world_impl.h"

#define MINUTE_MS ((uint64_t)60 * 1000)
#define RECENT 40
#define LOST_CLIENTS 10 /* of 1,000 in each tick */

void waits_begin(struct world *w)
{
    w->waits = true;
    /* Names of jobs that are forgotten so soon are more than keys.c knows. */
    if (w->clocks != NULL || w->keys != NULL || chance(w, 300))
        return;
    w->config.keep_ms =
        chance(w, 400) ? 0 : 1 + rng_below(&w->rng, 10 * MINUTE_MS);
}

void waits_draw(struct world *w, struct op *op)
{
    uint32_t from = w->next_k < RECENT ? w->next_k : RECENT;
    uint32_t most = 1 + (uint32_t)rng_below(&w->rng, KEYS_JOBS);
    for (uint32_t i = 0; i < most; i++) {
        uint32_t k = w->next_k - 1 - (uint32_t)rng_below(&w->rng, from);
        if (!model_is_none(w->model, k))
            op->jobs[op->n++] = k;
    }
    op->any = chance(w, 500);
    op->block_ms = chance(w, 150)   ? 0
                   : chance(w, 300) ? UINT64_MAX
                                    : 1 + rng_below(&w->rng, 10 * MINUTE_MS);
    trace(w, "  any %d block %llu", op->any, (unsigned long long)op->block_ms);
    for (uint32_t i = 0; i < op->n; i++)
        trace(w, "  waits for job %u", op->jobs[i]);
}

/* --- being told ---------------------------------------------------------- */

static void on_wake(struct waiter *waiter)
{
    CONTAINER_OF(waiter, struct op, waiter)->wakes++;
}

/* How often it has ended since somebody asked. The end of one that is purged is
 * told when its rows go. */
static uint32_t ends_of(const struct world *w, const struct op *op, uint32_t i)
{
    const struct mjob *j = model_job(w->model, op->jobs[i]);
    return j->ends - op->ends[i] - j->purged;
}

/* Those that stood there when the tick ends: has one of their jobs ended, for
 * certain, or perhaps? */
static void look(struct world *w, const struct op *op)
{
    bool ended = false, may = false;
    for (uint32_t i = 0; i < op->n; i++) {
        const struct mjob *j = model_job(w->model, op->jobs[i]);
        if (job_state_ended(op->states[i]))
            continue; /* as it knew when it asked */
        ended |= ends_of(w, op, i) > 0;
        may |=
            j->state == M_RUNNING && !model_sure(w->model, op->jobs[i], w->now);
    }
    if (op->wakes == 0 && ended)
        violate(w, op, "a job has ended, and who waits for it is not told");
    if (op->wakes > 0 && !ended && !may)
        violate(w, op, "somebody was woken, though no job has ended");
    if (op->wakes > 1)
        violate(w, op, "somebody was woken twice");
}

void waits_look(struct world *w)
{
    LIST_FOR (it, &w->expecting)
        look(w, CONTAINER_OF(it, struct op, in));
}

static bool is_end(const struct mjob *j, enum job_state state)
{
    switch (j->over) {
    case M_COMPLETED:
        return state == JOB_COMPLETED;
    case M_FAILED:
        return state == JOB_FAILED;
    case M_EXPIRED:
        return state == JOB_EXPIRED;
    default:
        return state == JOB_CANCELLED;
    }
}

/* One of its jobs is said to stand so, or to have ended so. */
static const char *judge(struct world *w, const struct op *op, uint32_t i,
                         enum job_state state)
{
    const struct mjob *j = model_job(w->model, op->jobs[i]);
    struct job_view v = {.state = state, .finished_ms = w->now.wall_ms};
    uint32_t n = ends_of(w, op, i);
    if (job_state_ended(op->states[i]))
        return state == op->states[i] ? NULL : "a job has ended otherwise";
    if (n == 0 && !j->purged) /* or nobody has noticed so far */
        return model_seen(w->model, op->jobs[i], ERR_OK, &v, w->now);
    if (!job_state_ended(state))
        return "who waits for a job is not told its end";
    return n + j->purged > 1 || is_end(j, state)
               ? NULL
               : "who waits for a job is told another end";
}

/* --- asking -------------------------------------------------------------- */

/* As it is, when somebody asks first. */
static enum err ask_first(struct world *w, struct op *op, uint32_t i)
{
    char text[ID_TEXT_LEN];
    struct job_view v;
    uint32_t k = op->jobs[i];
    id_text(&model_job(w->model, k)->id, text);
    enum err rc = engine_get(w->engine, op->gather,
                             slice_of(text, sizeof(text)), w->now, &v, &w->e);
    if (rc == ERR_PENDING)
        return rc;
    violate_job(w, k, model_seen(w->model, k, rc, &v, w->now));
    op->states[i] = v.state;
    return rc;
}

/* What its jobs are now, and how they ended. */
static enum err ask_again(struct world *w, struct op *op, uint32_t i)
{
    enum job_state state;
    struct id id;
    enum err rc = engine_waited(w->engine, op->gather, &op->waiter, i, &id,
                                &state, &w->e);
    if (rc != ERR_OK)
        return rc;
    if (!id_eq(&id, &model_job(w->model, op->jobs[i])->id))
        violate(w, op, "who waits for a job is told of another");
    violate_job(w, op->jobs[i], judge(w, op, i, state));
    op->states[i] = state;
    return ERR_OK;
}

static enum err stand(struct world *w, struct op *op)
{
    struct id ids[KEYS_JOBS];
    for (uint32_t i = 0; i < op->n; i++) {
        ids[i] = model_job(w->model, op->jobs[i])->id;
        op->ends[i] = model_job(w->model, op->jobs[i])->ends;
    }
    if (op->deadline_ms == 0)
        op->deadline_ms = op->block_ms == UINT64_MAX
                              ? UINT64_MAX
                              : w->now.mono_ms + op->block_ms;
    op->waiter.wake = on_wake;
    op->wakes = 0;
    engine_wait_jobs(w->engine, &op->waiter, ids, op->states, op->n);
    return ERR_BUSY;
}

/* Of a job that is gone when somebody asks first nothing is known. */
enum err waits_run(struct world *w, struct op *op)
{
    enum err (*ask)(struct world *, struct op *, uint32_t) =
        engine_waits_for_jobs(&op->waiter) ? ask_again : ask_first;
    uint32_t ended = 0;
    bool pending = false;
    enum err rc = ERR_OK;
    if (op->n == 0)
        return ERR_OK; /* none of those drawn was ever added */
    for (uint32_t i = 0; rc == ERR_OK && i < op->n; i++) {
        rc = ask(w, op, i);
        ended += rc == ERR_OK && job_state_ended(op->states[i]);
        if (rc == ERR_PENDING) {
            pending = true; /* one fetch for all */
            rc = ERR_OK;
        }
    }
    if (rc == ERR_OK && pending)
        return ERR_PENDING;
    bool late = op->block_ms == 0 ||
                (op->deadline_ms > 0 && op->deadline_ms <= w->now.mono_ms);
    if (rc == ERR_OK && !late && ended < (op->any ? 1 : op->n))
        return stand(w, op);
    trace(w, "  waited: %u of %u have ended: %s", ended, op->n, err_name(rc));
    note(w, ended, rc);
    waits_leave(w, op);
    return rc == ERR_NOTFOUND && ask == ask_first ? ERR_OK : rc;
}

void waits_leave(struct world *w, struct op *op)
{
    if (op->kind == OP_WAIT && op->waiter.engine_private != NULL)
        engine_unwait(w->engine, &op->waiter);
}

/* --- ticks --------------------------------------------------------------- */

bool waits_tick(struct world *w)
{
    bool quiet = true;
    LIST_FOR (it, &w->expecting) {
        struct op *op = CONTAINER_OF(it, struct op, in);
        bool lost = !w->draining && chance(w, LOST_CLIENTS);
        if (op->wakes == 0 && op->deadline_ms > w->now.mono_ms && !lost)
            continue;
        quiet = false;
        if (lost)
            world_op_free(w, op);
        else
            world_op_run(w, op);
    }
    return quiet;
}

/* All jobs have ended, and the last rows go. */
void waits_end(struct world *w)
{
    for (int i = 0; i < 1000 && !list_empty(&w->expecting); i++)
        (void)world_tick(w);
    if (!list_empty(&w->expecting))
        violate(w, NULL, "somebody waits for jobs that have ended");
}
