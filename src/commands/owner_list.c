/* OWNER.LIST: tenants, page by page. */
#include "commands/command.h"
#include "commands/owner_reply.h"
#include "util/parse.h"

#define PAGE 100

struct owner_list_args {
    uint64_t given[2];
    uint32_t cursor, count;
    struct slice match;
};
#define CMD_ARGS struct owner_list_args

struct listing {
    struct cmd_ctx *c;
    uint32_t n;
};

static void reply_one(void *ud, const struct owner_view *v)
{
    struct listing *l = ud;
    const struct owner_list_args *a = l->c->args;
    if (a->match.len > 0 && !glob_match(a->match, v->name))
        return;
    l->n++;
    reply_owner(l->c->reply, v);
}

static enum err list_exec(struct cmd_ctx *c)
{
    struct owner_list_args *a = c->args;
    struct listing l = {.c = c};
    uint32_t cursor = a->cursor;
    reply_map(c->reply, 2);
    reply_str(c->reply, "owners");
    struct reply_mark m = reply_array_begin(c->reply);
    engine_owners(c->engine, &cursor, cmd_given(c, "COUNT") ? a->count : PAGE,
                  reply_one, &l);
    reply_array_end(c->reply, m, l.n);
    reply_field_int(c->reply, "cursor", cursor);
    return ERR_OK;
}

static const struct arg args[] = {{0}};

static const struct opt opts[] = {
    {"CURSOR", OPT(U32, cursor), "where the last page ended", .value = "c",
     .value_default = "0"},
    {"COUNT", OPT(U32, count), "owners looked at", .value = "n", .min = 1,
     .max = 10000, .value_default = "100"},
    {"MATCH", OPT(BYTES, match), "only names that fit this pattern",
     .value = "glob", .max = 256},
    {0},
};

const struct command cmd_owner_list = {
    .name = "OWNER.LIST",
    .group = "owners",
    .summary = "List owners, in the order in which they came.",
    .since = "0.1",
    .reply = "an object: owners (objects as of OWNER.GET) and cursor, which is "
             "0 at the end",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = list_exec,
    .example = "OWNER.LIST COUNT 100",
};
