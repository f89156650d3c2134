/* JOB.NACK: it failed, or it is to be put off. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct nack_args {
    uint64_t given[2];
    struct slice token;
    struct opt_list also;
    struct slice error, type, stack, close;
    uint64_t until_ms;
    int64_t code;
    uint64_t delay_ms, snooze_ms;
    bool permanent;
    struct opt_pair usage[USAGE_MAX];
    uint32_t usage_n;
};
#define CMD_ARGS struct nack_args

/* What is put off keeps none of these. */
static const char *const of_executions[] = {"ERROR", "TYPE", "STACK", "CODE",
                                            "USAGE"};

static enum err nack_exec(struct cmd_ctx *c)
{
    struct nack_args *a = c->args;
    bool snooze = cmd_given(c, "SNOOZE");
    struct nack_params p = {.error = a->error,
                            .type = a->type,
                            .stack = a->stack,
                            .code = a->code,
                            .has_delay = cmd_given(c, "DELAY"),
                            .permanent = a->permanent,
                            .snooze = snooze,
                            .delay_ms = snooze ? a->snooze_ms : a->delay_ms,
                            .close = a->close,
                            .close_ms = a->until_ms};
    if (cmd_given(c, "CLOSE") != cmd_given(c, "UNTIL"))
        return err_set(&c->e, ERR_SYNTAX,
                       "JOB.NACK: CLOSE and UNTIL come together");
    for (size_t i = 0; snooze && i < ARRAY_LEN(of_executions); i++)
        if (cmd_given(c, of_executions[i]))
            return err_set(&c->e, ERR_SYNTAX,
                           "JOB.NACK: %s and SNOOZE exclude each other: what "
                           "is put off is no execution",
                           of_executions[i]);
    struct token_list t;
    struct buf usage = {0};
    enum err rc = usage_words(c, a->usage, a->usage_n, &usage);
    if (rc == ERR_OK)
        rc = token_list_begin(&t, c, a->token, &a->also, TOKENS_MAX);
    if (rc == ERR_OK) {
        p.tokens = t.tokens;
        p.n = t.n;
        p.cut = t.cut;
        p.usage = buf_slice(&usage);
        rc = engine_nack(c->engine, c->gather, &p, c->now, token_reply, &t,
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
    {"ERROR", OPT(BYTES, error), "what went wrong, for people",
     .value = "text"},
    {"TYPE", OPT(BYTES, type), "what kind of error, for rules and groups",
     .value = "t", .max = 128},
    {"STACK", OPT(BYTES, stack), "where it went wrong", .value = "text"},
    {"CODE", OPT(I64, code), "an exit or status code", .value = "n"},
    {"DELAY", OPT(MS, delay_ms), "the next execution no earlier than this",
     .value = "d", .group = "how"},
    {"PERMANENT", OPT(FLAG, permanent), "there shall be no other execution",
     .group = "how"},
    {"SNOOZE", OPT(MS, snooze_ms), "put off by this; does not count as failed",
     .value = "d", .group = "how"},
    {"CLOSE", OPT(BYTES, close),
     "nothing more starts under this limit's name until UNTIL",
     .value = "limit", .min = 1, .max = 128},
    {"UNTIL", OPT(TIME, until_ms), "unix ms or RFC 3339", .value = "t"},
    {"USAGE", OPT(PAIR, usage), "what the execution used, to be added up",
     .value = "name=n", OPT_MANY(usage, usage_n)},
    {0},
};

const struct command cmd_job_nack = {
    .name = "JOB.NACK",
    .group = "jobs",
    .summary = "End leases badly: retried after a delay, or dead letters.",
    .since = "0.1",
    .reply = "OK; with ALSO an array with OK or an error word for each token",
    .flags = CMD_WRITE,
    CMD_PARSED(args, opts),
    .also = true,
    .also_offset = offsetof(CMD_ARGS, also),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED,
                                 ERR_STALE, ERR_LIMIT, ERR_OK},
    .exec = nack_exec,
    .example = "JOB.NACK 01J8ZQ4W2H0000000000000001#1.1700000000 ERROR "
               "'503 from api' TYPE HttpError",
};
