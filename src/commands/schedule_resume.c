/* SCHEDULE.RESUME: it fires again, from now on. */
#include "commands/command.h"
#include "commands/schedule_reply.h"
#include "engine/engine.h"

struct schedule_resume_args {
    uint64_t given[2];
    struct slice name;
};
#define CMD_ARGS struct schedule_resume_args

static enum err resume_exec(struct cmd_ctx *c)
{
    struct schedule_resume_args *a = c->args;
    uint64_t next_ms;
    enum err rc = engine_schedule_pause(c->engine, c->gather, a->name, false,
                                        c->now, &next_ms, &c->e);
    if (rc == ERR_OK)
        reply_time(c->reply, next_ms);
    return rc;
}

static const struct arg args[] = {
    {"name", OPT(NAME, name), .key = true, .help = "of the schedule"},
    {0},
};

static const struct opt opts[] = {
    {0},
};

const struct command cmd_schedule_resume = {
    .name = "SCHEDULE.RESUME",
    .group = "schedules",
    .summary = "Let a schedule fire again, from now on.",
    .since = "0.1",
    .reply = "its next time in unix ms, or null if there is none",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_OK},
    .exec = resume_exec,
    .example = "SCHEDULE.RESUME nightly",
};
