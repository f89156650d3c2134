/* When a failed job runs again, and how long a dead one is kept. */
#include "rig.h"

#include <string.h>

#define HOUR_MS ((uint64_t)3600 * 1000)
#define DAY_MS (24 * HOUR_MS)
#define RETRYING (GIVEN(RETRIES) | GIVEN(BACKOFF) | GIVEN(BASE) | GIVEN(JITTER))

static uint64_t run_at(struct rig *r, struct id id)
{
    return rig_view(r, id).run_at_ms;
}

/* Fail the only job of `q` once; how long until it runs again? */
static uint64_t fail_once(struct rig *r, struct id id)
{
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    uint64_t at = run_at(r, id);
    assert_true(at >= r->now.wall_ms);
    uint64_t wait_ms = at - r->now.wall_ms;
    rig_pass(r, wait_ms);
    return wait_ms;
}

/* `waits` has as many times as there are failures, with 0 at its end. */
static void follows(struct rig *r, struct job_options o, const uint64_t *waits)
{
    o.given |= RETRYING;
    o.retries = 100;
    struct id id = rig_add(r, "q", "x", &o).id;
    for (; *waits != 0; waits++)
        assert_int_equal(fail_once(r, id), *waits);
    struct manage_params cancel = {.verb = MANAGE_CANCEL};
    assert_int_equal(rig_manage(r, cancel, &id, 1), ERR_OK);
}

static void each_kind_of_backoff_has_its_times(void **state)
{
    struct rig *r = *state;
    static const uint64_t fixed[] = {700, 700, 700, 700, 0};
    static const uint64_t linear[] = {700, 1400, 2100, 2500, 2500, 0};
    static const uint64_t doubled[] = {700, 1400, 2800, 5600, 11200, 0};
    static const uint64_t tripled[] = {700, 2100, 6300, 9000, 9000, 0};
    follows(r, (struct job_options){.backoff = BACKOFF_FIXED, .base_ms = 700},
            fixed);
    follows(r,
            (struct job_options){.given = GIVEN(CAP),
                                 .backoff = BACKOFF_LINEAR,
                                 .base_ms = 700,
                                 .cap_ms = 2500},
            linear);
    follows(
        r, (struct job_options){.backoff = BACKOFF_EXPONENTIAL, .base_ms = 700},
        doubled);
    follows(r,
            (struct job_options){.given = GIVEN(CAP) | GIVEN(FACTOR),
                                 .backoff = BACKOFF_EXPONENTIAL,
                                 .base_ms = 700,
                                 .factor = 3,
                                 .cap_ms = 9000},
            tripled);
}

static void a_base_above_the_default_cap_is_the_cap(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = RETRYING,
                            .retries = 9,
                            .backoff = BACKOFF_FIXED,
                            .base_ms = r->config.cap_ms + HOUR_MS};
    struct id id = rig_add(r, "q", "x", &o).id;
    assert_int_equal(fail_once(r, id), o.base_ms);
    struct job_options more = {.given = GIVEN(BASE),
                               .base_ms = r->config.cap_ms + 2 * HOUR_MS};
    assert_int_equal(rig_update(r, id, &more, NULL), ERR_OK);
    assert_int_equal(fail_once(r, id), more.base_ms);
    /* A job's own is one that somebody meant. */
    o.given |= GIVEN(CAP);
    o.base_ms = 700;
    o.cap_ms = 9000;
    id = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_update(r, id, &more, NULL), ERR_SYNTAX);
    assert_non_null(strstr(r->err.text, "BASE and CAP exclude each other"));
    more.given |= GIVEN(CAP);
    more.cap_ms = more.base_ms;
    assert_int_equal(rig_update(r, id, &more, NULL), ERR_OK);
}

static void a_job_cannot_expire_after_its_deadline(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(DEADLINE), .deadline_ms = HOUR_MS};
    struct id id = rig_add(r, "q", "x", &o).id;
    rig_pass(r, 1000);
    o = (struct job_options){.given = GIVEN(EXPIRES), .expires_ms = HOUR_MS};
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_SYNTAX);
    assert_non_null(strstr(r->err.text, "EXPIRES and DEADLINE exclude"));
    o.expires_ms = HOUR_MS - 1000;
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_OK);
    o = (struct job_options){.given = GIVEN(DEADLINE), .deadline_ms = 5000};
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_SYNTAX);
    assert_non_null(strstr(r->err.text, "EXPIRES and DEADLINE exclude"));
    o.given |= GIVEN(EXPIRES);
    o.expires_ms = 5000;
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_OK);
}

static void without_backoff_it_runs_again_at_once(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(RETRIES) | GIVEN(BACKOFF),
                            .retries = 3,
                            .backoff = BACKOFF_NONE};
    struct id id = rig_add(r, "q", "x", &o).id;
    for (int i = 0; i < 3; i++)
        assert_int_equal(fail_once(r, id), 0);
}

static void jitter_only_adds_and_stays_below_its_part(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = RETRYING,
                            .retries = 1000,
                            .backoff = BACKOFF_FIXED,
                            .base_ms = 1000,
                            .jitter = 30};
    struct id id = rig_add(r, "q", "x", &o).id;
    uint64_t least = UINT64_MAX, most = 0;
    r->check = false;
    for (int i = 0; i < 300; i++) {
        uint64_t ms = fail_once(r, id);
        least = ms < least ? ms : least;
        most = ms > most ? ms : most;
    }
    assert_in_range(least, 1000, 1030);
    assert_in_range(most, 1270, 1300);
}

static void a_longest_time_and_factor_overflow_nothing(void **state)
{
    struct rig *r = *state;
    const uint64_t century_ms = 100 * 365 * DAY_MS;
    struct job_options o = {.given = RETRYING | GIVEN(FACTOR) | GIVEN(CAP),
                            .retries = 1000000,
                            .backoff = BACKOFF_EXPONENTIAL,
                            .base_ms = century_ms,
                            .cap_ms = century_ms,
                            .factor = 1000,
                            .jitter = 100};
    struct id id = rig_add(r, "q", "x", &o).id;
    for (int i = 0; i < 2; i++)
        assert_in_range(fail_once(r, id), century_ms, 2 * century_ms);
}

static void dead_letters_are_kept_for_thirty_days_at_least(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(KEEP) | GIVEN(RETRIES),
                            .keep_ms = HOUR_MS};
    struct id good = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    struct id dead = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    rig_pass(r, 3 * HOUR_MS);
    assert_int_equal(rig_state(r, good), 0);
    rig_pass(r, 30 * DAY_MS - 3 * HOUR_MS);
    assert_int_equal(rig_state(r, dead), JOB_FAILED);
    rig_pass(r, 2 * DAY_MS); /* a bucket of that age has a day */
    assert_int_equal(rig_state(r, dead), 0);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_FAILED], 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        T(each_kind_of_backoff_has_its_times),
        T(a_base_above_the_default_cap_is_the_cap),
        T(a_job_cannot_expire_after_its_deadline),
        T(without_backoff_it_runs_again_at_once),
        T(jitter_only_adds_and_stays_below_its_part),
        T(a_longest_time_and_factor_overflow_nothing),
        T(dead_letters_are_kept_for_thirty_days_at_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
