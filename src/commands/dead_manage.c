/* DEAD.RETRY, DEAD.DROP: take dead letters back, or erase them. */
#include "commands/chore_reply.h"
#include "commands/command.h"
#include "commands/dead_reply.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct dead_args {
    uint64_t given[2];
    struct slice queue, id, signature;
    bool all;
    uint64_t rate;
};
#define CMD_ARGS struct dead_args

/* One that was dropped may have dead letters still. */
static enum err queue_known(struct cmd_ctx *c, const struct job_filter *f)
{
    struct list_params p = {.filter = f};
    struct queue_view v;
    struct list_result r;
    enum err rc = engine_queue(c->engine, f->queue, c->now, &v, &c->e);
    if (rc != ERR_NOTFOUND)
        return rc;
    rc = engine_count(c->engine, c->gather, &p, c->now, &r, &c->e);
    if (rc == ERR_OK && r.n == 0)
        rc = err_set(&c->e, ERR_NOTFOUND, "no such queue");
    return rc;
}

static enum err dead_manage(struct cmd_ctx *c, enum manage_verb verb)
{
    struct dead_args *a = c->args;
    struct job_filter f = {.queue = a->queue, .states = 1u << JOB_FAILED};
    if (cmd_given(c, "ID") && cmd_given(c, "RATE"))
        return err_set(&c->e, ERR_SYNTAX, "ID and RATE exclude each other");
    if (cmd_given(c, "ID"))
        return dead_one(c, verb, a->queue, a->id);
    if (!a->all && !cmd_given(c, "SIGNATURE"))
        return err_set(&c->e, ERR_SYNTAX, "say which: ID, SIGNATURE or ALL");
    enum err rc = queue_known(c, &f);
    if (rc == ERR_OK)
        rc = signature_take(c, a->signature, &f.signature);
    return rc != ERR_OK ? rc : reply_bulk_begun(c, verb, &f, false, a->rate);
}

static enum err retry_exec(struct cmd_ctx *c)
{
    return dead_manage(c, MANAGE_RETRY);
}

static enum err drop_exec(struct cmd_ctx *c)
{
    return dead_manage(c, MANAGE_DELETE);
}

static const struct arg args[] = {
    {"queue", OPT(NAME, queue), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {
    {"ID", OPT(BYTES, id), "this one", .value = "id", .group = "which"},
    {"SIGNATURE", OPT(BYTES, signature), "those of this group (DEAD.GROUPS)",
     .value = "s", .group = "which"},
    {"ALL", OPT(FLAG, all), "all of the queue", .group = "which"},
    {"RATE", OPT(U64, rate), "so many a second", .value = "n", .min = 1,
     .max = 1000000},
    {0},
};

/* What both entries have in common. */
#define DEAD_ENTRY                                                \
    .group = "jobs", .since = "0.1",                              \
    .reply = "with ID OK; else the id of a chore: see CHORE.GET", \
    CMD_PARSED(args, opts)

const struct command cmd_dead_retry = {
    DEAD_ENTRY,
    .name = "DEAD.RETRY",
    .summary = "Take dead letters back: one, a group, or all.",
    .flags = CMD_WRITE | CMD_NEW_WORK,
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_STATE,
                                 ERR_EXISTS, ERR_NOSPACE, ERR_LIMIT, ERR_OK},
    .exec = retry_exec,
    .example = "DEAD.RETRY emails ALL RATE 100",
};

const struct command cmd_dead_drop = {
    DEAD_ENTRY,
    .name = "DEAD.DROP",
    .summary = "Erase dead letters: one, a group, or all.",
    .flags = CMD_WRITE,
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_STATE, ERR_LIMIT,
                                 ERR_OK},
    .exec = drop_exec,
    .example = "DEAD.DROP emails ALL RATE 100",
};
