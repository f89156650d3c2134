/* JOB.RUNNOW, JOB.HOLD, JOB.UNHOLD, JOB.RETRY, JOB.DELETE: one verb each, for
 * a job and those behind ALSO. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct manage_args {
    uint64_t given[2];
    struct slice id;
    struct opt_list also;
};
#define CMD_ARGS struct manage_args

static enum err manage(struct cmd_ctx *c, enum manage_verb verb)
{
    struct manage_args *a = c->args;
    struct manage_params p = {.verb = verb};
    return manage_jobs(c, &p, a->id, &a->also);
}

static enum err runnow_exec(struct cmd_ctx *c)
{
    return manage(c, MANAGE_RUNNOW);
}

static enum err hold_exec(struct cmd_ctx *c)
{
    return manage(c, MANAGE_HOLD);
}

static enum err unhold_exec(struct cmd_ctx *c)
{
    return manage(c, MANAGE_UNHOLD);
}

static enum err retry_exec(struct cmd_ctx *c)
{
    return manage(c, MANAGE_RETRY);
}

static enum err delete_exec(struct cmd_ctx *c)
{
    return manage(c, MANAGE_DELETE);
}

static const struct arg args[] = {
    {"id", OPT(BYTES, id), .key = true, .help = "or the job's name"},
    {0},
};

static const struct opt opts[] = {{0}};

/* What the five entries have in common. */
#define MANAGE_ENTRY                                                         \
    .group = "jobs", .since = "0.1",                                         \
    .reply = "OK; with ALSO an array with OK or an error word for each job", \
    CMD_PARSED(args, opts), .also = true,                                    \
    .also_offset = offsetof(CMD_ARGS, also)

const struct command cmd_job_runnow = {
    MANAGE_ENTRY,
    .name = "JOB.RUNNOW",
    .summary = "Make delayed and retrying jobs ready at once.",
    .flags = CMD_WRITE,
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED,
                                 ERR_STATE, ERR_LIMIT, ERR_OK},
    .exec = runnow_exec,
    .example = "JOB.RUNNOW 01J8ZQ4W2H0000000000000001",
};

const struct command cmd_job_hold = {
    MANAGE_ENTRY,
    .name = "JOB.HOLD",
    .summary = "Hold waiting jobs: they are not leased until JOB.UNHOLD.",
    .flags = CMD_WRITE,
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED,
                                 ERR_STATE, ERR_LIMIT, ERR_OK},
    .exec = hold_exec,
    .example = "JOB.HOLD 01J8ZQ4W2H0000000000000001",
};

const struct command cmd_job_unhold = {
    MANAGE_ENTRY,
    .name = "JOB.UNHOLD",
    .summary = "Let held jobs go on: ready, or waiting for their time.",
    .flags = CMD_WRITE,
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED,
                                 ERR_STATE, ERR_LIMIT, ERR_OK},
    .exec = unhold_exec,
    .example = "JOB.UNHOLD 01J8ZQ4W2H0000000000000001",
};

const struct command cmd_job_retry = {
    MANAGE_ENTRY,
    .name = "JOB.RETRY",
    .summary =
        "Take finished jobs back: ready at once, with a new budget of retries.",
    .flags = CMD_WRITE | CMD_NEW_WORK,
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_STATE,
                                 ERR_EXISTS, ERR_NOSPACE, ERR_LIMIT, ERR_OK},
    .exec = retry_exec,
    .example = "JOB.RETRY 01J8ZQ4W2H0000000000000001",
};

const struct command cmd_job_delete = {
    MANAGE_ENTRY,
    .name = "JOB.DELETE",
    .summary = "Erase waiting or finished jobs with all that is kept of them.",
    .flags = CMD_WRITE,
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_STATE, ERR_LIMIT,
                                 ERR_OK},
    .exec = delete_exec,
    .example = "JOB.DELETE 01J8ZQ4W2H0000000000000001",
};
