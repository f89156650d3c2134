/* Reads: what the generations say, newest first, and below them the base.
 *
 *     newest   open generation     put | deleted | covered by a range | -
 *       |      sealed generations  put | deleted | covered by a range | -
 *     oldest   base                row | -
 *
 * The first that says something is right. A scan walks all of them in step and
 * asks that question for each key.
 *
 * The base may hold a generation already that is still in the overlay: then
 * both say the same. It never lacks one that the overlay has dropped.
 */
#include "store/state.h"
#include "util/alloc.h"
#include "util/buf.h"

static struct content *content_of(struct gather *g)
{
    if (g->content == NULL)
        g->content = content_new();
    return g->content;
}

static struct arena *arena_of(struct store *s, struct gather *g)
{
    return g == NULL ? &s->scratch : &content_of(g)->arena;
}

static struct generation *older(struct store *s, struct generation *g)
{
    return g->node.prev == &s->generations
               ? NULL
               : CONTAINER_OF(g->node.prev, struct generation, node);
}

/* --- one row ------------------------------------------------------------- */

static enum err get_fetched(const struct want *w, struct slice *value,
                            struct errbuf *e)
{
    if (w->rc != ERR_OK)
        return err_set(e, w->rc, "%.*s", (int)w->why.len, w->why.data);
    if (w->n == 0)
        return ERR_NOTFOUND;
    *value = w->rows[0].value;
    return ERR_OK;
}

static enum err get_base(struct store *s, struct gather *g, bool later,
                         enum family f, struct slice key, struct slice *value,
                         struct errbuf *e)
{
    struct want *w = NULL;
    enum err rc = ERR_PENDING;
    if (g != NULL) {
        w = content_find(content_of(g), WANT_ROW, f, key, SLICE_EMPTY);
        if (w != NULL && w->fetched)
            return get_fetched(w, value, e);
    }
    if (!later) {
        s->stats.base_reads++;
        rc = s->b->ops->read(s->b, BASE_MEMORY, f, key, arena_of(s, g), value,
                             e);
    }
    if (rc != ERR_PENDING) {
        if (g != NULL && w == NULL && (rc == ERR_OK || rc == ERR_NOTFOUND))
            content_row(g->content, f, key,
                        rc == ERR_OK ? *value : SLICE_EMPTY);
        return rc;
    }
    if (g != NULL) {
        content_miss(g->content, w, WANT_ROW, f, key, SLICE_EMPTY, 1);
        s->stats.pending_reads++;
        return ERR_PENDING;
    }
    s->stats.blocking_reads++;
    if (s->phase == LOAD_DONE)
        s->stats.loop_disk_reads++;
    return s->b->ops->read(s->b, BASE_DISK, f, key, &s->scratch, value, e);
}

static enum err get(struct store *s, struct gather *g, bool later,
                    enum family f, struct slice key, struct slice *value,
                    struct errbuf *e)
{
    enum said said = SAID_NOTHING;
    CHECK_OBJ(s, STORE);
    ASSERT(f < FAMILIES);
    ASSERT(key.len > 0);
    s->stats.reads++;
    if (g != NULL) {
        ASSERT(g->fetch == NULL);
        store_pin(s, g);
    }
    for (struct generation *gen = s->open; gen != NULL && said == SAID_NOTHING;
         gen = older(s, gen))
        said = generation_get(gen, f, key, value);
    if (said != SAID_NOTHING)
        return said == SAID_ROW ? ERR_OK : ERR_NOTFOUND;
    enum err rc = get_base(s, g, later, f, key, value, e);
    ASSERT(rc != ERR_OK || value->len > 0); /* invariant 4 */
    return rc;
}

enum err store_get(struct store *s, struct gather *g, enum family f,
                   struct slice key, struct slice *value, struct errbuf *e)
{
    return get(s, g, false, f, key, value, e);
}

enum err store_get_later(struct store *s, struct gather *g, enum family f,
                         struct slice key, struct slice *value,
                         struct errbuf *e)
{
    return get(s, g, true, f, key, value, e);
}

enum err store_find(struct store *s, struct gather *g, enum family f,
                    struct slice key, struct slice *value, struct errbuf *e)
{
    return get(s, g, g != NULL && g->deferred, f, key, value, e);
}

void store_wish_scan(struct store *s, struct gather *g, enum family f,
                     struct slice from, struct slice to, size_t max)
{
    CHECK_OBJ(s, STORE);
    ASSERT(g->fetch == NULL);
    store_pin(s, g);
    if (content_find(content_of(g), WANT_SCAN, f, from, to) == NULL)
        content_miss(g->content, NULL, WANT_SCAN, f, from, to, max + 16);
}

/* --- many rows ----------------------------------------------------------- */

/* One generation's part in a scan. */
struct layer {
    struct sortmap_pos pos;
    const struct ranges *ranges;
};

struct walk {
    struct store *s;
    struct gather *g;
    enum family family;
    struct slice from, to;
    bool back;
    size_t max;
    enum base_tier tier;

    struct layer *layers; /* newest first */
    size_t layers_len;

    /* The base's part: fetched rows, or a cursor. */
    struct want *want;
    size_t want_at;
    struct base_cursor *cursor;
    struct base_row base; /* where it stands; key.len 0: at the end */
    bool at_end;          /* there is no row behind those found */

    /* With a gather: what the cursor found, in the gather's arena. */
    struct base_row *mine;
    size_t mine_len, mine_cap;
};

static bool in_bounds(const struct walk *w, struct slice key)
{
    if (w->back)
        return slice_cmp(key, w->from) >= 0;
    return w->to.len == 0 || slice_cmp(key, w->to) < 0;
}

static bool layer_key(const struct walk *w, const struct layer *l,
                      struct slice *key)
{
    if (l->pos.leaf == NULL)
        return false;
    *key = change_key(sortmap_row(l->pos));
    return in_bounds(w, *key);
}

static void layers_begin(struct walk *w)
{
    struct store *s = w->s;
    w->layers = mem_alloc(s->generations_len * sizeof(*w->layers));
    for (struct generation *g = s->open; g != NULL; g = older(s, g)) {
        const struct sortmap *m = &g->maps[w->family];
        const struct ranges *r = &g->ranges[w->family];
        if (m->len == 0 && r->len == 0)
            continue;
        w->layers[w->layers_len++] = (struct layer){
            w->back ? sortmap_before(m, w->to) : sortmap_seek(m, w->from), r};
    }
}

/* Is a row of layer `of` (layers_len: the base) hidden by a newer range? */
static bool is_covered(const struct walk *w, size_t of, struct slice key)
{
    for (size_t i = 0; i < of; i++)
        if (w->layers[i].ranges->len > 0 &&
            ranges_cover(w->layers[i].ranges, key))
            return true;
    return false;
}

/* Load w->base with the row on which the base's part stands. False: a disk
 * would have to be asked. */
static bool base_row(struct walk *w)
{
    if (w->want != NULL) {
        if (w->want_at < w->want->n) {
            w->base = w->want->rows[w->want_at];
            return true;
        }
        w->base.key = SLICE_EMPTY;
        return w->want->complete;
    }
    if (w->cursor != NULL &&
        !w->s->b->ops->row(w->cursor, &w->base.key, &w->base.value))
        w->base.key = SLICE_EMPTY;
    return true;
}

static bool base_step(struct walk *w)
{
    if (w->want != NULL)
        w->want_at++;
    else
        w->s->b->ops->step(w->cursor);
    return base_row(w);
}

static void found(struct walk *w, struct slice key, struct slice value)
{
    struct store *s = w->s;
    if (s->rows_len == s->rows_cap) {
        s->rows_cap = s->rows_cap == 0 ? 64 : s->rows_cap * 2;
        s->rows = mem_realloc(s->rows, s->rows_cap * sizeof(*s->rows));
    }
    s->rows[s->rows_len++] = (struct base_row){key, value};
}

/* The cursor's row is gone with its next step: a copy of it. */
static void found_base(struct walk *w)
{
    struct arena *arena = arena_of(w->s, w->g);
    struct base_row row = {arena_copy(arena, w->base.key),
                           arena_copy(arena, w->base.value)};
    found(w, row.key, row.value);
    if (w->g == NULL)
        return;
    if (w->mine_len == w->mine_cap) {
        size_t cap = w->mine_cap == 0 ? 4 : w->mine_cap * 2;
        struct base_row *to = arena_alloc(arena, cap * sizeof(*to));
        if (w->mine_len > 0)
            memcpy(to, w->mine, w->mine_len * sizeof(*to));
        w->mine = to;
        w->mine_cap = cap;
    }
    w->mine[w->mine_len++] = row;
}

/* Let every part that stands on `key` go on. */
static bool pass(struct walk *w, struct slice key)
{
    struct slice other;
    for (size_t i = 0; i < w->layers_len; i++) {
        struct layer *l = &w->layers[i];
        if (layer_key(w, l, &other) && slice_eq(other, key))
            l->pos = w->back ? sortmap_prev(l->pos) : sortmap_next(l->pos);
    }
    if (w->base.key.len > 0 && slice_eq(w->base.key, key))
        return base_step(w);
    return true;
}

/* The next key in order and the newest part that stands on it (layers_len: the
 * base). */
static bool pick(const struct walk *w, struct slice *key, size_t *of)
{
    bool any = w->base.key.len > 0;
    if (any) {
        *key = w->base.key;
        *of = w->layers_len;
    }
    for (size_t i = w->layers_len; i-- > 0;) { /* newest last: it wins ties */
        struct slice other;
        if (!layer_key(w, &w->layers[i], &other))
            continue;
        int c = any ? slice_cmp(other, *key) : 0;
        if (!any || c == 0 || (c < 0) != w->back) {
            *key = other;
            *of = i;
            any = true;
        }
    }
    return any;
}

/* False: rows of the base are missing. */
static bool merge(struct walk *w)
{
    size_t begin = w->s->rows_len;
    if (w->max == 0)
        return true;
    if (!base_row(w))
        return false;
    for (;;) {
        struct slice key;
        size_t of = 0;
        if (!pick(w, &key, &of)) {
            w->at_end = true;
            return true;
        }
        if (of == w->layers_len) {
            if (!is_covered(w, of, key)) {
                if (w->want != NULL)
                    found(w, key, w->base.value);
                else
                    found_base(w);
            }
            if (w->s->rows_len - begin == w->max)
                return true;
            if (!base_step(w))
                return false;
            continue;
        }
        const char *at = sortmap_row(w->layers[of].pos);
        if (!change_is_del(at) && !is_covered(w, of, key))
            found(w, key, change_value(at));
        if (w->s->rows_len - begin == w->max)
            return true;
        if (!pass(w, key))
            return false;
    }
}

/* Collect the rows behind s->rows[begin]. */
static enum err collect(struct walk *w, size_t begin, struct errbuf *e)
{
    struct store *s = w->s;
    const struct backend_ops *ops = s->b->ops;
    enum want_kind kind = w->back ? WANT_BACK : WANT_SCAN;
    struct want *seen = NULL;
    enum err rc = ERR_OK;
    bool all;

    s->rows_len = begin;
    layers_begin(w);
    if (w->g != NULL)
        seen = content_find(content_of(w->g), kind, w->family, w->from, w->to);
    if (seen != NULL && seen->fetched) {
        if (seen->rc != ERR_OK) {
            rc = err_set(e, seen->rc, "%.*s", (int)seen->why.len,
                         seen->why.data);
            goto out;
        }
        w->want = seen;
    } else {
        s->stats.base_reads++;
        w->cursor =
            ops->walk(s->b, w->tier, w->family, w->from, w->to, w->back);
    }
    all = merge(w);
    if (w->cursor != NULL) {
        rc = ops->finish(&w->cursor, e);
        all = rc != ERR_PENDING;
    }
    if (!all) {
        rc = ERR_PENDING;
        if (w->g != NULL)
            content_miss(w->g->content, seen, kind, w->family, w->from, w->to,
                         w->want != NULL ? seen->limit * 2 : w->max + 16);
    } else if (rc == ERR_OK && w->g != NULL && seen == NULL && w->at_end) {
        content_rows(w->g->content, kind, w->family, w->from, w->to, w->mine,
                     w->mine_len);
    }

out:
    FREE(&w->layers);
    return rc;
}

static enum err scan(struct store *s, struct gather *g, enum family f,
                     struct slice from, struct slice to, size_t max,
                     store_row_fn fn, void *ud, bool back, struct errbuf *e)
{
    struct walk w = {.s = s,
                     .g = g,
                     .family = f,
                     .from = from,
                     .to = to,
                     .back = back,
                     .max = max,
                     .tier = BASE_MEMORY};
    struct walk again = w;
    size_t begin = s->rows_len;
    enum err rc;

    CHECK_OBJ(s, STORE);
    ASSERT(f < FAMILIES);
    if (to.len > 0 && slice_cmp(from, to) >= 0)
        return ERR_OK;
    s->stats.reads++;
    if (g != NULL) {
        ASSERT(g->fetch == NULL);
        store_pin(s, g);
    }
    rc = collect(&w, begin, e);
    if (rc == ERR_PENDING && g == NULL) {
        s->stats.blocking_reads++;
        if (s->phase == LOAD_DONE)
            s->stats.loop_disk_reads++;
        again.tier = BASE_DISK;
        rc = collect(&again, begin, e);
    } else if (rc == ERR_PENDING) {
        s->stats.pending_reads++;
    }
    size_t end = s->rows_len;
    if (rc == ERR_OK) {
        /* By index: a scan inside fn() may move the array. */
        for (size_t i = begin; i < end; i++) {
            struct base_row row = s->rows[i];
            if (!fn(row.key, row.value, ud))
                break;
        }
    }
    s->rows_len = begin;
    return rc;
}

enum err store_scan(struct store *s, struct gather *g, enum family f,
                    struct slice from, struct slice to, size_t max,
                    store_row_fn fn, void *ud, struct errbuf *e)
{
    return scan(s, g, f, from, to, max, fn, ud, false, e);
}

enum err store_scan_back(struct store *s, struct gather *g, enum family f,
                         struct slice from, struct slice to, size_t max,
                         store_row_fn fn, void *ud, struct errbuf *e)
{
    return scan(s, g, f, from, to, max, fn, ud, true, e);
}

struct steps {
    store_row_fn fn;
    void *ud;
    struct buf from; /* the first key behind the last row */
    size_t n;
    bool stopped;
};

static bool step(struct slice key, struct slice value, void *ud)
{
    struct steps *w = ud;
    buf_clear(&w->from);
    buf_add_slice(&w->from, key);
    buf_add(&w->from, "", 1);
    w->n++;
    w->stopped = !w->fn(key, value, w->ud);
    return !w->stopped;
}

enum err store_walk(struct store *s, enum family f, size_t chunk,
                    store_row_fn fn, store_then_fn then, void *ud,
                    struct errbuf *e)
{
    struct steps w = {.fn = fn, .ud = ud, .n = chunk};
    struct buf from = {0};
    enum err rc = ERR_OK;
    while (rc == ERR_OK && w.n == chunk && !w.stopped) {
        w.n = 0;
        buf_clear(&from);
        buf_add_slice(&from, buf_slice(&w.from));
        rc = store_scan(s, NULL, f, buf_slice(&from), SLICE_EMPTY, chunk, step,
                        &w, e);
        if (rc == ERR_OK && then != NULL)
            then(ud);
        store_forget_reads(s);
    }
    buf_release(&w.from);
    buf_release(&from);
    return rc;
}
