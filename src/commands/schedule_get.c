/* SCHEDULE.GET: all about one schedule. */
#include "commands/command.h"
#include "commands/schedule_reply.h"
#include "engine/engine.h"

struct schedule_get_args {
    uint64_t given[2];
    struct slice name;
};
#define CMD_ARGS struct schedule_get_args

static enum err get_exec(struct cmd_ctx *c)
{
    struct schedule_get_args *a = c->args;
    struct schedule_view v;
    enum err rc = engine_schedule_get(c->engine, c->gather, a->name, &v, &c->e);
    if (rc == ERR_NOTFOUND) {
        reply_null(c->reply);
        return ERR_OK;
    }
    if (rc == ERR_OK)
        reply_schedule(c->reply, &v);
    return rc;
}

static const struct arg args[] = {
    {"name", OPT(NAME, name), .key = true, .help = "of the schedule"},
    {0},
};

static const struct opt opts[] = {
    {0},
};

const struct command cmd_schedule_get = {
    .name = "SCHEDULE.GET",
    .group = "schedules",
    .summary = "Show a schedule: settings, times, counters, last outcomes.",
    .since = "0.1",
    .reply = "an object, or null if there is no such schedule",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = get_exec,
    .example = "SCHEDULE.GET nightly",
};
