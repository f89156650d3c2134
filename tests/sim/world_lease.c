/* Leasing, as clients of a world do it. */
#include "world_impl.h"

#include <string.h>

#include "util/assert.h"
#include "util/parse.h"

struct asked {
    struct world *w;
    struct op *op;
};

static void on_lease(void *ud, const struct lease_view *v)
{
    struct asked *a = ud;
    struct world *w = a->w;
    struct op *op = a->op;
    uint64_t payload = 0;
    uint32_t k = 0;
    bool known = model_find(w->model, &v->id, &k);
    if (known && op->queue != CLOCK_QUEUE)
        known = parse_u64(v->payload, &payload) &&
                payload == model_job(w->model, k)->payload;
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
    violate(w, op, model_leased(w->model, k, v, op->queue, w->now));
    if (w->gates != NULL && w->r->violation[0] == '\0')
        violate(w, op, gates_leased(w->gates, w->model, k, w->now));
}

enum err lease_run(struct world *w, struct op *op)
{
    struct slice q = slice_str(world_queue(w, op->queue)), handler;
    struct lease_params p = {.queues = &q,
                             .queues_n = 1,
                             .count = op->count,
                             .lease_ms = op->lease_ms};
    struct asked a = {w, op};
    if (op->only > 0) {
        handler = gates_handler_name(w, op->queue, op->only - 1u);
        p.handlers = &handler;
        p.handlers_n = 1;
    }
    op->got_n = 0;
    return engine_lease(w->engine, op->gather, &p, w->now, on_lease, &a, &w->e);
}
