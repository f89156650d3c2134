/* WORKER.RESUME: after WORKER.DRAIN. */
#include "commands/command.h"
#include "engine/workers.h"

struct resume_args {
    uint64_t given[2];
    struct slice worker;
};
#define CMD_ARGS struct resume_args

static enum err resume_exec(struct cmd_ctx *c)
{
    struct resume_args *a = c->args;
    enum err rc =
        engine_worker_drain(c->engine, a->worker, false, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"worker", OPT(NAME, worker), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_worker_resume = {
    .name = "WORKER.RESUME",
    .group = "workers",
    .summary = "Let a drained worker lease again.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_OK},
    .exec = resume_exec,
    .example = "WORKER.RESUME w1",
};
