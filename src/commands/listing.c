#include "commands/listing.h"

#include "util/parse.h"

#define CMD_ARGS struct listing_args

const struct arg listing_args[] = {{0}};

const struct opt listing_opts[] = {
    {"MATCH", OPT(BYTES, match), "only names that fit this pattern",
     .value = "glob", .max = 256},
    {0},
};

struct listing listing_begin(struct cmd_ctx *c)
{
    return (struct listing){.c = c, .mark = reply_array_begin(c->reply)};
}

bool listing_takes(struct listing *l, struct slice name)
{
    const struct listing_args *a = l->c->args;
    if (a->match.len > 0 && !glob_match(a->match, name))
        return false;
    l->n++;
    return true;
}

enum err listing_end(struct listing *l)
{
    reply_array_end(l->c->reply, l->mark, l->n);
    return ERR_OK;
}
