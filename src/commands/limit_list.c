/* LIMIT.LIST: the rules. */
#include "commands/command.h"
#include "commands/rate_value.h"
#include "engine/engine.h"

struct limit_list_args {
    uint64_t given[2];
};
#define CMD_ARGS struct limit_list_args

struct listing {
    struct cmd_ctx *c;
    uint32_t n;
};

static void reply_one(void *ud, const struct limit_rule *rule)
{
    struct listing *l = ud;
    struct reply *r = l->c->reply;
    l->n++;
    reply_map(r, 2 + RATE_FIELDS);
    reply_field_str(r, "pattern", rule->pattern);
    reply_field_int(r, "concurrency", rule->concurrency);
    reply_rate(r, "rate", &rule->rate);
}

static enum err list_exec(struct cmd_ctx *c)
{
    struct listing l = {.c = c};
    struct reply_mark m = reply_array_begin(c->reply);
    engine_limits(c->engine, reply_one, &l);
    reply_array_end(c->reply, m, l.n);
    return ERR_OK;
}

static const struct arg args[] = {{0}};

static const struct opt opts[] = {{0}};

const struct command cmd_limit_list = {
    .name = "LIMIT.LIST",
    .group = "limits",
    .summary = "List the rules, the most specific first: the first that "
               "matches a name applies.",
    .since = "0.1",
    .reply = "an array of objects",
    .flags = CMD_READONLY | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = list_exec,
    .example = "LIMIT.LIST",
};
