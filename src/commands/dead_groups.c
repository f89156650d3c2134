/* DEAD.GROUPS: what goes wrong, and how often? */
#include "commands/command.h"
#include "commands/dead_reply.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct dead_groups_args {
    uint64_t given[2];
    struct slice queue, cursor;
};
#define CMD_ARGS struct dead_groups_args

struct told {
    struct cmd_ctx *c;
    uint32_t n;
};

static void reply_group(void *ud, const struct dead_group *g)
{
    struct told *t = ud;
    struct reply *r = t->c->reply;
    t->n++;
    reply_map(r, 7);
    reply_field_signature(r, g->signature);
    reply_field_maybe(r, "error_type", g->type);
    reply_field_maybe(r, "error", g->message);
    reply_field_int(r, "count", (int64_t)g->count);
    reply_field_int(r, "first_ms", (int64_t)g->first_ms);
    reply_field_int(r, "last_ms", (int64_t)g->last_ms);
    reply_str(r, "sample");
    reply_id(r, &g->sample);
}

static enum err dead_groups_exec(struct cmd_ctx *c)
{
    struct dead_groups_args *a = c->args;
    struct told t = {.c = c};
    struct list_result r;
    bool complete = false;
    reply_map(c->reply, 4);
    reply_str(c->reply, "groups");
    struct reply_mark m = reply_array_begin(c->reply);
    enum err rc =
        engine_dead_groups(c->engine, c->gather, a->queue, a->cursor, c->now,
                           reply_group, &t, &r, &complete, &c->e);
    reply_array_end(c->reply, m, t.n);
    if (rc != ERR_OK)
        return rc;
    reply_field_int(c->reply, "examined", (int64_t)r.examined);
    reply_field_int(c->reply, "complete", complete && a->cursor.len == 0);
    reply_field_maybe(c->reply, "cursor", slice_str(r.cursor));
    return ERR_OK;
}

static const struct arg args[] = {
    {"queue", OPT(NAME, queue), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {
    {"CURSOR", OPT(BYTES, cursor), "go on from where an earlier call stopped",
     .value = "c", .max = CURSOR_MAX},
    {0},
};

const struct command cmd_dead_groups = {
    .name = "DEAD.GROUPS",
    .group = "jobs",
    .summary = "Group the dead letters of a queue by their errors.",
    .since = "0.1",
    .reply = "{groups, examined, complete, cursor}: the largest group first, "
             "with its "
             "signature, error_type, error (numbers and ids folded), count, "
             "first_ms, last_ms and a sample's id; complete is 0 if one "
             "call does not tell all: then add up what the calls from cursor "
             "to cursor tell of each signature",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = dead_groups_exec,
    .example = "DEAD.GROUPS emails",
};
