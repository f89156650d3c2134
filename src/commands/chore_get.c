/* CHORE.GET: how far is it? */
#include "commands/chore_reply.h"
#include "commands/command.h"
#include "engine/engine.h"

struct chore_get_args {
    uint64_t given[2];
    struct slice id;
};
#define CMD_ARGS struct chore_get_args

static enum err get_exec(struct cmd_ctx *c)
{
    struct chore_get_args *a = c->args;
    struct chore_view v;
    enum err rc = engine_chore(c->engine, a->id, &v, &c->e);
    if (rc == ERR_OK)
        reply_chore(c->reply, &v);
    else if (rc == ERR_NOTFOUND)
        reply_null(c->reply);
    return rc == ERR_NOTFOUND ? ERR_OK : rc;
}

static const struct arg args[] = {
    {"id", OPT(BYTES, id), .key = true, .help = "of the chore"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_chore_get = {
    .name = "CHORE.GET",
    .group = "jobs",
    .summary = "Show how far a chore is.",
    .since = "0.1",
    .reply = "an object, or null if there is no such chore",
    .flags = CMD_READONLY | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = get_exec,
    .example = "CHORE.GET 01J8ZQ4W2H0000000000000001",
};
