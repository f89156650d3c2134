/* Signatures of errors, as commands take and show them: 16 hexadecimal digits.
 */
#ifndef COMMANDS_DEAD_REPLY_H
#define COMMANDS_DEAD_REPLY_H

#include "commands/command.h"

/* An empty word is 0: any. Errors: ERR_SYNTAX. */
MUST_USE enum err signature_take(struct cmd_ctx *c, struct slice text,
                                 uint64_t *out);

#endif
