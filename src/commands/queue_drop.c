/* QUEUE.DROP: as if there had never been a queue of this name. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct queue_drop_args {
    uint64_t given[2];
    struct slice queue;
};
#define CMD_ARGS struct queue_drop_args

static enum err drop_exec(struct cmd_ctx *c)
{
    struct queue_drop_args *a = c->args;
    struct id id;
    enum err rc = engine_queue_drop(c->engine, a->queue, c->now, &id, &c->e);
    if (rc == ERR_OK)
        reply_id(c->reply, &id);
    return rc;
}

static const struct arg args[] = {
    {"queue", OPT(NAME, queue), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_queue_drop = {
    .name = "QUEUE.DROP",
    .group = "queues",
    .summary = "Drop a queue in which nothing runs: what waits is purged, "
               "settings and counters are forgotten. Finished jobs stay.",
    .since = "0.1",
    .reply = "the id of the chore that frees the rows: see CHORE.GET",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_STATE, ERR_LIMIT,
                                 ERR_OK},
    .exec = drop_exec,
    .example = "QUEUE.DROP emails",
};
