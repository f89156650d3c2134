#include "bench/scanner.h"

#include "util/parse.h"

/* The number behind the type byte at `p`, if it is plain: digits, no zero in
 * front of others, and the line's end. Returns that end, else NULL. */
static inline const char *plain_number(const char *p, const char *end,
                                       int64_t *n)
{
    const char *d = ++p;
    int64_t v = 0;
    while (d < end && d - p < 18 && *d >= '0' && *d <= '9')
        v = v * 10 + (*d++ - '0');
    if (d == p || end - d < 2 || d[0] != '\r' || d[1] != '\n' ||
        (*p == '0' && d - p > 1))
        return NULL;
    *n = v;
    return d + 2;
}

/* "$n" whose bytes begin at `head`. */
static inline enum scan_state bulk_read(const char *head, const char *end,
                                        int64_t n, struct scan_item *item,
                                        const char **next)
{
    if (n > INT32_MAX)
        return SCAN_BAD;
    if (end - head < n + 2)
        return SCAN_MORE;
    if (head[n] != '\r' || head[n + 1] != '\n')
        return SCAN_BAD;
    item->kind = SCAN_BULK;
    item->n = n;
    item->text = slice_of(head, (size_t)n);
    *next = head + n + 2;
    return SCAN_DONE;
}

/* Anything but a plain integer, bulk or RESP2 null. */
static enum scan_state other_read(const char *p, const char *end,
                                  struct scan_item *item, const char **next)
{
    const char *lf = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    if (lf == NULL)
        return SCAN_MORE;
    if (lf - p < 2 || lf[-1] != '\r')
        return SCAN_BAD;
    struct slice rest = slice_of(p + 1, (size_t)(lf - p) - 2);
    *next = lf + 1;
    item->n = 0;
    item->text = rest;
    switch (*p) {
    case '+':
        item->kind = SCAN_STATUS;
        return SCAN_DONE;
    case '-':
        item->kind = SCAN_ERROR;
        return SCAN_DONE;
    case '_':
        item->kind = SCAN_NULL;
        return SCAN_DONE;
    case ':':
        item->kind = SCAN_INT;
        return parse_i64(rest, &item->n) ? SCAN_DONE : SCAN_BAD;
    case '$':
    case '*':
    case '%':
        break;
    default:
        return SCAN_BAD;
    }
    if (!parse_i64(rest, &item->n) || item->n > INT32_MAX)
        return SCAN_BAD;
    if (item->n < 0) {
        item->kind = SCAN_NULL;
        return SCAN_DONE;
    }
    if (*p == '$')
        return bulk_read(lf + 1, end, item->n, item, next);
    item->kind = SCAN_ARRAY;
    item->n *= *p == '%' ? 2 : 1;
    return SCAN_DONE;
}

/* "$7" or "$42" at `p`, at least five bytes: what nearly all bulks begin with.
 * Returns where its bytes begin, else NULL. */
static inline const char *short_bulk(const char *p, int64_t *n)
{
    unsigned tens = (unsigned char)p[1] - (unsigned)'0';
    unsigned ones = (unsigned char)p[2] - (unsigned)'0';
    if (p[0] != '$' || tens > 9)
        return NULL;
    *n = tens;
    if (p[2] == '\r' && p[3] == '\n')
        return p + 4;
    *n = tens * 10 + ones;
    return tens > 0 && ones <= 9 && p[3] == '\r' && p[4] == '\n' ? p + 5 : NULL;
}

/* One item at `p`: SCAN_DONE and where the next one begins. Nearly all of a
 * long reply are bulks, integers and nulls, and the client shares the machine
 * with the server: they are read in one pass. */
static inline enum scan_state item_read(const char *p, const char *end,
                                        struct scan_item *item,
                                        const char **next)
{
    int64_t n;
    const char *head = end - p >= 5 ? short_bulk(p, &n) : NULL;
    if (head != NULL)
        return bulk_read(head, end, n, item, next);
    if (end - p >= 5 && memcmp(p, "$-1\r\n", 5) == 0) {
        item->kind = SCAN_NULL;
        item->n = -1;
        item->text = slice_of(p + 1, 2);
        *next = p + 5;
        return SCAN_DONE;
    }
    if (end - p >= 4 && (*p == '$' || *p == ':'))
        head = plain_number(p, end, &n);
    if (head == NULL)
        return other_read(p, end, item, next);
    if (*p == '$')
        return bulk_read(head, end, n, item, next);
    item->kind = SCAN_INT;
    item->n = n;
    item->text = slice_of(p + 1, (size_t)(head - p) - 3);
    *next = head;
    return SCAN_DONE;
}

/* Pass over short bulks and integers of the innermost open array. */
static const char *skip_members(struct scanner *s, const char *p,
                                const char *end)
{
    int64_t *at = &s->at[s->depth - 1], len = s->len[s->depth - 1], n;
    while (*at < len && end - p >= 5) {
        const char *next;
        if (*p == ':') {
            next = plain_number(p, end, &n);
        } else {
            next = short_bulk(p, &n);
            if (next == NULL || end - next < n + 2 || next[n] != '\r' ||
                next[n + 1] != '\n')
                break;
            next += n + 2;
        }
        if (next == NULL)
            break;
        p = next;
        ++*at;
    }
    return p;
}

/* The item was one of the innermost open array: close what it completed. */
static void close_full(struct scanner *s)
{
    while (s->depth > 0 && s->at[s->depth - 1] == s->len[s->depth - 1]) {
        s->depth--;
        s->skip = false;
    }
}

enum scan_state scanner_step(struct scanner *s, struct slice in, size_t *used,
                             scan_fn fn, void *ud)
{
    const char *p = in.data, *end = in.data + in.len;
    *used = 0;
    do {
        struct scan_item item;
        enum scan_state state = item_read(p, end, &item, &p);
        if (state != SCAN_DONE)
            return state;
        *used = (size_t)(p - in.data);
        item.depth = s->depth;
        item.index = s->depth > 0 ? s->at[s->depth - 1]++ : 0;
        fn(ud, &item);
        if (item.kind == SCAN_ARRAY && item.n > 0) {
            if (s->depth == SCAN_DEPTH_MAX)
                return SCAN_BAD;
            s->skip = false;
            s->at[s->depth] = 0;
            s->len[s->depth] = item.n;
            s->depth++;
        } else {
            if (s->skip) {
                p = skip_members(s, p, end);
                *used = (size_t)(p - in.data);
            }
            close_full(s);
        }
    } while (s->depth > 0);
    return SCAN_DONE;
}
