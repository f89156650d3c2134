/* JOB.RESULT: what the job's worker left. */
#include "commands/command.h"
#include "engine/engine.h"

struct result_args {
    uint64_t given[2];
    struct slice id;
};
#define CMD_ARGS struct result_args

static enum err result_exec(struct cmd_ctx *c)
{
    struct result_args *a = c->args;
    struct job_view v;
    enum err rc = engine_get(c->engine, c->gather, a->id, c->now, &v, &c->e);
    if (rc != ERR_OK)
        return rc;
    if (v.has_result)
        reply_bulk(c->reply, v.result);
    else
        reply_null(c->reply);
    return ERR_OK;
}

static const struct arg args[] = {
    {"id", OPT(BYTES, id), .key = true, .help = "or the job's name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_job_result = {
    .name = "JOB.RESULT",
    .group = "jobs",
    .summary = "Get the result of a completed job.",
    .since = "0.1",
    .reply = "the result; null if there is none, or none yet",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_OK},
    .exec = result_exec,
    .example = "JOB.RESULT 01J8ZQ4W2H0000000000000001",
};
