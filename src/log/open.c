/* Opening a log: find out what it holds, and make that true on the disk.
 *
 *   1. lock the directory; drop half made files
 *   2. finish a cut that a crash interrupted
 *   3. judge what is there (check.c): refuse damage
 *   4. clear the tail; write again what may be in the page cache only
 *      (invariant 7); sync; note it all in the watermark
 *   5. start the threads
 *
 * An empty directory becomes a log of one empty segment. The watermark is
 * written after that segment exists, so a watermark without segments means
 * that somebody removed them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/check.h"
#include "log/impl.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/histogram.h"
#include "util/logger.h"

/* Nothing is changed then: whoever puts it back finds its place free. */
static enum err deleted(const char *path, struct errbuf *e)
{
    return err_set(e, ERR_CORRUPT,
                   "there is no log in %s, but there was one: it was deleted "
                   "or rolled back",
                   path);
}

/* Make the directory's own name durable too, also if it is there: who made it
 * may have been killed before that. */
static enum err make_dir(const char *path, bool must_exist, struct errbuf *e)
{
    if (must_exist && access(path, F_OK) != 0 && errno == ENOENT)
        return deleted(path, e);
    if (mkdir(path, 0750) != 0 && errno != EEXIST)
        return err_sys(e, ERR_IO, errno, "cannot create %s", path);
    return file_sync_dir_of(path, e);
}

static enum err lock_dir(struct log *l, struct errbuf *e)
{
    l->lock_fd = openat(l->dir.fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (l->lock_fd < 0)
        return err_sys(e, ERR_IO, errno, "cannot open %s/lock", l->path);
    if (flock(l->lock_fd, LOCK_EX | LOCK_NB) != 0)
        return err_set(e, ERR_BUSY, "another process uses the log in %s",
                       l->path);
    return ERR_OK;
}

static enum err find_spares(struct log *l, struct errbuf *e)
{
    static const char *const suffix[] = {".new", ".reserve", ".spare"};
    for (size_t i = 0; i < ARRAY_LEN(suffix); i++) {
        uint64_t *n;
        size_t count;
        enum err rc = seg_list(&l->dir, suffix[i], &n, &count, e);
        if (rc != ERR_OK)
            return rc;
        for (size_t k = 0; k < count; k++) {
            char name[SEG_NAME];
            struct stat st;
            seg_name(name, n[k], suffix[i]);
            /* Reserves are small work to make again and may be half made. */
            if (i < 2 || fstatat(l->dir.fd, name, &st, 0) != 0 ||
                (uint64_t)st.st_size < 2 * SEG_DATA) {
                (void)io_unlink(&l->dir, name);
                continue;
            }
            struct spare *s = NEW(struct spare);
            s->number = n[k];
            s->size = (uint64_t)st.st_size;
            s->filled = true;
            list_append(&l->spares, &s->node);
            l->spare_bytes += s->size; /* until somebody says otherwise */
            if (n[k] > l->spare_number)
                l->spare_number = n[k];
        }
        mem_free(n);
    }
    keeper_count_spares(l);
    l->next_trim_ms = clock_mono_us() / 1000 + SPARE_IDLE_MS;
    return ERR_OK;
}

/* --- a new log ----------------------------------------------------------- */

static enum err create(struct log *l, uint64_t first, struct errbuf *e)
{
    char name[SEG_NAME], temp[SEG_NAME];
    struct segment *seg = NEW(struct segment);
    int fd;
    seg->head = (struct seg_head){.first = first,
                                  .salt = seg_new_salt(),
                                  .size = keeper_next_size(l, 0),
                                  .created_ms = clock_wall_us() / 1000};
    seg_name(temp, 0, ".new");
    seg_name(name, first, ".seg");
    enum err rc = io_create(&l->dir, temp, seg->head.size, &fd, e);
    if (rc != ERR_OK) {
        mem_free(seg);
        return rc;
    }
    list_append(&l->segments, &seg->node);
    /* Small enough to fill at once, so that the first syncs are quick. */
    int why = io_zero(l->dir.io, fd, 0, seg->head.size);
    if (why == 0)
        why = seg_write_head(l->dir.io, fd, &seg->head);
    if (why != 0)
        rc = err_sys(e, ERR_IO, why, "cannot write %s/%s", l->path, temp);
    if (rc == ERR_OK)
        rc = io_rename(&l->dir, temp, name, e);
    if (rc == ERR_OK)
        rc = io_sync_dir(&l->dir, e);
    if (rc != ERR_OK) {
        (void)close(fd);
        return rc;
    }
    writer_init(l, fd, &seg->head, SEG_DATA, first);
    return ERR_OK;
}

/* --- an existing log ----------------------------------------------------- */

/* Invariant 7: bytes that a failed sync left in clean pages would be gone with
 * the next power cut, after we had called them durable. */
static enum err write_again(struct log *l, int fd, const struct seg_head *head,
                            uint64_t end, uint64_t named,
                            struct log_found *found, struct errbuf *e)
{
    struct rec_reader r;
    struct log_record rec;
    int why = 0;
    if (found->last <= named)
        return ERR_OK;
    rec_reader_init(&r, fd, head->salt, SEG_DATA);
    while (why == 0 && r.off < end) {
        uint64_t at = r.off;
        if (rec_reader_next(&r, &rec) != REC_OK) {
            why = EIO;
            break;
        }
        if (rec.index <= named)
            continue;
        why = io_write_bytes(l->dir.io, fd, rec.entry.data - REC_HEAD,
                             (size_t)(r.off - at), at);
        found->rewritten++;
    }
    rec_reader_release(&r);
    if (why != 0)
        return err_sys(e, ERR_IO, why, "cannot write %s/%020" PRIu64 ".seg",
                       l->path, head->first);
    return ERR_OK;
}

static enum err clear_tail(struct log *l, int fd, const struct seg_head *head,
                           const struct seg_scan *s, struct log_found *found,
                           struct errbuf *e)
{
    uint64_t end = s->after_end;
    if (s->why != REC_BLANK || s->after > 0)
        found->tail_records = s->after + (s->why != REC_BLANK);
    if (end < s->end + REC_HEAD)
        end = s->end + REC_HEAD;
    if (end > head->size)
        end = head->size;
    if (end <= s->end)
        return ERR_OK;
    if (s->after > 0 || s->why != REC_BLANK)
        found->tail_bytes = end - s->end;
    int why = io_zero(l->dir.io, fd, s->end, end - s->end);
    if (why != 0)
        return err_sys(e, ERR_IO, why, "cannot write %s/%020" PRIu64 ".seg",
                       l->path, head->first);
    return ERR_OK;
}

/* Make the newest segment end where it was found to end, and go on there. */
static enum err repair_newest(struct log *l, const struct check *c,
                              struct log_found *found, struct errbuf *e)
{
    const struct seg_scan *s = &c->end;
    struct seg_head head;
    int fd;
    found->last = s->last;
    enum err rc =
        seg_open(&l->dir, c->names[c->count - 1], O_RDWR, &fd, &head, e);
    if (rc != ERR_OK)
        return rc;
    /* After a clean stop the watermark knows of more than the records do. */
    uint64_t named = s->named;
    if (c->mark_state == MARK_GOOD && c->mark.durable > named)
        named = c->mark.durable;
    rc = write_again(l, fd, &head, s->end, named, found, e);
    if (rc == ERR_OK)
        rc = clear_tail(l, fd, &head, s, found, e);
    int why = rc == ERR_OK ? io_sync(l->dir.io, fd) : 0;
    if (why != 0)
        rc = err_sys(e, ERR_IO, why, "cannot sync %s/%020" PRIu64 ".seg",
                     l->path, head.first);
    if (rc != ERR_OK) {
        (void)close(fd);
        return rc;
    }
    writer_init(l, fd, &head, s->end, s->last + 1);
    return ERR_OK;
}

static enum err finish_cut(struct log *l, struct errbuf *e)
{
    struct mark mark;
    enum mark_state state;
    enum err rc = mark_read(&l->dir, &mark, &state, e);
    if (rc == ERR_OK && state == MARK_GOOD && mark.cut != 0)
        rc = cut_files(&l->dir, mark.cut, &mark, NULL, e);
    return rc;
}

static void adopt_segments(struct log *l, const struct check *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct segment *seg = NEW(struct segment);
        seg->head = c->heads[i];
        list_append(&l->segments, &seg->node);
    }
}

static enum err recover(struct log *l, const struct log_options *o,
                        struct log_found *found, struct errbuf *e)
{
    struct check c = {0};
    enum err rc = finish_cut(l, e);
    if (rc == ERR_OK)
        rc = check_dir(&l->dir, o->verify_from, &c, NULL, NULL, e);
    if (rc != ERR_OK)
        goto out;
    l->mark = c.mark;
    if (c.count == 0 && o->must_exist) {
        rc = deleted(l->path, e);
    } else if (c.count == 0) {
        found->created = true;
        rc = create(l, o->first_index == 0 ? 1 : o->first_index, e);
    } else {
        if (c.mark_state != MARK_GOOD) {
            found->watermark_unusable = true;
            say(LL_WARNING,
                "the watermark in %s is %s; it is written anew. A log that "
                "was rolled back could not be noticed this time",
                l->path, c.mark_state == MARK_MISSING ? "missing" : "damaged");
        }
        adopt_segments(l, &c);
        rc = repair_newest(l, &c, found, e);
    }
    if (rc != ERR_OK)
        goto out;
    found->first =
        CONTAINER_OF(l->segments.next, struct segment, node)->head.first;
    found->last = l->w.next - 1;
    found->epoch = l->epoch = c.end.epoch;

out:
    check_release(&c);
    return rc;
}

/* --- open and close ------------------------------------------------------ */

static void settle(struct log *l, const struct log_found *found)
{
    l->last = found->last;
    l->release_below = 0;
    atomic_store(&l->first, found->first);
    atomic_store(&l->written, found->last);
    atomic_store(&l->durable, found->last);
    atomic_store(&l->acked, found->last);
    l->sync_target = found->last;
    l->mark.epoch = found->epoch;
    log_mark(l, l->w.head.first);
}

static enum err start_threads(struct log *l, struct errbuf *e)
{
    int rc = pthread_create(&l->log_thread, NULL, writer_main, l);
    if (rc != 0)
        return err_sys(e, ERR_IO, rc, "cannot start the log thread");
    rc = pthread_create(&l->keeper_thread, NULL, keeper_main, l);
    if (rc == 0) {
        l->started = true;
        return ERR_OK;
    }
    (void)pthread_mutex_lock(&l->lock);
    l->stop = true;
    (void)pthread_cond_broadcast(&l->wake);
    (void)pthread_mutex_unlock(&l->lock);
    (void)pthread_join(l->log_thread, NULL);
    return err_sys(e, ERR_IO, rc, "cannot start the log's keeper");
}

static struct log *new_log(const struct log_options *o)
{
    struct log *l = NEW(struct log);
    INIT_OBJ(l, LOG);
    l->path = mem_dup(slice_str(o->dir));
    l->dir = (struct log_dir){.fd = -1, .path = l->path, .io = o->io};
    l->lock_fd = l->w.fd = l->syncing = -1;
    l->segment_bytes =
        o->segment_bytes == 0 ? LOG_SEGMENT_BYTES : o->segment_bytes;
    ASSERT(l->segment_bytes >= LOG_SEGMENT_BYTES_MIN);
    l->keep_bytes = o->keep_bytes == 0 ? KEEP_BYTES_DEFAULT : o->keep_bytes;
    l->threaded = o->threaded;
    l->priority = o->priority;
    l->on_progress = o->on_progress;
    l->on_fatal = o->on_fatal;
    l->ud = o->ud;
    atomic_store(&l->mode, (int)o->sync);
    list_init(&l->segments);
    list_init(&l->spares);
    list_init(&l->holds);
    l->sync_us = histogram_new(TIMES_MAX_US, 2);
    l->commit_us = histogram_new(TIMES_MAX_US, 2);
    (void)pthread_mutex_init(&l->lock, NULL);
    (void)pthread_mutex_init(&l->mark_lock, NULL);
    log_cond_init(&l->wake);
    log_cond_init(&l->keep);
    log_cond_init(&l->moved);
    return l;
}

static void free_log(struct log *l)
{
    writer_release(&l->w);
    batch_release(&l->staged);
    batch_release(&l->queue);
    batch_release(&l->batch);
    LIST_FOR (it, &l->segments) {
        list_remove(it);
        mem_free(CONTAINER_OF(it, struct segment, node));
    }
    LIST_FOR (it, &l->spares) {
        list_remove(it);
        mem_free(CONTAINER_OF(it, struct spare, node));
    }
    ASSERT(list_empty(&l->holds));
    if (l->dir.fd >= 0)
        (void)close(l->dir.fd);
    if (l->lock_fd >= 0)
        (void)close(l->lock_fd); /* and so the lock */
    (void)pthread_cond_destroy(&l->wake);
    (void)pthread_cond_destroy(&l->keep);
    (void)pthread_cond_destroy(&l->moved);
    (void)pthread_mutex_destroy(&l->lock);
    (void)pthread_mutex_destroy(&l->mark_lock);
    histogram_free(&l->sync_us);
    histogram_free(&l->commit_us);
    mem_free(l->path);
    l->magic = 0;
    mem_free(l);
}

enum err log_open(struct log **out, const struct log_options *o,
                  struct log_found *found, struct errbuf *e)
{
    struct log_found unasked;
    if (found == NULL)
        found = &unasked;
    *found = (struct log_found){0};
    *out = NULL;
    struct log *l = new_log(o);
    enum err rc = make_dir(l->path, o->must_exist, e);
    if (rc != ERR_OK)
        goto out;
    l->dir.fd = open(l->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (l->dir.fd < 0) {
        rc = err_sys(e, ERR_IO, errno, "cannot open %s", l->path);
        goto out;
    }
    rc = lock_dir(l, e);
    if (rc == ERR_OK)
        rc = find_spares(l, e);
    if (rc == ERR_OK)
        rc = recover(l, o, found, e);
    if (rc == ERR_OK) /* a rename before a crash may not be on disk yet */
        rc = io_sync_dir(&l->dir, e);
    if (rc != ERR_OK)
        goto out;
    settle(l, found);
    if (l->threaded)
        rc = start_threads(l, e);
    else
        keeper_turn(l);
    if (rc != ERR_OK)
        goto out;
    *out = l;
    l = NULL; /* now the caller's */

out:
    if (l != NULL)
        free_log(l);
    return rc;
}

void log_close(struct log **lp)
{
    struct log *l = *lp;
    if (l == NULL)
        return;
    CHECK_OBJ(l, LOG);
    if (l->started) {
        (void)pthread_mutex_lock(&l->lock);
        l->stop = true;
        (void)pthread_cond_broadcast(&l->wake);
        (void)pthread_cond_broadcast(&l->keep);
        (void)pthread_mutex_unlock(&l->lock);
        (void)pthread_join(l->log_thread, NULL);
        (void)pthread_join(l->keeper_thread, NULL);
    }
    log_mark(l, l->w.head.first);
    free_log(l);
    *lp = NULL;
}
