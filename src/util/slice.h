/* A slice borrows bytes: no ownership, no terminator.
 *
 * A slice that is passed in is valid for the call. `data` may be NULL only if
 * `len` is 0.
 */
#ifndef UTIL_SLICE_H
#define UTIL_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const char *data;
    size_t len;
};

#define SLICE_EMPTY ((struct slice){NULL, 0})
#define SLICE_LIT(lit) ((struct slice){"" lit, sizeof(lit) - 1})

/* For printf's %.*s: printf("%.*s", SLICE_FMT(s)). */
#define SLICE_FMT(s) (int)(s).len, (s).data

static inline struct slice slice_of(const void *data, size_t len)
{
    return (struct slice){(const char *)data, len};
}

static inline struct slice slice_str(const char *s)
{
    return (struct slice){s, strlen(s)};
}

/* Most names are short: a call would take longer than comparing them. */
static inline bool slice_eq(struct slice a, struct slice b)
{
    size_t n = a.len;
    if (n != b.len)
        return false;
    if (n < 8 || n > 16)
        return n == 0 || memcmp(a.data, b.data, n) == 0;
    uint64_t x, y, first, last;
    memcpy(&x, a.data, 8);
    memcpy(&y, b.data, 8);
    first = x ^ y;
    memcpy(&x, a.data + n - 8, 8);
    memcpy(&y, b.data + n - 8, 8);
    last = x ^ y;
    return (first | last) == 0;
}

/* Byte order; a prefix comes before what it is a prefix of. */
static inline int slice_cmp(struct slice a, struct slice b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n == 0 ? 0 : memcmp(a.data, b.data, n);
    if (c != 0)
        return c;
    return a.len < b.len ? -1 : a.len > b.len;
}

static inline bool slice_has_prefix(struct slice s, struct slice prefix)
{
    return s.len >= prefix.len &&
           (prefix.len == 0 || memcmp(s.data, prefix.data, prefix.len) == 0);
}

/* The first blank or control character (up to ' ', or DEL), or the length. */
size_t slice_blank(struct slice s);

/* ASCII case is ignored; `word` is a C string. */
bool slice_is(struct slice s, const char *word);
bool slice_eq_nocase(struct slice a, struct slice b);

#endif
