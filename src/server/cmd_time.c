#include "server/commands.h"

static enum err time_exec(struct cmd_ctx *c)
{
    struct server *s = ctx_server(c);
    /* The clock by which jobs are due, also while DEBUG SET-CLOCK shifts it. */
    server_clock(s);
    uint64_t us = s->now_us + s->wall_minus_mono_us;
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
