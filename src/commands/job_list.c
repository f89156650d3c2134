/* JOB.LIST: which jobs are there? */
#include "commands/command.h"
#include "commands/job_filter.h"
#include "engine/engine.h"

struct list_args {
    uint64_t given[2];
    struct filter_args f;
    struct slice cursor;
    uint32_t count;
};
#define CMD_ARGS struct list_args

static enum err list_exec(struct cmd_ctx *c)
{
    struct list_args *a = c->args;
    struct job_filter f;
    struct list_params p = {.filter = &f,
                            .cursor = a->cursor,
                            .count = a->count == 0 ? 100 : a->count};
    enum err rc = filter_take(c, &a->f, &f);
    return rc != ERR_OK ? rc : reply_listing(c, &p);
}

static const struct arg args[] = {{0}};

static const struct opt opts[] = {
    JOB_FILTER_ROWS,
    {"CURSOR", OPT(BYTES, cursor), "go on from where an earlier call stopped",
     .value = "c", .max = 320},
    {"COUNT", OPT(U32, count), "at most so many", .value = "n", .min = 1,
     .max = 1000, .value_default = "100"},
    {0},
};

const struct command cmd_job_list = {
    .name = "JOB.LIST",
    .group = "jobs",
    .summary = "List jobs: live ones by age, then finished ones.",
    .since = "0.1",
    .reply = "{jobs, cursor}; a call looks at a bounded number of jobs, so "
             "there may be few or none with a cursor to go on from; null at "
             "the end",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = list_exec,
    .example = "JOB.LIST QUEUE emails STATE failed COUNT 20",
};
