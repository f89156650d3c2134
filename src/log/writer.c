/* The writer: everything that changes the newest segment.
 *
 *   1. take the token and what has been queued
 *   2. gather records: head, borrowed entry, pad; a blank head behind the last
 *      one, so that the end can be told from what the file held before
 *   3. one pwritev(2); publish written
 *   4. one fdatasync(2) if the mode or a request wants it; publish durable
 *   5. give the token back, wake the loop, sleep if nothing has gathered
 *
 * When the segment is full (switch_segment):
 *   sync the old one; take a spare, or allocate; new head, synced; its final
 *   name, synced; go on, and the keeper writes the watermark. Power may fail
 *   between any two steps: until the name is there the old segment is the
 *   newest, and it is whole.
 *
 * Ways to fail: a write or sync that fails ends the process (invariant 8). A
 * segment that cannot be allocated leaves the rest of the batch where it is
 * (`stuck`), and the thread tries again ten times a second.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log/impl.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/histogram.h"

#define STUCK_RETRY_MS 100

/* Who has shorter slices than others need not wait for the end of theirs (since
 * Linux 6.12; before, the number is ignored). */
#define SLICE_NS 500000
#define NICE_FIRST (-20)

static const char zeroes[REC_HEAD];

void writer_init(struct log *l, int fd, const struct seg_head *head,
                 uint64_t off, uint64_t next)
{
    struct writer *w = &l->w;
    w->fd = fd;
    w->head = *head;
    w->off = off;
    w->next = next;
    if (w->heads == NULL) {
        w->heads = (unsigned char(*)[REC_HEAD])mem_alloc(GATHER_MAX * REC_HEAD);
        w->iov = (struct iovec *)mem_alloc(GATHER_IOV * sizeof(*w->iov));
    }
    atomic_store(&l->room, head->size > off ? head->size - off : 0);
}

void writer_release(struct writer *w)
{
    if (w->fd >= 0)
        (void)close(w->fd);
    w->fd = -1;
    FREE(&w->heads);
    FREE(&w->iov);
}

static void add_piece(struct writer *w, const void *data, size_t len)
{
    ASSERT(w->iovs < GATHER_IOV);
    if (len > 0)
        w->iov[w->iovs++] = (struct iovec){(void *)(uintptr_t)data, len};
}

static void gather(struct log *l, struct pending p)
{
    struct writer *w = &l->w;
    ASSERT(w->records < GATHER_MAX);
    struct log_record rec = {.index = w->next + w->records,
                             .epoch = p.epoch,
                             .durable = log_durable(l),
                             .entry = p.entry};
    unsigned char *head = w->heads[w->records++];
    uint64_t size = rec_size(p.entry.len);
    rec_encode(head, &rec, w->head.salt);
    add_piece(w, head, REC_HEAD);
    add_piece(w, p.entry.data, p.entry.len);
    add_piece(w, zeroes, (size_t)(size - REC_HEAD - p.entry.len));
    w->gathered += size;
}

/* Write what was gathered. False if the log has failed. */
static bool flush(struct log *l)
{
    struct writer *w = &l->w;
    if (w->records == 0)
        return true;
    if (w->off + w->gathered + REC_HEAD <= w->head.size)
        add_piece(w, zeroes, REC_HEAD);
    int rc = io_write(l->dir.io, w->fd, w->iov, w->iovs, w->off);
    if (rc != 0) {
        log_fail(l, rc, "write");
        return false;
    }
    uint64_t fill_at = keeper_fill_at(w->head.size);
    bool crossed = w->off < fill_at && w->off + w->gathered >= fill_at;
    w->off += w->gathered;
    w->next += w->records;
    w->bytes += w->gathered;
    atomic_store(&l->room, w->head.size > w->off ? w->head.size - w->off : 0);
    (void)pthread_mutex_lock(&l->lock);
    l->stats.records += w->records;
    l->stats.bytes += w->gathered;
    l->stats.writes++;
    if (crossed)
        (void)pthread_cond_signal(&l->keep);
    (void)pthread_mutex_unlock(&l->lock);
    w->iovs = 0;
    w->records = 0;
    w->gathered = 0;
    log_publish(l, w->next - 1, w->bytes, 0, 0);
    return true;
}

static bool sync_now(struct log *l)
{
    struct writer *w = &l->w;
    uint64_t begin = clock_mono_us();
    int rc = io_sync(l->dir.io, w->fd);
    if (rc != 0) {
        log_fail(l, rc, "fdatasync");
        return false;
    }
    uint64_t us = clock_mono_us() - begin;
    uint64_t lately = atomic_load(&l->lately_us);
    atomic_store(&l->lately_us, lately - lately / 8 + us / 8);
    (void)pthread_mutex_lock(&l->lock);
    l->stats.syncs++;
    histogram_record(l->sync_us, us);
    (void)pthread_mutex_unlock(&l->lock);
    log_publish(l, w->next - 1, w->bytes, w->next - 1, w->bytes);
    return true;
}

/* A spare of at least `size` bytes, the filled ones first. */
static struct spare *take_spare(struct log *l, uint64_t size)
{
    struct spare *best = NULL;
    (void)pthread_mutex_lock(&l->lock);
    LIST_FOR (it, &l->spares) {
        struct spare *s = CONTAINER_OF(it, struct spare, node);
        if (s->size >= size && (best == NULL || (s->filled && !best->filled)))
            best = s;
    }
    if (best != NULL)
        list_remove(&best->node);
    keeper_count_spares(l);
    (void)pthread_mutex_unlock(&l->lock);
    return best;
}

/* Open the file that becomes the next segment; its name goes to `name`. */
static enum err next_file(struct log *l, uint64_t need, char name[SEG_NAME],
                          int *fd, uint64_t *size, bool *recycled,
                          struct errbuf *e)
{
    struct spare *s = take_spare(l, need);
    *recycled = s != NULL && s->filled;
    if (s != NULL) {
        seg_name(name, s->number, s->filled ? ".spare" : ".reserve");
        *size = s->size;
        mem_free(s);
        *fd = openat(l->dir.fd, name, O_RDWR | O_CLOEXEC);
        if (*fd >= 0)
            return ERR_OK;
    }
    /* Not filled with zeroes: slower to sync than a spare, but here now. */
    *size = keeper_next_size(l, l->w.head.size);
    if (*size < need)
        *size = need;
    seg_name(name, 0, ".new");
    return io_create(&l->dir, name, *size, fd, e);
}

/* How long the entries from v[*from] on took to be acked. */
static void time_commits(struct log *l, size_t *from)
{
    uint64_t now = clock_mono_us();
    (void)pthread_mutex_lock(&l->lock);
    for (; *from < l->batch.done; (*from)++)
        histogram_record(l->commit_us, now - l->batch.v[*from].since_us);
    (void)pthread_mutex_unlock(&l->lock);
}

/* Begin the segment that holds w->next, with room for `size` bytes. False if
 * there is no space or the log has failed. Takes several syncs: who waits for
 * what is on the disk already is told before. */
static bool switch_segment(struct log *l, uint64_t size, size_t *untimed)
{
    struct writer *w = &l->w;
    struct errbuf e;
    char old_name[SEG_NAME], name[SEG_NAME];
    int fd = -1;
    bool recycled;
    struct seg_head head = {.first = w->next,
                            .epoch = l->batch.v[l->batch.done].epoch,
                            .salt = seg_new_salt(),
                            .created_ms = clock_wall_us() / 1000};
    /* Invariant 5: a tail lies in the newest segment only. */
    if (log_durable(l) < w->next - 1 && !sync_now(l))
        return false;
    time_commits(l, untimed);
    if (l->threaded && l->on_progress != NULL)
        l->on_progress(l->ud);
    enum err rc =
        next_file(l, SEG_DATA + size, old_name, &fd, &head.size, &recycled, &e);
    if (rc != ERR_OK) { /* not final; the keeper says it */
        atomic_store(&l->no_space, (int)rc);
        return false;
    }
    int failed = seg_write_head(l->dir.io, fd, &head);
    seg_name(name, head.first, ".seg");
    if (failed == 0 && (io_rename(&l->dir, old_name, name, &e) != ERR_OK ||
                        io_sync_dir(&l->dir, &e) != ERR_OK))
        failed = errno;
    if (failed != 0) {
        (void)close(fd);
        log_fail(l, failed, "begin a segment");
        return false;
    }
    struct segment *seg = NEW(struct segment);
    seg->head = head;
    int old = w->fd;
    (void)pthread_mutex_lock(&l->lock);
    list_append(&l->segments, &seg->node);
    writer_init(l, fd, &head, SEG_DATA, w->next);
    bool keeper_closes = old == l->syncing;
    l->stats.switches++;
    l->stats.recycled += recycled;
    (void)pthread_cond_signal(&l->keep); /* it wants a mark, and another */
    (void)pthread_mutex_unlock(&l->lock);
    if (!keeper_closes)
        (void)close(old);
    return true;
}

static bool fits(const struct writer *w, uint64_t size)
{
    uint64_t at = w->off + w->gathered;
    /* A record larger than any segment has one made for it, see next_file. */
    return at + size <= w->head.size;
}

void writer_run(struct log *l)
{
    struct writer *w = &l->w;
    struct batch *b = &l->batch;
    size_t untimed = b->done;
    bool ok = !atomic_load(&l->failed), stuck = false;
    while (ok && b->done + w->records < b->n) {
        struct pending p = b->v[b->done + w->records];
        uint64_t size = rec_size(p.entry.len);
        if (w->records < GATHER_MAX && fits(w, size)) {
            gather(l, p);
            continue;
        }
        size_t n = w->records;
        ok = flush(l);
        b->done += ok ? n : 0;
        if (ok && !fits(w, size) && !switch_segment(l, size, &untimed)) {
            stuck = !atomic_load(&l->failed);
            break;
        }
    }
    size_t n = w->records;
    ok = ok && !atomic_load(&l->failed) && flush(l);
    b->done += ok ? n : 0;
    (void)pthread_mutex_lock(&l->lock);
    bool wanted =
        atomic_load(&l->mode) == LOG_ALWAYS || l->sync_target > log_durable(l);
    l->stuck = stuck;
    if (stuck)
        (void)pthread_cond_broadcast(&l->moved);
    (void)pthread_mutex_unlock(&l->lock);
    if (ok && wanted && log_durable(l) < w->next - 1)
        (void)sync_now(l);
    else if (ok) /* the mode may have changed: acked follows */
        log_publish(l, w->next - 1, w->bytes, 0, 0);
    time_commits(l, &untimed);
}

/* Is there anything that the log thread could do? With lock. */
static bool has_work(struct log *l)
{
    if (l->busy || atomic_load(&l->failed))
        return false;
    return !batch_empty(&l->queue) || !batch_empty(&l->batch) ||
           l->sync_target > log_durable(l);
}

void token_take(struct log *l)
{
    (void)pthread_mutex_lock(&l->lock);
    l->draining++;
    while (l->busy)
        (void)pthread_cond_wait(&l->moved, &l->lock);
    l->draining--;
    l->busy = true;
    (void)pthread_mutex_unlock(&l->lock);
}

void token_give(struct log *l)
{
    (void)pthread_mutex_lock(&l->lock);
    ASSERT(l->busy);
    l->busy = false;
    if (l->draining > 0)
        (void)pthread_cond_broadcast(&l->moved);
    if (l->asleep && has_work(l))
        (void)pthread_cond_signal(&l->wake);
    (void)pthread_mutex_unlock(&l->lock);
}

/* sched_setattr(2), which the C library lacks, for this thread. */
static bool schedule_as(int nice)
{
    const struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice_ns, deadline, period;
    } how = {.size = sizeof(how), .nice = nice, .slice_ns = SLICE_NS};
    return syscall(SYS_sched_setattr, 0, &how, 0) == 0;
}

/* A sync that has come back waits for a processor, on a busy machine for up to
 * 4 ms, and all replies behind it wait as well. This thread works for a
 * fraction of the time only, so it takes little from others by going first. */
static void go_first(struct log *l)
{
    bool may = false;
    if (l->priority) {
        may = schedule_as(NICE_FIRST);
        if (!may) /* short slices alone are allowed to all */
            (void)schedule_as(getpriority(PRIO_PROCESS, 0));
    }
    (void)pthread_mutex_lock(&l->lock);
    l->stats.priority = may;
    (void)pthread_mutex_unlock(&l->lock);
}

void *writer_main(void *arg)
{
    struct log *l = (struct log *)arg;
    CHECK_OBJ(l, LOG);
    (void)pthread_setname_np(pthread_self(), "log");
    bool news = false; /* not told yet */
    go_first(l);
    (void)pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        if (!news && (!has_work(l) || l->stuck)) {
            l->asleep = true;
            if (l->stuck) /* a full disk sends no message when it has room */
                log_cond_wait_ms(&l->wake, &l->lock, STUCK_RETRY_MS);
            else
                (void)pthread_cond_wait(&l->wake, &l->lock);
            l->asleep = false;
            if (!has_work(l))
                continue;
        }
        bool work = has_work(l) && !(news && l->stuck);
        if (work) {
            l->busy = true;
            log_take_queue(l);
        }
        (void)pthread_mutex_unlock(&l->lock);
        /* Only now, so that who waits for room in the queue sees that there is
         * some. */
        if (news && l->on_progress != NULL)
            l->on_progress(l->ud);
        news = work;
        if (work) {
            writer_run(l);
            token_give(l);
        }
        (void)pthread_mutex_lock(&l->lock);
    }
    (void)pthread_mutex_unlock(&l->lock);
    if (news && l->on_progress != NULL)
        l->on_progress(l->ud);
    return NULL;
}
