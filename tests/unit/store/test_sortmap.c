/* The sorted map against a plain array, with its invariants after each step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/arena.h"
#include "store/entry.h"
#include "store/sortmap.h"
#include "util/alloc.h"
#include "util/rng.h"

#define UNIVERSE 100000

struct fixture {
    struct sortmap m;
    struct arena arena;
    struct rng rng;
    unsigned shape;    /* of the keys */
    const char **rows; /* by number; NULL: not in the map */
    unsigned len;
};

/* Keys that share beginnings which end before, in and behind the part that the
 * nodes hold of each, and of different lengths: some are others with more, be
 * it zeros. */
static struct slice key_of(const struct fixture *f, unsigned i, char *to)
{
    static const size_t shared[] = {11, 14, 24, 0, 10, 12};
    size_t len = shared[f->shape % ARRAY_LEN(shared)];
    bool zeros = f->shape % 2 == 1;
    unsigned n = zeros ? i / 3 : i;
    memcpy(to, "queue:lane:handler:owner", len);
    for (int b = 0; b < 4; b++)
        to[len++] = (char)(n >> (24 - 8 * b));
    memset(to + len, zeros ? '\0' : 'x', 8);
    return slice_of(to, len + (zeros ? i % 3 : i % 3 * 4));
}

static struct fixture *begin(uint64_t seed)
{
    struct fixture *f = NEW(struct fixture);
    sortmap_init(&f->m);
    rng_seed(&f->rng, seed);
    f->shape = (unsigned)seed / 3; /* for each range all of them */
    f->rows = mem_zalloc(UNIVERSE * sizeof(*f->rows));
    return f;
}

static void end(struct fixture *f)
{
    sortmap_check(&f->m);
    sortmap_release(&f->m);
    arena_release(&f->arena);
    mem_free(f->rows);
    mem_free(f);
}

static void put(struct fixture *f, unsigned i)
{
    char bytes[40];
    struct slice key = key_of(f, i, bytes);
    struct sortmap_pos pos;
    bool found = sortmap_find(&f->m, key, &pos);
    assert_int_equal(found, f->rows[i] != NULL);
    if (found)
        return;
    char *row = arena_alloc(&f->arena, change_size(key.len, 1));
    *change_write(row, CHANGE_PUT, 0, key, 1) = 'v';
    sortmap_insert(&f->m, pos, row, (uint8_t)(i & 1));
    f->rows[i] = row;
    f->len++;
}

static void take(struct fixture *f, unsigned i)
{
    char bytes[40];
    struct sortmap_pos pos;
    bool found = sortmap_find(&f->m, key_of(f, i, bytes), &pos);
    assert_int_equal(found, f->rows[i] != NULL);
    if (!found)
        return;
    assert_ptr_equal(sortmap_row(pos), f->rows[i]);
    assert_int_equal(sortmap_mark(pos), i & 1);
    sortmap_remove(&f->m, pos);
    f->rows[i] = NULL;
    f->len--;
}

static void compare_all(struct fixture *f)
{
    struct sortmap_pos pos = sortmap_seek(&f->m, SLICE_EMPTY);
    sortmap_check(&f->m);
    assert_int_equal(f->m.len, f->len);
    for (unsigned i = 0; i < UNIVERSE; i++) {
        if (f->rows[i] == NULL)
            continue;
        assert_non_null(pos.leaf);
        assert_ptr_equal(sortmap_row(pos), f->rows[i]);
        pos = sortmap_next(pos);
    }
    assert_null(pos.leaf);
    pos = sortmap_before(&f->m, SLICE_EMPTY);
    for (unsigned i = UNIVERSE; i-- > 0;) {
        if (f->rows[i] == NULL)
            continue;
        assert_ptr_equal(sortmap_row(pos), f->rows[i]);
        pos = sortmap_prev(pos);
    }
    assert_null(pos.leaf);
}

static void seek(struct fixture *f, unsigned i)
{
    char bytes[40];
    struct slice key = key_of(f, i, bytes);
    struct sortmap_pos at = sortmap_seek(&f->m, key);
    struct sortmap_pos before = sortmap_before(&f->m, key);
    unsigned k = i;
    while (k < UNIVERSE && f->rows[k] == NULL)
        k++;
    if (k == UNIVERSE)
        assert_null(at.leaf);
    else
        assert_ptr_equal(sortmap_row(at), f->rows[k]);
    while (i > 0 && f->rows[i - 1] == NULL)
        i--;
    if (i == 0)
        assert_null(before.leaf);
    else
        assert_ptr_equal(sortmap_row(before), f->rows[i - 1]);
}

static void random_changes_agree_with_an_array(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct fixture *f = begin(seed);
        /* Few keys drain the map, many make it high. */
        unsigned range = seed % 3 == 0 ? 200 : seed % 3 == 1 ? 5000 : UNIVERSE;
        for (unsigned n = 0; n < 20000; n++) {
            unsigned i = (unsigned)rng_below(&f->rng, range);
            if (rng_below(&f->rng, 100) < (n / 4000 % 2 == 0 ? 70 : 30))
                put(f, i);
            else
                take(f, i);
            if (n % 2000 == 0)
                compare_all(f);
            if (n % 500 == 0)
                sortmap_check(&f->m);
            if (n % 100 == 0)
                seek(f, i);
        }
        compare_all(f);
        end(f);
    }
}

/* Births at the tail, deaths near the head, as queues do. */
static void a_moving_window_agrees_with_an_array(void **state)
{
    struct fixture *f = begin(7);
    (void)state;
    for (unsigned i = 0; i < UNIVERSE; i++) {
        put(f, i);
        if (i >= 3000)
            take(f, i - 3000 + (unsigned)rng_below(&f->rng, 8));
        if (i % 1000 == 0)
            sortmap_check(&f->m);
    }
    compare_all(f);
    for (unsigned i = 0; i < UNIVERSE; i++)
        take(f, i);
    assert_int_equal(f->m.len, 0);
    compare_all(f);
    put(f, 5);
    compare_all(f);
    end(f);
}

/* Several lanes grow at their own tails, and a descending load. */
static void many_tails_agree_with_an_array(void **state)
{
    struct fixture *f = begin(9);
    unsigned tails[10] = {0};
    (void)state;
    for (unsigned n = 0; n < 50000; n++) {
        unsigned lane = (unsigned)rng_below(&f->rng, 10);
        if (tails[lane] < 10000)
            put(f, lane * 10000 + tails[lane]++);
        if (n % 5000 == 0)
            compare_all(f);
    }
    for (unsigned i = UNIVERSE; i-- > 0;)
        put(f, i);
    compare_all(f);
    for (unsigned i = UNIVERSE; i-- > 10;)
        take(f, i);
    compare_all(f);
    end(f);
}

/* Batches put and delete rows in order, in the middle of others. */
static void batches_in_order_agree_with_an_array(void **state)
{
    struct fixture *f = begin(11);
    (void)state;
    for (unsigned i = 0; i < UNIVERSE; i += 7)
        put(f, i);
    for (unsigned n = 0; n < 2000; n++) {
        unsigned at = (unsigned)rng_below(&f->rng, UNIVERSE - 64);
        bool in = rng_below(&f->rng, 2) == 0;
        for (unsigned i = at; i < at + 64; i++) {
            if (in)
                put(f, i);
            else
                take(f, i);
        }
    }
    compare_all(f);
    end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_changes_agree_with_an_array),
        cmocka_unit_test(a_moving_window_agrees_with_an_array),
        cmocka_unit_test(many_tails_agree_with_an_array),
        cmocka_unit_test(batches_in_order_agree_with_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
