/* Rates, as the models reckon them: what was taken is owed, a length of time
 * for each unit, and time pays it back. */
#ifndef SIM_OWED_H
#define SIM_OWED_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/rate.h"

static inline uint64_t owed_unit_us(const struct rate *r)
{
    return (r->per_ms * 1000 + r->n - 1) / r->n;
}

/* Within the burst, or, if it costs more than that, when nothing is owed. */
static inline bool owed_allows(const struct rate *r, uint64_t burst,
                               uint64_t owed_us, uint64_t cost)
{
    return owed_us <= (burst > cost ? (burst - cost) * owed_unit_us(r) : 0);
}

#endif
