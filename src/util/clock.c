#include "util/clock.h"

#include <stdbool.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

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

uint64_t clock_thread_us(void)
{
    return read_us(CLOCK_THREAD_CPUTIME_ID);
}

struct now clock_now(void)
{
    return (struct now){clock_wall_us() / 1000, clock_mono_us() / 1000};
}

#if defined(__x86_64__)
static uint64_t ticks(void)
{
    return __rdtsc();
}

/* Does the counter run at one speed, whatever the processor sleeps? */
static bool ticks_are_steady(void)
{
    static int known = -1;
    unsigned a, b, c, d;
    if (known < 0)
        known = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
    return known != 0;
}
#else
static uint64_t ticks(void)
{
    return 0;
}

static bool ticks_are_steady(void)
{
    return false;
}
#endif

enum {
    CALIBRATE_MIN_US = 50000,   /* shorter than this says too little */
    CALIBRATE_MAX_US = 10000000 /* older than this, begin anew */
};

void stopwatch_set(struct stopwatch *w, uint64_t mono_us)
{
    if (!ticks_are_steady())
        return;
    w->base_us = mono_us;
    w->base_ticks = ticks();
    uint64_t us = mono_us - w->anchor_us;
    uint64_t n = w->base_ticks - w->anchor_ticks;
    if (us < CALIBRATE_MIN_US && mono_us >= w->anchor_us)
        return;
    /* A suspended machine or a moved one: the counter began again. */
    bool sane = us <= CALIBRATE_MAX_US && w->base_ticks > w->anchor_ticks;
    if (sane)
        w->us_per_tick = (us << 32) / n;
    if (!sane || us > CALIBRATE_MAX_US / 2) {
        w->anchor_us = mono_us;
        w->anchor_ticks = w->base_ticks;
    }
}

uint64_t stopwatch_us(const struct stopwatch *w)
{
    if (w->us_per_tick == 0)
        return clock_mono_us();
    uint64_t t = ticks();
    if (t <= w->base_ticks)
        return w->base_us;
    /* 2^31 ticks are most of a second: further from the base than any turn. */
    uint64_t n = t - w->base_ticks;
    if (n >> 31 != 0)
        return clock_mono_us();
    return w->base_us + (n * w->us_per_tick >> 32);
}
