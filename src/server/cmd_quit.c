#include "server/commands.h"

static enum err quit_exec(struct cmd_ctx *c)
{
    reply_ok(c->reply);
    client_close_after_reply(ctx_client(c));
    return ERR_OK;
}

/* Redis takes any arguments here, and so do clients that send them. */
struct quit_args {
    uint64_t given[2];
    struct opt_list ignored;
};
#define CMD_ARGS struct quit_args

static const struct arg args[] = {
    {"ignored", OPT(BYTES, ignored), .optional = true, .more = true},
    {0},
};

const struct command cmd_quit = {
    .name = "QUIT",
    .group = "connection",
    .summary = "Close the connection when all replies have left.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_FREE | CMD_FAST | CMD_PUBSUB | CMD_NOAUTH | CMD_LOADING,
    CMD_PARSED(args, NULL),
    .exec = quit_exec,
};
