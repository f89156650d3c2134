#include "store/generation.h"

#include <sys/mman.h>
#include <unistd.h>

#include "util/alloc.h"

struct generation *generation_new(size_t bytes)
{
    struct generation *g = NEW(struct generation);
    g->region_size = bytes + 2 * GENERATION_ENTRY_MAX;
    g->region = mmap(NULL, g->region_size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT(g->region != MAP_FAILED);
    for (int f = 0; f < FAMILIES; f++)
        sortmap_init(&g->maps[f]);
    return g;
}

void generation_reset(struct generation *g)
{
    ASSERT(g->pins == 0);
    for (int f = 0; f < FAMILIES; f++) {
        struct ranges *r = &g->ranges[f];
        if (g->maps[f].root != NULL)
            sortmap_release(&g->maps[f]);
        if (r->all != NULL)
            FREE(&r->all);
        r->len = r->cap = 0;
    }
    g->node_bytes = 0;
    g->touched = generation_resident(g);
    g->used = 0;
    g->first_index = g->last_index = 0;
    g->born_mono_ms = 0;
    g->changes = g->vanished = 0;
    g->applied = false;
}

void generation_free(struct generation **gp)
{
    struct generation *g = *gp;
    if (g == NULL)
        return;
    generation_reset(g);
    munmap(g->region, g->region_size);
    FREE(gp);
}

size_t generation_resident(const struct generation *g)
{
    return g->used > g->touched ? g->used : g->touched;
}

bool generation_trim(struct generation *g)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t kept = (g->used + page - 1) / page * page, from = kept;
    if (g->touched > kept + GENERATION_TRIM_BYTES)
        from = (g->touched - GENERATION_TRIM_BYTES + page - 1) / page * page;
    if (from < g->touched)
        (void)madvise(g->region + from, g->touched - from, MADV_DONTNEED);
    g->touched = from > kept ? from : g->used;
    return from > kept;
}

char *generation_room(struct generation *g, size_t size)
{
    ASSERT(size <= g->region_size - g->used);
    char *at = g->region + g->used;
    g->used += size;
    return at;
}

/* --- the net ------------------------------------------------------------- */

/* Everybody who asks for room asks for node_bytes. */
static void insert(struct generation *g, struct sortmap *m,
                   struct sortmap_pos pos, const char *at, uint8_t mark)
{
    g->node_bytes -= m->node_bytes;
    sortmap_insert(m, pos, at, mark);
    g->node_bytes += m->node_bytes;
}

static void vanish(struct generation *g, struct sortmap *m,
                   struct sortmap_pos pos)
{
    g->node_bytes -= m->node_bytes;
    sortmap_remove(m, pos);
    g->node_bytes += m->node_bytes;
}

void generation_put(struct generation *g, enum family f, const char *at,
                    bool fresh)
{
    struct sortmap *m = &g->maps[f];
    struct sortmap_pos pos;
    g->changes++;
    if (!sortmap_find(m, change_key(at), &pos)) {
        insert(g, m, pos, at, fresh ? MARK_FRESH : 0);
        return;
    }
    if (change_is_del(sortmap_row(pos)))
        sortmap_set(pos, at, 0); /* invariant 2 */
    else
        sortmap_set(pos, at, sortmap_mark(pos)); /* invariant 3 */
}

void generation_del(struct generation *g, enum family f, const char *at)
{
    struct sortmap *m = &g->maps[f];
    struct sortmap_pos pos;
    g->changes++;
    if (!sortmap_find(m, change_key(at), &pos)) {
        insert(g, m, pos, at, 0);
        return;
    }
    if (sortmap_mark(pos) & MARK_FRESH) { /* invariant 1 */
        vanish(g, m, pos);
        g->vanished += 2;
        return;
    }
    sortmap_set(pos, at, 0);
}

static bool range_covers(const struct range *r, struct slice key)
{
    return slice_cmp(r->from, key) <= 0 &&
           (r->to.len == 0 || slice_cmp(key, r->to) < 0);
}

bool ranges_cover(const struct ranges *r, struct slice key)
{
    for (size_t i = 0; i < r->len; i++)
        if (range_covers(&r->all[i], key))
            return true;
    return false;
}

/* Do they overlap or touch? */
static bool range_meets(const struct range *a, const struct range *b)
{
    return (a->to.len == 0 || slice_cmp(b->from, a->to) <= 0) &&
           (b->to.len == 0 || slice_cmp(a->from, b->to) <= 0);
}

/* Ranges that meet become one, so purges in slices leave a short list. */
static void ranges_add(struct ranges *r, struct range new)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->len; i++) {
        struct range *old = &r->all[i];
        if (!range_meets(old, &new)) {
            r->all[kept++] = *old;
            continue;
        }
        if (slice_cmp(old->from, new.from) < 0)
            new.from = old->from;
        if (old->to.len == 0 ||
            (new.to.len > 0 && slice_cmp(old->to, new.to) > 0))
            new.to = old->to;
    }
    r->len = kept;
    if (r->len == r->cap) {
        r->cap = r->cap == 0 ? 4 : r->cap * 2;
        r->all = mem_realloc(r->all, r->cap * sizeof(*r->all));
    }
    r->all[r->len++] = new;
}

void generation_del_range(struct generation *g, enum family f,
                          struct slice from, struct slice to)
{
    struct sortmap *m = &g->maps[f];
    struct range range = {from, to};
    g->changes++;
    for (;;) { /* invariant 4 */
        struct sortmap_pos pos = sortmap_seek(m, from);
        if (pos.leaf == NULL ||
            !range_covers(&range, change_key(sortmap_row(pos))))
            break;
        vanish(g, m, pos);
        g->vanished++;
    }
    ranges_add(&g->ranges[f], range);
}

void generation_take(struct generation *g, const struct change *c)
{
    switch (c->op) {
    case CHANGE_PUT:
    case CHANGE_PUT_FRESH:
        generation_put(g, c->family, c->at, c->op == CHANGE_PUT_FRESH);
        break;
    case CHANGE_DEL:
        generation_del(g, c->family, c->at);
        break;
    case CHANGE_RANGE:
        generation_del_range(g, c->family, c->key, c->value);
        break;
    case CHANGE_EVENT:
        break;
    }
}

enum said generation_get(struct generation *g, enum family f, struct slice key,
                         struct slice *value)
{
    struct sortmap_pos pos;
    if (sortmap_find(&g->maps[f], key, &pos)) {
        const char *at = sortmap_row(pos);
        if (change_is_del(at))
            return SAID_GONE;
        *value = change_value(at);
        return SAID_ROW;
    }
    return ranges_cover(&g->ranges[f], key) ? SAID_GONE : SAID_NOTHING;
}

size_t generation_rows(const struct generation *g)
{
    size_t n = 0;
    for (int f = 0; f < FAMILIES; f++)
        n += g->maps[f].len;
    return n;
}

size_t generation_bytes(const struct generation *g)
{
    return g->used + g->node_bytes;
}

void generation_check(const struct generation *g)
{
    size_t node_bytes = 0;
    for (int f = 0; f < FAMILIES; f++) {
        const struct sortmap *m = &g->maps[f];
        struct sortmap_pos pos = sortmap_seek(m, SLICE_EMPTY);
        sortmap_check(m);
        node_bytes += m->node_bytes;
        for (; pos.leaf != NULL; pos = sortmap_next(pos)) {
            const char *at = sortmap_row(pos);
            ASSERT(at >= g->region && at < g->region + g->used);
            ASSERT(at[1] == (char)f);
            ASSERT(!change_is_del(at) || sortmap_mark(pos) == 0);
        }
    }
    ASSERT(node_bytes == g->node_bytes);
}
