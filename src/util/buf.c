#include "util/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "util/alloc.h"

void buf_init(struct buf *b)
{
    *b = (struct buf){NULL, 0, 0, false, false};
}

void buf_release(struct buf *b)
{
    if (b->data != NULL) /* most were never used */
        mem_free(b->data);
    buf_init(b);
}

static size_t cap_for(const struct buf *b, size_t extra)
{
    size_t need = b->len + extra, cap = b->cap < 64 ? 64 : b->cap;
    ASSERT(need >= b->len);
    while (cap < need)
        cap += cap / 2;
    return cap;
}

static bool try_cap(struct buf *b, size_t cap)
{
    char *data = (char *)mem_try_realloc(b->data, cap);
    if (data == NULL)
        return false;
    b->data = data;
    b->cap = cap;
    return true;
}

bool buf_reserve(struct buf *b, size_t extra)
{
    return b->cap - b->len >= extra || try_cap(b, cap_for(b, extra)) ||
           try_cap(b, b->len + extra);
}

char *buf_grow(struct buf *b, size_t extra)
{
    if (b->soft && buf_reserve(b, extra))
        return b->data + b->len;
    if (b->soft) {
        b->failed = true;
        b->len = 0;
    }
    size_t cap = cap_for(b, extra);
    if (cap > b->cap) {
        b->data = (char *)mem_realloc(b->data, cap);
        b->cap = cap;
    }
    return b->data + b->len;
}

void buf_add_str(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

size_t digits_len(uint64_t n)
{
    size_t len = 1;
    for (; n >= 10000; n /= 10000)
        len += 4;
    return len + (n >= 10) + (n >= 100) + (n >= 1000);
}

char *digits_put(char *to, uint64_t n)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021"
                                "22232425262728293031323334353637383940414243"
                                "44454647484950515253545556575859606162636465"
                                "66676869707172737475767778798081828384858687"
                                "888990919293949596979899";
    char *end = to + digits_len(n), *at = end;
    for (; n >= 100; n /= 100) {
        at -= 2;
        memcpy(at, pairs + n % 100 * 2, 2);
    }
    if (n >= 10)
        memcpy(at - 2, pairs + n * 2, 2);
    else
        at[-1] = (char)('0' + n);
    return end;
}

void buf_add_u64(struct buf *b, uint64_t n)
{
    /* No more room than that: there are buffers over fixed memory. */
    size_t len = digits_len(n);
    digits_put(buf_room(b, len), n);
    b->len += len;
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
