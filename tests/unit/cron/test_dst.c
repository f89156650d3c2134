#include "cron_lib.h"

/* What a pattern does where the clock jumps. Instants are UTC. */

#define GAP CRON_MARK_GAP
#define FOLD CRON_MARK_FOLD

static const struct dst {
    const char *zone, *pattern, *after;
    struct {
        const char *at;
        unsigned marks;
    } next[4];
} table[] = {
    /* 2024-03-31 02:00 -> 03:00, 2024-10-27 03:00 -> 02:00, both 01:00 UTC */
    {"Europe/Zurich",
     "30 2 * * *",
     "2024-03-30 12:00",
     {{"2024-03-31 01:00", GAP}, {"2024-04-01 00:30", 0}}},
    {"Europe/Zurich",
     "30 2 * * *",
     "2024-10-26 12:00",
     {{"2024-10-27 00:30", FOLD}, {"2024-10-28 01:30", 0}}},
    {"Europe/Zurich",
     "0 0,2,3 * * *",
     "2024-03-31 00:00",
     {{"2024-03-31 01:00", GAP}, {"2024-03-31 22:00", 0}}},
    {"Europe/Zurich", /* two times of one gap are one run */
     "15,45 2 * * *",
     "2024-03-31 00:00",
     {{"2024-03-31 01:00", GAP}, {"2024-04-01 00:15", 0}}},
    {"Europe/Zurich",
     "*/30 * * * *",
     "2024-03-31 00:30",
     {{"2024-03-31 01:00", 0}, {"2024-03-31 01:30", 0}}},
    {"Europe/Zurich",
     "*/30 * * * *",
     "2024-10-27 00:00",
     {{"2024-10-27 00:30", FOLD},
      {"2024-10-27 01:00", FOLD},
      {"2024-10-27 01:30", FOLD},
      {"2024-10-27 02:00", 0}}},
    {"Europe/Zurich", /* every so often in an hour that does not exist */
     "*/20 2 * * *",
     "2024-03-30 12:00",
     {{"2024-04-01 00:00", 0}}},
    {"Europe/Zurich",
     "* 30 2 * * *",
     "2024-03-30 12:00",
     {{"2024-04-01 00:30", 0}, {"2024-04-01 00:30:01", 0}}},
    {"Europe/Zurich", /* 3:00 itself is no stand-in for anything */
     "0 3 * * *",
     "2024-03-30 12:00",
     {{"2024-03-31 01:00", 0}}},
    {"Europe/Zurich", /* last second before the gap */
     "59 59 1 * * *",
     "2024-03-30 12:00",
     {{"2024-03-31 00:59:59", 0}}},
    /* Midnight does not exist: 2018-11-04 00:00 -> 01:00 */
    {"America/Sao_Paulo",
     "0 0 * * *",
     "2018-11-03 12:00",
     {{"2018-11-04 03:00", GAP}, {"2018-11-05 02:00", 0}}},
    /* and is shown twice from below: 2018-02-18 00:00 -> 23:00 */
    {"America/Sao_Paulo",
     "30 23 * * *",
     "2018-02-17 12:00",
     {{"2018-02-18 01:30", FOLD}, {"2018-02-19 02:30", 0}}},
    /* half an hour: 2024-10-06 02:00 -> 02:30, 2024-04-07 02:00 -> 01:30 */
    {"Australia/Lord_Howe",
     "15 2 * * *",
     "2024-10-05 00:00",
     {{"2024-10-05 15:30", GAP}, {"2024-10-06 15:15", 0}}},
    {"Australia/Lord_Howe",
     "45 1 * * *",
     "2024-04-06 00:00",
     {{"2024-04-06 14:45", FOLD}, {"2024-04-07 15:15", 0}}},
    {"Australia/Lord_Howe",
     "0 * * * *",
     "2024-10-05 14:00",
     {{"2024-10-05 14:30", 0}, {"2024-10-05 16:00", 0}}},
    /* a day that never was: 2011-12-30 */
    {"Pacific/Apia",
     "0 12 * * *",
     "2011-12-29 22:00",
     {{"2011-12-30 10:00", GAP}, {"2011-12-30 22:00", 0}}},
    {"Pacific/Apia",
     "0 12 30 12 *",
     "2011-01-01 00:00",
     {{"2011-12-30 10:00", GAP}, {"2012-12-29 22:00", 0}}},
    {"Pacific/Apia", /* Friday the 30th is skipped, Saturday the 31st is not */
     "0 0 * * FRI",
     "2011-12-24 00:00",
     {{"2011-12-30 10:00", GAP}, {"2012-01-05 10:00", 0}}},
    /* winter time is the exception there */
    {"Europe/Dublin",
     "30 1 * * *",
     "2024-03-30 12:00",
     {{"2024-03-31 01:00", GAP}, {"2024-04-01 00:30", 0}}},
    {"Europe/Dublin",
     "30 1 * * *",
     "2024-10-26 12:00",
     {{"2024-10-27 00:30", FOLD}, {"2024-10-28 01:30", 0}}},
    /* summer time pauses in Ramadan */
    {"Africa/Casablanca",
     "30 2 * * *",
     "2024-03-09 12:00",
     {{"2024-03-10 01:30", FOLD}, {"2024-03-11 02:30", 0}}},
    {"Africa/Casablanca",
     "30 2 * * *",
     "2024-04-13 12:00",
     {{"2024-04-14 02:00", GAP}, {"2024-04-15 01:30", 0}}},
    /* by the footer's rule alone, and once around its cycle */
    {"Europe/Zurich",
     "30 2 * * *",
     "2099-03-28 12:00",
     {{"2099-03-29 01:00", GAP}, {"2099-03-30 00:30", 0}}},
    /* rare dates, far from each other */
    {"Europe/Zurich",
     "0 9 29 2 +MON",
     "2024-01-01 00:00",
     {{"2044-02-29 08:00", 0}, {"2072-02-29 08:00", 0}}},
};

static void expect(const char *what, const struct cron *c,
                   const struct cron_rules *rules, const struct dst *d)
{
    int64_t t = civil(d->after) * 1000;
    for (size_t i = 0; i < 4 && d->next[i].at != NULL; i++) {
        uint64_t next = 0;
        unsigned marks = 9;
        if (!cron_next(c, rules, t, &next, &marks) ||
            next / 1000 != (uint64_t)civil(d->next[i].at) ||
            marks != d->next[i].marks)
            fail_msg("%s '%s' after %s: %s marks %u, not %s marks %u", what,
                     d->pattern, civil_text(t / 1000),
                     civil_text((int64_t)next / 1000), marks, d->next[i].at,
                     d->next[i].marks);
        t = (int64_t)next;
    }
}

static void each_kind_of_jump_has_its_answer(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct dst *d = &table[i];
        struct cron *c = pattern(d->pattern);
        const struct cron_rules rules = {.zone = zone(d->zone)};
        expect(d->zone, c, &rules, d);
        cron_free(&c);
    }
}

static void the_rules_of_a_schedule_override_the_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct cron_rules rules;
        struct dst d;
    } cases[] = {
        {"skip",
         {.gap = CRON_GAP_SKIP, .gap_given = true},
         {.pattern = "30 2 * * *",
          .after = "2024-03-30 12:00",
          .next = {{"2024-04-01 00:30", 0}}}},
        {"skip everything that there is",
         {.gap = CRON_GAP_SKIP, .gap_given = true},
         {.pattern = "0 30 2 31 3 * 2024-2029",
          .after = "2024-03-30 12:00",
          .next = {{"2025-03-31 00:30", 0}}}},
        {"last",
         {.fold = CRON_FOLD_LAST, .fold_given = true},
         {.pattern = "30 2 * * *",
          .after = "2024-10-26 12:00",
          .next = {{"2024-10-27 01:30", FOLD}, {"2024-10-28 01:30", 0}}}},
        {"both",
         {.fold = CRON_FOLD_BOTH, .fold_given = true},
         {.pattern = "30 2 * * *",
          .after = "2024-10-26 12:00",
          .next = {{"2024-10-27 00:30", FOLD},
                   {"2024-10-27 01:30", FOLD},
                   {"2024-10-28 01:30", 0}}}},
        {"first, of a pattern that follows elapsed time",
         {.fold = CRON_FOLD_FIRST, .fold_given = true},
         {.pattern = "*/30 * * * *",
          .after = "2024-10-27 00:00",
          .next = {{"2024-10-27 00:30", FOLD}, {"2024-10-27 02:00", 0}}}},
        {"last, of a pattern that follows elapsed time",
         {.fold = CRON_FOLD_LAST, .fold_given = true},
         {.pattern = "*/30 * * * *",
          .after = "2024-10-26 23:00",
          .next = {{"2024-10-26 23:30", 0},
                   {"2024-10-27 01:00", FOLD},
                   {"2024-10-27 01:30", FOLD},
                   {"2024-10-27 02:00", 0}}}},
        {"run, of a pattern that follows elapsed time",
         {.gap = CRON_GAP_RUN, .gap_given = true},
         {.pattern = "*/20 2 * * *",
          .after = "2024-03-30 12:00",
          .next = {{"2024-03-31 01:00", GAP}, {"2024-04-01 00:00", 0}}}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cron *c = pattern(cases[i].d.pattern);
        struct cron_rules rules = cases[i].rules;
        rules.zone = zone("Europe/Zurich");
        expect(cases[i].what, c, &rules, &cases[i].d);
        cron_free(&c);
    }
}

static void next_from_within_the_second_pass_does_not_run_again(void **state)
{
    (void)state;
    struct cron *c = pattern("30 2 * * *");
    const struct cron_rules rules = {.zone = zone("Europe/Zurich")};
    uint64_t t;
    /* A restart in the second 02:10 must not repeat the run of 02:30. */
    assert_true(
        cron_next(c, &rules, civil("2024-10-27 01:10") * 1000, &t, NULL));
    assert_int_equal(t / 1000, civil("2024-10-28 01:30"));
    cron_free(&c);
}

static void a_fold_at_the_very_end_is_not_jumped_over(void **state)
{
    (void)state;
    /* Nothing later in the calendar, but the clock goes back to a match. */
    struct cron *c = pattern("0 30 2 27 10 * 2024");
    const struct cron_rules rules = {.zone = zone("Europe/Zurich"),
                                     .fold = CRON_FOLD_BOTH,
                                     .fold_given = true};
    uint64_t t;
    assert_true(
        cron_next(c, &rules, civil("2024-10-27 00:45") * 1000, &t, NULL));
    assert_int_equal(t / 1000, civil("2024-10-27 01:30"));
    assert_false(cron_next(c, &rules, (int64_t)t, &t, NULL));
    cron_free(&c);
}

static int teardown(void **state)
{
    (void)state;
    zone_cache_clear();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_jump_has_its_answer),
        cmocka_unit_test(the_rules_of_a_schedule_override_the_defaults),
        cmocka_unit_test(next_from_within_the_second_pass_does_not_run_again),
        cmocka_unit_test(a_fold_at_the_very_end_is_not_jumped_over),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
