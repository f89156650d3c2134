/* The applier: sealed generations into the base.
 *
 *  1. The loop seals a generation; it waits until the log is durable up to its
 *     end, and is then given to this thread.
 *  2. The first one of a new directory finds no base: it is made now
 *     (rocks_create.c).
 *  3. If it was full, the rows of its large families go into tables
 *     (rocks_file.c). Of the rest the net goes into one write batch: range
 *     deletions first, then the rows, family by family in key order (sequential
 *     puts cost a fifth of random ones), then meta/applied. WAL off: our log is
 *     the WAL.
 *  4. When 256 MiB of log are not flushed, or a sixteenth of the disk, or when
 *     a backup asks, all families are flushed together: by this thread, between
 *     two batches (rocks.h, fact 7). Memtables that are full are rare, because
 *     full generations go into tables.
 *  5. Files that lie in forgotten buckets are deleted, once that is flushed.
 *  6. The loop takes the generation back and lets the log go up to the flushed
 *     index.
 *
 * How it fails: a write that fails changed nothing; it is tried again until it
 * works, and what comes after waits. Reads are not disturbed, because the
 * generation stays in the overlay.
 *
 * A full disk must not reach RocksDB at all: an atomic flush that meets it can
 * leave two of its threads waiting for each other for ever (7.8.3; seen in one
 * of eight runs of tests/rigs/nospace). So nothing is applied that could not be
 * flushed as well, and a base that still refuses long after there is room ends
 * the process: what was acknowledged is in the log, and a start works.
 */
#include <errno.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "store/key.h"
#include "store/records.h"
#include "store/rocks.h"
#include "util/alloc.h"
#include "util/logger.h"

#define SPACE_CHECK_MS 500
#define MARGIN_MIN ((uint64_t)1 << 20)
#define MARGIN_MAX ((uint64_t)16 << 20)
#define STUCK_MS 12000 /* RocksDB looks for space every 5 s */
#define BATCH_IDLE_MAX 10

/* So long a stop goes on applying. The rest is in the log, and the next start
 * replays it: who stops us waits for less than a slow base may need. */
#define STOP_APPLY_MS 10000

void rocks_apply(struct backend *b, struct generation *g)
{
    struct rocks *r = rocks_of(b);
    list_append(&r->waiting, &g->apply_node);
    r->applying_len++;
}

size_t rocks_applying(const struct backend *b)
{
    return rocks_of(b)->applying_len;
}

static void hand_over(struct rocks *r)
{
    uint64_t durable = log_durable(r->log);
    struct list *n;
    while ((n = list_first(&r->waiting)) != NULL) {
        struct generation *g = CONTAINER_OF(n, struct generation, apply_node);
        if (g->last_index > durable) /* invariant 2 of store.h */
            return;
        list_remove(n);
        pthread_mutex_lock(&r->lock);
        list_append(&r->to_apply, n);
        pthread_cond_signal(&r->apply_cond);
        pthread_mutex_unlock(&r->lock);
    }
}

static void take_back(struct rocks *r)
{
    struct list *n;
    if (!atomic_exchange(&r->any_applied, false))
        return;
    pthread_mutex_lock(&r->lock);
    while ((n = list_pop(&r->applied)) != NULL) {
        CONTAINER_OF(n, struct generation, apply_node)->applied = true;
        r->applying_len--;
    }
    pthread_mutex_unlock(&r->lock);
}

void rocks_apply_poll(struct rocks *r)
{
    uint64_t flushed = atomic_load(&r->flushed_index);
    hand_over(r);
    take_back(r);
    if (flushed != r->released) {
        r->released = flushed;
        log_release(r->log, flushed + 1);
    }
}

/* --- in the thread ------------------------------------------------------- */

static void batch_family(struct rocks *r, const struct generation *g,
                         enum family f)
{
    rocksdb_column_family_handle_t *cf = r->base.cfs[f];
    struct sortmap_pos pos = sortmap_seek(&g->maps[f], SLICE_EMPTY);
    for (; pos.leaf != NULL; pos = sortmap_next(pos)) {
        const char *at = sortmap_row(pos);
        struct slice key = change_key(at), value = change_value(at);
        if (change_is_del(at))
            rocksdb_writebatch_delete_cf(r->batch, cf, key.data, key.len);
        else
            rocksdb_writebatch_put_cf(r->batch, cf, key.data, key.len,
                                      value.data, value.len);
    }
}

/* A range deletion needs an end; nothing sorts behind this. */
static struct slice range_end(const struct range *range, char *highest,
                              size_t size)
{
    if (range->to.len > 0)
        return range->to;
    memset(highest, 0xff, size);
    return slice_of(highest, size);
}

/* One batch serves all generations: its memory was grown and touched once. It
 * is as large as a generation, and goes when the applier has had nothing to do
 * for some seconds. */
static void fill_batch(struct rocks *r, const struct generation *g)
{
    rocksdb_writebatch_t *batch = r->batch;
    /* Up to there the base was flushed by us, and the log has the rest. */
    struct rec_applied applied = {
        g->last_index, g->last_index - atomic_load(&r->flushed_index)};
    char highest[KEY_MAX + 1], value[ROCKS_APPLIED_MAX];
    struct key k;
    rocksdb_writebatch_clear(batch);
    r->batch_used = true;
    for (int f = 0; f < FAMILIES; f++) {
        for (size_t i = 0; i < g->ranges[f].len; i++) {
            const struct range *range = &g->ranges[f].all[i];
            struct slice to = range_end(range, highest, sizeof(highest));
            rocksdb_writebatch_delete_range_cf(
                batch, r->base.cfs[f], range->from.data, range->from.len,
                to.data, to.len);
        }
    }
    for (int f = 0; f < FAMILIES; f++)
        if (!rocks_file_has(r, (enum family)f))
            batch_family(r, g, (enum family)f);
    key_meta(&k, SLICE_LIT("applied"));
    size_t len = (size_t)(rec_applied_encode(&applied, value) - value);
    rocksdb_writebatch_put_cf(batch, r->base.cfs[FAMILY_META], k.bytes, k.len,
                              value, len);
}

/* Space returns at once if whole files go. That is right only for buckets: they
 * are never written again once they were forgotten, while a file of any other
 * range may hold newer rows. And only when the deletion itself is flushed: a
 * crash before would bring rows back without those that went with the file. */
static void note_dropped(struct rocks *r, const struct generation *g)
{
    for (int f = 0; f < FAMILIES; f++) {
        const struct ranges *ranges = &g->ranges[f];
        if (!family_has_buckets((enum family)f))
            continue;
        for (size_t k = 0; k < ranges->len; k++) {
            const struct range *range = &ranges->all[k];
            if (range->from.len != 4 || range->to.len != 4)
                continue;
            if (r->dropped_len == r->dropped_cap) {
                r->dropped_cap = r->dropped_cap == 0 ? 8 : r->dropped_cap * 2;
                r->dropped = mem_realloc(r->dropped,
                                         r->dropped_cap * sizeof(*r->dropped));
            }
            struct dropped *d = &r->dropped[r->dropped_len++];
            d->family = (enum family)f;
            d->index = g->last_index;
            memcpy(d->from, range->from.data, 4);
            memcpy(d->to, range->to.data, 4);
        }
    }
}

static void trim_batch(struct rocks *r)
{
    if (!r->batch_used)
        return;
    rocksdb_writebatch_destroy(r->batch);
    r->batch = rocksdb_writebatch_create();
    r->batch_used = false;
}

static void delete_files(struct rocks *r)
{
    uint64_t flushed = atomic_load(&r->flushed_index);
    size_t kept = 0;
    for (size_t i = 0; i < r->dropped_len; i++) {
        const struct dropped *d = &r->dropped[i];
        char *message = NULL;
        if (d->index > flushed) {
            r->dropped[kept++] = *d;
            continue;
        }
        rocksdb_delete_file_in_range_cf(r->base.db, r->base.cfs[d->family],
                                        (const char *)d->from, 4,
                                        (const char *)d->to, 4, &message);
        if (message != NULL) /* compaction will do it, later */
            rocksdb_free(message);
    }
    r->dropped_len = kept;
}

static void go_inside(struct rocks *r)
{
    atomic_store(&r->inside_ms, clock_mono_us() / 1000);
}

static void come_out(struct rocks *r)
{
    atomic_store(&r->inside_ms, 0);
}

/* What waits for a flush. */
static void flushed(struct rocks *r, uint64_t index)
{
    r->unflushed_bytes = 0;
    if (index == atomic_load(&r->flushed_index))
        return;
    atomic_store(&r->flushed_index, index);
    rocks_file_flushed(r, index);
    rocks_ranges_look(r);
    delete_files(r);
}

static void tell_once(_Atomic int *fault, enum err rc, const struct errbuf *e,
                      const char *what)
{
    enum err before = (enum err)atomic_exchange(fault, (int)rc);
    if (rc != ERR_OK && before == ERR_OK)
        say(LL_WARNING, "%s; trying again", e->text);
    else if (rc == ERR_OK && before != ERR_OK)
        say(LL_NOTICE, "%s works again", what);
}

void rocks_look_at_space(struct rocks *r)
{
    struct statvfs v;
    if (statvfs(r->dir, &v) != 0)
        return;
    atomic_store(&r->disk_free, (uint64_t)v.f_bavail * v.f_frsize);
    atomic_store(&r->disk_bytes, (uint64_t)v.f_blocks * v.f_frsize);
}

static void check_space(struct rocks *r)
{
    rocks_look_at_space(r);
    uint64_t left = atomic_load(&r->disk_free),
             reserve = atomic_load(&r->disk_reserve);
    log_set_spare_bytes(r->log, left > reserve ? (left - reserve) / 4 : 0);
    if (!r->ballast && atomic_load(&r->disk_free) > 4 * ROCKS_BALLAST_BYTES)
        r->ballast = rocks_ballast_take(r->dir);
}

/* Would there be room for all memtables with `more` bytes in them? Others write
 * to the disk, too, so some must be left. */
enum err rocks_check_room(struct rocks *r, uint64_t more, struct errbuf *e)
{
    const struct rocks_base *base = rocks_base_of(r);
    uint64_t need = more + MARGIN_MIN, spare;
    uint64_t margin = atomic_load(&r->disk_reserve) / 4;
    need += margin < MARGIN_MAX ? margin : MARGIN_MAX;
    if (base != NULL)
        need += rocks_base_property(base, "rocksdb.cur-size-all-mem-tables");
    rocks_look_at_space(r);
    spare = atomic_load(&r->disk_free);
    if (spare >= need)
        return ERR_OK;
    return err_set(e, ERR_NOSPACE,
                   "%llu bytes of disk are free, the base needs %llu to go on",
                   (unsigned long long)spare, (unsigned long long)need);
}

/* For a generation: while there is none, no new work is taken. */
static enum err check_room(struct rocks *r, const struct generation *g,
                           struct errbuf *e)
{
    check_space(r);
    enum err rc = rocks_check_room(r, g->used, e);
    atomic_store(&r->no_room, rc != ERR_OK);
    return rc;
}

/* First the rows, then the word that they are there. */
static enum err flush_base(struct rocks *r, struct errbuf *e)
{
    const struct rec_applied all = {.index = atomic_load(&r->applied_index)};
    struct rec_applied said;
    enum err rc = rocks_base_flush(&r->base, e);
    if (rc == ERR_OK)
        rc = rocks_base_applied(&r->base, &said, e);
    if (rc != ERR_OK || applied_sure(&said) == all.index)
        return rc;
    return rocks_base_vouch(&r->base, &all, e);
}

static enum err flush_for(struct rocks *r, struct errbuf *e)
{
    enum err rc = rocks_check_room(r, 0, e);
    if (rc == ERR_OK && r->has_base) {
        go_inside(r);
        rc = flush_base(r, e);
        come_out(r);
        if (rc == ERR_OK)
            flushed(r, atomic_load(&r->applied_index));
    }
    tell_once(&r->flush_fault, rc, e, "flushing the base");
    return rc;
}

static void flush(struct rocks *r)
{
    struct errbuf e;
    (void)flush_for(r, &e); /* it is told */
}

struct flush_wish {
    struct errbuf *e;
    enum err rc;
    bool done;
};

enum err rocks_flush_wait(struct rocks *r, struct errbuf *e)
{
    struct flush_wish wish = {.e = e};
    pthread_mutex_lock(&r->lock);
    ASSERT(r->flush_wish == NULL);
    r->flush_wish = &wish;
    pthread_cond_signal(&r->apply_cond);
    while (!wish.done)
        pthread_cond_wait(&r->flush_cond, &r->lock);
    pthread_mutex_unlock(&r->lock);
    return wish.rc;
}

/* With the lock held. */
static void grant_wish(struct rocks *r)
{
    struct flush_wish *wish = r->flush_wish;
    if (wish == NULL)
        return;
    r->flush_wish = NULL;
    pthread_mutex_unlock(&r->lock);
    wish->rc = flush_for(r, wish->e);
    pthread_mutex_lock(&r->lock);
    wish->done = true;
    pthread_cond_signal(&r->flush_cond);
}

/* On a small disk the log would stand in the way of what is in the base long
 * since. */
static uint64_t flush_bytes(const struct rocks *r)
{
    uint64_t share = atomic_load(&r->disk_bytes) / ROCKS_FLUSH_SHARE;
    if (share < r->o.log_segment_bytes)
        share = r->o.log_segment_bytes;
    return share < ROCKS_FLUSH_BYTES ? share : ROCKS_FLUSH_BYTES;
}

/* Flushes beside one that fails can end in an assertion of RocksDB's. */
static bool is_calm(const struct rocks *r)
{
    static const char *const properties[] = {"rocksdb.mem-table-flush-pending",
                                             "rocksdb.num-running-flushes"};
    for (size_t i = 0; i < ARRAY_LEN(properties); i++)
        if (rocks_base_property(&r->base, properties[i]) > 0)
            return false;
    return !rocks_base_failed(&r->base) &&
           atomic_load(&r->flush_fault) == ERR_OK;
}

static enum err write_generation(struct rocks *r, const struct generation *g,
                                 struct errbuf *e)
{
    char *message = NULL;
    if (rocks_file_waits(r, g) && is_calm(r)) {
        flush(r);
        go_inside(r);
    }
    enum err rc = rocks_file_rows(r, g, e);
    if (rc != ERR_OK)
        return rc;
    rocksdb_writeoptions_t *wo = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(wo, 1);
    fill_batch(r, g);
    rocks_ranges_come(r, g);
    rocksdb_write(r->base.db, wo, r->batch, &message);
    rocksdb_writeoptions_destroy(wo);
    if (message != NULL)
        return rocks_err(e, message, "apply to the base");
    atomic_store(&r->applied_index, g->last_index);
    rocks_file_written(r, g);
    r->unflushed_bytes += g->used;
    note_dropped(r, g);
    return ERR_OK;
}

/* With the lock held: until there is something to do, or a while. False: the
 * while is over. */
static bool wait_ms(struct rocks *r, uint64_t ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t ns = (uint64_t)t.tv_nsec + ms * 1000000;
    t.tv_sec += (time_t)(ns / 1000000000);
    t.tv_nsec = (long)(ns % 1000000000);
    return pthread_cond_timedwait(&r->apply_cond, &r->lock, &t) == 0;
}

static void end_stuck(const char *what)
{
    say(LL_WARNING,
        "%s for %d s although there is room. Ending, so that a start can "
        "replay the log",
        what, STUCK_MS / 1000);
    _exit(EXIT_BASE_STUCK);
}

/* It had room and refused all the same, again and again. */
static void check_stuck(struct rocks *r, enum err rc, const struct errbuf *e)
{
    uint64_t now_ms = clock_mono_us() / 1000;
    if (rc == ERR_OK) {
        r->refused_since_ms = 0;
    } else if (r->refused_since_ms == 0) {
        r->refused_since_ms = now_ms;
    } else if (now_ms - r->refused_since_ms > STUCK_MS) {
        say(LL_WARNING, "%s", e->text);
        end_stuck("the base has refused");
    }
}

/* On the loop. The applier may be in a call that never returns (see above), and
 * then nobody else would see that there is room again, nor give up. A base that
 * is only slow has not failed before. */
void rocks_watch_applier(struct rocks *r)
{
    uint64_t since = atomic_load(&r->inside_ms), now_ms;
    if (since == 0) {
        r->hung_ms = 0;
        return;
    }
    now_ms = clock_mono_us() / 1000;
    if (now_ms < since + SPACE_CHECK_MS ||
        now_ms < r->looked_ms + SPACE_CHECK_MS)
        return;
    r->looked_ms = now_ms;
    rocks_look_at_space(r);
    bool failed = atomic_load(&r->apply_fault) != ERR_OK ||
                  atomic_load(&r->flush_fault) != ERR_OK;
    if (!failed || atomic_load(&r->disk_free) < atomic_load(&r->disk_reserve))
        r->hung_ms = 0;
    else if (r->hung_ms == 0)
        r->hung_ms = now_ms;
    else if (now_ms - r->hung_ms > STUCK_MS)
        end_stuck("the base has not answered");
}

static enum err make_base(struct rocks *r, struct errbuf *e)
{
    const struct rocks_base_options o = {r->o.block_cache_bytes,
                                         r->o.write_buffer_bytes, false};
    bool found;
    enum err rc = rocks_base_find(r->dir, &found, e);
    if (rc == ERR_OK && !found)
        rc = rocks_base_create(r->dir, &o, e);
    return rc == ERR_OK ? rocks_base_begin(r, e) : rc;
}

/* False: it is to be tried again. */
static bool apply_one(struct rocks *r, const struct generation *g)
{
    struct errbuf e;
    enum err rc = check_room(r, g, &e);
    if (rc == ERR_OK) {
        go_inside(r);
        if (!r->has_base)
            rc = make_base(r, &e);
        if (rc == ERR_OK)
            rc = write_generation(r, g, &e);
        come_out(r);
        check_stuck(r, rc, &e);
    } else {
        r->refused_since_ms = 0;
        if (r->unflushed_bytes > 0)
            flush(r); /* then the log can let go of that */
    }
    tell_once(&r->apply_fault, rc, &e, "applying to the base");
#ifdef BELFRY_SABOTAGE_DROP_REFUSED
    return true; /* a cheat that the rigs must catch: it is in no base */
#endif
    if (rc != ERR_OK)
        return false;
    if (r->unflushed_bytes >= flush_bytes(r))
        flush(r);
    return true;
}

/* With the lock held. *since_ms is 0 until the stop begins. */
static bool stop_is_late(const struct rocks *r, uint64_t *since_ms)
{
    uint64_t now_ms = clock_mono_us() / 1000;
    if (!r->stop_apply)
        return false;
    if (*since_ms == 0)
        *since_ms = now_ms;
    return now_ms - *since_ms >= STOP_APPLY_MS;
}

void *rocks_applier(void *arg)
{
    struct rocks *r = arg;
    unsigned idle = 0; /* waits in a row that brought nothing */
    uint64_t stop_ms = 0;
    (void)pthread_setname_np(pthread_self(), "apply");
    rocks_thread_begin();
    r->batch = rocksdb_writebatch_create();
    check_space(r);
    pthread_mutex_lock(&r->lock);
    for (;;) {
        grant_wish(r);
        struct list *n = list_first(&r->to_apply);
        if (r->stop_apply &&
            (n == NULL || r->abandon || atomic_load(&r->apply_fault) ||
             stop_is_late(r, &stop_ms)))
            break;
        if (n == NULL) {
            idle = wait_ms(r, SPACE_CHECK_MS) ? 0 : idle + 1;
            pthread_mutex_unlock(&r->lock);
            if (idle >= BATCH_IDLE_MAX)
                trim_batch(r);
            else if (idle > 0 && r->has_base) /* merged away since? */
                rocks_ranges_look(r);
            check_space(r);
            rocks_witness_turn(r, false);
            if (atomic_load(&r->flush_fault))
                flush(r);
            pthread_mutex_lock(&r->lock);
            continue;
        }
        pthread_mutex_unlock(&r->lock);
        bool done =
            apply_one(r, CONTAINER_OF(n, struct generation, apply_node));
        check_space(r);
        rocks_witness_turn(r, false);
        pthread_mutex_lock(&r->lock);
        if (done) {
            list_remove(n);
            list_append(&r->applied, n);
            atomic_store(&r->any_applied, true);
            pthread_mutex_unlock(&r->lock);
            r->o.on_wake(r->o.ud);
            pthread_mutex_lock(&r->lock);
        } else if (!r->stop_apply) {
            (void)wait_ms(r, ROCKS_RETRY_MS);
        }
    }
    bool flush_now = r->flush_now;
    pthread_mutex_unlock(&r->lock);
    if (flush_now)
        flush(r);
    rocksdb_writebatch_destroy(r->batch);
    return NULL;
}
