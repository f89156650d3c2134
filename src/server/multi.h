/* Transactions: commands kept between MULTI and EXEC.
 *
 *   MULTI -> queued (words copied) -> EXEC: one command, one entry of the log
 *              '- refused: spoiled -> EXEC answers EXECABORT
 *
 * The whole EXEC is one command to the core: it is never cut by the end of a
 * tick, so all its changes are in one entry. Commands that fail do not undo the
 * others, as in Redis. Commands that would block answer as if nothing came.
 *
 * Bounds: MULTI_BYTES_MAX of queued words, refused while queueing. What they
 * come to is known only when they run: a command for which the entry has no
 * room any more answers LIMIT in its place (docs/decisions/0022).
 */
#ifndef SERVER_MULTI_H
#define SERVER_MULTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/registry.h"
#include "util/buf.h"
#include "util/slice.h"

#define MULTI_BYTES_MAX ((size_t)8 << 20)
#define MULTI_COMMANDS_MAX 100000

struct client;
struct cmd_ctx;

struct multi_cmd {
    const struct cmd_entry *entry;
    struct slice *argv; /* into one allocation with the bytes */
    uint32_t argc;
};

struct multi {
    struct multi_cmd *cmds;
    uint32_t len, cap;
    size_t bytes;
    bool spoiled;
    uint32_t next; /* of EXEC: how many have run */
};

/* Hooks of the core. */
bool multi_queue(struct client *c, const struct cmd_entry *entry,
                 const struct slice *argv, uint32_t argc);
bool multi_spoil(struct client *c, const struct cmd_entry *entry);
void multi_forget(struct client *c);

int64_t multi_queued(const struct client *c); /* -1 outside of MULTI */
size_t multi_memory(const struct client *c);

#endif
