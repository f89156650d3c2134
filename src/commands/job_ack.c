/* JOB.ACK: done. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"
#include "util/alloc.h"

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
    struct slice one = a->token, *tokens = &one;
    struct ack_params p = {.n = 1, .result = a->result};
    struct token_replies t;
    enum err rc = ERR_OK;
    if (a->also.n > 0) {
        tokens = mem_alloc((a->also.n + 1) * sizeof(*tokens));
        rc = words_join(c, a->token, &a->also, tokens, TOKENS_MAX, &p.n);
    }
    p.tokens = tokens;
    struct buf usage = {0};
    if (rc == ERR_OK)
        rc = usage_words(c, a->usage, a->usage_n, &usage);
    p.usage = buf_slice(&usage);
    if (rc == ERR_OK) {
        token_replies_begin(&t, c, p.n);
        rc = engine_ack(c->engine, c->gather, &p, c->now, token_reply, &t,
                        &c->e);
        rc = token_replies_end(&t, rc);
    }
    buf_release(&usage);
    if (tokens != &one)
        mem_free(tokens);
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
