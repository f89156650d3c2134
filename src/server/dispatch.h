/* Dispatch: from words to a command that runs, replies or parks.
 *
 *   words -> lookup -> may it run now? -> arguments -> exec -> reply
 *              |          |  auth, loading, subscriber    |
 *              |          |  mode, MULTI, disk nearly full '-> ERR_PENDING:
 * park
 *              '- unknown '- refused: error reply, MULTI spoiled
 *
 * `ctx->host` of a command is its `struct client *`, whose `server` leads to
 * everything else; only commands of this folder may use it.
 */
#ifndef SERVER_DISPATCH_H
#define SERVER_DISPATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "commands/registry.h"
#include "util/slice.h"

struct client;
struct parked;
struct server;

static inline struct client *ctx_client(const struct cmd_ctx *ctx)
{
    return (struct client *)ctx->host;
}

/* Run one command of `c`. The words are borrowed: what must outlive the call
 * (parked callers, MULTI) is copied by whoever keeps it. */
void dispatch(struct client *c, const struct slice *argv, uint32_t argc);

/* A parked caller's command, once more from its start. */
void dispatch_again(struct parked *p);

/* The CMD_ flags of these words; those of a free one if they are unknown. */
unsigned dispatch_flags(const struct server *s, const struct slice *argv,
                        uint32_t argc);

/* Bring in the rows that a command inside another will read, if it changes
 * nothing itself. ERR_PENDING must be returned by the outer exec, which starts
 * over when they are there. */
MUST_USE enum err dispatch_gather(struct cmd_ctx *outer,
                                  const struct cmd_entry *entry,
                                  const struct slice *argv, uint32_t argc);

/* Run a command inside another (EXEC), replying into the outer one's reply.
 * Never blocks. With `first`, ERR_PENDING may come back and must be returned by
 * the outer exec; nothing has been changed yet. Otherwise rows that are missing
 * are read at once. Errors have been replied. */
MUST_USE enum err dispatch_inner(struct cmd_ctx *outer,
                                 const struct cmd_entry *entry,
                                 const struct slice *argv, uint32_t argc,
                                 bool first);

/* Error reply outside of an exec, for instance of a protocol error. */
void dispatch_refuse(struct client *c, enum err code, const char *text);

#endif
