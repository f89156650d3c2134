/* Arena: bytes that are given one after the other and freed all at once.
 *
 *     chunks -> [ used ....| room ] -> [ used ......... ] -> [ used ... ]
 *
 * What was given never moves. Embedded; a zeroed struct is an empty arena. */
#ifndef STORE_ARENA_H
#define STORE_ARENA_H

#include <stddef.h>

#include "util/slice.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks; /* the newest first */
    size_t bytes;               /* given */
};

void *arena_alloc(struct arena *a, size_t size); /* aligned to 16 */
struct slice arena_copy(struct arena *a, struct slice s);
void arena_reset(struct arena *a);   /* keeps one chunk for later */
void arena_release(struct arena *a); /* keeps none */

#endif
