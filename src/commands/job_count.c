/* JOB.COUNT: how many? */
#include "commands/command.h"
#include "commands/job_filter.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct count_args {
    uint64_t given[2];
    struct filter_args f;
    struct slice cursor;
};
#define CMD_ARGS struct count_args

static enum err count_exec(struct cmd_ctx *c)
{
    struct count_args *a = c->args;
    struct job_filter f;
    struct list_result r;
    struct list_params p = {.filter = &f, .cursor = a->cursor};
    enum err rc = filter_take(c, &a->f, &f);
    if (rc == ERR_OK)
        rc = engine_count(c->engine, c->gather, &p, c->now, &r, &c->e);
    if (rc != ERR_OK)
        return rc;
    reply_map(c->reply, 3);
    reply_field_int(c->reply, "count", (int64_t)r.n);
    reply_field_int(c->reply, "exact", r.cursor[0] == '\0');
    reply_field_maybe(c->reply, "cursor", slice_str(r.cursor));
    return ERR_OK;
}

static const struct arg args[] = {{0}};

static const struct opt opts[] = {
    JOB_FILTER_ROWS,
    {"CURSOR", OPT(BYTES, cursor),
     "count on from where an earlier call stopped", .value = "c", .max = 320},
    {0},
};

const struct command cmd_job_count = {
    .name = "JOB.COUNT",
    .group = "jobs",
    .summary = "Count jobs.",
    .since = "0.1",
    .reply = "{count, exact, cursor}; if only QUEUE and STATE are given the "
             "count is exact at once, else a call looks at a bounded number of "
             "jobs: there are at least so many, and the cursor goes on",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = count_exec,
    .example = "JOB.COUNT QUEUE emails STATE ready",
};
