/* JOB.RUNNOW: do not wait for the time. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct runnow_args {
    uint64_t given[2];
    struct slice id;
    struct opt_list also;
};
#define CMD_ARGS struct runnow_args

static enum err runnow_exec(struct cmd_ctx *c)
{
    struct runnow_args *a = c->args;
    struct manage_params p = {.verb = MANAGE_RUNNOW};
    return manage_jobs(c, &p, a->id, &a->also);
}

static const struct arg args[] = {
    {"id", OPT(BYTES, id), .key = true, .help = "or the job's name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_job_runnow = {
    .name = "JOB.RUNNOW",
    .group = "jobs",
    .summary = "Make delayed and retrying jobs ready at once.",
    .since = "0.1",
    .reply = "OK; with ALSO an array with OK or an error word for each job",
    .flags = CMD_WRITE,
    CMD_PARSED(args, opts),
    .also = true,
    .also_offset = offsetof(CMD_ARGS, also),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED,
                                 ERR_STATE, ERR_LIMIT, ERR_OK},
    .exec = runnow_exec,
    .example = "JOB.RUNNOW 01J8ZQ4W2H0000000000000001",
};
