/* HANDLER.SET: what holds for all jobs of a handler. */
#include "commands/command.h"
#include "commands/job_options.h"
#include "engine/handlers.h"

static const char *const on_off[] = {"off", "on", NULL};

struct handler_set_args {
    uint64_t given[2];
    struct slice handler;
    struct job_options o;
    struct slice description;
    uint32_t check;
    uint64_t max;
    struct opt_list never, only;
    uint32_t breaker;
    uint32_t percent, outcomes, probes;
    uint64_t window_ms, open_ms;
    bool clear;
};
#define CMD_ARGS struct handler_set_args

static unsigned what_is_given(const struct cmd_ctx *c)
{
    static const struct {
        const char *name;
        unsigned bit;
    } words[] = {
        {"DESCRIPTION", HSET_DESCRIPTION},
        {"CHECK", HSET_CHECK},
        {"MAX", HSET_MAX},
        {"NEVER", HSET_NEVER},
        {"ONLY", HSET_ONLY},
        {"BREAKER", HSET_BREAKER},
    };
    unsigned given = 0;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (cmd_given(c, words[i].name))
            given |= words[i].bit;
    return given;
}

static enum err set_exec(struct cmd_ctx *c)
{
    struct handler_set_args *a = c->args;
    JOB_OPTIONS_TAKE(a);
    struct handler_params p = {
        .given = what_is_given(c),
        .clear = a->clear,
        .options = &a->o,
        .description = a->description,
        .check = a->check,
        .payload_max = a->max,
        .never = a->never.words,
        .never_n = a->never.n,
        .only = a->only.words,
        .only_n = a->only.n,
        .breaker = a->breaker != 0,
        .breaker_set = {.percent = a->percent,
                        .least = a->outcomes,
                        .window_ms = a->window_ms,
                        .open_ms = a->open_ms,
                        .probes = a->probes},
    };
    enum err rc = engine_handler_set(c->engine, a->handler, &p, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"handler", OPT(NAME, handler), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {
    JOB_OPTION_ROWS,
    {"DESCRIPTION", OPT(BYTES, description), "what it does, for people",
     .value = "text", .max = 4096},
    {"CHECK", OPT(ENUM, check), "what a payload must be", .value = "kind",
     .words = payload_check_list},
    {"MAX", OPT(SIZE, max), "bytes of a payload; 0: payload-max-size",
     .value = "size"},
    {"NEVER", OPT(LIST, never),
     "types of error (patterns) after which a job is not retried, whatever "
     "ONLY says",
     .value = "n type...", .max = 32},
    {"ONLY", OPT(LIST, only),
     "the only types of error (patterns) after which a job is retried",
     .value = "n type...", .max = 32},
    {"BREAKER", OPT(ENUM, breaker),
     "stop its jobs for a while when too many executions fail",
     .value = "on|off", .words = on_off},
    {"PERCENT", OPT(U32, percent), "of outcomes that failed", .value = "n",
     .min = 1, .max = 100, .value_default = "50", .parent = "BREAKER"},
    {"OUTCOMES", OPT(U32, outcomes), "at least, before any is judged",
     .value = "n", .min = 1, .max = 1000000, .value_default = "5",
     .parent = "BREAKER"},
    {"WINDOW", OPT(MS, window_ms), "how far back outcomes count", .value = "d",
     .min = 10, .value_default = "60s", .parent = "BREAKER"},
    {"OPEN", OPT(MS, open_ms), "until it is probed", .value = "d", .min = 1,
     .value_default = "30s", .parent = "BREAKER"},
    {"PROBES", OPT(U32, probes), "that must end well before it closes",
     .value = "n", .min = 1, .max = 10000, .value_default = "5",
     .parent = "BREAKER"},
    {"CLEAR", OPT(FLAG, clear), "forget first what was set before"},
    {0},
};

const struct command cmd_handler_set = {
    .name = "HANDLER.SET",
    .group = "handlers",
    .summary = "Describe a handler: defaults of its jobs' options, checks of "
               "payloads, rules for errors, a breaker.",
    .since = "0.1",
    .reply = "OK; what is not named stays as it was",
    .flags = CMD_WRITE,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_OK},
    .exec = set_exec,
    .example = "HANDLER.SET send-mail RETRIES 10 TIMEOUT 30s CHECK json "
               "NEVER 1 Invalid* BREAKER on OPEN 1m",
};
