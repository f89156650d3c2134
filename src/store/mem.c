/* The simulation's disk.
 *
 *      log     | released | on disk, durable | unsynced |
 *      base    flushed <--(undo)-- live
 *
 * A crash cuts the log behind `durable` and takes back, newest first, what was
 * applied since the last flush; a flush forgets how to. There is one set of
 * rows: two of them would be kept in step by doing everything twice. With
 * knobs.tables it leaves of each family what some of these generations did.
 */
#include "store/mem.h"

#include "store/gather.h"
#include "util/alloc.h"
#include "util/hash.h"
#include "util/rng.h"

struct base {
    struct sortmap maps[FAMILIES];
    struct arena arena;
    size_t live_bytes;
};

/* One row that is not flushed. Both lie in the arena of the base. */
struct undo {
    const char *was, *is; /* NULL: there was, or is, no such row */
};

struct mem_disk {
    struct mem_knobs knobs;
    struct rng rng;

    struct slice *entries; /* of index log_first + i */
    size_t entries_len, entries_cap;
    uint64_t log_first, durable;

    struct base base;
    uint64_t live_index, flushed_index;
    struct undo *undo; /* from flushed to live, in order */
    size_t undo_len, undo_cap;
    size_t *ends; /* of each generation since, among them */
    size_t ends_len, ends_cap;

    bool in_use;
    unsigned may_apply; /* permits of mem_apply() */
};

struct mem_backend {
    struct backend backend;
    struct mem_disk *d;
    uint64_t replay_at;
    struct list applying; /* struct generation.apply_node */
    size_t applying_len;
    struct list fetches, fetched;
    unsigned fetch_wait;
    const char *fault;
    /* Results that are reported by the next poll. */
    store_backup_fn backup_done;
    void *backup_ud;
};

struct base_cursor {
    struct mem_disk *d;
    struct sortmap_pos pos;
    struct slice from, to;
    bool back;
    enum err rc;
};

static struct mem_backend *mem_of(const struct backend *b)
{
    return CONTAINER_OF(b, struct mem_backend, backend);
}

/* --- the base ------------------------------------------------------------ */

static void base_release(struct base *b)
{
    for (int f = 0; f < FAMILIES; f++)
        sortmap_release(&b->maps[f]);
    arena_release(&b->arena);
    b->live_bytes = 0;
}

static size_t row_size(const char *row)
{
    struct change_head h = change_head(row);
    return change_size(h.key_len, h.value_len);
}

/* Let `row` be the row of `key`, or nothing if it is NULL; what was? */
static const char *base_set(struct base *b, enum family f, struct slice key,
                            const char *row)
{
    struct sortmap *m = &b->maps[f];
    struct sortmap_pos pos;
    const char *was = NULL;
    if (sortmap_find(m, key, &pos)) {
        was = sortmap_row(pos);
        b->live_bytes -= row_size(was);
    }
    if (row != NULL)
        b->live_bytes += row_size(row);
    if (was != NULL && row != NULL)
        sortmap_set(pos, row, 0);
    else if (row != NULL)
        sortmap_insert(m, pos, row, 0);
    else if (was != NULL)
        sortmap_remove(m, pos);
    return was;
}

static const char *base_keep(struct base *b, const char *row)
{
    return arena_copy(&b->arena, slice_of(row, row_size(row))).data;
}

/* Rows that died stay in the arena until they are too many. */
static void base_tidy(struct base *b)
{
    struct base tidy = {0};
    if (b->arena.bytes < 3 * b->live_bytes + ((size_t)1 << 20))
        return;
    for (int f = 0; f < FAMILIES; f++) {
        struct sortmap_pos pos = sortmap_seek(&b->maps[f], SLICE_EMPTY);
        for (; pos.leaf != NULL; pos = sortmap_next(pos)) {
            const char *row = base_keep(&tidy, sortmap_row(pos));
            base_set(&tidy, (enum family)f, change_key(row), row);
        }
    }
    base_release(b);
    *b = tidy;
}

/* --- changes of the base, and back --------------------------------------- */

static void change(struct mem_disk *d, enum family f, struct slice key,
                   const char *row)
{
    const char *is = row == NULL ? NULL : base_keep(&d->base, row);
    const char *was = base_set(&d->base, f, key, is);
    if (was == NULL && is == NULL)
        return;
    if (d->undo_len == d->undo_cap) {
        d->undo_cap = d->undo_cap == 0 ? 256 : d->undo_cap * 2;
        d->undo = mem_realloc(d->undo, d->undo_cap * sizeof(*d->undo));
    }
    d->undo[d->undo_len++] = (struct undo){was, is};
}

static void change_range(struct mem_disk *d, enum family f,
                         const struct range *r)
{
    struct sortmap_pos pos;
    while ((pos = sortmap_seek(&d->base.maps[f], r->from)).leaf != NULL) {
        struct slice key = change_key(sortmap_row(pos));
        if (r->to.len > 0 && slice_cmp(key, r->to) >= 0)
            return;
        change(d, f, key, NULL);
    }
}

/* Range deletions first: rows in the maps are newer. */
static void change_all(struct mem_disk *d, const struct generation *g)
{
    for (int f = 0; f < FAMILIES; f++) {
        const struct ranges *ranges = &g->ranges[f];
        for (size_t i = 0; i < ranges->len; i++)
            change_range(d, (enum family)f, &ranges->all[i]);
        struct sortmap_pos pos = sortmap_seek(&g->maps[f], SLICE_EMPTY);
        for (; pos.leaf != NULL; pos = sortmap_next(pos)) {
            const char *at = sortmap_row(pos);
            change(d, (enum family)f, change_key(at),
                   change_is_del(at) ? NULL : at);
        }
    }
}

static void end_changes(struct mem_disk *d)
{
    if (d->ends_len == d->ends_cap) {
        d->ends_cap = d->ends_cap == 0 ? 16 : d->ends_cap * 2;
        d->ends = mem_realloc(d->ends, d->ends_cap * sizeof(*d->ends));
    }
    d->ends[d->ends_len++] = d->undo_len;
}

/* Up to where the changes of each family stay. `meta` says what is applied, and
 * is in no table. */
static void draw_tables(struct mem_disk *d, size_t stay[FAMILIES])
{
    memset(stay, 0, FAMILIES * sizeof(*stay));
    for (int f = 0; f < FAMILIES && d->knobs.tables; f++) {
        size_t n = (size_t)rng_below(&d->rng, d->ends_len + 1);
        if (n > 0 && f != FAMILY_META)
            stay[f] = d->ends[n - 1];
    }
}

static void change_back(struct mem_disk *d)
{
    size_t stay[FAMILIES];
    draw_tables(d, stay);
    while (d->undo_len > 0) {
        const struct undo *u = &d->undo[--d->undo_len];
        const char *any = u->is == NULL ? u->was : u->is;
        enum family f = (enum family)change_head(any).family;
        if (d->undo_len < stay[f])
            continue;
        const char *is = base_set(&d->base, f, change_key(any), u->was);
        ASSERT(is == u->is);
    }
    d->ends_len = 0;
}

/* --- the log ------------------------------------------------------------- */

static uint64_t mem_last(const struct backend *b)
{
    const struct mem_disk *d = mem_of(b)->d;
    return d->log_first + d->entries_len - 1;
}

static uint64_t mem_append(struct backend *b, struct slice entry)
{
    struct mem_disk *d = mem_of(b)->d;
    if (d->entries_len == d->entries_cap) {
        d->entries_cap = d->entries_cap == 0 ? 64 : d->entries_cap * 2;
        d->entries =
            mem_realloc(d->entries, d->entries_cap * sizeof(*d->entries));
    }
    d->entries[d->entries_len++] = slice_of(mem_dup(entry), entry.len);
    if (!d->knobs.manual_sync)
        d->durable = mem_last(b);
    return mem_last(b);
}

static void log_drop_front(struct mem_disk *d, uint64_t upto)
{
    size_t n = 0;
    while (n < d->entries_len && d->log_first + n <= upto)
        mem_free((void *)(uintptr_t)d->entries[n++].data);
    if (n == 0)
        return;
    d->entries_len -= n;
    d->log_first += n;
    memmove(d->entries, d->entries + n, d->entries_len * sizeof(*d->entries));
}

static void mem_nothing(struct backend *b)
{
    (void)b;
}

static bool mem_sync_inline(struct backend *b)
{
    return !mem_of(b)->d->knobs.manual_sync;
}

static uint64_t mem_durable(const struct backend *b)
{
    return mem_of(b)->d->durable;
}

static uint64_t mem_pending_bytes(const struct backend *b)
{
    const struct mem_disk *d = mem_of(b)->d;
    uint64_t bytes = 0;
    for (size_t i = d->entries_len; i-- > 0 && d->log_first + i > d->durable;)
        bytes += d->entries[i].len;
    return bytes;
}

static void mem_configure(struct backend *b, const struct store_options *o)
{
    (void)b;
    (void)o;
}

static enum err mem_replay(struct backend *b, uint64_t *index,
                           struct slice *entry, struct errbuf *e)
{
    struct mem_backend *m = mem_of(b);
    (void)e;
    if (m->replay_at > mem_last(b))
        return ERR_EMPTY;
    *index = m->replay_at++;
    *entry = m->d->entries[*index - m->d->log_first];
    return ERR_OK;
}

/* --- reads --------------------------------------------------------------- */

static enum err read_fault(struct mem_disk *d, enum base_tier tier)
{
    if (tier == BASE_MEMORY && d->knobs.pending_per_1000 > 0 &&
        rng_below(&d->rng, 1000) < d->knobs.pending_per_1000)
        return ERR_PENDING;
    if (d->knobs.fail_reads > 0) {
        d->knobs.fail_reads--;
        return ERR_IO;
    }
    if (d->knobs.damage_reads > 0) {
        d->knobs.damage_reads--;
        return ERR_CORRUPT;
    }
    return ERR_OK;
}

static enum err mem_read(struct backend *b, enum base_tier tier, enum family f,
                         struct slice key, struct arena *to,
                         struct slice *value, struct errbuf *e)
{
    struct mem_disk *d = mem_of(b)->d;
    struct sortmap_pos pos;
    enum err rc = read_fault(d, tier);
    if (rc == ERR_PENDING)
        return rc;
    if (rc != ERR_OK)
        return err_set(e, rc, "family %s: as the simulation wants it",
                       family_name(f));
    /* Not sortmap_find(): reads follow each other in no order. */
    pos = sortmap_seek(&d->base.maps[f], key);
    if (pos.leaf == NULL || !slice_eq(change_key(sortmap_row(pos)), key))
        return ERR_NOTFOUND;
    *value = arena_copy(to, change_value(sortmap_row(pos)));
    return ERR_OK;
}

static struct base_cursor *mem_walk(struct backend *b, enum base_tier tier,
                                    enum family f, struct slice from,
                                    struct slice to, bool back)
{
    struct mem_disk *d = mem_of(b)->d;
    struct base_cursor *c = NEW(struct base_cursor);
    const struct sortmap *m = &d->base.maps[f];
    c->d = d;
    c->from = from;
    c->to = to;
    c->back = back;
    c->rc = read_fault(d, tier);
    c->pos = back ? sortmap_before(m, to) : sortmap_seek(m, from);
    return c;
}

static bool mem_row(struct base_cursor *c, struct slice *key,
                    struct slice *value)
{
    if (c->rc != ERR_OK || c->pos.leaf == NULL)
        return false;
    *key = change_key(sortmap_row(c->pos));
    *value = change_value(sortmap_row(c->pos));
    if (c->back)
        return slice_cmp(*key, c->from) >= 0;
    return c->to.len == 0 || slice_cmp(*key, c->to) < 0;
}

static void mem_step(struct base_cursor *c)
{
    c->pos = c->back ? sortmap_prev(c->pos) : sortmap_next(c->pos);
}

static enum err mem_finish(struct base_cursor **c, struct errbuf *e)
{
    enum err rc = (*c)->rc;
    FREE(c);
    if (rc != ERR_OK && rc != ERR_PENDING)
        return err_set(e, rc, "a scan: as the simulation wants it");
    return rc;
}

/* --- applying and fetching ----------------------------------------------- */

static void mem_apply_one(struct mem_backend *m, struct generation *g)
{
    struct mem_disk *d = m->d;
    change_all(d, g);
    end_changes(d);
    d->live_index = g->last_index;
    list_remove(&g->apply_node);
    m->applying_len--;
    g->applied = true;
    if (!d->knobs.manual_flush)
        mem_flush(d);
}

static void apply_some(struct mem_backend *m, bool all)
{
    struct mem_disk *d = m->d;
    LIST_FOR (n, &m->applying) {
        struct generation *g = CONTAINER_OF(n, struct generation, apply_node);
        if (g->last_index > d->durable) /* invariant 2 of store.h */
            return;
        if (!all && d->knobs.manual_apply) {
            if (d->may_apply == 0)
                return;
            d->may_apply--;
        }
        m->fault = NULL;
        if (!all && d->knobs.fail_applies > 0) {
            d->knobs.fail_applies--;
            m->fault = "applying fails: as the simulation wants it";
            return;
        }
        mem_apply_one(m, g);
    }
}

static void mem_hand_over(struct backend *b, struct generation *g)
{
    struct mem_backend *m = mem_of(b);
    list_append(&m->applying, &g->apply_node);
    m->applying_len++;
}

static size_t mem_applying(const struct backend *b)
{
    return mem_of(b)->applying_len;
}

static void mem_fetch(struct backend *b, struct fetch *f)
{
    struct mem_backend *m = mem_of(b);
    list_append(&m->fetches, &f->node);
}

static void fetch_some(struct mem_backend *m)
{
    struct mem_disk *d = m->d;
    struct list *n = list_first(&m->fetches);
    if (n == NULL)
        return;
    if (m->fetch_wait > 0 && --m->fetch_wait > 0)
        return;
    while ((n = list_pop(&m->fetches)) != NULL) {
        fetch_run(CONTAINER_OF(n, struct fetch, node), &m->backend);
        list_append(&m->fetched, n);
        if (d->knobs.fetch_polls_max > 0)
            break;
    }
    if (d->knobs.fetch_polls_max > 0)
        m->fetch_wait =
            (unsigned)rng_below(&d->rng, d->knobs.fetch_polls_max) + 1;
}

static struct fetch *mem_fetched(struct backend *b)
{
    struct list *n = list_pop(&mem_of(b)->fetched);
    return n == NULL ? NULL : CONTAINER_OF(n, struct fetch, node);
}

static void mem_poll(struct backend *b, struct now now)
{
    struct mem_backend *m = mem_of(b);
    (void)now;
    apply_some(m, false);
    fetch_some(m);
    if (m->backup_done != NULL) {
        store_backup_fn done = m->backup_done;
        m->backup_done = NULL;
        done(m->backup_ud, ERR_OK, NULL);
    }
}

/* --- the rest ------------------------------------------------------------ */

static enum store_room mem_room(const struct backend *b)
{
    return mem_of(b)->d->knobs.room;
}

static void mem_stats(const struct backend *b, struct store_stats *out)
{
    const struct mem_backend *m = mem_of(b);
    out->applied_index = m->d->live_index;
    out->flushed_index = m->d->flushed_index;
    out->log_segments = 1;
    out->log_bytes = 0;
    for (size_t i = 0; i < m->d->entries_len; i++)
        out->log_bytes += m->d->entries[i].len;
    out->base_memory_bytes = m->d->base.arena.bytes;
    out->fault = m->fault;
    out->fault_is = m->fault == NULL ? ERR_OK : ERR_IO;
}

static void mem_forget_times(struct backend *b)
{
    (void)b; /* takes none */
}

static enum err mem_backup(struct backend *b, const char *path,
                           store_backup_fn done, void *ud, struct errbuf *e)
{
    struct mem_backend *m = mem_of(b);
    (void)path;
    if (m->backup_done != NULL)
        return err_set(e, ERR_BUSY, "a backup is under way");
    m->backup_done = done;
    m->backup_ud = ud;
    return ERR_OK;
}

static void free_fetches(struct list *all)
{
    struct list *n;
    while ((n = list_pop(all)) != NULL) {
        struct fetch *f = CONTAINER_OF(n, struct fetch, node);
        if (f->gather != NULL)
            f->gather->fetch = NULL;
        fetch_free(&f);
    }
}

static void mem_close(struct backend **bp, bool clean)
{
    struct mem_backend *m = mem_of(*bp);
    struct mem_disk *d = m->d;
    if (clean) {
        mem_sync(d, UINT64_MAX);
        apply_some(m, true);
        ASSERT(m->applying_len == 0);
        mem_flush(d);
    }
    free_fetches(&m->fetches);
    free_fetches(&m->fetched);
    d->in_use = false;
    mem_free(m);
    *bp = NULL;
}

static const struct backend_ops mem_ops = {
    .append = mem_append,
    .submit = mem_nothing,
    .sync_inline = mem_sync_inline,
    .request_sync = mem_nothing,
    .last = mem_last,
    .acked = mem_durable,
    .durable = mem_durable,
    .pending_bytes = mem_pending_bytes,
    .configure = mem_configure,
    .replay = mem_replay,
    .replayed = mem_nothing,
    .read = mem_read,
    .walk = mem_walk,
    .row = mem_row,
    .step = mem_step,
    .finish = mem_finish,
    .apply = mem_hand_over,
    .applying = mem_applying,
    .fetch = mem_fetch,
    .fetched = mem_fetched,
    .poll = mem_poll,
    .room = mem_room,
    .stats = mem_stats,
    .forget_times = mem_forget_times,
    .backup = mem_backup,
    .close = mem_close,
};

enum err store_open_mem(struct store **out, struct mem_disk *d,
                        const struct store_options *o, struct errbuf *e)
{
    if (d->in_use)
        return err_set(e, ERR_BUSY, "another store is open on this disk");
    struct mem_backend *m = NEW(struct mem_backend);
    m->backend.ops = &mem_ops;
    m->d = d;
    m->replay_at = d->flushed_index + 1;
    list_init(&m->applying);
    list_init(&m->fetches);
    list_init(&m->fetched);
    d->in_use = true;
    *out = store_new(&m->backend, o);
    return ERR_OK;
}

enum err store_start_mem(struct store **out, struct mem_disk *d,
                         const struct store_options *o, struct now now,
                         struct errbuf *e)
{
    struct store *s = NULL;
    bool done = false;
    enum err rc = store_open_mem(&s, d, o, e);
    while (rc == ERR_OK && !done) {
        rc = store_load_step(s, now, &done, e);
        if (!done && rc == ERR_OK) {
            mem_sync(d, UINT64_MAX);
            mem_apply(d, 1);
        }
    }
    if (rc != ERR_OK) {
        store_abandon(&s);
        return rc;
    }
    *out = s;
    return ERR_OK;
}

/* --- the disk ------------------------------------------------------------ */

struct mem_disk *mem_disk_new(const struct mem_knobs *knobs)
{
    struct mem_disk *d = NEW(struct mem_disk);
    d->knobs = *knobs;
    d->log_first = 1;
    rng_seed(&d->rng, knobs->seed);
    return d;
}

void mem_disk_free(struct mem_disk **dp)
{
    struct mem_disk *d = *dp;
    if (d == NULL)
        return;
    ASSERT(!d->in_use);
    log_drop_front(d, UINT64_MAX);
    mem_free(d->entries);
    mem_free(d->undo);
    mem_free(d->ends);
    base_release(&d->base);
    FREE(dp);
}

struct mem_knobs *mem_knobs(struct mem_disk *d)
{
    return &d->knobs;
}

void mem_sync(struct mem_disk *d, uint64_t index)
{
    uint64_t last = d->log_first + d->entries_len - 1;
    if (index > last)
        index = last;
    if (index > d->durable)
        d->durable = index;
}

void mem_apply(struct mem_disk *d, unsigned generations)
{
    d->may_apply += generations;
}

void mem_flush(struct mem_disk *d)
{
    d->undo_len = d->ends_len = 0;
    d->flushed_index = d->live_index;
    base_tidy(&d->base);
    log_drop_front(d, d->flushed_index);
}

void mem_crash(struct store **s, uint64_t keep_unsynced)
{
    struct mem_disk *d = mem_of(store_backend(*s))->d;
    store_abandon(s);
    uint64_t last = d->log_first + d->entries_len - 1;
    while (last > d->durable && last - d->durable > keep_unsynced) {
        mem_free((void *)(uintptr_t)d->entries[--d->entries_len].data);
        last--;
    }
    d->durable = last;
    d->may_apply = 0;
    change_back(d);
    d->live_index = d->flushed_index;
}

bool mem_damage(struct mem_disk *d, enum family f, struct slice key, size_t bit)
{
    struct sortmap_pos pos;
    if (!sortmap_find(&d->base.maps[f], key, &pos))
        return false;
    struct slice v = change_value(sortmap_row(pos));
    char *byte = (char *)(uintptr_t)v.data + bit / 8 % v.len;
    *byte = (char)(*byte ^ 1 << bit % 8);
    return true;
}

uint64_t mem_hash(const struct mem_disk *d)
{
    uint64_t h = d->durable;
    for (int f = 0; f < FAMILIES; f++) {
        struct sortmap_pos pos = sortmap_seek(&d->base.maps[f], SLICE_EMPTY);
        for (; pos.leaf != NULL; pos = sortmap_next(pos)) {
            const char *row = sortmap_row(pos);
            h = hash64_seed(slice_of(row, row_size(row)), h);
        }
    }
    for (size_t i = 0; i < d->entries_len; i++)
        h = hash64_seed(d->entries[i], h);
    return h;
}
