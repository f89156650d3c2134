/* The end of RocksDB's MANIFEST, its list of tables.
 *
 * Power that fails while RocksDB notes a flush can leave its last write with
 * some sectors and without others. RocksDB refuses such a file. Nothing is
 * lost, because the log still has what the flush wrote; so a start cuts the
 * torn write off, after a look that changes nothing (docs/decisions/0013).
 *
 * Why nothing can be lost by a cut that is made:
 *  1. Each beginning of a MANIFEST that ends at a record, and behind the list
 *     with which RocksDB starts the file, is a state that the base was in.
 *  2. All tables of that state are there and open: the look opened them.
 *  3. The log can be read from where that state ends to its own end: the look
 *     read it.
 * So the state, with the log played in, is what was acknowledged, whatever tore
 * the file. Where any of the three fails, nothing is touched.
 *
 * There is a second kind of end that cannot be used. If RocksDB cannot sync the
 * record with which it takes in a table of ours (rocks_file.c), it deletes the
 * table; the record may be read all the same after a restart. A last record
 * that names a table which is not there is cut off by the same rules.
 *
 * And damage that no power cut leaves is refused all the same, because someone
 * should look at the disk: a good record behind the bad one must be of the same
 * write. */
#ifndef STORE_ROCKS_MANIFEST_H
#define STORE_ROCKS_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/err.h"
#include "util/slice.h"

struct rocks_base;

struct manifest_scan {
    uint64_t records; /* whole ones before `bad` */
    uint64_t last;    /* where the last of them begins */
    uint64_t end;     /* and where it ends */
    uint64_t bad;     /* what stands here cannot be read */
    uint64_t other; /* a good record behind `bad` that was not written together
                       with what is at `bad`; 0: there is none */
    bool whole;     /* everything could be read; then `bad` says nothing */
};

/* Judge the bytes of a MANIFEST. */
void manifest_scan(struct slice file, struct manifest_scan *out);

/* Take the record at *at, of a file that is whole; false: that was all. */
bool manifest_next(struct slice file, size_t *at, struct buf *record);
/* Put a record behind those that are there. */
void manifest_add(struct buf *file, struct slice record);
/* Which MANIFEST is it? Empty: <base>/CURRENT says nothing that we understand.
 */
void manifest_name(const char *base, char *name, size_t size);

struct manifest_cut {
    char name[32];    /* "MANIFEST-000248" */
    uint64_t at;      /* where the last record ends that is kept */
    uint64_t bytes;   /* behind it; 0: nothing is to be cut off */
    uint64_t table;   /* the last record names it and it is not there; or 0 */
    uint64_t applied; /* what the base holds everything up to without it */
};

/* Look at <dir>/base, which nobody uses. If the end of its MANIFEST is torn,
 * open what is left without it, for reading, as *b; then cut->bytes is set, and
 * rocks_manifest_forget() is due once *b was closed. Damage in CURRENT is left
 * to whoever opens the base.
 *
 * Errors:
 *   ERR_CORRUPT  the MANIFEST is damaged and must not be cut; *e says where it
 *                is and why not. Nothing was changed. */
MUST_USE enum err rocks_manifest_look(const char *dir, struct rocks_base *b,
                                      struct manifest_cut *cut,
                                      struct errbuf *e);
/* Delete what a look wrote. */
void rocks_manifest_forget(const char *dir);

/* Look, and cut a torn end off for good. The file as it was stays beside it, as
 * MANIFEST-000248.torn. */
MUST_USE enum err rocks_manifest_mend(const char *dir, struct manifest_cut *cut,
                                      struct errbuf *e);

#endif
