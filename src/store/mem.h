/* The store in memory: the same overlay and the same rules over a log and a
 * base that are arrays. For tests and the simulation: everything happens when
 * it is told to, and the same calls give the same results.
 *
 * A struct mem_disk is what survives a crash; a store is opened on it again and
 * again:
 *
 *     disk = mem_disk_new(&knobs);
 *     store_open_mem(&s, disk, &options, e);   then store_load_step() as usual
 *     ... mem_crash(&s, 0) ...                 the unsynced suffix is gone
 *     store_open_mem(&s, disk, &options, e);
 *
 * Nothing is asynchronous: what a thread would do happens inside store_commit()
 * (the log, unless manual_sync) and store_poll() (everything else).
 */
#ifndef STORE_MEM_H
#define STORE_MEM_H

#include "store/store.h"

struct mem_disk;

/* May be changed at any time (mem_knobs()). A zeroed struct is a disk that is
 * perfect and immediate. */
struct mem_knobs {
    uint64_t seed;
    bool manual_sync;  /* entries are durable when mem_sync() says so */
    bool manual_apply; /* generations are applied by mem_apply() */
    bool manual_flush; /* the base survives a crash as of mem_flush() */
    /* Or, family by family, as of any generation since: as if that had gone to
     * the base in a table (rocks_file.c). */
    bool tables;
    /* Of 1,000 base reads with a gather, so many need a fetch. */
    unsigned pending_per_1000;
    /* A fetch takes 1 to this many polls more than it must. */
    unsigned fetch_polls_max;
    /* The next so many base reads (fetches too) end in ERR_IO, ERR_CORRUPT. */
    unsigned fail_reads, damage_reads;
    /* So many applies fail, and are tried again at the next poll. */
    unsigned fail_applies;
    enum store_room room;
};

struct mem_disk *mem_disk_new(const struct mem_knobs *knobs);
/* After all stores on it are gone. */
void mem_disk_free(struct mem_disk **d);
struct mem_knobs *mem_knobs(struct mem_disk *d);

/* One store at a time, or ERR_BUSY. `dir` and the sizes of log, cache and
 * buffers are not used. */
MUST_USE enum err store_open_mem(struct store **out, struct mem_disk *d,
                                 const struct store_options *o,
                                 struct errbuf *e);

/* Open and load in one go. */
MUST_USE enum err store_start_mem(struct store **out, struct mem_disk *d,
                                  const struct store_options *o, struct now now,
                                  struct errbuf *e);

/* Everything up to `index` is durable (UINT64_MAX: all that was committed). */
void mem_sync(struct mem_disk *d, uint64_t index);
/* So many of the sealed, durable generations may be applied, oldest first. */
void mem_apply(struct mem_disk *d, unsigned generations);
void mem_flush(struct mem_disk *d);

/* Power off: the store is gone, and of the entries that were not durable all
 * but the first `keep_unsynced`; the base is as it was when it was flushed, or
 * see mem_knobs.tables. */
void mem_crash(struct store **s, uint64_t keep_unsynced);

/* Flip one bit of the stored value of `key` in the base. False: no such row. */
bool mem_damage(struct mem_disk *d, enum family f, struct slice key,
                size_t bit);

/* A hash over all rows of the base and over the log: two runs of one seed must
 * agree. */
uint64_t mem_hash(const struct mem_disk *d);

#endif
