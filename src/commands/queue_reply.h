/* How queues look in replies. */
#ifndef COMMANDS_QUEUE_REPLY_H
#define COMMANDS_QUEUE_REPLY_H

#include "engine/engine.h"
#include "resp/reply.h"

/* oldest_ready_ms is an age: how long the oldest ready job has waited. */
void reply_queue(struct reply *r, const struct queue_view *v, struct now now);

#endif
