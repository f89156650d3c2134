/* JOB.CHECKPOINT: where the next execution may go on. */
#include "commands/command.h"
#include "engine/engine.h"

struct checkpoint_args {
    uint64_t given[2];
    struct slice token, bytes;
};
#define CMD_ARGS struct checkpoint_args

static enum err checkpoint_exec(struct cmd_ctx *c)
{
    struct checkpoint_args *a = c->args;
    enum err rc = engine_checkpoint(c->engine, c->gather, a->token, a->bytes,
                                    c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"token", OPT(BYTES, token), .key = true, .help = "of the lease"},
    {"bytes", OPT(BYTES, bytes), .help = "handed to the next execution"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_job_checkpoint = {
    .name = "JOB.CHECKPOINT",
    .group = "jobs",
    .summary = "Keep what the next execution needs to go on from here.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED,
                                 ERR_STALE, ERR_LIMIT, ERR_OK},
    .exec = checkpoint_exec,
    .example = "JOB.CHECKPOINT 01J8ZQ4W2H0000000000000001#1.1700000000 row=400",
};
