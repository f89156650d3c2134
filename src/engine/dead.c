/* Dead letters: finished jobs in state failed, grouped by what went wrong.
 *
 * Two errors are the same if their type and message are, but for what differs
 * from case to case: numbers, hexadecimal words, ids. The signature is a hash
 * of both with those folded.
 */
#include <stdlib.h>

#include "engine/core.h"

#define MESSAGE_MAX 200
#define GROUPS_ROWS 1000
#define GROUPS_MAX 256

static bool hex_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
           (c >= 'A' && c <= 'F');
}

static bool word_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

/* A word that is a number of some kind: 8 or more hexadecimal digits, 0x..., or
 * 20 or more letters and digits mixed (ids). */
static bool word_varies(struct slice w)
{
    size_t digits = 0, hex = 0;
    for (size_t i = 0; i < w.len; i++) {
        digits += w.data[i] >= '0' && w.data[i] <= '9';
        hex += hex_digit(w.data[i]);
    }
    if (digits == 0)
        return false;
    return (hex == w.len && w.len >= 8) || w.len >= 20 ||
           (w.len > 2 && w.data[0] == '0' && w.data[1] == 'x');
}

/* 8-4-4-4-12 hexadecimal digits. */
static bool uuid_at(struct slice text)
{
    if (text.len < 36 || (text.len > 36 && word_char(text.data[36])))
        return false;
    for (size_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text.data[i] != '-' : !hex_digit(text.data[i]))
            return false;
    }
    return true;
}

size_t dead_fold(struct slice text, char *out, size_t max)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len && len < max;) {
        size_t end = i;
        if (uuid_at(slice_of(text.data + i, text.len - i))) {
            out[len++] = '#';
            i += 36;
            continue;
        }
        while (end < text.len && word_char(text.data[end]))
            end++;
        if (end == i) {
            out[len++] = text.data[i++];
            continue;
        }
        struct slice w = slice_of(text.data + i, end - i);
        bool whole = word_varies(w);
        if (whole)
            out[len++] = '#';
        for (size_t k = 0; !whole && k < w.len && len < max; k++) {
            if (w.data[k] < '0' || w.data[k] > '9')
                out[len++] = w.data[k];
            else if (len == 0 || out[len - 1] != '#')
                out[len++] = '#';
        }
        i = end;
    }
    return len;
}

uint64_t dead_signature(struct slice type, struct slice error)
{
    char text[MESSAGE_MAX];
    size_t len = dead_fold(error, text, sizeof(text));
    uint64_t h = hash64_seed(slice_of(text, len), hash64(type));
    return h == 0 ? 1 : h; /* 0 means any */
}

/* --- groups -------------------------------------------------------------- */

struct group {
    struct map_node by_signature;
    uint64_t signature, count, first_ms, last_ms;
    struct id sample;
    struct buf type, message;
};

struct grouping {
    struct map map;
    struct group *list[GROUPS_MAX];
    uint32_t n;
    uint64_t others; /* of more groups than are told apart */
};

static bool group_is(const struct map_node *n, const void *key)
{
    return CONTAINER_OF(n, struct group, by_signature)->signature ==
           *(const uint64_t *)key;
}

static void into_group(void *ud, const struct job_view *v)
{
    struct grouping *all = ud;
    uint64_t s = dead_signature(v->error_type, v->error);
    struct map_node *node = map_get(&all->map, s, &s);
    struct group *g;
    if (node != NULL) {
        g = CONTAINER_OF(node, struct group, by_signature);
    } else {
        if (all->n == GROUPS_MAX) {
            all->others++;
            return;
        }
        char text[MESSAGE_MAX];
        g = NEW(struct group);
        g->signature = s;
        g->first_ms = v->finished_ms;
        buf_add_slice(&g->type, v->error_type);
        buf_add(&g->message, text, dead_fold(v->error, text, sizeof(text)));
        map_add(&all->map, &g->by_signature, s);
        all->list[all->n++] = g;
    }
    g->count++;
    if (v->finished_ms < g->first_ms)
        g->first_ms = v->finished_ms;
    if (v->finished_ms >= g->last_ms) {
        g->last_ms = v->finished_ms;
        g->sample = v->id;
    }
}

static int larger_first(const void *a, const void *b)
{
    const struct group *const *x = a, *const *y = b;
    if ((*x)->count != (*y)->count)
        return (*x)->count > (*y)->count ? -1 : 1;
    return (*x)->signature < (*y)->signature ? -1 : 1;
}

enum err engine_dead_groups(struct engine *e, struct gather *g,
                            struct slice queue, struct slice cursor,
                            struct now now, dead_fn fn, void *ud,
                            struct list_result *r, bool *complete,
                            struct errbuf *err)
{
    struct job_filter f = {.queue = queue, .states = 1u << JOB_FAILED};
    struct list_pos pos;
    struct grouping all = {0};
    enum err rc = cursor_parse(cursor, &f, &pos, err);
    if (rc != ERR_OK)
        return rc;
    map_init(&all.map, group_is);
    rc = list_walk(e, g, &f, &pos, UINT32_MAX, GROUPS_ROWS, now, into_group,
                   &all, r, err);
    if (rc == ERR_OK)
        qsort(all.list, all.n, sizeof(all.list[0]), larger_first);
    *complete = pos.end && all.others == 0;
    cursor_print(&pos, &f, r->cursor);
    for (uint32_t i = 0; i < all.n; i++) {
        struct group *x = all.list[i];
        struct dead_group v = {.signature = x->signature,
                               .type = buf_slice(&x->type),
                               .message = buf_slice(&x->message),
                               .count = x->count,
                               .first_ms = x->first_ms,
                               .last_ms = x->last_ms,
                               .sample = x->sample};
        if (rc == ERR_OK)
            fn(ud, &v);
        map_remove(&all.map, &x->by_signature);
        buf_release(&x->type);
        buf_release(&x->message);
        mem_free(x);
    }
    map_release(&all.map);
    return rc;
}
