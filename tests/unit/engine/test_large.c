/* Jobs of a megabyte, many at once: whatever is done to them stays below the
 * bytes that an entry of the log may have (rig.c verifies it each step), and
 * all of it is done in the end. */
#include "rig.h"

#include <stdio.h>
#include <string.h>

#include "engine/handlers.h"
#include "store/generation.h"
#include "util/alloc.h"

#define LARGE 1000000
#define MANY 40

static const struct job_options no_options;

static struct slice large(void)
{
    static char bytes[LARGE];
    memset(bytes, 'x', sizeof(bytes));
    return slice_of(bytes, sizeof(bytes));
}

static void add_many(struct rig *r, const struct job_options *o, struct id *ids)
{
    struct slice payload = large();
    struct add_params p = {
        .queue = SLICE_LIT("q"), .payloads = &payload, .n = 1, .options = o};
    for (int i = 0; i < MANY; i++) {
        struct add_result result;
        assert_int_equal(rig_try_add(r, &p, &result), ERR_OK);
        ids[i] = result.id;
    }
}

struct verdicts {
    uint32_t good, full;
};

static void judge(void *ud, uint32_t i, enum err rc, const char *why)
{
    struct verdicts *v = ud;
    (void)i;
    v->good += rc == ERR_OK;
    v->full += rc == ERR_LIMIT && strstr(why, "sent again") != NULL;
}

static void step(struct rig *r)
{
    assert_in_range(store_entry_bytes(r->store), 0, GENERATION_ENTRY_MAX);
    rig_step(r);
}

/* All that the last lease gave: at least so many at a time, and the rest is
 * sent again. */
static void ack_in_rounds(struct rig *r, uint32_t least)
{
    uint32_t done = 0;
    for (int round = 0; round < 10 && done < MANY; round++) {
        struct ack_params p = {.tokens = r->token + done, .n = MANY - done};
        struct verdicts v = {0, 0};
        assert_int_equal(
            engine_ack(r->engine, NULL, &p, r->now, judge, &v, &r->err),
            ERR_OK);
        assert_int_equal(v.good + v.full, MANY - done);
        assert_in_range(v.good, least, MANY - done);
        done += v.good;
        step(r);
    }
    assert_int_equal(done, MANY);
}

static void several_of_one_command_are_bounded(void **state)
{
    struct rig *r = *state;
    struct slice payloads[MANY];
    struct add_result results[MANY];
    for (int i = 0; i < MANY; i++)
        payloads[i] = large();
    struct add_params p = {.queue = SLICE_LIT("q"),
                           .payloads = payloads,
                           .n = MANY,
                           .options = &no_options};
    assert_int_equal(rig_try_add(r, &p, results), ERR_LIMIT);
    p.n = 10;
    assert_int_equal(rig_try_add(r, &p, results), ERR_OK);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], 10);
}

static void what_does_not_fit_is_refused_and_may_be_sent_again(void **state)
{
    struct rig *r = *state;
    struct id ids[MANY];
    add_many(r, &no_options, ids);
    assert_int_equal(rig_lease(r, "q", MANY), MANY);
    ack_in_rounds(r, 5);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_COMPLETED], MANY);
    /* Taken back, the same way. */
    char text[MANY][ID_TEXT_LEN];
    struct slice jobs[MANY];
    for (int i = 0; i < MANY; i++) {
        id_text(&ids[i], text[i]);
        jobs[i] = slice_of(text[i], ID_TEXT_LEN);
    }
    uint32_t done = 0;
    for (int round = 0; round < 10 && done < MANY; round++) {
        struct manage_params p = {
            .verb = MANAGE_RETRY, .jobs = jobs + done, .n = MANY - done};
        struct verdicts v = {0, 0};
        assert_int_equal(
            engine_manage(r->engine, NULL, &p, r->now, judge, &v, &r->err),
            ERR_OK);
        assert_int_equal(v.good + v.full, MANY - done);
        done += v.good;
        step(r);
    }
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], MANY);
}

/* As many slices as a chore may need that does one job in each. */
static void tick_for_all(struct rig *r)
{
    for (int i = 0; i < 2 * MANY; i++) {
        (void)engine_tick(r->engine, r->now);
        step(r);
    }
}

static void chores_go_on_where_the_entry_was_full(void **state)
{
    struct rig *r = *state;
    struct id ids[MANY], chore;
    struct job_filter f = {.queue = SLICE_LIT("q")};
    static const struct {
        enum manage_verb verb;
        enum job_state becomes;
    } steps[] = {{MANAGE_CANCEL, JOB_CANCELLED}, {MANAGE_RETRY, JOB_READY}};
    add_many(r, &no_options, ids);
    r->now.wall_ms += 5;
    for (int i = 0; i < 2; i++) {
        struct bulk_params p = {.verb = steps[i].verb, .filter = &f};
        assert_int_equal(engine_bulk(r->engine, &p, r->now, &chore, &r->err),
                         ERR_OK);
        tick_for_all(r);
        struct chore_view v = rig_chore(r, chore);
        assert_int_equal(v.done, MANY);
        assert_int_equal(v.matched, MANY);
        assert_int_equal(v.refused, 0);
        assert_int_equal(rig_queue(r, "q").jobs[steps[i].becomes], MANY);
    }
}

/* Running jobs are told to stop and still run, where a full entry makes the
 * chore walk from the same place once more. */
static void chores_count_jobs_once_that_stay_where_they_are(void **state)
{
    struct rig *r = *state;
    struct id ids[MANY], chore;
    struct job_filter f = {.queue = SLICE_LIT("q")};
    struct bulk_params p = {.verb = MANAGE_CANCEL, .filter = &f};
    add_many(r, &no_options, ids);
    assert_int_equal(rig_lease(r, "q", 10), 10);
    r->now.wall_ms += 5;
    assert_int_equal(engine_bulk(r->engine, &p, r->now, &chore, &r->err),
                     ERR_OK);
    tick_for_all(r);
    struct chore_view v = rig_chore(r, chore);
    assert_int_equal(v.done, MANY);
    assert_int_equal(v.matched, MANY);
    assert_int_equal(v.examined, MANY);
    assert_int_equal(v.refused, 0);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_CANCELLED], MANY - 10);
}

static void what_a_full_queue_drops_is_bounded(void **state)
{
    struct rig *r = *state;
    struct id ids[MANY];
    struct slice payloads[MANY];
    struct add_result results[MANY];
    struct queue_settings full = {.has_maxlen = true,
                                  .maxlen = MANY,
                                  .has_overflow = true,
                                  .overflow = 1};
    struct add_params p = {.queue = SLICE_LIT("q"),
                           .payloads = payloads,
                           .n = MANY,
                           .options = &no_options};
    enum err rc = ERR_LIMIT;
    for (int i = 0; i < MANY; i++)
        payloads[i] = SLICE_LIT("small");
    add_many(r, &no_options, ids);
    assert_int_equal(
        engine_queue_set(r->engine, SLICE_LIT("q"), &full, r->now, &r->err),
        ERR_OK);
    for (int round = 0; round < 10 && rc == ERR_LIMIT; round++) {
        rc = engine_add(r->engine, NULL, &p, r->now, results, &r->err);
        assert_true(rc == ERR_OK || strstr(r->err.text, "sent again") != NULL);
        step(r);
    }
    assert_int_equal(rc, ERR_OK);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], MANY);
}

static void leases_that_end_together_end_in_slices(void **state)
{
    struct rig *r = *state;
    struct id ids[MANY];
    struct job_options o = {.given = GIVEN(TIMEOUT) | GIVEN(RETRIES),
                            .timeout_ms = 1000};
    add_many(r, &o, ids);
    assert_int_equal(rig_lease(r, "q", MANY), MANY);
    r->now.wall_ms += 1000;
    r->now.mono_ms += 1000;
    for (int i = 0; i < 2 * MANY; i++) {
        (void)engine_reap(r->engine, r->now);
        step(r);
    }
    assert_int_equal(rig_queue(r, "q").jobs[JOB_FAILED], MANY);
}

/* --- what amplifies ------------------------------------------------------- */

/* What a job says of itself, from the defaults of its queue's handler. */
static void set_defaults(struct rig *r)
{
    static char meta[4096];
    memset(meta, 'm', sizeof(meta));
    struct job_options o = {.given = GIVEN(META),
                            .meta = slice_of(meta, sizeof(meta))};
    struct handler_params p = {.options = &o};
    assert_int_equal(
        engine_handler_set(r->engine, SLICE_LIT("q"), &p, r->now, &r->err),
        ERR_OK);
    step(r);
}

static void inherited_options_count(void **state)
{
    struct rig *r = *state;
    enum { JOBS = 10000 };
    struct slice *payloads = mem_alloc(JOBS * sizeof(*payloads));
    struct add_result *results = mem_alloc(JOBS * sizeof(*results));
    for (int i = 0; i < JOBS; i++)
        payloads[i] = SLICE_LIT("x");
    struct add_params p = {.queue = SLICE_LIT("q"),
                           .payloads = payloads,
                           .n = JOBS,
                           .options = &no_options};
    set_defaults(r);
    assert_int_equal(engine_add(r->engine, NULL, &p, r->now, results, &r->err),
                     ERR_LIMIT);
    p.n = 2000;
    assert_int_equal(engine_add(r->engine, NULL, &p, r->now, results, &r->err),
                     ERR_OK);
    /* One by one, too: until the entry is full. */
    enum err rc = ERR_OK;
    uint32_t n = 0;
    for (p.n = 1; rc == ERR_OK && n < JOBS; n++)
        rc = engine_add(r->engine, NULL, &p, r->now, results, &r->err);
    assert_int_equal(rc, ERR_LIMIT);
    assert_non_null(strstr(r->err.text, "sent again"));
    step(r);
    assert_int_equal(engine_add(r->engine, NULL, &p, r->now, results, &r->err),
                     ERR_OK);
    step(r);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], 2000 + n);
    mem_free(payloads);
    mem_free(results);
}

/* Each of them makes rows that are written when the entry ends. */
static void rows_of_the_end_of_a_tick_count(void **state)
{
    struct rig *r = *state;
    struct slice payload = SLICE_LIT("x");
    struct add_result result;
    enum err rc = ERR_OK;
    char name[128];
    uint32_t n = 0;
    for (; rc == ERR_OK && n < 100000; n++) {
        snprintf(name, sizeof(name), "%064u", n);
        struct add_params p = {.queue = slice_str(name),
                               .payloads = &payload,
                               .n = 1,
                               .options = &no_options};
        rc = engine_add(r->engine, NULL, &p, r->now, &result, &r->err);
    }
    assert_int_equal(rc, ERR_LIMIT);
    r->check = false;
    engine_tick(r->engine, r->now);
    assert_in_range(engine_entry_bytes(r->engine), 0, GENERATION_ENTRY_MAX);
    struct store_stats a, b;
    store_get_stats(r->store, &a);
    engine_commit(r->engine, r->now);
    store_get_stats(r->store, &b);
    assert_in_range(b.entry_bytes - a.entry_bytes, 0, GENERATION_ENTRY_MAX);
}

struct given {
    char (*token)[64];
    uint32_t n;
};

static void note_token(void *ud, const struct lease_view *v)
{
    struct given *g = ud;
    assert_in_range(v->token.len, 1, sizeof(g->token[0]) - 1);
    memcpy(g->token[g->n], v->token.data, v->token.len);
    g->token[g->n++][v->token.len] = '\0';
}

static void add_small(struct rig *r, uint32_t n)
{
    struct slice payloads[1000];
    struct add_result results[1000];
    for (int i = 0; i < 1000; i++)
        payloads[i] = SLICE_LIT("x");
    struct add_params p = {.queue = SLICE_LIT("q"),
                           .payloads = payloads,
                           .n = 1000,
                           .options = &no_options};
    for (uint32_t i = 0; i < n; i += 1000) {
        assert_int_equal(
            engine_add(r->engine, NULL, &p, r->now, results, &r->err), ERR_OK);
        engine_commit(r->engine, r->now);
        store_poll(r->store, r->now);
    }
}

static void count_renewed(void *ud, uint32_t i, uint64_t left_ms,
                          enum lease_order order, enum err why)
{
    (void)why;
    (void)i;
    (void)left_ms;
    *(uint32_t *)ud += order == ORDER_CONTINUE;
}

static void leases_of_one_entry_are_bounded(void **state)
{
    struct rig *r = *state;
    enum { JOBS = 140000, COUNT = 10000 };
    struct given g = {.token = mem_alloc((size_t)JOBS * 64)};
    struct slice q = SLICE_LIT("q");
    static char worker[128];
    memset(worker, 'w', sizeof(worker));
    struct lease_params p = {.queues = &q,
                             .queues_n = 1,
                             .count = COUNT,
                             .worker = slice_of(worker, sizeof(worker))};
    r->check = false;
    add_small(r, JOBS);
    enum err rc = ERR_OK;
    int calls = 0;
    for (; calls < JOBS / COUNT && rc == ERR_OK; calls++)
        rc = engine_lease(r->engine, NULL, &p, r->now, note_token, &g, &r->err);
    assert_int_equal(rc, ERR_LIMIT); /* none, and the entry is full */
    assert_in_range(engine_entry_bytes(r->engine), 0, GENERATION_ENTRY_MAX);
    assert_in_range(g.n, COUNT, JOBS - 1);
    do { /* all the others, entry by entry */
        step(r);
        rc = engine_lease(r->engine, NULL, &p, r->now, note_token, &g, &r->err);
    } while (rc == ERR_OK);
    assert_int_equal(rc, ERR_EMPTY);
    assert_int_equal(g.n, JOBS);
    step(r);
    /* A new length is written for each of them. */
    struct slice *tokens = mem_alloc(JOBS * sizeof(*tokens));
    uint32_t good = 0;
    for (uint32_t i = 0; i < g.n; i++)
        tokens[i] = slice_str(g.token[i]);
    struct extend_params x = {.tokens = tokens, .n = g.n, .lease_ms = 60001};
    assert_int_equal(engine_extend(r->engine, NULL, &x, r->now, count_renewed,
                                   &good, &r->err),
                     ERR_LIMIT);
    assert_int_equal(good, 0);
    x.n = COUNT;
    assert_int_equal(engine_extend(r->engine, NULL, &x, r->now, count_renewed,
                                   &good, &r->err),
                     ERR_OK);
    assert_int_equal(good, COUNT);
    step(r);
    mem_free(tokens);
    mem_free(g.token);
}

/* After a start all of them are looked at for the first time. */
static void limits_that_are_over_are_forgotten_in_slices(void **state)
{
    struct rig *r = *state;
    enum { LIMITS = 250000 };
    char name[128];
    r->check = false;
    for (int i = 0; i < LIMITS; i++) {
        snprintf(name, sizeof(name), "%0100d", i);
        assert_int_equal(engine_limit_close(r->engine, slice_str(name),
                                            r->now.wall_ms + 5000, r->now,
                                            &r->err),
                         ERR_OK);
        if (i % 1000 == 0)
            step(r);
    }
    step(r);
    r->now.wall_ms += 10000;
    r->now.mono_ms += 10000;
    rig_restart(r);
    uint64_t before = 0;
    for (int i = 0; i < 100; i++) {
        struct store_stats st;
        store_get_stats(r->store, &st);
        assert_in_range(st.entry_bytes - before, 0, GENERATION_ENTRY_MAX);
        before = st.entry_bytes;
        (void)engine_tick(r->engine, r->now);
        rig_add(r, "q", "x", NULL);
    }
}

/* --- ends ----------------------------------------------------------------- */

static void jobs_that_are_too_late_end_in_slices(void **state)
{
    struct rig *r = *state;
    struct id ids[MANY];
    struct job_options o = {.given = GIVEN(EXPIRES), .expires_ms = 1000};
    struct slice q = SLICE_LIT("q"), small = SLICE_LIT("small");
    struct lease_params p = {.queues = &q, .queues_n = 1, .count = 50};
    struct add_params add = {
        .queue = q, .payloads = &small, .n = 1, .options = &no_options};
    struct add_result result;
    struct given g = {.token = mem_alloc(50 * 64)};
    add_many(r, &o, ids);
    r->now.wall_ms += 1000;
    r->now.mono_ms += 1000;
    assert_int_equal(rig_try_add(r, &add, &result), ERR_OK);
    /* No timer comes between: the lease itself finds them. */
    for (int i = 0; i < MANY && g.n == 0; i++) {
        enum err rc =
            engine_lease(r->engine, NULL, &p, r->now, note_token, &g, &r->err);
        assert_true(rc == ERR_OK || rc == ERR_EMPTY);
        assert_true(g.n > 0 || engine_next_ms(r->engine, r->now) <=
                                   r->now.mono_ms); /* somebody comes back */
        step(r);
    }
    assert_int_equal(g.n, 1);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_EXPIRED], MANY);
    mem_free(g.token);
}

static void a_lowered_bound_leaves_older_jobs_as_large_as_they_are(void **state)
{
    struct rig *r = *state;
    struct id ids[MANY];
    struct engine_config c = *engine_get_config(r->engine);
    add_many(r, &no_options, ids);
    assert_int_equal(rig_lease(r, "q", MANY), MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(engine_checkpoint(r->engine, NULL, r->token[i],
                                           large(), r->now, &r->err),
                         ERR_OK);
        step(r);
    }
    c.payload_max = 1024;
    engine_configure(r->engine, &c);
    ack_in_rounds(r, 1);
}

static void reap(struct rig *r, int turns)
{
    while (turns-- > 0) {
        (void)engine_reap(r->engine, r->now);
        step(r);
    }
}

/* Executions of cancelled jobs end with their session, or with the connection
 * that never read of them. */
static void cancelled_leases_end_in_slices(void **state)
{
    struct rig *r = *state;
    struct id ids[MANY];
    struct slice q = SLICE_LIT("q");
    struct lease_params p = {
        .queues = &q, .queues_n = 1, .count = MANY, .session = SLICE_LIT("s")};
    struct manage_params cancel = {.verb = MANAGE_CANCEL};
    add_many(r, &no_options, ids);
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    assert_int_equal(r->n, MANY);
    assert_int_equal(rig_manage(r, cancel, ids, MANY), ERR_OK);
    engine_lease_undo(r->engine, r->token, MANY / 2, r->now);
    reap(r, 2 * MANY);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_CANCELLED], MANY / 2);
    r->now.wall_ms += 10000;
    r->now.mono_ms += 10000;
    reap(r, 2 * MANY);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_CANCELLED], MANY);
}

/* The reaper, the timers and a chore each have a turn in a tick, and each has
 * jobs of the largest size. */
static void each_actor_of_a_tick_has_room(void **state)
{
    struct rig *r = *state;
    enum { EACH = 3, LARGEST = 4 << 20 };
    struct engine_config c = *engine_get_config(r->engine);
    struct job_options o[] = {
        {.given = GIVEN(TIMEOUT) | GIVEN(RETRIES), .timeout_ms = 1000},
        {.given = GIVEN(DEADLINE), .deadline_ms = 1000},
        {.given = GIVEN(DELAY), .delay_ms = 3600000}};
    char *bytes = mem_alloc(LARGEST);
    memset(bytes, 'x', LARGEST);
    struct slice payload = slice_of(bytes, LARGEST), q = SLICE_LIT("q");
    struct job_filter f = {.queue = SLICE_LIT("other")};
    struct bulk_params bulk = {.verb = MANAGE_CANCEL, .filter = &f};
    struct id chore;
    c.payload_max = LARGEST;
    engine_configure(r->engine, &c);
    for (int k = 0; k < 3; k++) {
        struct add_params p = {.queue = k == 2 ? SLICE_LIT("other") : q,
                               .payloads = &payload,
                               .n = 1,
                               .options = &o[k]};
        struct add_result result;
        for (int i = 0; i < EACH; i++)
            assert_int_equal(rig_try_add(r, &p, &result), ERR_OK);
        if (k < 2)
            assert_int_equal(rig_lease(r, "q", EACH), EACH);
        for (int i = 0; k < 2 && i < EACH; i++) {
            assert_int_equal(engine_checkpoint(r->engine, NULL, r->token[i],
                                               payload, r->now, &r->err),
                             ERR_OK);
            step(r);
        }
    }
    r->now.wall_ms += 1000;
    r->now.mono_ms += 1000;
    assert_int_equal(engine_bulk(r->engine, &bulk, r->now, &chore, &r->err),
                     ERR_OK);
    for (int i = 0; i < 4 * EACH; i++) {
        (void)engine_reap(r->engine, r->now);
        (void)engine_tick(r->engine, r->now);
        step(r);
    }
    assert_int_equal(rig_queue(r, "q").jobs[JOB_FAILED], EACH);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_EXPIRED], EACH);
    assert_int_equal(rig_queue(r, "other").jobs[JOB_CANCELLED], EACH);
    mem_free(bytes);
}

/* All of them move with the job when it ends. */
static void effects_of_a_job_are_bounded(void **state)
{
    struct rig *r = *state;
    char name[201];
    struct slice token;
    bool first;
    enum err rc = ERR_OK;
    uint32_t n = 0;
    rig_add(r, "q", "x", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    token = r->token[0];
    r->check = false;
    for (int round = 0; round < 2; round++) {
        rc = ERR_OK;
        for (; rc == ERR_OK && n < 100000; n++) {
            snprintf(name, sizeof(name), "%0200u", n);
            rc = engine_effect(r->engine, NULL, token, slice_str(name), r->now,
                               &first, &r->err);
            if (n % 1000 == 0)
                step(r);
        }
        assert_int_equal(rc, ERR_LIMIT);
        assert_in_range(n, 3000, 10000);
        step(r);
        if (round == 0)
            rig_restart(r); /* it is known anew */
    }
    /* What was done is still known. */
    snprintf(name, sizeof(name), "%0200u", 7);
    assert_int_equal(engine_effect(r->engine, NULL, token, slice_str(name),
                                   r->now, &first, &r->err),
                     ERR_OK);
    assert_false(first);
    assert_int_equal(rig_ack(r, token), ERR_OK);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(several_of_one_command_are_bounded),
        TEST(what_does_not_fit_is_refused_and_may_be_sent_again),
        TEST(chores_go_on_where_the_entry_was_full),
        TEST(chores_count_jobs_once_that_stay_where_they_are),
        TEST(what_a_full_queue_drops_is_bounded),
        TEST(leases_that_end_together_end_in_slices),
        TEST(inherited_options_count),
        TEST(rows_of_the_end_of_a_tick_count),
        TEST(leases_of_one_entry_are_bounded),
        TEST(limits_that_are_over_are_forgotten_in_slices),
        TEST(jobs_that_are_too_late_end_in_slices),
        TEST(a_lowered_bound_leaves_older_jobs_as_large_as_they_are),
        TEST(cancelled_leases_end_in_slices),
        TEST(each_actor_of_a_tick_has_room),
        TEST(effects_of_a_job_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
