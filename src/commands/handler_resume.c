/* HANDLER.RESUME: after HANDLER.PAUSE. */
#include "commands/command.h"
#include "engine/handlers.h"

struct handler_resume_args {
    uint64_t given[2];
    struct slice handler;
};
#define CMD_ARGS struct handler_resume_args

static enum err resume_exec(struct cmd_ctx *c)
{
    struct handler_resume_args *a = c->args;
    enum err rc =
        engine_handler_pause(c->engine, a->handler, false, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"handler", OPT(NAME, handler), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_handler_resume = {
    .name = "HANDLER.RESUME",
    .group = "handlers",
    .summary = "Resume a handler that was paused.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_OK},
    .exec = resume_exec,
    .example = "HANDLER.RESUME send-mail",
};
