#include "resp/reply.h"

#include <stdarg.h>
#include <stdio.h>

#include "util/alloc.h"

#define HEADER_MAX 24

/* "<type><n>\r\n" at `p`; returns its end. */
static inline char *put_header(char *p, char type, uint64_t n)
{
    *p++ = type;
    if (n < 10) { /* most lengths and counts, */
        *p++ = (char)('0' + n);
    } else if (n < 100) { /* and most others */
        *p++ = (char)('0' + n / 10);
        *p++ = (char)('0' + n % 10);
    } else {
        p = digits_put(p, n);
    }
    p[0] = '\r';
    p[1] = '\n';
    return p + 2;
}

static void add_header(struct buf *out, char type, uint64_t n)
{
    char *p = buf_room(out, HEADER_MAX);
    out->len += (size_t)(put_header(p, type, n) - p);
}

void reply_ok(struct reply *r)
{
    if (!r->muted)
        buf_add(r->out, "+OK\r\n", 5);
}

void reply_simple(struct reply *r, const char *text)
{
    if (r->muted)
        return;
    buf_add_char(r->out, '+');
    buf_add_str(r->out, text);
    buf_add(r->out, "\r\n", 2);
}

/* A line must stay one line, or the reader loses its place. */
static void add_line(struct buf *out, const char *text)
{
    size_t len = strlen(text);
    char *p = buf_room(out, len + 2);
    for (size_t i = 0; i < len; i++)
        p[i] = text[i] == '\r' || text[i] == '\n' ? ' ' : text[i];
    p[len] = '\r';
    p[len + 1] = '\n';
    out->len += len + 2;
}

void reply_error(struct reply *r, enum err code, const char *text)
{
    if (r->muted)
        return;
    buf_add_char(r->out, '-');
    buf_add_str(r->out, err_prefix(code));
    buf_add_char(r->out, ' ');
    add_line(r->out, text);
}

void reply_error_raw(struct reply *r, const char *line)
{
    if (r->muted)
        return;
    buf_add_char(r->out, '-');
    add_line(r->out, line);
}

void reply_int(struct reply *r, int64_t n)
{
    if (r->muted)
        return;
    if (n >= 0) {
        add_header(r->out, ':', (uint64_t)n);
        return;
    }
    buf_add_char(r->out, ':');
    buf_add_i64(r->out, n);
    buf_add(r->out, "\r\n", 2);
}

/* For `len` bytes and a header. A long reply may be refused memory. */
static inline bool room_for(struct reply *r, size_t len)
{
    struct buf *out = r->out;
    if (out->cap - out->len >= len + 32)
        return true;
    if (!out->soft || buf_reserve(out, len + 32)) {
        (void)buf_room(out, len + 32);
        return true;
    }
    out->failed = true;
    out->len = 0;
    return false;
}

void reply_bulk(struct reply *r, struct slice s)
{
    if (r->muted || !room_for(r, s.len))
        return;
    char *start = r->out->data + r->out->len;
    char *p = put_header(start, '$', s.len);
    if (s.len > 0)
        memcpy(p, s.data, s.len);
    p[s.len] = '\r';
    p[s.len + 1] = '\n';
    r->out->len += (size_t)(p + s.len + 2 - start);
}

void reply_str(struct reply *r, const char *s)
{
    reply_bulk(r, slice_str(s));
}

void reply_printf(struct reply *r, const char *fmt, ...)
{
    char small[512];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(small, sizeof(small), fmt, ap);
    va_end(ap);
    ASSERT(n >= 0);
    if ((size_t)n < sizeof(small)) {
        reply_bulk(r, slice_of(small, (size_t)n));
        return;
    }
    char *big = (char *)mem_alloc((size_t)n + 1);
    va_start(ap, fmt);
    (void)vsnprintf(big, (size_t)n + 1, fmt, ap);
    va_end(ap);
    reply_bulk(r, slice_of(big, (size_t)n));
    mem_free(big);
}

void reply_verbatim(struct reply *r, struct slice s)
{
    if (r->proto < 3) {
        reply_bulk(r, s);
        return;
    }
    if (r->muted || !room_for(r, s.len))
        return;
    add_header(r->out, '=', s.len + 4);
    buf_add(r->out, "txt:", 4);
    buf_add_slice(r->out, s);
    buf_add(r->out, "\r\n", 2);
}

void reply_null(struct reply *r)
{
    if (r->proto < 3)
        reply_raw(r, "$-1\r\n", 5);
    else
        reply_raw(r, "_\r\n", 3);
}

void reply_again(struct reply *r, size_t at, size_t len)
{
    struct buf *out = r->out;
    if (r->muted)
        return;
    char *to = buf_room(out, len);
    if (out->failed)
        return;
    ASSERT(at + len <= out->len);
    memcpy(to, out->data + at, len);
    out->len += len;
}

void reply_null_array(struct reply *r)
{
    if (!r->muted)
        buf_add_str(r->out, r->proto < 3 ? "*-1\r\n" : "_\r\n");
}

void reply_array(struct reply *r, size_t n)
{
    if (!r->muted)
        add_header(r->out, '*', n);
}

static char map_type(const struct reply *r, size_t *n)
{
    if (r->proto >= 3)
        return '%';
    *n *= 2;
    return '*';
}

void reply_map(struct reply *r, size_t n)
{
    if (!r->muted) {
        char type = map_type(r, &n);
        add_header(r->out, type, n);
    }
}

void reply_set(struct reply *r, size_t n)
{
    if (!r->muted)
        add_header(r->out, r->proto < 3 ? '*' : '~', n);
}

void reply_push(struct reply *r, size_t n)
{
    if (!r->muted)
        add_header(r->out, r->proto < 3 ? '*' : '>', n);
}

struct reply_mark reply_array_begin(struct reply *r)
{
    size_t at = r->out->len;
    return (struct reply_mark){at, at, SIZE_MAX};
}

struct reply_mark reply_array_guess(struct reply *r, size_t n)
{
    size_t at = r->out->len;
    reply_array(r, n);
    return (struct reply_mark){at, r->out->len, n};
}

/* Put the header in front of what was written since the mark, in the place of
 * the one that was guessed. */
static void set_header(struct reply *r, struct reply_mark m, char type,
                       size_t n)
{
    struct buf *out = r->out;
    char header[HEADER_MAX];
    if (r->muted || out->failed || n == m.guess)
        return;
    ASSERT(m.at <= m.body && m.body <= out->len);
    size_t len = (size_t)(put_header(header, type, n) - header);
    (void)buf_room(out, len);
    if (out->failed)
        return;
    memmove(out->data + m.at + len, out->data + m.body, out->len - m.body);
    memcpy(out->data + m.at, header, len);
    out->len = out->len - (m.body - m.at) + len;
}

void reply_array_end(struct reply *r, struct reply_mark m, size_t n)
{
    set_header(r, m, '*', n);
}

struct reply_mark reply_map_begin(struct reply *r)
{
    return reply_array_begin(r);
}

void reply_map_end(struct reply *r, struct reply_mark m, size_t n)
{
    char type = map_type(r, &n);
    set_header(r, m, type, n);
}

void reply_field_int(struct reply *r, const char *name, int64_t n)
{
    reply_str(r, name);
    reply_int(r, n);
}

void reply_field_str(struct reply *r, const char *name, struct slice s)
{
    reply_str(r, name);
    reply_bulk(r, s);
}

void reply_field_null(struct reply *r, const char *name)
{
    reply_str(r, name);
    reply_null(r);
}
