/* Limits: names with slots and rates, and jobs parked under them. */
#include "rig.h"

#include <stdio.h>
#include <string.h>

#include "engine/handlers.h"
#include "engine/rate.h"

static void set_rule(struct rig *r, const char *pattern, uint32_t concurrency,
                     uint64_t n, uint64_t per_ms, uint64_t burst)
{
    struct limit_rule s = {.has_concurrency = true,
                           .concurrency = concurrency,
                           .has_rate = true,
                           .has_burst = burst > 0,
                           .rate = {n, per_ms, burst}};
    assert_int_equal(
        engine_limit_set(r->engine, slice_str(pattern), &s, r->now, &r->err),
        ERR_OK);
    rig_pass(r, 0);
}

static struct id add_named(struct rig *r, const char *queue, const char *a,
                           const char *b)
{
    struct job_options o = {.given = GIVEN(LIMIT), .limits_n = 1};
    o.limits[0] = slice_str(a);
    if (b != NULL)
        o.limits[o.limits_n++] = slice_str(b);
    return rig_add(r, queue, "x", &o).id;
}

static struct limit_view limit(struct rig *r, const char *name)
{
    struct limit_view v;
    assert_int_equal(
        engine_limit(r->engine, slice_str(name), r->now, &v, &r->err), ERR_OK);
    return v;
}

static void ack_all(struct rig *r)
{
    static struct rig copy;
    memcpy(copy.tokens, r->tokens, sizeof(copy.tokens));
    uint32_t n = r->n;
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(rig_ack(r, slice_str(r->tokens[i])), ERR_OK);
}

static void a_full_name_parks_jobs_and_lets_others_pass(void **state)
{
    struct rig *r = *state;
    set_rule(r, "api:*", 1, 0, 0, 0);
    struct id first = add_named(r, "q", "api:a", NULL);
    struct id second = add_named(r, "q", "api:a", NULL);
    struct id third = add_named(r, "q", "api:b", NULL);
    assert_int_equal(rig_lease(r, "q", 10), 2);
    assert_true(id_eq(&r->ids[0], &first));
    assert_true(id_eq(&r->ids[1], &third));
    assert_int_equal(rig_state(r, second), JOB_PARKED);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_PARKED], 1);
    assert_int_equal(limit(r, "api:a").running, 1);
    assert_true(limit(r, "api:a").full);
    assert_int_equal(limit(r, "api:a").parked, 1);
    assert_string_equal(rig_why(r, second).text,
                        "api:a has 1 of 1 slots in use");
    /* A newcomer goes there at once. */
    struct id fourth = add_named(r, "q", "api:a", NULL);
    assert_int_equal(rig_state(r, fourth), JOB_PARKED);
    assert_int_equal(rig_why(r, fourth).place, 2);
    assert_true(rig_why(r, fourth).place_exact);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_lease(r, "q", 10), 1);
    assert_true(id_eq(&r->ids[0], &second));
}

/* Whichever handler it has, and as far as that is told by one queue. */
static void a_place_behind_a_full_name_counts_all_who_wait_for_it(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(LIMIT) | GIVEN(HANDLER),
                            .limits = {SLICE_LIT("api")},
                            .limits_n = 1,
                            .handler = SLICE_LIT("h")};
    rig_pass(r, 0); /* the scan at start, before which no place is known */
    set_rule(r, "api", 1, 0, 0, 0);
    add_named(r, "q", "api", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    for (int i = 0; i < 3; i++)
        add_named(r, "q", "api", NULL);
    struct id other = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_why(r, other).place, 4);
    assert_true(rig_why(r, other).place_exact);
    /* When a slot is free nobody knows. */
    assert_int_equal(rig_why(r, other).start_estimate_ms, -1);
    struct id elsewhere = rig_add(r, "other", "x", &o).id;
    assert_int_equal(rig_why(r, elsewhere).place, 1);
    assert_false(rig_why(r, elsewhere).place_exact);
    assert_int_equal(rig_why(r, other).place, 4);
    assert_false(rig_why(r, other).place_exact);
}

/* It is moved under the name only when somebody asks for it. */
static void a_ready_job_names_the_limit_that_became_full(void **state)
{
    struct rig *r = *state;
    set_rule(r, "api", 1, 0, 0, 0);
    add_named(r, "q", "api", NULL);
    struct id second = add_named(r, "q", "api", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_state(r, second), JOB_READY);
    assert_true(slice_is(rig_why(r, second).reason, "limit"));
    assert_true(slice_is(rig_why(r, second).name, "api"));
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_true(slice_is(rig_why(r, second).reason, "no worker"));
}

static void
a_parked_job_whose_name_is_open_names_what_else_is_full(void **state)
{
    struct rig *r = *state;
    struct queue_settings one = {.has_concurrency = true, .concurrency = 1};
    char token[64];
    rig_pass(r, 0);
    set_rule(r, "*", 1, 0, 0, 0);
    add_named(r, "other", "a", NULL);
    assert_int_equal(rig_lease(r, "other", 1), 1);
    struct id both = add_named(r, "q", "a", "b");
    assert_true(slice_is(rig_why(r, both).name, "a"));
    memcpy(token, r->tokens[0], sizeof(token));
    add_named(r, "other", "b", NULL);
    assert_int_equal(rig_lease(r, "other", 1), 1);
    assert_int_equal(rig_ack(r, slice_str(token)), ERR_OK);
    assert_true(slice_is(rig_why(r, both).name, "b"));
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_true(slice_is(rig_why(r, both).reason, "in line"));
    assert_int_equal(
        engine_queue_set(r->engine, SLICE_LIT("q"), &one, r->now, &r->err),
        ERR_OK);
    rig_add(r, "q", "x",
            &(struct job_options){.given = GIVEN(PRIORITY), .priority = 900});
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_true(slice_is(rig_why(r, both).reason, "queue limit"));
}

static void slots_are_counted_again_after_a_restart(void **state)
{
    struct rig *r = *state;
    set_rule(r, "db", 2, 0, 0, 0);
    for (int i = 0; i < 5; i++)
        add_named(r, "q", "db", NULL);
    assert_int_equal(rig_lease(r, "q", 10), 2);
    rig_restart(r);
    rig_pass(r, 0);
    assert_int_equal(limit(r, "db").running, 2);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_PARKED], 3);
    set_rule(r, "db", 3, 0, 0, 0);
    assert_int_equal(rig_lease(r, "q", 10), 1);
    assert_int_equal(
        engine_limit_del(r->engine, slice_str("db"), r->now, &r->err), ERR_OK);
    rig_pass(r, 0);
    assert_int_equal(rig_lease(r, "q", 10), 2);
}

static void a_rate_opens_by_itself(void **state)
{
    struct rig *r = *state;
    set_rule(r, "mail", 0, 10, 1000, 2);
    for (int i = 0; i < 6; i++)
        add_named(r, "q", "mail", NULL);
    assert_int_equal(rig_lease(r, "q", 10), 2);
    assert_int_equal(engine_next_ms(r->engine, r->now), r->now.mono_ms + 100);
    rig_pass(r, 99);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    rig_pass(r, 1);
    assert_int_equal(rig_lease(r, "q", 10), 1);
    /* Its time is known again after a crash. */
    rig_restart(r);
    rig_pass(r, 99);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    rig_pass(r, 1);
    assert_int_equal(rig_lease(r, "q", 10), 1);
    rig_pass(r, 10000);
    assert_int_equal(rig_lease(r, "q", 10), 2);
}

static void cost_takes_as_much_of_the_rate(void **state)
{
    struct rig *r = *state;
    set_rule(r, "tokens", 0, 100, 1000, 100);
    struct job_options o = {
        .given = GIVEN(LIMIT) | GIVEN(COST), .limits_n = 1, .cost = 60};
    o.limits[0] = slice_str("tokens");
    rig_add(r, "q", "x", &o);
    rig_add(r, "q", "x", &o);
    assert_int_equal(rig_lease(r, "q", 10), 1);
    rig_pass(r, 199);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    rig_pass(r, 1);
    assert_int_equal(rig_lease(r, "q", 10), 1);
}

static void a_worker_may_close_a_name_for_a_while(void **state)
{
    struct rig *r = *state;
    struct id id = add_named(r, "q", "api", NULL);
    add_named(r, "q", "api", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct nack_params p = {.tokens = &r->token[0],
                            .n = 1,
                            .snooze = true,
                            .close = SLICE_LIT("api"),
                            .close_ms = r->now.wall_ms + 30000};
    assert_int_equal(rig_nack_with(r, p), ERR_OK);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    assert_int_equal(rig_state(r, id), JOB_PARKED);
    assert_int_equal(limit(r, "api").opens_ms, r->now.wall_ms + 30000);
    assert_string_equal(rig_why(r, id).text, "api was closed by a worker");
    rig_restart(r);
    rig_pass(r, 29999);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    rig_pass(r, 1);
    assert_int_equal(rig_lease(r, "q", 10), 2);
}

static void a_closed_name_is_not_opened_by_who_closes_it_for_less(void **state)
{
    struct rig *r = *state;
    for (int i = 0; i < 3; i++)
        add_named(r, "q", "api", NULL);
    assert_int_equal(rig_lease(r, "q", 2), 2);
    struct slice tokens[] = {r->token[0], r->token[1]};
    for (int i = 0; i < 2; i++) {
        struct nack_params p = {.tokens = &tokens[i],
                                .n = 1,
                                .snooze = true,
                                .close = SLICE_LIT("api"),
                                .close_ms =
                                    r->now.wall_ms + (i == 0 ? 60000 : 5000)};
        assert_int_equal(rig_nack_with(r, p), ERR_OK);
    }
    rig_pass(r, 59999);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    rig_pass(r, 1);
    assert_int_equal(rig_lease(r, "q", 10), 3);
}

static void close_name(struct rig *r, const char *name, uint64_t ms)
{
    struct nack_params p = {.tokens = &r->token[0],
                            .n = 1,
                            .snooze = true,
                            .close = slice_str(name),
                            .close_ms = r->now.wall_ms + ms};
    assert_int_equal(rig_nack_with(r, p), ERR_OK);
}

static void who_is_told_to_stop_may_close_a_name(void **state)
{
    struct rig *r = *state;
    struct manage_params cancel = {.verb = MANAGE_CANCEL};
    struct id id = add_named(r, "q", "api", NULL);
    add_named(r, "q", "api", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_manage(r, cancel, &id, 1), ERR_OK);
    close_name(r, "api", 30000);
    assert_int_equal(rig_state(r, id), JOB_CANCELLED);
    assert_int_equal(rig_lease(r, "q", 1), 0);
    assert_int_equal(limit(r, "api").closed_ms, r->now.wall_ms + 30000);
}

static void what_was_closed_too_long_can_be_opened(void **state)
{
    struct rig *r = *state;
    struct limit_rule open = {.open = true};
    for (int i = 0; i < 3; i++)
        add_named(r, "q", "api", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    close_name(r, "api", 3600 * 1000);
    assert_int_equal(rig_lease(r, "q", 1), 0);
    assert_int_equal(
        engine_limit_set(r->engine, SLICE_LIT("api*"), &open, r->now, &r->err),
        ERR_SYNTAX);
    assert_int_equal(
        engine_limit_set(r->engine, SLICE_LIT("api"), &open, r->now, &r->err),
        ERR_OK);
    rig_step(r);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    rig_restart(r);
    rig_pass(r, 0);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(limit(r, "api").closed_ms, 0);
    assert_int_equal(limit(r, "api").pattern.len, 0); /* it made no rule */
    close_name(r, "api", 3600 * 1000);
    assert_int_equal(
        engine_limit_del(r->engine, SLICE_LIT("api"), r->now, &r->err),
        ERR_NOTFOUND);
    rig_step(r);
    assert_int_equal(rig_lease(r, "q", 1), 1);
}

static struct id add_costing(struct rig *r, uint32_t cost)
{
    struct job_options o = {.given = GIVEN(LIMIT) | GIVEN(COST),
                            .limits = {SLICE_LIT("api")},
                            .limits_n = 1,
                            .cost = cost};
    return rig_add(r, "q", "x", &o).id;
}

/* Of five a second, three. */
static void use_up_most(struct rig *r)
{
    set_rule(r, "api", 0, 5, 1000, 5);
    add_costing(r, 3);
    assert_int_equal(rig_lease(r, "q", 1), 1);
}

static void a_costly_job_tells_that_its_rate_is_used_up(void **state)
{
    struct rig *r = *state;
    use_up_most(r);
    struct id id = add_costing(r, 5);
    assert_true(slice_is(rig_why(r, id).reason, "rate"));
    assert_int_equal(rig_why(r, id).changes_ms, r->now.wall_ms + 600);
    /* One that is ready, and has to be moved yet. */
    rig_pass(r, 600);
    struct id next = add_costing(r, 5);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    rig_pass(r, 300);
    assert_true(slice_is(rig_why(r, next).reason, "rate"));
    assert_int_equal(rig_why(r, next).changes_ms, r->now.wall_ms + 700);
}

static void a_cheap_job_tells_that_a_dear_one_is_before_it(void **state)
{
    struct rig *r = *state;
    use_up_most(r);
    add_costing(r, 5);
    struct id id = add_costing(r, 1);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    assert_int_equal(rig_state(r, id), JOB_PARKED);
    struct why_view v = rig_why(r, id);
    assert_true(slice_is(v.reason, "rate"));
    assert_string_equal(v.text, "one that costs more is before it, and waits "
                                "for the rate of api");
    assert_int_equal(v.changes_ms, r->now.wall_ms + 600);
    assert_int_equal(v.place, 2);
    rig_pass(r, 600);
    assert_int_equal(rig_lease(r, "q", 10), 1);
    assert_string_equal(rig_why(r, id).text,
                        "api has used up its rate of 5 per 1000 ms");
}

static void a_job_with_two_names_needs_both(void **state)
{
    struct rig *r = *state;
    set_rule(r, "*", 1, 0, 0, 0);
    add_named(r, "q", "a", NULL);
    add_named(r, "q", "b", NULL);
    struct id both = add_named(r, "q", "a", "b");
    assert_int_equal(rig_lease(r, "q", 10), 2);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    assert_int_equal(rig_state(r, both), JOB_PARKED);
    rig_restart(r);
    rig_pass(r, 0);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    assert_int_equal(rig_state(r, both), JOB_PARKED);
}

/* Add a job of that name that goes before others; false: it was not leased. */
static bool take_name(struct rig *r, const char *name, char token[64])
{
    struct job_options o = {.given = GIVEN(LIMIT) | GIVEN(PRIORITY),
                            .limits_n = 1,
                            .priority = 900};
    o.limits[0] = slice_str(name);
    rig_add(r, "q", "x", &o);
    if (rig_lease(r, "q", 1) == 0)
        return false;
    memset(token, 0, 64);
    memcpy(token, r->token[0].data, r->token[0].len);
    return true;
}

/* Whenever one of its names opens, somebody has taken the other. */
static void a_job_that_met_eight_full_names_reserves(void **state)
{
    struct rig *r = *state;
    static const char *const names[] = {"a", "b"};
    char holder[64], next[64];
    set_rule(r, "*", 1, 0, 0, 0);
    assert_true(take_name(r, "a", holder));
    struct id both = add_named(r, "q", "a", "b");
    int i = 0;
    while (take_name(r, names[(i + 1) % 2], next)) {
        assert_true(i < 10);
        assert_int_equal(rig_ack(r, slice_str(holder)), ERR_OK);
        assert_int_equal(rig_lease(r, "q", 1), 0);
        assert_int_equal(rig_state(r, both), JOB_PARKED);
        memcpy(holder, next, sizeof(holder));
        i++;
    }
    assert_true(i >= 8);
    assert_int_equal(limit(r, "a").reserved, 1);
    assert_int_equal(limit(r, "a").running, 0);
    rig_restart(r);
    rig_pass(r, 0);
    assert_int_equal(limit(r, "a").reserved, 1);
    assert_int_equal(rig_lease(r, "q", 1), 0);
    assert_int_equal(rig_ack(r, slice_str(holder)), ERR_OK);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_true(id_eq(&r->ids[0], &both));
    assert_int_equal(limit(r, "a").reserved, 0);
    assert_int_equal(limit(r, "a").running, 1);
    assert_int_equal(limit(r, "b").running, 1);
}

static void a_queue_has_concurrency_and_rate_of_its_own(void **state)
{
    struct rig *r = *state;
    struct queue_settings s = {.has_concurrency = true, .concurrency = 2};
    assert_int_equal(
        engine_queue_set(r->engine, slice_str("q"), &s, r->now, &r->err),
        ERR_OK);
    for (int i = 0; i < 10; i++)
        rig_add(r, "q", "x", NULL);
    assert_int_equal(rig_lease(r, "q", 10), 2);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    rig_restart(r);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    s = (struct queue_settings){.has_concurrency = true,
                                .has_rate = true,
                                .has_burst = true,
                                .rate = {10, 1000, 3}};
    assert_int_equal(
        engine_queue_set(r->engine, slice_str("q"), &s, r->now, &r->err),
        ERR_OK);
    assert_int_equal(rig_lease(r, "q", 10), 3);
    rig_pass(r, 100);
    assert_int_equal(rig_lease(r, "q", 10), 1);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_PARKED], 0);
}

static void maxlen_refuses_or_drops_the_oldest(void **state)
{
    struct rig *r = *state;
    struct queue_settings s = {.has_maxlen = true, .maxlen = 3};
    assert_int_equal(
        engine_queue_set(r->engine, slice_str("q"), &s, r->now, &r->err),
        ERR_OK);
    struct id first = rig_add(r, "q", "x", NULL).id;
    rig_pass(r, 1);
    rig_add(r, "q", "x", NULL);
    rig_add(r, "q", "x", NULL);
    struct slice payload = SLICE_LIT("y");
    static const struct job_options none;
    struct add_params p = {.queue = SLICE_LIT("q"),
                           .payloads = &payload,
                           .n = 1,
                           .options = &none};
    struct add_result result;
    assert_int_equal(rig_try_add(r, &p, &result), ERR_LIMIT);
    s = (struct queue_settings){.has_overflow = true, .overflow = 1};
    assert_int_equal(
        engine_queue_set(r->engine, slice_str("q"), &s, r->now, &r->err),
        ERR_OK);
    assert_int_equal(rig_try_add(r, &p, &result), ERR_OK);
    assert_int_equal(rig_state(r, first), JOB_CANCELLED);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], 3);
}

static void bound(struct rig *r, uint64_t maxlen)
{
    struct queue_settings s = {.has_maxlen = true,
                               .maxlen = maxlen,
                               .has_overflow = true,
                               .overflow = 1};
    assert_int_equal(
        engine_queue_set(r->engine, SLICE_LIT("q"), &s, r->now, &r->err),
        ERR_OK);
}

/* Add two jobs and then a third one, for which the first must go. */
static void third_drops_first(struct rig *r, bool named)
{
    struct id ids[3];
    for (int i = 0; i < 3; i++) {
        ids[i] = named ? add_named(r, "q", "api", NULL)
                       : rig_add(r, "q", "x", NULL).id;
        if (i == 1)
            rig_restart(r);
        rig_pass(r, 1);
    }
    assert_int_equal(rig_state(r, ids[0]), JOB_CANCELLED);
    assert_true(rig_state(r, ids[1]) != JOB_CANCELLED);
    assert_true(rig_state(r, ids[2]) != JOB_CANCELLED);
}

static void a_full_queue_drops_the_oldest_of_a_paused_handler(void **state)
{
    struct rig *r = *state;
    bound(r, 2);
    assert_int_equal(
        engine_handler_pause(r->engine, SLICE_LIT("q"), true, r->now, &r->err),
        ERR_OK);
    third_drops_first(r, false);
    third_drops_first(r, false);
    assert_int_equal(
        engine_handler_pause(r->engine, SLICE_LIT("q"), false, r->now, &r->err),
        ERR_OK);
    assert_int_equal(rig_lease(r, "q", 10), 2);
}

static void a_full_queue_drops_the_oldest_under_a_full_name(void **state)
{
    struct rig *r = *state;
    set_rule(r, "api", 1, 0, 0, 0);
    add_named(r, "other", "api", NULL);
    assert_int_equal(rig_lease(r, "other", 1), 1);
    char token[64];
    memcpy(token, r->tokens[0], sizeof(token));
    bound(r, 2);
    third_drops_first(r, true);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    third_drops_first(r, true);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_PARKED], 2);
    assert_int_equal(rig_ack(r, slice_str(token)), ERR_OK);
    assert_int_equal(rig_lease(r, "q", 10), 1);
}

/* Parked lanes come to memory one after the other then. */
static void a_full_queue_finds_its_oldest_right_after_a_start(void **state)
{
    struct rig *r = *state;
    set_rule(r, "api", 1, 0, 0, 0);
    add_named(r, "other", "api", NULL);
    assert_int_equal(rig_lease(r, "other", 1), 1);
    bound(r, 2);
    struct id first = add_named(r, "q", "api", NULL);
    add_named(r, "q", "api", NULL);
    rig_restart(r); /* and no timer runs */
    assert_int_equal(rig_queue(r, "q").jobs[JOB_PARKED], 2);
    add_named(r, "q", "api", NULL);
    assert_int_equal(rig_state(r, first), JOB_CANCELLED);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_PARKED], 2);
}

static void a_full_queue_looks_at_every_handler_for_its_oldest(void **state)
{
    struct rig *r = *state;
    struct job_options a = {.given = GIVEN(HANDLER), .handler = SLICE_LIT("a")};
    struct job_options b = {.given = GIVEN(HANDLER), .handler = SLICE_LIT("b")};
    r->config.window_lane = 8000;
    rig_restart(r);
    r->check = false;
    rig_add(r, "q", "x", &a);
    rig_pass(r, 1);
    struct id oldest = rig_add(r, "q", "x", &b).id;
    rig_pass(r, 1);
    for (int i = 0; i < 1500; i++)
        rig_add(r, "q", "x", &a);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    bound(r, 1501);
    r->check = true;
    rig_add(r, "q", "x", &a);
    assert_int_equal(rig_state(r, oldest), JOB_CANCELLED);
}

static void a_full_queue_drops_nothing_if_that_makes_no_room(void **state)
{
    struct rig *r = *state;
    for (int i = 0; i < 5; i++)
        rig_add(r, "q", "x", NULL);
    assert_int_equal(rig_lease(r, "q", 3), 3);
    struct slice two[] = {SLICE_LIT("a"), SLICE_LIT("b")};
    static const struct job_options none;
    struct add_params p = {
        .queue = SLICE_LIT("q"), .payloads = two, .n = 2, .options = &none};
    struct add_result results[2];
    bound(r, 4);
    assert_int_equal(rig_try_add(r, &p, results), ERR_LIMIT);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], 2);
    bound(r, 5);
    assert_int_equal(rig_try_add(r, &p, results), ERR_OK);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], 2);
    assert_int_equal(rig_state(r, results[1].id), JOB_READY);
}

static void a_full_queue_drops_nothing_for_a_job_that_is_not_added(void **state)
{
    struct rig *r = *state;
    struct queue_settings s = {
        .has_maxlen = true, .maxlen = 1, .has_overflow = true, .overflow = 1};
    assert_int_equal(
        engine_queue_set(r->engine, SLICE_LIT("q"), &s, r->now, &r->err),
        ERR_OK);
    struct job_options o = {.given = GIVEN(UNIQUE), .unique = SLICE_LIT("u")};
    struct id id = rig_add(r, "q", "first", &o).id;
    struct add_result same = rig_add(r, "q", "second", &o);
    assert_false(same.created);
    assert_true(id_eq(&same.id, &id));
    o.given |= GIVEN(CONFLICT);
    o.conflict = CONFLICT_REJECT;
    struct slice body = SLICE_LIT("third");
    struct add_params p = {
        .queue = SLICE_LIT("q"), .payloads = &body, .n = 1, .options = &o};
    assert_int_equal(rig_try_add(r, &p, &same), ERR_EXISTS);
    assert_int_equal(rig_state(r, id), JOB_READY);
    o.conflict = CONFLICT_REPLACE;
    same = rig_add(r, "q", "fourth", &o);
    assert_true(id_eq(&same.id, &id));
    assert_int_equal(rig_lease(r, "q", 2), 1);
    assert_string_equal(r->payload, "fourth");
}

static void
a_full_queue_drops_nothing_where_a_name_or_a_lane_has_no_room(void **state)
{
    struct rig *r = *state;
    struct id first = rig_add(r, "q", "first", NULL).id;
    bound(r, 1);
    struct job_options o = {.given = GIVEN(HANDLER), .handler = SLICE_LIT("h")};
    struct slice body = SLICE_LIT("second");
    struct add_params p = {
        .queue = SLICE_LIT("q"), .payloads = &body, .n = 1, .options = &o};
    struct add_result result;
    uint64_t names_max = r->config.names_max;
    r->config.names_max = 1;
    engine_configure(r->engine, &r->config);
    assert_int_equal(rig_try_add(r, &p, &result), ERR_LIMIT);
    assert_int_equal(rig_state(r, first), JOB_READY);
    r->config.names_max = (uint32_t)names_max;
    r->config.lanes_max = 1;
    engine_configure(r->engine, &r->config);
    assert_int_equal(rig_try_add(r, &p, &result), ERR_LIMIT);
    assert_int_equal(rig_state(r, first), JOB_READY);
    o.given = 0; /* the lane is there */
    assert_int_equal(rig_try_add(r, &p, &result), ERR_OK);
    assert_int_equal(rig_state(r, first), JOB_CANCELLED);
}

static enum err replace_for(struct rig *r, const char *owner)
{
    struct job_options o = {.given =
                                GIVEN(UNIQUE) | GIVEN(CONFLICT) | GIVEN(OWNER),
                            .unique = SLICE_LIT("k"),
                            .conflict = CONFLICT_REPLACE,
                            .owner = slice_str(owner)};
    struct slice body = SLICE_LIT("x");
    struct add_params p = {
        .queue = SLICE_LIT("q"), .payloads = &body, .n = 1, .options = &o};
    struct add_result result;
    return rig_try_add(r, &p, &result);
}

static void a_job_that_is_replaced_counts_for_the_quotas(void **state)
{
    struct rig *r = *state;
    struct owner_settings s = {.has_live = true, .live_max = 1};
    assert_int_equal(
        engine_owner_set(r->engine, slice_str("b"), &s, r->now, &r->err),
        ERR_OK);
    struct job_options o = {.given = GIVEN(OWNER), .owner = SLICE_LIT("b")};
    struct id id = rig_add(r, "q", "x", &o).id;
    assert_int_equal(replace_for(r, "a"), ERR_OK);
    assert_int_equal(replace_for(r, "b"), ERR_LIMIT);
    assert_int_equal(
        rig_manage(r, (struct manage_params){.verb = MANAGE_CANCEL}, &id, 1),
        ERR_OK);
    assert_int_equal(replace_for(r, "b"), ERR_OK);
    /* It has that one already. */
    assert_int_equal(replace_for(r, "b"), ERR_OK);
    s = (struct owner_settings){.has_adds = true,
                                .adds = {.n = 1, .per_ms = 1000}};
    assert_int_equal(
        engine_owner_set(r->engine, slice_str("b"), &s, r->now, &r->err),
        ERR_OK);
    assert_int_equal(replace_for(r, "b"), ERR_OK);
    assert_int_equal(replace_for(r, "b"), ERR_LIMIT);
    rig_pass(r, 1000);
    assert_int_equal(replace_for(r, "b"), ERR_OK);
}

static void an_owner_has_quotas(void **state)
{
    struct rig *r = *state;
    struct owner_settings s = {
        .has_running = true, .running_max = 1, .has_live = true, .live_max = 3};
    assert_int_equal(
        engine_owner_set(r->engine, slice_str("bob"), &s, r->now, &r->err),
        ERR_OK);
    struct job_options o = {.given = GIVEN(OWNER), .owner = SLICE_LIT("bob")};
    for (int i = 0; i < 3; i++)
        rig_add(r, "q", "x", &o);
    struct slice payload = SLICE_LIT("y");
    struct add_params p = {
        .queue = SLICE_LIT("q"), .payloads = &payload, .n = 1, .options = &o};
    struct add_result result;
    assert_int_equal(rig_try_add(r, &p, &result), ERR_LIMIT);
    assert_int_equal(rig_lease(r, "q", 10), 1);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_PARKED], 2);
    rig_restart(r);
    rig_pass(r, 0);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    struct owner_view v;
    assert_int_equal(engine_owner(r->engine, slice_str("bob"), &v, &r->err),
                     ERR_OK);
    assert_int_equal(v.live, 3);
    assert_int_equal(v.running, 1);
    s = (struct owner_settings){.has_running = true};
    assert_int_equal(
        engine_owner_set(r->engine, slice_str("bob"), &s, r->now, &r->err),
        ERR_OK);
    assert_int_equal(rig_lease(r, "q", 10), 2);
    ack_all(r);
    assert_int_equal(engine_owner(r->engine, slice_str("bob"), &v, &r->err),
                     ERR_OK);
    assert_int_equal(v.live, 1);
}

/* Jobs that wait for it stay parked in any case; a new one meets it first. */
static void a_quota_of_running_jobs_outlives_a_restart(void **state)
{
    struct rig *r = *state;
    struct owner_settings s = {.has_running = true, .running_max = 1};
    assert_int_equal(
        engine_owner_set(r->engine, slice_str("bob"), &s, r->now, &r->err),
        ERR_OK);
    struct job_options o = {.given = GIVEN(OWNER), .owner = SLICE_LIT("bob")};
    rig_add(r, "q", "x", &o);
    assert_int_equal(rig_lease(r, "q", 10), 1);
    rig_restart(r);
    rig_pass(r, 0);
    rig_add(r, "q", "y", &o);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_PARKED], 1);
}

struct caller {
    struct waiter waiter;
    bool woken;
};

static void on_wake(struct waiter *w)
{
    ((struct caller *)(void *)w)->woken = true;
}

/* What cannot run is moved in slices, so that one call takes no longer than
 * another; who waits for what stands behind it is woken in between. */
static void many_jobs_behind_a_full_name_stall_nobody(void **state)
{
    struct rig *r = *state;
    const int many = 5000;
    r->check = false;
    for (int i = 0; i < many; i++)
        add_named(r, "q", "a", NULL);
    struct id last = rig_add(r, "q", "free", NULL).id;
    set_rule(r, "a", 1, 0, 0, 0);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct slice q = SLICE_LIT("q");
    struct lease_params p = {.queues = &q, .queues_n = 1, .count = 1};
    struct caller c = {.waiter.wake = on_wake};
    int calls = 0;
    while (rig_lease_with(r, &p) == ERR_EMPTY) {
        /* Each call moved a bounded number. */
        assert_in_range(rig_queue(r, "q").jobs[JOB_PARKED], 1,
                        (uint64_t)(calls + 1) * 256);
        c.woken = false;
        engine_wait_lease(r->engine, &c.waiter, &p);
        assert_true(engine_next_ms(r->engine, r->now) <= r->now.mono_ms);
        (void)engine_tick(r->engine, r->now);
        assert_true(c.woken);
        assert_true(calls++ < 100);
    }
    engine_unwait(r->engine, &c.waiter);
    assert_true(id_eq(&r->ids[0], &last));
    assert_true(calls >= many / 256);
    /* All of them at once: nothing moves, the lane opens. */
    assert_int_equal(
        engine_limit_del(r->engine, slice_str("a"), r->now, &r->err), ERR_OK);
    rig_pass(r, 0);
    assert_int_equal(rig_lease(r, "q", 1000), 1000);
    r->check = true;
    rig_step(r);
}

static void a_parked_job_can_expire_and_gives_its_place_up(void **state)
{
    struct rig *r = *state;
    set_rule(r, "a", 1, 0, 0, 0);
    add_named(r, "q", "a", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct job_options o = {.given = GIVEN(LIMIT) | GIVEN(EXPIRES),
                            .limits_n = 1,
                            .expires_ms = 500};
    o.limits[0] = slice_str("a");
    struct id id = rig_add(r, "q", "x", &o).id;
    assert_int_equal(rig_state(r, id), JOB_PARKED);
    rig_pass(r, 500);
    assert_int_equal(rig_state(r, id), JOB_EXPIRED);
    assert_int_equal(limit(r, "a").parked, 0);
}

static void names_that_nobody_uses_are_forgotten(void **state)
{
    struct rig *r = *state;
    struct engine_stats s;
    set_rule(r, "*", 1, 10, 1000, 10);
    r->check = false;
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        add_named(r, "q", name, NULL);
    }
    r->check = true;
    assert_int_equal(rig_lease(r, "q", 300), 300);
    engine_get_stats(r->engine, &s);
    assert_int_equal(s.limits, 300);
    r->check = false;
    ack_all(r);
    for (int i = 0; i < 100; i++)
        rig_pass(r, 100);
    engine_get_stats(r->engine, &s);
    assert_int_equal(s.limits, 0);
    r->check = true;
    rig_step(r);
}

static void names_that_come_back_soon_are_kept(void **state)
{
    struct rig *r = *state;
    struct engine_stats s;
    char name[16];
    set_rule(r, "*", 100, 0, 0, 0);
    for (int step = 0; step < 100; step++) {
        for (int i = 0; i < 32; i++) {
            snprintf(name, sizeof(name), "n%d", step % 2 * 32 + i);
            add_named(r, "q", name, NULL);
        }
        assert_int_equal(rig_lease(r, "q", 32), 32);
        ack_all(r);
        rig_pass(r, 10);
        engine_get_stats(r->engine, &s);
        assert_int_equal(s.limits, step == 0 ? 32 : 64);
    }
}

/* Jobs under the names n<from> to n<from + n - 1>, done at once. */
static void use_names(struct rig *r, uint32_t from, uint32_t n)
{
    char name[16];
    for (uint32_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "n%u", (unsigned)(from + i));
        add_named(r, "q", name, NULL);
    }
    assert_int_equal(rig_lease(r, "q", n), n);
    ack_all(r);
    rig_pass(r, 10);
}

#define MANY 5000
static void many_names_in_use_are_kept(void **state)
{
    struct rig *r = *state;
    struct engine_stats s;
    set_rule(r, "*", 100, 0, 0, 0);
    r->check = false;
    for (uint32_t i = 0; i < MANY; i += MANY / 4)
        use_names(r, i, MANY / 4);
    for (uint32_t step = 0; step < 60; step++) {
        use_names(r, step * 500 % MANY, 500);
        engine_get_stats(r->engine, &s);
        assert_int_equal(s.limits, MANY);
    }
    r->check = true;
    rig_step(r);
}

static void many_names_that_are_used_once_are_forgotten(void **state)
{
    struct rig *r = *state;
    struct engine_stats s;
    set_rule(r, "*", 100, 0, 0, 0);
    r->check = false;
    for (uint32_t step = 0; step < 400; step++) {
        use_names(r, step * 50, 50);
        engine_get_stats(r->engine, &s);
        assert_true(s.limits < 2 * MANY);
    }
    r->check = true;
    rig_step(r);
}

static void a_wrong_rule_is_refused_with_its_reason(void **state)
{
    struct rig *r = *state;
    struct limit_rule s = {.has_burst = true, .rate = {0, 0, 5}};
    assert_int_equal(
        engine_limit_set(r->engine, slice_str("a"), &s, r->now, &r->err),
        ERR_SYNTAX);
    assert_string_equal(r->err.text, "BURST without RATE means nothing");
    s = (struct limit_rule){.has_concurrency = true, .concurrency = 1};
    assert_int_equal(
        engine_limit_set(r->engine, slice_str("owner:x"), &s, r->now, &r->err),
        ERR_SYNTAX);
    assert_int_equal(
        engine_limit_del(r->engine, slice_str("a"), r->now, &r->err),
        ERR_NOTFOUND);
    struct limit_view v;
    assert_int_equal(
        engine_limit(r->engine, slice_str("a"), r->now, &v, &r->err),
        ERR_NOTFOUND);
}

static void the_most_specific_rule_applies(void **state)
{
    struct rig *r = *state;
    set_rule(r, "*", 1, 0, 0, 0);
    set_rule(r, "api:*", 2, 0, 0, 0);
    set_rule(r, "api:a", 3, 0, 0, 0);
    assert_int_equal(limit(r, "x").concurrency, 1);
    assert_int_equal(limit(r, "api:b").concurrency, 2);
    assert_int_equal(limit(r, "api:a").concurrency, 3);
    rig_restart(r);
    assert_int_equal(limit(r, "api:b").concurrency, 2);
}

static void a_rate_survives_a_clock_that_was_put_back(void **state)
{
    (void)state;
    struct rate one = {1, 1000, 1};
    struct rate_paid p = {rate_take(&one, 0, 5, 100000000), 100000000};
    assert_false(rate_fits(&one, p.tat_us, 1, 100004999));
    assert_true(rate_fits(&one, p.tat_us, 1, 100005000));
    /* An hour back: what is owed is still five seconds, not an hour. */
    assert_true(rate_follow(&p, 96400000));
    assert_false(rate_follow(&p, 96401000));
    assert_int_equal(rate_room(&one, p.tat_us, 96401000), 0);
    assert_false(rate_fits(&one, p.tat_us, 1, 96404999));
    assert_true(rate_fits(&one, p.tat_us, 1, 96405000));
}

/* The clock of walls, not the monotonic one. */
static void put_back(struct rig *r, uint64_t ms)
{
    r->now.wall_ms -= ms;
    rig_pass(r, 0);
}

static void a_name_opens_again_when_the_clock_was_put_back(void **state)
{
    struct rig *r = *state;
    set_rule(r, "mail", 0, 1, 1000, 0);
    for (int i = 0; i < 8; i++)
        add_named(r, "q", "mail", NULL);
    static const uint64_t steps[] = {5, 900, 3600 * 1000};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        assert_int_equal(rig_lease(r, "q", 10), 1);
        assert_int_equal(rig_lease(r, "q", 10), 0);
        put_back(r, steps[i]);
        assert_int_equal(rig_lease(r, "q", 10), 0);
        rig_pass(r, 999);
        assert_int_equal(rig_lease(r, "q", 10), 0);
        /* Nobody asked since: it opens by itself. */
        uint64_t next = engine_next_ms(r->engine, r->now);
        assert_int_equal(next, r->now.mono_ms + 1);
        rig_pass(r, 1);
    }
    assert_int_equal(rig_lease(r, "q", 10), 1);
    /* It is so for the next start, too. */
    put_back(r, 3600 * 1000);
    rig_restart(r);
    rig_pass(r, 1000);
    assert_int_equal(rig_lease(r, "q", 10), 1);
}

static void a_queue_that_comes_again_owes_nothing(void **state)
{
    struct rig *r = *state;
    struct queue_settings s = {.has_rate = true, .rate = {1, 3600000, 0}};
    for (int i = 0; i < 2; i++) {
        struct id chore;
        assert_int_equal(
            engine_queue_set(r->engine, slice_str("q"), &s, r->now, &r->err),
            ERR_OK);
        rig_add(r, "q", "x", NULL);
        rig_add(r, "q", "x", NULL);
        assert_int_equal(rig_lease(r, "q", 10), 1);
        assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
        assert_int_equal(engine_queue_drop(r->engine, slice_str("q"), r->now,
                                           &chore, &r->err),
                         ERR_OK);
        rig_until_done(r, chore);
        rig_restart(r);
    }
}

static void
a_queue_and_an_owner_open_again_when_the_clock_was_put_back(void **state)
{
    struct rig *r = *state;
    struct queue_settings s = {.has_rate = true, .rate = {1, 1000, 0}};
    assert_int_equal(
        engine_queue_set(r->engine, slice_str("q"), &s, r->now, &r->err),
        ERR_OK);
    struct owner_settings adds = {.has_adds = true, .adds = {1, 1000, 0}};
    assert_int_equal(
        engine_owner_set(r->engine, slice_str("acme"), &adds, r->now, &r->err),
        ERR_OK);
    struct job_options o = {.given = GIVEN(OWNER), .owner = SLICE_LIT("acme")};
    struct slice text = SLICE_LIT("x");
    struct add_params p = {
        .queue = SLICE_LIT("q"), .payloads = &text, .n = 1, .options = &o};
    struct add_result result;
    assert_int_equal(rig_try_add(r, &p, &result), ERR_OK);
    rig_add(r, "q", "x", NULL);
    assert_int_equal(rig_lease(r, "q", 10), 1);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    rig_pass(r, 0);
    put_back(r, 3600 * 1000);
    assert_int_equal(rig_try_add(r, &p, &result), ERR_LIMIT);
    rig_pass(r, 999);
    assert_int_equal(rig_lease(r, "q", 10), 0);
    assert_int_equal(rig_try_add(r, &p, &result), ERR_LIMIT);
    rig_pass(r, 1);
    assert_int_equal(rig_lease(r, "q", 10), 1);
    assert_int_equal(rig_try_add(r, &p, &result), ERR_OK);
}

static void set_queue_rate(struct rig *r, uint64_t n, uint64_t per_ms)
{
    struct queue_settings s = {.has_rate = true, .rate = {n, per_ms, 0}};
    assert_int_equal(
        engine_queue_set(r->engine, SLICE_LIT("q"), &s, r->now, &r->err),
        ERR_OK);
    rig_pass(r, 0);
}

/* What was owed by the old one is not. */
static void a_looser_rate_applies_at_once(void **state)
{
    struct rig *r = *state;
    const uint64_t hour = 3600 * 1000;
    for (int i = 0; i < 10; i++)
        add_named(r, "q", "api", NULL);
    set_rule(r, "api", 0, 1, hour, 0);
    assert_int_equal(rig_lease(r, "q", 9), 1);
    set_rule(r, "api", 0, 1000, 1000, 1);
    rig_pass(r, 1);
    assert_int_equal(rig_lease(r, "q", 9), 1);
    /* Also after none, or if nobody has looked before a crash. */
    set_rule(r, "api", 0, 1, hour, 0);
    rig_pass(r, 1);
    assert_int_equal(rig_lease(r, "q", 9), 1);
    set_rule(r, "api", 0, 0, 0, 0);
    set_rule(r, "api", 0, 2, hour, 0);
    assert_int_equal(rig_lease(r, "q", 9), 1);
    struct limit_rule s = {.has_rate = true, .rate = {1000, 1000, 0}};
    assert_int_equal(
        engine_limit_set(r->engine, SLICE_LIT("api"), &s, r->now, &r->err),
        ERR_OK);
    rig_step(r);
    rig_restart(r);
    rig_pass(r, 0);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    set_rule(r, "api", 0, 0, 0, 0);
    set_queue_rate(r, 1, hour);
    assert_int_equal(rig_lease(r, "q", 9), 1);
    set_queue_rate(r, 1000, 1000);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    set_queue_rate(r, 1, hour);
    rig_pass(r, 1000);
    assert_int_equal(rig_lease(r, "q", 9), 1);
    set_queue_rate(r, 0, 0);
    set_queue_rate(r, 1, hour);
    assert_int_equal(rig_lease(r, "q", 9), 1);
}

static void a_change_of_rate_forgives_no_more_than_it_must(void **state)
{
    (void)state;
    struct rate slow = {2, 3600000, 4}, fast = {10, 1000, 4};
    const uint64_t ms = 100000000;
    struct rate_paid p = {.seen_ms = ms};
    assert_false(rate_adopt(&p, &slow, ms));
    p.tat_us = rate_take(&slow, 0, 3, ms);
    assert_int_equal(rate_room(&slow, p.tat_us, ms), 1);
    assert_false(rate_adopt(&p, &slow, ms));
    assert_true(rate_adopt(&p, &fast, ms)); /* the same units */
    assert_int_equal(p.tat_us, ms * 1000 + 300000);
    assert_true(rate_adopt(&p, &slow, ms)); /* for no longer */
    assert_int_equal(p.tat_us, ms * 1000 + 300000);
    p.tat_us = rate_take(&slow, 0, 9, ms); /* more than a burst */
    assert_true(rate_adopt(&p, &fast, ms));
    assert_int_equal(p.tat_us, ms * 1000 + 400000);
    assert_true(rate_adopt(&p, &(struct rate){0}, ms));
    assert_int_equal(p.tat_us, ms * 1000);
    assert_false(rate_adopt(&p, &slow, ms));
}

static void what_is_owed_stays_owed_over_a_restart(void **state)
{
    struct rig *r = *state;
    set_rule(r, "api", 0, 10, 1000, 2);
    struct job_options o = {.given = GIVEN(LIMIT) | GIVEN(COST),
                            .limits = {SLICE_LIT("api")},
                            .limits_n = 1,
                            .cost = 20};
    rig_add(r, "q", "x", &o);
    add_named(r, "q", "api", NULL);
    assert_int_equal(rig_lease(r, "q", 9), 1);
    rig_restart(r);
    rig_pass(r, 1899);
    assert_int_equal(rig_lease(r, "q", 9), 0);
    rig_pass(r, 1);
    assert_int_equal(rig_lease(r, "q", 9), 1);
}

static void a_million_units_never_pass_a_rate_of_ten(void **state)
{
    (void)state;
    struct rate ten = {10, 1000, 3};
    uint64_t tat = 0, got = 0;
    for (uint64_t ms = 5000000; ms < 5100000; ms++)
        while (rate_fits(&ten, tat, 1, ms)) {
            tat = rate_take(&ten, tat, 1, ms);
            got++;
        }
    assert_int_equal(got, 3 + 999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
        T(a_full_name_parks_jobs_and_lets_others_pass),
        T(a_place_behind_a_full_name_counts_all_who_wait_for_it),
        T(a_ready_job_names_the_limit_that_became_full),
        T(a_parked_job_whose_name_is_open_names_what_else_is_full),
        T(slots_are_counted_again_after_a_restart),
        T(a_rate_opens_by_itself),
        T(cost_takes_as_much_of_the_rate),
        T(a_worker_may_close_a_name_for_a_while),
        T(a_closed_name_is_not_opened_by_who_closes_it_for_less),
        T(who_is_told_to_stop_may_close_a_name),
        T(what_was_closed_too_long_can_be_opened),
        T(a_costly_job_tells_that_its_rate_is_used_up),
        T(a_cheap_job_tells_that_a_dear_one_is_before_it),
        T(a_job_with_two_names_needs_both),
        T(a_job_that_met_eight_full_names_reserves),
        T(a_queue_has_concurrency_and_rate_of_its_own),
        T(maxlen_refuses_or_drops_the_oldest),
        T(a_full_queue_drops_the_oldest_of_a_paused_handler),
        T(a_full_queue_drops_the_oldest_under_a_full_name),
        T(a_full_queue_finds_its_oldest_right_after_a_start),
        T(a_full_queue_looks_at_every_handler_for_its_oldest),
        T(a_full_queue_drops_nothing_if_that_makes_no_room),
        T(a_full_queue_drops_nothing_for_a_job_that_is_not_added),
        T(a_full_queue_drops_nothing_where_a_name_or_a_lane_has_no_room),
        T(a_job_that_is_replaced_counts_for_the_quotas),
        T(an_owner_has_quotas),
        T(a_quota_of_running_jobs_outlives_a_restart),
        T(many_jobs_behind_a_full_name_stall_nobody),
        T(a_parked_job_can_expire_and_gives_its_place_up),
        T(names_that_nobody_uses_are_forgotten),
        T(names_that_come_back_soon_are_kept),
        T(many_names_in_use_are_kept),
        T(many_names_that_are_used_once_are_forgotten),
        T(a_wrong_rule_is_refused_with_its_reason),
        T(the_most_specific_rule_applies),
        T(a_rate_survives_a_clock_that_was_put_back),
        T(a_name_opens_again_when_the_clock_was_put_back),
        T(a_queue_that_comes_again_owes_nothing),
        T(a_queue_and_an_owner_open_again_when_the_clock_was_put_back),
        T(a_million_units_never_pass_a_rate_of_ten),
        T(a_looser_rate_applies_at_once),
        T(a_change_of_rate_forgives_no_more_than_it_must),
        T(what_is_owed_stays_owed_over_a_restart),
#undef T
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
