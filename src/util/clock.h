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

uint64_t clock_wall_us(void);
uint64_t clock_mono_us(void);
struct now clock_now(void);

#endif
