/* BREAKER.LIST: the breakers. */
#include "commands/handler_reply.h"
#include "commands/listing.h"

static void reply_one(void *ud, const struct handler_view *v)
{
    reply_breaker(listing_next(ud), v);
}

static enum err list_exec(struct cmd_ctx *c)
{
    struct listing l = listing_begin(c);
    engine_breakers(c->engine, &l.page, c->now, reply_one, &l);
    return listing_end(&l);
}

const struct command cmd_breaker_list = {
    .name = "BREAKER.LIST",
    .group = "handlers",
    .summary = "List the breakers that are switched on, by handler.",
    .since = "0.1",
    .reply = "an array of objects as of BREAKER.GET",
    .flags = CMD_READONLY,
    LISTING_PARSED,
    .exec = list_exec,
    .example = "BREAKER.LIST MATCH send-*",
};
