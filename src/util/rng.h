/* A small seeded generator (xoshiro256** seeded by splitmix64). Not for
 * secrets. The engine's random decisions come from one of these, so a run can
 * be repeated from its seed. */
#ifndef UTIL_RNG_H
#define UTIL_RNG_H

#include <stdint.h>

struct rng {
    uint64_t s[4];
};

void rng_seed(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n); /* 0 <= result < n, n > 0 */

#endif
