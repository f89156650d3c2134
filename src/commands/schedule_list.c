/* SCHEDULE.LIST: schedules by name, a page at a time. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "commands/schedule_reply.h"
#include "engine/engine.h"

#define LOOK_MAX 10000 /* names looked at by one call */

struct schedule_list_args {
    uint64_t given[2];
    struct slice match, cursor;
    uint32_t count;
};
#define CMD_ARGS struct schedule_list_args

struct listing {
    struct cmd_ctx *c;
    uint32_t n;
};

static void reply_one(void *ud, const struct schedule_view *v)
{
    struct listing *l = ud;
    l->n++;
    reply_schedule(l->c->reply, v);
}

static enum err list_exec(struct cmd_ctx *c)
{
    struct schedule_list_args *a = c->args;
    struct schedule_page page = {.after = a->cursor,
                                 .match = a->match,
                                 .count = a->count == 0 ? 100 : a->count,
                                 .look = LOOK_MAX};
    struct listing l = {.c = c};
    struct buf next = {0};
    reply_map(c->reply, 2);
    reply_str(c->reply, "schedules");
    struct reply_mark m = reply_array_begin(c->reply);
    enum err rc = engine_schedules(c->engine, c->gather, &page, reply_one, &l,
                                   &next, &c->e);
    reply_array_end(c->reply, m, l.n);
    if (rc == ERR_OK)
        reply_field_maybe(c->reply, "cursor", buf_slice(&next));
    buf_release(&next);
    return rc;
}

static const struct arg args[] = {{0}};

static const struct opt opts[] = {
    {"MATCH", OPT(BYTES, match), "only names that fit this pattern",
     .value = "glob", .max = 256},
    {"CURSOR", OPT(NAME, cursor), "go on from where an earlier call stopped",
     .value = "name"},
    {"COUNT", OPT(U32, count), "at most so many", .value = "n", .min = 1,
     .max = 1000, .value_default = "100"},
    {0},
};

const struct command cmd_schedule_list = {
    .name = "SCHEDULE.LIST",
    .group = "schedules",
    .summary = "List schedules, by name.",
    .since = "0.1",
    .reply = "{schedules, cursor}: objects as of SCHEDULE.GET; a call looks at "
             "a bounded number of names, so there may be few or none with a "
             "cursor to go on from; null at the end",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = list_exec,
    .example = "SCHEDULE.LIST MATCH report-* COUNT 10",
};
