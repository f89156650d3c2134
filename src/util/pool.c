#include "util/pool.h"

#include <string.h>

#include "util/alloc.h"
#include "util/assert.h"

#define CHUNK_BYTES ((size_t)256 * 1024)

struct pool_free {
    struct pool_free *next;
};

struct pool_chunk {
    struct pool_chunk *next;
    char pad[POOL_STEP - sizeof(void *)];
};

void pool_init(struct pool *p)
{
    memset(p, 0, sizeof(*p));
}

void pool_release(struct pool *p)
{
    while (p->chunks != NULL) {
        struct pool_chunk *c = p->chunks;
        p->chunks = c->next;
        mem_free(c);
    }
    pool_init(p);
}

static void *carve(struct pool *p, size_t size)
{
    if (p->room_len < size) {
        /* The rest of the old chunk goes to the free lists, step by step. */
        while (p->room_len >= POOL_STEP) {
            struct pool_free *f = (struct pool_free *)(void *)p->room;
            f->next = p->lists[0];
            p->lists[0] = f;
            p->room += POOL_STEP;
            p->room_len -= POOL_STEP;
        }
        struct pool_chunk *c = mem_alloc(CHUNK_BYTES);
        c->next = p->chunks;
        p->chunks = c;
        p->room = (char *)c + sizeof(*c);
        p->room_len = CHUNK_BYTES - sizeof(*c);
    }
    void *object = p->room;
    p->room += size;
    p->room_len -= size;
    return object;
}

void *pool_alloc(struct pool *p, size_t size)
{
    ASSERT(size > 0);
    size = pool_room(size);
    p->used_bytes += size;
    if (size > POOL_MAX)
        return mem_alloc(size);
    struct pool_free **list = &p->lists[size / POOL_STEP - 1];
    if (*list == NULL)
        return carve(p, size);
    struct pool_free *f = *list;
    *list = f->next;
    return f;
}

void pool_free(struct pool *p, void *object, size_t size)
{
    if (object == NULL)
        return;
    size = pool_room(size);
    ASSERT(p->used_bytes >= size);
    p->used_bytes -= size;
    if (size > POOL_MAX) {
        mem_free(object);
        return;
    }
    struct pool_free *f = object;
    f->next = p->lists[size / POOL_STEP - 1];
    p->lists[size / POOL_STEP - 1] = f;
}
