/* Whoever has read rows lets them go: they hold the overlay. A gather that is
 * kept without need keeps all later generations, until reads are slow and
 * writes are refused. */
#include "rig.h"

static void fill(struct rig *r, int n)
{
    for (int i = 0; i < n; i++)
        rig_add(r, "q", "x", NULL);
}

/* Every row must be fetched. */
static void slow_disk(struct rig *r, bool slow)
{
    mem_knobs(r->disk)->pending_per_1000 = slow ? 1000 : 0;
}

static struct id cancel_all(struct rig *r)
{
    struct job_filter f = {.queue = SLICE_LIT("q")};
    struct bulk_params p = {.verb = MANAGE_CANCEL, .filter = &f};
    struct id id;
    r->now.wall_ms++;
    assert_int_equal(engine_bulk(r->engine, &p, r->now, &id, &r->err), ERR_OK);
    return id;
}

static void looking_ahead_lets_go_if_nothing_is_missing(void **state)
{
    struct rig *r = *state;
    mem_knobs(r->disk)->manual_apply = true;
    fill(r, 100);
    rig_restart(r); /* the lane knows keys only; the rows are in the overlay */
    assert_int_equal(rig_lease(r, "q", 80), 80);
    assert_false(store_idle_pins(r->store));
}

static void rows_for_a_chore_that_was_cancelled_are_let_go(void **state)
{
    struct rig *r = *state;
    char text[ID_TEXT_LEN];
    fill(r, 10);
    rig_pass(r, 1);
    struct id chore = cancel_all(r);
    slow_disk(r, true);
    (void)engine_tick(r->engine, r->now);
    id_text(&chore, text);
    assert_int_equal(engine_chore_cancel(r->engine,
                                         slice_of(text, sizeof(text)), r->now,
                                         &r->err),
                     ERR_OK);
    rig_step(r); /* now they come */
    assert_true(store_idle_pins(r->store));
    (void)engine_tick(r->engine, r->now);
    assert_false(store_idle_pins(r->store));
}

/* They may be what fills it. */
static void a_full_overlay_is_not_held_by_those_that_wait_for_room(void **state)
{
    struct rig *r = *state;
    fill(r, 10);
    struct id chore = cancel_all(r);
    slow_disk(r, true);
    r->now.mono_ms += 3600 * 1000; /* the schedules are looked over, too */
    r->now.wall_ms += 3600 * 1000;
    (void)engine_tick(r->engine, r->now);
    rig_step(r);
    assert_true(store_idle_pins(r->store));
    mem_knobs(r->disk)->room = STORE_FULL;
    (void)engine_reap(r->engine, r->now);
    (void)engine_tick(r->engine, r->now);
    assert_false(store_idle_pins(r->store));
    assert_int_equal(rig_chore(r, chore).done, 0);
    /* Nothing can be done, so nobody has to look all the time; but soon, for
     * nothing tells that there is room, nor that rows have come meanwhile. */
    assert_in_range(engine_next_ms(r->engine, r->now), r->now.mono_ms + 1,
                    r->now.mono_ms + 1000);
    r->now.mono_ms += 1000;
    assert_in_range(engine_next_ms(r->engine, r->now), 0, r->now.mono_ms);
    mem_knobs(r->disk)->room = STORE_ROOM;
    slow_disk(r, false);
    rig_until_done(r, chore);
}

/* The fetch for it was dropped, and no timer ever ran again. */
static void a_session_ends_with_a_told_job_whose_rows_are_missing(void **state)
{
    struct rig *r = *state;
    struct slice q = slice_str("q");
    bool first;
    struct lease_params p = {
        .queues = &q, .queues_n = 1, .count = 1, .session = slice_str("s")};
    struct id id = rig_add(r, "q", "x", NULL).id;
    engine_session_attach(r->engine, p.session, 1);
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    /* Its end looks for effects, and those are nowhere. */
    assert_int_equal(engine_effect(r->engine, NULL, r->token[0],
                                   SLICE_LIT("once"), r->now, &first, &r->err),
                     ERR_OK);
    struct manage_params cancel = {.verb = MANAGE_CANCEL};
    assert_int_equal(rig_manage(r, cancel, &id, 1), ERR_OK);
    engine_client_gone(r->engine, 1, r->now);
    slow_disk(r, true);
    r->now.mono_ms += 3000;
    r->now.wall_ms += 3000;
    for (int i = 0; i < 20; i++) {
        (void)engine_reap(r->engine, r->now);
        (void)engine_tick(r->engine, r->now);
        rig_step(r);
    }
    slow_disk(r, false);
    assert_int_equal(rig_state(r, id), JOB_CANCELLED);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(looking_ahead_lets_go_if_nothing_is_missing),
        TEST(rows_for_a_chore_that_was_cancelled_are_let_go),
        TEST(a_full_overlay_is_not_held_by_those_that_wait_for_room),
        TEST(a_session_ends_with_a_told_job_whose_rows_are_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
