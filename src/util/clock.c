#include "util/clock.h"

#include <time.h>

static uint64_t read_us(clockid_t id)
{
    struct timespec t;
    (void)clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

uint64_t clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME);
}

uint64_t clock_mono_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

struct now clock_now(void)
{
    return (struct now){clock_wall_us() / 1000, clock_mono_us() / 1000};
}
