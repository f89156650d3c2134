/* Reads of the base: from memory on the loop, from anywhere in the reader. */
#include <stdio.h>

#include "store/key.h"
#include "store/rocks.h"
#include "util/alloc.h"

/* Rows that a second walk passes to look for damage. */
#define CHECKED_MAX 100000
#define SKIPPED_MAX 128
#define READ_AHEAD_MAX ((size_t)64 << 10)
#define READ_AHEAD_ROW 256 /* a small job */

struct base_cursor {
    const struct rocks_base *base; /* NULL: there is none, so no row */
    rocksdb_iterator_t *it;        /* NULL: memory does not tell */
    rocksdb_readoptions_t *options;
    /* RocksDB keeps pointers to the bounds. */
    struct arena bounds;
    bool back;
    bool ranged; /* rocks_ranges.c */
    enum family family;
};

static enum err read_err(struct errbuf *e, char *message, enum family f)
{
    char what[32];
    snprintf(what, sizeof(what), "family %s", family_name(f));
    return rocks_err(e, message, what);
}

enum err rocks_read(struct backend *b, enum base_tier tier, enum family f,
                    struct slice key, struct arena *to, struct slice *value,
                    struct errbuf *e)
{
    const struct rocks_base *base = rocks_base_of(rocks_of(b));
    char *message = NULL;
    size_t len;
    if (base == NULL)
        return ERR_NOTFOUND;
    rocksdb_pinnableslice_t *pin = rocksdb_get_pinned_cf(
        base->db, tier == BASE_MEMORY ? base->read_memory : base->read_disk,
        base->cfs[f], key.data, key.len, &message);
    if (message != NULL)
        return read_err(e, message, f);
    if (pin == NULL)
        return ERR_NOTFOUND;
    const char *data = rocksdb_pinnableslice_value(pin, &len);
    *value = arena_copy(to, slice_of(data, len));
    rocksdb_pinnableslice_destroy(pin);
    if (len == 0) /* invariant 4 of store.h */
        return err_set(e, ERR_CORRUPT, "family %s: an empty value",
                       family_name(f));
    return ERR_OK;
}

static void walk_begin(struct base_cursor *c, rocksdb_iterator_t **it)
{
    *it = rocksdb_create_iterator_cf(c->base->db, c->options,
                                     c->base->cfs[c->family]);
    if (c->back)
        rocksdb_iter_seek_to_last(*it);
    else
        rocksdb_iter_seek_to_first(*it); /* the lower bound, if there is one */
}

/* For `rows` neighbours: in pieces larger than a block. Those of live jobs go
 * to workers, and will not be asked for again: past the cache. */
static void for_neighbours(rocksdb_readoptions_t *options, enum family f,
                           size_t rows)
{
    size_t ahead = rows * READ_AHEAD_ROW;
    rocksdb_readoptions_set_fill_cache(options, f != FAMILY_JOBS);
    rocksdb_readoptions_set_readahead_size(
        options, ahead < READ_AHEAD_MAX ? ahead : READ_AHEAD_MAX);
    /* Rather none of it than many times through so many that are erased. */
    rocksdb_readoptions_set_max_skippable_internal_keys(options, SKIPPED_MAX);
}

/* `neighbours`: so many rows that stand together, or an error; 0: any rows. */
static struct base_cursor *walk(struct backend *b, enum base_tier tier,
                                enum family f, struct slice from,
                                struct slice to, bool back, size_t neighbours)
{
    struct base_cursor *c = NEW(struct base_cursor);
    c->base = rocks_base_of(rocks_of(b));
    c->family = f;
    c->back = back;
    if (c->base == NULL)
        return c;
    c->ranged = atomic_load(&c->base->ranged[f]);
    if (c->ranged && tier == BASE_MEMORY)
        return c;
    c->options = rocksdb_readoptions_create();
    if (tier == BASE_MEMORY)
        rocksdb_readoptions_set_read_tier(c->options, 1);
    rocksdb_readoptions_set_ignore_range_deletions(c->options, !c->ranged);
    if (neighbours > 0)
        for_neighbours(c->options, f, neighbours);
    /* Bounds on both sides: without the lower one a seek walks through the
     * tombstones of what a queue has consumed (9 ms instead of 3 us). */
    if (from.len > 0) {
        from = arena_copy(&c->bounds, from);
        rocksdb_readoptions_set_iterate_lower_bound(c->options, from.data,
                                                    from.len);
    }
    if (to.len > 0) {
        to = arena_copy(&c->bounds, to);
        rocksdb_readoptions_set_iterate_upper_bound(c->options, to.data,
                                                    to.len);
    }
    walk_begin(c, &c->it);
    return c;
}

struct base_cursor *rocks_walk(struct backend *b, enum base_tier tier,
                               enum family f, struct slice from,
                               struct slice to, bool back)
{
    return walk(b, tier, f, from, to, back, 0);
}

bool rocks_row(struct base_cursor *c, struct slice *key, struct slice *value)
{
    if (c->it == NULL || !rocksdb_iter_valid(c->it))
        return false;
    key->data = rocksdb_iter_key(c->it, &key->len);
    value->data = rocksdb_iter_value(c->it, &value->len);
    return true;
}

void rocks_step(struct base_cursor *c)
{
    if (c->back)
        rocksdb_iter_prev(c->it);
    else
        rocksdb_iter_next(c->it);
}

/* Over the same rows again. */
static void check_walk(struct base_cursor *c, char **message)
{
    rocksdb_iterator_t *it;
    struct slice end = SLICE_EMPTY, key;
    if (rocksdb_iter_valid(c->it))
        end.data = rocksdb_iter_key(c->it, &end.len);
    rocksdb_readoptions_set_ignore_range_deletions(c->options, 1);
    walk_begin(c, &it);
    for (unsigned n = 0; n < CHECKED_MAX && rocksdb_iter_valid(it); n++) {
        key.data = rocksdb_iter_key(it, &key.len);
        int past = end.len == 0 ? 0 : slice_cmp(key, end);
        if (c->back ? past < 0 : past > 0)
            break;
        if (c->back)
            rocksdb_iter_prev(it);
        else
            rocksdb_iter_next(it);
    }
    rocksdb_iter_get_error(it, message);
    rocksdb_iter_destroy(it);
}

enum err rocks_finish(struct base_cursor **cp, struct errbuf *e)
{
    struct base_cursor *c = *cp;
    char *message = NULL;
    enum err rc = c->base != NULL && c->it == NULL ? ERR_PENDING : ERR_OK;
    if (c->it != NULL) {
        rocksdb_iter_get_error(c->it, &message);
        if (message == NULL && c->ranged)
            check_walk(c, &message);
        rocksdb_iter_destroy(c->it);
        rocksdb_readoptions_destroy(c->options);
    }
    if (message != NULL)
        rc = read_err(e, message, c->family);
    arena_release(&c->bounds);
    FREE(cp);
    return rc;
}

/* --- many rows ----------------------------------------------------------- */

#define MANY_MAX 256
#define NEIGHBOURS_MIN 16

/* Jobs that were added one after the other stand so in their family: a walk
 * over them costs a fraction of finding each. False: other rows, or what is
 * left of erased ones, lie between them, or one is damaged. */
static bool read_neighbours(struct backend *b, enum family f, size_t n,
                            const struct slice *keys, struct arena *to,
                            struct slice *values)
{
    struct key after;
    struct slice key, value;
    struct errbuf e;
    size_t i = 0, others = 0;
    bool good = true;
    struct base_cursor *c =
        walk(b, BASE_DISK, f, keys[0], key_next(&after, keys[n - 1]), false, n);
    while (i < n && good && rocks_row(c, &key, &value)) {
        int diff = slice_cmp(keys[i], key);
        if (diff > 0) {
            good = ++others <= n;
        } else if (diff == 0) {
            values[i] = arena_copy(to, value);
            good = value.len > 0;
        }
        if (diff <= 0)
            i++;
        if (diff >= 0)
            rocks_step(c);
    }
    good = rocks_finish(&c, &e) == ERR_OK && good;
    for (i = 0; i < n && !good; i++)
        values[i] = SLICE_EMPTY;
    return good;
}

/* Sorted keys share what they read of filters, indexes and blocks. */
static enum err read_apart(const struct rocks_base *base, enum family f,
                           size_t n, const struct slice *keys, struct arena *to,
                           struct slice *values, struct errbuf *e)
{
    const char *data[MANY_MAX] = {NULL};
    size_t lens[MANY_MAX] = {0};
    rocksdb_pinnableslice_t *pins[MANY_MAX] = {NULL};
    char *messages[MANY_MAX] = {NULL};
    enum err rc = ERR_OK;
    for (size_t i = 0; i < n; i++) {
        data[i] = keys[i].data;
        lens[i] = keys[i].len;
    }
    rocksdb_batched_multi_get_cf(base->db, base->read_disk, base->cfs[f], n,
                                 data, lens, pins, messages, true);
    for (size_t i = 0; i < n; i++) {
        if (messages[i] != NULL) {
            enum err bad = read_err(e, messages[i], f);
            rc = rc == ERR_OK ? bad : rc;
        } else if (pins[i] != NULL) {
            size_t len;
            const char *value = rocksdb_pinnableslice_value(pins[i], &len);
            values[i] = arena_copy(to, slice_of(value, len));
            if (len == 0) /* invariant 4 of store.h */
                rc = err_set(e, ERR_CORRUPT, "family %s: an empty value",
                             family_name(f));
        }
        if (pins[i] != NULL)
            rocksdb_pinnableslice_destroy(pins[i]);
    }
    return rc;
}

/* Those of one backlog are neighbours; of several, a part of them may be. */
enum err rocks_read_many(struct backend *b, enum family f, size_t n,
                         const struct slice *keys, struct arena *to,
                         struct slice *values, struct errbuf *e)
{
    const struct rocks_base *base = rocks_base_of(rocks_of(b));
    enum err rc = ERR_OK;
    if (base == NULL)
        return ERR_OK; /* it has none of them */
    if (n >= NEIGHBOURS_MIN && read_neighbours(b, f, n, keys, to, values))
        return ERR_OK;
    for (size_t i = 0, piece; rc == ERR_OK && i < n; i += piece) {
        piece = n - i < MANY_MAX ? n - i : MANY_MAX;
        if (piece == n || piece < NEIGHBOURS_MIN ||
            !read_neighbours(b, f, piece, keys + i, to, values + i))
            rc = read_apart(base, f, piece, keys + i, to, values + i, e);
    }
    return rc;
}

/* --- fetches ------------------------------------------------------------- */

void rocks_fetch(struct backend *b, struct fetch *f)
{
    struct rocks *r = rocks_of(b);
    pthread_mutex_lock(&r->lock);
    list_append(&r->to_fetch, &f->node);
    pthread_cond_signal(&r->read_cond);
    pthread_mutex_unlock(&r->lock);
}

struct fetch *rocks_fetched(struct backend *b)
{
    struct rocks *r = rocks_of(b);
    if (!atomic_load(&r->any_fetched))
        return NULL;
    pthread_mutex_lock(&r->lock);
    struct list *n = list_pop(&r->fetched);
    if (n == NULL)
        atomic_store(&r->any_fetched, false);
    pthread_mutex_unlock(&r->lock);
    return n == NULL ? NULL : CONTAINER_OF(n, struct fetch, node);
}

void *rocks_reader(void *arg)
{
    struct rocks *r = arg;
    (void)pthread_setname_np(pthread_self(), "reader");
    rocks_thread_begin();
    pthread_mutex_lock(&r->lock);
    while (!r->stop_read) {
        struct list *n = list_pop(&r->to_fetch);
        if (n == NULL) {
            pthread_cond_wait(&r->read_cond, &r->lock);
            continue;
        }
        pthread_mutex_unlock(&r->lock);
        fetch_run(CONTAINER_OF(n, struct fetch, node), &r->backend);
        pthread_mutex_lock(&r->lock);
        list_append(&r->fetched, n);
        atomic_store(&r->any_fetched, true);
        pthread_mutex_unlock(&r->lock);
        r->o.on_wake(r->o.ud);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}
