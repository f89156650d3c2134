/* The server's own commands and what they hook into the core. */
#include "server/commands.h"

#define COMMAND(entry) extern const struct command cmd_##entry;
#include "server/commands.def"
#undef COMMAND

const struct command *const registry_server[] = {
#define COMMAND(entry) &cmd_##entry,
#include "server/commands.def"
#undef COMMAND
    NULL,
};

void server_commands_init(struct server *s)
{
    registry_init(&s->registry);
    registry_add(&s->registry, registry_server);
    registry_add(&s->registry, registry_jobs);
}

void server_commands_release(struct server *s)
{
    registry_release(&s->registry);
}
