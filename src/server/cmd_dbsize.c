#include "engine/engine.h"
#include "server/commands.h"

static enum err dbsize_exec(struct cmd_ctx *c)
{
    struct engine_stats st;
    engine_get_stats(c->engine, &st);
    reply_int(c->reply, (int64_t)st.jobs_live);
    return ERR_OK;
}

const struct command cmd_dbsize = {
    .name = "DBSIZE",
    .group = "server",
    .summary = "How many jobs are live.",
    .since = "0.1",
    .reply = "an integer",
    .flags = CMD_READONLY | CMD_FAST,
    .exec = dbsize_exec,
};
