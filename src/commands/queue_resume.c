/* QUEUE.RESUME: after QUEUE.PAUSE. */
#include "commands/command.h"
#include "engine/engine.h"

struct queue_resume_args {
    uint64_t given[2];
    struct slice queue;
};
#define CMD_ARGS struct queue_resume_args

static enum err resume_exec(struct cmd_ctx *c)
{
    struct queue_resume_args *a = c->args;
    enum err rc = engine_queue_pause(c->engine, a->queue, false, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"queue", OPT(NAME, queue), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_queue_resume = {
    .name = "QUEUE.RESUME",
    .group = "queues",
    .summary = "Resume a queue that was paused.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_OK},
    .exec = resume_exec,
    .example = "QUEUE.RESUME emails",
};
