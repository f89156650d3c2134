#include "server/commands.h"

static enum err unwatch_exec(struct cmd_ctx *c)
{
    reply_ok(c->reply);
    return ERR_OK;
}

const struct command cmd_unwatch = {
    .name = "UNWATCH",
    .group = "transactions",
    .summary = "Accepted: there are no keys to watch.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_FREE | CMD_FAST | CMD_LOADING,
    .exec = unwatch_exec,
};
