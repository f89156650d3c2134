/* An entry: all changes of one tick, as the bytes that the log keeps.
 *
 *     0         4         8               16
 *     | version | changes | wall_ms       | change | change | ...
 *
 *     change:  | op u8 | family u8 | key len u16 | value len u32 | key | value
 * |
 *
 * Numbers are little-endian. The lengths have a fixed size, so that the maps
 * of the overlay can hold a bare pointer to a change and find its key at once:
 * an entry's bytes exist once, borrowed by the log and by the overlay.
 *
 *     op           key            value
 *     put          key            value (never empty)
 *     put fresh    key            value; no older row exists anywhere
 *     del          key            -
 *     range        from           to (empty: to the end of the family)
 *     event        -              what happened (engine/events.def)
 *
 * Invariants:
 *  1. The decoder accepts nothing else, and never reads outside the bytes.
 *  2. An entry has as many changes as its head says.
 */
#ifndef STORE_ENTRY_H
#define STORE_ENTRY_H

#include <stdint.h>
#include <string.h>

#include "store/store.h"
#include "util/err.h"
#include "util/slice.h"

#define ENTRY_VERSION 1
#define ENTRY_HEAD 16
#define CHANGE_HEAD 8
#define ENTRY_KEY_MAX UINT16_MAX

/* Stored numbers. */
enum change_op {
    CHANGE_PUT = 1,
    CHANGE_PUT_FRESH = 2,
    CHANGE_DEL = 3,
    CHANGE_RANGE = 4,
    CHANGE_EVENT = 5,
};

struct change_head {
    uint8_t op, family;
    uint16_t key_len;
    uint32_t value_len;
};

/* The head of a change that lies at `at`, which may be unaligned. */
static inline struct change_head change_head(const char *at)
{
    struct change_head h;
    _Static_assert(sizeof(h) == CHANGE_HEAD, "heads are copied");
    memcpy(&h, at, sizeof(h));
    return h;
}

static inline struct slice change_key(const char *at)
{
    return slice_of(at + CHANGE_HEAD, change_head(at).key_len);
}

static inline struct slice change_value(const char *at)
{
    struct change_head h = change_head(at);
    return slice_of(at + CHANGE_HEAD + h.key_len, h.value_len);
}

static inline bool change_is_del(const char *at)
{
    return at[0] == CHANGE_DEL;
}

/* Write head and key; returns where the value goes. There must be room for
 * change_size() bytes. */
static inline size_t change_size(size_t key_len, size_t value_len)
{
    return CHANGE_HEAD + key_len + value_len;
}

static inline char *change_write(char *at, enum change_op op, unsigned family,
                                 struct slice key, size_t value_len)
{
    struct change_head h = {(uint8_t)op, (uint8_t)family, (uint16_t)key.len,
                            (uint32_t)value_len};
    memcpy(at, &h, sizeof(h));
    if (key.len > 0)
        memcpy(at + CHANGE_HEAD, key.data, key.len);
    return at + CHANGE_HEAD + key.len;
}

/* ENTRY_HEAD bytes at `at`. */
void entry_write_head(char *at, uint32_t changes, uint64_t wall_ms);

struct change {
    enum change_op op;
    enum family family;
    struct slice key, value;
    const char *at; /* its head */
};

struct entry_reader {
    const char *begin, *at, *end;
    uint32_t left; /* changes */
    uint64_t wall_ms;
};

/* Errors: ERR_CORRUPT, and *e says what is wrong at which of its bytes. */
MUST_USE enum err entry_open(struct entry_reader *r, struct slice entry,
                             struct errbuf *e);
/* ERR_EMPTY behind the last change. */
MUST_USE enum err entry_next(struct entry_reader *r, struct change *out,
                             struct errbuf *e);
/* Read it all: is every change well-formed? */
MUST_USE enum err entry_check(struct slice entry, struct errbuf *e);

const char *family_name(enum family f);
/* Do its keys begin with a bucket of expiry? */
bool family_has_buckets(enum family f);

#endif
