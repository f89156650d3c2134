/* LIMIT.GET: one name, as it stands now. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "commands/rate_value.h"
#include "engine/engine.h"

struct limit_get_args {
    uint64_t given[2];
    struct slice name;
};
#define CMD_ARGS struct limit_get_args

static enum err get_exec(struct cmd_ctx *c)
{
    struct limit_get_args *a = c->args;
    struct limit_view v;
    enum err rc = engine_limit(c->engine, a->name, c->now, &v, &c->e);
    if (rc == ERR_NOTFOUND) {
        reply_null(c->reply);
        return ERR_OK;
    }
    if (rc != ERR_OK)
        return rc;
    reply_map(c->reply, 10 + RATE_FIELDS);
    reply_field_str(c->reply, "name", v.name);
    reply_field_maybe(c->reply, "pattern", v.pattern);
    reply_field_int(c->reply, "concurrency", v.concurrency);
    reply_rate(c->reply, "rate", &v.rate);
    reply_field_int(c->reply, "running", v.running);
    reply_field_int(c->reply, "reserved", v.reserved);
    reply_field_int(c->reply, "full", v.full);
    reply_field_time(c->reply, "closed_until_ms", v.closed_ms);
    reply_field_time(c->reply, "opens_at_ms", v.opens_ms);
    reply_field_int(c->reply, "parked", (int64_t)v.parked);
    reply_field_int(c->reply, "parked_exact", !v.parked_more);
    return ERR_OK;
}

static const struct arg args[] = {
    {"name", OPT(BYTES, name), .key = true, .help = "as jobs give it"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_limit_get = {
    .name = "LIMIT.GET",
    .group = "limits",
    .summary = "Show a name: its rule, what runs and what is parked under it.",
    .since = "0.1",
    .reply = "an object, or null if no rule matches and nothing uses it",
    .flags = CMD_READONLY | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = get_exec,
    .example = "LIMIT.GET api:acme",
};
