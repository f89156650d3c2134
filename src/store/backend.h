/* What stands under a store: a log and a base. rocks.c has the real ones,
 * mem.c those of the simulation; store.c, with the overlay, works on either.
 *
 * All of it is called from the loop, except read() and cursors with
 * BASE_DISK, which the reader thread calls too, and read_many(), which only
 * that one calls.
 */
#ifndef STORE_BACKEND_H
#define STORE_BACKEND_H

#include "store/arena.h"
#include "store/generation.h"
#include "store/store.h"

struct backend;
struct fetch;

enum base_tier {
    BASE_MEMORY, /* ERR_PENDING if a disk would have to be asked */
    BASE_DISK,
};

/* A walk over the base's rows of a range, in one direction. */
struct base_cursor;

struct backend_ops {
    /* The log. append() borrows `entry` until the generation is applied. */
    uint64_t (*append)(struct backend *b, struct slice entry);
    void (*submit)(struct backend *b); /* the tick is over */
    bool (*sync_inline)(struct backend *b);
    void (*request_sync)(struct backend *b);
    uint64_t (*last)(const struct backend *b);
    uint64_t (*acked)(const struct backend *b);
    uint64_t (*durable)(const struct backend *b);
    uint64_t (*pending_bytes)(const struct backend *b);
    /* As store_configure(): what concerns the log and the disk. */
    void (*configure)(struct backend *b, const struct store_options *o);

    /* Start: entries behind the base's applied index, one after the other.
     * The slice is valid until the next call. ERR_EMPTY: that was all. */
    enum err (*replay)(struct backend *b, uint64_t *index, struct slice *entry,
                       struct errbuf *e);
    /* Replay is over. */
    void (*replayed)(struct backend *b);

    /* The base. read() copies the value into `to`. */
    enum err (*read)(struct backend *b, enum base_tier tier, enum family f,
                     struct slice key, struct arena *to, struct slice *value,
                     struct errbuf *e);
    /* As read() with BASE_DISK, for many keys in ascending order at once; an
     * empty value is a row that does not exist. NULL: there is none. */
    enum err (*read_many)(struct backend *b, enum family f, size_t n,
                          const struct slice *keys, struct arena *to,
                          struct slice *values, struct errbuf *e);
    /* from <= key < to; an empty `to` is the end of the family. The cursor
     * stands on the first row. */
    struct base_cursor *(*walk)(struct backend *b, enum base_tier tier,
                                enum family f, struct slice from,
                                struct slice to, bool back);
    /* False at the end or at an error, which finish() returns. */
    bool (*row)(struct base_cursor *c, struct slice *key, struct slice *value);
    void (*step)(struct base_cursor *c);
    enum err (*finish)(struct base_cursor **c, struct errbuf *e);

    /* Hand a sealed generation over to be applied when it is durable. When it
     * is, `applied` is set, by poll(), in the order of handing over. */
    void (*apply)(struct backend *b, struct generation *g);
    size_t (*applying)(const struct backend *b); /* handed over, not applied */
    /* Fetches, in the order in which they were asked. */
    void (*fetch)(struct backend *b, struct fetch *f);
    struct fetch *(*fetched)(struct backend *b); /* done; NULL: none */

    void (*poll)(struct backend *b, struct now now);
    enum store_room (*room)(const struct backend *b);
    void (*stats)(const struct backend *b, struct store_stats *out);
    void (*forget_times)(struct backend *b);
    enum err (*backup)(struct backend *b, const char *path,
                       store_backup_fn done, void *ud, struct errbuf *e);
    /* Leave. With `clean`, everything was applied before: flush it. No
     * callback runs afterwards. */
    void (*close)(struct backend **b, bool clean);
};

struct backend {
    const struct backend_ops *ops;
};

/* Put a store on top of a backend that has been opened. Takes it. */
struct store *store_new(struct backend *b, const struct store_options *o);
/* For mem.c, whose users step it. */
struct backend *store_backend(struct store *s);

#endif
