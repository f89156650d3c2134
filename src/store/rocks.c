/* The real store: opening and closing, and the log's part.
 *
 * The happy path of a start:
 *  1. Claim the directory: its marker, its lock.
 *  2. Cut off what a power cut tore at the end of RocksDB's MANIFEST
 *     (rocks_manifest.h). Open the base, read up to which index it is sure to
 *     have everything. A new directory has no base (rocks_create.c), and the
 *     index is 0.
 *  3. Open the log and look at what lies behind that index; store_load_step()
 *     replays it.
 *
 * How it fails: a base or a witness that is ahead of the log means that the log
 * was deleted or rolled back; a log that begins behind the applied index has a
 * hole. Both are refused, because starting would lose what was acknowledged.
 */
#include "store/rocks.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/logger.h"

/* --- the log ------------------------------------------------------------- */

static uint64_t rocks_append(struct backend *b, struct slice entry)
{
    return log_append(rocks_of(b)->log, entry);
}

static void rocks_submit(struct backend *b)
{
    log_submit(rocks_of(b)->log);
}

static bool rocks_sync_inline(struct backend *b)
{
    return log_sync_inline(rocks_of(b)->log);
}

static void rocks_request_sync(struct backend *b)
{
    log_request_sync(rocks_of(b)->log);
}

static uint64_t rocks_last(const struct backend *b)
{
    return log_last(rocks_of(b)->log);
}

static uint64_t rocks_acked(const struct backend *b)
{
    return log_acked(rocks_of(b)->log);
}

static uint64_t rocks_durable(const struct backend *b)
{
    return log_durable(rocks_of(b)->log);
}

static uint64_t rocks_pending_bytes(const struct backend *b)
{
    return log_pending_bytes(rocks_of(b)->log);
}

static uint64_t above(uint64_t bytes, uint64_t usual)
{
    return bytes > usual ? bytes - usual : 0;
}

/* disk-reserve is what the overlay, the memtables and the next segments may
 * still need if they are as large as usual: what they are above that comes on
 * top. 0 is no guard at all. */
static uint64_t reserve_of(const struct store_options *o)
{
    struct store_options usual;
    store_options_default(&usual);
    if (o->disk_reserve_bytes == 0)
        return 0;
    return o->disk_reserve_bytes +
           above(o->overlay_bytes_max, usual.overlay_bytes_max) +
           3 * above(o->write_buffer_bytes, usual.write_buffer_bytes) +
           2 * above(o->log_segment_bytes, usual.log_segment_bytes);
}

static void rocks_configure(struct backend *b, const struct store_options *o)
{
    struct rocks *r = rocks_of(b);
    atomic_store(&r->disk_reserve, reserve_of(o));
    log_set_keep_bytes(r->log, o->log_max_bytes);
    if (o->log_sync == r->o.log_sync)
        return; /* a change asks for a sync */
    r->o.log_sync = o->log_sync;
    log_set_sync(r->log, (enum log_sync_mode)o->log_sync);
}

/* --- start --------------------------------------------------------------- */

static enum err rocks_replay(struct backend *b, uint64_t *index,
                             struct slice *entry, struct errbuf *e)
{
    struct rocks *r = rocks_of(b);
    struct log_record rec;
    if (r->replay == NULL) {
        uint64_t from = atomic_load(&r->applied_index) + 1;
        if (from > r->replay_last)
            return ERR_EMPTY;
        enum err rc = log_iter_open(&r->replay, r->log, from, e);
        if (rc != ERR_OK)
            return rc;
    }
    enum err rc = log_iter_next(r->replay, r->replay_last, &rec, e);
    if (rc != ERR_OK)
        return rc;
    *index = rec.index;
    *entry = rec.entry;
    return ERR_OK;
}

static void rocks_replayed(struct backend *b)
{
    log_iter_close(&rocks_of(b)->replay);
}

static void no_wake(void *ud)
{
    (void)ud;
}

static void log_moved(void *ud)
{
    struct rocks *r = ud;
    r->o.on_wake(r->o.ud);
}

static enum err check_gap(struct rocks *r, uint64_t applied, uint64_t sure,
                          struct errbuf *e)
{
    if (r->found.last < applied)
        return err_set(e, ERR_CORRUPT,
                       "the base comes up to index %llu, but the log ends at "
                       "%llu: it was deleted or rolled back",
                       (unsigned long long)applied,
                       (unsigned long long)r->found.last);
    if (r->found.first > sure + 1)
        return err_set(e, ERR_CORRUPT,
                       "the base holds everything up to index %llu, but the "
                       "log begins at %llu: the segment before is missing, and "
                       "what it held up to %llu is lost",
                       (unsigned long long)sure,
                       (unsigned long long)r->found.first,
                       (unsigned long long)r->found.first - 1);
    return rocks_witness_check(r->dir, &r->witness, r->found.last, e);
}

static enum err open_log(struct rocks *r, uint64_t applied, uint64_t sure,
                         struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/log", r->dir);
    enum err rc = rocks_witness_read(r->dir, &r->witness, e);
    if (rc != ERR_OK)
        return rc;
    struct log_options lo = {
        .dir = path,
        .segment_bytes = r->o.log_segment_bytes,
        .keep_bytes = r->o.log_max_bytes,
        .verify_from = sure + 1,
        /* Base and witness are made after the log. */
        .must_exist = r->has_base || r->witness.durable > 0,
        .sync = (enum log_sync_mode)r->o.log_sync,
        .threaded = true,
        .priority = r->o.log_priority,
        .on_progress = log_moved,
        .ud = r,
    };
    rc = log_open(&r->log, &lo, &r->found, e);
    if (rc == ERR_OK)
        rc = check_gap(r, applied, sure, e);
    if (rc != ERR_OK)
        return rc;
    r->replay_last = r->found.last;
    if (r->found.epoch == 0)
        log_set_epoch(r->log, 1);
    return ERR_OK;
}

static void stop_threads(struct rocks *r)
{
    pthread_mutex_lock(&r->lock);
    r->stop_read = r->stop_apply = true;
    pthread_cond_signal(&r->read_cond);
    pthread_cond_signal(&r->apply_cond);
    pthread_mutex_unlock(&r->lock);
    if (r->reader_runs)
        pthread_join(r->reader, NULL);
    if (r->applier_runs)
        pthread_join(r->applier, NULL);
    r->applier_runs = r->reader_runs = false;
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->apply_cond);
    pthread_cond_destroy(&r->read_cond);
    pthread_cond_destroy(&r->flush_cond);
}

static enum err start_threads(struct rocks *r, struct errbuf *e)
{
    pthread_condattr_t attr;
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&r->apply_cond, &attr);
    pthread_cond_init(&r->read_cond, &attr);
    pthread_cond_init(&r->flush_cond, &attr);
    pthread_condattr_destroy(&attr);
    int rc = pthread_create(&r->applier, NULL, rocks_applier, r);
    r->applier_runs = rc == 0;
    if (rc == 0)
        rc = pthread_create(&r->reader, NULL, rocks_reader, r);
    r->reader_runs = r->applier_runs && rc == 0;
    if (rc == 0)
        return ERR_OK;
    stop_threads(r);
    return err_sys(e, ERR_IO, rc, "cannot start the threads of the store");
}

/* --- the end ------------------------------------------------------------- */

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

/* Everything to the log, to the base, to the disk. What cannot be applied is
 * in the log, and the next start replays it. */
static void settle(struct rocks *r)
{
    struct errbuf e;
    if (log_drain(r->log, &e) != ERR_OK) {
        say(LL_WARNING, "closing: %s", e.text);
        return;
    }
    rocks_apply_poll(r);
    pthread_mutex_lock(&r->lock);
    r->flush_now = true;
    pthread_mutex_unlock(&r->lock);
}

static void rocks_close(struct backend **bp, bool clean)
{
    struct rocks *r = rocks_of(*bp);
    rocks_backup_end(r);
    if (clean && r->applier_runs)
        settle(r);
    else if (r->applier_runs) {
        pthread_mutex_lock(&r->lock);
        r->abandon = true; /* one that is being written is finished */
        pthread_mutex_unlock(&r->lock);
    }
    if (r->applier_runs)
        stop_threads(r);
    free_fetches(&r->to_fetch);
    free_fetches(&r->fetched);
    if (clean && r->log != NULL) {
        rocks_witness_turn(r, true);
        log_release(r->log, atomic_load(&r->flushed_index) + 1);
    }
    log_iter_close(&r->replay);
    log_close(&r->log);
    rocks_base_close(&r->base);
    if (r->lock_fd >= 0)
        close(r->lock_fd);
    mem_free(r->dropped);
    mem_free(r);
    *bp = NULL;
}

/* --- the rest ------------------------------------------------------------ */

static void rocks_poll(struct backend *b, struct now now)
{
    struct rocks *r = rocks_of(b);
    (void)now;
    rocks_watch_applier(r);
    rocks_apply_poll(r);
    rocks_backup_poll(r);
}

/* New work is refused long before an allocation fails; what finishes work goes
 * on in the segments that are there.
 *
 * A base that refuses although there is room is no reason: the overlay has a
 * bound of its own, and RocksDB, once a write of its own has met a full disk,
 * looks only every 5 s whether there is space again. */
static enum store_room rocks_room(const struct backend *b)
{
    struct rocks *r = rocks_of(b);
    if (!log_next_ready(r->log) && log_space_left(r->log) < ((uint64_t)1 << 20))
        return STORE_FULL;
    if (!log_next_ready(r->log) || atomic_load(&r->no_room) ||
        atomic_load(&r->disk_free) < atomic_load(&r->disk_reserve))
        return STORE_FINISH_ONLY;
    return STORE_ROOM;
}

static enum err fault_of(const struct rocks *r, const char **what)
{
    enum err rc = (enum err)atomic_load(&r->apply_fault);
    *what = "applying to the base fails";
    if (rc != ERR_OK)
        return rc;
    rc = (enum err)atomic_load(&r->flush_fault);
    *what = "flushing the base fails";
    if (rc != ERR_OK)
        return rc;
    rc = log_next_fault(r->log);
    *what = "no further log segment could be allocated";
    if (rc != ERR_OK)
        return rc;
    *what = "free disk space is below the reserve";
    if (atomic_load(&r->disk_free) < atomic_load(&r->disk_reserve))
        return ERR_NOSPACE;
    *what = NULL;
    return ERR_OK;
}

static struct store_times times_of(struct log_times t)
{
    return (struct store_times){t.p50, t.p99, t.max};
}

static void rocks_forget_times(struct backend *b)
{
    log_forget_times(rocks_of(b)->log);
}

static void rocks_stats(const struct backend *b, struct store_stats *out)
{
    const struct rocks *r = rocks_of(b);
    struct log_stats ls;
    log_stats(r->log, &ls);
    out->syncs = ls.syncs;
    out->inline_syncs = ls.inline_syncs;
    out->sync_us = times_of(ls.sync_us);
    out->commit_us = times_of(ls.commit_us);
    out->log_bytes = ls.segment_bytes;
    out->log_segments = ls.segments;
    out->log_priority = ls.priority;
    out->applied_index = atomic_load(&r->applied_index);
    out->flushed_index = atomic_load(&r->flushed_index);
    out->disk_free_bytes = atomic_load(&r->disk_free);
    out->dropped_tail_bytes = r->found.tail_bytes;
    out->filed_changes = atomic_load(&r->filed_changes);
    out->cut_manifest_bytes = r->cut.bytes;
    out->backup_bytes = atomic_load(&r->backup_bytes);
    out->fault_is = fault_of(r, &out->fault);
    const struct rocks_base *base = rocks_base_of(r);
    if (base == NULL)
        return;
    out->base_memory_bytes =
        rocks_base_property(base, "rocksdb.cur-size-all-mem-tables") +
        rocks_base_property(base, "rocksdb.estimate-table-readers-mem") +
        rocksdb_cache_get_usage(base->cache);
    out->base_disk_bytes =
        rocks_base_property(base, "rocksdb.live-sst-files-size");
}

static const struct backend_ops rocks_ops = {
    .append = rocks_append,
    .submit = rocks_submit,
    .sync_inline = rocks_sync_inline,
    .request_sync = rocks_request_sync,
    .last = rocks_last,
    .acked = rocks_acked,
    .durable = rocks_durable,
    .pending_bytes = rocks_pending_bytes,
    .configure = rocks_configure,
    .replay = rocks_replay,
    .replayed = rocks_replayed,
    .read = rocks_read,
    .read_many = rocks_read_many,
    .walk = rocks_walk,
    .row = rocks_row,
    .step = rocks_step,
    .finish = rocks_finish,
    .apply = rocks_apply,
    .applying = rocks_applying,
    .fetch = rocks_fetch,
    .fetched = rocks_fetched,
    .poll = rocks_poll,
    .room = rocks_room,
    .stats = rocks_stats,
    .forget_times = rocks_forget_times,
    .backup = rocks_backup,
    .close = rocks_close,
};

static enum err mend_manifest(struct rocks *r, struct errbuf *e)
{
    const struct manifest_cut *cut = &r->cut;
    enum err rc = rocks_manifest_mend(r->dir, &r->cut, e);
    if (rc == ERR_OK && cut->bytes > 0)
        say(LL_WARNING,
            "the last write to %s/base/%s %s: cut off %llu bytes from offset "
            "%llu; the log has everything behind index %llu; the file as it "
            "was is %s.torn",
            r->dir, cut->name,
            cut->table == 0 ? "was torn, as a power cut leaves it"
                            : "names a table that is not there, as a write "
                              "that failed leaves it",
            (unsigned long long)cut->bytes, (unsigned long long)cut->at,
            (unsigned long long)cut->applied, cut->name);
    return rc;
}

enum err store_open(struct store **out, const struct store_options *o,
                    struct errbuf *e)
{
    struct rocks *r = NEW(struct rocks);
    struct backend *b = &r->backend;
    struct rec_applied applied = {.index = 0};
    bool found;
    enum err rc;

    r->backend.ops = &rocks_ops;
    r->o = *o;
    r->lock_fd = -1;
    if (r->o.on_wake == NULL)
        r->o.on_wake = no_wake;
    list_init(&r->waiting);
    list_init(&r->to_apply);
    list_init(&r->applied);
    list_init(&r->to_fetch);
    list_init(&r->fetched);
    atomic_store(&r->disk_free, UINT64_MAX);
    atomic_store(&r->disk_reserve, reserve_of(o));
    if (strlen(o->dir) >= ROCKS_PATH_MAX) {
        rc = err_set(e, ERR_IO, "the path of the data is longer than %d bytes",
                     ROCKS_PATH_MAX - 1);
        goto out;
    }
    snprintf(r->dir, sizeof(r->dir), "%s", o->dir);
    rc = rocks_claim(r->dir, &r->lock_fd, e);
    if (rc != ERR_OK)
        goto out;
    rocks_ballast_drop(r->dir);
    rocks_look_at_space(r);
    rc = rocks_file_clear(r->dir, e);
    if (rc == ERR_OK)
        rc = rocks_base_find(r->dir, &found, e);
    if (rc == ERR_OK && found)
        rc = mend_manifest(r, e);
    if (rc == ERR_OK)
        rc = found ? rocks_base_begin(r, e) : rocks_base_prepare(r->dir, e);
    if (rc == ERR_OK && found)
        rc = rocks_base_applied(&r->base, &applied, e);
    if (rc != ERR_OK)
        goto out;
    uint64_t sure = applied_sure(&applied);
    atomic_store(&r->applied_index, sure);
    atomic_store(&r->flushed_index, sure);
    rc = open_log(r, applied.index, sure, e);
#ifdef BELFRY_SABOTAGE_CUT_ONLY
    /* A cheat that the rigs must catch: what was cut off is not replayed. */
    if (r->cut.bytes > 0)
        atomic_store(&r->applied_index, r->found.last);
#endif
    if (rc == ERR_OK)
        rc = rocks_raise(r->dir, e);
    if (rc == ERR_OK)
        rc = start_threads(r, e);
    if (rc != ERR_OK)
        goto out;
    *out = store_new(b, o);
    return ERR_OK;

out:
    rocks_close(&b, false);
    return rc;
}
