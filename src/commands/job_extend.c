/* JOB.EXTEND: still at it; and what are the orders? */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"
#include "util/alloc.h"

struct extend_args {
    uint64_t given[2];
    struct slice token;
    struct opt_list also;
    uint64_t lease_ms;
};
#define CMD_ARGS struct extend_args

struct extending {
    struct cmd_ctx *c;
    const struct slice *tokens;
};

static void reply_one(void *ud, uint32_t i, uint64_t left_ms,
                      enum lease_order order)
{
    static const char *const orders[] = {[ORDER_CONTINUE] = "continue",
                                         [ORDER_CANCEL] = "cancel",
                                         [ORDER_LOST] = "lost"};
    struct extending *x = ud;
    struct reply *r = x->c->reply;
    reply_map(r, 3);
    reply_field_str(r, "token", x->tokens[i]);
    reply_field_int(r, "left_ms", (int64_t)left_ms);
    reply_field_str(r, "order", slice_str(orders[order]));
}

static enum err extend_exec(struct cmd_ctx *c)
{
    struct extend_args *a = c->args;
    struct slice *tokens = mem_alloc((a->also.n + 1) * sizeof(*tokens));
    uint32_t n;
    enum err rc = words_join(c, a->token, &a->also, tokens, TOKENS_MAX, &n);
    if (rc == ERR_OK) {
        struct extending x = {c, tokens};
        reply_array(c->reply, n);
        rc = engine_extend(c->engine, tokens, n, a->lease_ms, c->now, reply_one,
                           &x, &c->e);
    }
    mem_free(tokens);
    return rc;
}

static const struct arg args[] = {
    {"token", OPT(BYTES, token), .key = true, .help = "of the lease"},
    {0},
};

static const struct opt opts[] = {
    {"FOR", OPT(MS, lease_ms), "another length, from now on", .value = "d",
     .min = 1},
    {0},
};

const struct command cmd_job_extend = {
    .name = "JOB.EXTEND",
    .group = "jobs",
    .summary = "Renew leases, from any connection.",
    .since = "0.1",
    .reply = "an array of objects; order is continue, cancel (stop and end the "
             "lease) or lost (somebody else may have the job)",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .also = true,
    .also_offset = offsetof(CMD_ARGS, also),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_OK},
    .exec = extend_exec,
    .example = "JOB.EXTEND 01J8ZQ4W2H0000000000000001#1.1700000000 FOR 1m",
};
