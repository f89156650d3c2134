/* JOB.ACK: done. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct ack_args {
    uint64_t given[2];
    struct slice token;
    struct opt_list also;
    struct slice result;
    struct opt_pair usage[USAGE_MAX];
    uint32_t usage_n;
};
#define CMD_ARGS struct ack_args

static enum err ack_exec(struct cmd_ctx *c)
{
    struct ack_args *a = c->args;
    struct token_list t;
    struct buf usage = {0};
    enum err rc = usage_words(c, a->usage, a->usage_n, &usage);
    if (rc == ERR_OK)
        rc = token_list_begin(&t, c, a->token, &a->also, TOKENS_MAX);
    if (rc == ERR_OK) {
        struct ack_params p = {.tokens = t.tokens,
                               .n = t.n,
                               .cut = t.cut,
                               .result = a->result,
                               .usage = buf_slice(&usage)};
        rc = engine_ack(c->engine, c->gather, &p, c->now, token_reply, &t,
                        &c->e);
        rc = token_replies_end(&t, rc);
    }
    buf_release(&usage);
    return rc;
}

static const struct arg args[] = {
    {"token", OPT(BYTES, token), .key = true, .help = "of the lease"},
    {0},
};

static const struct opt opts[] = {
    {"RESULT", OPT(BYTES, result), "kept with the job; of all tokens",
     .value = "bytes"},
    {"USAGE", OPT(PAIR, usage), "what the execution used, to be added up",
     .value = "name=n", OPT_MANY(usage, usage_n)},
    {0},
};

const struct command cmd_job_ack = {
    .name = "JOB.ACK",
    .group = "jobs",
    .summary = "End leases well: the jobs are completed.",
    .since = "0.1",
    .reply = "OK; with ALSO an array with OK or an error word for each token",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .also = true,
    .also_offset = offsetof(CMD_ARGS, also),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED,
                                 ERR_STALE, ERR_LIMIT, ERR_OK},
    .exec = ack_exec,
    .example = "JOB.ACK 01J8ZQ4W2H0000000000000001#1.1700000000 RESULT ok",
};
