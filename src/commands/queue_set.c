/* QUEUE.SET: how a queue orders, shares out and bounds its work. */
#include "commands/command.h"
#include "commands/rate_value.h"
#include "engine/engine.h"

struct queue_set_args {
    uint64_t given[2];
    struct slice queue, rate;
    uint32_t concurrency, overflow, order, fair;
    uint64_t burst, maxlen, age_ms, keep_ms, lease_ms;
    bool keep_default;
};
#define CMD_ARGS struct queue_set_args

static const char *const overflow_words[] = {"reject", "drop", NULL};
static const char *const order_words[] = {"priority", "aging", NULL};

static enum err set_exec(struct cmd_ctx *c)
{
    struct queue_set_args *a = c->args;
    struct queue_settings s = {
        .has_concurrency = cmd_given(c, "CONCURRENCY"),
        .has_rate = cmd_given(c, "RATE"),
        .has_burst = cmd_given(c, "BURST"),
        .has_maxlen = cmd_given(c, "MAXLEN"),
        .has_overflow = cmd_given(c, "OVERFLOW"),
        .has_order = cmd_given(c, "ORDER"),
        .has_age = cmd_given(c, "AGE"),
        .has_fair = cmd_given(c, "FAIR"),
        .has_lease = cmd_given(c, "LEASE"),
        .has_keep = cmd_given(c, "KEEP") || a->keep_default,
        .concurrency = a->concurrency,
        .maxlen = a->maxlen,
        .overflow = a->overflow,
        .order = a->order,
        .age_ms = a->age_ms,
        .fair = a->fair != 0,
        .lease_ms = a->lease_ms,
        .keep_ms = a->keep_default ? UINT64_MAX : a->keep_ms,
    };
    if (s.has_rate) {
        enum err rc = rate_parse(c, "RATE", a->rate, &s.rate);
        if (rc != ERR_OK)
            return rc;
    }
    s.rate.burst = a->burst;
    enum err rc = engine_queue_set(c->engine, a->queue, &s, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"queue", OPT(NAME, queue), .key = true, .help = "made if need be"},
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
    {"MAXLEN", OPT(U64, maxlen), "live jobs that it holds; 0: unlimited",
     .value = "n"},
    {"OVERFLOW", OPT(ENUM, overflow),
     "at MAXLEN: refuse new jobs, or drop the one that waits longest",
     .value = "what", .words = overflow_words},
    {"ORDER", OPT(ENUM, order),
     "by priority, or priority and waiting time together", .value = "kind",
     .words = order_words},
    {"AGE", OPT(MS, age_ms),
     "with ORDER aging: the waiting time that one point of priority is worth",
     .value = "d", .min = 1},
    {"FAIR", OPT(U32, fair), "1: owners take turns by their weights",
     .value = "0|1", .min = 0, .max = 1},
    {"LEASE", OPT(MS, lease_ms), "length of leases; 0: the default",
     .value = "d"},
    {"KEEP", OPT(MS, keep_ms), "how long finished jobs are kept", .value = "d",
     .group = "keep"},
    {"KEEPDEFAULT", OPT(FLAG, keep_default),
     "keep finished jobs as long as the configuration says", .group = "keep"},
    {0},
};

const struct command cmd_queue_set = {
    .name = "QUEUE.SET",
    .group = "queues",
    .summary = "Change settings of a queue; what is not named stays.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_OK},
    .exec = set_exec,
    .example = "QUEUE.SET emails CONCURRENCY 50 RATE 100/1s ORDER aging AGE 1s",
};
