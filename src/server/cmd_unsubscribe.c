#include "server/subscribe.h"

#define CMD_ARGS struct subscribe_args

static enum err unsubscribe_exec(struct cmd_ctx *c)
{
    return unsubscribe_all(c, false);
}

static const struct arg args[] = {
    {"channel", OPT(BYTES, names), .optional = true, .more = true},
    {0},
};

const struct command cmd_unsubscribe = {
    .name = "UNSUBSCRIBE",
    .group = "pubsub",
    .summary = "Leave channels, or all.",
    .since = "0.1",
    .reply = "for each name: kind, name, number of subscriptions",
    .flags = CMD_FREE | CMD_PUBSUB | CMD_LOADING | CMD_NO_MULTI,
    CMD_PARSED(args, NULL),
    .exec = unsubscribe_exec,
    .example = "UNSUBSCRIBE",
};
