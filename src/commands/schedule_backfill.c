/* SCHEDULE.BACKFILL: the jobs of times that have passed. */
#include "commands/command.h"
#include "engine/engine.h"
#include "engine/schedule.h"

struct schedule_backfill_args {
    uint64_t given[2];
    struct slice name;
    uint64_t from_ms, to_ms;
    bool stop;
};
#define CMD_ARGS struct schedule_backfill_args

static enum err backfill_exec(struct cmd_ctx *c)
{
    struct schedule_backfill_args *a = c->args;
    bool from = cmd_given(c, "FROM");
    if (a->stop && (from || cmd_given(c, "TO")))
        return err_set(&c->e, ERR_SYNTAX,
                       "SCHEDULE.BACKFILL: STOP and %s exclude each other",
                       from ? "FROM" : "TO");
    if (!a->stop && !from)
        return err_set(&c->e, ERR_SYNTAX,
                       "SCHEDULE.BACKFILL wants either FROM or STOP");
    uint64_t to_ms = cmd_given(c, "TO") ? a->to_ms : c->now.wall_ms;
    enum err rc =
        a->stop
            ? engine_schedule_fill_stop(c->engine, c->gather, a->name, &c->e)
            : engine_schedule_backfill(c->engine, c->gather, a->name,
                                       a->from_ms, to_ms, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"name", OPT(NAME, name), .key = true, .help = "of the schedule"},
    {0},
};

static const struct opt opts[] = {
    {"FROM", OPT(TIME, from_ms), "the first time", .value = "t"},
    {"TO", OPT(TIME, to_ms), "the last time", .value = "t",
     .value_default = "now"},
    {"STOP", OPT(FLAG, stop), "instead: end the one that is under way"},
    {0},
};

const struct command cmd_schedule_backfill = {
    .name = "SCHEDULE.BACKFILL",
    .group = "schedules",
    .summary = "Make the jobs of past times that had none, in the background, "
               "whatever is live.",
    .since = "0.1",
    .reply = "OK; SCHEDULE.GET shows how far it is",
    .flags = CMD_WRITE | CMD_NEW_WORK,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_STATE,
                                 ERR_NOSPACE, ERR_OK},
    .exec = backfill_exec,
    .example = "SCHEDULE.BACKFILL nightly FROM 2026-03-01T00:00:00Z",
};
