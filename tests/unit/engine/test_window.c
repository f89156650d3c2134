/* A window against a plain sorted array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/window.h"
#include "util/rng.h"

#define MOST 300

static struct member member_of(uint64_t order, uint32_t n)
{
    struct member m = {.order = order};
    memcpy(m.id.bytes, &n, sizeof(n));
    return m;
}

static int by_order(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return id_cmp(&x->id, &y->id);
}

static void check(const struct window *w, struct member *all, uint32_t n)
{
    qsort(all, n, sizeof(*all), by_order);
    window_check(w);
    assert_int_equal(w->len, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(window_at(w, i)->order == all[i].order);
        assert_true(id_eq(&window_at(w, i)->id, &all[i].id));
    }
}

static void members_come_and_go_anywhere_and_stay_in_order(void **state)
{
    static struct member all[MOST];
    struct rng rng;
    struct window w;
    uint32_t n = 0;
    (void)state;
    rng_seed(&rng, 11);
    window_init(&w);
    for (uint32_t i = 0; i < 20000; i++) {
        bool grows = (i / 1000) % 2 == 0;
        if (n < MOST && (n == 0 || rng_below(&rng, 4) < (grows ? 3u : 1u))) {
            all[n] = member_of(rng_below(&rng, 50), i);
            window_insert(&w, &all[n]);
            n++;
        } else {
            /* Mostly the head, as leases do. */
            uint32_t at =
                rng_below(&rng, 3) > 0 ? 0 : (uint32_t)rng_below(&rng, n);
            qsort(all, n, sizeof(*all), by_order);
            struct member *m = window_find(&w, all[at].order, &all[at].id);
            assert_non_null(m);
            window_remove(&w, m);
            memmove(&all[at], &all[at + 1], (n - at - 1) * sizeof(*all));
            n--;
        }
        if (i % 7 == 0)
            check(&w, all, n);
    }
    window_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_come_and_go_anywhere_and_stay_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
