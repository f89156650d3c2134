#include "server/commands.h"
#include "server/pubsub.h"

struct pubsub_args {
    uint64_t given[2];
    struct slice pattern;
    struct opt_list channels;
};
#define CMD_ARGS struct pubsub_args

struct found {
    struct reply *reply;
    size_t n;
};

static void one_channel(void *ud, struct slice channel)
{
    struct found *f = ud;
    reply_bulk(f->reply, channel);
    f->n++;
}

static enum err channels_exec(struct cmd_ctx *c)
{
    const struct pubsub_args *a = c->args;
    struct found f = {c->reply, 0};
    struct reply_mark m = reply_array_begin(c->reply);
    pubsub_each(ctx_server(c), a->pattern, one_channel, &f);
    reply_array_end(c->reply, m, f.n);
    return ERR_OK;
}

static enum err numsub_exec(struct cmd_ctx *c)
{
    const struct pubsub_args *a = c->args;
    reply_array(c->reply, (size_t)a->channels.n * 2);
    for (uint32_t i = 0; i < a->channels.n; i++) {
        struct slice name = a->channels.words[i];
        reply_bulk(c->reply, name);
        reply_int(c->reply, (int64_t)pubsub_listeners(ctx_server(c), name));
    }
    return ERR_OK;
}

static enum err numpat_exec(struct cmd_ctx *c)
{
    reply_int(c->reply, (int64_t)pubsub_pattern_count(ctx_server(c)));
    return ERR_OK;
}

/* There is no cluster, so nothing is sharded. */
static enum err shardchannels_exec(struct cmd_ctx *c)
{
    reply_array(c->reply, 0);
    return ERR_OK;
}

static const char *const lines[] = {
    "CHANNELS [<pattern>]",
    "    The channels that somebody listens to.",
    "NUMPAT",
    "    The number of patterns.",
    "NUMSUB [<channel> ...]",
    "    How many listen to these channels.",
    NULL,
};

static enum err help_exec(struct cmd_ctx *c)
{
    help_reply(c->reply, "PUBSUB", lines);
    return ERR_OK;
}

static const struct arg pattern_args[] = {
    {"pattern", OPT(BYTES, pattern), .optional = true},
    {0},
};
static const struct arg channels_args[] = {
    {"channel", OPT(BYTES, channels), .optional = true, .more = true},
    {0},
};

#define FLAGS (CMD_FREE | CMD_LOADING)
SUBCOMMAND(pubsub_channels_cmd, "PUBSUB|CHANNELS", "pubsub", FLAGS,
           pattern_args, NULL, channels_exec,
           "The channels that somebody listens to.", "an array of names");
SUBCOMMAND(pubsub_numsub, "PUBSUB|NUMSUB", "pubsub", FLAGS, channels_args, NULL,
           numsub_exec, "How many listen to channels.",
           "an array: name, number ...");
SUBCOMMAND(pubsub_numpat, "PUBSUB|NUMPAT", "pubsub", FLAGS, NULL, NULL,
           numpat_exec, "The number of patterns.", "an integer");
SUBCOMMAND(pubsub_shardchannels, "PUBSUB|SHARDCHANNELS", "pubsub", FLAGS,
           pattern_args, NULL, shardchannels_exec, "There are none.",
           "an empty array");
SUBCOMMAND(pubsub_help, "PUBSUB|HELP", "pubsub", FLAGS, NULL, NULL, help_exec,
           "What PUBSUB can do.", "an array of lines");

static const struct command *const subs[] = {
    &pubsub_channels_cmd,  &pubsub_numsub, &pubsub_numpat,
    &pubsub_shardchannels, &pubsub_help,   NULL,
};

const struct command cmd_pubsub = {
    .name = "PUBSUB",
    .group = "pubsub",
    .summary = "Who listens to what.",
    .since = "0.1",
    .reply = "depends on the subcommand",
    .flags = FLAGS,
    .subs = subs,
};
