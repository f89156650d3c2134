#include "server/commands.h"
#include "util/parse.h"

struct select_args {
    uint64_t given[2];
    struct slice index;
};
#define CMD_ARGS struct select_args

/* There is one database; clients select it when they connect. */
static enum err select_exec(struct cmd_ctx *c)
{
    const struct select_args *a = c->args;
    int64_t n;
    if (!parse_i64(a->index, &n) || n < INT32_MIN || n > INT32_MAX)
        return err_set(&c->e, ERR_SYNTAX,
                       "value is not an integer or out of range");
    if (n != 0)
        return err_set(&c->e, ERR_SYNTAX, "DB index is out of range");
    reply_ok(c->reply);
    return ERR_OK;
}

static const struct arg args[] = {{"index", OPT(BYTES, index)}, {0}};

const struct command cmd_select = {
    .name = "SELECT",
    .group = "connection",
    .summary = "Choose database 0, the only one.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_FREE | CMD_FAST | CMD_LOADING,
    CMD_PARSED(args, NULL),
    .exec = select_exec,
};
