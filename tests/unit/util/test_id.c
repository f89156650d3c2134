#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/id.h"
#include "util/rng.h"

static void an_id_survives_its_text(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 7);
    for (int i = 0; i < 1000; i++) {
        struct id a = id_make(rng_next(&r) >> 16, (uint16_t)rng_next(&r),
                              (uint32_t)rng_next(&r), (uint32_t)rng_next(&r));
        struct id b;
        char text[ID_TEXT_LEN];
        id_text(&a, text);
        assert_true(id_parse(slice_of(text, ID_TEXT_LEN), &b));
        assert_true(id_eq(&a, &b));
        assert_int_equal(id_cmp(&a, &b), 0);
    }
}

static void text_and_bytes_sort_as_the_id_does(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 8);
    for (int i = 0; i < 1000; i++) {
        struct id a = id_make(rng_below(&r, 3), 0, 1, (uint32_t)rng_next(&r));
        struct id b = id_make(rng_below(&r, 3), 0, 1, (uint32_t)rng_next(&r));
        char ta[ID_TEXT_LEN], tb[ID_TEXT_LEN];
        id_text(&a, ta);
        id_text(&b, tb);
        int want = id_cmp(&a, &b);
        assert_int_equal(want < 0, memcmp(ta, tb, ID_TEXT_LEN) < 0);
        assert_int_equal(want < 0, memcmp(a.bytes, b.bytes, ID_LEN) < 0);
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
    assert_true(id_word(&a, 0) == UINT64_MAX && id_word(&a, 8) == UINT64_MAX);
}

static void reading_forgives_case_and_lookalikes(void **state)
{
    (void)state;
    struct id a, b;
    assert_true(id_parse(slice_str("0000000000000000000000ilOz"), &a));
    assert_true(id_parse(slice_str("0000000000000000000000110Z"), &b));
    assert_true(id_eq(&a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_survives_its_text),
        cmocka_unit_test(text_and_bytes_sort_as_the_id_does),
        cmocka_unit_test(text_that_is_no_id_is_refused),
        cmocka_unit_test(reading_forgives_case_and_lookalikes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
