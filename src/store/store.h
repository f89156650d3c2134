/* State: rows in families, changed by entries, durable by the log.
 *
 *      engine ---- put/del ----> entry --- store_commit() ---> log (fdatasync)
 *         ^                        |                             |
 *         |                        v                             v durable
 *    store_get/scan <--merge-- overlay (generations) --apply--> base (RocksDB)
 *
 * The overlay holds every change since the last applied generation, in sorted
 * maps; gets and scans merge it with the base. Changes are visible to reads at
 * once, also within the tick that makes them. Two implementations stand behind
 * this header: rocks.c (the real one) and mem.c (the simulation's disk).
 *
 * Threads: everything here is called from the loop. on_wake (see the options)
 * may be called from other threads and must do no more than wake the loop,
 * which then calls store_poll().
 *
 * Reading never waits for a disk when a gather is given:
 *
 *     rc = store_get(s, g, FAMILY_JOBS, key, &value);
 *     if (rc == ERR_PENDING) return rc;   -- nothing has been changed yet
 *
 * and whoever owns the gather then calls store_fetch(); when its callback runs
 * the actor starts over, with the same gather, and finds its rows. An actor
 * gathers everything before it changes anything, and finds again what it has
 * gathered: a row, and a range that it has seen to its end, stay with the
 * gather. With a NULL gather the read
 * blocks and is counted (store_stats.blocking_reads): for start-up and for the
 * rare row that is missed while acting.
 *
 * Invariants:
 *  1. A reply may leave when store_acked() >= the index it was stamped with.
 *  2. A generation is applied as one batch, only when all of it is durable.
 *  3. A put marked fresh has no older row anywhere. Put after delete is never
 *     fresh.
 *  4. No stored value is empty.
 *  5. Slices returned by reads are valid until the next change, commit, poll or
 *     store_forget_reads(), rows found through a gather until gather_release().
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/clock.h"
#include "util/err.h"
#include "util/slice.h"

enum family {
#define FAMILY(NAME, number, name, what) FAMILY_##NAME = number,
#include "store/families.def"
#undef FAMILY
    FAMILIES
};

/* Exit code of a server whose base refuses writes for no reason that waiting
 * would cure. A start replays the log. */
#define EXIT_BASE_STUCK 75

struct store;
struct gather;

/* --- changes ------------------------------------------------------------- */

/* Room for a value of `len` bytes (> 0) under `key`, to be filled at once. */
MUST_USE char *store_put(struct store *s, enum family f, struct slice key,
                         size_t len, bool fresh);
void store_del(struct store *s, enum family f, struct slice key);
/* from <= key < to */
void store_del_range(struct store *s, enum family f, struct slice from,
                     struct slice to);
/* Room for `len` bytes of a compact event, which travels with the entry (see
 * engine/events.def). */
MUST_USE char *store_event(struct store *s, size_t len);

/* Bytes and changes gathered in the open entry. */
size_t store_entry_bytes(const struct store *s);

/* Close the open entry and hand it to the log, or, with `hold`, leave it to
 * store_submit(). Returns the index that covers everything so far, also when
 * there was nothing to commit. */
uint64_t store_commit(struct store *s, struct now now);

/* --- progress ------------------------------------------------------------ */

uint64_t store_last(const struct store *s);    /* last committed index */
uint64_t store_acked(const struct store *s);   /* replies up to here may go */
uint64_t store_durable(const struct store *s); /* fdatasync returned */
uint64_t store_pending_bytes(const struct store *s); /* not yet synced */

/* The base is slower than its load, though nothing is wrong: the overlay is
 * above half of its bound. Take in no commands meanwhile, so that clients are
 * slowed down before store_room() has to refuse them. */
bool store_base_is_behind(const struct store *s);

/* The base is at work and about to be behind: three eighths of the bound wait.
 * Whoever has time waits, so that nobody else is slowed down because of it. */
bool store_base_is_busy(const struct store *s);

/* Take in what the other threads finished: drops applied generations, runs
 * callbacks of fetches. Called when on_wake fired, and once a tick. */
void store_poll(struct store *s, struct now now);

/* When store_poll() wants to be called without a wake (sealing by age), as
 * monotonic ms; UINT64_MAX for never. */
uint64_t store_next_poll_ms(const struct store *s);

/* store_commit() hands its entry over (or holds it), or syncs it on the
 * caller's thread if the log thread is idle and little waits. This does it once
 * more, for what was handed over and is still waiting. */
void store_sync_if_idle(struct store *s);

/* With `hold`: does an entry wait for store_submit()? Whoever is going to sleep
 * must call it before. Sealing, a backup and closing see to it themselves. */
bool store_holds(const struct store *s);
void store_submit(struct store *s);

/* So many callers share the entries that follow: what is little grows with
 * them. */
void store_set_callers(struct store *s, uint32_t callers);

enum store_room {
    STORE_ROOM,        /* everything is welcome */
    STORE_FINISH_ONLY, /* disk nearly full: refuse new work (NOSPACE) */
    STORE_FULL,        /* refuse every write; timers and chores wait */
};
enum store_room store_room(const struct store *s);

/* --- reading ------------------------------------------------------------- */

/* ERR_OK, ERR_NOTFOUND, ERR_PENDING (only with a gather), ERR_CORRUPT. */
MUST_USE enum err store_get(struct store *s, struct gather *g, enum family f,
                            struct slice key, struct slice *value,
                            struct errbuf *e);

/* What reads without a gather returned is kept until something changes: for who
 * reads a lot and changes nothing. */
void store_forget_reads(struct store *s);

/* Called per row in key order; return false to stop. It must not change the
 * store. */
typedef bool (*store_row_fn)(struct slice key, struct slice value, void *ud);

/* The rows with from <= key < to (an empty `to`: to the end of the family), at
 * most `max` of them. Either all rows asked for are at hand and `fn` is called
 * for each, or ERR_PENDING and it is not called at all. */
MUST_USE enum err store_scan(struct store *s, struct gather *g, enum family f,
                             struct slice from, struct slice to, size_t max,
                             store_row_fn fn, void *ud, struct errbuf *e);

/* Backwards: the rows with from <= key < to, last first. */
MUST_USE enum err store_scan_back(struct store *s, struct gather *g,
                                  enum family f, struct slice from,
                                  struct slice to, size_t max, store_row_fn fn,
                                  void *ud, struct errbuf *e);

/* Every row of a family, `chunk` at a time, however long their keys are. Behind
 * each chunk comes `then`, which may change the store (NULL: nothing), and what
 * was read is forgotten. */
typedef void (*store_then_fn)(void *ud);
MUST_USE enum err store_walk(struct store *s, enum family f, size_t chunk,
                             store_row_fn fn, store_then_fn then, void *ud,
                             struct errbuf *e);

/* As store_get(), but a row that is neither in the overlay nor fetched is left
 * to the next fetch (ERR_PENDING), even if the base had it in memory: the
 * reader brings many rows for a fraction of what they cost the loop. */
MUST_USE enum err store_get_later(struct store *s, struct gather *g,
                                  enum family f, struct slice key,
                                  struct slice *value, struct errbuf *e);
/* As store_get(), for a row that may well not exist, which is the dearest to
 * look for. With a gather that defers (until it is released) it is left to the
 * reader. */
MUST_USE enum err store_find(struct store *s, struct gather *g, enum family f,
                             struct slice key, struct slice *value,
                             struct errbuf *e);
void gather_defer(struct gather *g);
/* Have the next fetch of the gather bring these rows, without a look whether
 * they are at hand: for what will be read soon. */
void store_wish_scan(struct store *s, struct gather *g, enum family f,
                     struct slice from, struct slice to, size_t max);

/* A gather holds rows that were fetched for one actor, and a view: while it is
 * held, no generation newer than its rows is dropped. Keep it short. */
struct gather *gather_new(struct store *s);
void gather_free(struct gather **g);   /* also cancels a fetch under way */
void gather_release(struct gather *g); /* forget rows and view; reusable */

/* Does a gather hold generations though none of its rows is on its way? At the
 * end of a tick none should: its actor has had its turn, and if it forgot to
 * release, no generation is dropped until it happens to run again. */
bool store_idle_pins(const struct store *s);

/* Bring in what reads with this gather missed; then call done(ud) from
 * store_poll(). */
typedef void (*store_fetch_fn)(void *ud);
void store_fetch(struct store *s, struct gather *g, store_fetch_fn done,
                 void *ud);

/* --- life ---------------------------------------------------------------- */

struct store_options {
    const char *dir;
    int log_sync; /* enum log_sync of log/log.h */
    uint64_t log_segment_bytes, log_max_bytes;
    bool log_priority;
    /* Entries too large for an inline sync wait for store_submit(). */
    bool hold;
    uint64_t generation_bytes, generation_age_ms, overlay_bytes_max;
    uint64_t block_cache_bytes, write_buffer_bytes;
    uint64_t disk_reserve_bytes;
    void (*on_wake)(void *ud); /* any thread */
    void *ud;
};

void store_options_default(struct store_options *o);

/* Open or create. Then call store_load_step() until *done: it replays a slice
 * of the log each time, so that the loop can answer LOADING meanwhile. */
MUST_USE enum err store_open(struct store **out, const struct store_options *o,
                             struct errbuf *e);
MUST_USE enum err store_load_step(struct store *s, struct now now, bool *done,
                                  struct errbuf *e);

/* Apply and flush everything, so that the next start replays nothing. */
void store_close(struct store **s);
/* Leave at once, as a crash would, but free the memory: for tests. */
void store_abandon(struct store **s);

/* This process's start number e (design-details section 8): grows with every
 * start, synced before loading ended. */
uint32_t store_start_number(const struct store *s);

/* A consistent copy while running; done(ud, ERR_OK or why) from store_poll().*/
typedef void (*store_backup_fn)(void *ud, enum err rc, const char *why);
MUST_USE enum err store_backup(struct store *s, const char *path,
                               store_backup_fn done, void *ud,
                               struct errbuf *e);

/* Take over what may change while running: log_sync, log_max_bytes,
 * generation_age_ms, overlay_bytes_max, disk_reserve_bytes. */
void store_configure(struct store *s, const struct store_options *o);

struct store_stats {
    uint64_t entries, changes, entry_bytes; /* committed */
    uint64_t syncs;                         /* fdatasyncs of the log */
    uint64_t inline_syncs; /* turns of the log on the committer's thread */
    uint64_t applied_index, flushed_index;
    uint64_t applied_changes;  /* net rows written to the base */
    uint64_t filed_changes;    /* of these: as tables, past the memtables */
    uint64_t vanished_changes; /* born and died in a generation */
    uint64_t generations, overlay_bytes, overlay_rows;
    uint64_t reads, base_reads, pending_reads, blocking_reads;
    uint64_t loop_disk_reads; /* reads on the loop that touched a disk */
    uint64_t fetches, log_bytes, log_segments, disk_free_bytes;
    bool log_priority; /* the log's thread runs before others */
    uint64_t replayed_entries, dropped_tail_bytes;
    uint64_t cut_manifest_bytes;
    uint64_t backup_bytes; /* of the log, copied by the last backup so far */
    struct store_times {
        uint64_t p50, p99, max;
    } sync_us,     /* of the log's fdatasyncs */
        commit_us; /* of entries, from store_commit() until they were acked */
    uint64_t base_memory_bytes, base_disk_bytes;
    const char *fault; /* why writes are refused, or NULL */
    enum err fault_is; /* ERR_NOSPACE, ERR_IO ...; or ERR_OK */
};
void store_get_stats(const struct store *s, struct store_stats *out);
void store_forget_times(struct store *s);
/* Whoever works on the store has loaded what it needs: what is read of a disk
 * on the loop from here on holds up those who are served (loop_disk_reads). */
void store_serves(struct store *s);

/* The in-memory implementation, for tests and the simulation: see
 * store/mem.h.*/

#endif
