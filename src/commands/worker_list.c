/* WORKER.LIST: all workers. */
#include "commands/worker_reply.h"
#include "util/parse.h"

struct worker_list_args {
    uint64_t given[2];
    struct slice match;
};
#define CMD_ARGS struct worker_list_args

struct listing {
    struct cmd_ctx *c;
    uint32_t n;
};

static void reply_one(void *ud, const struct worker_view *v)
{
    struct listing *l = ud;
    const struct worker_list_args *a = l->c->args;
    if (a->match.len > 0 && !glob_match(a->match, v->name))
        return;
    l->n++;
    reply_worker(l->c, v);
}

static enum err list_exec(struct cmd_ctx *c)
{
    struct listing l = {.c = c};
    struct reply_mark m = reply_array_begin(c->reply);
    engine_workers(c->engine, c->now, reply_one, &l);
    reply_array_end(c->reply, m, l.n);
    return ERR_OK;
}

static const struct arg args[] = {{0}};

static const struct opt opts[] = {
    {"MATCH", OPT(BYTES, match), "only names that fit this pattern",
     .value = "glob", .max = 256},
    {0},
};

const struct command cmd_worker_list = {
    .name = "WORKER.LIST",
    .group = "workers",
    .summary = "List the workers, by name.",
    .since = "0.1",
    .reply = "an array of objects as of WORKER.GET",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = list_exec,
    .example = "WORKER.LIST MATCH w*",
};
