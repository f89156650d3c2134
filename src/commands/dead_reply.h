/* Signatures of errors, as commands take and show them: 16 hexadecimal digits;
 * and what DEAD.RETRY and DEAD.DROP do with a single one. */
#ifndef COMMANDS_DEAD_REPLY_H
#define COMMANDS_DEAD_REPLY_H

#include "commands/command.h"
#include "engine/engine.h"

/* An empty word is 0: any. Errors: ERR_SYNTAX. */
MUST_USE enum err signature_take(struct cmd_ctx *c, struct slice text,
                                 uint64_t *out);
void reply_field_signature(struct reply *r, uint64_t signature);
/* That of a dead letter; of any other job null. */
void reply_field_dead(struct reply *r, const struct job_view *v);
/* Errors: ERR_STATE (it is no dead letter of this queue) and the verb's. */
MUST_USE enum err dead_one(struct cmd_ctx *c, enum manage_verb verb,
                           struct slice queue, struct slice id);

#endif
