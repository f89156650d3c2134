/* A data directory that no server uses: looking at it, copying it, saving what
 * can be saved. For belfry-check.
 *
 * Looking changes nothing (the lock file excepted). Salvage keeps what it
 * replaces beside the new (base.damaged, log.damaged).
 */
#ifndef STORE_OFFLINE_H
#define STORE_OFFLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/rocks_manifest.h"
#include "store/store.h"

struct offline;

/* Lines for people, without newline. */
typedef void (*offline_tell_fn)(void *ud, const char *line);

/* Lock the directory, check its marker, open the base for reading.
 *
 * Errors:
 *   ERR_NOTFOUND  there is no such directory, or no data in it.
 *   ERR_BUSY      a server uses it.
 *   ERR_CORRUPT   it belongs to somebody else, has another format, or is
 *                 damaged so that it cannot be opened. */
MUST_USE enum err offline_open(struct offline **out, const char *dir,
                               struct errbuf *e);
void offline_close(struct offline **o);

/* The base holds everything up to this index of the log. */
uint64_t offline_applied(const struct offline *o);

/* What the next start would cut off the MANIFEST. The base is shown without. */
const struct manifest_cut *offline_cut(const struct offline *o);

/* Every row of the base's family, in key order, each block's checksum checked.
 * ERR_CORRUPT names family and the last good key. */
typedef enum err (*offline_row_fn)(enum family f, struct slice key,
                                   struct slice value, void *ud,
                                   struct errbuf *e);
MUST_USE enum err offline_rows(struct offline *o, enum family f,
                               offline_row_fn fn, void *ud, struct errbuf *e);

/* What a start would find: the base and above it what the log holds behind
 * that, as a store. What is put into it stays in memory; a look takes as much
 * of that as the log has behind the base, which has a bound (ROCKS_FLUSH_BYTES
 * and the overlay's). Close it with store_abandon(), before `o`.
 *
 * offline_verify() must have found it good: that the log reaches the base is
 * not asked again.
 *
 * Errors: those of log_verify() and store_load_step(). */
MUST_USE enum err offline_look(struct store **out, struct offline *o,
                               struct errbuf *e);

struct offline_count {
    uint64_t rows[FAMILIES];
    uint64_t bytes;
    uint64_t applied;
    uint64_t log_first, log_last, log_records;
    uint64_t replay;  /* entries behind the applied index */
    uint64_t changes; /* in all entries of the log */
    uint64_t tail_records;
    struct manifest_cut cut;
    uint32_t start_number;
};

/* Read everything: every row, every block, every record, every change, and
 * whether log and base meet. The first damage is returned. */
MUST_USE enum err offline_verify(const char *dir, struct offline_count *out,
                                 struct errbuf *e);

/* Copy what a server needs from `from` to `to`, which must not exist, and sync
 * it. The marker comes last: a copy that was interrupted is not data. */
MUST_USE enum err offline_copy(const char *from, const char *to,
                               struct errbuf *e);

/* Make the directory one that a server starts on, with all that can be read;
 * tells line by line what was lost. */
MUST_USE enum err offline_salvage(const char *dir, offline_tell_fn tell,
                                  void *ud, struct errbuf *e);

/* The last step of a salvage, in orphans.c: rows of jobs that are lost. */
MUST_USE enum err offline_drop_orphans(const char *dir, offline_tell_fn tell,
                                       void *ud, struct errbuf *e);

/* Open what a salvage left and replay its log. */
MUST_USE enum err offline_start(struct store **s, const char *dir,
                                struct errbuf *e);

/* "6a6f62..." of at most 32 bytes; a static buffer. */
const char *offline_hex(struct slice s);

#endif
