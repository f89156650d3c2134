/* The life of a job: add, lease, ack and what may come between. */
#include "rig.h"

#include <string.h>

#include "engine/core.h"
#include "store/state.h"

static void a_job_is_added_leased_and_acknowledged(void **state)
{
    struct rig *r = *state;
    struct add_result a = rig_add(r, "mail", "hello", NULL);
    assert_true(a.created);
    assert_int_equal(a.state, JOB_READY);
    assert_int_equal(rig_queue(r, "mail").jobs[JOB_READY], 1);
    assert_int_equal(rig_lease(r, "mail", 10), 1);
    assert_string_equal(r->payload, "hello");
    assert_string_equal(r->handler, "mail");
    assert_int_equal(r->attempt, 1);
    assert_int_equal(rig_state(r, a.id), JOB_RUNNING);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_state(r, a.id), JOB_COMPLETED);
    assert_int_equal(rig_queue(r, "mail").jobs[JOB_COMPLETED], 1);
    assert_int_equal(rig_lease(r, "mail", 10), 0);
}

static void jobs_leave_in_the_order_they_came(void **state)
{
    struct rig *r = *state;
    struct id ids[50];
    for (int i = 0; i < 50; i++)
        ids[i] = rig_add(r, "q", "x", NULL).id;
    for (int i = 0; i < 50; i += 10) {
        assert_int_equal(rig_lease(r, "q", 10), 10);
        for (int k = 0; k < 10; k++)
            assert_true(id_eq(&r->ids[k], &ids[i + k]));
    }
}

static void a_corrected_clock_does_not_change_the_order(void **state)
{
    struct rig *r = *state;
    static const int back_ms[] = {0, 1, 3, -2, 500, 0, 59000, -100, 1};
    enum { JOBS = sizeof(back_ms) / sizeof(back_ms[0]) };
    struct id ids[JOBS + 1];
    for (int i = 0; i < JOBS; i++) {
        r->now.wall_ms -= (uint64_t)(int64_t)back_ms[i];
        r->now.mono_ms++;
        ids[i] = rig_add(r, "q", "x", NULL).id;
    }
    /* What is put among them by hand arrives now, too. */
    struct job_options later = {.given = GIVEN(DELAY), .delay_ms = 1000};
    ids[JOBS] = rig_add(r, "q", "x", &later).id;
    r->now.wall_ms -= 5;
    struct manage_params now = {.verb = MANAGE_RUNNOW};
    assert_int_equal(rig_manage(r, now, &ids[JOBS], 1), ERR_OK);
    assert_int_equal(rig_lease(r, "q", 20), JOBS + 1);
    for (int i = 0; i <= JOBS; i++)
        assert_true(id_eq(&r->ids[i], &ids[i]));
}

static void a_clock_that_is_set_back_is_followed(void **state)
{
    struct rig *r = *state;
    const uint64_t year_ms = (uint64_t)365 * 86400 * 1000;
    r->now.wall_ms += year_ms; /* by mistake */
    rig_add(r, "q", "ahead", NULL);
    r->now.wall_ms -= year_ms;
    rig_add(r, "q", "first", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_string_equal(r->payload, "first");
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    rig_pass(r, 1000); /* its retry stands between older and newer ones */
    rig_add(r, "q", "second", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_string_equal(r->payload, "first");
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_string_equal(r->payload, "second");
}

static void a_job_from_the_future_is_found_when_it_has_ended(void **state)
{
    struct rig *r = *state;
    const uint64_t year_ms = (uint64_t)365 * 86400 * 1000;
    struct job_options o = {.given = GIVEN(KEEP), .keep_ms = 3600000};
    r->now.wall_ms += year_ms;
    struct id id = rig_add(r, "q", "x", &o).id;
    r->now.wall_ms -= year_ms;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    rig_restart(r);
    assert_int_equal(rig_state(r, id), JOB_COMPLETED);
}

static void higher_priority_goes_first(void **state)
{
    struct rig *r = *state;
    static const uint32_t priorities[] = {500, 0, 1000, 501, 499};
    static const int order[] = {2, 3, 0, 4, 1};
    struct id ids[5];
    for (int i = 0; i < 5; i++) {
        struct job_options o = {.given = GIVEN(PRIORITY),
                                .priority = priorities[i]};
        ids[i] = rig_add(r, "q", "x", &o).id;
    }
    assert_int_equal(rig_lease(r, "q", 10), 5);
    for (int i = 0; i < 5; i++)
        assert_true(id_eq(&r->ids[i], &ids[order[i]]));
}

static void a_delayed_job_is_never_leased_early(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(DELAY), .delay_ms = 5000};
    struct id id = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_state(r, id), JOB_SCHEDULED);
    rig_pass(r, 4999);
    assert_int_equal(rig_lease(r, "q", 1), 0);
    assert_int_equal(engine_next_ms(r->engine, r->now), r->now.mono_ms + 1);
    rig_pass(r, 1);
    assert_int_equal(rig_state(r, id), JOB_READY);
    assert_int_equal(rig_lease(r, "q", 1), 1);
}

static void a_failed_job_is_retried_until_its_budget_is_used_up(void **state)
{
    struct rig *r = *state;
    static const uint64_t delays[] = {1000, 2000, 4000};
    struct id id = rig_add(r, "q", "x", NULL).id;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_lease(r, "q", 1), 1);
        assert_int_equal(r->attempt, i + 1);
        assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
        assert_int_equal(rig_state(r, id), JOB_RETRYING);
        rig_pass(r, delays[i] - 1);
        assert_int_equal(rig_lease(r, "q", 1), 0);
        rig_pass(r, 1);
    }
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_state(r, id), JOB_FAILED);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_FAILED], 1);
}

static void a_permanent_error_ends_the_job_at_once(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct nack_params p = {.tokens = &r->token[0], .n = 1, .permanent = true};
    assert_int_equal(rig_nack_with(r, p), ERR_OK);
    assert_int_equal(rig_state(r, id), JOB_FAILED);
}

static void a_snoozed_job_comes_back_uncounted(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(rig_lease(r, "q", 1), 1);
        assert_int_equal(r->attempt, 1);
        struct nack_params p = {
            .tokens = &r->token[0], .n = 1, .snooze = true, .delay_ms = 700};
        assert_int_equal(rig_nack_with(r, p), ERR_OK);
        assert_int_equal(rig_state(r, id), JOB_SCHEDULED);
        rig_pass(r, 700);
    }
}

static void a_released_job_goes_back_to_its_old_place(void **state)
{
    struct rig *r = *state;
    struct id first = rig_add(r, "q", "x", NULL).id;
    rig_add(r, "q", "y", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_release(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_true(id_eq(&r->ids[0], &first));
    assert_int_equal(r->attempt, 1);
}

static void a_lost_lease_is_a_crash_and_three_are_poison(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_lease(r, "q", 1), 1);
        rig_pass(r, 29999);
        assert_int_equal(rig_state(r, id), JOB_RUNNING);
        rig_pass(r, 1);
        assert_int_not_equal(rig_state(r, id), JOB_RUNNING);
        rig_pass(r, 1000);
    }
    assert_int_equal(rig_state(r, id), JOB_FAILED);
    assert_int_equal(r->events[EVENT_LEASE_LOST], 3);
    assert_int_equal(rig_queue(r, "q").lost, 3);
}

#define HOUR_MS ((uint64_t)3600 * 1000)

/* At so many hours from the beginning; false: it is given out no more. */
static bool crash_at(struct rig *r, uint64_t began_ms, uint64_t hours)
{
    rig_pass(r, began_ms + hours * HOUR_MS - r->now.wall_ms);
    if (rig_lease(r, "q", 1) == 0)
        return false;
    rig_pass(r, 30000);
    rig_pass(r, 1000);
    return true;
}

static void crashes_count_within_any_day_not_from_the_first(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    uint64_t began_ms = r->now.wall_ms;
    assert_true(crash_at(r, began_ms, 0));
    assert_true(crash_at(r, began_ms, 20));
    rig_restart(r);                         /* the row knows */
    assert_true(crash_at(r, began_ms, 30)); /* the first is forgotten */
    assert_int_equal(rig_state(r, id), JOB_READY);
    assert_int_equal(r->attempt, 3);
    assert_true(crash_at(r, began_ms, 40)); /* the third since 20 */
    assert_int_equal(rig_state(r, id), JOB_FAILED);
    /* A new life counts anew. */
    assert_int_equal(
        rig_manage(r, (struct manage_params){.verb = MANAGE_RETRY}, &id, 1),
        ERR_OK);
    assert_true(crash_at(r, began_ms, 41));
    assert_true(crash_at(r, began_ms, 42));
    assert_int_equal(rig_state(r, id), JOB_READY);
    assert_true(crash_at(r, began_ms, 43));
    assert_int_equal(rig_state(r, id), JOB_FAILED);
}

static void rare_crashes_never_make_poison(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    uint64_t began_ms = r->now.wall_ms;
    for (uint64_t i = 0; i < 20; i++)
        assert_true(crash_at(r, began_ms, 13 * i));
    assert_int_equal(rig_state(r, id), JOB_READY);
}

/* As an older version left it: the first crash's time, and how many. */
static void crashes_of_an_older_version_count_from_the_first(void **state)
{
    struct rig *r = *state;
    for (uint64_t later = 0; later < 2; later++) {
        struct id id = rig_add(r, "q", "x", NULL).id;
        uint64_t began_ms = r->now.wall_ms;
        assert_true(crash_at(r, began_ms, 0));
        struct job *j = job_get(r->engine, &id);
        struct rec_more m;
        job_more(j, &m);
        assert_int_equal(m.crashed_ms.len, 8);
        m.crashed_ms = SLICE_EMPTY;
        m.first_crash_ms = began_ms;
        j->crashes = 2;
        job_store(r->engine, j, &m);
        rig_step(r);
        rig_restart(r);
        assert_true(crash_at(r, began_ms, 23 + 2 * later));
        assert_int_equal(rig_state(r, id), later ? JOB_READY : JOB_FAILED);
    }
}

static void only_the_last_crash_reads_what_an_end_needs(void **state)
{
    struct rig *r = *state;
    struct store_stats before, after;
    char payload[2000];
    memset(payload, 'p', sizeof(payload) - 1);
    payload[sizeof(payload) - 1] = '\0';
    r->check = false; /* it reads, too */
    rig_add(r, "q", payload, NULL);
    rig_restart(r);
    for (uint32_t crash = 1; crash <= r->config.crashes_max; crash++) {
        assert_int_equal(rig_lease(r, "q", 1), 1);
        r->now.mono_ms += r->lease_ms;
        r->now.wall_ms += r->lease_ms;
        store_get_stats(r->store, &before);
        (void)engine_reap(r->engine, r->now);
        store_get_stats(r->store, &after);
        assert_int_equal(rig_queue(r, "q").lost, crash);
        assert_int_equal(after.reads > before.reads,
                         crash == r->config.crashes_max);
        rig_pass(r, r->config.crash_delay_ms);
    }
}

static void a_lost_job_goes_back_to_its_old_place(void **state)
{
    struct rig *r = *state;
    struct id first = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    r->now.wall_ms += 1;
    rig_add(r, "q", "y", NULL);
    rig_pass(r, 30000);
    rig_pass(r, 1000);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_true(id_eq(&r->ids[0], &first));
}

static void a_stepped_wall_clock_ends_no_lease(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    r->now.wall_ms += 1000 * 1000;
    rig_pass(r, 0);
    assert_int_equal(rig_state(r, id), JOB_RUNNING);
    r->now.wall_ms -= 2000 * 1000;
    rig_pass(r, 0);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
}

static void a_long_payload_lives_in_a_row_of_its_own(void **state)
{
    struct rig *r = *state;
    char text[2000];
    memset(text, 'p', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    struct id id = rig_add(r, "q", text, NULL).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(strlen(r->payload), sizeof(r->payload) - 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_state(r, id), JOB_COMPLETED);
}

/* engine_check() finds a row of a body that outlives its job. */
static void bodies_of_each_kind_end_with_their_job(void **state)
{
    struct rig *r = *state;
    char longer[2000];
    memset(longer, 'p', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    for (unsigned kinds = 0; kinds < 8; kinds++) {
        struct id id = rig_add(r, "q", kinds & 1 ? longer : "x", NULL).id;
        assert_int_equal(rig_lease(r, "q", 1), 1);
        if (kinds & 2)
            assert_int_equal(engine_checkpoint(r->engine, NULL, r->token[0],
                                               slice_str(longer), r->now,
                                               &r->err),
                             ERR_OK);
        if (kinds & 4) {
            assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
            rig_pass(r, 3600 * 1000);
            assert_int_equal(rig_lease(r, "q", 1), 1);
        }
        assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
        assert_int_equal(rig_state(r, id), JOB_COMPLETED);
    }
}

static void an_ended_job_shows_its_checkpoint_however_long(void **state)
{
    struct rig *r = *state;
    char bytes[2000], text[ID_TEXT_LEN];
    memset(bytes, 'c', sizeof(bytes));
    for (size_t len = 100; len <= sizeof(bytes); len += 1900) {
        struct job_view v;
        struct id id = rig_add(r, "q", "x", NULL).id;
        id_text(&id, text);
        assert_int_equal(rig_lease(r, "q", 1), 1);
        assert_int_equal(engine_checkpoint(r->engine, NULL, r->token[0],
                                           slice_of(bytes, len), r->now,
                                           &r->err),
                         ERR_OK);
        assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
        assert_int_equal(engine_get(r->engine, NULL,
                                    slice_of(text, ID_TEXT_LEN), r->now, &v,
                                    &r->err),
                         ERR_OK);
        assert_int_equal(v.checkpoint.len, len);
    }
}

static void what_is_not_kept_is_forgotten(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(KEEP), .keep_ms = 0};
    struct id id = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_state(r, id), 0);
    /* The same verb again still gets the same answer. */
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
}

static void finished_work_falls_with_its_bucket(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(KEEP), .keep_ms = 7200 * 1000};
    struct id id = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    rig_pass(r, 7199 * 1000);
    assert_int_equal(rig_state(r, id), JOB_COMPLETED);
    rig_pass(r, 3601 * 1000);
    assert_int_equal(rig_state(r, id), 0);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_COMPLETED], 0);
}

static void a_paused_queue_keeps_its_jobs(void **state)
{
    struct rig *r = *state;
    rig_add(r, "q", "x", NULL);
    assert_int_equal(
        engine_queue_pause(r->engine, slice_str("q"), true, r->now, &r->err),
        ERR_OK);
    assert_int_equal(rig_lease(r, "q", 1), 0);
    rig_restart(r);
    assert_int_equal(rig_lease(r, "q", 1), 0);
    assert_int_equal(
        engine_queue_pause(r->engine, slice_str("q"), false, r->now, &r->err),
        ERR_OK);
    assert_int_equal(rig_lease(r, "q", 1), 1);
}

static void jobs_that_are_not_started_in_time_expire(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(EXPIRES), .expires_ms = 1000};
    struct id late = rig_add(r, "q", "x", &o).id;
    rig_pass(r, 1000);
    assert_int_equal(rig_state(r, late), JOB_EXPIRED);
    struct id early = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    rig_pass(r, 1000);
    assert_int_equal(rig_state(r, early), JOB_RUNNING);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
}

/* Its time was over while somebody seemed to have it. */
static void a_job_whose_only_lease_was_undone_expires(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(EXPIRES), .expires_ms = 1000};
    for (int late = 0; late < 2; late++) {
        struct id id = rig_add(r, "q", "x", &o).id;
        assert_int_equal(rig_lease(r, "q", 1), 1);
        rig_pass(r, late == 0 ? 500 : 1500);
        engine_lease_undo(r->engine, r->token, 1, r->now);
        rig_step(r);
        assert_int_equal(rig_state(r, id), JOB_READY);
        rig_pass(r, late == 0 ? 500 : 0);
        assert_int_equal(rig_state(r, id), JOB_EXPIRED);
    }
}

static void give_back(struct rig *r, bool snooze)
{
    struct nack_params p = {
        .tokens = &r->token[0], .n = 1, .snooze = true, .delay_ms = 9000};
    assert_int_equal(snooze ? rig_nack_with(r, p) : rig_release(r, r->token[0]),
                     ERR_OK);
}

/* It was not begun. */
static void a_job_that_was_given_back_in_time_expires(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(EXPIRES), .expires_ms = 1000};
    for (int snooze = 0; snooze < 2; snooze++) {
        struct id id = rig_add(r, "q", "x", &o).id;
        enum job_state waits = snooze ? JOB_SCHEDULED : JOB_READY;
        assert_int_equal(rig_lease(r, "q", 1), 1);
        rig_pass(r, 999);
        give_back(r, snooze);
        rig_restart(r);
        assert_int_equal(rig_state(r, id), waits);
        rig_pass(r, 1);
        assert_int_equal(rig_state(r, id), JOB_EXPIRED);
    }
}

static void
a_job_that_ran_when_it_was_to_be_started_does_not_expire(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(EXPIRES), .expires_ms = 1000};
    for (int i = 0; i < 4; i++) {
        bool noticed = i % 2, snooze = i / 2;
        struct id id = rig_add(r, "q", "x", &o).id;
        assert_int_equal(rig_lease(r, "q", 1), 1);
        if (noticed)
            rig_pass(r, 1000);
        else /* the timer is yet to come round */
            r->now = (struct now){r->now.mono_ms + 1000, r->now.wall_ms + 1000};
        give_back(r, snooze);
        rig_restart(r);
        rig_pass(r, snooze ? 9000 : 500);
        assert_int_equal(rig_state(r, id), JOB_READY);
        /* Whatever becomes of the next lease. */
        assert_int_equal(rig_lease(r, "q", 1), 1);
        engine_lease_undo(r->engine, r->token, 1, r->now);
        rig_pass(r, 500);
        assert_int_equal(rig_lease(r, "q", 1), 1);
        assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    }
}

static void a_start_deadline_that_a_clock_passed_twice_holds(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(EXPIRES), .expires_ms = 1000};
    struct id id = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    rig_pass(r, 1500);
    r->now.wall_ms -= 1000;
    give_back(r, false);
    rig_pass(r, 499);
    assert_int_equal(rig_state(r, id), JOB_READY);
    rig_pass(r, 1);
    assert_int_equal(rig_state(r, id), JOB_EXPIRED);
}

/* It was begun, however that went. */
static void a_job_that_failed_or_crashed_does_not_expire(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(EXPIRES), .expires_ms = 1000};
    struct id failed = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    struct id crashed = rig_add(r, "q", "y", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    rig_pass(r, 60000);
    rig_pass(r, r->config.crash_delay_ms);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rig_lease(r, "q", 1), 1);
        give_back(r, i == 0); /* that changes nothing */
        rig_pass(r, 1000);
        assert_int_equal(rig_state(r, failed), JOB_READY);
        assert_int_equal(rig_state(r, crashed), JOB_SCHEDULED);
    }
}

static void a_deadline_ends_a_job_even_while_it_runs(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(DEADLINE), .deadline_ms = 1000};
    struct id id = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    rig_pass(r, 1000);
    assert_int_equal(rig_state(r, id), JOB_EXPIRED);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_FINISHED);
}

static void an_execution_may_not_run_longer_than_its_timeout(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(TIMEOUT), .timeout_ms = 500};
    struct id id = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    rig_pass(r, 500);
    assert_int_equal(rig_state(r, id), JOB_RETRYING);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_STALE);
}

static void leases_of_mixed_lengths_end_by_their_deadlines(void **state)
{
    static const uint64_t lengths_ms[] = {5000, 9000, 1000, 9000, 3000, 7000};
    struct rig *r = *state;
    struct slice q = SLICE_LIT("q");
    struct id ids[ARRAY_LEN(lengths_ms)];
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct lease_params p = {
            .queues = &q, .queues_n = 1, .count = 1, .lease_ms = lengths_ms[i]};
        ids[i] = rig_add(r, "q", "x", NULL).id;
        assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    }
    for (uint64_t ms = 1000; ms <= 9000; ms += 1000) {
        rig_pass(r, 1000);
        for (size_t i = 0; i < ARRAY_LEN(ids); i++)
            assert_int_equal(rig_state(r, ids[i]) == JOB_RUNNING,
                             ms < lengths_ms[i]);
    }
}

static void a_token_of_no_job_is_unknown_even_if_all_zeros(void **state)
{
    struct rig *r = *state;
    assert_int_equal(rig_ack(r, slice_str("00000000000000000000000001#1.1")),
                     ERR_NOTFOUND);
    assert_int_equal(rig_ack(r, slice_str("00000000000000000000000000#1.1")),
                     ERR_NOTFOUND);
}

static void a_backlog_is_read_ahead_of_its_leases(void **state)
{
    struct rig *r = *state;
    r->check = false; /* it would recount the backlog after every lease */
    struct id first[3000];
    for (uint32_t i = 0; i < 3000; i++)
        first[i] = rig_add(r, "q", "x", NULL).id;
    rig_restart(r);
    mem_knobs(r->disk)->pending_per_1000 = 1000;
    r->fetches = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        assert_int_equal(rig_lease(r, "q", 1), 1);
        assert_memory_equal(&r->ids[0], &first[i], sizeof(first[i]));
    }
    /* The first lease waits for the head and for its row. */
    assert_true(r->fetches <= 4);
    mem_knobs(r->disk)->pending_per_1000 = 0;
    rig_step(r);
}

static void a_trip_brings_as_many_keys_as_rows(void **state)
{
    struct rig *r = *state;
    struct engine_stats st;
    rig_close(r);
    r->config.window_lane = 8000;
    rig_open(r);
    r->check = false;
    for (int i = 0; i < 6000; i++)
        rig_add(r, "q", "x", NULL);
    rig_restart(r);
    mem_knobs(r->disk)->pending_per_1000 = 1000;
    for (int i = 0; i < 6000; i++)
        assert_int_equal(rig_lease(r, "q", 1), 1);
    engine_get_stats(r->engine, &st);
    assert_in_range(st.refills, 1, 8); /* the first trips have 1,024 */
    mem_knobs(r->disk)->pending_per_1000 = 0;
    rig_step(r);
}

static void reading_ahead_keeps_to_the_jobs_in_memory(void **state)
{
    struct rig *r = *state;
    struct engine_stats st;
    rig_close(r);
    r->config.jobs_in_memory = 100;
    rig_open(r);
    r->check = false;
    for (int i = 0; i < 3000; i++)
        rig_add(r, "q", "x", NULL);
    for (unsigned pending = 0; pending <= 1000; pending += 1000) {
        rig_restart(r); /* rows in the overlay, then all in the base */
        mem_knobs(r->disk)->pending_per_1000 = pending;
        for (int i = 0; i < 300; i++) {
            assert_int_equal(rig_lease(r, "q", 1), 1);
            engine_get_stats(r->engine, &st);
            assert_in_range(st.jobs_in_memory, 1, 101);
            assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
        }
    }
    mem_knobs(r->disk)->pending_per_1000 = 0;
    rig_step(r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

static void is_long(void *ud, const struct lease_view *v)
{
    ++*(uint32_t *)ud;
    assert_int_equal(v->payload.len, 600);
}

/* A row that the cache had when the lease looked for it may be gone when its
 * reply is written. */
static void a_long_payload_is_kept_until_it_is_shown(void **state)
{
    struct rig *r = *state;
    char payload[601];
    uint32_t n = 0;
    struct slice q = SLICE_LIT("q");
    struct lease_params p = {.queues = &q, .queues_n = 1, .count = 10};
    memset(payload, 'x', 600);
    payload[600] = '\0';
    r->generation_bytes = 4096; /* so that rows are in the base */
    rig_restart(r);
    for (int i = 0; i < 200; i++)
        rig_add(r, "q", payload, NULL);
    rig_restart(r);
    mem_knobs(r->disk)->pending_per_1000 = 300;
    while (n < 200) {
        enum err rc;
        while ((rc = engine_lease(r->engine, r->gather, &p, r->now, is_long, &n,
                                  &r->err)) == ERR_PENDING)
            rig_fetch(r);
        assert_int_equal(rc, ERR_OK);
        gather_release(r->gather);
        rig_step(r);
    }
    mem_knobs(r->disk)->pending_per_1000 = 0;
}

static void on_acked(void *ud, uint32_t i, enum err rc, const char *why)
{
    (void)ud;
    (void)i;
    (void)why;
    assert_int_equal(rc, ERR_OK);
}

/* The lease has just read them: the list of tokens need not wait for them. */
static void a_list_of_tokens_finds_long_payloads_in_the_cache(void **state)
{
    struct rig *r = *state;
    char payload[601];
    uint32_t cut = 0;
    memset(payload, 'x', 600);
    payload[600] = '\0';
    r->generation_bytes = 4096; /* so that rows are in the base */
    rig_restart(r);
    for (int i = 0; i < 50; i++)
        rig_add(r, "q", payload, NULL);
    rig_restart(r);
    assert_int_equal(rig_lease(r, "q", 50), 50);
    struct ack_params p = {.tokens = r->token, .n = 50, .cut = &cut};
    assert_int_equal(
        engine_ack(r->engine, r->gather, &p, r->now, on_acked, r, &r->err),
        ERR_OK);
    assert_int_equal(cut, 50);
    gather_release(r->gather);
    rig_step(r);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_RUNNING], 0);
}

#define LIVES 500
#define OF_A_TICK 20 /* rows: counters, the queue, its lane, the index */

static struct store_stats stats(const struct rig *r)
{
    struct store_stats all;
    store_get_stats(r->store, &all);
    return all;
}

/* Begin a generation, with the one before in the base. */
static void seal(struct rig *r)
{
    rig_add(r, "other", "x", NULL);
    rig_step(r);
    store_seal(r->store);
    rig_pass(r, 1);
    assert_int_equal(stats(r).generations, 1);
}

/* Lives of three ticks, in one generation, of which each writes so many rows
 * and leaves so many to the base. */
static void expect_rows_of_a_life(struct rig *r, uint64_t keep_ms,
                                  uint64_t written, uint64_t left)
{
    struct job_options o = {.given = GIVEN(KEEP), .keep_ms = keep_ms};
    struct slice payloads[LIVES];
    struct add_result results[LIVES];
    for (int i = 0; i < LIVES; i++)
        payloads[i] = SLICE_LIT("hello");
    struct add_params add = {.queue = SLICE_LIT("q"),
                             .payloads = payloads,
                             .n = LIVES,
                             .options = &o};
    seal(r);
    struct store_stats before = stats(r);
    assert_int_equal(
        engine_add(r->engine, NULL, &add, r->now, results, &r->err), ERR_OK);
    rig_step(r);
    assert_int_equal(rig_lease(r, "q", LIVES), LIVES);
    struct ack_params ack = {.tokens = r->token, .n = LIVES};
    assert_int_equal(
        engine_ack(r->engine, NULL, &ack, r->now, on_acked, r, &r->err),
        ERR_OK);
    rig_step(r);
    assert_int_equal(stats(r).entries - before.entries, 3);
    assert_in_range(stats(r).changes - before.changes, LIVES * written,
                    LIVES * written + 3 * OF_A_TICK);
    seal(r);
    assert_in_range(stats(r).applied_changes - before.applied_changes,
                    LIVES * left, LIVES * left + 2 * OF_A_TICK);
}

/* At most eight with history, of which two are left, and six without. Jobs that
 * end together share the row of the index, which is the eighth. */
static void a_life_keeps_to_its_budget_of_rows(void **state)
{
    struct rig *r = *state;
    expect_rows_of_a_life(r, 3600000, 7, 1);
    expect_rows_of_a_life(r, 0, 6, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_is_added_leased_and_acknowledged),
        TEST(a_life_keeps_to_its_budget_of_rows),
        TEST(jobs_leave_in_the_order_they_came),
        TEST(a_corrected_clock_does_not_change_the_order),
        TEST(a_clock_that_is_set_back_is_followed),
        TEST(a_job_from_the_future_is_found_when_it_has_ended),
        TEST(higher_priority_goes_first),
        TEST(a_delayed_job_is_never_leased_early),
        TEST(a_failed_job_is_retried_until_its_budget_is_used_up),
        TEST(a_permanent_error_ends_the_job_at_once),
        TEST(a_snoozed_job_comes_back_uncounted),
        TEST(a_released_job_goes_back_to_its_old_place),
        TEST(a_lost_lease_is_a_crash_and_three_are_poison),
        TEST(crashes_count_within_any_day_not_from_the_first),
        TEST(rare_crashes_never_make_poison),
        TEST(crashes_of_an_older_version_count_from_the_first),
        TEST(leases_of_mixed_lengths_end_by_their_deadlines),
        TEST(only_the_last_crash_reads_what_an_end_needs),
        TEST(a_lost_job_goes_back_to_its_old_place),
        TEST(a_stepped_wall_clock_ends_no_lease),
        TEST(a_long_payload_lives_in_a_row_of_its_own),
        TEST(bodies_of_each_kind_end_with_their_job),
        TEST(an_ended_job_shows_its_checkpoint_however_long),
        TEST(what_is_not_kept_is_forgotten),
        TEST(finished_work_falls_with_its_bucket),
        TEST(a_paused_queue_keeps_its_jobs),
        TEST(jobs_that_are_not_started_in_time_expire),
        TEST(a_job_whose_only_lease_was_undone_expires),
        TEST(a_job_that_was_given_back_in_time_expires),
        TEST(a_job_that_ran_when_it_was_to_be_started_does_not_expire),
        TEST(a_start_deadline_that_a_clock_passed_twice_holds),
        TEST(a_job_that_failed_or_crashed_does_not_expire),
        TEST(a_deadline_ends_a_job_even_while_it_runs),
        TEST(an_execution_may_not_run_longer_than_its_timeout),
        TEST(a_backlog_is_read_ahead_of_its_leases),
        TEST(a_trip_brings_as_many_keys_as_rows),
        TEST(reading_ahead_keeps_to_the_jobs_in_memory),
        TEST(a_long_payload_is_kept_until_it_is_shown),
        TEST(a_list_of_tokens_finds_long_payloads_in_the_cache),
        TEST(a_token_of_no_job_is_unknown_even_if_all_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
