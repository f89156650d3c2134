/* BREAKER.TRIP: open it by hand. */
#include "commands/command.h"
#include "engine/handlers.h"

struct trip_args {
    uint64_t given[2];
    struct slice handler;
    uint64_t open_ms;
};
#define CMD_ARGS struct trip_args

static enum err trip_exec(struct cmd_ctx *c)
{
    struct trip_args *a = c->args;
    enum err rc =
        engine_breaker_trip(c->engine, a->handler, a->open_ms, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"handler", OPT(NAME, handler), .key = true, .help = "whose"},
    {0},
};

static const struct opt opts[] = {
    {"FOR", OPT(MS, open_ms), "until it is probed; default: what OPEN says",
     .value = "d", .min = 1},
    {0},
};

const struct command cmd_breaker_trip = {
    .name = "BREAKER.TRIP",
    .group = "handlers",
    .summary = "Open a handler's breaker: its jobs wait, then it is probed.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_STATE, ERR_OK},
    .exec = trip_exec,
    .example = "BREAKER.TRIP send-mail FOR 10m",
};
