/* WORKER.FORGET: as if it had never registered. */
#include "commands/command.h"
#include "engine/workers.h"

struct forget_args {
    uint64_t given[2];
    struct slice worker;
};
#define CMD_ARGS struct forget_args

static enum err forget_exec(struct cmd_ctx *c)
{
    struct forget_args *a = c->args;
    enum err rc = engine_worker_forget(c->engine, a->worker, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"worker", OPT(NAME, worker), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_worker_forget = {
    .name = "WORKER.FORGET",
    .group = "workers",
    .summary = "Forget what a worker said; its leases stay until they end.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_OK},
    .exec = forget_exec,
    .example = "WORKER.FORGET w1",
};
