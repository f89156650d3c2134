/* A growing run of bytes.
 *
 *   data                len              cap
 *   |--- bytes in use ---|---- room ------|
 *
 * Embedded: buf_init()/buf_release(); a zeroed struct is an empty buffer.
 */
#ifndef UTIL_BUF_H
#define UTIL_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "util/assert.h"
#include "util/slice.h"

struct buf {
    char *data;
    size_t len;
    size_t cap;
    /* Holds what clients make long. If memory is refused for it, the buffer
     * is emptied, `failed` is set, and its owner gives the client up; writers
     * go on unaware. Others abort. */
    bool soft, failed;
};

void buf_init(struct buf *b);
void buf_release(struct buf *b);

/* Make room for `extra` more bytes; returns where they go. */
char *buf_grow(struct buf *b, size_t extra);

/* Make room as well, unless memory is refused: then nothing changes. */
MUST_USE bool buf_reserve(struct buf *b, size_t extra);

static inline char *buf_room(struct buf *b, size_t extra)
{
    if (b->cap - b->len >= extra)
        return b->data + b->len;
    return buf_grow(b, extra);
}

static inline void buf_clear(struct buf *b)
{
    b->len = 0;
}

static inline struct slice buf_slice(const struct buf *b)
{
    return slice_of(b->data, b->len);
}

static inline void buf_add(struct buf *b, const void *data, size_t len)
{
    if (len > 0) {
        memcpy(buf_room(b, len), data, len);
        b->len += len;
    }
}

static inline void buf_add_slice(struct buf *b, struct slice s)
{
    buf_add(b, s.data, s.len);
}

static inline void buf_add_char(struct buf *b, char c)
{
    *buf_room(b, 1) = c;
    b->len++;
}

/* Decimal digits of `n`: how many, and written at `to` (returns their end). */
size_t digits_len(uint64_t n);
char *digits_put(char *to, uint64_t n);

void buf_add_str(struct buf *b, const char *s);
void buf_add_u64(struct buf *b, uint64_t n); /* decimal */
void buf_add_i64(struct buf *b, int64_t n);  /* decimal */
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Drop `n` bytes at the front. */
void buf_consume(struct buf *b, size_t n);

/* A terminating NUL behind the bytes, not counted in len. */
const char *buf_cstr(struct buf *b);

#endif
