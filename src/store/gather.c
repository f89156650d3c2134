#include "store/gather.h"

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

static void free_rows(struct map_node *n, void *ud)
{
    (void)ud;
    FREE(&CONTAINER_OF(n, struct want, node)->rows);
}

void content_free(struct content **cp)
{
    struct content *c = *cp;
    if (c == NULL)
        return;
    map_each(&c->wants, free_rows, NULL);
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

void content_miss(struct content *c, struct want *w, enum want_kind kind,
                  enum family f, struct slice from, struct slice to,
                  size_t limit)
{
    if (w == NULL) {
        struct sought k = {kind, f, from, to};
        w = arena_alloc(&c->arena, sizeof(*w));
        *w = (struct want){
            .kind = kind,
            .family = f,
            .from = arena_copy(&c->arena, from),
            .to = arena_copy(&c->arena, to),
        };
        map_add(&c->wants, &w->node, want_hash(&k));
    } else if (!w->fetched) {
        w->limit = limit > w->limit ? limit : w->limit;
        return; /* is in the list already */
    }
    w->limit = limit;
    w->fetched = false;
    w->next = c->missing;
    c->missing = w;
}

/* --- in the reader thread ------------------------------------------------ */

static void run_row(struct want *w, struct content *c, struct backend *b)
{
    struct slice value = SLICE_EMPTY;
    w->rc = b->ops->read(b, BASE_DISK, w->family, w->from, &c->arena, &value,
                         &w->e);
    w->n = 0;
    if (w->rc == ERR_NOTFOUND) {
        w->rc = ERR_OK;
    } else if (w->rc == ERR_OK) {
        w->rows = mem_realloc(w->rows, sizeof(*w->rows));
        w->rows[0] = (struct base_row){w->from, value};
        w->n = 1;
    }
    w->complete = true;
}

static void run_scan(struct want *w, struct content *c, struct backend *b)
{
    struct base_cursor *cur = b->ops->walk(b, BASE_DISK, w->family, w->from,
                                           w->to, w->kind == WANT_BACK);
    struct slice key, value;
    size_t cap = 0;
    FREE(&w->rows);
    w->n = 0;
    while ((w->complete = !b->ops->row(cur, &key, &value)) == false &&
           w->n < w->limit) {
        if (w->n == cap) {
            cap = cap == 0 ? 16 : cap * 2;
            w->rows = mem_realloc(w->rows, cap * sizeof(*w->rows));
        }
        w->rows[w->n++] = (struct base_row){arena_copy(&c->arena, key),
                                            arena_copy(&c->arena, value)};
        b->ops->step(cur);
    }
    w->rc = b->ops->finish(&cur, &w->e);
}

void fetch_run(struct fetch *f, struct backend *b)
{
    struct content *c = f->content;
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
