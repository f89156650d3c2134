/* Workers: beats, drain, silence. */
#include "engine/workers.h"

#include "rig.h"

static struct worker_view beat_in(struct rig *r, const char *name,
                                  const char *session)
{
    struct worker_view v;
    struct beat_params p = {.name = slice_str(name),
                            .session = slice_str(session)};
    assert_int_equal(engine_worker_beat(r->engine, &p, r->now, &v, &r->err),
                     ERR_OK);
    rig_step(r);
    return v;
}

static struct worker_view beat(struct rig *r, const char *name)
{
    return beat_in(r, name, "");
}

static enum err view(struct rig *r, const char *name, struct worker_view *v)
{
    return engine_worker(r->engine, slice_str(name), r->now, v, &r->err);
}

static enum err lease_as(struct rig *r, const char *worker)
{
    struct slice q = SLICE_LIT("q");
    struct lease_params p = {
        .queues = &q, .queues_n = 1, .count = 1, .worker = slice_str(worker)};
    return rig_lease_with(r, &p);
}

static enum err lease_in(struct rig *r, const char *session)
{
    struct slice q = SLICE_LIT("q");
    struct lease_params p = {
        .queues = &q, .queues_n = 1, .count = 1, .session = slice_str(session)};
    return rig_lease_with(r, &p);
}

static void drain(struct rig *r, const char *name, bool on)
{
    assert_int_equal(
        engine_worker_drain(r->engine, slice_str(name), on, r->now, &r->err),
        ERR_OK);
    rig_step(r);
}

static void what_a_worker_said_stays_until_it_says_otherwise(void **state)
{
    struct rig *r = *state;
    struct worker_view v;
    struct slice queues[] = {SLICE_LIT("a"), SLICE_LIT("b")};
    struct job_tag label = {SLICE_LIT("host"), SLICE_LIT("x")};
    struct beat_params p = {.name = SLICE_LIT("w"),
                            .session = SLICE_LIT("s"),
                            .concurrency_given = true,
                            .concurrency = 8,
                            .queues = queues,
                            .queues_n = 2,
                            .labels = &label,
                            .labels_n = 1};
    assert_int_equal(engine_worker_beat(r->engine, &p, r->now, &v, &r->err),
                     ERR_OK);
    rig_step(r);
    rig_pass(r, 1000);
    beat(r, "w");
    rig_restart(r);
    assert_int_equal(view(r, "w", &v), ERR_OK);
    assert_true(slice_is(v.session, "s"));
    assert_int_equal(v.concurrency, 8);
    assert_int_equal(v.queues.len, 4);
    assert_int_equal(v.labels.len, 7);
    assert_int_equal(v.registered_ms, 1700000000000);
}

static void a_draining_worker_gets_no_leases_also_after_a_start(void **state)
{
    struct rig *r = *state;
    beat(r, "w");
    drain(r, "w", true);
    rig_add(r, "q", "x", NULL);
    assert_int_equal(lease_as(r, "w"), ERR_EMPTY);
    rig_restart(r);
    assert_true(beat(r, "w").draining);
    assert_int_equal(lease_as(r, "w"), ERR_EMPTY);
    drain(r, "w", false);
    assert_int_equal(lease_as(r, "w"), ERR_OK);
}

struct note {
    struct waiter w;
    int woken;
};

static void noted(struct waiter *w)
{
    ((struct note *)w)->woken++;
}

static void one_in_line_is_passed_over_while_it_drains(void **state)
{
    struct rig *r = *state;
    struct note a = {.w.wake = noted}, b = {.w.wake = noted};
    struct slice q = SLICE_LIT("q");
    struct lease_params p = {
        .queues = &q, .queues_n = 1, .count = 1, .worker = SLICE_LIT("a")};
    beat(r, "a");
    engine_wait_lease(r->engine, &a.w, &p);
    p.worker = SLICE_LIT("b");
    engine_wait_lease(r->engine, &b.w, &p);
    drain(r, "a", true);
    rig_add(r, "q", "x", NULL);
    assert_int_equal(a.woken, 0);
    assert_int_equal(b.woken, 1);
    /* b has gone: nobody else may have it, until a is resumed. */
    engine_unwait(r->engine, &b.w);
    assert_int_equal(a.woken, 0);
    drain(r, "a", false);
    assert_int_equal(a.woken, 1);
    engine_unwait(r->engine, &a.w);
}

static void a_lease_under_its_session_is_the_workers(void **state)
{
    struct rig *r = *state;
    struct worker_view v;
    beat_in(r, "w", "s");
    struct id id = rig_add(r, "q", "x", NULL).id;
    rig_pass(r, 40000);
    assert_int_equal(lease_in(r, "s"), ERR_OK);
    engine_session_attach(r->engine, SLICE_LIT("s"), 1);
    assert_int_equal(view(r, "w", &v), ERR_OK);
    assert_int_equal(v.leases, 1);
    assert_false(v.silent);
    drain(r, "w", true);
    rig_add(r, "q", "y", NULL);
    assert_int_equal(lease_in(r, "s"), ERR_EMPTY);
    assert_int_equal(lease_in(r, "other"), ERR_OK);
    engine_client_gone(r->engine, 1, r->now);
    rig_pass(r, r->config.session_grace_ms);
    assert_int_equal(rig_state(r, id), JOB_READY);
    rig_restart(r);
    assert_int_equal(lease_in(r, "s"), ERR_EMPTY);
    assert_int_equal(lease_as(r, "another"), ERR_OK);
    assert_int_equal(r->attempt, 1);
}

static void a_lease_from_before_its_worker_registered_is_no_crash(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(lease_in(r, "s"), ERR_OK);
    engine_session_attach(r->engine, SLICE_LIT("s"), 1);
    beat_in(r, "w", "s");
    drain(r, "w", true);
    engine_client_gone(r->engine, 1, r->now);
    rig_pass(r, r->config.session_grace_ms);
    assert_int_equal(rig_state(r, id), JOB_READY);
}

static void who_waits_under_a_session_drains_with_its_worker(void **state)
{
    struct rig *r = *state;
    struct note a = {.w.wake = noted};
    struct slice q = SLICE_LIT("q");
    struct lease_params p = {
        .queues = &q, .queues_n = 1, .count = 1, .session = SLICE_LIT("s")};
    engine_wait_lease(r->engine, &a.w, &p);
    beat_in(r, "w", "s");
    drain(r, "w", true);
    rig_add(r, "q", "x", NULL);
    assert_int_equal(a.woken, 0);
    drain(r, "w", false);
    assert_int_equal(a.woken, 1);
    assert_int_equal(lease_as(r, "other"), ERR_OK); /* it was quicker */
    assert_true(engine_wait_lease(r->engine, &a.w, &p));
    drain(r, "w", true);
    rig_add(r, "q", "y", NULL);
    assert_int_equal(a.woken, 1);
    /* A new process of this name: the old one's session is nobody's. */
    beat_in(r, "w", "new");
    assert_int_equal(a.woken, 2);
    engine_unwait(r->engine, &a.w);
}

static void a_session_of_several_is_that_of_the_first_by_name(void **state)
{
    struct rig *r = *state;
    rig_add(r, "q", "x", NULL);
    beat_in(r, "b", "s");
    drain(r, "b", true);
    beat_in(r, "c", "s");
    assert_int_equal(lease_in(r, "s"), ERR_EMPTY);
    beat_in(r, "a", "s");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lease_in(r, "s"), ERR_OK);
        assert_int_equal(rig_release(r, r->token[0]), ERR_OK);
        rig_restart(r);
    }
    assert_int_equal(
        engine_worker_forget(r->engine, SLICE_LIT("a"), r->now, &r->err),
        ERR_OK);
    beat(r, "b");
    assert_int_equal(lease_in(r, "s"), ERR_EMPTY);
    /* Who says its name is who it says. */
    struct slice q = SLICE_LIT("q");
    struct lease_params p = {.queues = &q,
                             .queues_n = 1,
                             .count = 1,
                             .worker = SLICE_LIT("c"),
                             .session = SLICE_LIT("s")};
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
}

static void a_silent_worker_is_forgotten_and_its_leases_expire(void **state)
{
    struct rig *r = *state;
    struct worker_view v;
    beat(r, "w");
    struct add_result job = rig_add(r, "q", "x", NULL);
    assert_int_equal(lease_as(r, "w"), ERR_OK);
    assert_int_equal(view(r, "w", &v), ERR_OK);
    assert_int_equal(v.leases, 1);
    assert_false(v.silent);
    rig_pass(r, 30001);
    assert_int_equal(view(r, "w", &v), ERR_OK);
    assert_true(v.silent);
    assert_int_equal(v.leases, 0);
    assert_int_equal(rig_state(r, job.id), JOB_RETRYING);
    rig_pass(r, 600000 - 30001);
    assert_int_equal(view(r, "w", &v), ERR_NOTFOUND);
    rig_restart(r);
    assert_int_equal(view(r, "w", &v), ERR_NOTFOUND);
}

static void a_draining_worker_that_asks_or_works_is_not_forgotten(void **state)
{
    struct rig *r = *state;
    struct worker_view v;
    beat(r, "a");
    beat(r, "b");
    beat(r, "c");
    struct slice q = SLICE_LIT("q");
    struct lease_params p = {.queues = &q,
                             .queues_n = 1,
                             .count = 1,
                             .worker = SLICE_LIT("c"),
                             .lease_ms = 700000};
    rig_add(r, "q", "x", NULL);
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    struct note in_line = {.w = {.wake = noted}};
    p.worker = SLICE_LIT("b");
    assert_true(engine_wait_lease(r->engine, &in_line.w, &p));
    drain(r, "a", true);
    drain(r, "b", true);
    drain(r, "c", true);
    rig_add(r, "q", "y", NULL);
    rig_pass(r, 599999);
    assert_int_equal(lease_as(r, "a"), ERR_EMPTY);
    rig_pass(r, 1);
    rig_pass(r, 599998);
    assert_int_equal(lease_as(r, "a"), ERR_EMPTY);
    assert_int_equal(view(r, "c", &v), ERR_OK);
    rig_pass(r, 600000);
    assert_int_equal(view(r, "a", &v), ERR_NOTFOUND);
    assert_int_equal(view(r, "b", &v), ERR_OK);
    assert_int_equal(in_line.woken, 0);
    assert_int_equal(view(r, "c", &v), ERR_NOTFOUND);
    engine_unwait(r->engine, &in_line.w);
    rig_pass(r, 600000);
    assert_int_equal(view(r, "b", &v), ERR_NOTFOUND);
}

static void a_draining_worker_may_wait_for_what_never_had_a_job(void **state)
{
    struct rig *r = *state;
    struct worker_view v;
    struct slice q = SLICE_LIT("empty");
    struct lease_params p = {.queues = &q, .queues_n = 1, .count = 1};
    struct note named = {.w = {.wake = noted}}, again = named, other = named;
    beat(r, "a");
    beat_in(r, "b", "s");
    drain(r, "a", true);
    drain(r, "b", true);
    p.worker = SLICE_LIT("a");
    assert_true(engine_wait_lease(r->engine, &named.w, &p));
    assert_true(engine_wait_lease(r->engine, &again.w, &p));
    p.worker = SLICE_EMPTY;
    p.session = SLICE_LIT("s");
    assert_true(engine_wait_lease(r->engine, &other.w, &p));
    rig_pass(r, 600000);
    assert_int_equal(view(r, "a", &v), ERR_OK);
    assert_int_equal(view(r, "b", &v), ERR_OK);
    engine_unwait(r->engine, &named.w);
    beat_in(r, "b", "t"); /* what waits in the old session is not its own */
    rig_pass(r, 600000);
    assert_int_equal(view(r, "a", &v), ERR_OK);
    assert_int_equal(view(r, "b", &v), ERR_NOTFOUND);
    engine_unwait(r->engine, &again.w);
    rig_pass(r, 600000);
    assert_int_equal(view(r, "a", &v), ERR_NOTFOUND);
    engine_unwait(r->engine, &other.w);
}

static void a_forgotten_worker_keeps_its_leases(void **state)
{
    struct rig *r = *state;
    struct worker_view v;
    struct slice w = SLICE_LIT("w");
    beat(r, "w");
    rig_add(r, "q", "x", NULL);
    assert_int_equal(lease_as(r, "w"), ERR_OK);
    assert_int_equal(engine_worker_forget(r->engine, w, r->now, &r->err),
                     ERR_OK);
    rig_step(r);
    assert_int_equal(view(r, "w", &v), ERR_OK);
    assert_false(v.registered);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(view(r, "w", &v), ERR_NOTFOUND);
    assert_int_equal(engine_worker_forget(r->engine, w, r->now, &r->err),
                     ERR_NOTFOUND);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_a_worker_said_stays_until_it_says_otherwise),
        T(a_draining_worker_gets_no_leases_also_after_a_start),
        T(one_in_line_is_passed_over_while_it_drains),
        T(a_lease_under_its_session_is_the_workers),
        T(a_lease_from_before_its_worker_registered_is_no_crash),
        T(who_waits_under_a_session_drains_with_its_worker),
        T(a_session_of_several_is_that_of_the_first_by_name),
        T(a_silent_worker_is_forgotten_and_its_leases_expire),
        T(a_draining_worker_that_asks_or_works_is_not_forgotten),
        T(a_draining_worker_may_wait_for_what_never_had_a_job),
        T(a_forgotten_worker_keeps_its_leases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
