#include "cron_lib.h"

/* The specification's vectors (OCPS 1.0 to 1.4) as facts, and this parser's
 * additions. Times are UTC, so that a local time is an instant. */

static const struct vector {
    const char *pattern;
    const char *match[5];
    const char *miss[4];
} vectors[] = {
    /* 1.0 */
    {"15 10 * * *", {"2025-03-10 10:15"}, {"2025-03-10 10:14"}},
    {"30 8 * jan Mon", {"2025-01-06 08:30"}, {"2025-02-03 08:30"}},
    {"5-59/15 9 * * *",
     {"2025-03-10 09:05", "2025-03-10 09:20", "2025-03-10 09:35",
      "2025-03-10 09:50"},
     {"2025-03-10 09:15"}},
    {"0 12 1 * MON",
     {"2025-10-01 12:00", "2025-10-06 12:00"},
     {"2025-10-07 12:00"}},
    {"0 12 * * MON", {"2025-10-06 12:00"}, {"2025-10-07 12:00"}},
    {"0 12 1-31 * MON",
     {"2025-10-06 12:00", "2025-10-07 12:00"},
     {"2025-10-08 11:00"}},
    {"  0\t12 * *  1 ", {"2025-10-06 12:00"}, {"2025-10-07 12:00"}},
    {"0 0 * * 0", {"2025-10-05 00:00"}, {"2025-10-06 00:00"}},
    {"0 0 * * 7", {"2025-10-05 00:00"}, {"2025-10-06 00:00"}},
    {"0 0 * * 5-7",
     {"2025-10-03 00:00", "2025-10-04 00:00", "2025-10-05 00:00"},
     {"2025-10-06 00:00"}},
    {"0,30 6,18 * * *",
     {"2025-10-03 06:30", "2025-10-03 18:00"},
     {"2025-10-03 06:15", "2025-10-03 07:00"}},
    {"*/20 * * * *",
     {"2025-10-03 06:00", "2025-10-03 06:20", "2025-10-03 06:40"},
     {"2025-10-03 06:10"}},
    /* 1.1 */
    {"@yearly", {"2026-01-01 00:00"}, {"2026-01-02 00:00"}},
    {"@annually", {"2026-01-01 00:00"}, {"2026-01-02 00:00"}},
    {"@monthly", {"2026-02-01 00:00"}, {"2026-02-02 00:00"}},
    {"@weekly", {"2025-10-05 00:00"}, {"2025-10-06 00:00"}},
    {"@daily", {"2025-10-07 00:00"}, {"2025-10-07 00:01"}},
    {"@midnight", {"2025-10-07 00:00"}, {"2025-10-07 00:01"}},
    {"@hourly", {"2025-10-07 10:00"}, {"2025-10-07 10:01"}},
    /* 1.2 */
    {"15 10 * * *", {"2025-03-10 10:15:00"}, {"2025-03-10 10:15:30"}},
    {"30 15 10 * * *", {"2025-03-10 10:15:30"}, {"2025-03-10 10:15:29"}},
    {"0 15 10 * * * 2025", {"2025-03-10 10:15:00"}, {"2026-03-10 10:15:00"}},
    {"0 0 0 1 1 * 1970-2199/2",
     {"2026-01-01 00:00:00"},
     {"2025-01-01 00:00:00"}},
    {"0 0 0 1 1 * */2", {"2026-01-01 00:00:00"}, {"2025-01-01 00:00:00"}},
    {"0 0 0 1 1 * 2199", {"2199-01-01 00:00:00"}, {"2198-01-01 00:00:00"}},
    {"0 0 0 1 1 * 1970", {"1970-01-01 00:00:00"}, {"1971-01-01 00:00:00"}},
    /* 1.3 */
    {"0 0 L * *",
     {"2025-02-28 00:00", "2024-02-29 00:00", "2025-12-31 00:00"},
     {"2025-02-27 00:00", "2024-02-28 00:00"}},
    {"0 0 1,L * *",
     {"2025-02-28 00:00", "2025-02-01 00:00"},
     {"2025-02-27 00:00"}},
    {"0 0 * * FRI#L", {"2025-02-28 00:00"}, {"2025-02-21 00:00"}},
    {"0 0 * * 5L", {"2025-02-28 00:00"}, {"2025-02-21 00:00"}},
    {"0 0 * * 5#L", {"2025-02-28 00:00"}, {"2025-02-21 00:00"}},
    {"0 0 * * TUE#3", {"2025-06-17 00:00"}, {"2025-06-10 00:00"}},
    {"0 0 * * 2#3", {"2025-06-17 00:00"}, {"2025-06-24 00:00"}},
    {"0 0 * * MON#1,FRI#2",
     {"2025-06-02 00:00", "2025-06-13 00:00"},
     {"2025-06-06 00:00", "2025-06-09 00:00"}},
    {"0 0 * * 7#5", {"2025-06-29 00:00"}, {"2025-06-22 00:00"}},
    {"0 12 15W * *",
     {"2025-06-16 12:00", "2025-03-14 12:00", "2025-10-15 12:00"},
     {"2025-06-15 12:00", "2025-03-15 12:00", "2025-10-16 12:00"}},
    {"0 12 1W * *", {"2025-02-03 12:00"}, {"2025-02-01 12:00"}},
    {"0 12 31W * *",
     {"2025-08-29 12:00"}, /* the 31st is a Sunday at the end of a month */
     {"2025-09-01 12:00", "2025-09-30 12:00"}},
    {"0 12 LW * *",
     {"2025-08-29 12:00", "2025-02-28 12:00", "2025-05-30 12:00"},
     {"2025-08-31 12:00", "2025-05-31 12:00"}},
    /* 1.4 */
    {"0 12 1 * MON",
     {"2025-09-01 12:00", "2025-09-08 12:00", "2025-10-01 12:00"},
     {"2025-10-07 12:00"}},
    {"0 12 1 * +MON",
     {"2025-09-01 12:00"},
     {"2025-09-08 12:00", "2025-10-01 12:00"}},
    {"0 12 ? * MON", {"2025-10-06 12:00"}, {"2025-10-07 12:00"}},
    {"0 12 6 * ?", {"2025-10-06 12:00"}, {"2025-10-07 12:00"}},
    /* A literal leading `*` leaves the field unrestricted, as in Vixie cron:
     * odd days that are Mondays, not odd days and Mondays. */
    {"0 12 */2 * MON",
     {"2025-10-13 12:00"},
     {"2025-10-06 12:00", "2025-10-15 12:00"}},
    {"0 0 * * SUN-SUN", {"2025-10-05 00:00"}, {"2025-10-06 00:00"}},
    {"0 0 * * FRI-SUN",
     {"2025-10-03 00:00", "2025-10-05 00:00"},
     {"2025-10-06 00:00"}},
};

static void the_specification_s_vectors_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
        const struct vector *v = &vectors[i];
        struct cron *c = pattern(v->pattern);
        for (size_t j = 0; j < 5 && v->match[j] != NULL; j++)
            if (!matches(c, civil(v->match[j])))
                fail_msg("'%s' must match %s", v->pattern, v->match[j]);
        for (size_t j = 0; j < 4 && v->miss[j] != NULL; j++)
            if (matches(c, civil(v->miss[j])))
                fail_msg("'%s' must not match %s", v->pattern, v->miss[j]);
        cron_free(&c);
    }
}

static const struct refusal {
    const char *pattern;
    int column; /* 0: the error is about the whole */
    const char *says;
} refusals[] = {
    {"60 0 * * *", 1, "60 is out of range in the minute field"},
    {"0 0 10-5 * *", 5, "runs backwards"},
    {"0 0 /30 * *", 5, "a step needs * or a range"},
    {"0 0 5/30 * *", 6, "a step needs * or a range"},
    {"0 0 */0 * *", 7, "a step of 0 (1 to 31 are allowed)"},
    {"*/90 * * * *", 3, "a step of 90 (1 to 60 are allowed)"},
    {"@Daily", 1, "lower case"},
    {"@daily 0 0 * * *", 8, "nothing may follow @daily"},
    {"@fortnightly", 1, "no such nickname"},
    {"@every", 8, "@every takes one duration"},
    {"@every 0s", 8, "@every takes one duration"},
    {"@every 5m now", 8, "@every takes one duration"},
    {"0 0 0 1 1 * 1969", 13, "1969 is out of range in the year field"},
    {"0 0 0 1 1 * 2200", 13, "1970-2199"},
    {"0 12 1-15W * *", 10, "unexpected in the day of month field"},
    {"0 12 1W,15 * *", 7, "W cannot stand in a list"},
    {"0 12 5,LW * *", 9, "W cannot stand in a list"},
    {"0 12 +1 * MON", 6, "first character of the day of week"},
    {"0 12 1 * 1,+2", 12, "first character of the day of week"},
    {"? 12 * * *", 1, "? is for the two day fields"},
    {"0 12 ?,1 * *", 6, "? cannot stand in a list"},
    {"0 0 * * MON#6", 13, "# takes 1 to 5 or L"},
    {"0 0 * * MON#0", 13, "# takes 1 to 5 or L"},
    {"0 0 * * MON#", 13, "a number is missing"},
    {"0 0 * * 8", 9, "8 is out of range in the day of week field"},
    {"0 0 0 * *", 5, "0 is out of range in the day of month field"},
    {"0 0 32 * *", 5, "1-31, L, LW or a day with W"},
    {"0 0 1 13 *", 7, "13 is out of range in the month field"},
    {"0 24 * * *", 3, "0-23"},
    {"0 0 1 FOO *", 7, "not a value in the month field"},
    {"0 0 1 JANUARY *", 10, "unexpected in the month field"},
    {"0 0 * MON *", 7, "1-12 or JAN-DEC"},
    {"1, * * * *", 3, "a value is missing"},
    {",1 * * * *", 1, "not a value"},
    {"1,,2 * * * *", 3, "not a value"},
    {"1- * * * *", 3, "a value is missing"},
    {"-1 * * * *", 1, "not a value"},
    {"1-2-3 * * * *", 4, "unexpected"},
    {"*/ * * * *", 3, "a number is missing"},
    {"*5 * * * *", 2, "unexpected"},
    {"99999999999999999999 * * * *", 1, "out of range"},
    {"0 0 0 0 0 1 1", 7, "0 is out of range in the day of month field"},
    {"H(5-2) * * * *", 3, "runs backwards"},
    {"H(5) * * * *", 4, "H( needs a range"},
    {"H(0-9 * * * *", 6, "a ) is missing"},
    {"H(0-9)/20 * * * *", 8, "longer than H's range"},
    {"0 0 0 1 1 * H", 13, "H is not possible"},
    {"0 0 \xc3\xa9 * *", 5, "not a value"},
    {"", 0, "here are 0"},
    {"* * * *", 0, "here are 4"},
    {"* * * * * * * *", 0, "here are more"},
};

static void errors_name_the_column_and_what_is_allowed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        const struct refusal *r = &refusals[i];
        struct cron *c = NULL;
        struct errbuf e = {{0}};
        char column[32] = "";
        if (cron_parse(slice_str(r->pattern), NAME, &c, &e) != ERR_SYNTAX)
            fail_msg("'%s' must be refused", r->pattern);
        assert_null(c);
        if (r->column > 0)
            (void)snprintf(column, sizeof(column), "column %d:", r->column);
        if (strstr(e.text, r->says) == NULL || strstr(e.text, column) == NULL)
            fail_msg("'%s' (%s %s): %s", r->pattern, column, r->says, e.text);
    }
}

static void a_long_pattern_is_refused_by_its_bound(void **state)
{
    (void)state;
    char text[CRON_TEXT_MAX + 2];
    struct cron *c = NULL;
    struct errbuf e;
    memset(text, ' ', sizeof(text));
    assert_int_equal(
        cron_parse(slice_of(text, CRON_TEXT_MAX + 1), NAME, &c, &e), ERR_LIMIT);
    assert_non_null(strstr(e.text, "256 bytes"));
    memcpy(text, "* * * * *", 9);
    assert_int_equal(cron_parse(slice_of(text, CRON_TEXT_MAX), NAME, &c, &e),
                     ERR_OK);
    cron_free(&c);
}

static void names_are_read_in_any_case_and_lists_join(void **state)
{
    (void)state;
    struct cron *a = pattern("0 0 * jan,FEB,Dec mon-FRI");
    struct cron *b = pattern("0 0 * 1-2,12 1-5");
    const struct cron_rules rules = {0};
    uint64_t x = 0, y = 0;
    for (int i = 0; i < 500; i++) {
        assert_true(cron_next(a, &rules, (int64_t)x, &x, NULL));
        assert_true(cron_next(b, &rules, (int64_t)y, &y, NULL));
        assert_int_equal(x, y);
    }
    cron_free(&a);
    cron_free(&b);
}

static void impossible_dates_parse_and_are_known_never_to_come(void **state)
{
    (void)state;
    static const char *const never[] = {
        "0 0 31 2 *",        "* * 30 2 *",  "0 0 31 4,6,9,11 *",
        "0 0 0 29 2 * 2025", "0 0 31W 2 *", "0 0 0 1 1 +MON 2025",
        "0 0 1 * +TUE#3",
    };
    const struct cron_rules rules = {0};
    uint64_t next;
    for (size_t i = 0; i < ARRAY_LEN(never); i++) {
        struct cron *c = pattern(never[i]);
        if (!cron_is_never(c))
            fail_msg("'%s' never comes", never[i]);
        assert_false(cron_next(c, &rules, 0, &next, NULL));
        assert_false(cron_prev(c, &rules, INT64_MAX, &next, NULL));
        cron_free(&c);
    }
    struct cron *c = pattern("0 0 29 2 +MON");
    assert_false(cron_is_never(c));
    assert_true(
        cron_next(c, &rules, civil("2016-03-01 00:00") * 1000, &next, NULL));
    assert_int_equal(next / 1000, civil("2044-02-29 00:00"));
    cron_free(&c);
}

static void a_pattern_of_past_years_has_no_next(void **state)
{
    (void)state;
    struct cron *c = pattern("0 30 4 1 7 * 2020,2022");
    const struct cron_rules rules = {0};
    uint64_t t;
    assert_true(
        cron_next(c, &rules, civil("2020-07-01 04:30") * 1000, &t, NULL));
    assert_int_equal(t / 1000, civil("2022-07-01 04:30"));
    assert_false(cron_next(c, &rules, (int64_t)t, &t, NULL));
    assert_true(cron_prev(c, &rules, INT64_MAX, &t, NULL));
    assert_int_equal(t / 1000, civil("2022-07-01 04:30"));
    cron_free(&c);
}

static void h_is_stable_in_range_and_differs_by_name(void **state)
{
    (void)state;
    const struct cron_rules rules = {0};
    bool differs = false;
    uint64_t first = 0;
    for (int i = 0; i < 200; i++) {
        char name[16];
        struct cron *c, *again;
        uint64_t t, u;
        (void)snprintf(name, sizeof(name), "s%d", i);
        struct slice s = slice_str(name);
        assert_int_equal(cron_parse(SLICE_LIT("H(10-19) H * * *"), s, &c, NULL),
                         ERR_OK);
        assert_int_equal(
            cron_parse(SLICE_LIT("H(10-19) H * * *"), s, &again, NULL), ERR_OK);
        assert_true(cron_next(c, &rules, 0, &t, NULL));
        assert_true(cron_next(again, &rules, 0, &u, NULL));
        assert_int_equal(t, u);
        unsigned minute = (unsigned)(t / 60000 % 60);
        assert_in_range(minute, 10, 19);
        assert_true(cron_next(c, &rules, (int64_t)t, &u, NULL));
        assert_int_equal(u - t, 86400000); /* once a day */
        if (i == 0)
            first = t;
        differs |= t != first;
        cron_free(&c);
        cron_free(&again);
    }
    assert_true(differs);
}

static void h_with_a_step_keeps_the_step_from_a_hashed_start(void **state)
{
    (void)state;
    const struct cron_rules rules = {0};
    struct cron *c = pattern("H/15 * * * *");
    uint64_t t, u;
    assert_true(cron_next(c, &rules, 0, &t, NULL));
    assert_true(t < 15 * 60000);
    for (int i = 0; i < 100; i++, t = u) {
        assert_true(cron_next(c, &rules, (int64_t)t, &u, NULL));
        assert_int_equal(u - t, 15 * 60000);
    }
    assert_true(cron_follows_elapsed(c));
    cron_free(&c);
    c = pattern("H(0-29)/10 3 * * *");
    assert_true(cron_next(c, &rules, 0, &t, NULL));
    assert_true(cron_next(c, &rules, (int64_t)t, &u, NULL));
    assert_int_equal(u - t, 10 * 60000);
    assert_true(u % 3600000 < 30 * 60000);
    cron_free(&c);
    c = pattern("0 0 H * *"); /* every month has the day */
    for (t = 0, u = 0; u < 12; u++)
        assert_true(cron_next(c, &rules, (int64_t)t, &t, NULL));
    assert_in_range(t / 86400000, 334, 364);
    cron_free(&c);
}

static void every_is_anchored_and_needs_no_zone(void **state)
{
    (void)state;
    const struct cron_rules rules = {0};
    struct cron *c = cron_every(90000, 1000500);
    uint64_t t;
    assert_true(cron_next(c, &rules, 1000499, &t, NULL));
    assert_int_equal(t, 1000500);
    assert_true(cron_next(c, &rules, 1000500, &t, NULL));
    assert_int_equal(t, 1090500);
    assert_true(cron_next(c, &rules, -5, &t, NULL));
    assert_int_equal(t, 1000500 % 90000);
    assert_true(cron_prev(c, &rules, 1090500, &t, NULL));
    assert_int_equal(t, 1000500);
    assert_false(cron_prev(c, &rules, 10500, &t, NULL));
    assert_false(cron_next(c, &rules, INT64_MAX, &t, NULL));
    cron_free(&c);
    c = pattern("@every 5m");
    assert_true(cron_next(c, &rules, 1, &t, NULL));
    assert_int_equal(t, 300000);
    cron_free(&c);
}

static void reboot_parses_but_never_comes_by_the_clock(void **state)
{
    (void)state;
    const struct cron_rules rules = {0};
    struct cron *c = pattern("@reboot");
    uint64_t t;
    assert_true(cron_is_reboot(c));
    assert_false(cron_next(c, &rules, 0, &t, NULL));
    assert_false(cron_prev(c, &rules, INT64_MAX, &t, NULL));
    cron_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_specification_s_vectors_hold),
        cmocka_unit_test(errors_name_the_column_and_what_is_allowed),
        cmocka_unit_test(a_long_pattern_is_refused_by_its_bound),
        cmocka_unit_test(names_are_read_in_any_case_and_lists_join),
        cmocka_unit_test(impossible_dates_parse_and_are_known_never_to_come),
        cmocka_unit_test(a_pattern_of_past_years_has_no_next),
        cmocka_unit_test(h_is_stable_in_range_and_differs_by_name),
        cmocka_unit_test(h_with_a_step_keeps_the_step_from_a_hashed_start),
        cmocka_unit_test(every_is_anchored_and_needs_no_zone),
        cmocka_unit_test(reboot_parses_but_never_comes_by_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
