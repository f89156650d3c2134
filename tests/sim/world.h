/* A world around one engine: a disk that crashes, a clock that jumps, clients
 * that forget, repeat and die. Everything follows from the seed.
 *
 * An operation runs like a command of the server: it may have to wait for rows
 * and start over; its answer counts for the model when it is given, and its
 * client sees it only when its entry is durable. A crash keeps a prefix of the
 * entries: whatever a client has seen must be in it.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "model.h"
#include "store/mem.h"
#include "util/list.h"
#include "util/rng.h"

#define SKIPS 4096

struct world_options {
    uint64_t seed;
    uint32_t ops;     /* after so many the world is drained and judged */
    bool calm;        /* no crashes, no slow disk, no steps of the clock */
    uint64_t pace_ms; /* mean time between ops; 0: drawn from the seed */
    bool trace;       /* print every operation */
    uint8_t skip[SKIPS / 8]; /* a bit per operation that is left out */
};

/* Is operation `number`, from 1 on, left out? */
static inline bool world_skips(const struct world_options *o, uint64_t number)
{
    return number < SKIPS && (o->skip[number / 8] >> number % 8 & 1) != 0;
}

struct world_report {
    uint64_t hash; /* of everything that was answered */
    uint64_t ops, leases, crashes, fetches, purges, bulks, simulated_ms, checks;
    uint64_t completed, lost; /* jobs, leases: since the last crash */
    char violation[256];      /* empty: all well */
    uint64_t at_op;
};

void world_run(const struct world_options *o, struct world_report *r);

#endif
