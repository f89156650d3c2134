/* QUEUE.PEEK: what comes next? */
#include "commands/command.h"
#include "commands/job_filter.h"
#include "engine/engine.h"

struct queue_peek_args {
    uint64_t given[2];
    struct slice queue;
    uint32_t count;
};
#define CMD_ARGS struct queue_peek_args

static enum err peek_exec(struct cmd_ctx *c)
{
    struct queue_peek_args *a = c->args;
    struct listing l = {.c = c};
    struct reply_mark m = reply_array_begin(c->reply);
    enum err rc = engine_peek(c->engine, c->gather, a->queue,
                              a->count == 0 ? 1 : a->count, c->now, listing_add,
                              &l, &c->e);
    reply_array_end(c->reply, m, l.n);
    return rc;
}

static const struct arg args[] = {
    {"queue", OPT(NAME, queue), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {
    {"COUNT", OPT(U32, count), "at most so many", .value = "n", .min = 1,
     .max = 100, .value_default = "1"},
    {0},
};

const struct command cmd_queue_peek = {
    .name = "QUEUE.PEEK",
    .group = "queues",
    .summary = "Show the jobs at the head of a queue without leasing them.",
    .since = "0.1",
    .reply = "an array of objects as of JOB.LIST, the next one first; none of "
             "paused handlers",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_OK},
    .exec = peek_exec,
    .example = "QUEUE.PEEK emails COUNT 10",
};
