/* What clients do with jobs, and what they are answered. */
#include "world_impl.h"

#include <stdio.h>
#include <string.h>

#include "util/assert.h"
#include "util/parse.h"

struct asked {
    struct world *w;
    struct op *op;
};

static void add_options(struct world *w, struct op *op, struct job_options *o)
{
    o->given = (uint64_t)1 << JOPT_RETRIES | (uint64_t)1 << JOPT_PRIORITY;
    o->retries = op->retries;
    o->priority = op->priority;
    if (op->retries > 0)
        o->given |= (uint64_t)1 << JOPT_BASE;
    o->base_ms = M_BASE_MS;
    if (op->delay_ms > 0) {
        o->given |= (uint64_t)1 << JOPT_DELAY;
        o->delay_ms = op->delay_ms;
    }
    ends_options(op, o);
    if (w->gates != NULL)
        gates_options(op, o);
}

/* What the request made of a job: a new one, or it changed one. */
static void added(struct world *w, struct op *op, uint32_t k, uint32_t payload,
                  const struct add_result *r, bool replaced)
{
    uint64_t delay =
        op->use.debounce_ms > 0 ? op->use.debounce_ms : op->delay_ms;
    uint64_t at = delay == 0 ? 0 : w->now.wall_ms + delay;
    enum job_state state = r->state;
    if (state == JOB_PARKED && (op->gates & (op->gates - 1)) != 0)
        state = JOB_READY; /* but for a name that is full */
    note(w, id_hash(&r->id), r->state);
    violate(w, op,
            replaced ? model_replaced(w->model, k, payload, op->retries, at,
                                      state, w->now)
                     : model_added(w->model, k, &r->id, op->queue, payload,
                                   op->retries, at, state, w->now));
    model_described(w->model, k, op->owner, op->handler, op->gates, op->cost);
    if (delay == 0 && !replaced)
        model_arrived(w->model, k, op->priority, w->now);
    model_keyed(w->model, k, &op->use);
    ends_said(w, op, k);
}

enum err jobs_run_add(struct world *w, struct op *op)
{
    char texts[KEYS_JOBS][16], owner[16];
    struct slice bodies[KEYS_JOBS];
    struct add_result res[KEYS_JOBS];
    struct job_options o = {0};
    if (w->keys != NULL && keys_maybe_again(w->keys, &op->use, w->now))
        return ERR_OK; /* nobody asks just then */
    for (uint32_t i = 0; i < op->n; i++) {
        struct buf payload = {texts[i], 0, sizeof(texts[i])};
        buf_add_u64(&payload, op->k + i);
        bodies[i] = buf_slice(&payload);
    }
    struct add_params p = {.queue = slice_str(world_queue(w, op->queue)),
                           .payloads = bodies,
                           .n = op->n,
                           .options = &o};
    add_options(w, op, &o);
    if (op->owner > 0) {
        o.given |= (uint64_t)1 << JOPT_OWNER;
        (void)snprintf(owner, sizeof(owner), "owner-%u", op->owner);
        o.owner = slice_str(owner);
    }
    if (w->keys != NULL)
        keys_options(op, &p, &o);
    uint32_t replaced;
    bool replaces = keys_replace(w, op, &replaced);
    bool again = w->keys != NULL && keys_again(w->keys, &op->use, w->now);
    enum quota_word quota = quotas_expect(w, op);
    w->adds = op;
    enum err rc = engine_add(w->engine, op->gather, &p, w->now, res, &w->e);
    w->adds = NULL;
    if (rc == ERR_PENDING)
        return rc;
    note(w, op->k, rc);
    bool made = rc == ERR_OK && !again && (res[0].created || replaces);
    if (!quotas_judge(w, op, quota, rc, made) || !room_judge(w, op, rc))
        return ERR_OK;
    enum key_outcome outcome = KEY_MADE;
    /* A request that is repeated too late makes new jobs of the old numbers. */
    for (uint32_t i = 0; i < op->n; i++)
        op->jobs[i] = !op->again || model_is_none(w->model, op->k + i)
                          ? op->k + i
                          : w->next_k++;
    if (w->keys != NULL)
        outcome = keys_judge(w, op, rc, res);
    else if (rc != ERR_OK)
        return rc;
    trace(w, "  %s: outcome %d", err_name(rc), (int)outcome);
    if (outcome == KEY_REPLACED)
        added(w, op, op->jobs[0], op->k, &res[0], true);
    for (uint32_t i = 0; i < op->n && outcome == KEY_MADE; i++)
        added(w, op, op->jobs[i], op->k + i, &res[i], false);
    if (w->room != NULL && outcome == KEY_MADE)
        violate(w, op, room_added(w->room, w->model, op->queue, w->now));
    return ERR_OK;
}

/* What an execution that is ended by its holder tells about its handler. */
static enum told told_by(const struct world *w, const struct op *op)
{
    bool cancelled = model_job(w->model, op->held.k)->cancelling;
    if (op->kind == OP_ACK)
        return TOLD_GOOD;
    return op->kind == OP_NACK && !op->permanent && !cancelled ? TOLD_BAD
                                                               : TOLD_NOTHING;
}

static void on_verdict(void *ud, uint32_t i, enum err rc, const char *why)
{
    struct asked *a = ud;
    struct world *w = a->w;
    const struct held *h = &a->op->held;
    const char *wrong = NULL;
    (void)i;
    (void)why;
    note(w, h->k, rc);
    trace(w, "  verdict %s for %u", err_name(rc), h->k);
    const struct mjob *j = model_job(w->model, h->k);
    bool ends =
        rc == ERR_OK && j->state == M_RUNNING && j->delivery == h->delivery;
    if (ends)
        breakers_tell(w, h->k, told_by(w, a->op));
    if (a->op->kind == OP_ACK)
        wrong = model_acked(w->model, h->k, h->delivery, h->epoch, rc, w->now);
    else if (a->op->kind == OP_NACK)
        wrong = model_nacked(w->model, h->k, h->delivery, h->epoch,
                             a->op->permanent, a->op->delay_ms, rc, w->now);
    else
        wrong =
            model_released(w->model, h->k, h->delivery, h->epoch, rc, w->now);
    violate(w, a->op, wrong);
    breakers_flush(w);
}

static void on_extend(void *ud, uint32_t i, uint64_t left_ms,
                      enum lease_order order, enum err why)
{
    struct asked *a = ud;
    const struct held *h = &a->op->held;
    (void)i;
    (void)left_ms;
    note(a->w, h->k, 10 * (uint64_t)why + order);
    violate(a->w, a->op,
            model_extended(a->w->model, h->k, h->delivery, h->epoch, order, why,
                           a->w->now));
}

enum err jobs_run_verb(struct world *w, struct op *op)
{
    struct slice token = slice_of(op->held.text, op->held.len);
    struct asked a = {w, op};
    struct ack_params ack = {.tokens = &token, .n = 1};
    struct extend_params extend = {.tokens = &token, .n = 1};
    struct nack_params nack = {.tokens = &token,
                               .n = 1,
                               .error = SLICE_LIT("broken"),
                               .permanent = op->permanent,
                               .has_delay = !op->permanent,
                               .delay_ms = op->delay_ms};
    op->k = op->held.k;
    switch (op->kind) {
    case OP_ACK:
        return engine_ack(w->engine, op->gather, &ack, w->now, on_verdict, &a,
                          &w->e);
    case OP_NACK:
        return engine_nack(w->engine, op->gather, &nack, w->now, on_verdict, &a,
                           &w->e);
    case OP_RELEASE:
        return engine_release(w->engine, op->gather, &token, 1, NULL, w->now,
                              on_verdict, &a, &w->e);
    default:
        return engine_extend(w->engine, op->gather, &extend, w->now, on_extend,
                             &a, &w->e);
    }
}

enum err look_at(struct world *w, struct op *op)
{
    const struct mjob *j = model_job(w->model, op->k);
    char text[ID_TEXT_LEN];
    struct job_view v;
    if (j->state == M_NONE)
        return ERR_OK;
    id_text(&j->id, text);
    enum err rc = engine_get(w->engine, op->gather,
                             slice_of(text, sizeof(text)), w->now, &v, &w->e);
    if (rc == ERR_PENDING)
        return rc;
    note(w, op->k, rc == ERR_OK ? (uint64_t)v.state : 100 + (uint64_t)rc);
    violate(w, op, model_seen(w->model, op->k, rc, &v, w->now));
    if (rc == ERR_OK)
        notes_seen(w, op, &v);
    return ERR_OK;
}

static void on_managed(void *ud, uint32_t i, enum err rc, const char *why)
{
    struct asked *a = ud;
    struct world *w = a->w;
    struct op *op = a->op;
    (void)i;
    (void)why;
    note(w, op->k, 1000 + (uint64_t)rc);
    trace(w, "  verb %d for %u: %s", (int)op->verb, op->k, err_name(rc));
    if (op->verb == MANAGE_RETRY && keys_barred(w, op->k)) {
        if (rc != ERR_EXISTS)
            violate(w, op, "a job was revived without its unique key");
        return;
    }
    violate(w, op,
            model_managed(w->model, op->k, op->verb, op->force_ms, rc, w->now));
    if (op->verb == MANAGE_RETRY && rc == ERR_OK && w->keys != NULL)
        keys_revived(w->keys, w->model, op->k);
}

enum err jobs_run_manage(struct world *w, struct op *op)
{
    char text[ID_TEXT_LEN];
    struct slice job = slice_of(text, sizeof(text));
    struct asked a = {w, op};
    if (!model_sure(w->model, op->k, w->now))
        return ERR_OK;
    id_text(&model_job(w->model, op->k)->id, text);
    struct manage_params p = {.verb = op->verb,
                              .jobs = &job,
                              .n = 1,
                              .has_force = true,
                              .force_ms = op->force_ms};
    return engine_manage(w->engine, op->gather, &p, w->now, on_managed, &a,
                         &w->e);
}

/* Whoever's lease may have ended unnoticed may wait, or not. */
enum err jobs_run_purge(struct world *w, struct op *op)
{
    struct slice queue = slice_str(world_queue(w, op->queue));
    struct queue_view v;
    struct id chore;
    for (uint32_t k = 0; k < w->next_k; k++)
        if (model_job(w->model, k)->queue == op->queue &&
            model_job(w->model, k)->state == M_RUNNING &&
            !model_sure(w->model, k, w->now))
            return ERR_OK;
    /* A drop is a purge if nothing runs; else nothing happens. */
    bool drop = chance(w, 500);
    enum err rc =
        drop ? engine_queue_drop(w->engine, queue, w->now, &chore, &w->e)
             : engine_purge(w->engine, queue, w->now, &chore, &w->e);
    if (rc == ERR_NOTFOUND || (drop && rc == ERR_STATE))
        return ERR_OK;
    memset(&v, 0, sizeof(v));
    if (rc == ERR_OK && !drop)
        rc = engine_queue(w->engine, queue, w->now, &v, &w->e);
    for (unsigned s = JOB_BLOCKED; rc == ERR_OK && s < JOB_RUNNING; s++)
        if (v.jobs[s] != 0)
            violate(w, op, "a purged queue counts jobs that wait");
    w->r->purges++;
    model_purged(w->model, op->queue);
    if (drop && rc == ERR_OK && w->gates != NULL)
        gates_queue_gone(w->gates, op->queue);
    if (drop && rc == ERR_OK && w->room != NULL)
        room_queue_gone(w->room, op->queue);
    if (drop && rc == ERR_OK && w->turns != NULL && op->queue < QUEUES) {
        turns_gone(w->turns, op->queue);
        turns_say(w);
    }
    return rc;
}

/* Something is done to many, in the background. Newcomers are not meant. */
enum err jobs_run_bulk(struct world *w, struct op *op)
{
    struct job_filter f = {.created_to_ms = w->now.wall_ms - 1};
    struct bulk_params p = {.verb = op->verb, .filter = &f};
    struct id chore;
    char text[ID_TEXT_LEN];
    if (chance(w, 500))
        f.queue =
            slice_str(world_queue(w, (uint32_t)rng_below(&w->rng, QUEUES + 1)));
    /* Behind a clock that was set back a newcomer may look old, and be gone
     * before the model of the schedules has heard of it. */
    if (w->clocks != NULL && op->verb == MANAGE_DELETE)
        f.states = 1u << JOB_COMPLETED | 1u << JOB_FAILED | 1u << JOB_CANCELLED;
    p.dry = chance(w, 200);
    p.rate = chance(w, 500) ? 0 : 1 + rng_below(&w->rng, 20);
    enum err rc = engine_bulk(w->engine, &p, w->now, &chore, &w->e);
    trace(w, "  bulk %d of %.*s", (int)p.verb, SLICE_FMT(f.queue));
    if (rc == ERR_OK && chance(w, 200)) {
        id_text(&chore, text);
        rc = engine_chore_cancel(w->engine, slice_of(text, sizeof(text)),
                                 w->now, &w->e);
    }
    w->r->bulks++;
    return rc;
}
