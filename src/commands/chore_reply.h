/* How a chore looks in replies. */
#ifndef COMMANDS_CHORE_REPLY_H
#define COMMANDS_CHORE_REPLY_H

#include "commands/command.h"
#include "engine/engine.h"

void reply_chore(struct reply *r, const struct chore_view *v);
/* Begin a chore and reply with its id. */
enum err reply_bulk_begun(struct cmd_ctx *c, enum manage_verb verb,
                          const struct job_filter *f, bool dry, uint64_t rate);

#endif
