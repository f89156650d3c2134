/* CHORE.CANCEL: no further. */
#include "commands/chore_reply.h"
#include "commands/command.h"
#include "engine/engine.h"

struct chore_cancel_args {
    uint64_t given[2];
    struct slice id;
};
#define CMD_ARGS struct chore_cancel_args

static enum err cancel_exec(struct cmd_ctx *c)
{
    struct chore_cancel_args *a = c->args;
    enum err rc = engine_chore_cancel(c->engine, a->id, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"id", OPT(BYTES, id), .key = true, .help = "of the chore"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_chore_cancel = {
    .name = "CHORE.CANCEL",
    .group = "jobs",
    .summary = "Stop a chore; what it has done stays done.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED,
                                 ERR_STATE, ERR_OK},
    .exec = cancel_exec,
    .example = "CHORE.CANCEL 01J8ZQ4W2H0000000000000001",
};
