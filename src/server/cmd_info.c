#include "engine/engine.h"
#include "server/commands.h"
#include "server/info.h"
#include "server/server.h"

struct info_args {
    uint64_t given[2];
    struct opt_list sections;
};
#define CMD_ARGS struct info_args

/* How long the oldest job of a queue has waited is not in memory after a start,
 * until somebody works on it: nobody may. What cannot be read is left out,
 * figures are wanted most when something is wrong. */
static enum err read_heads(struct cmd_ctx *c)
{
    const struct info_args *a = c->args;
    const struct server *s = ctx_server(c);
    if (s->engine == NULL || s->state == SERVER_LOADING ||
        !info_is_asked_for(s, "Queues", a->sections.words, a->sections.n))
        return ERR_OK;
    enum err rc = engine_queues_heads(s->engine, c->gather, &c->e);
    return rc == ERR_PENDING ? rc : ERR_OK;
}

static enum err info_exec(struct cmd_ctx *c)
{
    const struct info_args *a = c->args;
    struct buf out = {0};
    enum err rc = read_heads(c);
    if (rc != ERR_OK)
        return rc;
    info_print(ctx_server(c), a->sections.words, a->sections.n, &out);
    reply_verbatim(c->reply, buf_slice(&out));
    buf_release(&out);
    return ERR_OK;
}

static const struct arg args[] = {
    {"section", OPT(BYTES, sections), .optional = true, .more = true},
    {0},
};

const struct command cmd_info = {
    .name = "INFO",
    .group = "server",
    .summary = "Figures about the server, by sections.",
    .since = "0.1",
    .reply = "lines of key:value below # Section",
    .flags = CMD_FREE | CMD_LOADING,
    CMD_PARSED(args, NULL),
    .exec = info_exec,
    .example = "INFO jobs queues",
};
