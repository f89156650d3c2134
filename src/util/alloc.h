/* Memory of our own. Small allocations never fail: we abort with a message,
 * which is as a kill -9. Sizes that a client chooses go through mem_try_*(),
 * which may say no (docs/decisions/0012-memory-that-is-refused.md).
 *
 * Tests make the n-th allocation from now fail with mem_fail_after(); only
 * mem_try_* can fail, the others abort.
 */
#ifndef UTIL_ALLOC_H
#define UTIL_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/slice.h"

void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
void *mem_realloc(void *p, size_t size);
void mem_free(void *p);

void *mem_try_alloc(size_t size);
void *mem_try_realloc(void *p, size_t size);

/* A copy with a terminating NUL behind it. */
char *mem_dup(struct slice s);
/* `size` zeros with the bytes of *name behind them and a NUL; *name is the copy
 * then. For structs that are looked up by name: both are compared. */
void *mem_zalloc_named(size_t size, struct slice *name);

/* It will be read in a moment: it can come from memory meanwhile. Of what was
 * freed nothing is touched, and NULL is nothing. */
static inline void mem_expect(const void *at, size_t bytes)
{
    for (size_t i = 0; at != NULL && i < bytes; i += 64)
        __builtin_prefetch((const char *)at + i);
}

/* For what a library was refused and nobody can do without: as mem_alloc(). */
_Noreturn void mem_refused(const char *what);

#define NEW(type) ((type *)mem_zalloc(sizeof(type)))

/* Free *pp and set it to NULL. */
#define FREE(pp)         \
    do {                 \
        mem_free(*(pp)); \
        *(pp) = NULL;    \
    } while (0)

/* The n-th mem_try_* call from now fails (1 = the next); 0 turns it off. */
void mem_fail_after(uint64_t n);
/* All of them, until it is turned off. */
void mem_fail_always(bool on);

/* Let the allocator give memory back by itself, from a thread of its own: it
 * does so otherwise only while somebody allocates. After daemon_begin(), whose
 * fork would leave the thread behind. */
void mem_return_unused(void);

/* Bytes in use as the allocator sees them. */
size_t mem_used(void);

#endif
