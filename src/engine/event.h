/* What happened, for those who want to know: Pub/Sub, logs, counters, the
 * change feed. The kinds are in engine/events.def. */
#ifndef ENGINE_EVENT_H
#define ENGINE_EVENT_H

#include <stdint.h>

#include "util/id.h"
#include "util/slice.h"

enum event_type {
#define EVENT(NAME, number, name, logged, meaning) EVENT_##NAME = number,
#include "engine/events.def"
#undef EVENT
    EVENT_TYPES
};
_Static_assert(EVENT_TYPES <= 64, "one bit each in a mask");

#define EVENT_BIT(type) ((uint64_t)1 << (type))

/* Slices are borrowed for the call; empty where they do not apply. */
struct event {
    enum event_type type;
    uint64_t at_ms;
    struct id id;
    uint32_t n; /* delivery number, 0: none */
    struct slice queue, handler, worker;
    uint32_t queue_id, handler_id;
    uint64_t took_ms;  /* waiting time of a lease, run time of an outcome */
    struct slice text; /* reason, error type, progress text; never a payload */
};

/* NULL for a number that is none. */
const char *event_name(enum event_type type);
const char *event_meaning(enum event_type type);

/* As it travels in the entry: type, time since epoch, id, n, queue and handler
 * ids, took_ms, text, as a record (engine/records.h). */

#endif
