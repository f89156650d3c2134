/* JOB.RELEASE: not now, not by me. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct release_args {
    uint64_t given[2];
    struct slice token;
    struct opt_list also;
};
#define CMD_ARGS struct release_args

static enum err release_exec(struct cmd_ctx *c)
{
    struct release_args *a = c->args;
    struct token_list t;
    enum err rc = token_list_begin(&t, c, a->token, &a->also, TOKENS_MAX);
    if (rc != ERR_OK)
        return rc;
    rc = engine_release(c->engine, c->gather, t.tokens, t.n, t.cut, c->now,
                        token_reply, &t, &c->e);
    return token_replies_end(&t, rc);
}

static const struct arg args[] = {
    {"token", OPT(BYTES, token), .key = true, .help = "of the lease"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_job_release = {
    .name = "JOB.RELEASE",
    .group = "jobs",
    .summary = "Give leases back uncounted; the jobs return to their places.",
    .since = "0.1",
    .reply = "OK; with ALSO an array with OK or an error word for each token",
    .flags = CMD_WRITE,
    CMD_PARSED(args, opts),
    .also = true,
    .also_offset = offsetof(CMD_ARGS, also),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED,
                                 ERR_STALE, ERR_LIMIT, ERR_OK},
    .exec = release_exec,
    .example = "JOB.RELEASE 01J8ZQ4W2H0000000000000001#1.1700000000",
};
