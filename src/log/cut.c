/* Cutting off a suffix.
 *
 *   1. the watermark gets the intent (cut = from) and forgets what it knew of
 *      anything behind it
 *   2. segments that begin behind `from` go, the newest first
 *   3. in the segment that holds `from`, the bytes from its place on are
 *      cleared and synced
 *   4. the intent is taken back
 *
 * Without the intent a power cut within step 3 could leave records behind a
 * hole, which the next start would have to call damage.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "log/impl.h"
#include "util/alloc.h"

struct cut_place {
    uint64_t from;
    uint64_t off;
};

static enum err find_place(const struct log_record *rec, void *ud,
                           struct errbuf *e)
{
    struct cut_place *p = (struct cut_place *)ud;
    (void)e;
    if (rec->index < p->from)
        p->off += rec_size(rec->entry.len);
    return ERR_OK;
}

static enum err clear_from(const struct log_dir *d, uint64_t first,
                           uint64_t from, uint64_t *off, struct errbuf *e)
{
    struct seg_head head;
    struct seg_scan s;
    struct cut_place p = {.from = from, .off = SEG_DATA};
    int fd;
    enum err rc = seg_open(d, first, O_RDWR, &fd, &head, e);
    if (rc != ERR_OK)
        return rc;
    rc = seg_scan(d, fd, &head, 0, &s, find_place, &p, e);
    if (rc == ERR_OK && s.last + 1 < from)
        rc =
            err_set(e, ERR_CORRUPT,
                    "%s/%020" PRIu64 ".seg, offset %" PRIu64 ": record %" PRIu64
                    " cannot be read, and the log was to be cut at %" PRIu64,
                    d->path, first, s.end, s.last + 1, from);
    if (rc != ERR_OK)
        goto out;
    if (off != NULL)
        *off = p.off;
    uint64_t end = s.after_end > s.end ? s.after_end : s.end;
    end = end + REC_HEAD < head.size ? end + REC_HEAD : head.size;
    int why = p.off < end ? io_zero(d->io, fd, p.off, end - p.off) : 0;
    if (why == 0)
        why = io_sync(d->io, fd);
    if (why != 0)
        rc = err_sys(e, ERR_IO, why, "cannot clear %s/%020" PRIu64 ".seg",
                     d->path, first);
out:
    (void)close(fd);
    return rc;
}

enum err cut_files(const struct log_dir *d, uint64_t from, struct mark *mark,
                   uint64_t *off, struct errbuf *e)
{
    uint64_t *n = NULL;
    size_t count = 0;
    enum err rc = seg_list(d, ".seg", &n, &count, e);
    if (rc != ERR_OK || count == 0)
        goto out;
    size_t keep = 0; /* the segment that will be the newest */
    for (size_t i = 0; i < count; i++)
        if (n[i] <= from)
            keep = i;
    mark->cut = from;
    if (mark->durable >= from)
        mark->durable = from - 1;
    mark->newest = n[keep];
    rc = mark_write(d, mark, e);
    for (size_t i = count; rc == ERR_OK && i-- > keep + 1;) {
        char name[SEG_NAME];
        seg_name(name, n[i], ".seg");
        int why = io_unlink(d, name);
        if (why != 0)
            rc = err_sys(e, ERR_IO, why, "cannot remove %s/%s", d->path, name);
    }
    if (rc == ERR_OK)
        rc = io_sync_dir(d, e);
    if (rc == ERR_OK)
        rc = clear_from(d, n[keep], from, off, e);
    if (rc == ERR_OK) {
        mark->cut = 0;
        rc = mark_write(d, mark, e);
    }

out:
    mem_free(n);
    return rc;
}

/* Take the writer to the end of what is the newest segment now. */
static enum err reopen_newest(struct log *l, uint64_t from, uint64_t off,
                              struct errbuf *e)
{
    struct segment *seg = CONTAINER_OF(l->segments.prev, struct segment, node);
    struct seg_head head;
    int fd;
    enum err rc = seg_open(&l->dir, seg->head.first, O_RDWR, &fd, &head, e);
    if (rc != ERR_OK)
        return rc;
    (void)pthread_mutex_lock(&l->lock);
    int old = l->w.fd;
    writer_init(l, fd, &head, off, from);
    (void)pthread_mutex_unlock(&l->lock);
    (void)close(old);
    return ERR_OK;
}

/* A sync in the background would publish indexes from before the cut, and use
 * the fd that is closed by it. Another one does not begin: all is durable. */
static void wait_for_keeper(struct log *l)
{
    (void)pthread_mutex_lock(&l->lock);
    l->draining++;
    while (l->syncing >= 0)
        (void)pthread_cond_wait(&l->moved, &l->lock);
    l->draining--;
    (void)pthread_mutex_unlock(&l->lock);
}

enum err log_truncate_suffix(struct log *l, uint64_t from, struct errbuf *e)
{
    CHECK_OBJ(l, LOG);
    ASSERT(from >= log_first(l) && from <= l->last + 1);
    ASSERT(batch_empty(&l->staged));
    enum err rc = log_drain(l, e);
    if (rc != ERR_OK)
        return rc;
    uint64_t off = SEG_DATA;
    token_take(l);
    wait_for_keeper(l);
    (void)pthread_mutex_lock(&l->mark_lock);
    rc = cut_files(&l->dir, from, &l->mark, &off, e);
    if (rc != ERR_OK)
        goto out;
    (void)pthread_mutex_lock(&l->lock);
    for (;;) {
        struct segment *seg =
            CONTAINER_OF(l->segments.prev, struct segment, node);
        if (seg->head.first <= from || seg->node.prev == &l->segments)
            break;
        seg_drop(seg);
    }
    l->last = from - 1;
    l->sync_target = from - 1;
    atomic_store(&l->written, from - 1);
    atomic_store(&l->durable, from - 1);
    atomic_store(&l->acked, from - 1);
    (void)pthread_mutex_unlock(&l->lock);
    rc = reopen_newest(l, from, off, e);

out:
    /* How far it came is for log_open() to see. A watermark that still counted
     * the suffix as durable would make that damage. */
    if (rc != ERR_OK)
        atomic_store(&l->failed, true);
    (void)pthread_mutex_unlock(&l->mark_lock);
    token_give(l);
    return rc;
}
