/* OWNER.GET: one tenant. */
#include "commands/command.h"
#include "commands/owner_reply.h"

struct owner_get_args {
    uint64_t given[2];
    struct slice owner;
};
#define CMD_ARGS struct owner_get_args

static enum err get_exec(struct cmd_ctx *c)
{
    struct owner_get_args *a = c->args;
    struct owner_view v;
    enum err rc = engine_owner(c->engine, a->owner, &v, &c->e);
    if (rc == ERR_NOTFOUND) {
        reply_null(c->reply);
        return ERR_OK;
    }
    if (rc == ERR_OK)
        reply_owner(c->reply, &v);
    return rc;
}

static const struct arg args[] = {
    {"owner", OPT(NAME, owner), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_owner_get = {
    .name = "OWNER.GET",
    .group = "owners",
    .summary = "Show an owner: weight, quotas, how many jobs it has.",
    .since = "0.1",
    .reply = "an object, or null if there is no such owner",
    .flags = CMD_READONLY | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = get_exec,
    .example = "OWNER.GET acme",
};
