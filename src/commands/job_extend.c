/* JOB.EXTEND: still at it; and what are the orders? */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct extend_args {
    uint64_t given[2];
    struct slice token;
    struct opt_list also;
    uint64_t lease_ms;
};
#define CMD_ARGS struct extend_args

/* Without a row that can be read it is lost too, but that is not why. */
static bool says_why(enum err why)
{
    return why == ERR_OK || why == ERR_NOTFOUND || why == ERR_FINISHED ||
           why == ERR_STALE;
}

/* A token alone that is none is an error; one of many costs the others
 * nothing. */
static void reply_one(void *ud, uint32_t i, uint64_t left_ms,
                      enum lease_order order, enum err why)
{
    static const char *const orders[] = {[ORDER_CONTINUE] = "continue",
                                         [ORDER_CANCEL] = "cancel",
                                         [ORDER_LOST] = "lost"};
    struct token_list *t = ud;
    struct reply *r = t->c->reply;
    if (t->total == 1)
        reply_array(r, 1);
    if (t->total == 1 && !says_why(why))
        t->first = why;
    reply_map(r, 4);
    reply_field_str(r, "token", t->tokens[i]);
    reply_field_int(r, "left_ms", (int64_t)left_ms);
    reply_field_str(r, "order", slice_str(orders[order]));
    if (why == ERR_OK)
        reply_field_null(r, "error");
    else
        reply_field_str(r, "error", slice_str(err_prefix(why)));
}

static enum err extend_exec(struct cmd_ctx *c)
{
    struct extend_args *a = c->args;
    struct token_list t;
    enum err rc = token_list_begin(&t, c, a->token, &a->also, TOKENS_MAX);
    if (rc != ERR_OK)
        return rc;
    struct extend_params p = {
        .tokens = t.tokens, .n = t.n, .cut = t.cut, .lease_ms = a->lease_ms};
    rc = engine_extend(c->engine, c->gather, &p, c->now, reply_one, &t, &c->e);
    rc = token_list_end(&t, rc);
    return rc == ERR_OK ? t.first : rc;
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
             "lease) or lost (somebody else may have the job); error is null, "
             "or why it is lost: NOTFOUND, FINISHED, STALE, ERR for what is no "
             "token, or CORRUPT or IOERR if its row cannot be read; these "
             "three are an error if it is the only one",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .also = true,
    .also_offset = offsetof(CMD_ARGS, also),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_OK},
    .exec = extend_exec,
    .example = "JOB.EXTEND 01J8ZQ4W2H0000000000000001#1.1700000000 FOR 1m",
};
