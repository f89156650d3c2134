/* COMMAND: what this server can do, from the same tables that parse it.
 * redis-cli makes its hints of COMMAND DOCS and asserts on the types. */
#include "commands/describe.h"
#include "server/commands.h"
#include "util/alloc.h"
#include "util/parse.h"

static const char *const filters[] = {"MODULE", "ACLCAT", "PATTERN", NULL};

struct command_args {
    uint64_t given[2];
    struct opt_list names;
    struct opt_pair filter;
};
#define CMD_ARGS struct command_args

static const struct registry *registry_of(const struct cmd_ctx *c)
{
    return &ctx_client(c)->server->registry;
}

static bool is_top(const struct cmd_entry *entry)
{
    return entry->parent == NULL;
}

static uint32_t count_top(const struct registry *reg)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < reg->len; i++)
        n += is_top(reg->entries[i]);
    return n;
}

static void info_all(struct cmd_ctx *c)
{
    const struct registry *reg = registry_of(c);
    reply_array(c->reply, count_top(reg));
    for (uint32_t i = 0; i < reg->len; i++)
        if (is_top(reg->entries[i]))
            describe_info(c->reply, reg, reg->entries[i]);
}

static enum err command_exec(struct cmd_ctx *c)
{
    info_all(c);
    return ERR_OK;
}

static enum err info_exec(struct cmd_ctx *c)
{
    const struct command_args *a = c->args;
    const struct registry *reg = registry_of(c);
    if (a->names.n == 0) {
        info_all(c);
        return ERR_OK;
    }
    reply_array(c->reply, a->names.n);
    for (uint32_t i = 0; i < a->names.n; i++) {
        const struct cmd_entry *entry =
            registry_find_full(reg, a->names.words[i]);
        if (entry == NULL)
            reply_null_array(c->reply);
        else
            describe_info(c->reply, reg, entry);
    }
    return ERR_OK;
}

static enum err count_exec(struct cmd_ctx *c)
{
    reply_int(c->reply, count_top(registry_of(c)));
    return ERR_OK;
}

static enum err docs_exec(struct cmd_ctx *c)
{
    const struct command_args *a = c->args;
    const struct registry *reg = registry_of(c);
    if (a->names.n == 0) {
        reply_map(c->reply, count_top(reg));
        for (uint32_t i = 0; i < reg->len; i++)
            if (is_top(reg->entries[i]))
                describe_docs(c->reply, reg, reg->entries[i]);
        return ERR_OK;
    }
    /* Unknown names are left out, as Redis does. */
    struct reply_mark m = reply_map_begin(c->reply);
    size_t n = 0;
    for (uint32_t i = 0; i < a->names.n; i++) {
        const struct cmd_entry *entry =
            registry_find_full(reg, a->names.words[i]);
        if (entry == NULL)
            continue;
        describe_docs(c->reply, reg, entry);
        n++;
    }
    reply_map_end(c->reply, m, n);
    return ERR_OK;
}

static bool has_category(const struct command *cmd, struct slice category)
{
    const char *words[16];
    unsigned n = describe_categories(cmd, words, ARRAY_LEN(words));
    for (unsigned i = 0; i < n; i++)
        if (slice_is(category, words[i]) || slice_is(category, words[i] + 1))
            return true;
    return false;
}

static enum err list_exec(struct cmd_ctx *c)
{
    const struct command_args *a = c->args;
    const struct registry *reg = registry_of(c);
    int kind = -1;
    for (int i = 0; cmd_given(c, "FILTERBY") && filters[i] != NULL; i++)
        if (slice_is(a->filter.key, filters[i]))
            kind = i;
    if (cmd_given(c, "FILTERBY") && kind < 0)
        return err_set(&c->e, ERR_SYNTAX,
                       "COMMAND LIST: FILTERBY wants MODULE, ACLCAT or PATTERN "
                       "and a word");
    struct reply_mark m = reply_array_begin(c->reply);
    size_t n = 0;
    for (uint32_t i = 0; i < reg->len; i++) {
        const struct cmd_entry *entry = reg->entries[i];
        bool shown = is_top(entry);
        if (kind == 0)
            shown = false; /* no command comes from a module */
        else if (kind == 1)
            shown = has_category(entry->cmd, a->filter.value);
        else if (kind == 2)
            shown = glob_match(a->filter.value, slice_str(entry->name));
        if (!shown)
            continue;
        reply_str(c->reply, entry->name);
        n++;
    }
    reply_array_end(c->reply, m, n);
    return ERR_OK;
}

struct keys {
    struct reply *reply;
    size_t n;
};

static void one_key(void *ud, struct slice key)
{
    struct keys *k = ud;
    reply_bulk(k->reply, key);
    k->n++;
}

static enum err getkeys_exec(struct cmd_ctx *c)
{
    const struct command_args *a = c->args;
    const struct cmd_entry *entry;
    struct errbuf why;
    if (registry_resolve(registry_of(c), a->names.words, a->names.n, &entry,
                         &why) != ERR_OK)
        return err_set(&c->e, ERR_SYNTAX, "Invalid command specified");
    if (!describe_has_keys(entry->cmd))
        return err_set(&c->e, ERR_SYNTAX, "The command has no key arguments");
    struct cmd_ctx inner = {.cmd = entry->cmd,
                            .argv = a->names.words,
                            .argc = a->names.n,
                            .args = mem_zalloc(entry->cmd->args_size)};
    enum err rc = cmd_parse(&inner);
    if (rc == ERR_OK) {
        struct keys k = {c->reply, 0};
        struct reply_mark m = reply_array_begin(c->reply);
        describe_keys(&inner, one_key, &k);
        reply_array_end(c->reply, m, k.n);
    } else {
        c->e = inner.e;
    }
    FREE(&inner.args);
    return rc;
}

static const char *const help_lines[] = {
    "(no subcommand)",
    "    Details of all commands.",
    "COUNT",
    "    The number of commands.",
    "LIST [FILTERBY MODULE|ACLCAT|PATTERN word]",
    "    The names of commands.",
    "INFO [command ...]",
    "    Details of these commands, or of all.",
    "DOCS [command ...]",
    "    Documentation of these commands, or of all.",
    "GETKEYS command [arg ...]",
    "    The routing keys of a full command.",
    NULL,
};

static enum err help_exec(struct cmd_ctx *c)
{
    help_reply(c->reply, "COMMAND", help_lines);
    return ERR_OK;
}

static const struct arg names_args[] = {
    {"command", OPT(BYTES, names), .optional = true, .more = true},
    {0},
};
static const struct arg getkeys_args[] = {
    {"command", OPT(BYTES, names), .more = true},
    {0},
};
static const struct opt list_opts[] = {
    {"FILTERBY", OPT(TWO, filter), "kind of filter, and what it asks for",
     "MODULE|ACLCAT|PATTERN word"},
    {0},
};

#define FLAGS (CMD_FREE | CMD_LOADING)
SUBCOMMAND(command_info, "COMMAND|INFO", "server", FLAGS, names_args, NULL,
           info_exec, "Details of commands.",
           "an array with ten fields for each");
SUBCOMMAND(command_count, "COMMAND|COUNT", "server", FLAGS, NULL, NULL,
           count_exec, "The number of commands.", "an integer");
SUBCOMMAND(command_docs, "COMMAND|DOCS", "server", FLAGS, names_args, NULL,
           docs_exec, "Documentation of commands.", "a map from names to maps");
SUBCOMMAND(command_list, "COMMAND|LIST", "server", FLAGS, NULL, list_opts,
           list_exec, "The names of commands.", "an array of names");
SUBCOMMAND(command_getkeys, "COMMAND|GETKEYS", "server", FLAGS, getkeys_args,
           NULL, getkeys_exec, "The routing keys of a full command.",
           "an array of keys");
SUBCOMMAND(command_help, "COMMAND|HELP", "server", FLAGS, NULL, NULL, help_exec,
           "What COMMAND can do.", "an array of lines");

static const struct command *const subs[] = {
    &command_info,    &command_count, &command_docs, &command_list,
    &command_getkeys, &command_help,  NULL,
};

const struct command cmd_command = {
    .name = "COMMAND",
    .group = "server",
    .summary = "Details of all commands.",
    .since = "0.1",
    .reply = "an array with ten fields for each command",
    .flags = FLAGS,
    .exec = command_exec,
    .subs = subs,
    .example = "COMMAND DOCS job.add",
};
