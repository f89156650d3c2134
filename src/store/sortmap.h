/* Sorted map: rows in key order, for the overlay and the in-memory base.
 *
 * A B+tree of pointers to changes (store/entry.h), which lie in somebody's
 * arena. Nothing is allocated per row, and of a row only the first 16 bytes of
 * its key are copied: they decide nearly all comparisons (ids, lanes and times
 * are no longer), so that a search stays in the nodes and asks the memory for
 * one row, not for a dozen.
 *
 *                 [ inner: children, separators ]
 *                 /              |              \
 *     [leaf: 64 rows] <-> [leaf: 64 rows] <-> [leaf: 64 rows]
 *       first    upper ----> separator of the next leaf
 *
 * Two thirds of all operations of a scheduler are at the tail (births) or near
 * the head (deaths), so a find first looks into the leaves that the last finds
 * ended in (fingers) and descends only if the key is in none of them. Inside
 * the leaf it first looks where the last one ended (hint) and behind it,
 * because batches put and delete rows in order.
 *
 * Borrowed: a row that was ever put in must outlive the map, because its key
 * may live on as a separator.
 *
 * Invariants (sortmap_check()):
 *  1. Keys ascend strictly through the chain of leaves.
 *  2. Every key of a leaf is below its `upper`, and not below the `upper` of
 *     the leaf before it; the last leaf has no upper.
 *  3. separators[i] of an inner node is the `upper` of the leaf before the
 *     first leaf under child i (so a finger finds what a descent finds).
 *  4. No leaf is empty, except the only one. No inner node is empty.
 *  5. `len` is the number of rows.
 *  6. Beside each row lies the start of its own key.
 *
 * Threads: finds move the fingers, so they belong to the owner. Cursors
 * (seek, next, prev) only read; several threads may use them on a map that
 * nobody changes.
 */
#ifndef STORE_SORTMAP_H
#define STORE_SORTMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/slice.h"

#define SORTMAP_LEAF 64
#define SORTMAP_FINGERS 3
#define SORTMAP_AHEAD 8 /* rows */
#define SORTMAP_LINE 64 /* bytes that memory gives at once */

struct sortmap_leaf;

struct sortmap {
    void *root;
    unsigned height; /* 0: the root is a leaf */
    size_t len;
    struct sortmap_leaf *first, *last;
    struct sortmap_leaf *fingers[SORTMAP_FINGERS];
    unsigned hint; /* where in fingers[0] the next key may be */
    size_t node_bytes;
};

/* A row and the start of its key, as numbers, filled up with zeros. */
struct sortmap_row {
    uint64_t high, low;
    const char *at; /* a change */
};

struct sortmap_leaf {
    struct sortmap_leaf *prev, *next;
    struct sortmap_row upper; /* at: NULL if there is none */
    unsigned len;
    /* The first of each; rows go mostly from the front, which moves none. */
    uint8_t *marks; /* the user's, one byte a row */
    struct sortmap_row *rows;
    uint8_t mark_slots[SORTMAP_LEAF];
    struct sortmap_row row_slots[SORTMAP_LEAF];
};

/* A place in a map; `leaf` is NULL behind the end. */
struct sortmap_pos {
    struct sortmap_leaf *leaf;
    unsigned at;
};

void sortmap_init(struct sortmap *m);
void sortmap_release(struct sortmap *m); /* and empty it */

/* Empty it; its leaves come before those of `chain`. Freeing those of a full
 * generation in one go takes some milliseconds. */
void sortmap_shed(struct sortmap *m, struct sortmap_leaf **chain);
void sortmap_free_leaves(struct sortmap_leaf **chain, size_t most);

/* Where `key` is, or (false) where it would be put. */
bool sortmap_find(struct sortmap *m, struct slice key, struct sortmap_pos *pos);

static inline const char *sortmap_row(struct sortmap_pos pos)
{
    return pos.leaf->rows[pos.at].at;
}

/* Rows lie anywhere: who walks over many of them has the first bytes of those
 * to come fetched meanwhile. */
static inline void sortmap_ahead(struct sortmap_pos pos, size_t bytes)
{
    unsigned at = pos.at + SORTMAP_AHEAD;
    if (at >= pos.leaf->len)
        return;
    for (size_t i = 0; i < bytes; i += SORTMAP_LINE)
        __builtin_prefetch(pos.leaf->rows[at].at + i);
}

static inline uint8_t sortmap_mark(struct sortmap_pos pos)
{
    return pos.leaf->marks[pos.at];
}

/* Put another row of the same key in its place. */
static inline void sortmap_set(struct sortmap_pos pos, const char *row,
                               uint8_t mark)
{
    pos.leaf->rows[pos.at].at = row;
    pos.leaf->marks[pos.at] = mark;
}

/* `pos` comes from the sortmap_find() of this row's key that said false. */
void sortmap_insert(struct sortmap *m, struct sortmap_pos pos, const char *row,
                    uint8_t mark);
void sortmap_remove(struct sortmap *m, struct sortmap_pos pos);

/* Cursors: the first row at or behind `key`, the last row before it. An empty
 * key is before all rows; sortmap_before() of one is the last row. */
struct sortmap_pos sortmap_seek(const struct sortmap *m, struct slice key);
struct sortmap_pos sortmap_before(const struct sortmap *m, struct slice key);
struct sortmap_pos sortmap_next(struct sortmap_pos pos);
struct sortmap_pos sortmap_prev(struct sortmap_pos pos);

void sortmap_check(const struct sortmap *m);

#endif
