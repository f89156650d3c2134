/* Pages of names, against all of them sorted. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/page.h"
#include "util/parse.h"
#include "util/rng.h"

#define NAMES 3000

static char names[NAMES][16];
static struct slice sorted[NAMES];
static unsigned order[NAMES]; /* in which they are offered */

static int by_name(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;
    return slice_cmp(*x, *y);
}

static void name_them(unsigned seed, bool shuffled)
{
    struct rng rng;
    rng_seed(&rng, seed);
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof(names[i]), "q%u", i * 7 % NAMES);
        sorted[i] = slice_str(names[i]);
        order[i] = i;
    }
    qsort(sorted, NAMES, sizeof(sorted[0]), by_name);
    for (unsigned i = NAMES - 1; shuffled && i > 0; i--) {
        unsigned j = (unsigned)rng_below(&rng, i + 1), was = order[i];
        order[i] = order[j];
        order[j] = was;
    }
}

static struct page_list list_of(const struct page *p)
{
    struct page_list l = page_begin(p);
    for (unsigned i = 0; i < NAMES; i++)
        page_offer(&l, slice_str(names[order[i]]), names[order[i]]);
    page_sort(&l);
    return l;
}

/* Page after page gives each that fits once, in order. */
static void look(struct slice match, uint32_t most)
{
    struct page p = {.match = match, .most = most};
    size_t at = 0, left = 0;
    for (unsigned i = 0; i < NAMES; i++)
        left += match.len == 0 || glob_match(match, sorted[i]);
    for (;;) {
        struct page_list l = list_of(&p);
        assert_int_equal(l.fit, left);
        assert_int_equal(l.n, most == 0 || left < most ? left : most);
        for (size_t i = 0; i < l.n; i++) {
            while (match.len > 0 && !glob_match(match, sorted[at]))
                at++;
            assert_true(slice_eq(l.items[i].name, sorted[at]));
            assert_ptr_equal(l.items[i].what, sorted[at].data);
            at++;
        }
        left -= l.n;
        if (l.n > 0)
            p.after = l.items[l.n - 1].name;
        page_end(&l);
        if (left == 0)
            break;
    }
}

static void pages_have_all_in_order(void **state)
{
    (void)state;
    static const uint32_t most[] = {0, 1000, 7, NAMES, NAMES * 2};
    for (unsigned seed = 0; seed < 3; seed++) {
        name_them(seed, seed > 0);
        for (unsigned i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
            look(SLICE_EMPTY, most[i]);
            look(SLICE_LIT("q1*"), most[i]);
        }
    }
}

static void a_page_behind_the_end_is_empty(void **state)
{
    (void)state;
    const struct page p = {.after = SLICE_LIT("z"), .most = 5};
    name_them(1, true);
    struct page_list l = list_of(&p);
    assert_int_equal(l.n, 0);
    assert_int_equal(l.fit, 0);
    page_end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_have_all_in_order),
        cmocka_unit_test(a_page_behind_the_end_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
