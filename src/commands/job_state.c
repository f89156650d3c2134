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

static enum err reply_one(struct cmd_ctx *c, struct slice ref)
{
    enum job_state state;
    enum err rc =
        engine_state(c->engine, c->gather, ref, c->now, &state, &c->e);
    if (rc == ERR_OK)
        reply_str(c->reply, job_state_name(state));
    else if (rc == ERR_NOTFOUND)
        reply_null(c->reply);
    else
        return rc;
    return ERR_OK;
}

static enum err state_exec(struct cmd_ctx *c)
{
    struct state_args *a = c->args;
    struct slice refs[IDS_MAX];
    uint32_t n;
    enum err pending = ERR_OK;
    enum err rc = words_join(c, a->id, &a->also, refs, IDS_MAX, &n);
    if (rc != ERR_OK)
        return rc;
    if (n > 1)
        reply_array(c->reply, n);
    for (uint32_t i = 0; i < n && (rc == ERR_OK || rc == ERR_PENDING); i++) {
        rc = reply_one(c, refs[i]);
        if (rc == ERR_PENDING)
            pending = rc; /* ask for the others too: one fetch for all */
    }
    return rc == ERR_OK ? pending : rc;
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
