/* DEAD.LIST: the dead letters of a queue. */
#include "commands/command.h"
#include "commands/dead_reply.h"
#include "commands/job_filter.h"
#include "engine/engine.h"

struct dead_list_args {
    uint64_t given[2];
    struct slice queue, signature, cursor;
    uint32_t count;
};
#define CMD_ARGS struct dead_list_args

static enum err dead_list_exec(struct cmd_ctx *c)
{
    struct dead_list_args *a = c->args;
    struct job_filter f = {.queue = a->queue, .states = 1u << JOB_FAILED};
    struct list_params p = {.filter = &f,
                            .cursor = a->cursor,
                            .count = a->count == 0 ? 100 : a->count};
    enum err rc = signature_take(c, a->signature, &f.signature);
    return rc != ERR_OK ? rc : reply_listing(c, &p);
}

static const struct arg args[] = {
    {"queue", OPT(NAME, queue), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {
    {"SIGNATURE", OPT(BYTES, signature), "only those of this group",
     .value = "s"},
    {"CURSOR", OPT(BYTES, cursor), "go on from where an earlier call stopped",
     .value = "c", .max = 320},
    {"COUNT", OPT(U32, count), "at most so many", .value = "n", .min = 1,
     .max = 1000, .value_default = "100"},
    {0},
};

const struct command cmd_dead_list = {
    .name = "DEAD.LIST",
    .group = "jobs",
    .summary = "List the dead letters of a queue.",
    .since = "0.1",
    .reply = "{jobs, cursor} as of JOB.LIST; a job's signature is that of its "
             "group in DEAD.GROUPS",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = dead_list_exec,
    .example = "DEAD.LIST emails COUNT 20",
};
