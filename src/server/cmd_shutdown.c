#include "server/commands.h"

struct shutdown_args {
    uint64_t given[2];
    bool save, nosave, now, force, abort;
};
#define CMD_ARGS struct shutdown_args

/* Nothing is replied: the connection ends when the server does. There is
 * nothing to save that is not saved already, so SAVE and NOSAVE mean nothing
 * more. */
static enum err shutdown_exec(struct cmd_ctx *c)
{
    const struct shutdown_args *a = c->args;
    if (a->abort)
        return err_set(&c->e, ERR_SYNTAX, "No shutdown in progress.");
    server_shutdown(ctx_server(c), a->now || a->force);
    return ERR_OK;
}

static const struct opt opts[] = {
    {"SAVE", OPT(FLAG, save), "as without", .group = "save"},
    {"NOSAVE", OPT(FLAG, nosave), "as without", .group = "save"},
    {"NOW", OPT(FLAG, now), "do not wait for replies that are under way"},
    {"FORCE", OPT(FLAG, force), "as NOW"},
    {"ABORT", OPT(FLAG, abort), "refused: a shutdown is not called off"},
    {0},
};

const struct command cmd_shutdown = {
    .name = "SHUTDOWN",
    .group = "server",
    .summary = "Stop the server, after the replies have left.",
    .since = "0.1",
    .reply = "none: the connection is closed",
    .flags = CMD_FREE | CMD_ADMIN | CMD_LOADING | CMD_NO_MULTI,
    CMD_PARSED(NULL, opts),
    .exec = shutdown_exec,
};
