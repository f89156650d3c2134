/* QUEUE.INFO: one queue. */
#include "commands/command.h"
#include "commands/queue_reply.h"
#include "engine/engine.h"

struct queue_info_args {
    uint64_t given[2];
    struct slice queue;
};
#define CMD_ARGS struct queue_info_args

static enum err info_exec(struct cmd_ctx *c)
{
    struct queue_info_args *a = c->args;
    struct queue_view v;
    enum err rc = engine_queue_heads(c->engine, c->gather, a->queue, &c->e);
    if (rc == ERR_OK)
        rc = engine_queue(c->engine, a->queue, c->now, &v, &c->e);
    if (rc == ERR_NOTFOUND) {
        reply_null(c->reply);
        return ERR_OK;
    }
    if (rc == ERR_OK)
        reply_queue(c->reply, &v, c->now);
    return rc;
}

static const struct arg args[] = {
    {"queue", OPT(NAME, queue), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_queue_info = {
    .name = "QUEUE.INFO",
    .group = "queues",
    .summary = "Show a queue: how many jobs are in which state, its settings.",
    .since = "0.1",
    .reply = "an object, or null if there is no such queue; oldest_ready_ms: a "
             "ready job has waited at least that long",
    .flags = CMD_READONLY | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = info_exec,
    .example = "QUEUE.INFO emails",
};
