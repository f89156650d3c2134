/* Why a job does not run, and when that may change. */
#include "engine/handlers.h"

#include "rig.h"

#include <stdio.h>

#define IN_10S .given = GIVEN(DEADLINE), .deadline_ms = 10000

static struct why_view why(struct rig *r, struct id id)
{
    char text[ID_TEXT_LEN];
    struct why_view v;
    id_text(&id, text);
    assert_int_equal(engine_why(r->engine, NULL, slice_of(text, ID_TEXT_LEN),
                                r->now, &v, &r->err),
                     ERR_OK);
    return v;
}

static void manage(struct rig *r, struct manage_params p, struct id id)
{
    assert_int_equal(rig_manage(r, p, &id, 1), ERR_OK);
}

/* --- when it changes ------------------------------------------------------ */

/* It does, then and not before; the wall clock and the leases' run alike. */
static void changes_in(struct rig *r, struct id id, uint64_t ms)
{
    enum job_state was = rig_state(r, id);
    assert_int_equal(why(r, id).changes_ms, r->now.wall_ms + ms);
    rig_pass(r, ms - 1);
    assert_int_equal(rig_state(r, id), was);
    rig_pass(r, 1);
    assert_int_not_equal(rig_state(r, id), was);
}

static void what_was_told_to_stop_changes_when_it_is_forced(void **state)
{
    struct rig *r = *state;
    struct manage_params p = {
        .verb = MANAGE_CANCEL, .has_force = true, .force_ms = 2000};
    struct id id = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_true(slice_is(why(r, id).reason, "running"));
    assert_int_equal(why(r, id).changes_ms, r->now.wall_ms + 30000);
    manage(r, p, id);
    assert_true(slice_is(why(r, id).reason, "cancelling"));
    assert_string_equal(why(r, id).text,
                        "it is leased, delivery 1; it was told to stop");
    changes_in(r, id, 2000);
    assert_int_equal(rig_state(r, id), JOB_CANCELLED);
}

static void a_running_job_changes_with_the_first_of_its_clocks(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(TIMEOUT) | GIVEN(DEADLINE),
                            .timeout_ms = 20000,
                            .deadline_ms = 60000};
    struct lease_params p = {.queues = &SLICE_LIT("q"),
                             .queues_n = 1,
                             .count = 1,
                             .session = SLICE_LIT("s")};
    struct id id = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    changes_in(r, id, 20000); /* its time limit */
    id = rig_add(r, "other", "x", &(struct job_options){IN_10S}).id;
    assert_int_equal(rig_lease(r, "other", 1), 1);
    changes_in(r, id, 10000);
    p.queues = &SLICE_LIT("third");
    id = rig_add(r, "third", "x", NULL).id;
    engine_session_attach(r->engine, p.session, 1);
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    assert_int_equal(why(r, id).changes_ms, r->now.wall_ms + 30000);
    engine_client_gone(r->engine, 1, r->now);
    changes_in(r, id, 3000);
}

static void a_waiting_job_changes_when_its_time_is_over(void **state)
{
    struct rig *r = *state;
    struct job_options o = {IN_10S};
    changes_in(r, rig_add(r, "q", "x", &o).id, 10000);
    o.given |= GIVEN(EXPIRES);
    o.expires_ms = 4000;
    changes_in(r, rig_add(r, "q", "x", &o).id, 4000);
    struct id held = rig_add(r, "q", "x", &o).id;
    manage(r, (struct manage_params){.verb = MANAGE_HOLD}, held);
    changes_in(r, held, 4000);
    /* While it runs it has started; given back it has not. */
    struct id again = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(why(r, again).changes_ms, r->now.wall_ms + 10000);
    assert_int_equal(rig_release(r, r->token[0]), ERR_OK);
    changes_in(r, again, 4000);
    /* What comes first, and when it may start. */
    o.given |= GIVEN(DELAY);
    o.delay_ms = 3000;
    struct id delayed = rig_add(r, "q", "x", &o).id;
    changes_in(r, delayed, 3000);
    changes_in(r, delayed, 1000);
    /* Or will not. Once an execution failed it need not start in time. */
    struct nack_params later = {.has_delay = true, .delay_ms = 60000};
    o.given = GIVEN(DEADLINE) | GIVEN(EXPIRES);
    struct id retrying = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    later.tokens = r->token;
    later.n = 1;
    assert_int_equal(rig_nack_with(r, later), ERR_OK);
    assert_int_equal(why(r, retrying).start_estimate_ms, 60000);
    changes_in(r, retrying, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
        T(what_was_told_to_stop_changes_when_it_is_forced),
        T(a_running_job_changes_with_the_first_of_its_clocks),
        T(a_waiting_job_changes_when_its_time_is_over),
#undef T
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
