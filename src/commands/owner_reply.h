/* How an owner looks in replies. */
#ifndef COMMANDS_OWNER_REPLY_H
#define COMMANDS_OWNER_REPLY_H

#include "engine/engine.h"
#include "resp/reply.h"

void reply_owner(struct reply *r, const struct owner_view *v);

#endif
