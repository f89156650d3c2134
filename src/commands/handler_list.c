/* HANDLER.LIST: all handlers. */
#include "commands/command.h"
#include "commands/handler_reply.h"
#include "util/parse.h"

struct handler_list_args {
    uint64_t given[2];
    struct slice match;
};
#define CMD_ARGS struct handler_list_args

struct listing {
    struct cmd_ctx *c;
    uint32_t n;
};

static void reply_one(void *ud, const struct handler_view *v)
{
    struct listing *l = ud;
    const struct handler_list_args *a = l->c->args;
    if (a->match.len > 0 && !glob_match(a->match, v->name))
        return;
    l->n++;
    reply_handler(l->c->reply, v);
}

static enum err list_exec(struct cmd_ctx *c)
{
    struct listing l = {.c = c};
    struct reply_mark m = reply_array_begin(c->reply);
    engine_handlers(c->engine, c->now, reply_one, &l);
    reply_array_end(c->reply, m, l.n);
    return ERR_OK;
}

static const struct arg args[] = {{0}};

static const struct opt opts[] = {
    {"MATCH", OPT(BYTES, match), "only names that fit this pattern",
     .value = "glob", .max = 256},
    {0},
};

const struct command cmd_handler_list = {
    .name = "HANDLER.LIST",
    .group = "handlers",
    .summary = "List the handlers, by name.",
    .since = "0.1",
    .reply = "an array of objects as of HANDLER.GET",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = list_exec,
    .example = "HANDLER.LIST MATCH send-*",
};
