/* OWNER.SET: weight and quotas of a tenant. */
#include "commands/command.h"
#include "commands/rate_value.h"
#include "engine/engine.h"

struct owner_set_args {
    uint64_t given[2];
    struct slice owner, adds;
    uint32_t weight, running;
    uint64_t live;
};
#define CMD_ARGS struct owner_set_args

static enum err set_exec(struct cmd_ctx *c)
{
    struct owner_set_args *a = c->args;
    struct owner_settings s = {.has_weight = cmd_given(c, "WEIGHT"),
                               .has_live = cmd_given(c, "LIVE"),
                               .has_running = cmd_given(c, "RUNNING"),
                               .has_adds = cmd_given(c, "ADDS"),
                               .weight = a->weight,
                               .live_max = a->live,
                               .running_max = a->running};
    if (s.has_adds) {
        enum err rc = rate_parse(c, "ADDS", a->adds, &s.adds);
        if (rc != ERR_OK)
            return rc;
    }
    enum err rc = engine_owner_set(c->engine, a->owner, &s, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"owner", OPT(NAME, owner), .key = true, .help = "made if need be"},
    {0},
};

static const struct opt opts[] = {
    {"WEIGHT", OPT(U32, weight), "its share in fair queues, against others'",
     .value = "n", .min = 1, .max = 1000000, .value_default = "1"},
    {"LIVE", OPT(U64, live), "live jobs that it may have; 0: unlimited",
     .value = "n"},
    {"RUNNING", OPT(U32, running), "leases at the same time; 0: unlimited",
     .value = "n"},
    {"ADDS", OPT(BYTES, adds), "jobs added per time, as 100/1s; 0: unlimited",
     .value = "r", .max = 64},
    {0},
};

const struct command cmd_owner_set = {
    .name = "OWNER.SET",
    .group = "owners",
    .summary = "Change weight and quotas of an owner; what is not named stays.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_OK},
    .exec = set_exec,
    .example = "OWNER.SET acme WEIGHT 5 RUNNING 20 ADDS 1000/1s",
};
