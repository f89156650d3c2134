/* What the files of this folder share: the log's insides.
 *
 *   loop ---- staged --submit--> queue --> batch ---- pwritev, fdatasync
 *    ^        (its own)          (lock)    (token)          |
 *    |                                                      v
 *    +------ on_progress <--- acked, durable, written <--- publish (lock)
 *
 * Who may touch what:
 *   loop's      staged, last, epoch, appended_bytes
 *   lock        queue, busy, asleep, stop, segments, spares, holds, sync_target
 *   token       (`busy`) the writer, batch: the log thread takes it, or the
 *               loop in log_sync_inline() and in unthreaded mode
 *   lock+token  the writer's fd may be read with either, changed with both
 *   mark_lock   mark and the watermark file; may be taken with the token, not
 *               with lock
 * Published numbers are atomics, written under lock.
 *
 * Two threads: the log thread (writer.c) does nothing but commits; the keeper
 * (keeper.c) does what may take long: allocate and fill the next segment, drop
 * old ones, the watermark, the background sync of LOG_EVERYSEC. A 64 MiB fill
 * on the log thread would stand in the way of commits for 100 ms and more.
 */
#ifndef LOG_IMPL_H
#define LOG_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "log/log.h"
#include "log/segment.h"
#include "log/watermark.h"

#define LOG_MAGIC 0x6c6f6731

/* Records gathered for one pwritev(2): three pieces each, and the end mark. */
#define GATHER_MAX 256
#define GATHER_IOV (3 * GATHER_MAX + 1)

/* An inline sync is worth it only for little data on a quick disk. */
#define INLINE_BYTES ((uint64_t)64 << 10)
#define INLINE_SYNC_US 2000

/* Spares kept for recycling. A busy store releases many segments at once and
 * wants as many in a moment: more are kept as far as log_set_spare_bytes()
 * allows, and go one by one when none was released for SPARE_IDLE_MS. */
#define SPARES_IDLE 4
#define SPARE_IDLE_MS 10000
#define FIRST_SEGMENT_BYTES ((uint64_t)1 << 20)
#define KEEP_BYTES_DEFAULT ((uint64_t)1 << 30)

#define BACKGROUND_SYNC_MS 800 /* LOG_EVERYSEC promises 1 s with some room */
#define EVERYSEC_US ((uint64_t)1000 * 1000)
#define WATERMARK_MS 2000
#define TIMES_MAX_US ((uint64_t)60 * 1000 * 1000)

struct pending {
    struct slice entry;
    uint64_t epoch;
    uint64_t since_us; /* log_append() */
};

/* Entries with dense indexes; the first has index `first`. */
struct batch {
    struct pending *v;
    size_t done, n, cap; /* v[done..n) are waiting */
    uint64_t first;
};

struct spare {
    struct list node;
    uint64_t number; /* its name */
    uint64_t size;
    bool filled; /* ".spare", else ".reserve" */
};

struct writer {
    int fd;
    struct seg_head head; /* of the newest segment */
    uint64_t off;         /* where the next record goes */
    uint64_t next;        /* its index */
    uint64_t bytes;       /* written since open */
    unsigned char (*heads)[REC_HEAD];
    struct iovec *iov;
    int iovs;
    size_t records;    /* gathered */
    uint64_t gathered; /* bytes */
};

struct log {
    OBJ_MAGIC;
    struct log_dir dir;
    char *path;
    int lock_fd;
    uint64_t segment_bytes;
    bool threaded, priority;
    void (*on_progress)(void *ud);
    void (*on_fatal)(const char *why, void *ud);
    void *ud;

    /* the loop's */
    struct batch staged;
    uint64_t last, epoch;
    uint64_t appended_bytes;

    pthread_mutex_t lock;
    pthread_cond_t wake;  /* the log thread */
    pthread_cond_t keep;  /* the keeper */
    pthread_cond_t moved; /* log_drain(), and who waits for the token */
    struct batch queue;
    uint64_t queued_bytes; /* appended, with all that is in the queue */
    bool busy, asleep, stop, stuck;
    int syncing; /* the keeper's sync: the writer's fd of then, or -1. If the
                    writer leaves it meanwhile, the keeper closes it */
    unsigned draining;
    uint64_t sync_target;
    struct list segments; /* oldest first */
    struct list spares;
    struct list holds;
    uint64_t spare_number;
    uint64_t release_below;
    uint64_t keep_bytes, spare_bytes;
    uint64_t durable_bytes;
    uint64_t unsynced_us;   /* since when the oldest of what is not durable is
                               written; 0: all is durable */
    struct log_stats stats; /* counters: the rest is filled in when asked */
    struct histogram *sync_us, *commit_us;

    /* the token's */
    struct writer w;
    struct batch batch;

    pthread_mutex_t mark_lock;
    struct mark mark;

    atomic_int mode;
    atomic_bool failed;
    atomic_int no_space; /* enum err: why there is no further segment */
    _Atomic uint64_t first, written, durable, acked;
    _Atomic uint64_t written_bytes, acked_bytes; /* since open */
    _Atomic uint64_t taken_bytes; /* as much of what was queued has a group */
    _Atomic uint64_t room, spare_room;
    _Atomic uint64_t lately_us; /* a sync takes, smoothed */

    /* the keeper's */
    uint64_t next_sync_ms, next_mark_ms, next_trim_ms;
    bool keeps; /* what it could not remove, and has said so */

    bool started;
    pthread_t log_thread, keeper_thread;
};

/* --- log.c --------------------------------------------------------------- */
void batch_release(struct batch *b);
static inline bool batch_empty(const struct batch *b)
{
    return b->done == b->n;
}

/* The queue becomes the group that is written next, if there is none. With
 * lock and token. */
void log_take_queue(struct log *l);

/* A failed write or sync (invariant 8). Returns only if a test says so. */
void log_fail(struct log *l, int errnum, const char *what);

/* Take over new values and compute acked. Never goes back (invariant 3). */
void log_publish(struct log *l, uint64_t written, uint64_t written_bytes,
                 uint64_t durable, uint64_t durable_bytes);
/* As log_publish(), after a sync that began at `begin_us` while more was being
 * written. */
void log_publish_synced(struct log *l, uint64_t written, uint64_t bytes,
                        uint64_t begin_us);

void log_cond_init(pthread_cond_t *c);

/* Wait on `c`, which is log_cond_init()'s, for at most `ms`. */
void log_cond_wait_ms(pthread_cond_t *c, pthread_mutex_t *m, uint64_t ms);

/* Note what is durable in the watermark. A failure is said, not final. */
/* mark_lock is taken before lock, never the other way round. */
void log_mark(struct log *l, uint64_t newest);
void log_mark_locked(struct log *l, uint64_t newest);

/* --- writer.c ------------------------------------------------------------ */
void writer_init(struct log *l, int fd, const struct seg_head *head,
                 uint64_t off, uint64_t next);
void writer_release(struct writer *w);
void *writer_main(void *log);

/* With the token: write and sync what is in l->batch. */
void writer_run(struct log *l);

/* Take the token, waiting for it; give it back. */
void token_take(struct log *l);
void token_give(struct log *l);

/* --- keeper.c ------------------------------------------------------------ */
void *keeper_main(void *log);
bool keeper_has_surplus(const struct log *l); /* of spares; with lock */
void keeper_turn(struct log *l);         /* unthreaded mode: its work, once */
void keeper_count_spares(struct log *l); /* with lock */
bool keeper_can_drop(struct log *l);     /* with lock */

/* How large the segment after one of `size` bytes is. A young log starts small,
 * so that a server with little to do does not write 128 MiB of zeroes. */
uint64_t keeper_next_size(const struct log *l, uint64_t size);

/* A segment of which this much is used has its successor filled. */
static inline uint64_t keeper_fill_at(uint64_t size)
{
    return size / 4;
}

/* --- cut.c --------------------------------------------------------------- */

/* Make the log in `d` end before `from`: segments behind go, bytes from the
 * place of `from` on are cleared and synced. *mark gets the intent first, so
 * that log_open() finishes what a crash interrupts. `off` (may be NULL) is
 * where the newest segment, mark->newest, ends now. */
MUST_USE enum err cut_files(const struct log_dir *d, uint64_t from,
                            struct mark *mark, uint64_t *off, struct errbuf *e);

#endif
