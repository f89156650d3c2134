/* Why a job does not run: its place in line, and when that may change. */
#include "engine/handlers.h"

#include "rig.h"
#include "util/rng.h"

#include <stdio.h>

#define IN_10S .given = GIVEN(DEADLINE), .deadline_ms = 10000

static void manage(struct rig *r, struct manage_params p, struct id id)
{
    assert_int_equal(rig_manage(r, p, &id, 1), ERR_OK);
}

/* --- when it changes ------------------------------------------------------ */

/* It does, then and not before; the wall clock and the leases' run alike. */
static void changes_in(struct rig *r, struct id id, uint64_t ms)
{
    enum job_state was = rig_state(r, id);
    assert_int_equal(rig_why(r, id).changes_ms, r->now.wall_ms + ms);
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
    assert_true(slice_is(rig_why(r, id).reason, "running"));
    assert_int_equal(rig_why(r, id).changes_ms, r->now.wall_ms + 30000);
    manage(r, p, id);
    assert_true(slice_is(rig_why(r, id).reason, "cancelling"));
    assert_string_equal(rig_why(r, id).text,
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
    assert_int_equal(rig_why(r, id).changes_ms, r->now.wall_ms + 30000);
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
    assert_int_equal(rig_why(r, again).changes_ms, r->now.wall_ms + 10000);
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
    assert_int_equal(rig_why(r, retrying).start_estimate_ms, 60000);
    changes_in(r, retrying, 10000);
}

/* --- its place where owners take turns ------------------------------------ */

#define OWNERS 6
#define JOBS_MAX 400

static struct id add_for(struct rig *r, const char *owner)
{
    struct job_options o = {.given = GIVEN(OWNER), .owner = slice_str(owner)};
    return rig_add(r, "q", "x", &o).id;
}

static void owners_of_a_fair_queue_are_told_their_turns(void **state)
{
    struct rig *r = *state;
    struct id ids[6];
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    for (int i = 0; i < 6; i++)
        ids[i] = add_for(r, i < 3 ? "a" : "b");
    static const uint64_t places[] = {1, 3, 5, 2, 4, 6};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(rig_why(r, ids[i]).place, places[i]);
        assert_true(rig_why(r, ids[i]).place_exact);
    }
    assert_true(slice_is(rig_why(r, ids[0]).reason, "no worker"));
}

struct line {
    struct rng rng;
    struct id ids[JOBS_MAX];
    uint32_t n;
};

static uint64_t any(struct line *l, uint64_t below)
{
    return rng_below(&l->rng, below);
}

/* With two handlers those of one owner come at different times, or nobody knew
 * which of two comes first. */
static void fill(struct rig *r, struct line *l, uint32_t n, bool handlers)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    static const uint32_t costs[] = {1, 1, 3, 10};
    for (uint32_t i = 0; i < n; i++) {
        struct job_options o = {.given = GIVEN(OWNER) | GIVEN(PRIORITY) |
                                         GIVEN(COST) | GIVEN(HANDLER),
                                .owner = slice_str(names[any(l, OWNERS)]),
                                .handler = handlers && any(l, 3) == 0
                                               ? SLICE_LIT("h")
                                               : SLICE_LIT("q"),
                                .priority = 500 + (uint32_t)any(l, 3) / 2,
                                .cost = costs[any(l, 4)]};
        (void)rig_add(r, "q", "x", &o);
        if (handlers || any(l, 4) == 0)
            rig_pass(r, 1);
    }
}

static void keep_id(void *ud, const struct job_view *v)
{
    struct line *l = ud;
    if (v->state == JOB_READY)
        l->ids[l->n++] = v->id;
}

static void find_all(struct rig *r, struct line *l)
{
    struct job_filter f = {.queue = SLICE_LIT("q")};
    struct list_params p = {.filter = &f, .count = JOBS_MAX};
    struct list_result result;
    l->n = 0;
    assert_int_equal(
        engine_list(r->engine, NULL, &p, r->now, keep_id, l, &result, &r->err),
        ERR_OK);
}

static void weigh(struct rig *r, struct line *l)
{
    static const uint32_t weights[] = {1, 2, 5};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    for (int i = 0; i < OWNERS; i++)
        rig_weigh(r, names[i], weights[any(l, 3)]);
}

/* All places are told, then all jobs are leased, one at a time. */
static void as_told(struct rig *r, struct line *l)
{
    uint64_t places[JOBS_MAX];
    find_all(r, l);
    for (uint32_t i = 0; i < l->n; i++) {
        struct why_view v = rig_why(r, l->ids[i]);
        assert_true(v.place_exact);
        places[i] = v.place;
    }
    for (uint32_t served = 1; served <= l->n; served++) {
        uint32_t i = 0;
        assert_int_equal(rig_lease(r, "q", 1), 1);
        while (!id_eq(&l->ids[i], &r->ids[0]))
            i++;
        assert_int_equal(places[i], served);
        assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    }
}

static void jobs_are_leased_in_the_order_of_their_places(void **state)
{
    struct rig *r = *state;
    struct slice h = SLICE_LIT("h");
    r->check = false; /* a recount a job: too long */
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct line l;
        rng_seed(&l.rng, seed);
        bool handlers = seed % 2 == 0, aging = seed % 4 == 1;
        rig_set(r, (struct queue_settings){.has_fair = true,
                                           .fair = true,
                                           .has_order = true,
                                           .order = aging,
                                           .has_age = aging,
                                           .age_ms = 10});
        weigh(r, &l);
        /* Somewhere in the middle of their turns, and with other weights. */
        fill(r, &l, 20 + (uint32_t)any(&l, 60), handlers);
        if (handlers)
            assert_int_equal(
                engine_handler_pause(r->engine, h, true, r->now, &r->err),
                ERR_OK);
        (void)rig_lease(r, "q", (uint32_t)any(&l, 20));
        for (uint32_t i = 0; i < r->n; i++)
            (void)rig_ack(r, slice_str(r->tokens[i]));
        if (handlers)
            assert_int_equal(
                engine_handler_pause(r->engine, h, false, r->now, &r->err),
                ERR_OK);
        weigh(r, &l);
        fill(r, &l, (uint32_t)any(&l, 60), handlers);
        as_told(r, &l);
    }
    r->check = true;
    rig_step(r);
}

static void
a_place_is_at_least_that_where_others_may_not_be_leased(void **state)
{
    struct rig *r = *state;
    struct slice h = SLICE_LIT("h");
    struct job_options o = {.given = GIVEN(OWNER) | GIVEN(HANDLER),
                            .owner = SLICE_LIT("a"),
                            .handler = h};
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    struct id a = rig_add(r, "q", "x", &o).id, b = add_for(r, "b");
    assert_int_equal(rig_why(r, b).place, 2);
    /* One that is not served has no turns, and no place. */
    assert_int_equal(engine_handler_pause(r->engine, h, true, r->now, &r->err),
                     ERR_OK);
    assert_int_equal(rig_why(r, b).place, 1);
    assert_true(rig_why(r, b).place_exact);
    assert_false(rig_why(r, a).place_exact);
    assert_int_equal(engine_handler_pause(r->engine, h, false, r->now, &r->err),
                     ERR_OK);
    assert_true(rig_why(r, a).place_exact);
    /* A name may hold the first one back: who is before whom then? */
    o = (struct job_options){.given = GIVEN(OWNER) | GIVEN(LIMIT),
                             .owner = SLICE_LIT("c"),
                             .limits = {SLICE_LIT("api")},
                             .limits_n = 1};
    (void)rig_add(r, "q", "x", &o);
    struct id last = add_for(r, "b");
    assert_false(rig_why(r, last).place_exact);
    assert_int_equal(rig_why(r, last).place, 2);
    /* What is only on disk. */
    rig_restart(r);
    assert_false(rig_why(r, b).place_exact);
    assert_int_equal(rig_why(r, b).place, 1);
}

/* However many those are, they cost nothing. */
static void owners_who_are_not_served_leave_places_exact(void **state)
{
    struct rig *r = *state;
    char name[16];
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "h%d", i);
        struct job_options o = {.given = GIVEN(OWNER) | GIVEN(HANDLER),
                                .owner = SLICE_LIT("a"),
                                .handler = slice_str(name)};
        (void)rig_add(r, "q", "x", &o);
        assert_int_equal(engine_handler_pause(r->engine, slice_str(name), true,
                                              r->now, &r->err),
                         ERR_OK);
    }
    struct id first = add_for(r, "b"), second = add_for(r, "c");
    assert_int_equal(rig_why(r, second).place, 2);
    assert_true(rig_why(r, second).place_exact);
    assert_int_equal(rig_why(r, first).place, 1);
    assert_true(rig_why(r, first).place_exact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
        T(what_was_told_to_stop_changes_when_it_is_forced),
        T(a_running_job_changes_with_the_first_of_its_clocks),
        T(a_waiting_job_changes_when_its_time_is_over),
        T(owners_of_a_fair_queue_are_told_their_turns),
        T(jobs_are_leased_in_the_order_of_their_places),
        T(a_place_is_at_least_that_where_others_may_not_be_leased),
        T(owners_who_are_not_served_leave_places_exact),
#undef T
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
