/* JOB.UNHOLD: back to where it was. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct unhold_args {
    uint64_t given[2];
    struct slice id;
    struct opt_list also;
};
#define CMD_ARGS struct unhold_args

static enum err unhold_exec(struct cmd_ctx *c)
{
    struct unhold_args *a = c->args;
    struct manage_params p = {.verb = MANAGE_UNHOLD};
    return manage_jobs(c, &p, a->id, &a->also);
}

static const struct arg args[] = {
    {"id", OPT(BYTES, id), .key = true, .help = "or the job's name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_job_unhold = {
    .name = "JOB.UNHOLD",
    .group = "jobs",
    .summary = "Let held jobs go on: ready, or waiting for their time.",
    .since = "0.1",
    .reply = "OK; with ALSO an array with OK or an error word for each job",
    .flags = CMD_WRITE,
    CMD_PARSED(args, opts),
    .also = true,
    .also_offset = offsetof(CMD_ARGS, also),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED,
                                 ERR_STATE, ERR_LIMIT, ERR_OK},
    .exec = unhold_exec,
    .example = "JOB.UNHOLD 01J8ZQ4W2H0000000000000001",
};
