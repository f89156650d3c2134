/* What the server's own commands bring along: the registry, the hooks, the
 * sections of INFO. */
#ifndef SERVER_COMMANDS_H
#define SERVER_COMMANDS_H

#include "commands/command.h"

struct server;

/* All entries of commands.def; ends with NULL. */
extern const struct command *const registry_server[];

/* Fill s->registry with all commands, set s->hooks, add the sections of INFO.
 * Called once by server_new(). */
void server_commands_init(struct server *s);
void server_commands_release(struct server *s);

#endif
