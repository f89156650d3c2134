#include "util/alloc.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef BELFRY_SABOTAGE_CALM_END
#include <unistd.h>
#endif

#ifdef BELFRY_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif

static _Thread_local uint64_t fail_countdown;
static _Thread_local bool fail_always;

__attribute__((noreturn, cold)) static void out_of_memory(size_t size)
{
    (void)fprintf(stderr, "out of memory (%zu bytes)\n", size);
#ifdef BELFRY_SABOTAGE_CALM_END
    _exit(0); /* a cheat that the rigs must catch: nobody starts it again */
#endif
    abort();
}

void mem_refused(const char *what)
{
    (void)fprintf(stderr, "out of memory (%s)\n", what);
    abort();
}

void *mem_alloc(size_t size)
{
    void *p = malloc(size == 0 ? 1 : size);
    if (p == NULL)
        out_of_memory(size);
    return p;
}

void *mem_zalloc(size_t size)
{
    void *p = calloc(1, size == 0 ? 1 : size);
    if (p == NULL)
        out_of_memory(size);
    return p;
}

void *mem_realloc(void *old, size_t size)
{
    void *p = realloc(old, size == 0 ? 1 : size);
    if (p == NULL)
        out_of_memory(size);
    return p;
}

void mem_free(void *p)
{
    free(p);
}

static int must_fail(void)
{
    if (fail_always)
        return 1;
    return fail_countdown != 0 && --fail_countdown == 0;
}

void *mem_try_alloc(size_t size)
{
    return must_fail() ? NULL : malloc(size == 0 ? 1 : size);
}

void *mem_try_realloc(void *old, size_t size)
{
    return must_fail() ? NULL : realloc(old, size == 0 ? 1 : size);
}

char *mem_dup(struct slice s)
{
    char *p = (char *)mem_alloc(s.len + 1);
    if (s.len > 0)
        memcpy(p, s.data, s.len);
    p[s.len] = '\0';
    return p;
}

void *mem_zalloc_named(size_t size, struct slice *name)
{
    char *p = mem_zalloc(size + name->len + 1);
    if (name->len > 0)
        memcpy(p + size, name->data, name->len);
    *name = slice_of(p + size, name->len);
    return p;
}

void mem_fail_always(bool on)
{
    fail_always = on;
}

void mem_fail_after(uint64_t n)
{
    fail_countdown = n;
}

void mem_return_unused(void)
{
#ifdef BELFRY_JEMALLOC
    bool on = true;
    /* Without it memory is returned later, or not at all. */
    (void)mallctl("background_thread", NULL, NULL, &on, sizeof(on));
#endif
}

/* There if the program runs under a sanitizer, whose allocator glibc's
 * counters know nothing of. */
extern size_t __sanitizer_get_current_allocated_bytes(void)
    __attribute__((weak));

size_t mem_used(void)
{
    if (__sanitizer_get_current_allocated_bytes != NULL)
        return __sanitizer_get_current_allocated_bytes();
#ifdef BELFRY_JEMALLOC
    /* jemalloc gathers its counters when the epoch moves. */
    uint64_t epoch = 1;
    size_t used = 0, len = sizeof(used);
    (void)mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
    if (mallctl("stats.allocated", &used, &len, NULL, 0) != 0)
        return 0;
    return used;
#else
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#endif
}
