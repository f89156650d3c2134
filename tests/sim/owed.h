/* Rates, as the models reckon them: what was taken is owed, a length of time
 * for each unit, and time pays it back.
 *
 * When the clock goes back and forth between two looks of the engine, that sees
 * less time than has passed, and nobody else knows when it looked: so much is
 * owed at least, and at most.
 */
#ifndef SIM_OWED_H
#define SIM_OWED_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/rate.h"
#include "util/clock.h"

struct owed_clock {
    uint64_t wall_ms;
    uint64_t walked_us; /* by the wall clock, its ways back left out */
};

struct owed {
    uint64_t least_us, most_us;
    struct owed_clock seen; /* as of then */
};

static inline void owed_clock(struct owed_clock *c, struct now now)
{
    if (c->wall_ms < now.wall_ms)
        c->walked_us += (now.wall_ms - c->wall_ms) * 1000;
    c->wall_ms = now.wall_ms;
}

static inline uint64_t owed_less(uint64_t us, uint64_t by_us)
{
    return us > by_us ? us - by_us : 0;
}

static inline struct owed owed_now(const struct owed_clock *c,
                                   const struct owed *was)
{
    uint64_t net_us = owed_less(c->wall_ms, was->seen.wall_ms) * 1000;
    uint64_t walked_us = c->walked_us - was->seen.walked_us;
    return (struct owed){owed_less(was->least_us, walked_us),
                         owed_less(was->most_us, net_us), *c};
}

/* So much more was taken, or given back. */
static inline void owed_take(const struct owed_clock *c, struct owed *o,
                             uint64_t us)
{
    *o = owed_now(c, o);
    o->least_us += us;
    o->most_us += us;
}

static inline void owed_give(struct owed *o, uint64_t us)
{
    o->least_us = owed_less(o->least_us, us);
    o->most_us = owed_less(o->most_us, us);
}

static inline uint64_t owed_unit_us(const struct rate *r)
{
    return r->n == 0 ? 0 : (r->per_ms * 1000 + r->n - 1) / r->n;
}

/* By another rate: as many units as before, at most a burst and `more`, and for
 * no longer than it was. `was_us` is what a unit took. */
static inline uint64_t owed_by(const struct rate *r, uint64_t burst,
                               uint64_t was_us, uint64_t us, uint64_t more)
{
    uint64_t n = was_us == 0 ? burst : us / was_us;
    uint64_t by_us = ((n < burst ? n : burst) + more) * owed_unit_us(r);
    return by_us < us ? by_us : us;
}

/* Within the burst, or, if it costs more than that, when nothing is owed. */
static inline bool owed_allows(const struct rate *r, uint64_t burst,
                               uint64_t owed_us, uint64_t cost)
{
    return owed_us <= (burst > cost ? (burst - cost) * owed_unit_us(r) : 0);
}

#endif
