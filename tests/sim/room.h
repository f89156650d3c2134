/* How many jobs a queue holds: a model of MAXLEN and OVERFLOW.
 *
 * What it holds the engine to:
 *  1. What is added fits into its queue, and nothing is refused that fits, or
 *     that would if what stands in line were dropped.
 *  2. A queue drops a job only if it is told to, for newcomers that would not
 *     fit beside it. To be told so it must have a bound.
 */
#ifndef SIM_ROOM_H
#define SIM_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "model.h"
#include "undo.h"

#define ROOM_QUEUES 3

struct room_set {
    bool has_most, has_drop;
    uint64_t most; /* 0: unlimited */
    bool drop;     /* the oldest, for a newcomer */
};

struct room;

struct room *room_new(struct undo *u);
void room_free(struct room **r);

bool room_may_say(const struct room *r, uint8_t queue,
                  const struct room_set *set);
/* What is given replaces what was said before. */
void room_said(struct room *r, uint8_t queue, const struct room_set *set);
/* The queue was dropped, with all that was said about it. */
void room_queue_gone(struct room *r, uint8_t queue);

/* So many were added, as the model of the jobs knows already; they were
 * refused; this one goes to make room for them, and the model does not know. */
const char *room_added(const struct room *r, const struct model *m,
                       uint8_t queue, struct now now);
const char *room_refused(const struct room *r, const struct model *m,
                         uint8_t queue, uint32_t n);
const char *room_dropped(const struct room *r, const struct model *m,
                         uint32_t k, uint32_t n);

#endif
