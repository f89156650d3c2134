#include "server/commands.h"

struct watch_args {
    uint64_t given[2];
    struct opt_list keys;
};
#define CMD_ARGS struct watch_args

/* There are no keys that others could change in between. */
static enum err watch_exec(struct cmd_ctx *c)
{
    if (ctx_client(c)->multi != NULL)
        return err_set(&c->e, ERR_SYNTAX, "WATCH inside MULTI is not allowed");
    reply_ok(c->reply);
    return ERR_OK;
}

static const struct arg args[] = {
    {"key", OPT(BYTES, keys), .more = true, .key = true},
    {0},
};

const struct command cmd_watch = {
    .name = "WATCH",
    .group = "transactions",
    .summary = "Accepted: there are no keys to watch.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_FREE | CMD_FAST | CMD_LOADING,
    CMD_PARSED(args, NULL),
    .exec = watch_exec,
};
