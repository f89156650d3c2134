#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "store/arena.h"
#include "util/alloc.h"
#include "util/assert.h"

#define GIVEN 4000

static size_t size_of(size_t i)
{
    static const size_t sizes[] = {1, 16, 17, 74, 300, 8191, 8192, 16385};
    return sizes[i % ARRAY_LEN(sizes)];
}

static void what_was_given_stays_as_it_is(void **state)
{
    struct arena a = {0};
    char *given[GIVEN];
    (void)state;
    for (size_t i = 0; i < GIVEN; i++) {
        given[i] = arena_alloc(&a, size_of(i));
        assert_int_equal((uintptr_t)given[i] % 16, 0);
        memset(given[i], (int)i % 251, size_of(i));
    }
    for (size_t i = 0; i < GIVEN; i++)
        for (size_t at = 0; at < size_of(i); at++)
            assert_int_equal((unsigned char)given[i][at], i % 251);
    arena_release(&a);
}

static void a_large_arena_has_few_chunks_and_keeps_a_small_one(void **state)
{
    struct arena a = {0};
    struct arena_chunk *last = NULL;
    unsigned chunks = 0;
    (void)state;
    for (size_t given = 0; given < (size_t)64 << 20; given += 64) {
        (void)arena_alloc(&a, 64);
        chunks += a.chunks != last;
        last = a.chunks;
    }
    assert_true(chunks < 120);
    size_t used = mem_used();
    arena_reset(&a);
    assert_int_equal(a.bytes, 0);
    assert_non_null(a.chunks);
    assert_true(mem_used() + ((size_t)60 << 20) < used);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_given_stays_as_it_is),
        cmocka_unit_test(a_large_arena_has_few_chunks_and_keeps_a_small_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
