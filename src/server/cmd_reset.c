#include "server/commands.h"
#include "util/alloc.h"

/* As if the connection were new: no transaction, no subscriptions, RESP2, no
 * name, and not authenticated if there is a password. */
static enum err reset_exec(struct cmd_ctx *c)
{
    struct client *client = ctx_client(c);
    struct server *s = client->server;
    if (s->hooks.forget != NULL)
        s->hooks.forget(client);
    client->flags &= ~(unsigned)(CLIENT_NO_EVICT | CLIENT_NO_TOUCH |
                                 CLIENT_TRACKING | CLIENT_MONITOR);
    if (*s->cf->requirepass != '\0')
        client->flags &= ~(unsigned)CLIENT_AUTHENTICATED;
    client->reply_mode = REPLY_ON;
    client->proto = c->reply->proto = 2;
    c->reply->muted = false;
    FREE(&client->name);
    reply_simple(c->reply, "RESET");
    return ERR_OK;
}

const struct command cmd_reset = {
    .name = "RESET",
    .group = "connection",
    .summary = "Make the connection as good as new.",
    .since = "0.1",
    .reply = "RESET",
    .flags = CMD_FREE | CMD_FAST | CMD_PUBSUB | CMD_NOAUTH | CMD_LOADING,
    .exec = reset_exec,
};
