/* Replies of a Redis-like server, read piece by piece.
 *
 * The scanner resumes where the bytes ended, so a reply of a hundred jobs that
 * arrives in ten reads is looked at once, not ten times: the client shares the
 * machine with the server that it measures.
 *
 *     *2 \r\n  $1 \r\n a \r\n  *1 \r\n  :7 \r\n
 *     |        |               |        '-- INT   depth 2, index 0
 *     |        |               '----------- ARRAY depth 1, index 1
 *     |        '--------------------------- BULK  depth 1, index 0
 *     '------------------------------------ ARRAY depth 0, index 0
 *
 * Maps count as arrays of twice their length. Slices are borrowed for the call.
 */
#ifndef BENCH_SCANNER_H
#define BENCH_SCANNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/slice.h"

#define SCAN_DEPTH_MAX 8

enum scan_kind {
    SCAN_STATUS,
    SCAN_ERROR,
    SCAN_INT,
    SCAN_BULK,
    SCAN_NULL,
    SCAN_ARRAY, /* its members follow */
};

struct scan_item {
    enum scan_kind kind;
    unsigned depth;
    int64_t index;     /* among the members of its array */
    int64_t n;         /* the integer, or the array's length */
    struct slice text; /* status, error and bulk */
};

typedef void (*scan_fn)(void *ud, const struct scan_item *item);

struct scanner {
    unsigned depth;
    /* Set by the callback: the other members of this array are of no interest.
     * Those that are bulks and integers are passed over without a call. */
    bool skip;
    int64_t at[SCAN_DEPTH_MAX];  /* members seen */
    int64_t len[SCAN_DEPTH_MAX]; /* members announced */
};

enum scan_state {
    SCAN_MORE, /* the bytes end inside the reply */
    SCAN_DONE, /* one reply is complete */
    SCAN_BAD,  /* this is not a reply */
};

/* Read on until one reply is complete. `*used` bytes are done with. */
enum scan_state scanner_step(struct scanner *s, struct slice in, size_t *used,
                             scan_fn fn, void *ud);

#endif
