/* How workers look in replies. */
#ifndef COMMANDS_WORKER_REPLY_H
#define COMMANDS_WORKER_REPLY_H

#include "commands/command.h"
#include "engine/workers.h"

void reply_worker(struct cmd_ctx *c, const struct worker_view *v);

#endif
