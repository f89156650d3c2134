/* LIMIT.SET: a rule for names. */
#include "commands/command.h"
#include "commands/rate_value.h"
#include "engine/engine.h"

struct limit_set_args {
    uint64_t given[2];
    struct slice pattern, rate;
    uint32_t concurrency;
    uint64_t burst;
    bool open;
};
#define CMD_ARGS struct limit_set_args

static enum err set_exec(struct cmd_ctx *c)
{
    struct limit_set_args *a = c->args;
    struct limit_rule s = {.has_concurrency = cmd_given(c, "CONCURRENCY"),
                           .has_rate = cmd_given(c, "RATE"),
                           .has_burst = cmd_given(c, "BURST"),
                           .open = a->open,
                           .concurrency = a->concurrency};
    if (!s.has_concurrency && !s.has_rate && !s.has_burst && !s.open)
        return err_set(&c->e, ERR_SYNTAX,
                       "LIMIT.SET: nothing to set: CONCURRENCY, RATE, BURST "
                       "or OPEN");
    if (s.has_rate) {
        enum err rc = rate_parse(c, "RATE", a->rate, &s.rate);
        if (rc != ERR_OK)
            return rc;
    }
    s.rate.burst = a->burst;
    enum err rc = engine_limit_set(c->engine, a->pattern, &s, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"pattern", OPT(BYTES, pattern), .key = true,
     .help = "a name, or a glob that each name it matches has to itself",
     .max = 128},
    {0},
};

static const struct opt opts[] = {
    {"CONCURRENCY", OPT(U32, concurrency),
     "leases at the same time; 0: unlimited", .value = "n"},
    {"RATE", OPT(BYTES, rate), "starts per time, as 100/1s; 0: unlimited",
     .value = "r", .max = 64},
    {"BURST", OPT(U64, burst),
     "starts at once after a rest; default: a tenth of RATE", .value = "n",
     .min = 1, .max = BURST_MAX},
    {"OPEN", OPT(FLAG, open),
     "of the name that is exactly so called, not of those that a pattern "
     "matches: what a worker closed with JOB.NACK is open again; alone it "
     "makes "
     "no rule"},
    {0},
};

const struct command cmd_limit_set = {
    .name = "LIMIT.SET",
    .group = "limits",
    .summary = "Limit concurrency and rate of each name that a pattern "
               "matches; applies at once.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_OK},
    .exec = set_exec,
    .example = "LIMIT.SET api:* CONCURRENCY 5 RATE 100/1s BURST 20",
};
