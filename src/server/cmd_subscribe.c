#include "server/subscribe.h"

#define CMD_ARGS struct subscribe_args

static enum err subscribe_exec(struct cmd_ctx *c)
{
    return subscribe_all(c, false);
}

static const struct arg args[] = {
    {"channel", OPT(BYTES, names), .more = true},
    {0},
};

static const enum err errors[] = {ERR_LIMIT, ERR_OK};

const struct command cmd_subscribe = {
    .name = "SUBSCRIBE",
    .group = "pubsub",
    .summary = "Listen to channels.",
    .since = "0.1",
    .reply = "for each name: kind, name, number of subscriptions",
    .flags = CMD_FREE | CMD_PUBSUB | CMD_LOADING | CMD_NO_MULTI,
    CMD_PARSED(args, NULL),
    .errors = errors,
    .exec = subscribe_exec,
    .example = "SUBSCRIBE belfry:ready:emails",
};
