/* How handlers and their breakers look in replies. */
#ifndef COMMANDS_HANDLER_REPLY_H
#define COMMANDS_HANDLER_REPLY_H

#include "commands/command.h"
#include "engine/handlers.h"

void reply_handler(struct reply *r, const struct handler_view *v);
void reply_breaker(struct reply *r, const struct handler_view *v);

/* What a set of options gives, as a map from the option's name to its value:
 * numbers (durations in ms), words, arrays (LIMIT), maps (TAG). */
void reply_job_options(struct reply *r, const struct job_options *o);

#endif
