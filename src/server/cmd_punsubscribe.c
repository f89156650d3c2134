#include "server/subscribe.h"

#define CMD_ARGS struct subscribe_args

static enum err punsubscribe_exec(struct cmd_ctx *c)
{
    return unsubscribe_all(c, true);
}

static const struct arg args[] = {
    {"pattern", OPT(BYTES, names), .optional = true, .more = true},
    {0},
};

const struct command cmd_punsubscribe = {
    .name = "PUNSUBSCRIBE",
    .group = "pubsub",
    .summary = "Leave patterns, or all.",
    .since = "0.1",
    .reply = "for each name: kind, name, number of subscriptions",
    .flags = CMD_FREE | CMD_PUBSUB | CMD_LOADING | CMD_NO_MULTI,
    CMD_PARSED(args, NULL),
    .exec = punsubscribe_exec,
    .example = "PUNSUBSCRIBE",
};
