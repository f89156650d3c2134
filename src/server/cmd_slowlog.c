#include "server/commands.h"
#include "server/parts.h"
#include "server/stats.h"

struct slowlog_args {
    uint64_t given[2];
    int64_t count;
};
#define CMD_ARGS struct slowlog_args

static void one_entry(struct reply *r, const struct slow_entry *entry)
{
    reply_array(r, 6);
    reply_int(r, (int64_t)entry->id);
    reply_int(r, (int64_t)(entry->wall_ms / 1000));
    reply_int(r, (int64_t)entry->us);
    reply_array(r, entry->argc);
    for (uint32_t i = 0; i < entry->argc; i++)
        reply_bulk(r, slice_of(entry->argv[i], entry->lens[i]));
    reply_str(r, entry->addr);
    reply_str(r, entry->name);
}

static enum err get_exec(struct cmd_ctx *c)
{
    const struct slowlog_args *a = c->args;
    const struct stats *st = ctx_server(c)->parts->stats;
    int64_t left = c->argc == 2 ? 10 : a->count < 0 ? INT64_MAX : a->count;
    struct reply_mark m = reply_array_begin(c->reply);
    size_t n = 0;
    LIST_FOR (it, &st->slow) {
        if (left-- == 0)
            break;
        one_entry(c->reply, CONTAINER_OF(it, struct slow_entry, link));
        n++;
    }
    reply_array_end(c->reply, m, n);
    return ERR_OK;
}

static enum err len_exec(struct cmd_ctx *c)
{
    reply_int(c->reply, ctx_server(c)->parts->stats->slow_len);
    return ERR_OK;
}

static enum err reset_exec(struct cmd_ctx *c)
{
    slow_reset(ctx_server(c)->parts->stats);
    reply_ok(c->reply);
    return ERR_OK;
}

static const char *const lines[] = {
    "GET [<count>]",
    "    The newest entries (10, -1 is all): id, unix seconds, microseconds,",
    "    words, address, name.",
    "LEN",
    "    The number of entries.",
    "RESET",
    "    Forget them.",
    NULL,
};

static enum err help_exec(struct cmd_ctx *c)
{
    help_reply(c->reply, "SLOWLOG", lines);
    return ERR_OK;
}

static const struct arg get_args[] = {
    {"count", OPT(I64, count), .optional = true, .min = -1, .max = INT64_MAX},
    {0},
};

#define FLAGS (CMD_FREE | CMD_ADMIN | CMD_LOADING)
SUBCOMMAND(slowlog_get, "SLOWLOG|GET", "server", FLAGS, get_args, NULL,
           get_exec, "The newest slow commands.", "an array of entries");
SUBCOMMAND(slowlog_len, "SLOWLOG|LEN", "server", FLAGS, NULL, NULL, len_exec,
           "How many slow commands are kept.", "an integer");
SUBCOMMAND(slowlog_reset, "SLOWLOG|RESET", "server", FLAGS, NULL, NULL,
           reset_exec, "Forget the slow commands.", "OK");
SUBCOMMAND(slowlog_help, "SLOWLOG|HELP", "server", FLAGS, NULL, NULL, help_exec,
           "What SLOWLOG can do.", "an array of lines");

static const struct command *const subs[] = {
    &slowlog_get, &slowlog_len, &slowlog_reset, &slowlog_help, NULL,
};

const struct command cmd_slowlog = {
    .name = "SLOWLOG",
    .group = "server",
    .summary = "Commands that took longer than slowlog-log-slower-than.",
    .since = "0.1",
    .reply = "depends on the subcommand",
    .flags = FLAGS,
    .subs = subs,
};
