/* The options that say which jobs: JOB.LIST, JOB.COUNT and JOB.BULK share them.
 * A command's struct has `struct filter_args f`; exec calls filter_take(). */
#ifndef COMMANDS_JOB_FILTER_H
#define COMMANDS_JOB_FILTER_H

#include "commands/command.h"
#include "engine/engine.h"

struct filter_args {
    struct slice queue, handler, owner, worker, key, id;
    struct opt_pair tag, created, finished;
    struct slice states[16];
    uint32_t states_n;
};

/* clang-format off */
#define JOB_FILTER_ROWS \
    {"QUEUE", OPT(NAME, f.queue), "of this queue", .value = "q"}, \
    {"STATE", OPT(NAME, f.states), "in this state; several may be given; words of other systems are understood", .value = "s", OPT_MANY(f.states, f.states_n)}, \
    {"HANDLER", OPT(NAME, f.handler), "of this handler", .value = "h"}, \
    {"OWNER", OPT(NAME, f.owner), "of this tenant", .value = "o"}, \
    {"TAG", OPT(PAIR, f.tag), "with this label", .value = "k=v"}, \
    {"KEY", OPT(BYTES, f.key), "with this UNIQUE key", .value = "key", .min = 1, .max = 200}, \
    {"WORKER", OPT(NAME, f.worker), "that this worker has, or had last", .value = "w"}, \
    {"ID", OPT(NAME, f.id), "whose id begins so; a whole id is looked up", .value = "prefix"}, \
    {"CREATED", OPT(TWO, f.created), "added between these times; - and + are open ends", .value = "from to"}, \
    {"FINISHED", OPT(TWO, f.finished), "ended between these times; - and + are open ends", .value = "from to"}
/* clang-format on */

/* Errors: ERR_SYNTAX (a word that is no state, no time). */
MUST_USE enum err filter_take(struct cmd_ctx *c, const struct filter_args *a,
                              struct job_filter *f);

/* One job of a list: what JOB.GET tells, but for payload and result. */
void reply_listed(struct reply *r, const struct job_view *v);
/* {cursor, jobs}; `begin` before the first job. */
struct listing {
    struct cmd_ctx *c;
    uint32_t n;
};
void listing_add(void *ud, const struct job_view *v);
enum err reply_listing(struct cmd_ctx *c, const struct list_params *p);

#endif
