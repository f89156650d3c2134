/* The loop's side of the log: appending, asking where it stands, retention. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "log/impl.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/histogram.h"
#include "util/logger.h"

static void batch_add(struct batch *b, struct pending p)
{
    if (b->n == b->cap) {
        b->cap = b->cap == 0 ? 64 : b->cap * 2;
        b->v = (struct pending *)mem_realloc(b->v, b->cap * sizeof(*b->v));
    }
    b->v[b->n++] = p;
}

void batch_release(struct batch *b)
{
    FREE(&b->v);
    *b = (struct batch){0};
}

uint64_t log_append(struct log *l, struct slice entry)
{
    CHECK_OBJ(l, LOG);
    ASSERT(entry.len <= LOG_ENTRY_MAX);
    if (batch_empty(&l->staged)) {
        l->staged.done = l->staged.n = 0;
        l->staged.first = l->last + 1;
    }
    batch_add(&l->staged, (struct pending){entry, l->epoch, clock_mono_us()});
    l->appended_bytes += rec_size(entry.len);
    return ++l->last;
}

void log_set_epoch(struct log *l, uint64_t epoch)
{
    CHECK_OBJ(l, LOG);
    ASSERT(epoch >= l->epoch); /* invariant 2 */
    l->epoch = epoch;
}

uint64_t log_epoch(const struct log *l)
{
    return l->epoch;
}

/* staged -> queue, with lock. */
static void enqueue(struct log *l)
{
    if (batch_empty(&l->staged))
        return;
    l->queued_bytes = l->appended_bytes;
    if (batch_empty(&l->queue)) { /* swap, so that nothing is copied */
        struct batch old = l->queue;
        l->queue = l->staged;
        l->staged = old;
        l->staged.done = l->staged.n = 0;
        return;
    }
    ASSERT(l->queue.first + l->queue.n == l->staged.first);
    for (size_t i = 0; i < l->staged.n; i++)
        batch_add(&l->queue, l->staged.v[i]);
    l->staged.n = 0;
}

void log_take_queue(struct log *l)
{
    if (!batch_empty(&l->batch))
        return;
    struct batch old = l->batch;
    l->batch = l->queue;
    l->queue = old;
    l->queue.done = l->queue.n = 0;
    atomic_store(&l->taken_bytes, l->queued_bytes);
}

static void run_here(struct log *l)
{
    (void)pthread_mutex_lock(&l->lock);
    l->busy = true;
    do {
        log_take_queue(l);
        (void)pthread_mutex_unlock(&l->lock);
        writer_run(l);
        (void)pthread_mutex_lock(&l->lock);
    } while (!l->stuck && !atomic_load(&l->failed) && !batch_empty(&l->queue));
    l->busy = false;
    (void)pthread_mutex_unlock(&l->lock);
    keeper_turn(l);
    if (l->on_progress != NULL)
        l->on_progress(l->ud);
}

/* With the lock, which it gives up first: the log thread goes first when it is
 * woken, would find the lock taken by a thread that has just lost its processor
 * to it, and wait for that one's next turn. */
static void unlock_and_wake(struct log *l, bool wake)
{
    wake = wake && l->asleep;
    (void)pthread_mutex_unlock(&l->lock);
    if (wake)
        (void)pthread_cond_signal(&l->wake);
}

void log_submit(struct log *l)
{
    CHECK_OBJ(l, LOG);
    (void)pthread_mutex_lock(&l->lock);
    enqueue(l);
    unlock_and_wake(l, !batch_empty(&l->queue));
    if (!l->threaded)
        run_here(l);
}

bool log_sync_inline(struct log *l)
{
    CHECK_OBJ(l, LOG);
    if (!l->threaded) {
        log_submit(l);
        return !l->stuck;
    }
    (void)pthread_mutex_lock(&l->lock);
    /* The token first: l->w and l->batch may be read only with it. */
    bool here = !l->busy && l->syncing < 0 && batch_empty(&l->queue) &&
                batch_empty(&l->batch) && !batch_empty(&l->staged) &&
                (atomic_load(&l->lately_us) < INLINE_SYNC_US ||
                 atomic_load(&l->mode) != LOG_ALWAYS);
    if (here) {
        uint64_t waiting = l->appended_bytes - l->w.bytes;
        /* A new segment takes several syncs: not on the loop. */
        here = waiting <= INLINE_BYTES && l->w.off + waiting <= l->w.head.size;
    }
    if (!here) {
        enqueue(l);
        unlock_and_wake(l, !batch_empty(&l->queue));
        return false;
    }
    l->busy = true;
    struct batch old = l->batch;
    l->batch = l->staged;
    l->staged = old;
    l->staged.done = l->staged.n = 0;
    l->queued_bytes = l->appended_bytes;
    atomic_store(&l->taken_bytes, l->queued_bytes);
    l->stats.inline_syncs++;
    (void)pthread_mutex_unlock(&l->lock);
    writer_run(l);
    token_give(l);
    return true;
}

void log_request_sync(struct log *l)
{
    CHECK_OBJ(l, LOG);
    (void)pthread_mutex_lock(&l->lock);
    enqueue(l);
    l->sync_target = l->last;
    unlock_and_wake(l, true);
    if (!l->threaded)
        run_here(l);
}

enum err log_wait(struct log *l, uint64_t index, struct errbuf *e)
{
    CHECK_OBJ(l, LOG);
    (void)pthread_mutex_lock(&l->lock);
    l->draining++;
    while (l->threaded && log_durable(l) < index && !l->stuck &&
           !atomic_load(&l->failed))
        (void)pthread_cond_wait(&l->moved, &l->lock);
    l->draining--;
    bool stuck = l->stuck;
    (void)pthread_mutex_unlock(&l->lock);
    if (log_durable(l) >= index)
        return ERR_OK;
    if (stuck)
        return err_set(e, ERR_NOSPACE,
                       "no further log segment can be allocated in %s",
                       l->path);
    return err_set(e, ERR_IO, "the log in %s has failed", l->path);
}

enum err log_drain(struct log *l, struct errbuf *e)
{
    CHECK_OBJ(l, LOG);
    log_request_sync(l);
    return log_wait(l, l->last, e);
}

void log_set_sync(struct log *l, enum log_sync_mode mode)
{
    CHECK_OBJ(l, LOG);
    atomic_store(&l->mode, (int)mode);
    /* What waits under the old mode is settled under the new one: towards
     * LOG_ALWAYS by a sync, away from it by taking acked to written. */
    log_request_sync(l);
    (void)pthread_mutex_lock(&l->lock);
    (void)pthread_cond_signal(&l->keep);
    (void)pthread_mutex_unlock(&l->lock);
}

void log_set_keep_bytes(struct log *l, uint64_t keep_bytes)
{
    CHECK_OBJ(l, LOG);
    (void)pthread_mutex_lock(&l->lock);
    l->keep_bytes = keep_bytes;
    (void)pthread_cond_signal(&l->keep);
    (void)pthread_mutex_unlock(&l->lock);
}

void log_set_spare_bytes(struct log *l, uint64_t bytes)
{
    CHECK_OBJ(l, LOG);
    (void)pthread_mutex_lock(&l->lock);
    bool less = bytes < l->spare_bytes;
    l->spare_bytes = bytes;
    if (less && keeper_has_surplus(l))
        (void)pthread_cond_signal(&l->keep);
    (void)pthread_mutex_unlock(&l->lock);
}

uint64_t log_first(struct log *l)
{
    return atomic_load(&l->first);
}

uint64_t log_last(const struct log *l)
{
    return l->last;
}

uint64_t log_written(const struct log *l)
{
    return atomic_load(&l->written);
}

uint64_t log_durable(const struct log *l)
{
    return atomic_load(&l->durable);
}

uint64_t log_acked(const struct log *l)
{
    return atomic_load(&l->acked);
}

uint64_t log_pending_bytes(const struct log *l)
{
    return l->appended_bytes - atomic_load(&l->taken_bytes);
}

enum err log_next_fault(const struct log *l)
{
    return (enum err)atomic_load(&l->no_space);
}

bool log_next_ready(const struct log *l)
{
    return log_next_fault(l) == ERR_OK;
}

uint64_t log_space_left(const struct log *l)
{
    uint64_t room = atomic_load(&l->room) + atomic_load(&l->spare_room);
    uint64_t queued = l->appended_bytes - atomic_load(&l->written_bytes);
    return room > queued ? room - queued : 0;
}

static struct log_times times_of(const struct histogram *h)
{
    return (struct log_times){histogram_percentile(h, 50),
                              histogram_percentile(h, 99), histogram_max(h)};
}

void log_forget_times(struct log *l)
{
    CHECK_OBJ(l, LOG);
    (void)pthread_mutex_lock(&l->lock);
    histogram_reset(l->sync_us);
    histogram_reset(l->commit_us);
    (void)pthread_mutex_unlock(&l->lock);
}

void log_stats(struct log *l, struct log_stats *out)
{
    CHECK_OBJ(l, LOG);
    (void)pthread_mutex_lock(&l->lock);
    *out = l->stats;
    out->sync_us = times_of(l->sync_us);
    out->commit_us = times_of(l->commit_us);
    out->segments = out->segment_bytes = 0;
    LIST_FOR (it, &l->segments) {
        out->segments++;
        out->segment_bytes += CONTAINER_OF(it, struct segment, node)->head.size;
    }
    (void)pthread_mutex_unlock(&l->lock);
}

void log_release(struct log *l, uint64_t below_index)
{
    CHECK_OBJ(l, LOG);
    (void)pthread_mutex_lock(&l->lock);
    if (below_index > l->release_below)
        l->release_below = below_index;
    /* Called every tick, so the keeper is not woken for nothing. */
    bool work = keeper_can_drop(l);
    if (work)
        (void)pthread_cond_signal(&l->keep);
    (void)pthread_mutex_unlock(&l->lock);
    if (!l->threaded && work)
        keeper_turn(l);
}

void log_hold_begin(struct log *l, struct log_hold *hold, uint64_t index)
{
    CHECK_OBJ(l, LOG);
    (void)pthread_mutex_lock(&l->lock);
    list_init(&hold->node);
    hold->index = index;
    list_append(&l->holds, &hold->node);
    (void)pthread_mutex_unlock(&l->lock);
}

void log_hold_move(struct log *l, struct log_hold *hold, uint64_t index)
{
    CHECK_OBJ(l, LOG);
    (void)pthread_mutex_lock(&l->lock);
    hold->index = index;
    (void)pthread_mutex_unlock(&l->lock);
}

void log_hold_end(struct log *l, struct log_hold *hold)
{
    CHECK_OBJ(l, LOG);
    (void)pthread_mutex_lock(&l->lock);
    list_remove(&hold->node);
    (void)pthread_cond_signal(&l->keep);
    (void)pthread_mutex_unlock(&l->lock);
}

void log_fail(struct log *l, int errnum, const char *what)
{
    char why[256];
    (void)snprintf(why, sizeof(why), "The log in %s has failed: %s: %s",
                   l->path, what, strerror(errnum));
    if (l->on_fatal == NULL) {
        say(LL_WARNING,
            "%s. Stopping at once: what was acknowledged is on disk, and a "
            "restart replays it.",
            why);
        _exit(EXIT_LOG_FAILED);
    }
    atomic_store(&l->failed, true);
    l->on_fatal(why, l->ud);
    (void)pthread_mutex_lock(&l->lock);
    (void)pthread_cond_broadcast(&l->moved);
    (void)pthread_mutex_unlock(&l->lock);
}

static void raise_to(_Atomic uint64_t *v, uint64_t n)
{
    if (n > atomic_load_explicit(v, memory_order_relaxed))
        atomic_store(v, n);
}

/* Under LOG_EVERYSEC a reply waits for its write alone, but only as long as a
 * power cut would take back no more than a second of replies: with a sync that
 * takes longer they wait for it. */
static bool acks_written(struct log *l)
{
    switch ((enum log_sync_mode)atomic_load(&l->mode)) {
    case LOG_ALWAYS:
        return false;
    case LOG_EVERYSEC:
        return l->unsynced_us == 0 ||
               clock_mono_us() - l->unsynced_us <= EVERYSEC_US;
    case LOG_NO:
        break;
    }
    return true;
}

/* With lock. */
static void publish(struct log *l, uint64_t written, uint64_t written_bytes,
                    uint64_t durable, uint64_t durable_bytes)
{
    raise_to(&l->written, written);
    raise_to(&l->durable, durable);
    raise_to(&l->written_bytes, written_bytes);
    if (durable_bytes > l->durable_bytes)
        l->durable_bytes = durable_bytes;
    if (atomic_load(&l->durable) == atomic_load(&l->written))
        l->unsynced_us = 0;
    else if (l->unsynced_us == 0)
        l->unsynced_us = clock_mono_us();
    bool all = acks_written(l);
    raise_to(&l->acked,
             all ? atomic_load(&l->written) : atomic_load(&l->durable));
    raise_to(&l->acked_bytes,
             all ? atomic_load(&l->written_bytes) : l->durable_bytes);
    ASSERT(atomic_load(&l->durable) <= atomic_load(&l->acked));
    ASSERT(atomic_load(&l->acked) <= atomic_load(&l->written));
    if (l->draining > 0)
        (void)pthread_cond_broadcast(&l->moved);
}

void log_publish(struct log *l, uint64_t written, uint64_t written_bytes,
                 uint64_t durable, uint64_t durable_bytes)
{
    (void)pthread_mutex_lock(&l->lock);
    publish(l, written, written_bytes, durable, durable_bytes);
    (void)pthread_mutex_unlock(&l->lock);
}

void log_publish_synced(struct log *l, uint64_t written, uint64_t bytes,
                        uint64_t begin_us)
{
    (void)pthread_mutex_lock(&l->lock);
    l->unsynced_us = begin_us; /* what came later is no older */
    publish(l, written, bytes, written, bytes);
    (void)pthread_mutex_unlock(&l->lock);
}

void log_cond_init(pthread_cond_t *c)
{
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(c, &attr);
    (void)pthread_condattr_destroy(&attr);
}

void log_cond_wait_ms(pthread_cond_t *c, pthread_mutex_t *m, uint64_t ms)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(ms / 1000);
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    (void)pthread_cond_timedwait(c, m, &t);
}

void log_mark_locked(struct log *l, uint64_t newest)
{
    struct errbuf e;
    l->mark.durable = log_durable(l);
    l->mark.newest = newest > l->mark.newest ? newest : l->mark.newest;
    if (!atomic_load(&l->failed) && mark_write(&l->dir, &l->mark, &e) != ERR_OK)
        say(LL_WARNING, "%s; a rolled back log may go unnoticed", e.text);
}

void log_mark(struct log *l, uint64_t newest)
{
    (void)pthread_mutex_lock(&l->mark_lock);
    log_mark_locked(l, newest);
    (void)pthread_mutex_unlock(&l->mark_lock);
}
