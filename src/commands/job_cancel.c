/* JOB.CANCEL: end a job that waits, tell one that runs to stop. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct cancel_args {
    uint64_t given[2];
    struct slice id;
    struct opt_list also;
    uint64_t force_ms;
};
#define CMD_ARGS struct cancel_args

static enum err cancel_exec(struct cmd_ctx *c)
{
    struct cancel_args *a = c->args;
    struct manage_params p = {.verb = MANAGE_CANCEL};
    p.has_force = cmd_given(c, "FORCE");
    p.force_ms = a->force_ms;
    return manage_jobs(c, &p, a->id, &a->also);
}

static const struct arg args[] = {
    {"id", OPT(BYTES, id), .key = true, .help = "or the job's name"},
    {0},
};

static const struct opt opts[] = {
    {"FORCE", OPT(MS, force_ms),
     "a running job that has not stopped by then is ended by force; 0: at "
     "once",
     .value = "d", .value_default = "30s"},
    {0},
};

const struct command cmd_job_cancel = {
    .name = "JOB.CANCEL",
    .group = "jobs",
    .summary =
        "Cancel jobs: waiting ones at once, running ones by an order to stop.",
    .since = "0.1",
    .reply = "OK; with ALSO an array with OK or an error word for each job",
    .flags = CMD_WRITE,
    CMD_PARSED(args, opts),
    .also = true,
    .also_offset = offsetof(CMD_ARGS, also),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED,
                                 ERR_LIMIT, ERR_OK},
    .exec = cancel_exec,
    .example = "JOB.CANCEL 01J8ZQ4W2H0000000000000001 FORCE 10s",
};
