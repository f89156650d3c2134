/* Leases from two queues at once, by weights. */
#include "world_impl.h"

#define SURE 5  /* times the deviation ... */
#define MOST 20 /* times as often */

void weights_draw(struct world *w, struct op *op)
{
    op->queue2 = (uint8_t)(1 + (op->queue + 1) % QUEUES);
    op->weights[0] = 0;
    if (!w->weighs || op->queue >= QUEUES || chance(w, 300))
        return;
    op->weights[0] = chance(w, 500) ? 1 : MOST;
    op->weights[1] =
        chance(w, 200) ? op->weights[0] : 1 + MOST - op->weights[0];
    trace(w, "  weights %u %u", op->weights[0], op->weights[1]);
}

/* Nothing keeps it from being leased at once. */
static bool is_at_hand(const struct world *w, uint32_t k, uint32_t queue)
{
    const struct mjob *j = model_job(w->model, k);
    return j->state == M_WAITING && j->in_line && !j->held &&
           j->queue == queue && !model_is_late(w->model, k, w->now);
}

static bool has_work(const struct world *w, uint32_t queue)
{
    for (uint32_t k = 0; k < w->next_k; k++)
        if (is_at_hand(w, k, queue))
            return true;
    return false;
}

/* It is drawn from which queue each job comes. */
void weights_leased(struct world *w, const struct op *op, uint32_t k)
{
    if (op->queue2 == 0 || op->weights[0] == 0 || !has_work(w, op->queue) ||
        !has_work(w, op->queue2 - 1u))
        return;
    double p = (double)op->weights[0] / (op->weights[0] + op->weights[1]);
    w->ahead += (model_job(w->model, k)->queue == op->queue) - p;
    w->variance += p * (1 - p);
}

void weights_asked(struct world *w, const struct op *op, enum err rc)
{
    if (op->queue2 > 0 && op->weights[0] > 0 && rc == ERR_EMPTY &&
        (has_work(w, op->queue) || has_work(w, op->queue2 - 1u)))
        violate(w, op, "a lease by weights passes over what stands in line");
}

void weights_end(struct world *w)
{
    double over = w->ahead * w->ahead;
    /* Few draws are far from a bell curve. */
    if (over > SURE * SURE * (w->variance + 1))
        violate(w, NULL, "leases do not follow the weights of their queues");
}
