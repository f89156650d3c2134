#include "bench/scanner.h"

#include "util/assert.h"
#include "util/parse.h"

/* One item at the front of `in`: SCAN_DONE with its length in *used. */
static enum scan_state item_read(struct slice in, struct scan_item *item,
                                 size_t *used)
{
    const char *lf = in.len > 0 ? memchr(in.data, '\n', in.len) : NULL;
    if (lf == NULL)
        return SCAN_MORE;
    size_t head = (size_t)(lf - in.data) + 1;
    if (head < 3 || lf[-1] != '\r')
        return SCAN_BAD;
    struct slice rest = slice_of(in.data + 1, head - 3);
    *used = head;
    item->n = 0;
    item->text = rest;
    switch (in.data[0]) {
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
    if (in.data[0] != '$') {
        item->kind = SCAN_ARRAY;
        item->n *= in.data[0] == '%' ? 2 : 1;
        return SCAN_DONE;
    }
    item->kind = SCAN_BULK;
    if (in.len < head + (size_t)item->n + 2)
        return SCAN_MORE;
    item->text = slice_of(in.data + head, (size_t)item->n);
    *used = head + (size_t)item->n + 2;
    return SCAN_DONE;
}

enum scan_state scanner_step(struct scanner *s, struct slice in, size_t *used,
                             scan_fn fn, void *ud)
{
    *used = 0;
    for (;;) {
        struct scan_item item = {.depth = s->depth};
        size_t n = 0;
        enum scan_state state =
            item_read(slice_of(in.data + *used, in.len - *used), &item, &n);
        if (state != SCAN_DONE)
            return state;
        *used += n;
        if (s->depth > 0)
            item.index = s->at[s->depth - 1]++;
        fn(ud, &item);
        if (item.kind == SCAN_ARRAY && item.n > 0) {
            if (s->depth == SCAN_DEPTH_MAX)
                return SCAN_BAD;
            s->at[s->depth] = 0;
            s->len[s->depth] = item.n;
            s->depth++;
        }
        while (s->depth > 0 && s->at[s->depth - 1] == s->len[s->depth - 1])
            s->depth--;
        if (s->depth == 0)
            return SCAN_DONE;
        ASSERT(s->at[s->depth - 1] < s->len[s->depth - 1]);
    }
}
