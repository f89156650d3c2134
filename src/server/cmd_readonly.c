#include "server/commands.h"

/* In Redis' words, from which clients conclude what to do without. */
static enum err readonly_exec(struct cmd_ctx *c)
{
    return err_set(&c->e, ERR_SYNTAX,
                   "This instance has cluster support disabled");
}

const struct command cmd_readonly = {
    .name = "READONLY",
    .group = "connection",
    .summary = "Refused: there is no cluster.",
    .since = "0.1",
    .reply = "always an error",
    .flags = CMD_FREE | CMD_FAST | CMD_LOADING,
    .exec = readonly_exec,
};
