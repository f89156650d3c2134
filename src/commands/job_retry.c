/* JOB.RETRY: take a finished job back. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct retry_args {
    uint64_t given[2];
    struct slice id;
    struct opt_list also;
};
#define CMD_ARGS struct retry_args

static enum err retry_exec(struct cmd_ctx *c)
{
    struct retry_args *a = c->args;
    struct manage_params p = {.verb = MANAGE_RETRY};
    return manage_jobs(c, &p, a->id, &a->also);
}

static const struct arg args[] = {
    {"id", OPT(BYTES, id), .key = true, .help = "or the job's name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_job_retry = {
    .name = "JOB.RETRY",
    .group = "jobs",
    .summary =
        "Take finished jobs back: ready at once, with a new budget of retries.",
    .since = "0.1",
    .reply = "OK; with ALSO an array with OK or an error word for each job",
    .flags = CMD_WRITE | CMD_NEW_WORK,
    CMD_PARSED(args, opts),
    .also = true,
    .also_offset = offsetof(CMD_ARGS, also),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_STATE,
                                 ERR_EXISTS, ERR_NOSPACE, ERR_LIMIT, ERR_OK},
    .exec = retry_exec,
    .example = "JOB.RETRY 01J8ZQ4W2H0000000000000001",
};
