/* JOB.BULK: one verb for all jobs that fit. */
#include <string.h>

#include "commands/chore_reply.h"
#include "commands/command.h"
#include "commands/job_filter.h"
#include "engine/engine.h"

struct bulk_args {
    uint64_t given[2];
    struct slice verb;
    struct filter_args f;
    bool all, dry;
    uint64_t rate;
};
#define CMD_ARGS struct bulk_args

static const struct arg args[] = {
    {"verb", OPT(NAME, verb),
     .help = "cancel, runnow, hold, unhold, retry or delete"},
    {0},
};

static const struct opt opts[] = {
    JOB_FILTER_ROWS,
    {"ALL", OPT(FLAG, all), "all jobs of the server"},
    {"DRYRUN", OPT(FLAG, dry), "only count them", .group = "how"},
    {"RATE", OPT(U64, rate), "so many a second", .value = "n", .min = 1,
     .max = 1000000, .group = "how"},
    {0},
};

static bool leaves_some_out(const struct job_filter *f)
{
    return f->queue.len > 0 || f->states != 0 || f->handler.len > 0 ||
           f->owner.len > 0 || f->has_tag || f->key.len > 0 ||
           f->worker.len > 0 || f->id_prefix.len > 0 ||
           f->created_from_ms > 0 || f->created_to_ms > 0 ||
           f->finished_from_ms > 0 || f->finished_to_ms > 0;
}

/* A word that was forgotten, or a range that is open at both ends, must not
 * mean every job there is. */
static enum err which(struct cmd_ctx *c, const struct job_filter *f, bool all)
{
    const struct opt *o = opts;
    while (strcmp(o->name, "ALL") != 0 && !cmd_given(c, o->name))
        o++;
    bool filter = strcmp(o->name, "ALL") != 0;
    if (all && filter)
        return err_set(&c->e, ERR_SYNTAX,
                       "JOB.BULK: %s and ALL exclude each other", o->name);
    if (!all && !filter)
        return err_set(&c->e, ERR_SYNTAX,
                       "JOB.BULK: say which: give at least one filter, or ALL");
    if (!all && !leaves_some_out(f))
        return err_set(&c->e, ERR_SYNTAX,
                       "JOB.BULK: this %s leaves no job out: give at least one "
                       "other filter, or ALL",
                       o->name);
    return ERR_OK;
}

static enum err bulk_exec(struct cmd_ctx *c)
{
    struct bulk_args *a = c->args;
    struct job_filter f;
    enum manage_verb verb = manage_verb_parse(a->verb);
    if ((unsigned)verb == 0)
        return err_set(&c->e, ERR_SYNTAX,
                       "verb is cancel, runnow, hold, unhold, retry or delete");
    enum err rc = filter_take(c, &a->f, &f);
    if (rc == ERR_OK)
        rc = which(c, &f, a->all);
    return rc != ERR_OK ? rc : reply_bulk_begun(c, verb, &f, a->dry, a->rate);
}

const struct command cmd_job_bulk = {
    .name = "JOB.BULK",
    .group = "jobs",
    .summary = "Do a verb with all jobs that fit and are there now, in the "
               "background. At least one filter that leaves some out says "
               "which, or ALL.",
    .since = "0.1",
    .reply = "the id of a chore: see CHORE.GET",
    .flags = CMD_WRITE,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_OK},
    .exec = bulk_exec,
    .example = "JOB.BULK retry QUEUE emails STATE failed RATE 100",
};
