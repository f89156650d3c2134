/* Parsing a command's words by its table.
 *
 *  1. the index of the command is found (made at its first use);
 *  2. arity: fewer words than the required ones, or more than all of them in
 *     a command without options, is Redis' arity error;
 *  3. positional arguments, in order;
 *  4. options until the words end or ALSO is met: lookup, duplicates, groups,
 *     parents, value;
 *  5. ALSO: what is left;
 *  6. required options and the command's own check().
 *
 * Only the loop's thread parses; the indexes are not locked.
 */
#include "commands/command.h"

#include <ctype.h>
#include <stdio.h>

#include "commands/describe.h"
#include "commands/value.h"
#include "util/alloc.h"
#include "util/parse.h"
#include "util/words.h"

enum { GROUPS_MAX = 16, NO_OPT = 255 };

/* What a table means, worked out once. */
struct cmd_index {
    const struct command *cmd;
    struct words words;       /* option name -> number; ALSO -> ALSO_WORD */
    uint8_t group[OPTS_MAX];  /* number of the option's group, 0 = none */
    uint8_t parent[OPTS_MAX]; /* number of its parent, or NO_OPT */
    uint32_t number;
    unsigned name_words;
    unsigned required; /* words, with the name's */
    unsigned n_args, n_opts;
    size_t clear; /* bytes of the struct that must be zero */
    bool open;    /* more words than the required may follow */
    bool has_required_opts;
    const char *shown_name; /* "CLIENT LIST" */
};

#define ALSO_WORD OPTS_MAX

/* --- the indexes, by the address of their table ----------------------------*/

static struct {
    struct cmd_index **slots;
    uint32_t mask, len;
} indexes;

static uint32_t slot_of(const struct command *cmd)
{
    uint64_t x = (uint64_t)(uintptr_t)cmd * 0x9e3779b97f4a7c15u;
    return (uint32_t)(x >> 40);
}

static void indexes_put(struct cmd_index *ix)
{
    uint32_t i = slot_of(ix->cmd);
    while (indexes.slots[i & indexes.mask] != NULL)
        i++;
    indexes.slots[i & indexes.mask] = ix;
}

static void indexes_grow(void)
{
    struct cmd_index **old = indexes.slots;
    uint32_t n = old == NULL ? 0 : indexes.mask + 1;
    indexes.mask = n == 0 ? 1023 : n * 2 - 1;
    indexes.slots = mem_zalloc((indexes.mask + 1) * sizeof(old[0]));
    for (uint32_t i = 0; i < n; i++)
        if (old[i] != NULL)
            indexes_put(old[i]);
    mem_free(old);
}

unsigned cmd_name_words(const struct command *cmd)
{
    return strchr(cmd->name, '|') == NULL ? 1 : 2;
}

struct slice cmd_shown_word(const struct command *cmd, const struct slice *argv,
                            uint32_t i)
{
    if ((cmd->flags & CMD_SECRET) == 0 || i < cmd_name_words(cmd) ||
        (cmd->shows != NULL && cmd->shows(argv, i)))
        return argv[i];
    return SLICE_LIT("(redacted)");
}

static void count_args(const struct command *cmd, struct cmd_index *ix)
{
    ix->name_words = ix->required = cmd_name_words(cmd);
    bool last = false;
    for (const struct arg *a = cmd->args; a != NULL && a->name != NULL; a++) {
        ASSERT(!last || (a->optional && !a[-1].more));
        last = a->optional || a->more;
        ix->open |= last || a->type == OPT_LIST;
        ix->n_args++;
        if (!a->optional) /* a list has its count and a word at least */
            ix->required += a->type == OPT_LIST ? 2 : 1;
    }
    ix->open |= cmd->also;
}

static void index_opts(const struct command *cmd, struct cmd_index *ix)
{
    const char *groups[GROUPS_MAX] = {NULL};
    while (cmd->opts != NULL && cmd->opts[ix->n_opts].name != NULL)
        ix->n_opts++;
    ASSERT(ix->n_opts <= OPTS_MAX);
    words_init(&ix->words, ix->n_opts + 1);
    for (unsigned i = 0; i < ix->n_opts; i++) {
        const struct opt *o = &cmd->opts[i];
        bool fresh = words_add(&ix->words, o->name, i);
        ASSERT(fresh || o->parent != NULL);
        ASSERT(o->type != OPT_ENUM || o->words != NULL);
        /* What is not cleared is counted. */
        ASSERT(o->max_count > 0 || o->parent != NULL || o->offset < ix->clear);
        ix->parent[i] = NO_OPT;
        for (unsigned k = 0; o->parent != NULL && k < i; k++)
            if (strcmp(cmd->opts[k].name, o->parent) == 0)
                ix->parent[i] = (uint8_t)k;
        ASSERT(o->parent == NULL || ix->parent[i] != NO_OPT);
        unsigned g = 1;
        for (; o->group != NULL && groups[g] != NULL; g++) {
            ASSERT(g + 1 < GROUPS_MAX);
            if (strcmp(groups[g], o->group) == 0)
                break;
        }
        if (o->group != NULL) {
            groups[g] = o->group;
            ix->group[i] = (uint8_t)g;
        }
        ix->has_required_opts |= o->required;
        ix->open = true;
    }
    if (cmd->also) {
        bool fresh = words_add(&ix->words, "ALSO", ALSO_WORD);
        ASSERT(fresh);
    }
}

static struct cmd_index *index_make(const struct command *cmd)
{
    struct cmd_index *ix = NEW(struct cmd_index);
    ix->cmd = cmd;
    ix->clear = cmd->clear_size > 0 ? cmd->clear_size : cmd->args_size;
    count_args(cmd, ix);
    index_opts(cmd, ix);
    char *shown = mem_dup(slice_str(cmd->name));
    for (char *p = shown; *p != '\0'; p++)
        if (*p == '|')
            *p = ' ';
    ix->shown_name = shown;
    if (indexes.slots == NULL || indexes.len >= indexes.mask / 2)
        indexes_grow();
    indexes_put(ix);
    indexes.len++;
    return ix;
}

static struct cmd_index *index_of(const struct command *cmd)
{
    if (indexes.slots != NULL)
        for (uint32_t i = slot_of(cmd);; i++) {
            struct cmd_index *ix = indexes.slots[i & indexes.mask];
            if (ix == NULL)
                break;
            if (ix->cmd == cmd)
                return ix;
        }
    return index_make(cmd);
}

uint32_t cmd_number(const struct command *cmd)
{
    return index_of(cmd)->number;
}

void cmd_set_number(const struct command *cmd, uint32_t number)
{
    index_of(cmd)->number = number;
}

int cmd_arity(const struct command *cmd)
{
    const struct cmd_index *ix = index_of(cmd);
    if (cmd->subs != NULL)
        return cmd->exec == NULL ? -2 : -1;
    return ix->open ? -(int)ix->required : (int)ix->required;
}

/* --- parsing ---------------------------------------------------------------*/

struct parse {
    struct cmd_ctx *c;
    const struct cmd_index *ix;
    uint32_t at;     /* next word */
    unsigned parent; /* option whose sub-options may follow */
    void *element;   /* of that parent, where they are stored */
    uint64_t *given;
    uint64_t given_subs[2];       /* since the parent's last word */
    uint8_t of_group[GROUPS_MAX]; /* which option spoke for it, + 1 */
};

static bool bit_get(const uint64_t *set, unsigned i)
{
    return (set[i / 64] >> (i % 64) & 1) != 0;
}

static void bit_set(uint64_t *set, unsigned i)
{
    set[i / 64] |= (uint64_t)1 << (i % 64);
}

enum err cmd_wrong_arity(const struct command *cmd, struct errbuf *e)
{
    char name[64];
    size_t i = 0;
    struct buf usage = {0};
    for (; cmd->name[i] != '\0' && i < sizeof(name) - 1; i++)
        name[i] = (char)tolower((unsigned char)cmd->name[i]);
    name[i] = '\0';
    /* The others have exactly Redis' text. */
    if (strchr(name, '.') != NULL) {
        buf_add_str(&usage, ": ");
        describe_short(cmd, &usage);
    }
    err_set(e, ERR_SYNTAX, "wrong number of arguments for '%s' command%s", name,
            buf_cstr(&usage));
    buf_release(&usage);
    return ERR_SYNTAX;
}

static enum err wrong_arity(struct cmd_ctx *c)
{
    return cmd_wrong_arity(c->cmd, &c->e);
}

static struct value_spec spec_of_arg(const struct parse *p, const struct arg *a)
{
    return (struct value_spec){p->ix->shown_name, a->name, a->type,
                               a->words,          a->min,  a->max};
}

static struct value_spec spec_of_opt(const struct parse *p, const struct opt *o)
{
    return (struct value_spec){p->ix->shown_name, o->name, o->type,
                               o->words,          o->min,  o->max};
}

/* "n word...": the count is at p->at. */
static enum err parse_list(struct parse *p, const struct value_spec *spec,
                           struct opt_list *to)
{
    struct cmd_ctx *c = p->c;
    struct value_spec count = *spec;
    uint64_t n;
    count.type = OPT_U64;
    count.min = 1;
    enum err rc = value_parse(&count, c->argv[p->at], &n, &c->e);
    if (rc != ERR_OK)
        return rc;
    p->at++;
    if (n > c->argc - p->at)
        return err_set(&c->e, ERR_SYNTAX,
                       "%s: %s says %llu words, but %u follow", spec->command,
                       spec->name, (unsigned long long)n, c->argc - p->at);
    to->words = &c->argv[p->at];
    to->n = (uint32_t)n;
    p->at += to->n;
    return ERR_OK;
}

static enum err parse_more(struct parse *p, const struct value_spec *spec,
                           struct opt_list *to)
{
    struct cmd_ctx *c = p->c;
    to->words = &c->argv[p->at];
    to->n = c->argc - p->at;
    for (; p->at < c->argc && spec->type == OPT_NAME; p->at++) {
        struct slice unused;
        enum err rc = value_parse(spec, c->argv[p->at], &unused, &c->e);
        if (rc != ERR_OK)
            return rc;
    }
    p->at = c->argc;
    return ERR_OK;
}

static enum err parse_args(struct parse *p)
{
    struct cmd_ctx *c = p->c;
    const struct arg *a = c->cmd->args;
    for (unsigned i = 0; i < p->ix->n_args; i++, a++) {
        if (a->optional &&
            (p->at == c->argc || (a->alone && p->at + 1 < c->argc) ||
             words_find(&p->ix->words, c->argv[p->at]) >= 0))
            break;
        /* Lists in front may have taken more than their share. */
        if (p->at == c->argc)
            return wrong_arity(c);
        void *to = (char *)c->args + a->offset;
        if (a->type == OPT_BYTES && a->max == 0 && !a->more) {
            *(struct slice *)to = c->argv[p->at++];
            continue;
        }
        struct value_spec spec = spec_of_arg(p, a);
        enum err rc;
        if (a->more)
            rc = parse_more(p, &spec, to);
        else if (a->type == OPT_LIST)
            rc = parse_list(p, &spec, to);
        else
            rc = value_parse(&spec, c->argv[p->at++], to, &c->e);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

/* The nearest option, or all of them as far as they fit. */
static enum err unknown_word(struct parse *p, struct slice word)
{
    struct cmd_ctx *c = p->c;
    char shown[80];
    const char *near = NULL;
    unsigned best = 3;
    if (p->ix->n_opts == 0 && !c->cmd->also)
        return wrong_arity(c);
    struct buf all = {0};
    for (unsigned i = 0; i < p->ix->n_opts; i++) {
        const char *name = c->cmd->opts[i].name;
        unsigned d = words_distance(slice_str(name), word, 2);
        if (d < best && d < strlen(name)) {
            best = d;
            near = name;
        }
        buf_printf(&all, "%s%s", i > 0 ? ", " : "", name);
    }
    if (c->cmd->also)
        buf_add_str(&all, all.len > 0 ? ", ALSO" : "ALSO");
    (void)value_shown(word, shown, sizeof(shown));
    if (near != NULL)
        (void)err_set(&c->e, ERR_SYNTAX,
                      "%s: unknown option '%s', did you mean %s?",
                      p->ix->shown_name, shown, near);
    else
        (void)err_set(
            &c->e, ERR_SYNTAX, "%s: unknown option '%s', allowed are %.*s%s",
            p->ix->shown_name, shown, all.len > 220 ? 220 : (int)all.len,
            all.data, all.len > 220 ? " ..." : "");
    buf_release(&all);
    return ERR_SYNTAX;
}

/* A sub-option's name may stand in the table once for each parent. */
static unsigned find_sub(const struct parse *p, unsigned i)
{
    const struct opt *opts = p->c->cmd->opts;
    if (opts[i].parent == NULL || p->ix->parent[i] == p->parent)
        return i;
    for (unsigned k = i + 1; k < p->ix->n_opts; k++)
        if (p->ix->parent[k] == p->parent && p->parent != NO_OPT &&
            strcmp(opts[k].name, opts[i].name) == 0)
            return k;
    return i;
}

/* May option `i` stand here? */
static enum err admit(struct parse *p, unsigned i)
{
    struct cmd_ctx *c = p->c;
    const struct opt *o = &c->cmd->opts[i];
    if (o->parent != NULL) {
        if (p->ix->parent[i] != p->parent)
            return err_set(&c->e, ERR_SYNTAX,
                           "%s: %s belongs directly behind %s",
                           p->ix->shown_name, o->name, o->parent);
        if (bit_get(p->given_subs, i))
            return err_set(&c->e, ERR_SYNTAX,
                           "%s: %s was given twice for one "
                           "%s",
                           p->ix->shown_name, o->name, o->parent);
        bit_set(p->given_subs, i);
    } else if (o->max_count == 0 && bit_get(p->given, i)) {
        return err_set(&c->e, ERR_SYNTAX, "%s: %s was given twice",
                       p->ix->shown_name, o->name);
    }
    unsigned g = p->ix->group[i];
    if (g != 0 && p->of_group[g] != 0 && p->of_group[g] != i + 1)
        return err_set(&c->e, ERR_SYNTAX, "%s: %s and %s exclude each other",
                       p->ix->shown_name, c->cmd->opts[p->of_group[g] - 1].name,
                       o->name);
    p->of_group[g] = (uint8_t)(i + 1);
    bit_set(p->given, i);
    return ERR_OK;
}

/* Where the value goes; counts a repeatable one. */
static enum err place(struct parse *p, unsigned i, void **to)
{
    struct cmd_ctx *c = p->c;
    const struct opt *o = &c->cmd->opts[i];
    char *args = c->args;
    if (o->parent != NULL) {
        *to = (char *)p->element + o->offset;
        return ERR_OK;
    }
    *to = args + o->offset;
    p->element = args;
    if (o->max_count > 0) {
        uint32_t *count = (uint32_t *)(void *)(args + o->count_offset);
        if (*count == o->max_count)
            return err_set(&c->e, ERR_LIMIT,
                           "%s: %s was given more than %u times",
                           p->ix->shown_name, o->name, o->max_count);
        *to = (char *)*to + (size_t)*count * o->elem_size;
        p->element = *to;
        memset(*to, 0, o->elem_size);
        (*count)++;
    }
    p->parent = i;
    p->given_subs[0] = p->given_subs[1] = 0;
    return ERR_OK;
}

/* They are a map, so no key may come twice. */
static enum err pair_once(struct parse *p, const struct opt *o,
                          const struct opt_pair *last)
{
    struct cmd_ctx *c = p->c;
    const struct opt_pair *at = (void *)((char *)c->args + o->offset);
    char shown[80];
    for (; at < last; at++)
        if (slice_eq(at->key, last->key))
            return err_set(&c->e, ERR_SYNTAX, "%s: %s %s was given twice",
                           p->ix->shown_name, o->name,
                           value_shown(last->key, shown, sizeof(shown)));
    return ERR_OK;
}

static enum err parse_opt(struct parse *p, unsigned i)
{
    struct cmd_ctx *c = p->c;
    i = find_sub(p, i);
    const struct opt *o = &c->cmd->opts[i];
    void *to;
    enum err rc = admit(p, i);
    if (rc == ERR_OK)
        rc = place(p, i, &to);
    if (rc != ERR_OK)
        return rc;
    if (o->type == OPT_FLAG) {
        *(bool *)to = true;
        return ERR_OK;
    }
    struct value_spec spec = spec_of_opt(p, o);
    if (c->argc - p->at < (o->type == OPT_TWO ? 2u : 1u)) {
        struct buf wants = {0};
        value_wants(&spec, &wants);
        (void)err_set(&c->e, ERR_SYNTAX,
                      "%s: %s wants %.*s, but the words "
                      "end here",
                      p->ix->shown_name, o->name, SLICE_FMT(buf_slice(&wants)));
        buf_release(&wants);
        return ERR_SYNTAX;
    }
    if (o->type == OPT_LIST)
        return parse_list(p, &spec, to);
    if (o->type == OPT_REST) {
        spec.type = OPT_BYTES;
        return parse_more(p, &spec, to);
    }
    if (o->type == OPT_TWO) {
        *(struct opt_pair *)to =
            (struct opt_pair){c->argv[p->at], c->argv[p->at + 1]};
        p->at += 2;
        return ERR_OK;
    }
    rc = value_parse(&spec, c->argv[p->at++], to, &c->e);
    if (rc == ERR_OK && o->type == OPT_PAIR && o->max_count > 0)
        rc = pair_once(p, o, to);
    return rc;
}

static enum err parse_also(struct parse *p)
{
    struct cmd_ctx *c = p->c;
    struct opt_list *also =
        (struct opt_list *)(void *)((char *)c->args + c->cmd->also_offset);
    if (p->at == c->argc)
        return err_set(&c->e, ERR_SYNTAX, "%s: ALSO wants at least one word",
                       p->ix->shown_name);
    also->words = &c->argv[p->at];
    also->n = c->argc - p->at;
    p->at = c->argc;
    return ERR_OK;
}

static enum err require_opts(struct parse *p)
{
    struct cmd_ctx *c = p->c;
    for (unsigned i = 0; i < p->ix->n_opts; i++) {
        const struct opt *o = &c->cmd->opts[i];
        if (!o->required || bit_get(p->given, i))
            continue;
        return err_set(&c->e, ERR_SYNTAX, "%s: %s must be given",
                       p->ix->shown_name, o->name);
    }
    return ERR_OK;
}

enum err cmd_parse(struct cmd_ctx *c)
{
    const struct cmd_index *ix = index_of(c->cmd);
    enum err rc;
    if (c->argc < ix->required || (!ix->open && c->argc > ix->required))
        return wrong_arity(c);
    if (ix->clear > 0)
        memset(c->args, 0, ix->clear);
    struct parse p = {.c = c, .ix = ix, .at = ix->name_words};
    rc = parse_args(&p);
    if (rc != ERR_OK)
        return rc;
    if (p.at < c->argc || ix->has_required_opts) {
        p.parent = NO_OPT;
        p.given = (uint64_t *)(void *)((char *)c->args + c->cmd->given_offset);
        while (p.at < c->argc && rc == ERR_OK) {
            struct slice word = c->argv[p.at++];
            int64_t i = words_find(&ix->words, word);
            if (i < 0)
                rc = unknown_word(&p, word);
            else if (i == ALSO_WORD)
                rc = parse_also(&p);
            else
                rc = parse_opt(&p, (unsigned)i);
        }
        if (rc == ERR_OK && ix->has_required_opts)
            rc = require_opts(&p);
    }
    if (rc == ERR_OK && c->cmd->check != NULL)
        rc = c->cmd->check(c);
    return rc;
}

bool cmd_given(const struct cmd_ctx *c, const char *opt_name)
{
    const struct cmd_index *ix = index_of(c->cmd);
    int64_t i = words_find(&ix->words, slice_str(opt_name));
    ASSERT(i >= 0 && i < OPTS_MAX);
    const char *args = c->args;
    return bit_get(
        (const uint64_t *)(const void *)(args + c->cmd->given_offset),
        (unsigned)i);
}

enum err cmd_block(struct cmd_ctx *c, uint64_t deadline_mono_ms)
{
    ASSERT(c->may_block);
    /* Starting over keeps the first deadline: BLOCK 5s is not extended by
     * being woken in vain. */
    if (c->deadline_mono_ms == 0)
        c->deadline_mono_ms = deadline_mono_ms;
    c->blocked = true;
    return ERR_PENDING;
}

enum err cmd_more(struct cmd_ctx *c)
{
    ASSERT(!c->whole);
    ASSERT(c->list.done > 0);
    c->more = true;
    return ERR_PENDING;
}
