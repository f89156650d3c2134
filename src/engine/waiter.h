/* A waiter is somebody who asked and shall be told later: a parked caller.
 *
 * The engine keeps waiters in FIFO lists (of a queue for LEASE, of a job for
 * WAIT) and calls `wake` when asking again may succeed. wake() must only note
 * the fact: the caller's command starts over later in the same tick, before
 * newer commands, and waits again (keeping its turn) if somebody was quicker.
 */
#ifndef ENGINE_WAITER_H
#define ENGINE_WAITER_H

#include <stdbool.h>

#include "util/list.h"

#define WAITER_QUEUES_MAX 64
#define WAITER_HANDLERS_MAX 64

struct waiter;

struct waiter {
    void (*wake)(struct waiter *w);
    void *engine_private; /* where it stands in the engine's lists, or NULL */
};

#endif
