/* The commands that this server knows, found by their names.
 *
 * The tables are static; the registry numbers their entries, sub-commands
 * included, so that counters and permissions can be kept in plain arrays. Built
 * once at start; nothing is added later.
 *
 *     words  -> registry_resolve() -> entry of CLIENT LIST, or an error with
 *                                     Redis' text and the nearest known name
 */
#ifndef COMMANDS_REGISTRY_H
#define COMMANDS_REGISTRY_H

#include <stdint.h>

#include "commands/command.h"
#include "util/err.h"
#include "util/slice.h"
#include "util/words.h"

struct cmd_entry {
    const struct command *cmd;
    uint32_t number;                /* 0 .. registry.len - 1 */
    int arity;                      /* cmd_arity() */
    char *name;                     /* lower case: "client|list" */
    const struct cmd_entry *parent; /* of a sub-command */
    struct words subs;              /* last word of the name -> number */
};

struct registry {
    struct words names;         /* commands, not sub-commands -> number */
    struct cmd_entry **entries; /* by number; a command, then its subs */
    uint32_t len, cap;
};

/* All entries of registry.def; ends with NULL. */
extern const struct command *const registry_jobs[];

void registry_init(struct registry *r);
void registry_release(struct registry *r);

/* Add the commands of a table that ends with NULL. No name may be there yet. */
void registry_add(struct registry *r, const struct command *const *table);

/* A command by its name, without regard to case; NULL if there is none. */
const struct cmd_entry *registry_find(const struct registry *r,
                                      struct slice name);

/* A sub-command of `entry`, or NULL. */
const struct cmd_entry *registry_find_sub(const struct registry *r,
                                          const struct cmd_entry *entry,
                                          struct slice name);

/* By full name, with '|' in front of the sub-command's part. */
const struct cmd_entry *registry_find_full(const struct registry *r,
                                           struct slice name);

/* What argv asks for: the sub-command where there are some. A container that
 * runs by itself (COMMAND) is returned if only its name was given. argc > 0.
 *
 * Errors:
 *   ERR_SYNTAX  no such command or sub-command, or the latter is missing.
 */
MUST_USE enum err registry_resolve(const struct registry *r,
                                   const struct slice *argv, uint32_t argc,
                                   const struct cmd_entry **out,
                                   struct errbuf *e);

#endif
