/* WORKER.LIST: all workers. */
#include "commands/listing.h"
#include "commands/worker_reply.h"

static void reply_one(void *ud, const struct worker_view *v)
{
    struct listing *l = ud;
    (void)listing_next(l);
    reply_worker(l->c, v);
}

static enum err list_exec(struct cmd_ctx *c)
{
    struct listing l = listing_begin(c);
    engine_workers(c->engine, &l.page, c->now, reply_one, &l);
    return listing_end(&l);
}

const struct command cmd_worker_list = {
    .name = "WORKER.LIST",
    .group = "workers",
    .summary = "List the workers, by name.",
    .since = "0.1",
    .reply = "an array of objects as of WORKER.GET",
    .flags = CMD_READONLY,
    LISTING_PARSED,
    .exec = list_exec,
    .example = "WORKER.LIST MATCH w*",
};
