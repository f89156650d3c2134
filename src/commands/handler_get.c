/* HANDLER.GET: one handler. */
#include "commands/command.h"
#include "commands/handler_reply.h"

struct handler_get_args {
    uint64_t given[2];
    struct slice handler;
};
#define CMD_ARGS struct handler_get_args

static enum err get_exec(struct cmd_ctx *c)
{
    struct handler_get_args *a = c->args;
    return handler_show(c, a->handler, reply_handler);
}

static const struct arg args[] = {
    {"handler", OPT(NAME, handler), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_handler_get = {
    .name = "HANDLER.GET",
    .group = "handlers",
    .summary = "Show what was said about a handler, and whether it is open.",
    .since = "0.1",
    .reply = "an object, or null if there is no such handler; options has "
             "durations in ms",
    .flags = CMD_READONLY | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = get_exec,
    .example = "HANDLER.GET send-mail",
};
