/* JOB.PROGRESS: how far it is. */
#include "commands/command.h"
#include "engine/engine.h"

struct progress_args {
    uint64_t given[2];
    struct slice token, text;
    uint32_t percent;
};
#define CMD_ARGS struct progress_args

static enum err progress_exec(struct cmd_ctx *c)
{
    struct progress_args *a = c->args;
    enum err rc = engine_progress(c->engine, c->gather, a->token, a->percent,
                                  a->text, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"token", OPT(BYTES, token), .key = true, .help = "of the lease"},
    {"pct", OPT(U32, percent), .min = 0, .max = 100, .help = "0 to 100"},
    {0},
};

static const struct opt opts[] = {
    {"TEXT", OPT(BYTES, text), "what is being done", .value = "t", .max = 512},
    {0},
};

const struct command cmd_job_progress = {
    .name = "JOB.PROGRESS",
    .group = "jobs",
    .summary = "Tell how far a running job is.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED,
                                 ERR_STALE, ERR_LIMIT, ERR_OK},
    .exec = progress_exec,
    .example = "JOB.PROGRESS 01J8ZQ4W2H0000000000000001#1.1700000000 40 TEXT "
               "'row 400 of 1000'",
};
