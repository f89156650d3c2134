/* Jobs that people manage: cancel, run now, hold, retry, delete. */
#include "engine/handlers.h"

#include "rig.h"

static struct id add_delayed(struct rig *r, uint64_t ms)
{
    struct job_options o = {.given = GIVEN(DELAY), .delay_ms = ms};
    return rig_add(r, "q", "x", &o).id;
}

static uint64_t count(struct rig *r, enum job_state s)
{
    return rig_queue(r, "q").jobs[s];
}

static enum err manage(struct rig *r, enum manage_verb verb, struct id id)
{
    return rig_manage(r, (struct manage_params){.verb = verb}, &id, 1);
}

/* --- cancel -------------------------------------------------------------- */

static void a_waiting_job_is_cancelled_at_once(void **state)
{
    struct rig *r = *state;
    struct id ready = rig_add(r, "q", "x", NULL).id;
    struct id later = add_delayed(r, 5000);
    struct id held = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(manage(r, MANAGE_HOLD, held), ERR_OK);
    assert_int_equal(manage(r, MANAGE_CANCEL, ready), ERR_OK);
    assert_int_equal(manage(r, MANAGE_CANCEL, later), ERR_OK);
    assert_int_equal(manage(r, MANAGE_CANCEL, held), ERR_OK);
    assert_int_equal(count(r, JOB_CANCELLED), 3);
    rig_pass(r, 10000);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    /* Again: it is so already. */
    assert_int_equal(manage(r, MANAGE_CANCEL, ready), ERR_OK);
    assert_int_equal(r->events[EVENT_JOB_CANCELLED], 3);
}

static void a_running_job_is_told_to_stop_with_its_next_renewal(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_extend(r, r->token[0], 0), ORDER_CONTINUE);
    assert_int_equal(manage(r, MANAGE_CANCEL, id), ERR_OK);
    assert_int_equal(r->events[EVENT_JOB_CANCELLING], 1);
    assert_int_equal(rig_extend(r, r->token[0], 0), ORDER_CANCEL);
    assert_int_equal(rig_state(r, id), JOB_RUNNING);
    rig_restart(r);
    assert_int_equal(rig_extend(r, r->token[0], 0), ORDER_CANCEL);
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_state(r, id), JOB_CANCELLED);
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
}

static void a_job_that_is_done_in_spite_of_the_order_is_done(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(manage(r, MANAGE_CANCEL, id), ERR_OK);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_state(r, id), JOB_COMPLETED);
    rig_pass(r, 60000); /* its time of force comes to nothing */
    assert_int_equal(rig_state(r, id), JOB_COMPLETED);
}

static void a_running_job_that_does_not_stop_is_ended_by_force(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    struct manage_params p = {
        .verb = MANAGE_CANCEL, .has_force = true, .force_ms = 5000};
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_manage(r, p, &id, 1), ERR_OK);
    rig_pass(r, 4999);
    assert_int_equal(rig_extend(r, r->token[0], 0), ORDER_CANCEL);
    rig_restart(r);
    rig_pass(r, 1);
    assert_int_equal(rig_state(r, id), JOB_CANCELLED);
    assert_int_equal(rig_extend(r, r->token[0], 0), ORDER_LOST);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_FINISHED);
    struct id second = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    p.force_ms = 0;
    assert_int_equal(rig_manage(r, p, &second, 1), ERR_OK);
    assert_int_equal(rig_state(r, second), JOB_CANCELLED);
}

static void a_later_order_may_shorten_the_time(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    struct manage_params p = {
        .verb = MANAGE_CANCEL, .has_force = true, .force_ms = 50000};
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_manage(r, p, &id, 1), ERR_OK);
    assert_int_equal(manage(r, MANAGE_CANCEL, id), ERR_OK); /* no change */
    p.force_ms = 1000;
    assert_int_equal(rig_manage(r, p, &id, 1), ERR_OK);
    rig_pass(r, 1000);
    assert_int_equal(rig_state(r, id), JOB_CANCELLED);
}

static void
however_its_execution_ends_a_cancelled_job_does_not_run_again(void **state)
{
    struct rig *r = *state;
    for (int how = 0; how < 4; how++) {
        struct id id = rig_add(r, "q", "x", NULL).id;
        struct slice q = SLICE_LIT("q");
        struct lease_params l = {.queues = &q,
                                 .queues_n = 1,
                                 .count = 1,
                                 .lease_ms = 1000,
                                 .session =
                                     how == 2 ? SLICE_LIT("s") : SLICE_EMPTY};
        assert_int_equal(rig_lease_with(r, &l), ERR_OK);
        assert_int_equal(manage(r, MANAGE_CANCEL, id), ERR_OK);
        if (how == 0)
            assert_int_equal(rig_release(r, r->token[0]), ERR_OK);
        else if (how == 1)
            rig_pass(r, 1000);
        else if (how == 2)
            rig_pass(r, 3000);
        else
            engine_lease_undo(r->engine, &r->token[0], 1, r->now);
        rig_pass(r, 0);
        assert_int_equal(rig_state(r, id), JOB_CANCELLED);
        assert_int_equal(rig_lease(r, "q", 1), 0);
    }
}

/* --- run now, hold ------------------------------------------------------- */

static void a_delayed_job_can_be_made_ready(void **state)
{
    struct rig *r = *state;
    struct id id = add_delayed(r, 3600000);
    assert_int_equal(manage(r, MANAGE_RUNNOW, id), ERR_OK);
    assert_int_equal(count(r, JOB_SCHEDULED), 0);
    assert_int_equal(manage(r, MANAGE_RUNNOW, id), ERR_OK); /* is so already */
    rig_restart(r);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(manage(r, MANAGE_RUNNOW, id), ERR_STATE);
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    assert_int_equal(manage(r, MANAGE_RUNNOW, id), ERR_OK);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(manage(r, MANAGE_RUNNOW, id), ERR_FINISHED);
    rig_pass(r, 4000000);
    assert_int_equal(rig_lease(r, "q", 1), 0);
}

static void a_held_job_is_not_leased_until_it_is_let_go(void **state)
{
    struct rig *r = *state;
    struct id first = rig_add(r, "q", "1", NULL).id;
    struct id second = rig_add(r, "q", "2", NULL).id;
    assert_int_equal(manage(r, MANAGE_HOLD, first), ERR_OK);
    assert_int_equal(manage(r, MANAGE_HOLD, first), ERR_OK);
    assert_int_equal(manage(r, MANAGE_RUNNOW, first), ERR_STATE);
    assert_int_equal(rig_state(r, first), JOB_HELD);
    rig_restart(r);
    assert_int_equal(rig_state(r, first), JOB_HELD);
    assert_int_equal(manage(r, MANAGE_UNHOLD, first), ERR_OK);
    assert_int_equal(manage(r, MANAGE_UNHOLD, first), ERR_STATE);
    /* To its old place, before the other one. */
    assert_int_equal(rig_lease(r, "q", 2), 2);
    assert_true(id_eq(&r->ids[0], &first));
    assert_int_equal(manage(r, MANAGE_HOLD, second), ERR_STATE);
}

static void a_held_job_goes_back_to_waiting_for_its_time(void **state)
{
    struct rig *r = *state;
    struct id soon = add_delayed(r, 1000), late = add_delayed(r, 9000);
    assert_int_equal(manage(r, MANAGE_HOLD, soon), ERR_OK);
    assert_int_equal(manage(r, MANAGE_HOLD, late), ERR_OK);
    rig_pass(r, 2000);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    assert_int_equal(manage(r, MANAGE_UNHOLD, soon), ERR_OK);
    assert_int_equal(manage(r, MANAGE_UNHOLD, late), ERR_OK);
    assert_int_equal(rig_state(r, soon), JOB_READY);
    assert_int_equal(rig_state(r, late), JOB_SCHEDULED);
    rig_pass(r, 7000);
    assert_int_equal(rig_lease(r, "q", 10), 2);
}

static void a_retrying_job_that_was_held_retries(void **state)
{
    struct rig *r = *state;
    struct slice q = SLICE_LIT("q");
    struct lease_params l = {
        .queues = &q, .queues_n = 1, .count = 1, .lease_ms = 1000};
    struct id id = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(rig_lease_with(r, &l), ERR_OK);
    r->now.mono_ms += 1000; /* lost: back to its old place after a pause */
    rig_pass(r, 0);
    assert_int_equal(rig_state(r, id), JOB_RETRYING);
    assert_int_equal(manage(r, MANAGE_HOLD, id), ERR_OK);
    assert_int_equal(manage(r, MANAGE_UNHOLD, id), ERR_OK);
    assert_int_equal(rig_state(r, id), JOB_RETRYING);
    rig_restart(r);
    rig_pass(r, 1000);
    assert_int_equal(rig_lease(r, "q", 1), 1);
}

/* --- retry --------------------------------------------------------------- */

static void a_dead_letter_is_taken_back_with_a_new_budget(void **state)
{
    struct rig *r = *state;
    char big[2000];
    memset(big, 'p', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    struct job_options o = {.given = GIVEN(RETRIES), .retries = 1};
    struct id id = rig_add(r, "q", big, &o).id;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            assert_int_equal(rig_lease(r, "q", 1), 1);
            assert_int_equal(r->attempt, i + 1);
            assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
            if (i == 0)
                rig_pass(r, 1000);
        }
        assert_int_equal(rig_state(r, id), JOB_FAILED);
        assert_int_equal(manage(r, MANAGE_RETRY, id), ERR_OK);
        assert_int_equal(manage(r, MANAGE_RETRY, id), ERR_STATE);
        assert_int_equal(count(r, JOB_FAILED), 0);
        /* The verb that ended it is answered as before. */
        assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
        assert_int_equal(rig_ack(r, r->token[0]), ERR_STALE);
        rig_restart(r);
    }
    assert_int_equal(rig_executions(r, id), 4);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(r->delivery, 5);
    assert_int_equal(strlen(r->payload), sizeof(r->payload) - 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_executions(r, id), 5);
    assert_int_equal(manage(r, MANAGE_RETRY, id), ERR_OK);
    assert_int_equal(rig_state(r, id), JOB_READY);
    assert_int_equal(r->events[EVENT_JOB_REVIVED], 3);
}

static void a_unique_key_is_retaken_or_the_job_stays_dead(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(UNIQUE), .unique = SLICE_LIT("u")};
    struct id id = rig_add(r, "q", "x", &o).id;
    assert_int_equal(manage(r, MANAGE_CANCEL, id), ERR_OK);
    struct id other = rig_add(r, "q", "x", &o).id;
    assert_int_equal(manage(r, MANAGE_RETRY, id), ERR_EXISTS);
    assert_int_equal(rig_state(r, id), JOB_CANCELLED);
    assert_int_equal(manage(r, MANAGE_DELETE, other), ERR_OK);
    assert_int_equal(manage(r, MANAGE_RETRY, id), ERR_OK);
    struct add_result again = rig_add(r, "q", "x", &o);
    assert_false(again.created);
    assert_true(id_eq(&again.id, &id));
}

static void deadlines_of_a_job_taken_back_begin_anew(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(EXPIRES) | GIVEN(DEADLINE),
                            .expires_ms = 1000,
                            .deadline_ms = 5000};
    struct id id = rig_add(r, "q", "x", &o).id;
    rig_pass(r, 1000);
    assert_int_equal(rig_state(r, id), JOB_EXPIRED);
    rig_pass(r, 60000);
    assert_int_equal(manage(r, MANAGE_RETRY, id), ERR_OK);
    rig_pass(r, 999);
    assert_int_equal(rig_state(r, id), JOB_READY);
    rig_pass(r, 1);
    assert_int_equal(rig_state(r, id), JOB_EXPIRED);
}

/* That it was started once is as little as that it failed. */
static void a_failed_job_taken_back_has_to_start_in_time(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(EXPIRES) | GIVEN(RETRIES),
                            .expires_ms = 1000};
    struct id id = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    rig_pass(r, 60000);
    assert_int_equal(rig_state(r, id), JOB_FAILED);
    assert_int_equal(manage(r, MANAGE_RETRY, id), ERR_OK);
    rig_pass(r, 999);
    assert_int_equal(rig_state(r, id), JOB_READY);
    rig_pass(r, 1);
    assert_int_equal(rig_state(r, id), JOB_EXPIRED);
}

static void every_retry_gives_as_long_as_the_first_try_had(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(EXPIRES) | GIVEN(DEADLINE),
                            .expires_ms = 1000,
                            .deadline_ms = 5000};
    struct id started = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct id waits = rig_add(r, "p", "x", &o).id;
    /* What is changed later gives that long, too. */
    struct job_options changed = {.given = GIVEN(EXPIRES), .expires_ms = 500};
    rig_pass(r, 700);
    assert_int_equal(rig_update(r, waits, &changed, NULL), ERR_OK);
    rig_pass(r, 60000);
    for (int i = 0; i < 4; i++) {
        rig_restart(r);
        assert_int_equal(rig_state(r, started), JOB_EXPIRED);
        assert_int_equal(rig_state(r, waits), JOB_EXPIRED);
        assert_int_equal(manage(r, MANAGE_RETRY, started), ERR_OK);
        assert_int_equal(manage(r, MANAGE_RETRY, waits), ERR_OK);
        assert_int_equal(rig_lease(r, "q", 1), 1);
        rig_pass(r, 499);
        assert_int_equal(rig_state(r, waits), JOB_READY);
        rig_pass(r, 1);
        assert_int_equal(rig_state(r, waits), JOB_EXPIRED);
        rig_pass(r, 4499);
        assert_int_equal(rig_state(r, started), JOB_RUNNING);
        rig_pass(r, 1);
        assert_int_equal(rig_state(r, started), JOB_EXPIRED);
        rig_pass(r, 7000);
    }
}

static void a_name_follows_its_job_back(void **state)
{
    struct rig *r = *state;
    static const struct job_options none;
    struct slice body = SLICE_LIT("x"), name = SLICE_LIT("bill-7");
    struct add_params p = {.queue = SLICE_LIT("q"),
                           .payloads = &body,
                           .n = 1,
                           .name = name,
                           .options = &none};
    struct add_result a;
    assert_int_equal(rig_try_add(r, &p, &a), ERR_OK);
    assert_int_equal(manage(r, MANAGE_CANCEL, a.id), ERR_OK);
    assert_int_equal(
        rig_manage_name(r, (struct manage_params){.verb = MANAGE_RETRY}, name),
        ERR_OK);
    assert_int_equal(rig_try_add(r, &p, &a), ERR_EXISTS);
    assert_int_equal(
        rig_manage_name(r, (struct manage_params){.verb = MANAGE_DELETE}, name),
        ERR_OK);
    assert_int_equal(rig_try_add(r, &p, &a), ERR_OK);
    assert_int_equal(manage(r, MANAGE_CANCEL, a.id), ERR_OK);
    assert_int_equal(manage(r, MANAGE_DELETE, a.id), ERR_OK);
    assert_int_equal(rig_try_add(r, &p, &a), ERR_OK);
}

/* --- delete -------------------------------------------------------------- */

static void a_deleted_job_leaves_nothing(void **state)
{
    struct rig *r = *state;
    struct id waiting = rig_add(r, "q", "x", NULL).id;
    struct id done = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(manage(r, MANAGE_DELETE, waiting), ERR_OK);
    assert_int_equal(rig_state(r, waiting), 0);
    assert_int_equal(manage(r, MANAGE_DELETE, waiting), ERR_NOTFOUND);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(manage(r, MANAGE_DELETE, done), ERR_STATE);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(manage(r, MANAGE_DELETE, done), ERR_OK);
    assert_int_equal(rig_state(r, done), 0);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_NOTFOUND);
    assert_int_equal(count(r, JOB_COMPLETED), 0);
    assert_int_equal(r->events[EVENT_JOB_DELETED], 2);
    rig_restart(r);
    assert_int_equal(count(r, JOB_COMPLETED), 0);
}

/* --- update -------------------------------------------------------------- */

static void a_waiting_job_changes_its_place_and_its_payload(void **state)
{
    struct rig *r = *state;
    char big[2000];
    memset(big, 'p', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    rig_add(r, "q", "first", NULL);
    struct id id = rig_add(r, "q", "second", NULL).id;
    struct job_options o = {.given = GIVEN(PRIORITY) | GIVEN(HANDLER),
                            .priority = 900,
                            .handler = SLICE_LIT("h2")};
    assert_int_equal(rig_update(r, id, &o, big), ERR_OK);
    rig_restart(r);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_true(id_eq(&r->ids[0], &id));
    assert_string_equal(r->handler, "h2");
    assert_int_equal(strlen(r->payload), sizeof(r->payload) - 1);
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_STATE);
    assert_int_equal(rig_release(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_update(r, id, &o, "small"), ERR_OK);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_string_equal(r->payload, "small");
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_FINISHED);
}

/* The reply of a command that must wait for rows is not there yet: nor is what
 * it changes. */
static void a_change_that_waits_for_a_payload_makes_no_handler(void **state)
{
    struct rig *r = *state;
    char big[601], text[ID_TEXT_LEN];
    struct handler_view v;
    struct job_options o = {.given = GIVEN(HANDLER),
                            .handler = SLICE_LIT("new")};
    struct update_params p = {.options = &o};
    enum err rc;
    memset(big, 'p', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    r->generation_bytes = 4096; /* so that rows are in the base */
    rig_restart(r);
    struct id id = rig_add(r, "q", big, NULL).id;
    for (int i = 0; i < 20; i++)
        rig_add(r, "q", big, NULL);
    rig_restart(r);
    mem_knobs(r->disk)->pending_per_1000 = 1000;
    id_text(&id, text);
    p.job = slice_of(text, ID_TEXT_LEN);
    while ((rc = engine_update(r->engine, r->gather, &p, r->now, &r->err)) ==
           ERR_PENDING) {
        assert_int_equal(
            engine_handler(r->engine, o.handler, r->now, &v, &r->err),
            ERR_NOTFOUND);
        rig_fetch(r);
    }
    assert_int_equal(rc, ERR_OK);
    gather_release(r->gather);
    mem_knobs(r->disk)->pending_per_1000 = 0;
    rig_step(r);
    assert_int_equal(engine_handler(r->engine, o.handler, r->now, &v, &r->err),
                     ERR_OK);
}

static void a_job_is_put_off_and_brought_forward(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    struct job_options o = {.given = GIVEN(DELAY), .delay_ms = 60000};
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_OK);
    assert_int_equal(rig_state(r, id), JOB_SCHEDULED);
    o.delay_ms = 1000;
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_OK);
    rig_pass(r, 1000);
    assert_int_equal(rig_state(r, id), JOB_READY);
    assert_int_equal(manage(r, MANAGE_HOLD, id), ERR_OK);
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_OK);
    assert_int_equal(rig_state(r, id), JOB_HELD);
    assert_int_equal(manage(r, MANAGE_UNHOLD, id), ERR_OK);
    assert_int_equal(rig_state(r, id), JOB_SCHEDULED);
    o.delay_ms = 0;
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_OK);
    assert_int_equal(rig_lease(r, "q", 1), 1);
}

static void new_deadlines_take_the_place_of_the_old_ones(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(EXPIRES), .expires_ms = 1000};
    struct id id = rig_add(r, "q", "x", &o).id;
    o.expires_ms = 5000;
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_OK);
    rig_pass(r, 4999);
    assert_int_equal(rig_state(r, id), JOB_READY);
    rig_pass(r, 1);
    assert_int_equal(rig_state(r, id), JOB_EXPIRED);
}

static void
a_start_deadline_that_was_met_begins_anew_if_somebody_says_so(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(EXPIRES), .expires_ms = 1000};
    for (int retry = 0; retry < 2; retry++) {
        struct id id = rig_add(r, "q", "x", &o).id;
        assert_int_equal(rig_lease(r, "q", 1), 1);
        rig_pass(r, 1000);
        assert_int_equal(rig_release(r, r->token[0]), ERR_OK);
        rig_pass(r, 1000);
        assert_int_equal(rig_state(r, id), JOB_READY);
        if (retry) {
            assert_int_equal(manage(r, MANAGE_CANCEL, id), ERR_OK);
            assert_int_equal(manage(r, MANAGE_RETRY, id), ERR_OK);
        } else {
            assert_int_equal(rig_update(r, id, &o, NULL), ERR_OK);
        }
        rig_pass(r, 999);
        assert_int_equal(rig_state(r, id), JOB_READY);
        rig_pass(r, 1);
        assert_int_equal(rig_state(r, id), JOB_EXPIRED);
    }
}

static void what_cannot_be_changed_is_named(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    struct job_options o = {.given = GIVEN(UNIQUE), .unique = SLICE_LIT("u")};
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_SYNTAX);
    assert_non_null(strstr(r->err.text, "UNIQUE"));
    o.given = 0;
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_SYNTAX);
    o.given = GIVEN(DELAY) | GIVEN(AT);
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_SYNTAX);
    o.given = GIVEN(LEASE);
    o.lease_ms = UINT64_MAX;
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_LIMIT);
}

/* --- bad input ----------------------------------------------------------- */

static void words_that_name_no_job_are_refused_one_by_one(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    char text[ID_TEXT_LEN];
    id_text(&id, text);
    struct slice jobs[] = {SLICE_LIT("nobody"),
                           SLICE_LIT("01J8ZQ4W2H0000000000000001"),
                           SLICE_LIT("01J8ZQ4W2H0000000000000001#1.2"),
                           SLICE_EMPTY,
                           SLICE_LIT("a b"),
                           slice_of(text, ID_TEXT_LEN),
                           slice_of(text, ID_TEXT_LEN)};
    static const enum err wanted[] = {ERR_NOTFOUND, ERR_NOTFOUND, ERR_SYNTAX,
                                      ERR_SYNTAX,   ERR_SYNTAX,   ERR_OK,
                                      ERR_NOTFOUND};
    struct manage_params p = {.verb = MANAGE_DELETE, .jobs = jobs, .n = 7};
    rig_manage_all(r, &p);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(r->verdicts[i], wanted[i]);
    p.verb = MANAGE_CANCEL;
    p.has_force = true;
    p.force_ms = UINT64_MAX;
    assert_int_equal(rig_manage_all(r, &p), ERR_LIMIT);
}

/* --- lists --------------------------------------------------------------- */

#define LISTED 40

static uint64_t hurried_watch(void *ud)
{
    return *(uint64_t *)ud += 100; /* us pass between two looks */
}

static void on_answer(void *ud, uint32_t i, enum err rc, const char *why)
{
    (void)i;
    (void)why;
    assert_int_equal(rc, ERR_OK);
    ++*(uint32_t *)ud;
}

static void list_jobs(struct rig *r, char (*texts)[ID_TEXT_LEN],
                      struct slice *jobs)
{
    for (uint32_t i = 0; i < LISTED; i++) {
        struct id id = rig_add(r, "q", "x", NULL).id;
        id_text(&id, texts[i]);
        jobs[i] = slice_of(texts[i], ID_TEXT_LEN);
    }
}

static void a_list_is_cut_where_its_time_ends(void **state)
{
    struct rig *r = *state;
    uint64_t us = 0;
    char texts[LISTED][ID_TEXT_LEN];
    struct slice jobs[LISTED];
    uint32_t cut = 0, answers = 0, parts = 0, at = 0;
    list_jobs(r, texts, jobs);
    engine_set_watch(r->engine, hurried_watch, &us);
    for (; at < LISTED; at += cut, parts++) {
        struct manage_params p = {.verb = MANAGE_HOLD,
                                  .jobs = jobs + at,
                                  .n = LISTED - at,
                                  .cut = &cut};
        assert_int_equal(engine_manage(r->engine, r->gather, &p, r->now,
                                       on_answer, &answers, &r->err),
                         ERR_OK);
        assert_in_range(cut, 1, 12); /* 250 us are three looks */
        assert_int_equal(answers, at + cut);
        rig_step(r);
    }
    assert_true(parts > 2);
    assert_int_equal(count(r, JOB_HELD), LISTED);
    /* Without `cut`, time does not matter. */
    struct manage_params whole = {
        .verb = MANAGE_UNHOLD, .jobs = jobs, .n = LISTED};
    assert_int_equal(engine_manage(r->engine, r->gather, &whole, r->now,
                                   on_answer, &answers, &r->err),
                     ERR_OK);
    assert_int_equal(count(r, JOB_READY), LISTED);
    engine_set_watch(r->engine, NULL, NULL);
}

static uint64_t work_us;

static uint64_t work_watch(void *ud)
{
    (void)ud;
    return work_us;
}

static void on_hard_work(void *ud, uint32_t i, enum err rc, const char *why)
{
    on_answer(ud, i, rc, why);
    work_us += 300;
}

/* Looking them up took no time, so only doing it can be too long. */
static void a_list_is_cut_when_doing_it_takes_too_long(void **state)
{
    struct rig *r = *state;
    char texts[LISTED][ID_TEXT_LEN];
    struct slice jobs[LISTED];
    uint32_t cut = 0, answers = 0;
    struct manage_params p = {
        .verb = MANAGE_HOLD, .jobs = jobs, .n = LISTED, .cut = &cut};
    list_jobs(r, texts, jobs);
    engine_set_watch(r->engine, work_watch, NULL);
    assert_int_equal(engine_manage(r->engine, r->gather, &p, r->now,
                                   on_hard_work, &answers, &r->err),
                     ERR_OK);
    assert_int_equal(cut, 4); /* 1.2 ms */
    assert_int_equal(answers, cut);
    engine_set_watch(r->engine, NULL, NULL);
}

static void
a_list_that_may_be_cut_leaves_its_reading_to_the_reader(void **state)
{
    struct rig *r = *state;
    struct slice jobs[LISTED];
    struct store_stats before, after;
    uint32_t cut = 0;
    for (uint32_t i = 0; i < LISTED; i++)
        jobs[i] = SLICE_LIT("01J8ZQ4W2H0000000000000001"); /* never existed */
    struct manage_params p = {
        .verb = MANAGE_CANCEL, .jobs = jobs, .n = LISTED, .cut = &cut};
    store_get_stats(r->store, &before);
    enum err rc =
        engine_manage(r->engine, r->gather, &p, r->now, NULL, NULL, &r->err);
    assert_int_equal(rc, ERR_PENDING);
    assert_int_equal(cut, LISTED);
    store_get_stats(r->store, &after);
    assert_int_equal(after.base_reads, before.base_reads);
    gather_release(r->gather);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        T(a_waiting_job_is_cancelled_at_once),
        T(a_running_job_is_told_to_stop_with_its_next_renewal),
        T(a_job_that_is_done_in_spite_of_the_order_is_done),
        T(a_running_job_that_does_not_stop_is_ended_by_force),
        T(a_later_order_may_shorten_the_time),
        T(however_its_execution_ends_a_cancelled_job_does_not_run_again),
        T(a_delayed_job_can_be_made_ready),
        T(a_held_job_is_not_leased_until_it_is_let_go),
        T(a_held_job_goes_back_to_waiting_for_its_time),
        T(a_retrying_job_that_was_held_retries),
        T(a_dead_letter_is_taken_back_with_a_new_budget),
        T(a_unique_key_is_retaken_or_the_job_stays_dead),
        T(deadlines_of_a_job_taken_back_begin_anew),
        T(a_failed_job_taken_back_has_to_start_in_time),
        T(every_retry_gives_as_long_as_the_first_try_had),
        T(a_name_follows_its_job_back),
        T(a_deleted_job_leaves_nothing),
        T(a_waiting_job_changes_its_place_and_its_payload),
        T(a_change_that_waits_for_a_payload_makes_no_handler),
        T(a_job_is_put_off_and_brought_forward),
        T(new_deadlines_take_the_place_of_the_old_ones),
        T(a_start_deadline_that_was_met_begins_anew_if_somebody_says_so),
        T(what_cannot_be_changed_is_named),
        T(words_that_name_no_job_are_refused_one_by_one),
        T(a_list_is_cut_where_its_time_ends),
        T(a_list_is_cut_when_doing_it_takes_too_long),
        T(a_list_that_may_be_cut_leaves_its_reading_to_the_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
