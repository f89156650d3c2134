#include "server/commands.h"
#include "store/store.h"

static enum err role_exec(struct cmd_ctx *c)
{
    struct store_stats st = {0};
    const struct server *s = ctx_server(c);
    if (s->store != NULL)
        store_get_stats(s->store, &st);
    reply_array(c->reply, 3);
    reply_str(c->reply, "master");
    reply_int(c->reply, (int64_t)st.applied_index);
    reply_array(c->reply, 0);
    return ERR_OK;
}

const struct command cmd_role = {
    .name = "ROLE",
    .group = "server",
    .summary = "The server's part in replication.",
    .since = "0.1",
    .reply = "an array: master, applied index, replicas",
    .flags = CMD_FREE | CMD_FAST | CMD_LOADING,
    .exec = role_exec,
};
