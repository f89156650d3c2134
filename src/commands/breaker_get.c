/* BREAKER.GET: the breaker of one handler. */
#include "commands/command.h"
#include "commands/handler_reply.h"

struct breaker_get_args {
    uint64_t given[2];
    struct slice handler;
};
#define CMD_ARGS struct breaker_get_args

static enum err get_exec(struct cmd_ctx *c)
{
    struct breaker_get_args *a = c->args;
    return handler_show(c, a->handler, reply_breaker);
}

static const struct arg args[] = {
    {"handler", OPT(NAME, handler), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_breaker_get = {
    .name = "BREAKER.GET",
    .group = "handlers",
    .summary = "Show a handler's breaker: state, counts, settings.",
    .since = "0.1",
    .reply = "an object, or null if there is no such handler",
    .flags = CMD_READONLY | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = get_exec,
    .example = "BREAKER.GET send-mail",
};
