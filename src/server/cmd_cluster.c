#include "server/commands.h"

struct cluster_args {
    uint64_t given[2];
    struct opt_list words;
};
#define CMD_ARGS struct cluster_args

/* In Redis' words, from which clients conclude what to do without. */
static enum err cluster_exec(struct cmd_ctx *c)
{
    return err_set(&c->e, ERR_SYNTAX,
                   "This instance has cluster support disabled");
}

static const struct arg args[] = {
    {"word", OPT(BYTES, words), .more = true},
    {0},
};

const struct command cmd_cluster = {
    .name = "CLUSTER",
    .group = "connection",
    .summary = "Refused: there is no cluster.",
    .since = "0.1",
    .reply = "always an error",
    .flags = CMD_FREE | CMD_FAST | CMD_LOADING,
    CMD_PARSED(args, NULL),
    .exec = cluster_exec,
};
