#include "server/commands.h"
#include "server/multi.h"
#include "util/alloc.h"

static enum err multi_exec(struct cmd_ctx *c)
{
    struct client *client = ctx_client(c);
    if (client->multi != NULL)
        return err_set(&c->e, ERR_SYNTAX, "MULTI calls can not be nested");
    client->multi = NEW(struct multi);
    reply_ok(c->reply);
    return ERR_OK;
}

const struct command cmd_multi = {
    .name = "MULTI",
    .group = "transactions",
    .summary = "Keep what follows until EXEC.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_FREE | CMD_FAST | CMD_LOADING,
    .exec = multi_exec,
};
