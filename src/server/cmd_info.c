#include "server/commands.h"
#include "server/info.h"

struct info_args {
    uint64_t given[2];
    struct opt_list sections;
};
#define CMD_ARGS struct info_args

static enum err info_exec(struct cmd_ctx *c)
{
    const struct info_args *a = c->args;
    struct buf out = {0};
    info_print(ctx_server(c), a->sections.words, a->sections.n, &out);
    reply_verbatim(c->reply, buf_slice(&out));
    buf_release(&out);
    return ERR_OK;
}

static const struct arg args[] = {
    {"section", OPT(BYTES, sections), .optional = true, .more = true},
    {0},
};

const struct command cmd_info = {
    .name = "INFO",
    .group = "server",
    .summary = "Figures about the server, by sections.",
    .since = "0.1",
    .reply = "lines of key:value below # Section",
    .flags = CMD_FREE | CMD_LOADING,
    CMD_PARSED(args, NULL),
    .exec = info_exec,
    .example = "INFO jobs queues",
};
