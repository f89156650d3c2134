#include "server/commands.h"

static enum err time_exec(struct cmd_ctx *c)
{
    uint64_t us = clock_wall_us();
    reply_array(c->reply, 2);
    reply_printf(c->reply, "%llu", (unsigned long long)(us / 1000000));
    reply_printf(c->reply, "%llu", (unsigned long long)(us % 1000000));
    return ERR_OK;
}

const struct command cmd_time = {
    .name = "TIME",
    .group = "server",
    .summary = "The server's clock.",
    .since = "0.1",
    .reply = "an array: unix seconds, microseconds",
    .flags = CMD_FREE | CMD_FAST | CMD_LOADING,
    .exec = time_exec,
};
