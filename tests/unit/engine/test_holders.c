/* Tokens, sessions, waiting in line, restarts. */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/workers.h"

struct sleeper {
    struct waiter waiter; /* first */
    int woken;
};

static void on_wake(struct waiter *w)
{
    CONTAINER_OF(w, struct sleeper, waiter)->woken++;
}

static struct sleeper sleeper(void)
{
    return (struct sleeper){.waiter = {.wake = on_wake}};
}

static void wait_for(struct rig *r, struct sleeper *s, const char *queue)
{
    struct slice q = slice_str(queue);
    struct lease_params p = {.queues = &q, .queues_n = 1, .count = 1};
    engine_wait_lease(r->engine, &s->waiter, &p);
}

static void waiters_are_woken_one_per_job_in_the_order_they_came(void **state)
{
    struct rig *r = *state;
    struct sleeper s[3] = {sleeper(), sleeper(), sleeper()};
    for (int i = 0; i < 3; i++)
        wait_for(r, &s[i], "q");
    rig_add(r, "q", "x", NULL);
    assert_int_equal(s[0].woken, 1);
    assert_int_equal(s[1].woken, 0);
    rig_add(r, "q", "x", NULL);
    assert_int_equal(s[1].woken, 1);
    assert_int_equal(s[2].woken, 0);
    for (int i = 0; i < 3; i++)
        engine_unwait(r->engine, &s[i].waiter);
}

static void whoever_was_woken_in_vain_keeps_its_turn(void **state)
{
    struct rig *r = *state;
    struct sleeper a = sleeper(), b = sleeper();
    wait_for(r, &a, "q");
    wait_for(r, &b, "q");
    rig_add(r, "q", "x", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1); /* somebody was quicker */
    wait_for(r, &a, "q");
    rig_add(r, "q", "y", NULL);
    assert_int_equal(a.woken, 2);
    assert_int_equal(b.woken, 0);
    engine_unwait(r->engine, &a.waiter);
    assert_int_equal(b.woken, 1); /* a left without taking the job */
    engine_unwait(r->engine, &b.waiter);
}

static uint64_t queues(struct rig *r)
{
    struct engine_stats s;
    engine_get_stats(r->engine, &s);
    return s.queues;
}

static void who_waits_for_a_name_leaves_no_queue_behind(void **state)
{
    struct rig *r = *state;
    struct sleeper a = sleeper(), b = sleeper();
    struct slice both[] = {SLICE_LIT("q"), SLICE_LIT("other")};
    struct lease_params p = {.queues = both, .queues_n = 2, .count = 1};
    r->config.names_max = 3;
    engine_configure(r->engine, &r->config);
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof(name), "name%d", i);
        wait_for(r, &a, name);
        wait_for(r, &b, name);
        assert_int_equal(queues(r), 1);
        engine_unwait(r->engine, &a.waiter);
        assert_int_equal(queues(r), 1);
        engine_unwait(r->engine, &b.waiter);
        assert_int_equal(queues(r), 0);
    }
    /* Woken for one of two, it comes back to stand in both lines. */
    assert_true(engine_wait_lease(r->engine, &a.waiter, &p));
    rig_add(r, "q", "x", NULL);
    assert_int_equal(a.woken, 1);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_true(engine_wait_lease(r->engine, &a.waiter, &p));
    rig_add(r, "other", "x", NULL);
    assert_int_equal(a.woken, 2);
    engine_unwait(r->engine, &a.waiter);
    assert_int_equal(queues(r), 2);
    rig_restart(r);
    engine_configure(r->engine, &r->config);
    assert_int_equal(queues(r), 2);
    rig_add(r, "third", "x", NULL);
    both[0] = SLICE_LIT("fourth");
    assert_false(engine_wait_lease(r->engine, &a.waiter, &p));
    assert_null(a.waiter.engine_private);
    assert_int_equal(rig_lease(r, "other", 1), 1);
}

static void a_waiter_is_woken_for_its_handlers_only(void **state)
{
    struct rig *r = *state;
    struct sleeper a = sleeper();
    struct slice q = slice_str("q"), h = slice_str("pdf");
    struct lease_params p = {.queues = &q,
                             .queues_n = 1,
                             .count = 1,
                             .handlers = &h,
                             .handlers_n = 1};
    engine_wait_lease(r->engine, &a.waiter, &p);
    rig_add(r, "q", "x", NULL);
    assert_int_equal(a.woken, 0);
    struct job_options o = {.given = GIVEN(HANDLER), .handler = h};
    rig_add(r, "q", "y", &o);
    assert_int_equal(a.woken, 1);
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    assert_string_equal(r->payload, "y");
    engine_unwait(r->engine, &a.waiter);
}

static void a_job_that_becomes_due_wakes_a_waiter(void **state)
{
    struct rig *r = *state;
    struct sleeper a = sleeper();
    struct job_options o = {.given = GIVEN(DELAY), .delay_ms = 100};
    rig_add(r, "q", "x", &o);
    wait_for(r, &a, "q");
    rig_pass(r, 100);
    assert_int_equal(a.woken, 1);
    engine_unwait(r->engine, &a.waiter);
}

/* How the i-th job that it waits for stands, or how it ended. */
static enum job_state waited(struct rig *r, struct sleeper *s, uint32_t i)
{
    struct id id;
    enum job_state state;
    assert_true(engine_waits_for_jobs(&s->waiter));
    assert_int_equal(
        engine_waited(r->engine, NULL, &s->waiter, i, &id, &state, &r->err),
        ERR_OK);
    return state;
}

static void the_end_of_a_job_is_told_even_if_nothing_is_kept(void **state)
{
    struct rig *r = *state;
    struct sleeper a = sleeper();
    struct job_options o = {.given = GIVEN(KEEP)};
    struct id id = rig_add(r, "q", "x", &o).id;
    struct id twice[] = {id, id};
    enum job_state states[] = {JOB_READY, JOB_READY};
    engine_wait_jobs(r->engine, &a.waiter, twice, states, 2);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(a.woken, 0);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(a.woken, 1);
    assert_int_equal(waited(r, &a, 0), JOB_COMPLETED);
    assert_int_equal(waited(r, &a, 1), JOB_COMPLETED);
    assert_int_equal(rig_state(r, id), 0);
    engine_unwait(r->engine, &a.waiter);
}

static void ends_before_a_waiter_asks_again_are_told_as_well(void **state)
{
    struct rig *r = *state;
    struct sleeper a = sleeper();
    struct job_options o = {.given = GIVEN(KEEP)};
    enum job_state states[] = {JOB_READY, JOB_READY};
    struct id ids[2];
    for (int i = 0; i < 2; i++)
        ids[i] = rig_add(r, "q", "x", &o).id;
    engine_wait_jobs(r->engine, &a.waiter, ids, states, 2);
    assert_int_equal(rig_lease(r, "q", 2), 2);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_ack(r, r->token[1]), ERR_OK);
    assert_int_equal(a.woken, 1);
    assert_int_equal(waited(r, &a, 0), JOB_COMPLETED);
    assert_int_equal(waited(r, &a, 1), JOB_COMPLETED);
    engine_unwait(r->engine, &a.waiter);
}

static void what_had_ended_for_a_waiter_stays_so(void **state)
{
    struct rig *r = *state;
    struct sleeper a = sleeper();
    struct manage_params delete = {.verb = MANAGE_DELETE};
    enum job_state states[] = {JOB_COMPLETED, JOB_RUNNING};
    struct id ids[2];
    for (int i = 0; i < 2; i++)
        ids[i] = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(rig_lease(r, "q", 2), 2);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    engine_wait_jobs(r->engine, &a.waiter, ids, states, 2);
    assert_int_equal(rig_manage(r, delete, &ids[0], 1), ERR_OK);
    assert_int_equal(rig_state(r, ids[0]), 0);
    assert_int_equal(a.woken, 0);
    assert_int_equal(waited(r, &a, 0), JOB_COMPLETED);
    assert_int_equal(rig_ack(r, r->token[1]), ERR_OK);
    assert_int_equal(a.woken, 1);
    assert_int_equal(waited(r, &a, 0), JOB_COMPLETED);
    assert_int_equal(waited(r, &a, 1), JOB_COMPLETED);
    engine_unwait(r->engine, &a.waiter);
}

static void a_purged_job_is_cancelled_to_who_waits_for_it(void **state)
{
    struct rig *r = *state;
    struct sleeper a = sleeper();
    enum job_state states[] = {JOB_READY};
    struct id purge, id = rig_add(r, "q", "x", NULL).id;
    engine_wait_jobs(r->engine, &a.waiter, &id, states, 1);
    assert_int_equal(waited(r, &a, 0), JOB_READY);
    assert_int_equal(
        engine_purge(r->engine, SLICE_LIT("q"), r->now, &purge, &r->err),
        ERR_OK);
    assert_int_equal(waited(r, &a, 0), JOB_CANCELLED);
    rig_until_done(r, purge);
    assert_int_equal(a.woken, 1);
    assert_int_equal(waited(r, &a, 0), JOB_CANCELLED);
    engine_unwait(r->engine, &a.waiter);
}

static void each_unusable_token_has_its_own_answer(void **state)
{
    struct rig *r = *state;
    rig_add(r, "q", "x", NULL);
    assert_int_equal(rig_ack(r, slice_str("nonsense")), ERR_SYNTAX);
    assert_int_equal(rig_ack(r, slice_str("01M7QB5BH322BPNZCYC4000001#1.1")),
                     ERR_NOTFOUND);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    char first[64];
    memcpy(first, r->tokens[0], sizeof(first));
    struct slice old = slice_of(first, r->token[0].len);
    assert_int_equal(rig_release(r, old), ERR_OK);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_ack(r, old), ERR_STALE);
    assert_int_equal(rig_release(r, old), ERR_OK); /* the same verb again */
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_nack(r, r->token[0]), ERR_FINISHED);
    assert_int_equal(rig_ack(r, old), ERR_FINISHED);
}

static void the_leases_of_a_session_end_after_its_last_client(void **state)
{
    struct rig *r = *state;
    struct slice q = slice_str("q");
    struct lease_params p = {
        .queues = &q, .queues_n = 1, .count = 1, .session = slice_str("s1")};
    struct id id = rig_add(r, "q", "x", NULL).id;
    engine_session_attach(r->engine, p.session, 1);
    engine_session_attach(r->engine, p.session, 2);
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    engine_client_gone(r->engine, 1, r->now);
    rig_pass(r, 10000);
    assert_int_equal(rig_state(r, id), JOB_RUNNING);
    engine_client_gone(r->engine, 2, r->now);
    rig_pass(r, 2999);
    assert_int_equal(rig_state(r, id), JOB_RUNNING);
    rig_pass(r, 1);
    assert_int_equal(rig_state(r, id), JOB_RETRYING);
    assert_int_equal(r->events[EVENT_LEASE_LOST], 1);
    assert_int_equal(r->events[EVENT_JOB_RELEASED], 0);
    rig_pass(r, r->config.crash_delay_ms);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(r->attempt, 2);
}

/* Leased by the first client of a session, which goes. */
static void lease_and_vanish(struct rig *r, const char *worker)
{
    struct slice q = slice_str("q");
    struct lease_params p = {.queues = &q,
                             .queues_n = 1,
                             .count = 1,
                             .worker = slice_str(worker),
                             .session = slice_str("s")};
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    engine_session_attach(r->engine, p.session, 1);
    engine_client_gone(r->engine, 1, r->now);
}

static void a_job_that_kills_each_worker_of_a_session_is_poison(void **state)
{
    struct rig *r = *state;
    struct id first = rig_add(r, "q", "x", NULL).id;
    rig_add(r, "q", "y", NULL);
    for (uint32_t i = 0; i < r->config.crashes_max; i++) {
        lease_and_vanish(r, "w");
        assert_true(id_eq(&r->ids[0], &first)); /* its old place */
        rig_pass(r, r->config.session_grace_ms);
        rig_pass(r, r->config.crash_delay_ms);
    }
    assert_int_equal(rig_state(r, first), JOB_FAILED);
    assert_int_equal(r->events[EVENT_LEASE_LOST], r->config.crashes_max);
}

static void the_session_of_a_draining_worker_ends_uncounted(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    lease_and_vanish(r, "w");
    assert_int_equal(
        engine_worker_drain(r->engine, SLICE_LIT("w"), true, r->now, &r->err),
        ERR_OK);
    rig_pass(r, r->config.session_grace_ms);
    assert_int_equal(rig_state(r, id), JOB_READY);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(r->attempt, 1);
}

static void a_job_of_a_draining_worker_was_begun_if_it_ran_in_time(void **state)
{
    struct rig *r = *state;
    uint64_t grace_ms = r->config.session_grace_ms;
    for (int began = 0; began < 2; began++) {
        struct job_options o = {.given = GIVEN(EXPIRES),
                                .expires_ms = grace_ms + (began ? 0 : 1)};
        struct id id = rig_add(r, "q", "x", &o).id;
        const char *worker = began ? "w" : "v";
        lease_and_vanish(r, worker);
        assert_int_equal(engine_worker_drain(r->engine, slice_str(worker), true,
                                             r->now, &r->err),
                         ERR_OK);
        rig_pass(r, grace_ms);
        assert_int_equal(rig_state(r, id), JOB_READY);
        rig_pass(r, 1);
        assert_int_equal(rig_state(r, id), began ? JOB_READY : JOB_EXPIRED);
    }
}

static void a_session_that_did_not_come_back_ends_uncounted(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    lease_and_vanish(r, "w");
    rig_restart(r);
    rig_pass(r, 29999);
    assert_int_equal(rig_state(r, id), JOB_RUNNING);
    /* The lease has its own length, and ends first if nobody renews it. */
    assert_int_equal(rig_extend(r, r->token[0], 0), ORDER_CONTINUE);
    rig_pass(r, 1);
    assert_int_equal(rig_state(r, id), JOB_READY);
    lease_and_vanish(r, "w");
    assert_int_equal(r->attempt, 1);
    rig_restart(r);
    engine_session_attach(r->engine, SLICE_LIT("s"), 1);
    engine_client_gone(r->engine, 1, r->now);
    rig_pass(r, r->config.session_grace_ms);
    assert_int_equal(rig_state(r, id), JOB_RETRYING);
}

static void a_restart_gives_every_lease_its_full_length_again(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    r->now.wall_ms += 29000;
    r->now.mono_ms += 29000;
    rig_restart(r);
    rig_pass(r, 29999);
    assert_int_equal(rig_state(r, id), JOB_RUNNING);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
}

static void a_restart_reads_no_backlog(void **state)
{
    struct rig *r = *state;
    r->check = false;
    struct job_options o = {.given = GIVEN(DELAY)};
    for (uint64_t i = 0; i < 3000; i++) {
        rig_add(r, "q", "x", NULL);
        o.delay_ms = 1000 + i;
        rig_add(r, "q", "x", &o);
    }
    r->check = true;
    rig_restart(r);
    struct engine_stats st;
    engine_get_stats(r->engine, &st);
    assert_int_equal(st.jobs_live, 6000);
    assert_int_equal(st.jobs_in_memory, 0);
    assert_int_equal(st.window_entries, 0);
    r->check = false;
    rig_pass(r, 10000);
    uint32_t leased = 0, n;
    while ((n = rig_lease(r, "q", 1000)) > 0) {
        leased += n;
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(rig_ack(r, r->token[i]), ERR_OK);
    }
    assert_int_equal(leased, 6000);
    r->check = true;
    rig_step(r);
}

static void a_renewed_lease_lives_on(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    for (int i = 0; i < 10; i++) {
        rig_pass(r, 29000);
        assert_int_equal(rig_extend(r, r->token[0], 0), ORDER_CONTINUE);
        assert_int_equal(r->left_ms, 30000);
    }
    assert_int_equal(rig_state(r, id), JOB_RUNNING);
    assert_int_equal(rig_extend(r, r->token[0], 60000), ORDER_CONTINUE);
    rig_restart(r); /* another length is remembered */
    rig_pass(r, 59999);
    assert_int_equal(rig_state(r, id), JOB_RUNNING);
    rig_pass(r, 1);
    assert_int_equal(rig_extend(r, r->token[0], 0), ORDER_LOST);
}

static void a_lease_past_its_time_limit_is_not_renewed(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(TIMEOUT), .timeout_ms = 1000};
    rig_add(r, "q", "x", &o);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    r->now.mono_ms += 999; /* the server was busy: nothing is reaped yet */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_extend(r, r->token[0], 0),
                         i == 0 ? ORDER_CONTINUE : ORDER_LOST);
        assert_int_equal(r->left_ms, i == 0 ? 1 : 0);
        assert_int_equal(r->verdict, i == 0 ? ERR_OK : ERR_STALE);
        r->now.mono_ms++;
    }
}

static void a_renewal_that_is_refused_says_why(void **state)
{
    struct rig *r = *state;
    char token[64];
    rig_add(r, "q", "x", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    memcpy(token, r->tokens[0], sizeof(token));
    assert_int_equal(rig_release(r, slice_str(token)), ERR_OK);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rig_extend(r, slice_str(token), 0), ORDER_LOST);
        assert_int_equal(r->verdict, i == 0 ? ERR_STALE : ERR_FINISHED);
        assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
        rig_restart(r); /* what memory knew is to be read */
        mem_knobs(r->disk)->pending_per_1000 = 1000;
    }
    token[1] = '0'; /* of a job long before this one */
    assert_int_equal(rig_extend(r, slice_str(token), 0), ORDER_LOST);
    assert_int_equal(r->verdict, ERR_NOTFOUND);
    assert_int_equal(rig_extend(r, SLICE_LIT("x"), 0), ORDER_LOST);
    assert_int_equal(r->verdict, ERR_SYNTAX);
    mem_knobs(r->disk)->pending_per_1000 = 0;
}

/* Where a suffix was lost the same delivery may be given twice, by two starts.
 */
static void a_token_of_another_start_is_stale(void **state)
{
    struct rig *r = *state;
    char text[80];
    bool first;
    rig_add(r, "q", "x", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    const char *point = strchr(r->tokens[0], '.');
    assert_non_null(point);
    for (int i = 0; i < 2; i++) {
        int len = (int)(point - r->tokens[0]);
        unsigned long e = strtoul(point + 1, NULL, 10);
        snprintf(text, sizeof(text), "%.*s.%lu", len, r->tokens[0],
                 i == 0 ? e - 1 : e + 1);
        struct slice token = slice_str(text);
        assert_int_equal(rig_ack(r, token), ERR_STALE);
        assert_int_equal(rig_nack(r, token), ERR_STALE);
        assert_int_equal(rig_release(r, token), ERR_STALE);
        assert_int_equal(engine_effect(r->engine, NULL, token, token, r->now,
                                       &first, &r->err),
                         ERR_STALE);
        assert_int_equal(rig_extend(r, token, 0), ORDER_LOST);
        assert_int_equal(r->verdict, ERR_STALE);
        engine_lease_undo(r->engine, &token, 1, r->now);
        rig_step(r);
    }
    struct slice token = slice_str(text);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_ack(r, token), ERR_FINISHED);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
}

static void what_was_committed_is_there_after_a_crash(void **state)
{
    struct rig *r = *state;
    struct id ready = rig_add(r, "q", "x", NULL).id;
    struct id done = rig_add(r, "q", "y", NULL).id;
    assert_int_equal(rig_lease(r, "q", 2), 2);
    assert_int_equal(rig_ack(r, r->token[1]), ERR_OK);
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    rig_restart(r);
    assert_int_equal(rig_state(r, ready), JOB_RETRYING);
    assert_int_equal(rig_state(r, done), JOB_COMPLETED);
    assert_int_equal(rig_queue(r, "q").added, 2);
    rig_pass(r, 1000);
    assert_int_equal(rig_lease(r, "q", 2), 1);
    assert_int_equal(r->attempt, 2);
}

struct seen {
    uint32_t n;
    char last[32];
};

static void on_execution(void *ud, const struct execution_view *v)
{
    struct seen *s = ud;
    s->n++;
    memcpy(s->last, v->outcome.data, v->outcome.len);
    s->last[v->outcome.len] = '\0';
}

static void executions_are_told_of_the_live_and_the_finished(void **state)
{
    struct rig *r = *state;
    char text[ID_TEXT_LEN];
    struct seen s = {0};
    struct id id = rig_add(r, "q", "x", NULL).id;
    id_text(&id, text);
    struct slice ref = slice_of(text, ID_TEXT_LEN);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    rig_pass(r, 1000);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(engine_executions(r->engine, NULL, ref, r->now,
                                       on_execution, &s, &r->err),
                     ERR_OK);
    assert_int_equal(s.n, 2);
    assert_string_equal(s.last, "running");
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    s.n = 0;
    assert_int_equal(engine_executions(r->engine, NULL, ref, r->now,
                                       on_execution, &s, &r->err),
                     ERR_OK);
    assert_int_equal(s.n, 2);
    assert_string_equal(s.last, "completed");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(waiters_are_woken_one_per_job_in_the_order_they_came),
        TEST(whoever_was_woken_in_vain_keeps_its_turn),
        TEST(who_waits_for_a_name_leaves_no_queue_behind),
        TEST(a_waiter_is_woken_for_its_handlers_only),
        TEST(a_job_that_becomes_due_wakes_a_waiter),
        TEST(the_end_of_a_job_is_told_even_if_nothing_is_kept),
        TEST(ends_before_a_waiter_asks_again_are_told_as_well),
        TEST(what_had_ended_for_a_waiter_stays_so),
        TEST(a_purged_job_is_cancelled_to_who_waits_for_it),
        TEST(each_unusable_token_has_its_own_answer),
        TEST(the_leases_of_a_session_end_after_its_last_client),
        TEST(a_job_that_kills_each_worker_of_a_session_is_poison),
        TEST(the_session_of_a_draining_worker_ends_uncounted),
        TEST(a_job_of_a_draining_worker_was_begun_if_it_ran_in_time),
        TEST(a_session_that_did_not_come_back_ends_uncounted),
        TEST(a_restart_gives_every_lease_its_full_length_again),
        TEST(a_restart_reads_no_backlog),
        TEST(a_renewed_lease_lives_on),
        TEST(a_lease_past_its_time_limit_is_not_renewed),
        TEST(a_renewal_that_is_refused_says_why),
        TEST(a_token_of_another_start_is_stale),
        TEST(what_was_committed_is_there_after_a_crash),
        TEST(executions_are_told_of_the_live_and_the_finished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
