#include "engine/rate.h"

#include "util/assert.h"

/* Longest time that one taking may cost: a hundred years, so that sums of it
 * and any wall time fit. */
#define TAKE_US_MAX ((uint64_t)100 * 366 * 86400 * 1000 * 1000)

uint64_t rate_unit_us(const struct rate *r)
{
    if (r->n == 0)
        return 0;
    ASSERT(r->n <= RATE_MAX);
    ASSERT(r->per_ms <= TAKE_US_MAX / 1000);
    return (r->per_ms * 1000 + r->n - 1) / r->n;
}

uint64_t rate_burst(const struct rate *r)
{
    if (r->burst > 0)
        return r->burst;
    return r->n <= 10 ? 1 : r->n / 10;
}

static uint64_t units(const struct rate *r, uint64_t n)
{
    uint64_t unit = rate_unit_us(r);
    return unit > 0 && n > TAKE_US_MAX / unit ? TAKE_US_MAX : n * unit;
}

bool rate_follow(struct rate_paid *p, uint64_t now_ms)
{
    bool back = p->seen_ms > now_ms;
    uint64_t by_us = back ? (p->seen_ms - now_ms) * 1000 : 0;
    p->tat_us = p->tat_us > by_us ? p->tat_us - by_us : 0;
    p->seen_ms = now_ms;
    return back;
}

bool rate_adopt(struct rate_paid *p, const struct rate *r, uint64_t now_ms)
{
    uint64_t was_us = p->unit_us, now_us = now_ms * 1000;
    p->unit_us = rate_unit_us(r);
    if (p->unit_us == was_us || p->tat_us <= now_us)
        return false;
    uint64_t owed_us = p->tat_us - now_us, n = rate_burst(r);
    if (was_us > 0 && owed_us / was_us < n)
        n = (owed_us + was_us - 1) / was_us;
    if (units(r, n) < owed_us)
        p->tat_us = now_us + units(r, n);
    return true;
}

uint64_t rate_fits_ms(const struct rate *r, uint64_t tat_us, uint64_t cost)
{
    if (r->n == 0)
        return 0;
    uint64_t burst = rate_burst(r);
    uint64_t slack = burst > cost ? units(r, burst - cost) : 0;
    return tat_us <= slack ? 0 : (tat_us - slack + 999) / 1000;
}

uint64_t rate_take(const struct rate *r, uint64_t tat_us, uint64_t cost,
                   uint64_t now_ms)
{
    uint64_t now_us = now_ms * 1000;
    if (r->n == 0)
        return 0;
    return (tat_us > now_us ? tat_us : now_us) + units(r, cost);
}

uint64_t rate_give(const struct rate *r, uint64_t tat_us, uint64_t cost)
{
    uint64_t back = units(r, cost);
    return tat_us > back ? tat_us - back : 0;
}

uint64_t rate_room(const struct rate *r, uint64_t tat_us, uint64_t now_ms)
{
    if (r->n == 0)
        return UINT64_MAX;
    uint64_t unit = rate_unit_us(r), now_us = now_ms * 1000;
    uint64_t end_us = now_us + units(r, rate_burst(r));
    if (tat_us < now_us)
        tat_us = now_us;
    return tat_us >= end_us || unit == 0 ? 0 : (end_us - tat_us) / unit;
}
