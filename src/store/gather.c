#include "store/gather.h"

#include <stdlib.h>

#include "util/alloc.h"
#include "util/hash.h"

struct sought {
    enum want_kind kind;
    enum family family;
    struct slice from, to;
};

static bool want_eq(const struct map_node *n, const void *key)
{
    const struct want *w = CONTAINER_OF(n, struct want, node);
    const struct sought *k = key;
    return w->kind == k->kind && w->family == k->family &&
           slice_eq(w->from, k->from) && slice_eq(w->to, k->to);
}

static uint64_t want_hash(const struct sought *k)
{
    uint64_t seed = (uint64_t)k->kind << 8 | k->family;
    return hash64_seed(k->to, hash64_seed(k->from, seed));
}

struct content *content_new(void)
{
    struct content *c = NEW(struct content);
    map_init(&c->wants, want_eq);
    return c;
}

void content_free(struct content **cp)
{
    struct content *c = *cp;
    if (c == NULL)
        return;
    map_release(&c->wants);
    arena_release(&c->arena);
    FREE(cp);
}

struct want *content_find(struct content *c, enum want_kind kind, enum family f,
                          struct slice from, struct slice to)
{
    struct sought k = {kind, f, from, to};
    if (c->wants.len == 0)
        return NULL;
    struct map_node *n = map_get(&c->wants, want_hash(&k), &k);
    return n == NULL ? NULL : CONTAINER_OF(n, struct want, node);
}

static struct want *want_new(struct content *c, enum want_kind kind,
                             enum family f, struct slice from, struct slice to)
{
    struct sought k = {kind, f, from, to};
    struct want *w = arena_alloc(&c->arena, sizeof(*w));
    *w = (struct want){
        .kind = kind,
        .family = f,
        .from = arena_copy(&c->arena, from),
        .to = arena_copy(&c->arena, to),
    };
    map_add(&c->wants, &w->node, want_hash(&k));
    return w;
}

void content_miss(struct content *c, struct want *w, enum want_kind kind,
                  enum family f, struct slice from, struct slice to,
                  size_t limit)
{
    if (w == NULL) {
        w = want_new(c, kind, f, from, to);
    } else if (!w->fetched) {
        w->limit = limit > w->limit ? limit : w->limit;
        return; /* is in the list already */
    }
    w->limit = limit;
    w->fetched = false;
    w->next = c->missing;
    c->missing = w;
}

static void one_row(struct want *w, struct slice value)
{
    w->one = (struct base_row){w->from, value};
    w->rows = &w->one;
    w->n = 1;
}

void content_row(struct content *c, enum family f, struct slice key,
                 struct slice value)
{
    struct want *w = want_new(c, WANT_ROW, f, key, SLICE_EMPTY);
    w->fetched = w->complete = true;
    if (value.len > 0)
        one_row(w, value);
}

void content_rows(struct content *c, enum want_kind kind, enum family f,
                  struct slice from, struct slice to, struct base_row *rows,
                  size_t n)
{
    struct want *w = want_new(c, kind, f, from, to);
    w->fetched = w->complete = true;
    w->rows = rows;
    w->n = n;
}

/* --- in the reader thread ------------------------------------------------ */

/* How it went; what is wrong is kept if anything is. */
static void went(struct want *w, struct content *c, enum err rc,
                 const struct errbuf *e)
{
    w->rc = rc;
    if (rc != ERR_OK)
        w->why = arena_copy(&c->arena, slice_str(e->text));
}

static void run_row(struct want *w, struct content *c, struct backend *b)
{
    struct slice value = SLICE_EMPTY;
    struct errbuf e;
    enum err rc =
        b->ops->read(b, BASE_DISK, w->family, w->from, &c->arena, &value, &e);
    w->n = 0;
    if (rc == ERR_OK)
        one_row(w, value);
    went(w, c, rc == ERR_NOTFOUND ? ERR_OK : rc, &e);
    w->complete = true;
}

static void run_scan(struct want *w, struct content *c, struct backend *b)
{
    struct base_cursor *cur = b->ops->walk(b, BASE_DISK, w->family, w->from,
                                           w->to, w->kind == WANT_BACK);
    struct slice key, value;
    struct errbuf e;
    size_t cap = 0;
    w->n = 0;
    while ((w->complete = !b->ops->row(cur, &key, &value)) == false &&
           w->n < w->limit) {
        if (w->n == cap) {
            struct base_row *rows;
            cap = cap == 0 ? 16 : cap * 2;
            rows = arena_alloc(&c->arena, cap * sizeof(*rows));
            if (w->n > 0)
                memcpy(rows, w->rows, w->n * sizeof(*rows));
            w->rows = rows;
        }
        w->rows[w->n++] = (struct base_row){arena_copy(&c->arena, key),
                                            arena_copy(&c->arena, value)};
        b->ops->step(cur);
    }
    enum err rc = b->ops->finish(&cur, &e);
    went(w, c, rc, &e);
}

/* Rows that are read in one go: those of jobs are small, others may be long. */
#define MANY_JOBS 4096
#define MANY 256

static int by_key(const void *a, const void *b)
{
    const struct want *x = *(const struct want *const *)a;
    const struct want *y = *(const struct want *const *)b;
    if (x->family != y->family)
        return x->family < y->family ? -1 : 1;
    return slice_cmp(x->from, y->from);
}

/* Rows of one family, sorted, in one go. A damaged one fails all of them: then
 * each is read by itself. */
static void run_many(struct want **w, size_t n, struct content *c,
                     struct backend *b)
{
    struct slice *keys = arena_alloc(&c->arena, n * sizeof(*keys));
    struct slice *values = arena_alloc(&c->arena, n * sizeof(*values));
    struct errbuf e;
    memset(values, 0, n * sizeof(*values));
    for (size_t i = 0; i < n; i++)
        keys[i] = w[i]->from;
    enum err rc =
        b->ops->read_many(b, w[0]->family, n, keys, &c->arena, values, &e);
    for (size_t i = 0; i < n; i++) {
        if (rc != ERR_OK) {
            run_row(w[i], c, b);
            continue;
        }
        w[i]->rc = ERR_OK;
        w[i]->complete = true;
        w[i]->n = 0;
        if (values[i].len > 0)
            one_row(w[i], values[i]);
    }
}

/* What was asked for in order stands in the list from last to first. */
static void sort_wants(struct want **all, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (by_key(&all[i - 1], &all[i]) > 0) {
            qsort(all, n, sizeof(struct want *), by_key);
            return;
        }
}

/* The single rows among what is missing, if they are many. */
static void run_rows(struct content *c, struct backend *b)
{
    size_t n = 0, rows = 0;
    struct want *scans = NULL, *next;
    for (struct want *w = c->missing; w != NULL; w = w->next)
        rows += w->kind == WANT_ROW;
    if (b->ops->read_many == NULL || rows < 4)
        return;
    struct want **all = mem_alloc(rows * sizeof(struct want *));
    for (struct want *w = c->missing; w != NULL; w = next) {
        next = w->next;
        w->next = NULL;
        if (w->kind == WANT_ROW) {
            all[rows - ++n] = w;
        } else {
            w->next = scans;
            scans = w;
        }
    }
    c->missing = scans;
    sort_wants(all, n);
    for (size_t i = 0, end; i < n; i = end) {
        size_t many = all[i]->family == FAMILY_JOBS ? MANY_JOBS : MANY;
        for (end = i + 1;
             end < n && end - i < many && all[end]->family == all[i]->family;)
            end++;
        run_many(all + i, end - i, c, b);
    }
    for (size_t i = 0; i < n; i++)
        all[i]->fetched = true;
    mem_free(all);
}

void fetch_run(struct fetch *f, struct backend *b)
{
    struct content *c = f->content;
    run_rows(c, b);
    while (c->missing != NULL) {
        struct want *w = c->missing;
        c->missing = w->next;
        w->next = NULL;
        if (w->kind == WANT_ROW)
            run_row(w, c, b);
        else
            run_scan(w, c, b);
        w->fetched = true;
    }
}

void fetch_free(struct fetch **fp)
{
    struct fetch *f = *fp;
    if (f == NULL)
        return;
    content_free(&f->content);
    FREE(fp);
}
