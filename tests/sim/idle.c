/* When nothing moves any more, nothing that may start still waits. */
#include "engine/core.h"
#include "world_impl.h"

/* A fetch takes a few ticks, and what it brought may ask for the next. */
#define QUIET_TICKS 8
#define TICKS_MAX 400

bool idle_reads(const struct world *w)
{
    return w->engine->timer_fetching || w->engine->chore_fetching;
}

/* Time stands until nothing moves. */
static bool settle(struct world *w)
{
    uint32_t quiet = 0;
    for (uint32_t i = 0; i < TICKS_MAX && quiet < QUIET_TICKS; i++) {
        if (w->r->violation[0] != '\0')
            return false;
        quiet = world_tick(w) && !idle_reads(w) ? quiet + 1 : 0;
    }
    return quiet == QUIET_TICKS;
}

static bool may_start(const struct world *w, uint32_t k)
{
    return model_stands(w->model, k, w->now) &&
           (w->gates == NULL || gates_fit(w->gates, w->model, k, w->now)) &&
           (w->breakers == NULL || breakers_fit(w->breakers, w->model, k));
}

/* Whoever asks for this job, or one before it, must get one. */
static void ask_for(struct world *w, uint32_t k)
{
    const struct mjob *j = model_job(w->model, k);
    struct op *op = world_op(w, OP_LEASE);
    gather_free(&op->gather); /* what is not in memory is read at once */
    op->queue = j->queue;
    op->k = k;
    op->count = 1;
    op->lease_ms = 1000 + rng_below(&w->rng, 60000);
    op->only = w->gates != NULL && chance(w, 300) ? j->handler + 1 : 0;
    if (w->weighs && op->only == 0 && chance(w, 300))
        weights_draw(w, op);
    trace(w, "idle: job %u may start", k);
    unsigned per_1000 = no_eviction(w);
    world_op_run(w, op);
    eviction(w, per_1000);
    if (op->got_n == 0 && w->r->violation[0] == '\0') {
        op->k = k;
        violate(w, op, "nothing moves, and a job that may start waits");
    }
}

void idle_look(struct world *w)
{
    uint32_t asked = 0; /* a bit per queue */
    if (!settle(w))
        return;
    if (w->crew != NULL)
        crew_idle(w);
    if (w->gates != NULL)
        gates_idle(w->gates);
    ends_idle(w);
    breakers_idle(w);
    for (uint32_t k = 0; k < w->next_k && w->r->violation[0] == '\0'; k++) {
        uint8_t q = model_job(w->model, k)->queue;
        if ((asked >> q & 1) != 0 || q >= QUEUES || !may_start(w, k))
            continue;
        if (w->crew != NULL && crew_waits_for(w, k, UINT64_MAX))
            violate_job(w, k, "somebody stands in line for what may start");
        asked |= (uint32_t)1 << q;
        ask_for(w, k);
    }
}
