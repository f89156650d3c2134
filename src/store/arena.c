#include "store/arena.h"

#include "util/alloc.h"

#define CHUNK_MIN ((size_t)16 << 10)
#define CHUNK_MAX ((size_t)1 << 20)

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, cap;
    _Alignas(16) char data[];
};

/* A large arena is made of large chunks: thousands of small ones would not be
 * used again as a whole, since an allocator does not split much memory for
 * little. */
static size_t chunk_size(const struct arena *a, size_t size)
{
    size_t whole = CHUNK_MIN;
    while (whole < CHUNK_MAX && whole < a->bytes / 4)
        whole *= 2;
    whole -= sizeof(struct arena_chunk);
    return size > whole / 2 ? size : whole;
}

void *arena_alloc(struct arena *a, size_t size)
{
    struct arena_chunk *c = a->chunks;
    size = (size + 15) & ~(size_t)15;
    if (c == NULL || c->cap - c->used < size) {
        size_t cap = chunk_size(a, size);
        c = mem_alloc(sizeof(*c) + cap);
        c->used = 0;
        c->cap = cap;
        c->next = a->chunks;
        a->chunks = c;
    }
    void *p = c->data + c->used;
    c->used += size;
    a->bytes += size;
    return p;
}

struct slice arena_copy(struct arena *a, struct slice s)
{
    char *to = arena_alloc(a, s.len + 1);
    if (s.len > 0)
        memcpy(to, s.data, s.len);
    return slice_of(to, s.len);
}

void arena_reset(struct arena *a)
{
    struct arena_chunk *keep = NULL;
    for (struct arena_chunk *c = a->chunks, *next; c != NULL; c = next) {
        next = c->next;
        if (keep == NULL && c->cap < CHUNK_MIN)
            keep = c;
        else
            mem_free(c);
    }
    if (keep != NULL) {
        keep->next = NULL;
        keep->used = 0;
    }
    a->chunks = keep;
    a->bytes = 0;
}

void arena_release(struct arena *a)
{
    for (struct arena_chunk *c = a->chunks, *next; c != NULL; c = next) {
        next = c->next;
        mem_free(c);
    }
    *a = (struct arena){0};
}
