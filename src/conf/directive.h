/* The table behind config.def, for those who print or walk it: what each
 * directive is, and its value as text. */
#ifndef CONF_DIRECTIVE_H
#define CONF_DIRECTIVE_H

#include "conf/conf.h"

enum conf_type {
    CT_BOOL,
    CT_U64,
    CT_I64,
    CT_SIZE,
    CT_MS,
    CT_MODE,
    CT_STR,
    CT_WORDS,
    CT_OBUF,
    CT_ENUM,
};

#define CF_START 1u  /* read at start only */
#define CF_SECRET 2u /* not repeated in errors and logs */
#define CF_FIXED 4u  /* a constant, for clients that ask */

struct directive {
    const char *name, *def;
    enum conf_type type;
    size_t offset; /* in struct config */
    int64_t min;
    uint64_t max;
    const char *const *words; /* CT_ENUM, ends in NULL */
    unsigned flags;
    const char *since, *help, *section;
};

#define DIRECTIVES_MAX 128

/* All of them in the order of config.def. */
const struct directive *directives(size_t *n);

/* NULL if there is none; then *near is the nearest name, or NULL. */
const struct directive *directive_find(struct slice name, const char **near);

/* Set the field of `d` in *c from words. On error *c is unchanged. */
MUST_USE enum err directive_parse(const struct directive *d, struct config *c,
                                  const struct slice *words, size_t n,
                                  struct errbuf *e);

/* What may be written for it: "yes or no", "an integer from 0 to 65535". */
void directive_allowed(const struct directive *d, struct buf *out);

/* The value as CONFIG GET answers it. */
void directive_print(const struct directive *d, const struct config *c,
                     struct buf *out);

/* The value as a line of a file has it: directive_parse() makes the same value
 * of its words. */
void directive_print_words(const struct directive *d, const struct config *c,
                           struct buf *out);

bool directive_equal(const struct directive *d, const struct config *a,
                     const struct config *b);

void config_init(struct config *c); /* the defaults */
void config_copy(struct config *to, const struct config *from);
void config_release(struct config *c);

#endif
