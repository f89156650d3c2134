/* Gathers: what an actor has read from the base, and still has to.
 *
 *     store_get() misses --> want (missing) --store_fetch()--> reader thread
 *                                                                  |
 *     the actor starts over: wants (at hand) <---- store_poll() <--'
 *
 * Rows are copied into the gather, also those that were in memory, so neither
 * eviction nor compaction can make an actor start over for ever, or lack when
 * it acts what it had when it gathered. The pin keeps the generations from
 * which the gather's rows were seen, and all later ones, in the overlay: what
 * was fetched plus what the overlay says is always the present. A pin that
 * nobody needs lets the overlay grow until writes are refused:
 * store_idle_pins().
 *
 * The content of a gather (wants and rows) belongs to the fetch while one is
 * under way, and only the reader thread touches it then.
 *
 * Invariants:
 *  1. A pinned generation is the oldest of the store at the time of the pin.
 *  2. While `fetch` is set, the gather is not read with.
 *  3. A want that was fetched either has all rows of its range, or at least as
 *     many as its limit.
 */
#ifndef STORE_GATHER_H
#define STORE_GATHER_H

#include "store/arena.h"
#include "store/backend.h"
#include "util/list.h"
#include "util/map.h"

enum want_kind {
    WANT_ROW,
    WANT_SCAN,
    WANT_BACK,
};

struct base_row {
    struct slice key, value;
};

struct want {
    struct map_node node;
    struct want *next; /* in the list of what is missing */
    enum want_kind kind;
    enum family family;
    struct slice from, to; /* WANT_ROW: from is the key */
    size_t limit;          /* rows to fetch at most */
    bool fetched, complete;
    enum err rc;           /* of the fetch */
    struct slice why;      /* of an rc that is not ERR_OK */
    struct base_row *rows; /* in the order of the walk */
    size_t n;
    struct base_row one; /* WANT_ROW: what `rows` names */
};

struct content {
    struct arena arena;
    struct map wants;
    struct want *missing;
};

struct fetch {
    struct list node; /* the backend's */
    struct content *content;
    struct gather *gather; /* NULL: cancelled */
    store_fetch_fn done;
    void *ud;
};

struct gather {
    struct store *store;
    struct list pinned;      /* the store's, while there is a pin */
    struct content *content; /* NULL: nothing yet */
    struct generation *pin;
    struct fetch *fetch;
    bool deferred; /* store_find() leaves rows to the reader */
};

struct content *content_new(void);
void content_free(struct content **c);

struct want *content_find(struct content *c, enum want_kind kind, enum family f,
                          struct slice from, struct slice to);
/* Note that this is missing (for the first time or again). */
void content_miss(struct content *c, struct want *w, enum want_kind kind,
                  enum family f, struct slice from, struct slice to,
                  size_t limit);

/* Keep what the base had in memory, as if it had been fetched: a row (an empty
 * value: there is none), or all rows of a range that are not hidden by the
 * overlay. The rows are the content's already. */
void content_row(struct content *c, enum family f, struct slice key,
                 struct slice value);
void content_rows(struct content *c, enum want_kind kind, enum family f,
                  struct slice from, struct slice to, struct base_row *rows,
                  size_t n);

/* The reader thread's work: everything that is missing. */
void fetch_run(struct fetch *f, struct backend *b);
void fetch_free(struct fetch **f);

#endif
