/* QUEUE.PURGE: erase all that waits in a queue. */
#include "commands/chore_reply.h"
#include "commands/command.h"
#include "engine/engine.h"

struct queue_purge_args {
    uint64_t given[2];
    struct slice queue;
};
#define CMD_ARGS struct queue_purge_args

static enum err purge_exec(struct cmd_ctx *c)
{
    struct queue_purge_args *a = c->args;
    struct job_filter f = {.queue = a->queue,
                           .states = 1u << JOB_BLOCKED | 1u << JOB_SCHEDULED |
                                     1u << JOB_READY | 1u << JOB_PARKED |
                                     1u << JOB_RETRYING | 1u << JOB_HELD};
    struct queue_view v;
    enum err rc = engine_queue(c->engine, a->queue, c->now, &v, &c->e);
    return rc != ERR_OK ? rc : reply_bulk_begun(c, MANAGE_DELETE, &f, false, 0);
}

static const struct arg args[] = {
    {"queue", OPT(NAME, queue), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_queue_purge = {
    .name = "QUEUE.PURGE",
    .group = "queues",
    .summary = "Erase all jobs that wait in a queue now, in the background; "
               "running and finished ones stay.",
    .since = "0.1",
    .reply = "the id of a chore: see CHORE.GET",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_LIMIT, ERR_OK},
    .exec = purge_exec,
    .example = "QUEUE.PURGE emails",
};
