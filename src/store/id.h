/* The id of a job: 16 bytes that sort by creation.
 *
 *     | 48 bits: ms | 16 bits: slot of the queue | 32: start | 32: counter |
 *
 * The last 64 bits are the sequence: the server's start number and a counter,
 * so an id is never given twice, whatever a clock does. People see 26
 * characters of Crockford base32 (engine/jobid.h).
 */
#ifndef STORE_ID_H
#define STORE_ID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "util/slice.h"

#define ID_LEN 16

struct id {
    unsigned char bytes[ID_LEN];
};

static inline struct slice id_slice(const struct id *id)
{
    return slice_of(id->bytes, ID_LEN);
}

static inline bool id_eq(const struct id *a, const struct id *b)
{
    return memcmp(a->bytes, b->bytes, ID_LEN) == 0;
}

static inline int id_cmp(const struct id *a, const struct id *b)
{
    return memcmp(a->bytes, b->bytes, ID_LEN);
}

static inline bool id_is_zero(const struct id *id)
{
    return memcmp(id->bytes, (const unsigned char[ID_LEN]){0}, ID_LEN) == 0;
}

#endif
