/* WORKER.DRAIN: it gets no new leases. */
#include "commands/command.h"
#include "engine/workers.h"

struct drain_args {
    uint64_t given[2];
    struct slice worker;
};
#define CMD_ARGS struct drain_args

static enum err drain_exec(struct cmd_ctx *c)
{
    struct drain_args *a = c->args;
    enum err rc =
        engine_worker_drain(c->engine, a->worker, true, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
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
