/* The engine's events on their way out: messages for subscribers, log lines
 * for operators.
 *
 *   belfry:ready:<queue>   a job may be leased; message: its id
 *   belfry:job:<queue>     what happened to a job; message: JSON
 *   belfry:queue:<queue>   paused, resumed; message: JSON
 *   belfry:alert           dead letters, run-time limits, faults; JSON
 *
 * Messages are gated: they leave when the entry that holds the change is
 * durable. What nobody listens to is not built: the engine is told which kinds
 * are wanted whenever somebody subscribes or leaves. */
#ifndef SERVER_EVENTS_H
#define SERVER_EVENTS_H

struct server;

/* Once a tick: tell the engine what is wanted now. */
void events_tick(struct server *s);

#endif
