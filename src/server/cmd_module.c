#include "server/commands.h"

struct module_args {
    uint64_t given[2];
};
#define CMD_ARGS struct module_args

static enum err list_exec(struct cmd_ctx *c)
{
    reply_array(c->reply, 0);
    return ERR_OK;
}

static const char *const lines[] = {"LIST", "    There are no modules.", NULL};

static enum err help_exec(struct cmd_ctx *c)
{
    help_reply(c->reply, "MODULE", lines);
    return ERR_OK;
}

SUBCOMMAND(module_list, "MODULE|LIST", "server", CMD_FREE | CMD_LOADING, NULL,
           NULL, list_exec, "For tools that look for modules: there are none.",
           "an empty array");
SUBCOMMAND(module_help, "MODULE|HELP", "server", CMD_FREE | CMD_LOADING, NULL,
           NULL, help_exec, "What MODULE can do.", "an array of lines");

static const struct command *const subs[] = {&module_list, &module_help, NULL};

const struct command cmd_module = {
    .name = "MODULE",
    .group = "server",
    .summary = "There are no modules.",
    .since = "0.1",
    .reply = "depends on the subcommand",
    .flags = CMD_FREE | CMD_LOADING,
    .subs = subs,
};
