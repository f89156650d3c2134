/* CHORE.LIST: what is under way? */
#include "commands/chore_reply.h"
#include "commands/command.h"
#include "engine/engine.h"

struct chore_list_args {
    uint64_t given[2];
};
#define CMD_ARGS struct chore_list_args

struct told {
    struct cmd_ctx *c;
    uint32_t n;
};

static void reply_one(void *ud, const struct chore_view *v)
{
    struct told *t = ud;
    t->n++;
    reply_chore(t->c->reply, v);
}

static enum err list_exec(struct cmd_ctx *c)
{
    struct told t = {.c = c};
    struct reply_mark m = reply_array_begin(c->reply);
    engine_chores(c->engine, reply_one, &t);
    reply_array_end(c->reply, m, t.n);
    return ERR_OK;
}

static const struct arg args[] = {{0}};

static const struct opt opts[] = {{0}};

const struct command cmd_chore_list = {
    .name = "CHORE.LIST",
    .group = "jobs",
    .summary = "List the chores under way and those of the last day.",
    .since = "0.1",
    .reply = "an array of objects as of CHORE.GET",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = list_exec,
    .example = "CHORE.LIST",
};
