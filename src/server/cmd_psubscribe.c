#include "server/subscribe.h"

#define CMD_ARGS struct subscribe_args

static enum err psubscribe_exec(struct cmd_ctx *c)
{
    return subscribe_all(c, true);
}

static const struct arg args[] = {
    {"pattern", OPT(BYTES, names), .more = true},
    {0},
};

static const enum err errors[] = {ERR_LIMIT, ERR_OK};

const struct command cmd_psubscribe = {
    .name = "PSUBSCRIBE",
    .group = "pubsub",
    .summary = "Listen to all channels that match.",
    .since = "0.1",
    .reply = "for each name: kind, name, number of subscriptions",
    .flags = CMD_FREE | CMD_PUBSUB | CMD_LOADING | CMD_NO_MULTI,
    CMD_PARSED(args, NULL),
    .errors = errors,
    .exec = psubscribe_exec,
    .example = "PSUBSCRIBE belfry:job:*",
};
