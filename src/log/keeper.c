/* The keeper: what may take long and must not stand in the way of a commit.
 *
 *   retention   segments below what is needed become spares or go
 *   trim        an idle log gives back spares of its busy time
 *   spares      the next segment is allocated at once (so that a full disk is
 *               known early) and filled with zeroes once a quarter of the
 *               present one is used (so that overwriting it syncs fast)
 *   sync        LOG_EVERYSEC: fdatasync in the background
 *   watermark   every two seconds while the log moves, and for each segment
 *
 * A reused file is renamed to ".spare" and the directory synced before it may
 * be written: otherwise a power cut could leave the old name on new bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/impl.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/histogram.h"
#include "util/logger.h"

#define TURN_MS 1000
#define TURN_SOON_MS 100 /* LOG_EVERYSEC, or waiting for space */
/* Whoever waits for a sync waits until the disk has what it was given before:
 * zeroes are not urgent, so it is given little at a time. */
#define FILL_CHUNK ((uint64_t)128 << 10)
#define FREE_CHUNK ((uint64_t)1 << 20)

static uint64_t now_ms(void)
{
    return clock_mono_us() / 1000;
}

uint64_t keeper_next_size(const struct log *l, uint64_t size)
{
    uint64_t next = size < FIRST_SEGMENT_BYTES ? FIRST_SEGMENT_BYTES : size * 4;
    return next < l->segment_bytes ? next : l->segment_bytes;
}

void keeper_count_spares(struct log *l)
{
    uint64_t room = 0;
    LIST_FOR (it, &l->spares) {
        struct spare *s = CONTAINER_OF(it, struct spare, node);
        if (s->size > SEG_DATA)
            room += s->size - SEG_DATA;
    }
    atomic_store(&l->spare_room, room);
}

static void background_sync(struct log *l)
{
    uint64_t now = now_ms();
    (void)pthread_mutex_lock(&l->lock);
    if (now < l->next_sync_ms || atomic_load(&l->mode) != LOG_EVERYSEC ||
        atomic_load(&l->failed) || log_durable(l) == log_written(l)) {
        (void)pthread_mutex_unlock(&l->lock);
        return;
    }
    /* Read the numbers before the file: all they name is in this file, or in
     * an older one, which was synced before this one was begun. */
    uint64_t written = log_written(l);
    uint64_t bytes = atomic_load(&l->written_bytes);
    int fd = l->syncing = l->w.fd;
    uint64_t begin = clock_mono_us();
    (void)pthread_mutex_unlock(&l->lock);
    int why = io_sync(l->dir.io, fd);
    if (why != 0)
        log_fail(l, why, "fdatasync in the background");
    else
        log_publish_synced(l, written, bytes, begin);
    (void)pthread_mutex_lock(&l->lock);
    if (fd != l->w.fd)
        (void)close(fd);
    l->syncing = -1;
    if (l->draining > 0)
        (void)pthread_cond_broadcast(&l->moved);
    l->stats.syncs++;
    histogram_record(l->sync_us, clock_mono_us() - begin);
    l->next_sync_ms = now + BACKGROUND_SYNC_MS;
    (void)pthread_mutex_unlock(&l->lock);
    if (why == 0 && l->on_progress != NULL)
        l->on_progress(l->ud);
}

/* Every two seconds while the log moves, and when a segment was begun. */
static void watermark(struct log *l)
{
    uint64_t now = now_ms();
    /* All under its lock, so that a cut comes before or after. */
    (void)pthread_mutex_lock(&l->mark_lock);
    (void)pthread_mutex_lock(&l->lock);
    uint64_t newest = l->w.head.first;
    (void)pthread_mutex_unlock(&l->lock);
    bool moved = l->mark.durable < log_durable(l);
    if (l->mark.newest < newest || (moved && now >= l->next_mark_ms)) {
        l->next_mark_ms = now + WATERMARK_MS;
        log_mark_locked(l, newest);
    }
    (void)pthread_mutex_unlock(&l->mark_lock);
}

/* --- retention ----------------------------------------------------------- */

/* The oldest segment if nobody needs it any more. With lock. */
static struct segment *droppable(struct log *l)
{
    struct list *it = list_first(&l->segments);
    if (it == NULL || it->next == &l->segments)
        return NULL; /* the newest always stays */
    /* Whatever is not the newest is durable as a whole (invariant 5). */
    uint64_t limit = l->release_below, total = 0;
    LIST_FOR (s, &l->segments)
        total += CONTAINER_OF(s, struct segment, node)->head.size;
    LIST_FOR (h, &l->holds) {
        struct log_hold *hold = CONTAINER_OF(h, struct log_hold, node);
        if (hold->index < limit && total <= l->keep_bytes)
            limit = hold->index;
    }
    struct segment *next = CONTAINER_OF(it->next, struct segment, node);
    return next->head.first <= limit ? CONTAINER_OF(it, struct segment, node)
                                     : NULL;
}

bool keeper_can_drop(struct log *l)
{
    return droppable(l) != NULL;
}

static size_t count(const struct list *l)
{
    size_t n = 0;
    LIST_FOR (it, l)
        n++;
    return n;
}

/* With lock. */
static size_t spares_max(const struct log *l)
{
    uint64_t bytes =
        l->spare_bytes < l->keep_bytes ? l->spare_bytes : l->keep_bytes;
    size_t n = (size_t)(bytes / l->segment_bytes);
    return n < SPARES_IDLE ? SPARES_IDLE : n;
}

/* Where free blocks are told to the disk at once (ext4 with `discard`), 64 MiB
 * in one piece hold up every sync for 13 ms. Only what has no name any more,
 * not even after a power cut, is cut off: half a segment would be damage. */
static int unlink_slowly(struct log *l, const char *name, uint64_t size)
{
    struct stat st;
    struct errbuf e;
    bool large = size > FREE_CHUNK;
    int fd = large ? openat(l->dir.fd, name, O_WRONLY | O_CLOEXEC) : -1;
    int why = io_unlink(&l->dir, name);
    if (fd < 0)
        return why;
    bool gone = why == 0 && io_sync_dir(&l->dir, &e) == ERR_OK &&
                fstat(fd, &st) == 0 && st.st_nlink == 0;
    while (gone && size > FREE_CHUNK) {
        size -= FREE_CHUNK;
        gone = ftruncate(fd, (off_t)size) == 0;
    }
    (void)close(fd);
    return why;
}

/* Rename to a spare if that is of use, else unlink. Fails if the file still has
 * its name. */
static enum err drop_file(struct log *l, const struct seg_head *head, bool read,
                          bool recycle, struct errbuf *e)
{
    char name[SEG_NAME], spare_name[SEG_NAME];
    seg_name(name, head->first, ".seg");
    if (!recycle) {
        int why = read ? io_unlink(&l->dir, name)
                       : unlink_slowly(l, name, head->size);
        return why == 0 ? ERR_OK
                        : err_sys(e, ERR_IO, why, "cannot remove %s/%s",
                                  l->path, name);
    }
    uint64_t number = ++l->spare_number;
    seg_name(spare_name, number, ".spare");
    enum err rc = io_rename(&l->dir, name, spare_name, e);
    if (rc != ERR_OK)
        return rc;
    if (io_sync_dir(&l->dir, e) != ERR_OK) {
        say(LL_WARNING, "%s", e->text);
        return ERR_OK; /* it must not be written to, that is all */
    }
    struct spare *s = NEW(struct spare);
    s->number = number;
    s->size = head->size;
    s->filled = true;
    (void)pthread_mutex_lock(&l->lock);
    list_append(&l->spares, &s->node);
    keeper_count_spares(l);
    atomic_store(&l->no_space, ERR_OK);
    (void)pthread_mutex_unlock(&l->lock);
    l->next_trim_ms = now_ms() + SPARE_IDLE_MS;
    return ERR_OK;
}

/* It could not go, so none behind it may: a log has no holes. */
static void keep(struct log *l, const struct seg_head *head,
                 const struct errbuf *e)
{
    struct segment *seg = NEW(struct segment);
    seg->head = *head;
    (void)pthread_mutex_lock(&l->lock);
    list_prepend(&l->segments, &seg->node);
    atomic_store(&l->first, head->first);
    (void)pthread_mutex_unlock(&l->lock);
    if (!l->keeps)
        say(LL_WARNING, "%s; trying again", e->text);
    l->keeps = true;
}

static void retention(struct log *l)
{
    struct errbuf e;
    for (;;) {
        (void)pthread_mutex_lock(&l->lock);
        struct segment *seg = droppable(l);
        if (seg == NULL) {
            (void)pthread_mutex_unlock(&l->lock);
            return;
        }
        struct segment *next =
            CONTAINER_OF(seg->node.next, struct segment, node);
        struct seg_head head = seg->head;
        /* A reader keeps the old bytes if the file goes, not if it is written
         * over. */
        bool read = seg->readers > 0;
        bool recycle = !read && head.size == l->segment_bytes &&
                       count(&l->spares) < spares_max(l);
        atomic_store(&l->first, next->head.first);
        seg_drop(seg);
        (void)pthread_mutex_unlock(&l->lock);
        if (drop_file(l, &head, read, recycle, &e) != ERR_OK) {
            keep(l, &head, &e);
            return;
        }
        l->keeps = false;
    }
}

/* --- spares -------------------------------------------------------------- */

bool keeper_has_surplus(const struct log *l)
{
    return count(&l->spares) > spares_max(l);
}

/* One of more than there should be, taken out of the list. */
static struct spare *surplus(struct log *l, bool idle)
{
    struct spare *s = NULL;
    (void)pthread_mutex_lock(&l->lock);
    size_t max = idle ? SPARES_IDLE : spares_max(l);
    if (count(&l->spares) > max) {
        s = CONTAINER_OF(list_first(&l->spares), struct spare, node);
        list_remove(&s->node);
        keeper_count_spares(l);
    }
    (void)pthread_mutex_unlock(&l->lock);
    return s;
}

static void trim(struct log *l)
{
    uint64_t now = now_ms();
    bool idle = now >= l->next_trim_ms;
    if (idle)
        l->next_trim_ms = now + SPARE_IDLE_MS;
    for (struct spare *s; (s = surplus(l, idle)) != NULL; idle = false) {
        char name[SEG_NAME];
        seg_name(name, s->number, s->filled ? ".spare" : ".reserve");
        (void)unlink_slowly(l, name, s->size);
        mem_free(s);
    }
}

static void there_is_space(struct log *l)
{
    if (atomic_exchange(&l->no_space, ERR_OK) != ERR_OK)
        say(LL_NOTICE, "There is space for another log segment again.");
}

static void add_spare(struct log *l, struct spare *s)
{
    (void)pthread_mutex_lock(&l->lock);
    list_append(&l->spares, &s->node);
    keeper_count_spares(l);
    if (l->stuck)
        (void)pthread_cond_signal(&l->wake);
    (void)pthread_mutex_unlock(&l->lock);
    there_is_space(l);
}

static void reserve(struct log *l)
{
    (void)pthread_mutex_lock(&l->lock);
    bool have = !list_empty(&l->spares), stuck = l->stuck;
    uint64_t size = keeper_next_size(l, l->w.head.size);
    (void)pthread_mutex_unlock(&l->lock);
    if (have && !stuck) /* what was too large for a spare has found room */
        there_is_space(l);
    if (have || atomic_load(&l->failed))
        return;
    char name[SEG_NAME];
    struct errbuf e;
    int fd;
    uint64_t number = ++l->spare_number;
    seg_name(name, number, ".reserve");
    enum err rc = io_create(&l->dir, name, size, &fd, &e);
    if (rc != ERR_OK) {
        if (atomic_exchange(&l->no_space, (int)rc) == ERR_OK)
            say(LL_WARNING, "%s; new work is refused until there is space",
                e.text);
        return;
    }
    (void)close(fd);
    struct spare *s = NEW(struct spare);
    s->number = number;
    s->size = size;
    add_spare(l, s);
}

/* A reserve to fill, if it is time; taken out of the list. */
static struct spare *reserve_to_fill(struct log *l)
{
    struct spare *found = NULL;
    (void)pthread_mutex_lock(&l->lock);
    uint64_t size = l->w.head.size;
    bool due =
        l->threaded && atomic_load(&l->room) <= size - keeper_fill_at(size);
    LIST_FOR (it, &l->spares) {
        struct spare *s = CONTAINER_OF(it, struct spare, node);
        if (due && found == NULL && !s->filled) {
            list_remove(&s->node);
            found = s;
        }
    }
    keeper_count_spares(l);
    (void)pthread_mutex_unlock(&l->lock);
    return found;
}

static void fill(struct log *l)
{
    struct spare *s = reserve_to_fill(l);
    if (s == NULL)
        return;
    char name[SEG_NAME], full[SEG_NAME];
    struct errbuf e;
    seg_name(name, s->number, ".reserve");
    seg_name(full, s->number, ".spare");
    int fd = openat(l->dir.fd, name, O_RDWR | O_CLOEXEC);
    int why = fd < 0 ? errno : 0;
    bool stop = false;
    for (uint64_t off = 0; why == 0 && !stop && off < s->size;) {
        uint64_t left = s->size - off;
        uint64_t n = left < FILL_CHUNK ? left : FILL_CHUNK;
        why = io_zero(l->dir.io, fd, off, n);
        if (why == 0)
            why = io_write_out(fd, off, n);
        off += n;
        background_sync(l);
        watermark(l);
        (void)pthread_mutex_lock(&l->lock);
        stop = l->stop;
        (void)pthread_mutex_unlock(&l->lock);
    }
    if (why == 0 && !stop)
        why = io_sync(l->dir.io, fd);
    s->filled = why == 0 && !stop;
    if (fd >= 0)
        (void)close(fd);
    enum err rc = ERR_OK;
    if (why != 0)
        rc = err_sys(&e, ERR_IO, why, "cannot write %s/%s", l->path, name);
    else if (s->filled)
        rc = io_rename(&l->dir, name, full, &e);
    if (rc != ERR_OK) {
        /* Not part of the log yet, so not final: begin again. */
        say(LL_WARNING, "%s; the log begins another spare segment", e.text);
        (void)io_unlink(&l->dir, name);
        mem_free(s);
        return;
    }
    add_spare(l, s);
}

void keeper_turn(struct log *l)
{
    background_sync(l);
    watermark(l);
    retention(l);
    trim(l);
    reserve(l);
    fill(l);
}

void *keeper_main(void *arg)
{
    struct log *l = (struct log *)arg;
    CHECK_OBJ(l, LOG);
    (void)pthread_setname_np(pthread_self(), "log-keeper");
    (void)pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        (void)pthread_mutex_unlock(&l->lock);
        keeper_turn(l);
        (void)pthread_mutex_lock(&l->lock);
        bool soon = atomic_load(&l->mode) == LOG_EVERYSEC || !log_next_ready(l);
        if (!l->stop)
            log_cond_wait_ms(&l->keep, &l->lock, soon ? TURN_SOON_MS : TURN_MS);
    }
    (void)pthread_mutex_unlock(&l->lock);
    return NULL;
}
