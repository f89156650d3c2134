#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "util/words.h"

static int64_t find(const struct words *w, const char *s)
{
    return words_find(w, slice_str(s));
}

static void case_is_ignored_and_nothing_else(void **state)
{
    (void)state;
    static const char *const list[] = {
        "A",
        "AB",
        "GET",
        "JOB.ADD",
        "JOB.ADDM",
        "UNSUBSCRIBE",
        "SCHEDULE.BACKFILL",
        "x_y",
        "client-output-buffer-limit",
    };
    struct words w;
    words_init(&w, 16);
    for (uint32_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        assert_true(words_add(&w, list[i], i));
    assert_int_equal(find(&w, "a"), 0);
    assert_int_equal(find(&w, "aB"), 1);
    assert_int_equal(find(&w, "gEt"), 2);
    assert_int_equal(find(&w, "job.add"), 3);
    assert_int_equal(find(&w, "job.addm"), 4);
    assert_int_equal(find(&w, "unSUBscribe"), 5);
    assert_int_equal(find(&w, "Schedule.Backfill"), 6);
    assert_int_equal(find(&w, "X_Y"), 7);
    assert_int_equal(find(&w, "Client-Output-Buffer-LIMIT"), 8);
    assert_int_equal(find(&w, "client-output-buffen-limit"), -1);
    /* '.' and 0x0e, '_' and 0x7f differ by the bit that also makes case. */
    assert_int_equal(find(&w, "job\x0e"
                              "add"),
                     -1);
    assert_int_equal(find(&w, "x\x7fy"), -1);
    assert_int_equal(find(&w, ""), -1);
    assert_int_equal(find(&w, "JOB.ADDMM"), -1);
    assert_false(words_add(&w, "job.ADD", 99));
    words_release(&w);
}

static void a_thousand_words_are_each_found(void **state)
{
    (void)state;
    static char names[1000][16];
    struct words w;
    words_init(&w, 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "word-%u", i * 7919u);
        assert_true(words_add(&w, names[i], i));
    }
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(find(&w, names[i]), i);
    words_release(&w);
}

static void an_empty_table_holds_nothing(void **state)
{
    (void)state;
    struct words w = {NULL, 0, 0};
    assert_int_equal(find(&w, "x"), -1);
}

static unsigned distance(const char *a, const char *b)
{
    return words_distance(slice_str(a), slice_str(b), 3);
}

static void distance_counts_edits(void **state)
{
    (void)state;
    assert_int_equal(distance("ping", "PING"), 0);
    assert_int_equal(distance("pnig", "ping"), 1);
    assert_int_equal(distance("JOB.AD", "JOB.ADD"), 1);
    assert_int_equal(distance("JOB.ADDD", "JOB.ADD"), 1);
    assert_int_equal(distance("JOB.ATD", "JOB.ADD"), 1);
    assert_int_equal(distance("", "abc"), 3);
    assert_int_equal(distance("kitten", "sitting"), 3);
    assert_int_equal(distance("abcdefgh", "zyxwvuts"), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_is_ignored_and_nothing_else),
        cmocka_unit_test(a_thousand_words_are_each_found),
        cmocka_unit_test(an_empty_table_holds_nothing),
        cmocka_unit_test(distance_counts_edits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
