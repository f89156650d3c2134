#include "server/commands.h"

struct ping_args {
    uint64_t given[2];
    struct slice message;
};
#define CMD_ARGS struct ping_args

static enum err ping_exec(struct cmd_ctx *c)
{
    const struct ping_args *a = c->args;
    /* In RESP2 a subscriber takes the answer for a message. */
    if (c->reply->proto == 2 && ctx_client(c)->sub_count > 0) {
        reply_array(c->reply, 2);
        reply_str(c->reply, "pong");
        reply_bulk(c->reply, a->message);
    } else if (c->argc == 1) {
        reply_simple(c->reply, "PONG");
    } else {
        reply_bulk(c->reply, a->message);
    }
    return ERR_OK;
}

static const struct arg args[] = {
    {"message", OPT(BYTES, message), .optional = true},
    {0},
};

const struct command cmd_ping = {
    .name = "PING",
    .group = "connection",
    .summary = "Is anybody there?",
    .since = "0.1",
    .reply = "PONG, or the message",
    .flags = CMD_FREE | CMD_FAST | CMD_PUBSUB,
    CMD_PARSED(args, NULL),
    .exec = ping_exec,
};
