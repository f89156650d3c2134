/* BREAKER.RESET: close it by hand. */
#include "commands/command.h"
#include "engine/handlers.h"

struct reset_args {
    uint64_t given[2];
    struct slice handler;
};
#define CMD_ARGS struct reset_args

static enum err reset_exec(struct cmd_ctx *c)
{
    struct reset_args *a = c->args;
    enum err rc = engine_breaker_reset(c->engine, a->handler, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"handler", OPT(NAME, handler), .key = true, .help = "whose"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_breaker_reset = {
    .name = "BREAKER.RESET",
    .group = "handlers",
    .summary = "Close a handler's breaker and forget what it has counted.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_STATE, ERR_OK},
    .exec = reset_exec,
    .example = "BREAKER.RESET send-mail",
};
