/* Waiting for what another thread does: poll, with a deadline. */
#ifndef LIB_WAIT_H
#define LIB_WAIT_H

#include <stdbool.h>
#include <unistd.h>

#include "util/clock.h"

#define WAIT_US ((uint64_t)10000000)

static inline void wait_a_little(void)
{
    (void)usleep(100);
}

/* True as soon as `cond` is, false if it is not within ten seconds. */
#define wait_until(cond)                                             \
    __extension__({                                                  \
        uint64_t wait_end_ = clock_mono_us() + WAIT_US;              \
        bool wait_yes_;                                              \
        while (!(wait_yes_ = (cond)) && clock_mono_us() < wait_end_) \
            wait_a_little();                                         \
        wait_yes_;                                                   \
    })

#endif
