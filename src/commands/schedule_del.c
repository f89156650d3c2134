/* SCHEDULE.DEL: forget a schedule; its jobs stay. */
#include "commands/command.h"
#include "engine/engine.h"
#include "engine/schedule.h"

struct schedule_del_args {
    uint64_t given[2];
    struct slice name;
};
#define CMD_ARGS struct schedule_del_args

static enum err del_exec(struct cmd_ctx *c)
{
    struct schedule_del_args *a = c->args;
    enum err rc = engine_schedule_del(c->engine, c->gather, a->name, &c->e);
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

const struct command cmd_schedule_del = {
    .name = "SCHEDULE.DEL",
    .group = "schedules",
    .summary = "Delete a schedule; jobs that it made stay.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_OK},
    .exec = del_exec,
    .example = "SCHEDULE.DEL nightly",
};
