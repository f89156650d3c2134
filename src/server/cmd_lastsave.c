#include "server/commands.h"
#include "server/parts.h"

static enum err lastsave_exec(struct cmd_ctx *c)
{
    const struct server *s = ctx_server(c);
    uint64_t ms = s->parts->backup_ended_ms != 0 ? s->parts->backup_ended_ms
                                                 : s->started_wall_ms;
    reply_int(c->reply, (int64_t)(ms / 1000));
    return ERR_OK;
}

const struct command cmd_lastsave = {
    .name = "LASTSAVE",
    .group = "server",
    .summary = "When the last backup ended, or the server started.",
    .since = "0.1",
    .reply = "unix seconds",
    .flags = CMD_FREE | CMD_FAST | CMD_LOADING,
    .exec = lastsave_exec,
};
