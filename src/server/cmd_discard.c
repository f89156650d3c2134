#include "server/commands.h"
#include "server/multi.h"

static enum err discard_exec(struct cmd_ctx *c)
{
    struct client *client = ctx_client(c);
    if (client->multi == NULL)
        return err_set(&c->e, ERR_SYNTAX, "DISCARD without MULTI");
    multi_forget(client);
    reply_ok(c->reply);
    return ERR_OK;
}

const struct command cmd_discard = {
    .name = "DISCARD",
    .group = "transactions",
    .summary = "Drop what was kept since MULTI.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_FREE | CMD_FAST | CMD_LOADING,
    .exec = discard_exec,
};
