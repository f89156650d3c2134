/* Ids of jobs: 16 bytes that sort by creation.
 *
 *     hi: | milliseconds (48) | hash slot of the queue (16) |
 *     lo: | start number (32) | counter (32)                |
 *
 * Printed as 26 characters of Crockford's base 32 (upper case, no I L O U),
 * big end first, so that text order, byte order and time order agree. Reading
 * ignores case and takes I and L for 1, O for 0.
 */
#ifndef UTIL_ID_H
#define UTIL_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "util/slice.h"

#define ID_BYTES 16
#define ID_TEXT 26

struct id {
    uint64_t hi, lo;
};

static inline bool id_eq(struct id a, struct id b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

static inline int id_cmp(struct id a, struct id b)
{
    if (a.hi != b.hi)
        return a.hi < b.hi ? -1 : 1;
    if (a.lo != b.lo)
        return a.lo < b.lo ? -1 : 1;
    return 0;
}

static inline bool id_is_zero(struct id a)
{
    return (a.hi | a.lo) == 0;
}

/* For hash maps; ids differ mostly in their counter. */
static inline uint64_t id_hash(struct id a)
{
    uint64_t h = (a.lo ^ (a.hi >> 16)) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static inline uint64_t id_ms(struct id a)
{
    return a.hi >> 16;
}

static inline uint16_t id_slot(struct id a)
{
    return (uint16_t)a.hi;
}

void id_put(struct id a, char out[ID_BYTES]); /* big-endian */
struct id id_get(const char in[ID_BYTES]);

void id_text(struct id a, char out[ID_TEXT]); /* no NUL */
bool id_parse(struct slice text, struct id *out);

#endif
