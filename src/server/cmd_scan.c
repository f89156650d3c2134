#include "server/commands.h"
#include "util/parse.h"

struct scan_args {
    uint64_t given[2];
    struct slice cursor, pattern, type;
    uint64_t count;
};
#define CMD_ARGS struct scan_args

/* There are no keys. Tools that look for some get an end at once. */
static enum err scan_exec(struct cmd_ctx *c)
{
    const struct scan_args *a = c->args;
    uint64_t cursor;
    if (!parse_u64(a->cursor, &cursor))
        return err_set(&c->e, ERR_SYNTAX, "invalid cursor");
    reply_array(c->reply, 2);
    reply_str(c->reply, "0");
    reply_array(c->reply, 0);
    return ERR_OK;
}

static const struct arg args[] = {{"cursor", OPT(BYTES, cursor)}, {0}};
static const struct opt opts[] = {
    {"MATCH", OPT(BYTES, pattern), "ignored", "pattern"},
    {"COUNT", OPT(U64, count), "ignored", .min = 1},
    {"TYPE", OPT(BYTES, type), "ignored", "type"},
    {0},
};

const struct command cmd_scan = {
    .name = "SCAN",
    .group = "server",
    .summary = "For tools that look for keys: there are none.",
    .since = "0.1",
    .reply = "an array: cursor 0 and an empty array",
    .flags = CMD_FREE | CMD_FAST,
    CMD_PARSED(args, opts),
    .exec = scan_exec,
};
