/* Lists of all objects of a kind, with MATCH or by pages: what QUEUE.LIST,
 * HANDLER.LIST, BREAKER.LIST and WORKER.LIST have in common.
 *
 *     static void reply_one(void *ud, const struct queue_view *v)
 *     {
 *         reply_queue(listing_next(ud), v, ...);
 *     }
 *     ...
 *         struct listing l = listing_begin(c);
 *         engine_queues(c->engine, &l.page, reply_one, &l);
 *         return listing_end(&l);
 */
#ifndef COMMANDS_LISTING_H
#define COMMANDS_LISTING_H

#include "commands/command.h"
#include "engine/page.h"

struct listing_args {
    uint64_t given[2];
    struct slice match, after;
    uint32_t count;
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
    struct page page;
    uint32_t n;
};

struct listing listing_begin(struct cmd_ctx *c);
/* One more is replied. */
struct reply *listing_next(struct listing *l);
enum err listing_end(struct listing *l);

#endif
