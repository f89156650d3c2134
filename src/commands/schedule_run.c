/* SCHEDULE.RUN: one job of it now. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"
#include "engine/schedule.h"

struct schedule_run_args {
    uint64_t given[2];
    struct slice name;
};
#define CMD_ARGS struct schedule_run_args

static enum err run_exec(struct cmd_ctx *c)
{
    struct schedule_run_args *a = c->args;
    struct id job;
    enum err rc =
        engine_schedule_run(c->engine, c->gather, a->name, c->now, &job, &c->e);
    if (rc == ERR_OK)
        reply_id(c->reply, &job);
    return rc;
}

static const struct arg args[] = {
    {"name", OPT(NAME, name), .key = true, .help = "of the schedule"},
    {0},
};

static const struct opt opts[] = {
    {0},
};

const struct command cmd_schedule_run = {
    .name = "SCHEDULE.RUN",
    .group = "schedules",
    .summary =
        "Make a job of a schedule now, beside its times and whatever is live.",
    .since = "0.1",
    .reply = "the job's id",
    .flags = CMD_WRITE | CMD_NEW_WORK | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_STATE,
                                 ERR_NOSPACE, ERR_OK},
    .exec = run_exec,
    .example = "SCHEDULE.RUN nightly",
};
