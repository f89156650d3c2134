/* HANDLER.LIST: all handlers. */
#include "commands/handler_reply.h"
#include "commands/listing.h"

static void reply_one(void *ud, const struct handler_view *v)
{
    reply_handler(listing_next(ud), v);
}

static enum err list_exec(struct cmd_ctx *c)
{
    struct listing l = listing_begin(c);
    engine_handlers(c->engine, &l.page, c->now, reply_one, &l);
    return listing_end(&l);
}

const struct command cmd_handler_list = {
    .name = "HANDLER.LIST",
    .group = "handlers",
    .summary = "List the handlers, by name.",
    .since = "0.1",
    .reply = "an array of objects as of HANDLER.GET",
    .flags = CMD_READONLY,
    LISTING_PARSED,
    .exec = list_exec,
    .example = "HANDLER.LIST MATCH send-*",
};
