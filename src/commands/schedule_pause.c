/* SCHEDULE.PAUSE, SCHEDULE.RESUME: it does not fire in between. */
#include "commands/command.h"
#include "commands/schedule_reply.h"
#include "engine/engine.h"

struct schedule_pause_args {
    uint64_t given[2];
    struct slice name;
};
#define CMD_ARGS struct schedule_pause_args

static enum err set_paused(struct cmd_ctx *c, bool paused, uint64_t *next_ms)
{
    struct schedule_pause_args *a = c->args;
    return engine_schedule_pause(c->engine, c->gather, a->name, paused, c->now,
                                 next_ms, &c->e);
}

static enum err pause_exec(struct cmd_ctx *c)
{
    uint64_t next_ms;
    enum err rc = set_paused(c, true, &next_ms);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static enum err resume_exec(struct cmd_ctx *c)
{
    uint64_t next_ms;
    enum err rc = set_paused(c, false, &next_ms);
    if (rc == ERR_OK)
        reply_time(c->reply, next_ms);
    return rc;
}

static const struct arg args[] = {
    {"name", OPT(NAME, name), .key = true, .help = "of the schedule"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_schedule_pause = {
    .name = "SCHEDULE.PAUSE",
    .group = "schedules",
    .summary =
        "Pause a schedule: what would have fired until RESUME is not missed.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_OK},
    .exec = pause_exec,
    .example = "SCHEDULE.PAUSE nightly",
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
