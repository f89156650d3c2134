/* Lists of all objects of a kind, with MATCH or without: what QUEUE.LIST,
 * HANDLER.LIST, BREAKER.LIST and WORKER.LIST have in common.
 *
 *     static void reply_one(void *ud, const struct queue_view *v)
 *     {
 *         if (listing_takes(ud, v->name))
 *             reply_queue(...);
 *     }
 *     ...
 *         struct listing l = listing_begin(c);
 *         engine_queues(c->engine, c->now, reply_one, &l);
 *         return listing_end(&l);
 */
#ifndef COMMANDS_LISTING_H
#define COMMANDS_LISTING_H

#include "commands/command.h"

struct listing_args {
    uint64_t given[2];
    struct slice match;
};

extern const struct arg listing_args[];
extern const struct opt listing_opts[];

#define LISTING_PARSED                                    \
    .args = listing_args, .opts = listing_opts,           \
    .args_size = sizeof(struct listing_args),             \
    .given_offset = offsetof(struct listing_args, given), \
    .errors = (const enum err[])                          \
    {                                                     \
        ERR_SYNTAX, ERR_OK                                \
    }

struct listing {
    struct cmd_ctx *c;
    struct reply_mark mark;
    uint32_t n;
};

struct listing listing_begin(struct cmd_ctx *c);
/* Does the name fit MATCH? Then it is counted, and the caller replies it. */
bool listing_takes(struct listing *l, struct slice name);
enum err listing_end(struct listing *l);

#endif
