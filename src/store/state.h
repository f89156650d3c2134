/* The inside of a store, shared by store.c (changes, life), read.c (merged
 * reads) and load.c (start). Nobody outside src/store/ includes this. */
#ifndef STORE_STATE_H
#define STORE_STATE_H

#include "store/backend.h"
#include "store/gather.h"

#define STORE_MAGIC 0x73746f72

enum load_phase {
    LOAD_REPLAY,
    LOAD_START, /* the start number is to be written */
    LOAD_SYNC,  /* and to become durable */
    LOAD_DONE,
};

struct store {
    OBJ_MAGIC;
    struct backend *b;
    struct store_options o;

    struct list generations; /* oldest first; the last one is open */
    size_t generations_len;
    struct generation *open;
    struct list pinned;        /* gathers */
    struct sortmap_leaf *shed; /* of dropped ones, not yet freed */
    struct generation *spare;  /* an empty one, to spare page faults */
    struct list retired;       /* empty ones whose pages are given back */
    bool trimming;             /* what the open one does not need, too */
    /* When a generation was last sealed because it was full; 0: memory that
     * was touched since then has been given back. */
    uint64_t full_mono_ms;
    size_t sealed_bytes;
    /* Of these, what the start found and nobody could apply yet: generations up
     * to this number. */
    size_t replayed_bytes;
    uint64_t replayed_number;
    size_t seal_bytes; /* where a generation is full */
    uint64_t next_number;

    size_t entry_at; /* of the open entry in the open generation's region */
    uint32_t entry_changes; /* events included */
    uint32_t entry_events;
    uint64_t last_index;
    bool inline_pays; /* the last entry was one for the caller's thread */
    bool held;        /* an entry waits for store_submit() */
    uint32_t callers;

    /* What reads without a gather have returned since the last change. */
    struct arena scratch;
    /* Rows that a scan has found; nested scans stack. */
    struct base_row *rows;
    size_t rows_len, rows_cap;

    enum load_phase phase;
    uint32_t start_number;
    struct store_stats stats;
};

/* Close the open generation and hand it over. */
void store_seal(struct store *s);
/* Drop what was applied and nobody looks at. */
void store_drop_applied(struct store *s);
void store_pin(struct store *s, struct gather *g);
/* Take in an entry of the log, which has the next index: load.c. */
MUST_USE enum err store_replay(struct store *s, uint64_t index,
                               struct slice entry, struct now now,
                               struct errbuf *e);

#endif
