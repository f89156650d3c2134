/* A generation: the changes since some index, by the byte and by the key.
 *
 *     region  | entry | entry | entry ... | open entry |      room       |
 *                ^   ^      ^                  ^
 *     maps       '---'------'------------------'   one sortmap per family
 *     ranges     what range deletions of this generation cover
 *
 * Entries are written once, into the region; the log borrows them whole, the
 * maps point at the changes inside. The region is reserved address space, so
 * an entry is always contiguous and nothing ever moves; pages are touched as
 * they fill, and a region is used again.
 *
 * What the maps hold is the *net*: what the base must be told so that it says
 * the same. That depends on marks: a put is *fresh* if no row of its key exists
 * anywhere older.
 *
 * Invariants (generation_check(); the numbers are cited by the code and by
 * tests/unit/store/test_net.c):
 *  1. A delete over a fresh put vanishes: the base never hears of either.
 *  2. A put over a delete is never fresh: the delete is still owed to the base.
 *  3. A put over a put keeps the first one's mark.
 *  4. A range deletion drops the rows that it covers and stays itself; rows in
 *     the maps are newer than every range of their generation.
 *  5. A generation ends at the end of an entry, and is applied whole.
 *  6. In a replay no put is fresh (load.c): the base may have rows of entries
 *     that it does not count as applied (rocks_file.c).
 */
#ifndef STORE_GENERATION_H
#define STORE_GENERATION_H

#include "store/entry.h"
#include "store/sortmap.h"
#include "util/list.h"

#define MARK_FRESH 1

/* Room for the largest entry that may follow the last one that fits. */
#define GENERATION_ENTRY_MAX ((size_t)17 << 20)

struct range {
    struct slice from, to; /* to empty: to the end of the family */
};

struct ranges {
    struct range *all;
    size_t len, cap;
};

struct generation {
    struct list node; /* the store's, oldest first */
    uint64_t number;  /* grows */
    char *region;
    size_t region_size, used;
    size_t touched; /* as far as earlier lives, whose pages are resident */
    struct sortmap maps[FAMILIES];
    size_t node_bytes; /* of all maps */
    struct ranges ranges[FAMILIES];
    uint64_t first_index, last_index; /* 0: none */
    uint64_t born_mono_ms;            /* of its first entry */
    uint64_t changes, vanished;
    uint32_t pins; /* gathers that look at it and at all that follow */
    bool applied;
    struct list apply_node; /* the applier's */
};

/* `bytes` is where a generation is full. */
struct generation *generation_new(size_t bytes);
void generation_free(struct generation **g);
/* Empty it for another life. */
void generation_reset(struct generation *g);

/* How much of the region is resident. */
size_t generation_resident(const struct generation *g);
/* Give back what of that is not in use, from above, a slice of it: the system
 * takes half a millisecond for a MiB. False: there is no more. */
#define GENERATION_TRIM_BYTES ((size_t)1 << 20)
bool generation_trim(struct generation *g);

/* `size` more bytes of the region. */
char *generation_room(struct generation *g, size_t size);

/* Take the change at `at`, which lies in the region, into the maps. */
void generation_put(struct generation *g, enum family f, const char *at,
                    bool fresh);
void generation_del(struct generation *g, enum family f, const char *at);
void generation_del_range(struct generation *g, enum family f,
                          struct slice from, struct slice to);
/* Any change that entry_next() gave. */
void generation_take(struct generation *g, const struct change *c);

/* What this generation says of `key`. */
enum said {
    SAID_NOTHING, /* look at what is older */
    SAID_ROW,
    SAID_GONE,
};
enum said generation_get(struct generation *g, enum family f, struct slice key,
                         struct slice *value);

bool ranges_cover(const struct ranges *r, struct slice key);

size_t generation_rows(const struct generation *g);
size_t generation_bytes(const struct generation *g); /* memory in use */
void generation_check(const struct generation *g);

#endif
