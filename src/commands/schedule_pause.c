/* SCHEDULE.PAUSE: it does not fire until it is resumed. */
#include "commands/command.h"
#include "engine/engine.h"
#include "engine/schedule.h"

struct schedule_pause_args {
    uint64_t given[2];
    struct slice name;
};
#define CMD_ARGS struct schedule_pause_args

static enum err pause_exec(struct cmd_ctx *c)
{
    struct schedule_pause_args *a = c->args;
    uint64_t next_ms;
    enum err rc = engine_schedule_pause(c->engine, c->gather, a->name, true,
                                        c->now, &next_ms, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"name", OPT(NAME, name), .key = true, .help = "of the schedule"},
    {0},
};

static const struct opt opts[] = {
    {0},
};

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
