/* Reading the log while it is written.
 *
 * An iterator reads files, never the writer's memory, and only up to what
 * log_written() has published; the kernel's page cache is what both share. Its
 * window may be older than that, so a record that does not verify is read once
 * more before it is called damage.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "log/impl.h"
#include "util/alloc.h"

#define LOG_ITER_MAGIC 0x6c6f6732

struct log_iter {
    OBJ_MAGIC;
    struct log *log;
    struct segment *seg;
    struct seg_head head;
    int fd;
    uint64_t next;
    uint64_t epoch;
    struct rec_reader r;
};

static void leave(struct log_iter *it)
{
    if (it->seg == NULL)
        return;
    (void)pthread_mutex_lock(&it->log->lock);
    it->seg->readers--;
    if (it->seg->dropped)
        seg_drop(it->seg);
    (void)pthread_mutex_unlock(&it->log->lock);
    it->seg = NULL;
    if (it->fd >= 0)
        (void)close(it->fd);
    it->fd = -1;
    rec_reader_release(&it->r);
}

static enum err gone(struct log_iter *it, struct errbuf *e)
{
    return err_set(e, ERR_NOTFOUND,
                   "record %" PRIu64
                   " is no longer kept; the log begins at %" PRIu64,
                   it->next, log_first(it->log));
}

/* Go to the segment that holds it->next. */
static enum err enter(struct log_iter *it, struct errbuf *e)
{
    struct log *l = it->log;
    leave(it);
    (void)pthread_mutex_lock(&l->lock);
    if (it->next >= atomic_load(&l->first)) {
        LIST_FOR (s, &l->segments) {
            struct segment *seg = CONTAINER_OF(s, struct segment, node);
            if (seg->head.first <= it->next)
                it->seg = seg;
        }
    }
    if (it->seg != NULL) {
        /* From here on it may be unlinked, but not written over. */
        it->seg->readers++;
        it->head = it->seg->head;
    }
    (void)pthread_mutex_unlock(&l->lock);
    if (it->seg == NULL)
        return gone(it, e);
    /* Not under the lock: the loop takes it, and this reads a disk. */
    enum err rc =
        seg_open(&l->dir, it->head.first, O_RDONLY, &it->fd, &it->head, e);
    if (rc == ERR_OK) {
        rec_reader_init(&it->r, it->fd, it->head.salt, SEG_DATA);
        return ERR_OK;
    }
    leave(it);
    return it->next < log_first(l) ? gone(it, e) : rc;
}

/* Does a later segment hold it->next? */
static bool moved_on(struct log_iter *it)
{
    bool yes = false;
    (void)pthread_mutex_lock(&it->log->lock);
    LIST_FOR (s, &it->log->segments)
        if (CONTAINER_OF(s, struct segment, node)->head.first == it->next)
            yes = it->next != it->head.first;
    (void)pthread_mutex_unlock(&it->log->lock);
    return yes;
}

/* The record `index` from where the reader stands. */
static enum err read_at(struct log_iter *it, uint64_t index,
                        struct log_record *rec, struct errbuf *e)
{
    uint64_t at = it->r.off;
    enum rec_status st = rec_reader_next(&it->r, rec);
    if (st != REC_OK && moved_on(it)) {
        enum err rc = enter(it, e);
        if (rc != ERR_OK)
            return rc;
        at = it->r.off;
        st = rec_reader_next(&it->r, rec);
    }
    if (st != REC_OK)
        st = rec_reader_retry(&it->r, rec);
    if (st == REC_OK && rec->index == index && rec->epoch >= it->epoch) {
        it->epoch = rec->epoch;
        return ERR_OK;
    }
    it->r.off = at;
    if (index < log_first(it->log))
        return gone(it, e);
    if (st == REC_IO)
        return err_sys(e, ERR_IO, errno,
                       "cannot read %s/%020" PRIu64 ".seg at offset %" PRIu64,
                       it->log->path, it->head.first, at);
    return err_set(e, ERR_CORRUPT,
                   "%s/%020" PRIu64 ".seg, offset %" PRIu64 ": record %" PRIu64
                   " cannot be read",
                   it->log->path, it->head.first, at, index);
}

static enum err seek(struct log_iter *it, struct errbuf *e)
{
    struct log_record rec;
    enum err rc = enter(it, e);
    for (uint64_t i = it->head.first; rc == ERR_OK && i < it->next; i++)
        rc = read_at(it, i, &rec, e);
    return rc;
}

enum err log_iter_open(struct log_iter **out, struct log *l, uint64_t from,
                       struct errbuf *e)
{
    CHECK_OBJ(l, LOG);
    ASSERT(from <= log_written(l) + 1);
    *out = NULL;
    struct log_iter *it = NEW(struct log_iter);
    INIT_OBJ(it, LOG_ITER);
    it->log = l;
    it->fd = -1;
    it->next = from;
    enum err rc = seek(it, e);
    if (rc == ERR_OK)
        *out = it;
    else
        log_iter_close(&it);
    return rc;
}

enum err log_iter_next(struct log_iter *it, uint64_t upto,
                       struct log_record *rec, struct errbuf *e)
{
    CHECK_OBJ(it, LOG_ITER);
    if (it->next > upto || it->next > log_written(it->log))
        return err_set(e, ERR_EMPTY, "there is no record %" PRIu64 " yet",
                       it->next);
    enum err rc = read_at(it, it->next, rec, e);
    if (rc == ERR_OK)
        it->next++;
    return rc;
}

void log_iter_close(struct log_iter **itp)
{
    struct log_iter *it = *itp;
    if (it == NULL)
        return;
    CHECK_OBJ(it, LOG_ITER);
    leave(it);
    it->magic = 0;
    FREE(itp);
}
