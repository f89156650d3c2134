#include "commands/listing.h"

#include "util/parse.h"

#define CMD_ARGS struct listing_args

const struct arg listing_args[] = {{0}};

const struct opt listing_opts[] = {
    {"MATCH", OPT(BYTES, match), "only names that fit this pattern",
     .value = "glob", .max = 256},
    {"AFTER", OPT(BYTES, after),
     "only names behind this one: the last one of a page", .value = "name",
     .max = 256},
    {"COUNT", OPT(U32, count),
     "a page of so many; without it all, which takes a "
     "while of many thousands",
     .value = "n", .min = 1, .max = 10000},
    {0},
};

struct listing listing_begin(struct cmd_ctx *c)
{
    const struct listing_args *a = c->args;
    return (struct listing){.c = c,
                            .mark = reply_array_begin(c->reply),
                            .page = {a->after, a->match, a->count}};
}

struct reply *listing_next(struct listing *l)
{
    l->n++;
    return l->c->reply;
}

enum err listing_end(struct listing *l)
{
    reply_array_end(l->c->reply, l->mark, l->n);
    return ERR_OK;
}
