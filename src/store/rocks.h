/* The real backend: the log of src/log/ and a base in RocksDB.
 *
 *     <dir>/belfry    whose directory this is, and in which format
 *     <dir>/lock      one process at a time
 *     <dir>/ballast   space for a start on a full disk
 *     <dir>/log/      the log
 *     <dir>/watermark how far that had come; see rocks_witness.c
 *     <dir>/base/     RocksDB, one column family per family; not there until
 *                     the first generation is applied
 *
 * Threads:
 *     loop      everything, unless it says otherwise
 *     applier   writes sealed, durable generations to the base, in order;
 *               flushes; watches the free disk space
 *     reader    runs fetches
 *     backup    while one is made
 *
 * Facts on which this rests were measured on 7.8.3; those that one would not
 * expect:
 *  1. atomic_flush with rocksdb_flush_cf() flushes one family only. A manual
 *     compaction without bounds flushes all together first, whatever family it
 *     is of, and then waits for those that are under way, unless its family has
 *     no tables.
 *  2. The persisted read tier on meta/applied gives what is flushed, not what
 *     is in memory.
 *  3. RocksDB's own info log aborts the process on a full disk; at the level
 *     FATAL it is silent.
 *  4. With a finite max_open_files, a read from the block cache alone can
 *     succeed with an empty value.
 *  5. Column family handles must be destroyed before the database is closed.
 *  6. Iterators that mind range deletions lose errors; see rocks_ranges.c.
 *  7. A flush of all families that another thread begins beside a batch leaves
 *     out those that the batch reaches later, although meta/applied, the last
 *     row of the batch, says that all of it is there. RocksDB does that itself
 *     after an error of its own; a checkpoint would, too. So a batch says from
 *     where on it is not sure (rec_applied), and only the applier, who flushes
 *     between two batches, takes that back.
 */
#ifndef STORE_ROCKS_H
#define STORE_ROCKS_H

#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>

#include "log/log.h"
#include "log/watermark.h"
#include "store/backend.h"
#include "store/gather.h"
#include "store/records.h"
#include "store/rocks_manifest.h"
#include "util/buf.h"
#include "util/list.h"

#define ROCKS_PATH_MAX 3584

/* Written to the log since the last flush of the base, before the next one. */
#define ROCKS_FLUSH_BYTES ((uint64_t)256 << 20)
#define ROCKS_FLUSH_SHARE 16 /* of the disk, at most */
#define ROCKS_RETRY_MS 250
#define ROCKS_BALLAST_BYTES (2 << 20)

/* A range deletion of whole buckets of `done` or `logs`, by entry `index`. */
struct dropped {
    enum family family;
    uint64_t index;
    unsigned char from[4], to[4];
};

/* The tables in which the applier files full generations: rocks_file.c. */
struct filing {
    uint64_t generation;  /* the last one that was begun */
    bool filed[FAMILIES]; /* of that: its rows are in the base */
    /* Rows may be in a memtable, until the base is flushed up to there. */
    uint64_t loose_until[FAMILIES];
};

/* The database itself; belfry-check and backup open it alone. */
struct rocks_base {
    rocksdb_t *db;
    rocksdb_column_family_handle_t *cfs[FAMILIES];
    rocksdb_options_t *options, *order_options, *past_options;
    rocksdb_block_based_table_options_t *table;
    rocksdb_cache_t *cache;
    rocksdb_readoptions_t *read_memory, *read_disk, *read_persisted;
    rocksdb_readoptions_t *read_all; /* what range deletions hide, too */
    _Atomic bool ranged[FAMILIES];   /* rocks_ranges.c */
};

struct rocks_base_options {
    uint64_t block_cache_bytes, write_buffer_bytes;
    bool read_only;
    /* Where the tables are, if not beside the MANIFEST; for reading only. */
    const char *tables;
};

struct rocks {
    struct backend backend;
    struct store_options o; /* as at the start, log_sync as it is */
    char dir[ROCKS_PATH_MAX];
    int lock_fd;
    struct rocks_base base; /* if has_base; see rocks_create.c */
    _Atomic bool has_base;
    struct log *log;
    struct log_iter *replay;
    uint64_t replay_last;
    struct log_found found;
    struct manifest_cut cut; /* at this start */

    /* Handed over and not applied, oldest first; the loop's. */
    struct list waiting;
    size_t applying_len;

    pthread_mutex_t lock;
    pthread_cond_t apply_cond, read_cond, flush_cond;
    /* Under the lock: */
    struct list to_apply, applied; /* struct generation.apply_node */
    struct list to_fetch, fetched; /* struct fetch.node */
    bool stop_apply, stop_read;
    bool flush_now;                /* asked by close */
    struct flush_wish *flush_wish; /* of another thread, or NULL */
    bool abandon; /* leave what is to be applied to the next start */

    _Atomic uint64_t applied_index, flushed_index;
    _Atomic uint64_t disk_free, disk_bytes, disk_reserve;
    /* Something stands in `applied` or `fetched`: a poll that finds nothing
     * takes no lock. */
    _Atomic bool any_applied, any_fetched;
    uint64_t released; /* of the log; the loop's */
    /* enum err: how the last try went. */
    _Atomic int apply_fault, flush_fault;
    _Atomic bool no_room;        /* for the base on the disk */
    _Atomic uint64_t inside_ms;  /* since when the applier is in RocksDB */
    uint64_t looked_ms, hung_ms; /* the loop's; see watch_applier() */
    pthread_t applier, reader;
    bool applier_runs, reader_runs;
    /* The applier's: */
    uint64_t unflushed_bytes;
    rocksdb_writebatch_t *batch;
    bool batch_used; /* it has memory */
    struct filing filing;
    uint64_t ranges_until[FAMILIES]; /* the last one came with this index */
    _Atomic uint64_t filed_changes;
    bool ballast;              /* it is there */
    uint64_t refused_since_ms; /* by a base that has room; 0: not */
    struct dropped *dropped;   /* whole buckets, until their files can go */
    size_t dropped_len, dropped_cap;

    struct mark witness; /* as it was written last */
    uint64_t next_witness_ms;

    struct rocks_backup *backup;   /* under way, or NULL */
    _Atomic uint64_t backup_bytes; /* of the log, copied by the last one */
};

static inline struct rocks *rocks_of(const struct backend *b)
{
    return CONTAINER_OF(b, struct rocks, backend);
}

/* The base, or NULL while there is none and the overlay has every row. */
static inline const struct rocks_base *rocks_base_of(const struct rocks *r)
{
    return atomic_load_explicit(&r->has_base, memory_order_acquire) ? &r->base
                                                                    : NULL;
}

/* --- rocks_open.c: the database ------------------------------------------ */

/* In each thread that calls RocksDB much: it would count for a profile that
 * nobody reads, which was a tenth of what the applier did. */
void rocks_thread_begin(void);

MUST_USE enum err rocks_base_open(struct rocks_base *b, const char *path,
                                  const struct rocks_base_options *o,
                                  struct errbuf *e);
void rocks_base_close(struct rocks_base *b);
const rocksdb_options_t *rocks_base_options_of(const struct rocks_base *b,
                                               enum family f);
/* meta/applied, as the disk has it (fact 2); zeroes if there is none. */
MUST_USE enum err rocks_base_applied(const struct rocks_base *b,
                                     struct rec_applied *applied,
                                     struct errbuf *e);
#define ROCKS_APPLIED_MAX 24 /* bytes of it */
/* The sum of a property of RocksDB over all families. */
uint64_t rocks_base_property(const struct rocks_base *b, const char *name);
/* Has RocksDB met an error of its own since it was opened? */
bool rocks_base_failed(const struct rocks_base *b);
/* Flush what is in memtables. [applier], if there is one: fact 7. */
MUST_USE enum err rocks_base_flush(const struct rocks_base *b,
                                   struct errbuf *e);
/* With nothing in memtables: have the disk say this. */
MUST_USE enum err rocks_base_vouch(const struct rocks_base *b,
                                   const struct rec_applied *applied,
                                   struct errbuf *e);
/* Open <dir>/base for r, from here on seen by all threads. */
MUST_USE enum err rocks_base_begin(struct rocks *r, struct errbuf *e);
/* rocks_tables.c: opening the base in `path` failed with *e: put in front which
 * of its tables are damaged, or that none is. */
void rocks_blame_tables(const char *path, struct errbuf *e);
bool rocks_is_table(const char *name);

/* rocks_edit.c: the next table that a record of a MANIFEST adds; false: that
 * was all. Moves on in *record. */
bool rocks_edit_next(struct slice *record, uint64_t *table);
/* Take a number off the front; put one behind. */
bool rocks_varint(struct slice *from, uint64_t *out);
void rocks_add_varint(struct buf *to, uint64_t v);
/* Append the record with other sequence numbers: each row of a table has the
 * one that of() names, unless that is 0; the last of all is at least `last`. */
struct edit_sequences {
    uint64_t (*of)(void *ud, uint64_t table);
    void *ud;
    uint64_t last;
};
MUST_USE bool rocks_edit_number(struct slice record,
                                const struct edit_sequences *s,
                                struct buf *out);

/* Turn RocksDB's message, which is freed, into an error. */
enum err rocks_err(struct errbuf *e, char *message, const char *what);

/* Create or check <dir>/belfry, and lock the directory. */
MUST_USE enum err rocks_claim(const char *dir, int *lock_fd, struct errbuf *e);
MUST_USE enum err rocks_lock(const char *dir, int *lock_fd, struct errbuf *e);
/* ERR_CORRUPT: <dir>/belfry can be read and names a format or an owner that we
 * do not know. */
MUST_USE enum err rocks_may_salvage(const char *dir, struct errbuf *e);
/* Write <dir>/belfry. */
MUST_USE enum err rocks_mark(const char *dir, struct errbuf *e);
/* As <other>/belfry says. */
MUST_USE enum err rocks_mark_like(const char *dir, const char *other,
                                  struct errbuf *e);
/* Before rows of the newest format are written into data of an older one. */
MUST_USE enum err rocks_raise(const char *dir, struct errbuf *e);

/* Space kept aside so that a start on a full disk succeeds. */
void rocks_ballast_drop(const char *dir);
MUST_USE bool rocks_ballast_take(const char *dir);

/* --- rocks_repair.c: without its MANIFEST ----------------------------------
 */

/* Gather the tables of a base that cannot be opened. */
MUST_USE enum err rocks_repair(const char *base, struct errbuf *e);
/* One that was cut short is to be done again. */
bool rocks_repair_begun(const char *base);

/* --- rocks_create.c: a new database --------------------------------------- */

/* Is there a <dir>/base? If not, prepare() says whether there could be one,
 * and create() makes it. */
MUST_USE enum err rocks_base_find(const char *dir, bool *found,
                                  struct errbuf *e);
/* Delete the files in a folder. */
MUST_USE enum err rocks_empty(const char *path, struct errbuf *e);
/* Delete a copy of the data that was not finished. */
void rocks_discard(const char *dir);
MUST_USE enum err rocks_base_prepare(const char *dir, struct errbuf *e);
MUST_USE enum err rocks_base_create(const char *dir,
                                    const struct rocks_base_options *o,
                                    struct errbuf *e);

/* --- rocks_read.c -------------------------------------------------------- */

enum err rocks_read(struct backend *b, enum base_tier tier, enum family f,
                    struct slice key, struct arena *to, struct slice *value,
                    struct errbuf *e);
struct base_cursor *rocks_walk(struct backend *b, enum base_tier tier,
                               enum family f, struct slice from,
                               struct slice to, bool back);
bool rocks_row(struct base_cursor *c, struct slice *key, struct slice *value);
void rocks_step(struct base_cursor *c);
enum err rocks_finish(struct base_cursor **c, struct errbuf *e);
void rocks_fetch(struct backend *b, struct fetch *f);
struct fetch *rocks_fetched(struct backend *b);
enum err rocks_read_many(struct backend *b, enum family f, size_t n,
                         const struct slice *keys, struct arena *to,
                         struct slice *values, struct errbuf *e);
void *rocks_reader(void *arg);

/* --- rocks_ranges.c ------------------------------------------------------- */

/* Does a family have range deletions? At opening; before a generation with some
 * is written; and whether they are gone. The latter two: [applier] */
void rocks_ranges_find(struct rocks_base *b);
void rocks_ranges_come(struct rocks *r, const struct generation *g);
void rocks_ranges_look(struct rocks *r);
/* For a walk over a family from the disk; and a walk over all that it has, to
 * find damage that the first one may not have told of. */
const rocksdb_readoptions_t *rocks_ranges_options(const struct rocks_base *b,
                                                  enum family f);
MUST_USE enum err rocks_ranges_check(const struct rocks_base *b, enum family f,
                                     struct errbuf *e);

/* --- rocks_apply.c ------------------------------------------------------- */

void rocks_apply(struct backend *b, struct generation *g);
size_t rocks_applying(const struct backend *b);
/* Hand durable generations to the applier, take applied ones back. */
void rocks_apply_poll(struct rocks *r);
/* [loop] Notice that the applier hangs in RocksDB. */
void rocks_watch_applier(struct rocks *r);
void *rocks_applier(void *arg);
/* [backup] Have the applier flush all families, and wait for that. */
MUST_USE enum err rocks_flush_wait(struct rocks *r, struct errbuf *e);
/* [any] How much of the disk is free? */
void rocks_look_at_space(struct rocks *r);
/* [any] ERR_NOSPACE: a flush of the base would meet a full disk. */
MUST_USE enum err rocks_check_room(struct rocks *r, uint64_t more,
                                   struct errbuf *e);

/* --- rocks_file.c --------------------------------------------------------- */

/* [applier] Put the families of a full generation that have many rows into
 * tables, and these into the base. Has this been done with family f? */
MUST_USE enum err rocks_file_rows(struct rocks *r, const struct generation *g,
                                  struct errbuf *e);
bool rocks_file_has(const struct rocks *r, enum family f);
/* [applier] Would there be more, were the base flushed first? */
bool rocks_file_waits(const struct rocks *r, const struct generation *g);
/* [applier] The batch with the rest is written; the base is flushed up to
 * `index`. */
void rocks_file_written(struct rocks *r, const struct generation *g);
void rocks_file_flushed(struct rocks *r, uint64_t index);
/* At the start: delete what a crash left beside the base. */
MUST_USE enum err rocks_file_clear(const char *dir, struct errbuf *e);
/* rocks_stamp.c: write into a table, which nobody uses yet, whose family it is,
 * and sync it. */
MUST_USE enum err rocks_stamp(const char *path, uint32_t id, const char *name,
                              struct errbuf *e);

/* --- rocks_witness.c ----------------------------------------------------- */

/* What the witness says: zeroes if there is none. */
MUST_USE enum err rocks_witness_read(const char *dir, struct mark *mark,
                                     struct errbuf *e);
/* ERR_CORRUPT if the log, which ends at `log_last`, had come further. */
MUST_USE enum err rocks_witness_check(const char *dir, const struct mark *mark,
                                      uint64_t log_last, struct errbuf *e);
/* [applier] Write it, if it is time, or `now`. */
void rocks_witness_turn(struct rocks *r, bool now);
/* The log is to be taken as it is. */
MUST_USE enum err rocks_witness_forget(const char *dir, struct errbuf *e);

/* --- rocks_backup.c ------------------------------------------------------ */

enum err rocks_backup(struct backend *b, const char *path, store_backup_fn done,
                      void *ud, struct errbuf *e);
void rocks_backup_poll(struct rocks *r);
/* Wait for the one that is under way. */
void rocks_backup_end(struct rocks *r);

/* --- offline.c, look.c: no server ----------------------------------------- */

/* Of `rocks` only the directory, its lock and the base, which is read alone. No
 * base: nothing was applied, the log has everything. */
struct offline {
    struct rocks rocks;
    struct rec_applied applied;
    uint64_t last; /* look.c */
};

/* A number as RocksDB's files hold it. */
static inline uint64_t rocks_little(const char *p, size_t n)
{
    uint64_t v = 0;
    while (n-- > 0)
        v = v << 8 | (unsigned char)p[n];
    return v;
}

static inline void rocks_add_little(struct buf *to, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_add_char(to, (char)(v >> (8 * i)));
}

#endif
