#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/id.h"
#include "util/rng.h"

static void an_id_survives_its_text_and_its_bytes(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 7);
    for (int i = 0; i < 1000; i++) {
        struct id a = {rng_next(&r), rng_next(&r)}, b, c;
        char text[ID_TEXT], bytes[ID_BYTES];
        id_text(a, text);
        id_put(a, bytes);
        b = id_get(bytes);
        assert_true(id_eq(a, b));
        assert_true(id_parse(slice_of(text, ID_TEXT), &c));
        assert_true(id_eq(a, c));
    }
}

static void text_and_bytes_sort_as_the_id_does(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 8);
    for (int i = 0; i < 1000; i++) {
        struct id a = {rng_below(&r, 4), rng_next(&r)};
        struct id b = {rng_below(&r, 4), rng_next(&r)};
        char ta[ID_TEXT], tb[ID_TEXT], ba[ID_BYTES], bb[ID_BYTES];
        id_text(a, ta);
        id_text(b, tb);
        id_put(a, ba);
        id_put(b, bb);
        int want = id_cmp(a, b);
        assert_int_equal(want < 0, memcmp(ta, tb, ID_TEXT) < 0);
        assert_int_equal(want < 0, memcmp(ba, bb, ID_BYTES) < 0);
    }
}

static void text_that_is_no_id_is_refused(void **state)
{
    (void)state;
    struct id a;
    assert_false(id_parse(slice_str(""), &a));
    assert_false(id_parse(slice_str("0123456789012345678901234"), &a));
    assert_false(id_parse(slice_str("012345678901234567890123456"), &a));
    assert_false(id_parse(slice_str("80000000000000000000000000"), &a));
    assert_false(id_parse(slice_str("0000000000000000000000000U"), &a));
    assert_true(id_parse(slice_str("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"), &a));
    assert_true(a.hi == UINT64_MAX && a.lo == UINT64_MAX);
}

static void reading_forgives_case_and_lookalikes(void **state)
{
    (void)state;
    struct id a, b;
    assert_true(id_parse(slice_str("0000000000000000000000ilOz"), &a));
    assert_true(id_parse(slice_str("0000000000000000000000110Z"), &b));
    assert_true(id_eq(a, b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_survives_its_text_and_its_bytes),
        cmocka_unit_test(text_and_bytes_sort_as_the_id_does),
        cmocka_unit_test(text_that_is_no_id_is_refused),
        cmocka_unit_test(reading_forgives_case_and_lookalikes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
