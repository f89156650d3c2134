#include "commands/registry.h"

#include <ctype.h>
#include <stdio.h>

#include "util/alloc.h"

#define COMMAND(entry) extern const struct command cmd_##entry;
#include "commands/registry.def"
#undef COMMAND

const struct command *const registry_jobs[] = {
#define COMMAND(entry) &cmd_##entry,
#include "commands/registry.def"
#undef COMMAND
    NULL,
};

enum { NAMES_MAX = 512 };

void registry_init(struct registry *r)
{
    *r = (struct registry){0};
    words_init(&r->names, NAMES_MAX);
}

void registry_release(struct registry *r)
{
    for (uint32_t i = 0; i < r->len; i++) {
        words_release(&r->entries[i]->subs);
        mem_free(r->entries[i]->name);
        mem_free(r->entries[i]);
    }
    FREE(&r->entries);
    words_release(&r->names);
    r->len = r->cap = 0;
}

static struct cmd_entry *add_entry(struct registry *r,
                                   const struct command *cmd,
                                   const struct cmd_entry *parent)
{
    struct cmd_entry *entry = NEW(struct cmd_entry);
    entry->cmd = cmd;
    entry->number = r->len;
    cmd_set_number(cmd, r->len);
    entry->arity = cmd_arity(cmd);
    entry->parent = parent;
    entry->name = mem_dup(slice_str(cmd->name));
    for (char *p = entry->name; *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
    if (r->len == r->cap) {
        r->cap = r->cap == 0 ? 64 : r->cap * 2;
        r->entries = mem_realloc(r->entries, r->cap * sizeof(r->entries[0]));
    }
    r->entries[r->len++] = entry;
    return entry;
}

static void add_subs(struct registry *r, struct cmd_entry *entry)
{
    const struct command *const *subs = entry->cmd->subs;
    uint32_t n = 0;
    while (subs[n] != NULL)
        n++;
    words_init(&entry->subs, n);
    for (uint32_t i = 0; i < n; i++) {
        const char *bar = strchr(subs[i]->name, '|');
        ASSERT(bar != NULL);
        ASSERT(subs[i]->subs == NULL && subs[i]->exec != NULL);
        bool fresh = words_add(&entry->subs, bar + 1, r->len);
        ASSERT(fresh);
        (void)add_entry(r, subs[i], entry);
    }
}

void registry_add(struct registry *r, const struct command *const *table)
{
    for (; *table != NULL; table++) {
        bool fresh = words_add(&r->names, (*table)->name, r->len);
        ASSERT(fresh);
        ASSERT((*table)->exec != NULL || (*table)->subs != NULL);
        struct cmd_entry *entry = add_entry(r, *table, NULL);
        if ((*table)->subs != NULL)
            add_subs(r, entry);
    }
}

const struct cmd_entry *registry_find(const struct registry *r,
                                      struct slice name)
{
    int64_t n = words_find(&r->names, name);
    return n < 0 ? NULL : r->entries[n];
}

const struct cmd_entry *registry_find_sub(const struct registry *r,
                                          const struct cmd_entry *entry,
                                          struct slice name)
{
    int64_t n = words_find(&entry->subs, name);
    return n < 0 ? NULL : r->entries[n];
}

const struct cmd_entry *registry_find_full(const struct registry *r,
                                           struct slice name)
{
    const char *bar = name.len == 0 ? NULL : memchr(name.data, '|', name.len);
    if (bar == NULL)
        return registry_find(r, name);
    size_t n = (size_t)(bar - name.data);
    const struct cmd_entry *entry = registry_find(r, slice_of(name.data, n));
    if (entry == NULL)
        return NULL;
    return registry_find_sub(r, entry, slice_of(bar + 1, name.len - n - 1));
}

/* The known name that takes the fewest edits, if it is near enough. */
static const struct cmd_entry *nearest(const struct registry *r,
                                       const struct cmd_entry *parent,
                                       struct slice name)
{
    const struct cmd_entry *near = NULL;
    unsigned best = name.len <= 4 ? 2 : 3; /* fewer than this */
    for (uint32_t i = 0; i < r->len; i++) {
        const struct cmd_entry *entry = r->entries[i];
        if (entry->parent != parent)
            continue;
        const char *word = entry->name;
        if (parent != NULL)
            word = strchr(word, '|') + 1;
        unsigned d = words_distance(slice_str(word), name, best);
        if (d < best && d < strlen(word)) {
            best = d;
            near = entry;
        }
    }
    return near;
}

/* C strings, as Redis prints them: a NUL ends the word. */
static int shown_len(struct slice s, size_t max)
{
    return (int)(s.len == 0 ? 0 : strnlen(s.data, s.len < max ? s.len : max));
}

static enum err unknown_command(const struct registry *r,
                                const struct slice *argv, uint32_t argc,
                                struct errbuf *e)
{
    enum { SHOWN = 128 };
    char args[SHOWN + 8];
    size_t n = 0;
    args[0] = '\0';
    for (uint32_t i = 1; i < argc && n < SHOWN; i++) {
        int len = shown_len(argv[i], SHOWN - n);
        n += (size_t)snprintf(args + n, sizeof(args) - n, "'%.*s' ", len,
                              argv[i].data);
    }
    const struct cmd_entry *near = nearest(r, NULL, argv[0]);
    return err_set(e, ERR_SYNTAX,
                   "unknown command '%.*s', with args beginning with: %s%s%s%s",
                   shown_len(argv[0], SHOWN), argv[0].data, args,
                   near != NULL ? "did you mean '" : "",
                   near != NULL ? near->cmd->name : "",
                   near != NULL ? "'?" : "");
}

static enum err unknown_sub(const struct registry *r,
                            const struct cmd_entry *entry, struct slice name,
                            struct errbuf *e)
{
    const struct cmd_entry *near = nearest(r, entry, name);
    return err_set(e, ERR_SYNTAX,
                   "unknown subcommand '%.*s'. Try %s HELP.%s%s%s",
                   shown_len(name, 128), name.data, entry->cmd->name,
                   near != NULL ? " Did you mean '" : "",
                   near != NULL ? strchr(near->cmd->name, '|') + 1 : "",
                   near != NULL ? "'?" : "");
}

enum err registry_resolve(const struct registry *r, const struct slice *argv,
                          uint32_t argc, const struct cmd_entry **out,
                          struct errbuf *e)
{
    ASSERT(argc > 0);
    const struct cmd_entry *entry = registry_find(r, argv[0]);
    if (entry == NULL)
        return unknown_command(r, argv, argc, e);
    if (entry->cmd->subs != NULL) {
        if (argc > 1) {
            const struct cmd_entry *sub = registry_find_sub(r, entry, argv[1]);
            if (sub == NULL)
                return unknown_sub(r, entry, argv[1], e);
            entry = sub;
        } else if (entry->cmd->exec == NULL) {
            return err_set(e, ERR_SYNTAX,
                           "wrong number of arguments for '%s' command",
                           entry->name);
        }
    }
    *out = entry;
    return ERR_OK;
}
