/* Where finished work is filed, and how it is forgotten. */
#include "rig.h"

#include "engine/ends.h"

#define HOUR_MS ((uint64_t)3600 * 1000)
#define DAY_MS (24 * HOUR_MS)

/* Not before its time, and the later the further away that is. */
static void a_bucket_is_the_time_of_expiry_rounded_up(void **state)
{
    static const struct {
        uint64_t keep_ms, step_ms;
    } cases[] = {
        {1, HOUR_MS},
        {HOUR_MS, HOUR_MS},
        {2 * DAY_MS, HOUR_MS},
        {2 * DAY_MS + HOUR_MS, DAY_MS},
        {60 * DAY_MS, DAY_MS},
        {61 * DAY_MS, 7 * DAY_MS},
        {366 * DAY_MS, 7 * DAY_MS},
        {367 * DAY_MS, 30 * DAY_MS},
        {7 * 366 * DAY_MS, 30 * DAY_MS},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (uint64_t n = 0; n < 1000; n++) {
            uint64_t finished = 1700000000000 + n * 123456789;
            uint64_t ends = finished + cases[i].keep_ms;
            uint64_t at = done_bucket(finished, cases[i].keep_ms) * HOUR_MS;
            assert_int_equal(at % cases[i].step_ms, 0);
            assert_in_range(at, ends, ends + cases[i].step_ms - 1);
        }
    }
}

/* Two finished jobs, one kept for a week, one for most of a year. */
static void finish_two(struct rig *r, struct id *week, struct id *year)
{
    struct job_options o = {.given = GIVEN(KEEP), .keep_ms = 7 * DAY_MS};
    *week = rig_add(r, "q", "x", &o).id;
    o.keep_ms = 300 * DAY_MS;
    *year = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 2), 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(rig_ack(r, r->token[i]), ERR_OK);
}

static void a_clock_that_jumps_forgets_a_day_an_hour(void **state)
{
    struct rig *r = *state;
    struct id week, year;
    finish_two(r, &week, &year);
    r->now.wall_ms += 400 * DAY_MS;
    rig_pass(r, 1);
    assert_int_equal(rig_state(r, week), JOB_COMPLETED);
    for (int i = 0; i < 10; i++)
        rig_pass(r, HOUR_MS);
    assert_int_equal(rig_state(r, week), 0);
    assert_int_equal(rig_state(r, year), JOB_COMPLETED);
    /* An operator who sets it right again has lost no more. */
    r->now.wall_ms -= 400 * DAY_MS;
    rig_restart(r);
    assert_int_equal(rig_state(r, year), JOB_COMPLETED);
}

/* A supervisor may start it every few seconds. */
static void a_start_is_no_reason_to_forget_a_day(void **state)
{
    struct rig *r = *state;
    struct id week, year;
    finish_two(r, &week, &year);
    r->now.wall_ms += 400 * DAY_MS;
    for (int i = 0; i < 20; i++) {
        rig_restart(r);
        rig_pass(r, 1);
    }
    assert_int_equal(rig_state(r, week), JOB_COMPLETED);
    for (int i = 0; i < 10; i++)
        rig_pass(r, HOUR_MS);
    assert_int_equal(rig_state(r, week), 0);
    assert_int_equal(rig_state(r, year), JOB_COMPLETED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_is_the_time_of_expiry_rounded_up),
        cmocka_unit_test_setup_teardown(
            a_clock_that_jumps_forgets_a_day_an_hour, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_start_is_no_reason_to_forget_a_day,
                                        rig_setup, rig_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
