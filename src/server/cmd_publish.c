#include "server/commands.h"
#include "server/pubsub.h"

struct publish_args {
    uint64_t given[2];
    struct slice channel, message;
};
#define CMD_ARGS struct publish_args

static enum err publish_exec(struct cmd_ctx *c)
{
    const struct publish_args *a = c->args;
    size_t n = pubsub_publish(ctx_server(c), a->channel, a->message, false,
                              ctx_client(c));
    reply_int(c->reply, (int64_t)n);
    return ERR_OK;
}

static const struct arg args[] = {
    {"channel", OPT(BYTES, channel)},
    {"message", OPT(BYTES, message)},
    {0},
};

const struct command cmd_publish = {
    .name = "PUBLISH",
    .group = "pubsub",
    .summary = "Send a message to those who listen now.",
    .since = "0.1",
    .reply = "how many got it",
    .flags = CMD_FREE | CMD_FAST | CMD_LOADING,
    CMD_PARSED(args, NULL),
    .exec = publish_exec,
};
