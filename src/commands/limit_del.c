/* LIMIT.DEL: a rule goes. */
#include "commands/command.h"
#include "engine/engine.h"

struct limit_del_args {
    uint64_t given[2];
    struct slice pattern;
};
#define CMD_ARGS struct limit_del_args

static enum err del_exec(struct cmd_ctx *c)
{
    struct limit_del_args *a = c->args;
    enum err rc = engine_limit_del(c->engine, a->pattern, c->now, &c->e);
    if (rc == ERR_OK || rc == ERR_NOTFOUND) {
        reply_int(c->reply, rc == ERR_OK);
        return ERR_OK;
    }
    return rc;
}

static const struct arg args[] = {
    {"pattern", OPT(BYTES, pattern), .key = true,
     .help = "exactly as it was set"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_limit_del = {
    .name = "LIMIT.DEL",
    .group = "limits",
    .summary = "Delete a rule; the names that it had may go on by the next "
               "rule that matches them. A name that is exactly so called and "
               "that a worker closed opens.",
    .since = "0.1",
    .reply = "1, or 0 if there was no such rule; the name opens either way",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = del_exec,
    .example = "LIMIT.DEL api:*",
};
