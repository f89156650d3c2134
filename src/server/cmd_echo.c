#include "server/commands.h"

struct echo_args {
    uint64_t given[2];
    struct slice message;
};
#define CMD_ARGS struct echo_args

static enum err echo_exec(struct cmd_ctx *c)
{
    const struct echo_args *a = c->args;
    reply_bulk(c->reply, a->message);
    return ERR_OK;
}

static const struct arg args[] = {{"message", OPT(BYTES, message)}, {0}};

const struct command cmd_echo = {
    .name = "ECHO",
    .group = "connection",
    .summary = "Say the message back, byte for byte.",
    .since = "0.1",
    .reply = "the message",
    .flags = CMD_FREE | CMD_FAST | CMD_LOADING,
    CMD_PARSED(args, NULL),
    .exec = echo_exec,
};
