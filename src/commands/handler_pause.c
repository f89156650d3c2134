/* HANDLER.PAUSE, HANDLER.RESUME: nothing is leased of it in between. */
#include "commands/command.h"
#include "engine/handlers.h"

struct handler_pause_args {
    uint64_t given[2];
    struct slice handler;
};
#define CMD_ARGS struct handler_pause_args

static enum err set_paused(struct cmd_ctx *c, bool paused)
{
    struct handler_pause_args *a = c->args;
    enum err rc =
        engine_handler_pause(c->engine, a->handler, paused, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static enum err pause_exec(struct cmd_ctx *c)
{
    return set_paused(c, true);
}

static enum err resume_exec(struct cmd_ctx *c)
{
    return set_paused(c, false);
}

static const struct arg args[] = {
    {"handler", OPT(NAME, handler), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_handler_pause = {
    .name = "HANDLER.PAUSE",
    .group = "handlers",
    .summary = "Pause a handler: its jobs stay, nothing is leased.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_OK},
    .exec = pause_exec,
    .example = "HANDLER.PAUSE send-mail",
};

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
