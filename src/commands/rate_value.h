/* Rates as words: "100/1s", or 0 for none. */
#ifndef COMMANDS_RATE_VALUE_H
#define COMMANDS_RATE_VALUE_H

#include "commands/command.h"
#include "engine/rate.h"

/* `name` is the option, for the sentence. Errors: ERR_SYNTAX. */
MUST_USE enum err rate_parse(struct cmd_ctx *c, const char *name,
                             struct slice word, struct rate *out);

/* Three fields: rate, per_ms, burst. */
#define RATE_FIELDS 3
void reply_rate(struct reply *r, const char *name, const struct rate *rate);

#endif
