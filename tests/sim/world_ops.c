/* The operations of a world: which comes next, what is drawn for it, and how it
 * runs. */
#include "world_impl.h"

#include "util/alloc.h"

static void fetched(void *ud)
{
    ((struct op *)ud)->ready = true;
}

void world_op_free(struct world *w, struct op *op)
{
    crew_let_go(w, op);
    waits_leave(w, op);
    list_remove(&op->in);
    gather_free(&op->gather);
    mem_free(op);
}

/* Run it, or run it again. */
void world_op_run(struct world *w, struct op *op)
{
    enum err rc;
    list_remove(&op->in);
    op->ready = false;
    if (op->kind == OP_ADD)
        rc = jobs_run_add(w, op);
    else if (op->kind == OP_LEASE)
        rc = lease_run(w, op);
    else if (op->kind == OP_GET)
        rc = look_at(w, op);
    else if (op->kind == OP_MANAGE)
        rc = jobs_run_manage(w, op);
    else if (op->kind == OP_PURGE)
        rc = jobs_run_purge(w, op);
    else if (op->kind == OP_BULK)
        rc = jobs_run_bulk(w, op);
    else if (op->kind >= OP_SET && op->kind <= OP_BACKFILL)
        rc = clock_run(w, op);
    else if (op->kind == OP_GATES)
        rc = gates_run(w);
    else if (op->kind == OP_CREW)
        rc = crew_run(w);
    else if (op->kind == OP_NOTE)
        rc = notes_run(w, op);
    else if (op->kind == OP_UPDATE)
        rc = update_run(w, op);
    else if (op->kind == OP_ROOM)
        rc = room_run(w);
    else if (op->kind == OP_TURNS)
        rc = turns_run(w);
    else if (op->kind == OP_QUOTAS)
        rc = quotas_run(w);
    else if (op->kind == OP_WAIT)
        rc = waits_run(w, op);
    else
        rc = jobs_run_verb(w, op);
    if (rc == ERR_PENDING) {
        w->r->fetches++;
        list_append(&w->fetching, &op->in);
        store_fetch(w->store, op->gather, fetched, op);
        return;
    }
    if (rc == ERR_BUSY) {
        list_append(op->kind == OP_WAIT ? &w->expecting : &w->waiting, &op->in);
        if (op->gather != NULL)
            gather_release(op->gather);
        return;
    }
    if (rc != ERR_OK && rc != ERR_EMPTY)
        violate(w, op, w->e.text);
    if (op->gather != NULL)
        gather_release(op->gather);
    op->done = true;
    op->index = 0; /* the open entry */
    list_append(&w->answered, &op->in);
}

struct op *world_op(struct world *w, enum op_kind kind)
{
    struct op *op = NEW(struct op);
    op->kind = kind;
    op->gather = gather_new(w->store);
    return op;
}

/* Does it hold the engine to rules about jobs that stand in line? Then more are
 * added than leased. */
static bool has_lines(const struct world *w)
{
    return w->turns_alone || w->weighs;
}

static void start(struct world *w, enum op_kind kind)
{
    struct op *op = world_op(w, kind);
    bool any = kind == OP_LEASE || kind == OP_PURGE;
    op->queue = (uint8_t)rng_below(
        &w->rng, any && w->clocks != NULL ? QUEUES + 2 : QUEUES);
    if (op->queue > CLOCK_QUEUE)
        op->queue = CLOCK_QUEUE;
    switch (kind) {
    case OP_ADD:
        op->k = w->next_k++;
        op->retries = (uint32_t)rng_below(&w->rng, 4);
        op->priority =
            chance(w, 500) ? 500 : (uint32_t)rng_below(&w->rng, 1001);
        op->priority = turns_priority(w, op->queue, op->priority);
        op->delay_ms = chance(w, 700) ? 0 : rng_below(&w->rng, 7200000) + 1;
        if (op->k % 3 != 0)
            op->owner = (uint8_t)(op->k % w->owners + 1);
        op->n = 1;
        if (w->gates != NULL)
            gates_draw(w, op);
        if (w->ends)
            ends_draw(w, op);
        if (w->keys != NULL)
            keys_draw(w, op);
        break;
    case OP_LEASE:
        op->count = (uint32_t)rng_below(&w->rng, LEASE_COUNT) + 1;
        op->lease_ms = 1000 + rng_below(&w->rng, 60000);
        if (w->o->calm)
            op->lease_ms *= CALM_LEASES;
        if (w->gates != NULL && chance(w, 200))
            op->only = 1 + (uint8_t)rng_below(&w->rng, GATE_HANDLERS);
        if (w->crew != NULL && !w->draining)
            crew_draw(w, op);
        if (has_lines(w) && !w->draining)
            op->count = 1;
        if (w->weighs && op->worker == 0 && op->only == 0 && chance(w, 300))
            weights_draw(w, op);
        break;
    case OP_PURGE:
    case OP_GATES:
    case OP_CREW:
    case OP_ROOM:
    case OP_TURNS:
    case OP_QUOTAS:
        break;
    case OP_UPDATE:
        op->k = (uint32_t)rng_below(&w->rng, w->next_k);
        update_draw(w, op);
        break;
    case OP_WAIT:
        waits_draw(w, op);
        break;
    case OP_BULK:
        op->verb = (enum manage_verb)(1 + rng_below(&w->rng, 6));
        break;
    case OP_GET:
        op->k = (uint32_t)rng_below(&w->rng, w->next_k);
        break;
    case OP_MANAGE:
        op->k = (uint32_t)rng_below(&w->rng, w->next_k);
        op->verb = (enum manage_verb)(1 + rng_below(&w->rng, 6));
        op->force_ms = chance(w, 300) ? 0 : rng_below(&w->rng, 60000);
        break;
    case OP_SET:
    case OP_DEL:
    case OP_PAUSE:
    case OP_RESUME:
    case OP_RUN:
    case OP_BACKFILL:
        clock_draw(w, op);
        break;
    default: {
        /* Usually a fresh token and the last use of it; at times an old one
         * once more. */
        uint32_t i = (uint32_t)rng_below(&w->rng, w->held_n);
        op->held = w->held[i];
        if (kind == OP_NOTE)
            notes_draw(w, op);
        else if (kind != OP_EXTEND && chance(w, 900))
            w->held[i] = w->held[--w->held_n];
        op->permanent = kind == OP_NACK && chance(w, 100);
        op->delay_ms = op->permanent ? 0 : rng_below(&w->rng, 600000);
    }
    }
    w->r->ops++;
    trace(w, "op %llu kind %d queue %d job %u token %.*s",
          (unsigned long long)w->r->ops, (int)kind, op->queue, op->k,
          (int)op->held.len, op->held.text);
    if (world_skips(w->o, w->r->ops))
        world_op_free(w, op); /* as if its client had thought better of it */
    else
        world_op_run(w, op);
}

static enum op_kind pick(struct world *w)
{
    uint64_t r = rng_below(&w->rng, 100);
    if (w->draining)
        return w->held_n > 0 && r < 60 ? OP_ACK : OP_LEASE;
    /* Both look at every job there is: with a few an hour, a calm year would
     * hold little else. */
    if (!w->o->calm || chance(w, 2)) {
        if (chance(w, 2))
            return OP_PURGE;
        if (chance(w, 8))
            return OP_BULK;
    }
    if (w->clocks != NULL && chance(w, 150))
        return clock_pick(w);
    if (w->gates != NULL && chance(w, 100))
        return OP_GATES;
    if (w->crew != NULL && chance(w, 80))
        return OP_CREW;
    if (w->room != NULL && chance(w, 20))
        return OP_ROOM;
    if (w->turns != NULL && chance(w, 20))
        return OP_TURNS;
    if (w->waits && w->next_k > 0 && chance(w, 80))
        return OP_WAIT;
    if (w->quotas != NULL && chance(w, 40))
        return OP_QUOTAS;
    if (w->notes && w->next_k > 0 && chance(w, 100))
        return w->held_n == 0 || chance(w, 300) ? OP_UPDATE : OP_NOTE;
    if (r < (has_lines(w) ? 45 : 30) && w->next_k < model_jobs(w->model))
        return OP_ADD;
    /* In a calm world workers finish what they have before they take more, so
     * that most jobs are acknowledged, and few leases are lost. */
    if (r < 55 || w->next_k == 0)
        return w->o->calm && w->held_n > CALM_HELD ? OP_ACK : OP_LEASE;
    if (r < 59)
        return OP_GET;
    if (r < 64)
        return OP_MANAGE;
    if (w->held_n == 0)
        return OP_LEASE;
    if (w->breakers != NULL && r < 85) /* so that some open */
        return r < 76 ? OP_ACK : OP_NACK;
    return r < 85 ? OP_ACK : r < 92 ? OP_NACK : r < 96 ? OP_EXTEND : OP_RELEASE;
}

void world_op_next(struct world *w)
{
    start(w, pick(w));
}
