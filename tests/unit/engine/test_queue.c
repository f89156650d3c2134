/* What a queue shows of itself. */
#include "engine/handlers.h"

#include "rig.h"

#include <string.h>

static void set_queue(struct rig *r, struct queue_settings s)
{
    assert_int_equal(
        engine_queue_set(r->engine, SLICE_LIT("q"), &s, r->now, &r->err),
        ERR_OK);
}

static struct id add(struct rig *r, const char *handler, uint32_t priority)
{
    struct job_options o = {.given = GIVEN(PRIORITY) | GIVEN(HANDLER),
                            .priority = priority,
                            .handler = slice_str(handler)};
    return rig_add(r, "q", "x", &o).id;
}

static uint64_t oldest_ms(struct rig *r)
{
    enum err rc;
    while ((rc = engine_queue_heads(r->engine, r->gather, SLICE_LIT("q"),
                                    &r->err)) == ERR_PENDING)
        rig_fetch(r);
    gather_release(r->gather);
    assert_int_equal(rc, ERR_OK);
    uint64_t since = rig_queue(r, "q").oldest_ready_ms;
    return since == 0 ? 0 : r->now.wall_ms - since;
}

static void the_oldest_job_is_found_behind_more_urgent_ones(void **state)
{
    struct rig *r = *state;
    add(r, "h", 1);
    rig_pass(r, 3600000);
    add(r, "h", 900);
    add(r, "other", 800);
    assert_int_equal(oldest_ms(r), 3600000);
    rig_restart(r);
    rig_pass(r, 1000);
    mem_knobs(r->disk)->pending_per_1000 = 1000;
    assert_int_equal(oldest_ms(r), 3601000);
    mem_knobs(r->disk)->pending_per_1000 = 0;
}

static void every_queue_is_looked_at_after_a_start(void **state)
{
    struct rig *r = *state;
    enum err rc;
    rig_add(r, "a", "x", NULL);
    rig_add(r, "b", "x", NULL);
    rig_restart(r);
    assert_int_equal(rig_queue(r, "b").oldest_ready_ms, 0);
    mem_knobs(r->disk)->pending_per_1000 = 1000;
    r->fetches = 0;
    while ((rc = engine_queues_heads(r->engine, r->gather, &r->err)) ==
           ERR_PENDING)
        rig_fetch(r);
    gather_release(r->gather);
    mem_knobs(r->disk)->pending_per_1000 = 0;
    assert_int_equal(rc, ERR_OK);
    assert_int_equal(r->fetches, 1);
    assert_true(rig_queue(r, "a").oldest_ready_ms > 0);
    assert_true(rig_queue(r, "b").oldest_ready_ms > 0);
}

struct seen {
    struct id ids[8];
    uint32_t n;
};

static void on_job(void *ud, const struct job_view *v)
{
    struct seen *s = ud;
    s->ids[s->n++] = v->id;
}

static struct seen peek(struct rig *r)
{
    struct seen s = {.n = 0};
    assert_int_equal(engine_peek(r->engine, NULL, SLICE_LIT("q"), 8, r->now,
                                 on_job, &s, &r->err),
                     ERR_OK);
    return s;
}

static void what_is_shown_first_is_leased_first_after_a_new_order(void **state)
{
    struct rig *r = *state;
    add(r, "a", 500);
    rig_pass(r, 1000);
    add(r, "b", 510);
    set_queue(
        r, (struct queue_settings){
               .has_order = true, .order = 1, .has_age = true, .age_ms = 1000});
    rig_pass(r, 1000);
    add(r, "c", 505);
    add(r, "c", 490);
    struct seen s = peek(r);
    assert_int_equal(s.n, 4);
    for (uint32_t i = 0; i < s.n; i++) {
        assert_int_equal(rig_lease(r, "q", 1), 1);
        assert_true(id_eq(&r->ids[0], &s.ids[i]));
    }
}

static void what_a_paused_handler_runs_does_not_come_next(void **state)
{
    struct rig *r = *state;
    add(r, "a", 900);
    struct id id = add(r, "b", 500);
    assert_int_equal(
        engine_handler_pause(r->engine, SLICE_LIT("a"), true, r->now, &r->err),
        ERR_OK);
    struct seen s = peek(r);
    assert_int_equal(s.n, 1);
    assert_true(id_eq(&s.ids[0], &id));
    /* But it waits. */
    assert_true(rig_queue(r, "q").oldest_ready_ms > 0);
}

static void what_drops_the_oldest_says_from_when_on(void **state)
{
    struct rig *r = *state;
    struct queue_settings s = {.has_overflow = true, .overflow = 1};
    assert_int_equal(
        engine_queue_set(r->engine, SLICE_LIT("q"), &s, r->now, &r->err),
        ERR_SYNTAX);
    assert_string_equal(r->err.text, "OVERFLOW drop needs MAXLEN");
    set_queue(r, (struct queue_settings){.has_maxlen = true, .maxlen = 5});
    set_queue(r, s);
    s.overflow = 0;
    set_queue(r, s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_oldest_job_is_found_behind_more_urgent_ones),
        TEST(every_queue_is_looked_at_after_a_start),
        TEST(what_is_shown_first_is_leased_first_after_a_new_order),
        TEST(what_a_paused_handler_runs_does_not_come_next),
        TEST(what_drops_the_oldest_says_from_when_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
