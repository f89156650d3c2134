/* Ids of jobs: 16 bytes that sort by creation.
 *
 *     | ms (48 bits) | hash slot of the queue (16) | start (32) | counter (32)
 * |
 *
 * The last 64 bits are the sequence: the server's start number and a counter,
 * so an id is never given twice, whatever a clock does.
 *
 * Printed as 26 characters of Crockford's base 32 (upper case, no I L O U),
 * big end first, so that text order, byte order and time order agree. Reading
 * ignores case and takes I and L for 1, O for 0.
 */
#ifndef UTIL_ID_H
#define UTIL_ID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "util/slice.h"

#define ID_LEN 16
#define ID_TEXT_LEN 26

struct id {
    unsigned char bytes[ID_LEN];
};

static inline struct slice id_slice(const struct id *id)
{
    return slice_of(id->bytes, ID_LEN);
}

/* The eight bytes from `at` as a number, big-endian. */
static inline uint64_t id_word(const struct id *id, unsigned at)
{
    uint64_t v;
    memcpy(&v, id->bytes + at, 8);
    return __builtin_bswap64(v);
}

static inline bool id_eq(const struct id *a, const struct id *b)
{
    return memcmp(a->bytes, b->bytes, ID_LEN) == 0;
}

static inline int id_cmp(const struct id *a, const struct id *b)
{
    unsigned at = memcmp(a->bytes, b->bytes, 8) == 0 ? 8 : 0;
    uint64_t x = id_word(a, at), y = id_word(b, at);
    return x < y ? -1 : x > y;
}

static inline bool id_is_zero(const struct id *id)
{
    return (id_word(id, 0) | id_word(id, 8)) == 0;
}

/* For hash maps; ids differ mostly in their counter. Eight that follow each
 * other have neighbouring buckets, in one cache line: they are often looked for
 * one after the other. */
static inline uint64_t id_hash(const struct id *id)
{
    uint64_t lo = id_word(id, 8);
    uint64_t h =
        (lo >> 3 ^ id_word(id, 0) >> 16) * (uint64_t)0x9e3779b97f4a7c15u;
    return h ^ (h >> 29) ^ (lo & 7);
}

static inline uint64_t id_ms(const struct id *id)
{
    return id_word(id, 0) >> 16;
}

static inline uint16_t id_slot(const struct id *id)
{
    return (uint16_t)id_word(id, 0);
}

struct id id_make(uint64_t ms, uint16_t slot, uint32_t start, uint32_t counter);

void id_text(const struct id *id, char out[ID_TEXT_LEN]); /* no NUL */
bool id_parse(struct slice text, struct id *out);

#endif
