/* Leasing, as clients of a world do it: at once, or in line until there is
 * something (see world_crew.c for those who wait). */
#include "world_impl.h"

#include <string.h>

#include "util/assert.h"
#include "util/parse.h"

struct asked {
    struct world *w;
    struct op *op;
};

static bool of_queues(const struct op *op, uint8_t queue)
{
    return queue == op->queue || (op->queue2 > 0 && queue == op->queue2 - 1);
}

static void on_lease(void *ud, const struct lease_view *v)
{
    struct asked *a = ud;
    struct world *w = a->w;
    struct op *op = a->op;
    uint64_t payload = 0;
    uint32_t k = 0;
    bool known = model_find(w->model, &v->id, &k);
    const struct mjob *j = model_job(w->model, k);
    if (known && j->queue != CLOCK_QUEUE)
        known = parse_u64(v->payload, &payload) && payload == j->payload;
    if (!known || op->got_n >= LEASE_COUNT) {
        violate(w, op, "a lease carries another payload, or too many came");
        return;
    }
    struct held *h = &op->got[op->got_n++];
    *h = (struct held){.k = k, .delivery = v->delivery};
    ASSERT(v->token.len < sizeof(h->text));
    memcpy(h->text, v->token.data, v->token.len);
    h->len = (uint8_t)v->token.len;
    note(w, k, v->delivery);
    w->r->leases++;
    trace(w, "  leased %u as %.*s", k, SLICE_FMT(v->token));
    op->k = k;
    if (crew_same_lease(w, op, k, v->delivery))
        return;
    if (!of_queues(op, j->queue))
        violate(w, op, "a job was leased from another queue");
    notes_leased(w, op, k, v);
    ends_leased(w, k, v);
    weights_leased(w, op, k);
    violate(w, op, model_leased(w->model, k, v, w->now));
    if (w->r->violation[0] != '\0')
        return;
    if (w->gates != NULL)
        violate(w, op, gates_leased(w->gates, w->model, k, w->now));
    if (w->turns_alone)
        violate(w, op, turns_leased(w->turns, w->model, k));
    if (w->breakers != NULL)
        violate(w, op, breakers_leased(w->breakers, w->model, k));
    crew_lease(w, op, k);
}

enum err lease_run(struct world *w, struct op *op)
{
    struct slice queues[2], handler;
    struct lease_params p = {.queues = queues,
                             .queues_n = 1,
                             .count = op->count,
                             .lease_ms = op->lease_ms};
    struct asked a = {w, op};
    queues[0] = slice_str(world_queue(w, op->queue));
    if (op->queue2 > 0)
        queues[p.queues_n++] = slice_str(world_queue(w, op->queue2 - 1u));
    if (op->queue2 > 0 && op->weights[0] > 0)
        p.weights = op->weights;
    if (op->only > 0) {
        handler = gates_handler_name(w, op->queue, op->only - 1u);
        p.handlers = &handler;
        p.handlers_n = 1;
    }
    op->got_n = 0;
    if (op->worker > 0)
        return crew_ask(w, op, &p, on_lease, &a);
    enum err rc =
        engine_lease(w->engine, op->gather, &p, w->now, on_lease, &a, &w->e);
    weights_asked(w, op, rc);
    return rc;
}
