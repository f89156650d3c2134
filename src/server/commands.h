/* What the server's own commands bring along: the registry, the hooks, the
 * sections of INFO; and what their files share. */
#ifndef SERVER_COMMANDS_H
#define SERVER_COMMANDS_H

#include "commands/command.h"
#include "server/client.h"
#include "server/dispatch.h"

struct server;

/* All entries of commands.def; ends with NULL. */
extern const struct command *const registry_server[];

/* Fill s->registry with all commands, set s->hooks, add the sections of INFO.
 * Called once by server_new(). */
void server_commands_init(struct server *s);
void server_commands_release(struct server *s);

/* --- for the files of commands ---------------------------------------------*/

static inline struct server *ctx_server(const struct cmd_ctx *c)
{
    return ctx_client(c)->server;
}

/* One entry of a container's table; CMD_ARGS must be defined. */
#define SUBCOMMAND(ident, full_name, of_group, cmd_flags, args_table, \
                   opts_table, exec_fn, text, shape)                  \
    static const struct command ident = {                             \
        .name = full_name,                                            \
        .group = of_group,                                            \
        .summary = text,                                              \
        .since = "0.1",                                               \
        .reply = shape,                                               \
        .flags = cmd_flags,                                           \
        CMD_PARSED(args_table, opts_table),                           \
        .exec = exec_fn,                                              \
    }

/* The answer of HELP: lines that end with NULL, in Redis' frame. */
void help_reply(struct reply *r, const char *command, const char *const *lines);

/* --- authentication --------------------------------------------------------*/

/* Errors: ERR_WRONGPASS. On success the client is authenticated. */
MUST_USE enum err auth_check(struct client *c, struct slice user,
                             struct slice password, struct errbuf *e);

/* --- names that a client gives itself --------------------------------------*/

/* They are kept, and listed by CLIENT LIST. */
#define CLIENT_NAME_MAX 1024

/* Printable ASCII without blanks. */
bool client_word_ok(struct slice word);
/* Errors: ERR_SYNTAX, with Redis' text. An empty name takes the name away. */
MUST_USE enum err client_set_name(struct client *c, struct slice name,
                                  struct errbuf *e);

/* One line of CLIENT LIST, without the line end. */
void client_describe(const struct client *c, struct buf *out);
/* With what the parts keep for it: a transaction, subscriptions. */
size_t client_all_memory(const struct client *c);

#endif
