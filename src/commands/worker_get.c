/* WORKER.GET: one worker. */
#include "commands/worker_reply.h"

struct worker_get_args {
    uint64_t given[2];
    struct slice worker;
};
#define CMD_ARGS struct worker_get_args

static enum err get_exec(struct cmd_ctx *c)
{
    struct worker_get_args *a = c->args;
    struct worker_view v;
    enum err rc = engine_worker(c->engine, a->worker, c->now, &v, &c->e);
    if (rc == ERR_NOTFOUND) {
        reply_null(c->reply);
        return ERR_OK;
    }
    if (rc == ERR_OK)
        reply_worker(c, &v);
    return rc;
}

static const struct arg args[] = {
    {"worker", OPT(NAME, worker), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_worker_get = {
    .name = "WORKER.GET",
    .group = "workers",
    .summary = "Show a worker: what it said, and what it runs since when.",
    .since = "0.1",
    .reply = "an object, or null if there is no such worker; running shows at "
             "most 100 of its leases",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = get_exec,
    .example = "WORKER.GET w1",
};
