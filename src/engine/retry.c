/* When a failed job runs again: delay(n) = min(cap, base x factor^(n-1)), or
 * the other kinds, with jitter. The result is written, so a replay never draws
 * again. */
#include "engine/core.h"

uint64_t retry_delay_ms(struct engine *e, const struct job *j, uint32_t n)
{
    const struct engine_config *c = &e->config;
    uint32_t kind = c->backoff, jitter = c->jitter;
    uint64_t base = c->base_ms, cap = c->cap_ms;
    double factor = c->factor;
    struct rec_more m;
    job_more(j, &m);
    if (m.retry_given) {
        kind = m.backoff;
        base = m.base_ms;
        cap = m.cap_ms;
        jitter = m.jitter;
        memcpy(&factor, &m.factor, sizeof(factor));
    }
    ASSERT(n > 0);
    double delay = (double)base;
    switch ((enum backoff)kind) {
    case BACKOFF_NONE:
        return 0;
    case BACKOFF_FIXED:
        break;
    case BACKOFF_LINEAR:
        delay *= n;
        break;
    case BACKOFF_EXPONENTIAL:
        for (uint32_t i = 1; i < n && delay < (double)cap; i++)
            delay *= factor;
        break;
    }
    if (!(delay < (double)cap))
        delay = (double)cap;
    uint64_t ms = (uint64_t)delay;
    /* Jitter only adds, so that a cap is the least that a full house waits. */
    uint64_t spread = ms * jitter / 100;
    return ms + (spread > 0 ? rng_below(&e->rng, spread + 1) : 0);
}
