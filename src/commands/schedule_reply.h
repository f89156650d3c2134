/* What the SCHEDULE commands have in common. */
#ifndef COMMANDS_SCHEDULE_REPLY_H
#define COMMANDS_SCHEDULE_REPLY_H

#include "commands/command.h"
#include "engine/schedule.h"

/* The object of SCHEDULE.GET and LIST. */
void reply_schedule(struct reply *r, const struct schedule_view *v);

/* A time, or null for none. */
void reply_time(struct reply *r, uint64_t ms);

#endif
