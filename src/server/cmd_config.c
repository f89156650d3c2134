#include "server/commands.h"
#include "server/stats.h"

struct config_args {
    uint64_t given[2];
    struct opt_list words;
};
#define CMD_ARGS struct config_args

struct found {
    struct reply *reply;
    size_t n;
};

static void one_value(void *ud, const char *name, struct slice value)
{
    struct found *f = ud;
    reply_str(f->reply, name);
    reply_bulk(f->reply, value);
    f->n++;
}

static enum err get_exec(struct cmd_ctx *c)
{
    const struct config_args *a = c->args;
    struct found f = {c->reply, 0};
    struct reply_mark m = reply_map_begin(c->reply);
    conf_get(ctx_server(c)->conf, a->words.words, a->words.n, one_value, &f);
    reply_map_end(c->reply, m, f.n);
    return ERR_OK;
}

static enum err set_exec(struct cmd_ctx *c)
{
    const struct config_args *a = c->args;
    if (a->words.n % 2 != 0)
        return err_set(&c->e, ERR_SYNTAX,
                       "wrong number of arguments for 'config|set' command");
    enum err rc =
        conf_set(ctx_server(c)->conf, a->words.words, a->words.n, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

/* What no directive is called may be a password in the wrong place. */
static bool set_shows(const struct slice *argv, uint32_t i)
{
    return conf_is_public(argv[i - i % 2], i % 2 != 0);
}

static enum err rewrite_exec(struct cmd_ctx *c)
{
    enum err rc = conf_rewrite(ctx_server(c)->conf, &c->e);
    if (rc == ERR_STATE) /* clients know this one as Redis' */
        return err_set(&c->e, ERR_SYNTAX,
                       "The server is running without a config file");
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static enum err resetstat_exec(struct cmd_ctx *c)
{
    struct server *s = ctx_server(c);
    s->stats = (struct server_stats){0};
    stats_reset(s);
    reply_ok(c->reply);
    return ERR_OK;
}

static const char *const lines[] = {
    "GET <pattern> [<pattern> ...]",
    "    The directives that match, with their values.",
    "SET <directive> <value> [<directive> <value> ...]",
    "    Set all of them, or none.",
    "REWRITE",
    "    Write the present values into the file that was read at start.",
    "RESETSTAT",
    "    Set the counters of INFO to zero.",
    NULL,
};

static enum err help_exec(struct cmd_ctx *c)
{
    help_reply(c->reply, "CONFIG", lines);
    return ERR_OK;
}

static const struct arg get_args[] = {
    {"pattern", OPT(BYTES, words), .more = true},
    {0},
};
static const struct arg set_args[] = {
    {"directive value", OPT(BYTES, words), .more = true},
    {0},
};

#define FLAGS (CMD_FREE | CMD_ADMIN | CMD_LOADING)
SUBCOMMAND(config_get, "CONFIG|GET", "server", FLAGS, get_args, NULL, get_exec,
           "Directives that match patterns.", "a map from names to values");
static const struct command config_set = {
    .name = "CONFIG|SET",
    .group = "server",
    .summary = "Set directives, all or none.",
    .since = "0.1",
    .reply = "OK",
    .flags = FLAGS | CMD_SECRET,
    CMD_PARSED(set_args, NULL),
    .exec = set_exec,
    .shows = set_shows,
};
SUBCOMMAND(config_rewrite, "CONFIG|REWRITE", "server", FLAGS, NULL, NULL,
           rewrite_exec, "Write the present values into the file.", "OK");
SUBCOMMAND(config_resetstat, "CONFIG|RESETSTAT", "server", FLAGS, NULL, NULL,
           resetstat_exec, "Set the counters of INFO to zero.", "OK");
SUBCOMMAND(config_help, "CONFIG|HELP", "server", FLAGS, NULL, NULL, help_exec,
           "What CONFIG can do.", "an array of lines");

static const struct command *const subs[] = {
    &config_get,       &config_set,  &config_rewrite,
    &config_resetstat, &config_help, NULL,
};

const struct command cmd_config = {
    .name = "CONFIG",
    .group = "server",
    .summary = "Read and change the configuration.",
    .since = "0.1",
    .reply = "depends on the subcommand",
    .flags = FLAGS,
    .subs = subs,
    .example = "CONFIG SET appendfsync everysec",
};
