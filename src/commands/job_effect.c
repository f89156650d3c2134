/* JOB.EFFECT: has this been done by any execution of the job? */
#include "commands/command.h"
#include "engine/engine.h"

struct effect_args {
    uint64_t given[2];
    struct slice token, key;
};
#define CMD_ARGS struct effect_args

static enum err effect_exec(struct cmd_ctx *c)
{
    struct effect_args *a = c->args;
    bool first;
    enum err rc = engine_effect(c->engine, c->gather, a->token, a->key, c->now,
                                &first, &c->e);
    if (rc == ERR_OK)
        reply_int(c->reply, first);
    return rc;
}

static const struct arg args[] = {
    {"token", OPT(BYTES, token), .key = true, .help = "of the lease"},
    {"key", OPT(BYTES, key), .min = 1, .max = 200, .help = "of the effect"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_job_effect = {
    .name = "JOB.EFFECT",
    .group = "jobs",
    .summary = "Claim an effect that must happen once per job, however often "
               "it is executed.",
    .since = "0.1",
    .reply = "1 the first time, 0 if the effect was claimed before",
    .flags = CMD_WRITE,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED,
                                 ERR_STALE, ERR_LIMIT, ERR_OK},
    .exec = effect_exec,
    .example = "JOB.EFFECT 01J8ZQ4W2H0000000000000001#1.1700000000 charge-card",
};
