/* Jobs of a megabyte, many at once: whatever is done to them stays below the
 * bytes that an entry of the log may have (rig.c verifies it each step), and
 * all of it is done in the end. */
#include "rig.h"

#include <string.h>

#include "store/generation.h"

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
    uint32_t done = 0;
    for (int round = 0; round < 10 && done < MANY; round++) {
        struct ack_params p = {.tokens = r->token + done, .n = MANY - done};
        struct verdicts v = {0, 0};
        assert_int_equal(
            engine_ack(r->engine, NULL, &p, r->now, judge, &v, &r->err),
            ERR_OK);
        assert_int_equal(v.good + v.full, MANY - done);
        assert_in_range(v.good, 5, MANY - done);
        done += v.good;
        step(r);
    }
    assert_int_equal(rig_queue(r, "q").jobs[JOB_COMPLETED], MANY);
    /* Taken back, the same way. */
    char text[MANY][ID_TEXT_LEN];
    struct slice jobs[MANY];
    for (int i = 0; i < MANY; i++) {
        id_text(&ids[i], text[i]);
        jobs[i] = slice_of(text[i], ID_TEXT_LEN);
    }
    done = 0;
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
