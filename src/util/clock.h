/* The two clocks. Only the loop, the threads and the tools read them; the
 * engine is told the time as `struct now`. */
#ifndef UTIL_CLOCK_H
#define UTIL_CLOCK_H

#include <stdint.h>

/* Wall time is for schedules and delays, monotonic time for leases: a stepped
 * wall clock must not end a lease early. */
struct now {
    uint64_t wall_ms;
    uint64_t mono_ms;
};

/* The monotonic clock between two readings of it, by the processor's counter:
 * a third of the price, for timing every single command. It is set from the
 * real clock at least once a turn of the loop, which also calibrates it; where
 * the counter is missing or not steady it reads the real clock. */
struct stopwatch {
    uint64_t base_us, base_ticks;     /* the last setting */
    uint64_t anchor_us, anchor_ticks; /* an older one, to calibrate by */
    uint64_t us_per_tick;             /* times 2^32; 0 = not known yet */
};

void stopwatch_set(struct stopwatch *w, uint64_t mono_us);
uint64_t stopwatch_us(const struct stopwatch *w);

uint64_t clock_wall_us(void);
uint64_t clock_mono_us(void);
/* What the calling thread has had of a processor: a system call. */
uint64_t clock_thread_us(void);
struct now clock_now(void);

#endif
