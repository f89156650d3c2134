#include "commands/describe.h"

#include <stdio.h>

enum { WORDS_MAX = 24 };

static bool is_key(const struct arg *a)
{
    return a->name != NULL && a->key;
}

bool describe_has_keys(const struct command *cmd)
{
    for (const struct arg *a = cmd->args; a != NULL && a->name != NULL; a++)
        if (is_key(a))
            return true;
    return false;
}

/* --- COMMAND INFO ----------------------------------------------------------*/

unsigned describe_flags(const struct command *cmd, const char **out,
                        unsigned max)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {
        {CMD_WRITE, "write"},       {CMD_READONLY, "readonly"},
        {CMD_NEW_WORK, "denyoom"},  {CMD_ADMIN, "admin"},
        {CMD_PUBSUB, "pubsub"},     {CMD_BLOCKING, "blocking"},
        {CMD_LOADING, "loading"},   {CMD_FREE, "stale"},
        {CMD_FAST, "fast"},         {CMD_NOAUTH, "no_auth"},
        {CMD_NO_MULTI, "no_multi"}, {CMD_SECRET, "skip_monitor"},
    };
    unsigned n = 0;
    for (unsigned i = 0; i < ARRAY_LEN(names) && n < max; i++)
        if ((cmd->flags & names[i].flag) != 0)
            out[n++] = names[i].name;
    if (cmd->also && describe_has_keys(cmd) && n < max)
        out[n++] = "movablekeys";
    return n;
}

unsigned describe_categories(const struct command *cmd, const char **out,
                             unsigned max)
{
    unsigned n = 0;
    const char *all[8];
    unsigned f = cmd->flags;
    if ((f & CMD_WRITE) != 0)
        all[n++] = "@write";
    if ((f & CMD_READONLY) != 0)
        all[n++] = "@read";
    if ((f & CMD_ADMIN) != 0) {
        all[n++] = "@admin";
        all[n++] = "@dangerous";
    }
    if ((f & CMD_BLOCKING) != 0)
        all[n++] = "@blocking";
    if (strcmp(cmd->group, "pubsub") == 0)
        all[n++] = "@pubsub";
    if (strcmp(cmd->group, "connection") == 0)
        all[n++] = "@connection";
    if (strcmp(cmd->group, "transactions") == 0)
        all[n++] = "@transaction";
    /* At most admin, dangerous, a group and two more: eight never fill. */
    if (n < ARRAY_LEN(all))
        all[n++] = (f & CMD_FAST) != 0 ? "@fast" : "@slow";
    n = n < max ? n : max;
    memcpy(out, all, n * sizeof(out[0]));
    return n;
}

static void reply_words(struct reply *r, const char *const *words, unsigned n)
{
    reply_array(r, n);
    for (unsigned i = 0; i < n; i++)
        reply_simple(r, words[i]);
}

/* First and last word that is a key. */
static void key_range(const struct command *cmd, int *first, int *last)
{
    int at = (int)cmd_name_words(cmd);
    *first = *last = 0;
    for (const struct arg *a = cmd->args; a != NULL && a->name != NULL;
         a++, at++) {
        if (!is_key(a))
            continue;
        if (*first == 0)
            *first = at;
        *last = a->more ? -1 : at;
    }
}

void describe_info(struct reply *r, const struct registry *reg,
                   const struct cmd_entry *entry)
{
    const char *words[WORDS_MAX];
    int first, last;
    key_range(entry->cmd, &first, &last);
    reply_array(r, 10);
    reply_str(r, entry->name);
    reply_int(r, entry->arity);
    reply_words(r, words, describe_flags(entry->cmd, words, WORDS_MAX));
    reply_int(r, first);
    reply_int(r, last);
    reply_int(r, first != 0);
    reply_words(r, words, describe_categories(entry->cmd, words, WORDS_MAX));
    reply_array(r, 0); /* tips */
    reply_array(r, 0); /* key specifications */
    uint32_t n = 0;
    for (uint32_t i = entry->number + 1; i < reg->len; i++)
        n += reg->entries[i]->parent == entry;
    reply_array(r, n);
    for (uint32_t i = entry->number + 1; i <= entry->number + n; i++)
        describe_info(r, reg, reg->entries[i]);
}

/* --- COMMAND DOCS ----------------------------------------------------------*/

static const char *type_word(enum opt_type type, bool key)
{
    if (key)
        return "key";
    switch (type) {
    case OPT_I64:
    case OPT_U64:
    case OPT_U32:
        return "integer";
    case OPT_F64:
        return "double";
    case OPT_TIME:
        return "unix-time";
    case OPT_FLAG:
        return "pure-token";
    case OPT_BYTES:
    case OPT_NAME:
    case OPT_MS:
    case OPT_SIZE:
    case OPT_ENUM:
    case OPT_PAIR:
    case OPT_LIST:
    case OPT_REST:
    case OPT_TWO:
        break;
    }
    return "string";
}

static void doc_str(struct reply *r, const char *name, const char *value)
{
    reply_str(r, name);
    reply_str(r, value);
}

/* name, type, token and flags, then `arguments` if the caller says so. */
static void doc_head(struct reply *r, const char *name, const char *type,
                     const char *token, bool optional, bool multiple,
                     bool nested)
{
    unsigned flags = (unsigned)optional + (unsigned)multiple;
    reply_map(r, 2u + (token != NULL) + (flags > 0) + nested);
    doc_str(r, "name", name);
    doc_str(r, "type", type);
    if (token != NULL)
        doc_str(r, "token", token);
    if (flags > 0) {
        reply_str(r, "flags");
        reply_array(r, flags);
        if (optional)
            reply_simple(r, "optional");
        if (multiple)
            reply_simple(r, "multiple");
    }
    if (nested)
        reply_str(r, "arguments");
}

static void doc_words(struct reply *r, const char *const *words)
{
    unsigned n = 0;
    while (words[n] != NULL)
        n++;
    reply_array(r, n);
    for (unsigned i = 0; i < n; i++)
        doc_head(r, words[i], "pure-token", words[i], false, false, false);
}

static void doc_arg(struct reply *r, const struct arg *a)
{
    if (a->type == OPT_ENUM) {
        doc_head(r, a->name, "oneof", NULL, a->optional, a->more, true);
        doc_words(r, a->words);
    } else if (a->type == OPT_LIST && !a->more) {
        doc_head(r, a->name, "block", NULL, a->optional, false, true);
        reply_array(r, 2);
        doc_head(r, "count", "integer", NULL, false, false, false);
        doc_head(r, a->name, type_word(OPT_NAME, a->key), NULL, false, true,
                 false);
    } else {
        doc_head(r, a->name, type_word(a->type, a->key), NULL, a->optional,
                 a->more, false);
    }
}

static const char *opt_value_name(const struct opt *o);

/* "from to": two words in one string. */
static void doc_two(struct reply *r, const char *names)
{
    char first[32];
    const char *blank = strchr(names, ' ');
    ASSERT(blank != NULL && (size_t)(blank - names) < sizeof(first));
    snprintf(first, sizeof(first), "%.*s", (int)(blank - names), names);
    reply_array(r, 2);
    doc_head(r, first, "string", NULL, false, false, false);
    doc_head(r, blank + 1, "string", NULL, false, false, false);
}

static void doc_opt(struct reply *r, const struct opt *opts,
                    const struct opt *o, bool optional);

static unsigned count_subs(const struct opt *opts, const struct opt *o)
{
    unsigned n = 0;
    for (const struct opt *s = opts; s->name != NULL; s++)
        n += s->parent != NULL && strcmp(s->parent, o->name) == 0;
    return n;
}

/* The option with what belongs behind it. */
static void doc_family(struct reply *r, const struct opt *opts,
                       const struct opt *o, bool optional)
{
    doc_head(r, o->name, "block", NULL, optional, o->max_count > 0, true);
    reply_array(r, 1 + count_subs(opts, o));
    struct opt plain = *o;
    plain.max_count = 0;
    doc_opt(r, (const struct opt[]){{0}}, &plain, false);
    for (const struct opt *s = opts; s->name != NULL; s++)
        if (s->parent != NULL && strcmp(s->parent, o->name) == 0)
            doc_opt(r, opts, s, true);
}

static void doc_opt(struct reply *r, const struct opt *opts,
                    const struct opt *o, bool optional)
{
    bool many = o->max_count > 0 || o->type == OPT_REST;
    if (count_subs(opts, o) > 0) {
        doc_family(r, opts, o, optional);
    } else if (o->type == OPT_ENUM) {
        doc_head(r, o->name, "oneof", o->name, optional, many, true);
        doc_words(r, o->words);
    } else if (o->type == OPT_LIST) {
        doc_head(r, o->name, "block", o->name, optional, many, true);
        reply_array(r, 2);
        doc_head(r, "count", "integer", NULL, false, false, false);
        doc_head(r, "name", "string", NULL, false, true, false);
    } else if (o->type == OPT_TWO) {
        doc_head(r, o->name, "block", o->name, optional, many, true);
        doc_two(r, opt_value_name(o));
    } else {
        doc_head(r, o->type == OPT_FLAG ? o->name : opt_value_name(o),
                 type_word(o->type, false), o->name, optional, many, false);
    }
}

static bool same_group(const struct opt *a, const struct opt *b)
{
    return a->group != NULL && b->group != NULL &&
           strcmp(a->group, b->group) == 0;
}

/* The first of its group speaks for all of them. */
static bool leads_group(const struct opt *opts, const struct opt *o)
{
    for (const struct opt *p = opts; p < o; p++)
        if (same_group(p, o))
            return false;
    return true;
}

static void doc_group(struct reply *r, const struct opt *opts,
                      const struct opt *o)
{
    unsigned n = 0;
    for (const struct opt *p = opts; p->name != NULL; p++)
        n += same_group(p, o);
    doc_head(r, o->group, "oneof", NULL, !o->required, false, true);
    reply_array(r, n);
    for (const struct opt *p = opts; p->name != NULL; p++)
        if (same_group(p, o))
            doc_opt(r, opts, p, false);
}

static unsigned doc_arguments(struct reply *r, const struct command *cmd)
{
    unsigned n = 0;
    for (const struct arg *a = cmd->args; a != NULL && a->name != NULL; a++) {
        doc_arg(r, a);
        n++;
    }
    for (const struct opt *o = cmd->opts; o != NULL && o->name != NULL; o++) {
        if (o->parent != NULL || !leads_group(cmd->opts, o))
            continue;
        if (o->group != NULL)
            doc_group(r, cmd->opts, o);
        else
            doc_opt(r, cmd->opts, o, !o->required);
        n++;
    }
    if (cmd->also) {
        doc_head(r, "also", describe_has_keys(cmd) ? "key" : "string", "ALSO",
                 true, true, false);
        n++;
    }
    return n;
}

void describe_docs(struct reply *r, const struct registry *reg,
                   const struct cmd_entry *entry)
{
    const struct command *cmd = entry->cmd;
    uint32_t subs = 0;
    for (uint32_t i = entry->number + 1; i < reg->len; i++)
        subs += reg->entries[i]->parent == entry;
    bool arguments = cmd->args != NULL || cmd->opts != NULL || cmd->also;
    reply_str(r, entry->name);
    reply_map(r, 3u + arguments + (subs > 0));
    doc_str(r, "summary", cmd->summary);
    doc_str(r, "since", cmd->since);
    doc_str(r, "group", cmd->group);
    if (arguments) {
        reply_str(r, "arguments");
        struct reply_mark m = reply_array_begin(r);
        reply_array_end(r, m, doc_arguments(r, cmd));
    }
    if (subs > 0) {
        reply_str(r, "subcommands");
        reply_map(r, subs);
        for (uint32_t i = entry->number + 1; i <= entry->number + subs; i++)
            describe_docs(r, reg, reg->entries[i]);
    }
}

/* --- keys ------------------------------------------------------------------*/

void describe_keys(const struct cmd_ctx *c, describe_key_fn fn, void *ud)
{
    uint32_t at = cmd_name_words(c->cmd);
    bool any = false;
    for (const struct arg *a = c->cmd->args;
         a != NULL && a->name != NULL && at < c->argc; a++, at++) {
        any |= is_key(a);
        if (is_key(a) && a->more)
            for (uint32_t i = at; i < c->argc; i++)
                fn(ud, c->argv[i]);
        else if (is_key(a))
            fn(ud, c->argv[at]);
        if (a->more || a->type == OPT_LIST)
            break; /* keys stand in front of lists */
    }
    if (!any || !c->cmd->also)
        return;
    const char *args = c->args;
    const struct opt_list *also =
        (const struct opt_list *)(const void *)(args + c->cmd->also_offset);
    for (uint32_t i = 0; i < also->n; i++)
        fn(ud, also->words[i]);
}

/* --- synopsis --------------------------------------------------------------*/

/* How the value is called: as the table says, else by its type. */
static const char *opt_value_name(const struct opt *o)
{
    if (o->value != NULL)
        return o->value;
    switch (o->type) {
    case OPT_FLAG:
        return "";
    case OPT_BYTES:
        return "string";
    case OPT_NAME:
        return "name";
    case OPT_I64:
    case OPT_U64:
    case OPT_U32:
        return "n";
    case OPT_F64:
        return "x";
    case OPT_MS:
        return "duration";
    case OPT_TIME:
        return "time";
    case OPT_SIZE:
        return "size";
    case OPT_ENUM:
        return "word";
    case OPT_PAIR:
        return "name=value";
    case OPT_LIST:
        return "n word...";
    case OPT_REST:
        return "word...";
    case OPT_TWO:
        return "word word";
    }
    return "";
}

static void add_words(struct buf *out, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++)
        buf_printf(out, "%s%s", i > 0 ? "|" : "", words[i]);
}

static void add_opt(struct buf *out, const struct opt *opts,
                    const struct opt *o)
{
    buf_add_str(out, o->name);
    if (o->type == OPT_ENUM) {
        buf_add_char(out, ' ');
        add_words(out, o->words);
    } else if (o->type != OPT_FLAG) {
        buf_printf(out, " %s", opt_value_name(o));
    }
    for (const struct opt *s = opts; s->name != NULL; s++) {
        if (s->parent == NULL || strcmp(s->parent, o->name) != 0)
            continue;
        buf_add_str(out, " [");
        add_opt(out, opts, s);
        buf_add_char(out, ']');
    }
}

static void add_opts(struct buf *out, const struct opt *opts)
{
    for (const struct opt *o = opts; o != NULL && o->name != NULL; o++) {
        if (o->parent != NULL || !leads_group(opts, o))
            continue;
        buf_add_str(out, o->required ? " " : " [");
        add_opt(out, opts, o);
        for (const struct opt *p = o + 1; p->name != NULL; p++) {
            if (!same_group(p, o))
                continue;
            buf_add_str(out, " | ");
            add_opt(out, opts, p);
        }
        buf_add_str(out, o->required ? "" : "]");
        buf_add_str(out, o->max_count > 0 ? "..." : "");
    }
}

static void add_name_and_args(struct buf *out, const struct command *cmd)
{
    for (const char *p = cmd->name; *p != '\0'; p++)
        buf_add_char(out, *p == '|' ? ' ' : *p);
    for (const struct arg *a = cmd->args; a != NULL && a->name != NULL; a++) {
        buf_add_str(out, a->optional ? " [" : " ");
        if (a->type == OPT_ENUM)
            add_words(out, a->words);
        else
            buf_printf(out, "%s%s%s",
                       a->type == OPT_LIST && !a->more ? "n " : "", a->name,
                       a->more || a->type == OPT_LIST ? "..." : "");
        buf_add_str(out, a->optional ? "]" : "");
    }
}

void describe_short(const struct command *cmd, struct buf *out)
{
    bool more = cmd->also;
    add_name_and_args(out, cmd);
    for (const struct opt *o = cmd->opts; o != NULL && o->name != NULL; o++) {
        more |= !o->required;
        if (o->required) {
            buf_add_char(out, ' ');
            add_opt(out, cmd->opts, o);
        }
    }
    buf_add_str(out, more ? " [...]" : "");
}

void describe_synopsis(const struct command *cmd, struct buf *out)
{
    add_name_and_args(out, cmd);
    add_opts(out, cmd->opts);
    if (cmd->also) {
        const char *what = cmd->args != NULL ? cmd->args[0].name : "word";
        buf_printf(out, " [ALSO %s...]", what);
    }
}
