#include "server/commands.h"
#include "server/monitor.h"

static enum err monitor_exec(struct cmd_ctx *c)
{
    reply_ok(c->reply);
    monitor_start(ctx_client(c));
    return ERR_OK;
}

const struct command cmd_monitor = {
    .name = "MONITOR",
    .group = "server",
    .summary = "Show every command as it runs.",
    .since = "0.1",
    .reply = "OK, then a line for each command",
    .flags = CMD_FREE | CMD_ADMIN | CMD_LOADING | CMD_NO_MULTI,
    .exec = monitor_exec,
};
