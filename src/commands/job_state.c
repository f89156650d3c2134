/* JOB.STATE: one word. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct state_args {
    uint64_t given[2];
    struct slice id;
    struct opt_list also;
};
#define CMD_ARGS struct state_args

static void reply_one(void *ud, enum job_state state)
{
    struct cmd_ctx *c = ud;
    if (state == 0)
        reply_null(c->reply);
    else
        reply_str(c->reply, job_state_name(state));
}

static enum err state_exec(struct cmd_ctx *c)
{
    struct state_args *a = c->args;
    struct token_list t;
    enum err rc = token_list_begin(&t, c, a->id, &a->also, IDS_MAX);
    if (rc != ERR_OK)
        return rc;
    rc = engine_states(c->engine, c->gather, t.tokens, t.n, t.cut, c->now,
                       reply_one, c, &c->e);
    return token_list_end(&t, rc);
}

static const struct arg args[] = {
    {"id", OPT(BYTES, id), .key = true, .help = "or the job's name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_job_state = {
    .name = "JOB.STATE",
    .group = "jobs",
    .summary = "Tell the state of jobs.",
    .since = "0.1",
    .reply = "the state, or null if there is no such job; with ALSO an array",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .also = true,
    .also_offset = offsetof(CMD_ARGS, also),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_OK},
    .exec = state_exec,
    .example = "JOB.STATE 01J8ZQ4W2H0000000000000001",
};
