/* A line into words, as redis.conf and inline commands write them.
 *
 * Words are parted by blanks. "..." may hold \n \r \t \b \a \xHH and \ before
 * any other byte; '...' knows \' only. A closing quote must be followed by a
 * blank or the end.
 */
#ifndef UTIL_TOKENS_H
#define UTIL_TOKENS_H

#include <stdbool.h>

#include "util/buf.h"
#include "util/slice.h"

struct tokens {
    struct slice *at;
    size_t len, cap;
    struct buf bytes; /* what the slices point into */
};

/* A zeroed struct is empty. */
void tokens_release(struct tokens *w);

/* Replace what `w` holds by the words of `line`; false if a quote is not
 * closed properly, and then `w` is empty. */
bool tokens_split(struct tokens *w, struct slice line);

/* The text of a quoted run that begins at `p`, appended to `out`; returns the
 * byte behind its closing quote, or NULL if it has none, or if something other
 * than a blank follows it. */
const char *tokens_unquote(struct buf *out, const char *p, const char *end);

/* Append `s` so that tokens_split() reads it back as one word: bare if that is
 * safe, else in double quotes. */
void tokens_quote(struct buf *out, struct slice s);

/* Keeps the nearest of the names offered to it, for "did you mean". A zeroed
 * struct has seen none. */
struct tokens_nearest {
    const char *name; /* NULL: none is near enough */
    unsigned distance;
};
void tokens_consider(struct tokens_nearest *n, struct slice wanted,
                     const char *name);

#endif
