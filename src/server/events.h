/* The engine's events on their way out: messages for subscribers, log lines
 * for operators.
 *
 *   belfry:ready:<queue>   a job may be leased; message: its id
 *   belfry:job:<queue>     what happened to a job, or a schedule of that queue;
 *                          message: JSON
 *   belfry:queue:<queue>   paused, resumed; JSON
 *   belfry:handler:<name>  paused, resumed, its breaker; JSON
 *   belfry:alert           what somebody should look at; JSON
 *
 * Messages are gated: they leave when the entry that holds the change is
 * durable. What nobody listens to is not built: the engine is told which kinds
 * are wanted whenever somebody subscribes or leaves. */
#ifndef SERVER_EVENTS_H
#define SERVER_EVENTS_H

#include <stdbool.h>

#include "engine/event.h"

struct server;

/* Its channel up to the name of the queue or handler; NULL if it has none. */
const char *event_channel(enum event_type type);
/* Does it go to belfry:alert, too? */
bool event_is_alert(enum event_type type);

/* Once a tick: tell the engine what is wanted now. */
void events_tick(struct server *s);

#endif
