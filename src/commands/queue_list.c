/* QUEUE.LIST: all queues. */
#include "commands/listing.h"
#include "commands/queue_reply.h"
#include "engine/engine.h"

static void reply_one(void *ud, const struct queue_view *v)
{
    struct listing *l = ud;
    reply_queue(listing_next(l), v, l->c->now);
}

static enum err list_exec(struct cmd_ctx *c)
{
    enum err rc = engine_queues_heads(c->engine, c->gather, &c->e);
    if (rc != ERR_OK)
        return rc;
    struct listing l = listing_begin(c);
    (void)engine_queues(c->engine, &l.page, reply_one, &l);
    return listing_end(&l);
}

const struct command cmd_queue_list = {
    .name = "QUEUE.LIST",
    .group = "queues",
    .summary = "List the queues, by name.",
    .since = "0.1",
    .reply = "an array of objects as of QUEUE.INFO",
    .flags = CMD_READONLY,
    LISTING_PARSED,
    .exec = list_exec,
    .example = "QUEUE.LIST MATCH mail*",
};
