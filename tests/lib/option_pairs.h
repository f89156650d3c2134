/* A corpus made from the tables: every pair of options of a command, both
 * orders, an option with itself included, is parsed. What must come out follows
 * from the table alone; the command's own check() is left out, because it
 * judges values, which the corpus makes up.
 */
#ifndef LIB_OPTION_PAIRS_H
#define LIB_OPTION_PAIRS_H

#include <stdio.h>
#include <string.h>

#include "commands/command.h"
#include "util/alloc.h"

enum { PAIR_WORDS = 128 };

struct pair_line {
    struct slice words[PAIR_WORDS];
    char text[PAIR_WORDS][32];
    uint32_t n;
};

static inline void pair_word(struct pair_line *l, const char *word)
{
    assert_true(l->n < PAIR_WORDS);
    l->words[l->n++] = slice_str(word);
}

static inline void pair_value(struct pair_line *l, enum opt_type type,
                              const char *const *words, int64_t min)
{
    char *number = l->text[l->n];
    (void)snprintf(number, sizeof(l->text[0]), "%lld",
                   (long long)(min > 0 ? min : 1));
    switch (type) {
    case OPT_FLAG:
        return;
    case OPT_BYTES:
    case OPT_NAME:
        assert_true(min <= 2);
        pair_word(l, "n1");
        return;
    case OPT_ENUM:
        pair_word(l, words[0]);
        return;
    case OPT_REST:
        pair_word(l, "n1");
        return;
    case OPT_PAIR:
        pair_word(l, "k=1");
        return;
    case OPT_LIST:
    case OPT_TWO:
        pair_word(l, "1");
        pair_word(l, "n1");
        return;
    case OPT_I64:
    case OPT_U64:
    case OPT_U32:
    case OPT_F64:
    case OPT_MS:
    case OPT_TIME:
    case OPT_SIZE:
        pair_word(l, number);
        return;
    }
}

static inline void pair_opt(struct pair_line *l, const struct opt *o)
{
    pair_word(l, o->name);
    pair_value(l, o->type, o->words, o->min);
}

static inline const struct opt *pair_find(const struct command *cmd,
                                          const char *name)
{
    for (const struct opt *o = cmd->opts; o->name != NULL; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    fail_msg("%s: no option %s", cmd->name, name);
    return NULL;
}

static inline void pair_start(struct pair_line *l, const struct command *cmd)
{
    l->n = 0;
    for (unsigned i = 0; i < cmd_name_words(cmd); i++)
        pair_word(l, cmd->name);
    for (const struct arg *a = cmd->args; a != NULL && a->name != NULL; a++)
        if (!a->optional)
            pair_value(l, a->type, a->words, a->min);
}

/* What the table says of `a` and then `b`: NULL = accepted, else words that the
 * error must hold. */
static inline const char *pair_verdict(const struct opt *a, const struct opt *b)
{
    if (a->type == OPT_REST) /* what follows are its words */
        return NULL;
    if (a == b && b->type == OPT_PAIR) /* with the same key */
        return "was given twice";
    if (a == b && b->max_count == 0 && b->parent == NULL)
        return "was given twice";
    if (a == b && b->max_count == 1)
        return "was given more than 1 times";
    if (a != b && a->group != NULL && b->group != NULL &&
        strcmp(a->group, b->group) == 0)
        return "exclude each other";
    return NULL;
}

/* `copy` must live as long as the program: its index is kept by address. */
static inline unsigned pair_check(const struct command *copy)
{
    unsigned n = 0;
    static struct pair_line line;
    void *args = mem_zalloc(copy->args_size + 1);
    for (const struct opt *a = copy->opts; a->name != NULL; a++) {
        for (const struct opt *b = copy->opts; b->name != NULL; b++, n++) {
            pair_start(&line, copy);
            const char *verdict = pair_verdict(a, b);
            /* A sub-option comes behind its parent, and needs it again if the
             * parent may be repeated. */
            const struct opt *list[] = {a, b};
            const struct opt *last_parent = NULL;
            for (unsigned i = 0; i < 2; i++) {
                const struct opt *o = list[i];
                const struct opt *parent =
                    o->parent == NULL ? NULL : pair_find(copy, o->parent);
                bool stands = parent != NULL && parent->max_count == 0 &&
                              (last_parent == parent || a == parent);
                if (parent != NULL && !stands)
                    pair_opt(&line, parent);
                if (stands && a == b)
                    verdict = "was given twice";
                last_parent = parent;
                pair_opt(&line, o);
            }
            if (b->parent == NULL && b->max_count == 0 && a->parent != NULL &&
                strcmp(a->parent, b->name) == 0)
                verdict = "was given twice";
            for (const struct opt *o = copy->opts; o->name != NULL; o++)
                if (o->required && o != a && o != b)
                    pair_opt(&line, o);
            struct cmd_ctx c = {
                .cmd = copy, .argv = line.words, .argc = line.n, .args = args};
            enum err rc = cmd_parse(&c);
            if (verdict == NULL
                    ? rc != ERR_OK
                    : rc == ERR_OK || strstr(c.e.text, verdict) == NULL ||
                          strstr(c.e.text, b->name) == NULL)
                fail_msg("%s %s %s: wanted %s, got %s", copy->name, a->name,
                         b->name, verdict == NULL ? "ok" : verdict,
                         rc == ERR_OK ? "ok" : c.e.text);
        }
    }
    mem_free(args);
    return n;
}

/* All commands of a table with their sub-commands; returns the number of
 * pairs. */
static inline unsigned pairs_check(const struct command *const *table)
{
    enum { COPIES = 512 };
    static struct command copies[COPIES];
    static unsigned used;
    unsigned n = 0;
    for (; *table != NULL; table++) {
        if ((*table)->subs != NULL)
            n += pairs_check((*table)->subs);
        if ((*table)->opts == NULL)
            continue;
        assert_true(used < COPIES);
        copies[used] = **table;
        copies[used].check = NULL;
        n += pair_check(&copies[used++]);
    }
    return n;
}

#endif
