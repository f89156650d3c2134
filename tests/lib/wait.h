/* Waiting for what another thread does: poll, with a deadline. */
#ifndef LIB_WAIT_H
#define LIB_WAIT_H

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/clock.h"

/* A moment `seconds` ahead, times WAIT_FACTOR: the sanitizers, and machines
 * with more to do, are slower than the deadlines suppose. */
static inline uint64_t wait_end(unsigned seconds)
{
    const char *text = getenv("WAIT_FACTOR");
    unsigned long factor = text != NULL ? strtoul(text, NULL, 10) : 1;
    if (factor == 0)
        factor = 1;
    return clock_mono_us() + (uint64_t)seconds * factor * 1000000;
}

static inline void wait_a_little(void)
{
    (void)usleep(100);
}

/* True as soon as `cond` is, false if it is not within ten seconds, times the
 * factor. */
#define wait_until(cond)                                             \
    __extension__({                                                  \
        uint64_t wait_end_ = wait_end(10);                           \
        bool wait_yes_;                                              \
        while (!(wait_yes_ = (cond)) && clock_mono_us() < wait_end_) \
            wait_a_little();                                         \
        wait_yes_;                                                   \
    })

#endif
