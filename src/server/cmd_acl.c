/* ACL, as far as there is something to say: one user, `default`, who may do
 * everything. */
#include <stdio.h>

#include "commands/describe.h"
#include "server/commands.h"

struct acl_args {
    uint64_t given[2];
    struct slice word;
    uint64_t bits;
};
#define CMD_ARGS struct acl_args

static enum err whoami_exec(struct cmd_ctx *c)
{
    reply_str(c->reply, "default");
    return ERR_OK;
}

static enum err users_exec(struct cmd_ctx *c)
{
    reply_array(c->reply, 1);
    reply_str(c->reply, "default");
    return ERR_OK;
}

static enum err list_exec(struct cmd_ctx *c)
{
    bool open = *ctx_server(c)->cf->requirepass == '\0';
    reply_array(c->reply, 1);
    reply_printf(c->reply, "user default on %s~* &* +@all",
                 open ? "nopass " : "");
    return ERR_OK;
}

static enum err getuser_exec(struct cmd_ctx *c)
{
    const struct acl_args *a = c->args;
    bool open = *ctx_server(c)->cf->requirepass == '\0';
    if (!slice_eq(a->word, SLICE_LIT("default"))) {
        reply_null(c->reply);
        return ERR_OK;
    }
    reply_map(c->reply, 6);
    reply_str(c->reply, "flags");
    reply_array(c->reply, open ? 2 : 1);
    reply_str(c->reply, "on");
    if (open)
        reply_str(c->reply, "nopass");
    reply_str(c->reply, "passwords");
    reply_array(c->reply, 0);
    reply_field_str(c->reply, "commands", SLICE_LIT("+@all"));
    reply_field_str(c->reply, "keys", SLICE_LIT("~*"));
    reply_field_str(c->reply, "channels", SLICE_LIT("&*"));
    reply_str(c->reply, "selectors");
    reply_array(c->reply, 0);
    return ERR_OK;
}

static const char *const categories[] = {
    "admin",  "blocking", "connection", "dangerous",   "fast",
    "pubsub", "read",     "slow",       "transaction", "write",
};

static bool has_category(const struct command *cmd, struct slice category)
{
    const char *words[16];
    unsigned n = describe_categories(cmd, words, ARRAY_LEN(words));
    for (unsigned i = 0; i < n; i++)
        if (slice_is(category, words[i] + 1))
            return true;
    return false;
}

static enum err cat_exec(struct cmd_ctx *c)
{
    const struct acl_args *a = c->args;
    const struct registry *reg = &ctx_server(c)->registry;
    if (c->argc == 2) {
        reply_array(c->reply, ARRAY_LEN(categories));
        for (size_t i = 0; i < ARRAY_LEN(categories); i++)
            reply_str(c->reply, categories[i]);
        return ERR_OK;
    }
    struct reply_mark m = reply_array_begin(c->reply);
    size_t n = 0;
    for (uint32_t i = 0; i < reg->len; i++) {
        if (!has_category(reg->entries[i]->cmd, a->word))
            continue;
        reply_str(c->reply, reg->entries[i]->name);
        n++;
    }
    if (n == 0)
        return err_set(&c->e, ERR_SYNTAX, "Unknown category '%.*s'",
                       (int)(a->word.len < 64 ? a->word.len : 64),
                       a->word.data);
    reply_array_end(c->reply, m, n);
    return ERR_OK;
}

static enum err genpass_exec(struct cmd_ctx *c)
{
    const struct acl_args *a = c->args;
    char text[1024 + 16];
    unsigned char bytes[512];
    uint64_t digits = c->argc == 2 ? 64 : (a->bits + 3) / 4;
    FILE *f = fopen("/dev/urandom", "re");
    size_t got = f == NULL ? 0 : fread(bytes, 1, sizeof(bytes), f);
    if (f != NULL)
        (void)fclose(f);
    if (got != sizeof(bytes))
        return err_set(&c->e, ERR_IO, "ACL GENPASS: /dev/urandom");
    for (uint64_t i = 0; i < digits; i++)
        text[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 * 4) & 15];
    reply_bulk(c->reply, slice_of(text, digits));
    return ERR_OK;
}

static const char *const lines[] = {
    "CAT [<category>]",
    "    The categories, or the commands of one.",
    "GENPASS [<bits>]",
    "    A random password.",
    "GETUSER <username>",
    "    What a user may do.",
    "LIST",
    "    The users, as configuration lines.",
    "USERS",
    "    The names of the users.",
    "WHOAMI",
    "    The user of this connection.",
    NULL,
};

static enum err help_exec(struct cmd_ctx *c)
{
    help_reply(c->reply, "ACL", lines);
    return ERR_OK;
}

static const struct arg user_args[] = {{"username", OPT(BYTES, word)}, {0}};
static const struct arg category_args[] = {
    {"category", OPT(BYTES, word), .optional = true},
    {0},
};
static const struct arg bits_args[] = {
    {"bits", OPT(U64, bits), .optional = true, .min = 1, .max = 4096},
    {0},
};

#define FLAGS (CMD_FREE | CMD_LOADING)
SUBCOMMAND(acl_whoami, "ACL|WHOAMI", "server", FLAGS, NULL, NULL, whoami_exec,
           "The user of this connection.", "a name");
SUBCOMMAND(acl_users, "ACL|USERS", "server", FLAGS | CMD_ADMIN, NULL, NULL,
           users_exec, "The names of the users.", "an array of names");
SUBCOMMAND(acl_list, "ACL|LIST", "server", FLAGS | CMD_ADMIN, NULL, NULL,
           list_exec, "The users, as configuration lines.",
           "an array of lines");
SUBCOMMAND(acl_getuser, "ACL|GETUSER", "server", FLAGS | CMD_ADMIN, user_args,
           NULL, getuser_exec, "What a user may do.", "a map, or null");
SUBCOMMAND(acl_cat, "ACL|CAT", "server", FLAGS, category_args, NULL, cat_exec,
           "Categories of commands.", "an array of names");
SUBCOMMAND(acl_genpass, "ACL|GENPASS", "server", FLAGS, bits_args, NULL,
           genpass_exec, "A random password.", "a string");
SUBCOMMAND(acl_help, "ACL|HELP", "server", FLAGS, NULL, NULL, help_exec,
           "What ACL can do.", "an array of lines");

static const struct command *const subs[] = {
    &acl_whoami, &acl_users,   &acl_list, &acl_getuser,
    &acl_cat,    &acl_genpass, &acl_help, NULL,
};

const struct command cmd_acl = {
    .name = "ACL",
    .group = "server",
    .summary = "Users: there is one, who may do everything.",
    .since = "0.1",
    .reply = "depends on the subcommand",
    .flags = FLAGS,
    .subs = subs,
};
