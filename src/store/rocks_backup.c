/* Backup: a consistent copy, made while everything goes on.
 *
 *  1. A hold on the log at the flushed index: nothing behind it may go.
 *  2. The applier flushes the base, and a checkpoint of it is made: hard links
 *     to its files. X is the index up to which the copy is sure to have
 *     everything. If there is no base yet, X is 0: the log has everything.
 *  3. What was acknowledged before becomes durable, whatever appendfsync says.
 *     The records X+1 to the last one that is durable by now, copied into a log
 *     of the backup's own: tables may be in the copy that X does not cover
 *     (rocks_file.c), but none beyond what was durable.
 *  4. The marker. A directory without it is not a backup.
 *
 * The copy is a data directory: a server starts on it as it is.
 *
 * It does not take the space that is kept for finishing work, nor may its flush
 * meet a full disk (rocks_apply.c): with less than disk-reserve free it ends.
 *
 * How it fails: whatever fails is told and ends this backup, and what there is
 * of it is deleted, so that the same path can be tried again. A server that
 * ends meanwhile leaves a directory without a marker.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/rocks.h"
#include "util/alloc.h"

/* With so much in RocksDB's own log a checkpoint flushes: never (fact 7). */
#define FLUSH_AT_BYTES UINT64_MAX

/* So much is copied between two looks at the free space. */
#define LOOK_BYTES ((uint64_t)1 << 20)

struct rocks_backup {
    struct rocks *r;
    char path[ROCKS_PATH_MAX];
    uint64_t asked; /* the last index when the backup was asked for */
    uint64_t upto;  /* durable after the checkpoint */
    uint64_t unlooked;
    bool has_base;
    bool beside; /* on the disk of the data */
    struct log_hold hold;
    pthread_t thread;
    _Atomic bool ended;
    enum err rc;
    struct errbuf e;
    char failed[256]; /* why the backup's log did, if it did */
    store_backup_fn done;
    void *ud;
};

static bool same_disk(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev;
}

static enum err check_reserve(struct rocks_backup *b)
{
    uint64_t reserve = atomic_load(&b->r->disk_reserve), spare;
    struct statvfs v;
    b->unlooked = 0;
    if (!b->beside || statvfs(b->path, &v) != 0)
        return ERR_OK;
    spare = (uint64_t)v.f_bavail * v.f_frsize;
    if (spare >= reserve)
        return ERR_OK;
    return err_set(&b->e, ERR_NOSPACE,
                   "%llu bytes of disk are free, the %llu of disk-reserve are "
                   "not for backups",
                   (unsigned long long)spare, (unsigned long long)reserve);
}

static enum err checkpoint(struct rocks_backup *b, const char *path)
{
    char *message = NULL;
    enum err rc = rocks_check_room(b->r, 0, &b->e);
    if (rc == ERR_OK)
        rc = rocks_flush_wait(b->r, &b->e);
    if (rc != ERR_OK)
        return rc;
    rocksdb_checkpoint_t *c =
        rocksdb_checkpoint_object_create(b->r->base.db, &message);
    if (message != NULL)
        return rocks_err(&b->e, message, "checkpoint");
    rocksdb_checkpoint_create(c, path, FLUSH_AT_BYTES, &message);
    rocksdb_checkpoint_object_destroy(c);
    if (message != NULL)
        return rocks_err(&b->e, message, "checkpoint");
    return ERR_OK;
}

static enum err applied_of(struct rocks_backup *b, const char *path,
                           uint64_t *index)
{
    const struct rocks_base_options o = {(uint64_t)1 << 20, (uint64_t)1 << 20,
                                         true};
    struct rocks_base base;
    enum err rc = rocks_base_open(&base, path, &o, &b->e);
    if (rc != ERR_OK)
        return rc;
    struct rec_applied applied;
    rc = rocks_base_applied(&base, &applied, &b->e);
    if (rc == ERR_OK)
        *index = applied_sure(&applied);
    rocks_base_close(&base);
    return rc;
}

/* A target that cannot be written is this backup's end, not the server's. */
static void target_failed(const char *why, void *ud)
{
    struct rocks_backup *b = ud;
    snprintf(b->failed, sizeof(b->failed), "%s", why);
}

static enum err copy_records(struct rocks_backup *b, struct log *to,
                             struct log_iter *from, uint64_t index)
{
    enum err rc = ERR_OK;
    while (rc == ERR_OK && index <= b->upto) {
        struct log_record rec;
        rc = log_iter_next(from, b->upto, &rec, &b->e);
        if (rc != ERR_OK)
            break;
        ASSERT(rec.index == index);
        log_set_epoch(to, rec.epoch);
        log_append(to, rec.entry);
        log_submit(to);
        /* The entry must be written before the next one is read. */
        if (log_written(to) < index)
            rc = log_drain(to, &b->e);
        atomic_fetch_add(&b->r->backup_bytes, rec.entry.len);
        b->unlooked += rec.entry.len;
        if (rc == ERR_OK && b->unlooked >= LOOK_BYTES)
            rc = check_reserve(b);
        index++;
    }
    return rc == ERR_OK ? log_drain(to, &b->e) : rc;
}

static enum err copy_log(struct rocks_backup *b, uint64_t first)
{
    char path[ROCKS_PATH_MAX + 16];
    struct log_found found;
    struct log *to = NULL;
    struct log_iter *from = NULL;
    snprintf(path, sizeof(path), "%s/log", b->path);
    struct log_options lo = {.dir = path,
                             .segment_bytes = b->r->o.log_segment_bytes,
                             .first_index = first,
                             .sync = LOG_NO,
                             .on_fatal = target_failed,
                             .ud = b};
    enum err rc = log_open(&to, &lo, &found, &b->e);
    if (rc == ERR_OK && first <= b->upto) {
        rc = log_iter_open(&from, b->r->log, first, &b->e);
        if (rc == ERR_OK)
            rc = copy_records(b, to, from, first);
    }
    log_iter_close(&from);
    log_close(&to);
    if (rc != ERR_OK && b->failed[0] != '\0')
        rc = err_set(&b->e, ERR_IO, "%s", b->failed);
    return rc;
}

static void *backup_thread(void *arg)
{
    struct rocks_backup *b = arg;
    char path[ROCKS_PATH_MAX + 16];
    uint64_t applied = 0;
    snprintf(path, sizeof(path), "%s/base", b->path);
    b->beside = same_disk(b->path, b->r->dir);
    enum err rc = check_reserve(b);
    if (rc == ERR_OK && b->has_base)
        rc = checkpoint(b, path);
    if (rc == ERR_OK && b->has_base)
        rc = applied_of(b, path, &applied);
    if (rc == ERR_OK)
        rc = log_wait(b->r->log, b->asked, &b->e);
    b->upto = log_durable(b->r->log);
#ifdef BELFRY_SABOTAGE_SHORT_BACKUP
    b->upto--; /* a cheat that the rigs must catch: an entry early */
#endif
    if (rc == ERR_OK)
        rc = copy_log(b, applied + 1);
    if (rc == ERR_OK)
        rc = rocks_mark(b->path, &b->e);
    if (rc != ERR_OK)
        rocks_discard(b->path);
    b->rc = rc;
    atomic_store(&b->ended, true);
    b->r->o.on_wake(b->r->o.ud);
    return NULL;
}

enum err rocks_backup(struct backend *backend, const char *path,
                      store_backup_fn done, void *ud, struct errbuf *e)
{
    struct rocks *r = rocks_of(backend);
    if (r->backup != NULL)
        return err_set(e, ERR_BUSY, "a backup to %s is under way",
                       r->backup->path);
    if (strlen(path) >= ROCKS_PATH_MAX)
        return err_set(e, ERR_IO, "the path is longer than %d bytes",
                       ROCKS_PATH_MAX - 1);
    if (mkdir(path, 0750) != 0)
        return err_sys(e,
                       errno == EEXIST   ? ERR_EXISTS
                       : errno == ENOSPC ? ERR_NOSPACE
                                         : ERR_IO,
                       errno, "create %s for the backup", path);
    struct rocks_backup *b = NEW(struct rocks_backup);
    b->r = r;
    snprintf(b->path, sizeof(b->path), "%s", path);
    atomic_store(&r->backup_bytes, 0);
    b->done = done;
    b->ud = ud;
    log_hold_begin(r->log, &b->hold, atomic_load(&r->flushed_index) + 1);
    b->asked = log_last(r->log);
    log_request_sync(r->log);
    b->has_base = r->has_base; /* read last: without one the hold is at 1 */
    if (pthread_create(&b->thread, NULL, backup_thread, b) != 0) {
        log_hold_end(r->log, &b->hold);
        mem_free(b);
        (void)rmdir(path);
        return err_set(e, ERR_IO, "no thread for the backup");
    }
    r->backup = b;
    return ERR_OK;
}

static struct rocks_backup *join(struct rocks *r)
{
    struct rocks_backup *b = r->backup;
    pthread_join(b->thread, NULL);
    log_hold_end(r->log, &b->hold);
    r->backup = NULL;
    return b;
}

void rocks_backup_poll(struct rocks *r)
{
    if (r->backup == NULL || !atomic_load(&r->backup->ended))
        return;
    struct rocks_backup *b = join(r);
    b->done(b->ud, b->rc, b->rc == ERR_OK ? NULL : b->e.text);
    mem_free(b);
}

void rocks_backup_end(struct rocks *r)
{
    if (r->backup != NULL)
        mem_free(join(r));
}
