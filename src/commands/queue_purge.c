/* QUEUE.PURGE: erase all that waits in a queue. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct queue_purge_args {
    uint64_t given[2];
    struct slice queue;
};
#define CMD_ARGS struct queue_purge_args

static enum err purge_exec(struct cmd_ctx *c)
{
    struct queue_purge_args *a = c->args;
    struct id id;
    enum err rc = engine_purge(c->engine, a->queue, c->now, &id, &c->e);
    if (rc == ERR_OK)
        reply_id(c->reply, &id);
    return rc;
}

static const struct arg args[] = {
    {"queue", OPT(NAME, queue), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_queue_purge = {
    .name = "QUEUE.PURGE",
    .group = "queues",
    .summary = "Erase all jobs that wait in a queue now; running and finished "
               "ones stay. Their rows are freed in the background.",
    .since = "0.1",
    .reply = "the id of the chore that frees the rows: see CHORE.GET",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_LIMIT, ERR_OK},
    .exec = purge_exec,
    .example = "QUEUE.PURGE emails",
};
