#include "util/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "util/alloc.h"

void buf_init(struct buf *b)
{
    *b = (struct buf){NULL, 0, 0};
}

void buf_release(struct buf *b)
{
    mem_free(b->data);
    buf_init(b);
}

char *buf_grow(struct buf *b, size_t extra)
{
    size_t need = b->len + extra;
    ASSERT(need >= b->len);
    if (need > b->cap) {
        size_t cap = b->cap < 64 ? 64 : b->cap;
        while (cap < need)
            cap += cap / 2;
        b->data = (char *)mem_realloc(b->data, cap);
        b->cap = cap;
    }
    return b->data + b->len;
}

void buf_add_str(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_add_u64(struct buf *b, uint64_t n)
{
    char digits[20];
    size_t i = sizeof(digits);
    do {
        digits[--i] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    buf_add(b, digits + i, sizeof(digits) - i);
}

void buf_add_i64(struct buf *b, int64_t n)
{
    if (n < 0) {
        buf_add_char(b, '-');
        buf_add_u64(b, 0 - (uint64_t)n);
    } else {
        buf_add_u64(b, (uint64_t)n);
    }
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    ASSERT(n >= 0);
    char *to = buf_room(b, (size_t)n + 1);
    va_start(ap, fmt);
    (void)vsnprintf(to, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->len += (size_t)n;
}

void buf_consume(struct buf *b, size_t n)
{
    ASSERT(n <= b->len);
    if (n == 0)
        return;
    b->len -= n;
    if (b->len > 0)
        memmove(b->data, b->data + n, b->len);
}

const char *buf_cstr(struct buf *b)
{
    *buf_room(b, 1) = '\0';
    return b->data;
}
