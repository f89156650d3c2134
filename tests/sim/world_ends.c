/* Jobs that end by a time: EXPIRES, if none of their executions that counts has
 * ended by then and none is under way, and DEADLINE, whatever they do. An
 * execution ends by TIMEOUT, however often its lease is renewed. */
#include "world_impl.h"

#define MINUTE_MS ((uint64_t)60 * 1000)

/* So long after it may start. */
static uint64_t draw_ms(struct world *w)
{
    return 1 + rng_below(&w->rng, chance(w, 300) ? MINUTE_MS : 60 * MINUTE_MS);
}

void ends_draw(struct world *w, struct op *op)
{
    op->expires_ms = op->total_ms = op->timeout_ms = 0;
    if (chance(w, 300))
        op->expires_ms = draw_ms(w);
    if (chance(w, 300))
        op->total_ms = op->expires_ms + draw_ms(w);
    if (chance(w, 300))
        op->timeout_ms = 1 + rng_below(&w->rng, chance(w, 500) ? 5000 : 120000);
    if (op->total_ms > 0 && op->timeout_ms > op->total_ms)
        op->timeout_ms = op->total_ms;
    trace(w, "  expires %llu deadline %llu timeout %llu",
          (unsigned long long)op->expires_ms, (unsigned long long)op->total_ms,
          (unsigned long long)op->timeout_ms);
}

static uint64_t start_ms(const struct op *op)
{
    return op->use.debounce_ms > 0 ? op->use.debounce_ms : op->delay_ms;
}

void ends_options(const struct op *op, struct job_options *o)
{
    if (op->expires_ms > 0) {
        o->given |= (uint64_t)1 << JOPT_EXPIRES;
        o->expires_ms = start_ms(op) + op->expires_ms;
    }
    if (op->total_ms > 0) {
        o->given |= (uint64_t)1 << JOPT_DEADLINE;
        o->deadline_ms = start_ms(op) + op->total_ms;
    }
    if (op->timeout_ms > 0) {
        o->given |= (uint64_t)1 << JOPT_TIMEOUT;
        o->timeout_ms = op->timeout_ms;
    }
}

void ends_leased(struct world *w, uint32_t k, const struct lease_view *v)
{
    const struct mjob *j = model_job(w->model, k);
    if (v->timeout_ms != j->timeout_ms || v->deadline_ms != j->deadline_at_ms)
        violate_job(w, k, "a lease shows another time by which it ends");
}

void ends_said(struct world *w, const struct op *op, uint32_t k)
{
    struct mjob *j = model_change(w->model, k);
    uint64_t start = start_ms(op);
    if (op->expires_ms > 0) {
        j->expires_ms = start + op->expires_ms;
        j->expires_at_ms = w->now.wall_ms + j->expires_ms;
    }
    if (op->total_ms > 0) {
        j->deadline_ms = start + op->total_ms;
        j->deadline_at_ms = w->now.wall_ms + j->deadline_ms;
    }
    if (op->timeout_ms > 0)
        j->timeout_ms = op->timeout_ms;
}

/* What it will have if both are changed or stay: a start and an execution that
 * is not cut short lie before the end of it all, and it expires no later. Only
 * what is said now can be wrong. */
bool ends_refuse(const struct world *w, const struct op *op, uint32_t k)
{
    const struct mjob *j = model_job(w->model, k);
    uint64_t now = w->now.wall_ms, start = now + start_ms(op);
    bool starts = (op->update & UPDATE_DELAY) != 0;
    uint64_t expires = op->expires_ms > 0 ? start + op->expires_ms
                       : j->tried         ? 0
                                          : j->expires_at_ms;
    uint64_t ends = op->total_ms > 0 ? start + op->total_ms : j->deadline_at_ms;
    uint64_t takes = op->timeout_ms > 0 ? op->timeout_ms : j->timeout_ms;
    if (starts &&
        ((expires > 0 && expires <= start) || (ends > 0 && ends <= start)))
        return true;
    if (ends == 0)
        return false;
    return ((op->expires_ms > 0 || op->total_ms > 0) && expires > ends) ||
           ((op->timeout_ms > 0 || op->total_ms > 0) && takes > 0 &&
            now + takes > ends);
}

/* When nothing moves, none is left whose time is over. */
void ends_idle(struct world *w)
{
    for (uint32_t k = 0; k < w->next_k; k++) {
        struct op about = {.k = k};
        if (model_is_late(w->model, k, w->now))
            violate(w, &about, "a job is there whose time is over");
        if (model_is_slow(model_job(w->model, k), w->now))
            violate(w, &about, "an execution goes on that took too long");
    }
}
