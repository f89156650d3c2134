/* Handlers: defaults, checks, rules for errors, pause, and the breaker. */
#include "engine/handlers.h"

#include "rig.h"

static enum err set(struct rig *r, struct handler_params p)
{
    static const struct job_options none;
    if (p.options == NULL)
        p.options = &none;
    enum err rc =
        engine_handler_set(r->engine, slice_str("h"), &p, r->now, &r->err);
    rig_step(r);
    return rc;
}

static struct handler_view view(struct rig *r)
{
    struct handler_view v;
    assert_int_equal(
        engine_handler(r->engine, slice_str("h"), r->now, &v, &r->err), ERR_OK);
    return v;
}

static struct add_result add(struct rig *r, const char *payload)
{
    struct job_options o = {.given = GIVEN(HANDLER), .handler = slice_str("h")};
    return rig_add(r, "q", payload, &o);
}

static enum err try_add(struct rig *r, const char *payload,
                        const struct job_options *o)
{
    struct slice text = slice_str(payload);
    struct add_result result;
    struct add_params p = {
        .queue = slice_str("h"), .payloads = &text, .n = 1, .options = o};
    return rig_try_add(r, &p, &result);
}

/* The next job of q fails with this type. */
static enum job_state fail_one(struct rig *r, const char *type, bool permanent)
{
    struct nack_params p = {.type = slice_str(type), .permanent = permanent};
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct slice token = r->token[0];
    struct id id = r->ids[0];
    p.tokens = &token;
    p.n = 1;
    assert_int_equal(rig_nack_with(r, p), ERR_OK);
    return rig_state(r, id);
}

static void defaults_count_where_the_job_says_nothing(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(LEASE) | GIVEN(DELAY),
                            .lease_ms = 7000,
                            .delay_ms = 100};
    assert_int_equal(set(r, (struct handler_params){.options = &o}), ERR_OK);
    rig_restart(r);
    assert_int_equal(add(r, "x").state, JOB_SCHEDULED);
    rig_pass(r, 100);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(r->lease_ms, 7000);
    struct job_options own = {.given = GIVEN(HANDLER) | GIVEN(AT),
                              .handler = slice_str("h"),
                              .at_ms = 1};
    assert_int_equal(rig_add(r, "q", "y", &own).state, JOB_READY);
}

static void a_default_of_one_job_is_refused_by_name(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(AT), .at_ms = 1};
    assert_int_equal(set(r, (struct handler_params){.options = &o}),
                     ERR_SYNTAX);
    assert_non_null(strstr(r->err.text, "AT"));
    struct job_options pair = {.given = GIVEN(WHILE) | GIVEN(FOR),
                               .for_ms = 1000};
    assert_int_equal(set(r, (struct handler_params){.options = &pair}),
                     ERR_SYNTAX);
    assert_non_null(strstr(r->err.text, "WHILE and FOR"));
}

static void a_default_may_wait_for_the_word_that_it_needs(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(DEBOUNCE) | GIVEN(SCOPE) |
                                     GIVEN(WHILE) | GIVEN(COST) | GIVEN(SLA),
                            .debounce_ms = 1000,
                            .scope = SCOPE_GLOBAL,
                            .unique_while = WHILE_WAITING,
                            .cost = 3};
    assert_int_equal(set(r, (struct handler_params){.options = &o}), ERR_OK);
    rig_restart(r);
    assert_int_equal(add(r, "x").state, JOB_READY);
    struct job_options own = {.given = GIVEN(HANDLER) | GIVEN(UNIQUE),
                              .handler = slice_str("h"),
                              .unique = slice_str("u")};
    struct id id = rig_add(r, "q", "y", &own).id;
    assert_int_equal(rig_state(r, id), JOB_SCHEDULED);
    struct id again = rig_add(r, "q", "z", &own).id;
    assert_true(id_eq(&again, &id));
    /* What the job itself says needs the other word as ever. */
    struct job_options lone = {.given = GIVEN(HANDLER) | GIVEN(CONFLICT),
                               .handler = slice_str("h")};
    struct slice text = slice_str("x");
    struct add_params p = {
        .queue = slice_str("q"), .payloads = &text, .n = 1, .options = &lone};
    struct add_result result;
    assert_int_equal(rig_try_add(r, &p, &result), ERR_SYNTAX);
    assert_string_equal(r->err.text, "CONFLICT needs UNIQUE");
}

static void settings_merge_until_they_are_cleared(void **state)
{
    struct rig *r = *state;
    struct job_options a = {.given = GIVEN(RETRIES), .retries = 9};
    struct job_options b = {.given = GIVEN(PRIORITY), .priority = 7};
    assert_int_equal(
        set(r, (struct handler_params){.given = HSET_DESCRIPTION,
                                       .description = slice_str("mail"),
                                       .options = &a}),
        ERR_OK);
    assert_int_equal(set(r, (struct handler_params){.options = &b}), ERR_OK);
    struct handler_view v = view(r);
    assert_int_equal(v.defaults->given, GIVEN(RETRIES) | GIVEN(PRIORITY));
    assert_int_equal(v.defaults->retries, 9);
    assert_true(slice_is(v.description, "mail"));
    assert_int_equal(set(r, (struct handler_params){.clear = true}), ERR_OK);
    v = view(r);
    assert_null(v.defaults);
    assert_int_equal(v.description.len, 0);
}

static void payloads_are_checked(void **state)
{
    struct rig *r = *state;
    struct job_options o = {0};
    assert_int_equal(
        set(r, (struct handler_params){.given = HSET_CHECK | HSET_MAX,
                                       .check = CHECK_JSON,
                                       .payload_max = 10}),
        ERR_OK);
    assert_int_equal(try_add(r, "{\"a\":1}", &o), ERR_OK);
    assert_int_equal(try_add(r, "{\"a\":", &o), ERR_SYNTAX);
    assert_int_equal(try_add(r, "", &o), ERR_SYNTAX);
    assert_int_equal(try_add(r, "\"0123456789\"", &o), ERR_LIMIT);
}

static void types_of_error_decide_about_a_retry(void **state)
{
    struct rig *r = *state;
    struct slice never[] = {SLICE_LIT("Bad*")}, only[] = {SLICE_LIT("Http*")};
    assert_int_equal(set(r, (struct handler_params){.given = HSET_NEVER,
                                                    .never = never,
                                                    .never_n = 1}),
                     ERR_OK);
    add(r, "1");
    assert_int_equal(fail_one(r, "BadInput", false), JOB_FAILED);
    add(r, "2");
    assert_int_equal(fail_one(r, "Other", false), JOB_RETRYING);
    assert_int_equal(set(r, (struct handler_params){.given = HSET_ONLY,
                                                    .only = only,
                                                    .only_n = 1}),
                     ERR_OK);
    add(r, "3");
    assert_int_equal(fail_one(r, "Other", false), JOB_FAILED);
    add(r, "4");
    assert_int_equal(fail_one(r, "HttpError", false), JOB_RETRYING);
}

static void a_paused_handler_leases_nothing_also_after_a_start(void **state)
{
    struct rig *r = *state;
    struct slice h = slice_str("h");
    add(r, "1");
    assert_int_equal(engine_handler_pause(r->engine, h, true, r->now, &r->err),
                     ERR_OK);
    rig_step(r);
    assert_int_equal(rig_lease(r, "q", 1), 0);
    rig_restart(r);
    assert_int_equal(rig_lease(r, "q", 1), 0);
    assert_int_equal(engine_handler_pause(r->engine, h, false, r->now, &r->err),
                     ERR_OK);
    assert_int_equal(r->events[EVENT_HANDLER_RESUMED], 1);
    assert_int_equal(rig_lease(r, "q", 1), 1);
}

/* --- the breaker --------------------------------------------------------- */

static void breaker_on(struct rig *r)
{
    struct job_options o = {.given = GIVEN(BASE) | GIVEN(BACKOFF),
                            .base_ms = 3600 * 1000,
                            .backoff = BACKOFF_FIXED};
    assert_int_equal(set(r, (struct handler_params){.given = HSET_BREAKER,
                                                    .breaker = true,
                                                    .options = &o}),
                     ERR_OK);
}

static void fail_some(struct rig *r, int n)
{
    for (int i = 0; i < n; i++) {
        add(r, "x");
        fail_one(r, "E", false);
    }
}

static void five_failures_open_it_and_thirty_seconds_probe_it(void **state)
{
    struct rig *r = *state;
    breaker_on(r);
    fail_some(r, 4);
    assert_int_equal(view(r).breaker.state, BREAKER_CLOSED);
    assert_int_equal(view(r).breaker.bad, 4);
    fail_some(r, 1);
    assert_int_equal(view(r).breaker.state, BREAKER_OPEN);
    assert_int_equal(r->events[EVENT_BREAKER_OPENED], 1);
    for (int i = 0; i < 10; i++)
        add(r, "y");
    assert_int_equal(rig_lease(r, "q", 10), 0);
    rig_pass(r, 29999);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    rig_pass(r, 1);
    assert_int_equal(view(r).breaker.state, BREAKER_HALF_OPEN);
    /* Each probe that ends well lets one more run beside. */
    for (uint32_t round = 1, done = 0; done < 5; round++) {
        uint32_t n = rig_lease(r, "q", 10);
        assert_int_equal(n, done + 1);
        for (uint32_t i = 0; i < n && done < 5; i++, done++)
            assert_int_equal(rig_ack(r, r->token[i]), ERR_OK);
        if (done < 5)
            assert_int_equal(view(r).breaker.probing, 0);
    }
    assert_int_equal(view(r).breaker.state, BREAKER_CLOSED);
    assert_int_equal(r->events[EVENT_BREAKER_CLOSED], 1);
}

static void permanent_errors_and_good_ends_do_not_open_it(void **state)
{
    struct rig *r = *state;
    breaker_on(r);
    for (int i = 0; i < 20; i++) {
        add(r, "x");
        fail_one(r, "E", true);
    }
    for (int i = 0; i < 6; i++) {
        add(r, "x");
        assert_int_equal(rig_lease(r, "q", 1), 1);
        assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    }
    fail_some(r, 5); /* 5 of 11 */
    assert_int_equal(view(r).breaker.state, BREAKER_CLOSED);
    fail_some(r, 1); /* 6 of 12 */
    assert_int_equal(view(r).breaker.state, BREAKER_OPEN);
}

static void old_failures_are_forgotten(void **state)
{
    struct rig *r = *state;
    breaker_on(r);
    fail_some(r, 4);
    rig_pass(r, 61000);
    fail_some(r, 4);
    assert_int_equal(view(r).breaker.state, BREAKER_CLOSED);
    assert_int_equal(view(r).breaker.bad, 4);
}

static void what_began_before_it_opened_counts_nowhere(void **state)
{
    struct rig *r = *state;
    struct slice old;
    char text[64];
    breaker_on(r);
    add(r, "old");
    assert_int_equal(rig_lease(r, "q", 1), 1);
    old = slice_of(memcpy(text, r->token[0].data, r->token[0].len),
                   r->token[0].len);
    fail_some(r, 5);
    rig_pass(r, 30000 - 1);
    add(r, "probe");
    rig_pass(r, 1);
    assert_int_equal(view(r).breaker.state, BREAKER_HALF_OPEN);
    /* The old lease expired meanwhile; whatever it was, the probe goes on. */
    rig_nack(r, old);
    assert_int_equal(view(r).breaker.state, BREAKER_HALF_OPEN);
    assert_int_equal(rig_lease(r, "q", 5), 1);
}

static void
a_lost_probe_opens_it_again_and_a_released_one_is_repeated(void **state)
{
    struct rig *r = *state;
    breaker_on(r);
    fail_some(r, 5);
    add(r, "probe");
    rig_pass(r, 30000);
    assert_int_equal(rig_lease(r, "q", 5), 1);
    assert_int_equal(rig_release(r, r->token[0]), ERR_OK);
    assert_int_equal(view(r).breaker.state, BREAKER_HALF_OPEN);
    assert_int_equal(rig_lease(r, "q", 5), 1);
    rig_pass(r, 30000);
    assert_int_equal(view(r).breaker.state, BREAKER_OPEN);
    assert_int_equal(view(r).breaker.trips, 2);
}

static void a_start_keeps_it_open_and_knows_its_probes(void **state)
{
    struct rig *r = *state;
    breaker_on(r);
    fail_some(r, 5);
    add(r, "a");
    add(r, "b");
    rig_restart(r);
    assert_int_equal(view(r).breaker.state, BREAKER_OPEN);
    assert_int_equal(rig_lease(r, "q", 5), 0);
    rig_pass(r, 30000);
    assert_int_equal(rig_lease(r, "q", 5), 1);
    rig_restart(r);
    assert_int_equal(view(r).breaker.state, BREAKER_HALF_OPEN);
    assert_int_equal(view(r).breaker.probing, 1);
    assert_int_equal(rig_lease(r, "q", 5), 0);
}

static void a_clock_that_steps_back_confuses_no_outcome(void **state)
{
    struct rig *r = *state;
    breaker_on(r);
    fail_some(r, 5);
    for (int i = 0; i < 5; i++)
        add(r, "probe");
    rig_pass(r, 30000);
    assert_int_equal(view(r).breaker.state, BREAKER_HALF_OPEN);
    r->now.wall_ms -= 5;
    for (int i = 0; i < 5; i++) {
        assert_true(rig_lease(r, "q", 1) == 1);
        assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
        assert_int_equal(view(r).breaker.probing, 0);
    }
    assert_int_equal(view(r).breaker.state, BREAKER_CLOSED);
    r->now.wall_ms -= 3600 * 1000;
    fail_some(r, 5);
    assert_int_equal(view(r).breaker.state, BREAKER_OPEN);
}

static void it_is_tripped_and_reset_by_hand(void **state)
{
    struct rig *r = *state;
    struct slice h = slice_str("h");
    add(r, "x");
    assert_int_equal(engine_breaker_trip(r->engine, h, 0, r->now, &r->err),
                     ERR_STATE);
    breaker_on(r);
    assert_int_equal(engine_breaker_trip(r->engine, h, 5000, r->now, &r->err),
                     ERR_OK);
    rig_step(r);
    assert_int_equal(rig_lease(r, "q", 5), 0);
    assert_int_equal(engine_breaker_reset(r->engine, h, r->now, &r->err),
                     ERR_OK);
    rig_step(r);
    rig_pass(r, 10000); /* its row in due is gone: nothing half opens it */
    assert_int_equal(view(r).breaker.state, BREAKER_CLOSED);
    assert_int_equal(rig_lease(r, "q", 5), 1);
    assert_int_equal(
        engine_breaker_reset(r->engine, slice_str("?"), r->now, &r->err),
        ERR_NOTFOUND);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(defaults_count_where_the_job_says_nothing),
        T(a_default_of_one_job_is_refused_by_name),
        T(a_default_may_wait_for_the_word_that_it_needs),
        T(settings_merge_until_they_are_cleared),
        T(payloads_are_checked),
        T(types_of_error_decide_about_a_retry),
        T(a_paused_handler_leases_nothing_also_after_a_start),
        T(five_failures_open_it_and_thirty_seconds_probe_it),
        T(permanent_errors_and_good_ends_do_not_open_it),
        T(old_failures_are_forgotten),
        T(what_began_before_it_opened_counts_nowhere),
        T(a_lost_probe_opens_it_again_and_a_released_one_is_repeated),
        T(a_start_keeps_it_open_and_knows_its_probes),
        T(a_clock_that_steps_back_confuses_no_outcome),
        T(it_is_tripped_and_reset_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
