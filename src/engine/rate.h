/* Rates: the generic cell rate algorithm, with cost.
 *
 * A rate of n per period with a burst of b lets b units start at once, and one
 * more every period / n. All its memory is one number, the theoretical time of
 * arrival: what has been taken is paid for until then.
 *
 *      now          tat
 *   ----|------------|-------->  a unit fits while tat <= now + (b - 1) units
 *
 * Wall time, because it survives a restart. If the wall clock was put back, tat
 * goes back with it (rate_follow()): what is owed is a length of time. How far
 * the clock went can be told only by whom saw it before; a start takes the
 * stored tat as it is.
 */
#ifndef ENGINE_RATE_H
#define ENGINE_RATE_H

#include <stdbool.h>
#include <stdint.h>

#define RATE_MAX ((uint64_t)1000000)
#define BURST_MAX ((uint64_t)1000000)

struct rate {
    uint64_t n, per_ms; /* n = 0: unlimited */
    uint64_t burst;     /* 0: a tenth of n, at least one */
};

/* What was taken is paid for until `tat_us`, by the clock as it was `seen`, and
 * at so much for a unit. */
struct rate_paid {
    uint64_t tat_us, seen_ms, unit_us;
};

/* Look at the clock, before the others are asked. True if it was put back. */
bool rate_follow(struct rate_paid *p, uint64_t now_ms);

/* The rate is this one from now on, perhaps another than before: as many units
 * are owed as were, at most a burst, and never for longer, so that a looser
 * rate is one at once. To be asked after rate_follow(). True if something is
 * owed, by another rate. */
bool rate_adopt(struct rate_paid *p, const struct rate *r, uint64_t now_ms);

/* What one unit takes, in microseconds; 0: nothing. */
uint64_t rate_unit_us(const struct rate *r);
uint64_t rate_burst(const struct rate *r);

/* The wall time in ms from which `cost` units fit (it may be past). What costs
 * more than the burst fits when nothing is owed. */
uint64_t rate_fits_ms(const struct rate *r, uint64_t tat_us, uint64_t cost);
static inline bool rate_fits(const struct rate *r, uint64_t tat_us,
                             uint64_t cost, uint64_t now_ms)
{
    return r->n == 0 || rate_fits_ms(r, tat_us, cost) <= now_ms;
}

/* The new tat when `cost` units were taken, or given back. */
uint64_t rate_take(const struct rate *r, uint64_t tat_us, uint64_t cost,
                   uint64_t now_ms);
uint64_t rate_give(const struct rate *r, uint64_t tat_us, uint64_t cost);

/* How many units fit now. */
uint64_t rate_room(const struct rate *r, uint64_t tat_us, uint64_t now_ms);

#endif
