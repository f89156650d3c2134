/* How handlers and their breakers look in replies. */
#ifndef COMMANDS_HANDLER_REPLY_H
#define COMMANDS_HANDLER_REPLY_H

#include "commands/command.h"
#include "engine/handlers.h"

void reply_handler(struct reply *r, const struct handler_view *v);
void reply_breaker(struct reply *r, const struct handler_view *v);

/* Look a handler up and show it with `show`; null if there is none. */
enum err handler_show(struct cmd_ctx *c, struct slice name,
                      void (*show)(struct reply *r,
                                   const struct handler_view *v));

/* What a set of options gives, as a map from the option's name to its value:
 * numbers (durations in ms), words, arrays (LIMIT), maps (TAG). */
void reply_job_options(struct reply *r, const struct job_options *o);

#endif
