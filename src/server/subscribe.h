/* What SUBSCRIBE, PSUBSCRIBE and their opposites share. */
#ifndef SERVER_SUBSCRIBE_H
#define SERVER_SUBSCRIBE_H

#include "server/commands.h"
#include "util/slice.h"

struct subscribe_args {
    uint64_t given[2];
    struct opt_list names;
};

/* Confirm each name, in order. */
enum err subscribe_all(struct cmd_ctx *c, bool pattern);
/* The same; without names leave all, with one confirmation at least. */
enum err unsubscribe_all(struct cmd_ctx *c, bool pattern);

#endif
