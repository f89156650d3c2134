/* WORKER.DRAIN, WORKER.RESUME: no new leases in between. */
#include "commands/command.h"
#include "engine/workers.h"

struct worker_drain_args {
    uint64_t given[2];
    struct slice worker;
};
#define CMD_ARGS struct worker_drain_args

static enum err set_drained(struct cmd_ctx *c, bool drained)
{
    struct worker_drain_args *a = c->args;
    enum err rc =
        engine_worker_drain(c->engine, a->worker, drained, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static enum err drain_exec(struct cmd_ctx *c)
{
    return set_drained(c, true);
}

static enum err resume_exec(struct cmd_ctx *c)
{
    return set_drained(c, false);
}

static const struct arg args[] = {
    {"worker", OPT(NAME, worker), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_worker_drain = {
    .name = "WORKER.DRAIN",
    .group = "workers",
    .summary = "Give a worker no new leases; its next beat tells it.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_OK},
    .exec = drain_exec,
    .example = "WORKER.DRAIN w1",
};

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
