/* Commands in words, from their tables: rows of COMMAND INFO, entries of
 * COMMAND DOCS, the synopsis in docs/commands.md.
 */
#ifndef COMMANDS_DESCRIBE_H
#define COMMANDS_DESCRIBE_H

#include "commands/registry.h"
#include "resp/reply.h"
#include "util/buf.h"

/* The ten fields of COMMAND INFO. Lists that are sets in Redis are arrays here:
 * clients take both, and we send no sets. */
void describe_info(struct reply *r, const struct registry *reg,
                   const struct cmd_entry *entry);

/* The name and its map of COMMAND DOCS. redis-cli asserts on the types: names
 * and texts are bulk strings, flags are simple strings. */
void describe_docs(struct reply *r, const struct registry *reg,
                   const struct cmd_entry *entry);

/* Call `fn` for each routing key among the words (which were parsed). */
typedef void (*describe_key_fn)(void *ud, struct slice key);
void describe_keys(const struct cmd_ctx *c, describe_key_fn fn, void *ud);

/* Is any argument a key? */
bool describe_has_keys(const struct command *cmd);

/* "@write", "@fast" ...; up to `max` names; returns how many. */
unsigned describe_categories(const struct command *cmd, const char **out,
                             unsigned max);
unsigned describe_flags(const struct command *cmd, const char **out,
                        unsigned max);

/* "JOB.ADD queue payload [DELAY d | AT t] [LIMIT name]... [ALSO queue...]" */
void describe_synopsis(const struct command *cmd, struct buf *out);

/* The same without what may be left out: "JOB.ADD queue payload [...]" */
void describe_short(const struct command *cmd, struct buf *out);

#endif
