/* A pool of small objects of any size: free lists in steps of 64 bytes, carved
 * from large chunks, so that an object costs a few nanoseconds and no header.
 *
 * Objects above POOL_MAX come from mem_alloc(). The caller says the size again
 * when it gives an object back. Chunks stay until the pool is released.
 */
#ifndef UTIL_POOL_H
#define UTIL_POOL_H

#include <stddef.h>
#include <stdint.h>

#define POOL_STEP 64
#define POOL_MAX 4096

struct pool_free;
struct pool_chunk;

struct pool {
    struct pool_free *lists[POOL_MAX / POOL_STEP];
    struct pool_chunk *chunks;
    char *room; /* what is left of the newest chunk */
    size_t room_len;
    size_t used_bytes; /* handed out, rounded up */
};

void pool_init(struct pool *p);
void pool_release(struct pool *p);

void *pool_alloc(struct pool *p, size_t size); /* not zeroed */
void pool_free(struct pool *p, void *object, size_t size);

/* What an object of that size really has. */
static inline size_t pool_room(size_t size)
{
    return size > POOL_MAX ? size
                           : (size + POOL_STEP - 1) / POOL_STEP * POOL_STEP;
}

#endif
