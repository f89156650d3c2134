/* The write-ahead log: what Belfry promises is what stands in here.
 *
 * The loop appends one entry a tick; the log thread writes what has gathered,
 * syncs it once (group commit) and publishes how far the log is durable. The
 * rest of the server only ever compares indexes.
 *
 *   log/                          one directory, nothing else in it
 *     00000000000000000001.seg    records 1..., oldest first
 *     00000000000000018211.seg    the newest, the only one that is written
 *     00000000000000000003.spare  written with zeroes, ready to become next
 *     watermark                   how far we know we had come (watermark.h)
 *     lock                        one process at a time
 *
 *   a segment:   | head | head again | record | record | ... | zeroes or
 *                0      4096         8192                      stale bytes |
 *
 *   a record, padded to 8 bytes:
 *     0        8       12      16      24      32        40
 *     | sum    | mark  | len   | index | epoch | durable | entry ... | pad |
 *     sum and mark are salted checksums of all and of the head (record.h); all
 *     numbers are little-endian.
 *
 * The happy path:
 *   1. log_append() gives the entry its index and queues the borrowed slice.
 *   2. log_submit() wakes the log thread, or log_sync_inline() does its work.
 *   3. The writer puts all queued records into one pwritev(2) behind the last
 *      one, one fdatasync(2), publishes written, durable and acked.
 *   4. on_progress() wakes the loop, which lets replies up to log_acked() go
 *      and frees the entries up to log_written().
 *
 * Invariants (numbers are cited in the code and in tests/unit/log/):
 *  1. Indexes are dense: a segment named F holds F, F+1, ... and the next
 *     segment is named by the index that follows.
 *  2. Epochs never decrease along the log.
 *  3. durable <= acked <= written <= last. None of them ever goes back, except
 *     by log_truncate_suffix().
 *  4. Each record names the durable index known when it was written. A record
 *     that cannot be read at or below an index that a later record, a later
 *     segment or the watermark names as durable is damage: log_open() refuses
 *     and names file, offset and index. Any other unreadable record begins the
 *     tail, which was never promised to anybody: it is dropped and counted.
 *  5. A segment is synced before a record goes into the next one, and the next
 *     one's head, size and name are synced before its first record is written.
 *     So a tail lies in the newest segment only.
 *  6. Bytes of an earlier life of a recycled segment never verify, because each
 *     life has its own random salt. A payload cannot pose as a record either.
 *  7. What log_open() kept behind the last named durable index may exist in
 *     the page cache alone (a failed sync leaves clean pages behind): it is
 *     written again in place and synced before log_open() returns.
 *  8. A failed write or sync is final: we say why and _exit(EXIT_LOG_FAILED).
 *     Trying again would report pages as durable that the kernel threw away.
 *     A failed *allocation* is not: log_next_ready() turns false, what is left
 *     (log_space_left()) is still used, and allocation is tried again.
 *  9. Records below log_release() may go; records at or above it never go.
 *
 * Inline or hand-over: at one connection the hand-over to the thread costs two
 * context switches; docs/log.md has the figures of benchmarks/micro/log_bench.
 *
 * Threads: "loop" below means the one thread that appends. Functions without a
 * remark belong to it; those marked [any] may be called from anywhere.
 */
#ifndef LOG_LOG_H
#define LOG_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"
#include "util/list.h"
#include "util/slice.h"

#define LOG_ENTRY_MAX ((uint64_t)17 << 20) /* a 16 MiB EXEC and its frame */
#define LOG_SEGMENT_BYTES ((uint64_t)64 << 20)
#define LOG_SEGMENT_BYTES_MIN ((uint64_t)16 << 10)

/* Exit code of a server whose log could not be written or synced. */
#define EXIT_LOG_FAILED 74

enum log_sync_mode {
    LOG_ALWAYS,   /* acked = durable */
    LOG_EVERYSEC, /* acked = written; synced in the background each second */
    LOG_NO,       /* acked = written; synced on request and between segments */
};

struct log;
struct log_iter;
struct log_io; /* file operations that tests can replace: log/io.h */

struct log_options {
    const char *dir;        /* created if missing */
    uint64_t segment_bytes; /* 0: LOG_SEGMENT_BYTES */
    uint64_t keep_bytes;    /* what holds may keep in all; 0: 1 GiB */
    uint64_t first_index;   /* of a log that does not exist yet; 0: 1 */
    uint64_t verify_from;   /* open verifies records from here on; those below
                               are verified when read. The newest segment
                               always is. 0: everything */
    bool must_exist;        /* ERR_CORRUPT rather than a new log */
    enum log_sync_mode sync;
    bool threaded; /* false: log_submit() does the work */
    bool priority; /* the log thread runs before others, if it may */
    void (*on_progress)(void *ud); /* acked, written or durable moved. From a
                                      log thread: may only wake the loop */
    void (*on_fatal)(const char *why, void *ud); /* NULL: say and _exit */
    void *ud;
    const struct log_io *io; /* NULL: the real ones */
};

/* What log_open() found. */
struct log_found {
    uint64_t first;          /* lowest index kept */
    uint64_t last;           /* highest index; first - 1 if empty */
    uint64_t epoch;          /* of the last record, or 0 */
    uint64_t tail_records;   /* dropped from the tail (a torn one counts) */
    uint64_t tail_bytes;     /* as far as they can be told */
    uint64_t rewritten;      /* records written again, see invariant 7 */
    bool created;            /* there was no log */
    bool watermark_unusable; /* missing or damaged: written anew */
};

/* Errors:
 *   ERR_BUSY     another process has the directory.
 *   ERR_CORRUPT  damage, or a log that was deleted or rolled back; *e names
 *                file, offset and index.
 *   ERR_IO       a file operation failed. */
MUST_USE enum err log_open(struct log **out, const struct log_options *o,
                           struct log_found *found, struct errbuf *e);

/* Stop the threads and write the watermark. Call log_drain() before it if the
 * entries that are still queued are to survive. Accepts a NULL log. */
void log_close(struct log **log);

/* Queue `entry` (at most LOG_ENTRY_MAX) and return its index. The bytes stay
 * the caller's and must not change until log_written() >= index. Nothing
 * happens before log_submit() or log_sync_inline(). */
uint64_t log_append(struct log *log, struct slice entry);

/* The epoch of later appends; never lower than the present one. */
void log_set_epoch(struct log *log, uint64_t epoch);
uint64_t log_epoch(const struct log *log);

/* Hand what is queued to the log thread. Cheap when it is awake. */
void log_submit(struct log *log);

/* As log_submit(), but if the log thread is idle and little is waiting, write
 * and sync right here and return true: then log_written() has reached
 * log_last(), so has log_acked() (but for a late sync of LOG_EVERYSEC), and
 * on_progress() is not called. */
bool log_sync_inline(struct log *log);

/* Ask for an fdatasync of everything appended so far, in every mode. */
void log_request_sync(struct log *log);

/* Block until everything appended is durable. For start, stop and tests.
 *
 * Errors:
 *   ERR_IO       the log has failed (only seen with an on_fatal hook).
 *   ERR_NOSPACE  no segment could be allocated for what waits. */
MUST_USE enum err log_drain(struct log *log, struct errbuf *e);
/* Block until everything up to `index` is, which somebody else asks for. Errors
 * as above. [any] */
MUST_USE enum err log_wait(struct log *log, uint64_t index, struct errbuf *e);

void log_set_sync(struct log *log, enum log_sync_mode mode);
void log_set_keep_bytes(struct log *log, uint64_t keep_bytes);
/* What spare segments of a busy time may take; keep_bytes bounds it. */
void log_set_spare_bytes(struct log *log, uint64_t bytes);

/* Where the log stands; see invariant 3. [any], log_last() excepted. */
uint64_t log_first(struct log *log);
uint64_t log_last(const struct log *log);
uint64_t log_written(const struct log *log); /* write(2) has returned */
uint64_t log_durable(const struct log *log); /* fdatasync(2) has returned */
uint64_t log_acked(const struct log *log);   /* replies may go up to here */

/* Bytes appended that are not of the group which is being written and synced.
 * The loop stops reading commands while this is above its bound: unbounded, the
 * p99 of a commit grows to 30-150 ms. Not to count the group lets the loop fill
 * the next one while the disk has this one. */
uint64_t log_pending_bytes(const struct log *log);

/* False once no further segment could be allocated (full disk) and until one
 * was. Refuse new work; finishing work may go on in log_space_left() bytes. An
 * append beyond that is not lost: it waits, unacked, until there is room. */
bool log_next_ready(const struct log *log); /* [any] */
/* Why not: ERR_NOSPACE, ERR_IO; or ERR_OK. */
enum err log_next_fault(const struct log *log); /* [any] */
uint64_t log_space_left(const struct log *log);

struct log_stats {
    uint64_t records, bytes; /* written since open */
    uint64_t writes, syncs;  /* records / syncs = commits per fsync */
    uint64_t inline_syncs;
    uint64_t segments, segment_bytes; /* present */
    uint64_t switches, recycled;
    bool priority; /* the log thread does run before others */
    struct log_times {
        uint64_t p50, p99, max;
    } sync_us,     /* of each fdatasync(2) */
        commit_us; /* of each entry, from log_append() until it was acked */
};
void log_stats(struct log *log, struct log_stats *out); /* [any] */
void log_forget_times(struct log *log);                 /* [any] */

/* --- retention ----------------------------------------------------------
 * log_release() says what the store no longer needs. Feed, replicas and backup
 * keep a hold at the lowest index they need; holds are honoured as long as all
 * segments together stay under keep_bytes. The newest segment always stays. */
struct log_hold {
    struct list node; /* the log's */
    uint64_t index;   /* read only */
};
void log_release(struct log *log, uint64_t below_index);
void log_hold_begin(struct log *log, struct log_hold *hold,
                    uint64_t index); /* [any] */
void log_hold_move(struct log *log, struct log_hold *hold,
                   uint64_t index);                        /* [any] */
void log_hold_end(struct log *log, struct log_hold *hold); /* [any] */

/* Drop `from` and everything behind it, for a replica whose tail turned out
 * never to have been committed. Nothing may be queued, no iterator beyond
 * `from` be open. Survives a crash half way; after an error the log must be
 * closed and opened again. */
MUST_USE enum err log_truncate_suffix(struct log *log, uint64_t from,
                                      struct errbuf *e);

/* --- reading --------------------------------------------------------------
 * An iterator belongs to one thread, which need not be the loop; it reads while
 * the log is written. A segment that goes away under it ends in ERR_NOTFOUND,
 * never in wrong bytes. */
struct log_record {
    uint64_t index, epoch, durable;
    struct slice entry; /* borrowed until the next call on the iterator */
};

/* `from` may be anything from log_first() to one past the last. */
MUST_USE enum err log_iter_open(struct log_iter **out, struct log *log,
                                uint64_t from, struct errbuf *e);

/* The next record, if its index is <= upto and it has been written.
 *
 * Errors:
 *   ERR_EMPTY     there is none yet; call again later.
 *   ERR_NOTFOUND  it is no longer kept.
 *   ERR_CORRUPT   damage; *e names file, offset and index. */
MUST_USE enum err log_iter_next(struct log_iter *it, uint64_t upto,
                                struct log_record *rec, struct errbuf *e);
void log_iter_close(struct log_iter **it);

/* --- offline, for belfry-check ------------------------------------------ */

struct log_check {
    uint64_t segments, records;
    uint64_t first, last;       /* readable without a gap */
    uint64_t damaged_index;     /* 0: no damage */
    uint64_t tail_records;      /* would be dropped by log_open() */
    uint64_t lost_records;      /* readable, but behind the damage */
    uint64_t lost_last;         /* highest of those, or named by anybody */
    uint64_t watermark_durable; /* 0: none */
};

/* Read everything in `dir`, change nothing. Calls `each` (may be NULL) for
 * every good record; it may return an error to stop. Returns what log_open()
 * would: ERR_OK or ERR_CORRUPT; *out is filled in both cases. */
MUST_USE enum err log_verify(const char *dir, struct log_check *out,
                             enum err (*each)(const struct log_record *rec,
                                              void *ud, struct errbuf *e),
                             void *ud, struct errbuf *e);

/* Call `each` for the records from `from` on that can be read without a gap,
 * whatever is wrong with those before. *last is the last of them, from - 1 if
 * there is none. Changes nothing. */
MUST_USE enum err log_rescue(const char *dir, uint64_t from, uint64_t *last,
                             enum err (*each)(const struct log_record *rec,
                                              void *ud, struct errbuf *e),
                             void *ud, struct errbuf *e);

/* Keep the good prefix so that log_open() succeeds. What stood behind the
 * damage is kept aside as *.lost files, and *out says what that was. */
MUST_USE enum err log_salvage(const char *dir, struct log_check *out,
                              struct errbuf *e);

#endif
