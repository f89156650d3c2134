/* What a salvage may leave: jobs without a place, places without end, counters
 * that count what is gone. */
#include "rig.h"

#include "engine/mend.h"
#include "store/key.h"

struct keys {
    struct key all[64];
    size_t n;
};

static bool note(struct slice key, struct slice value, void *ud)
{
    struct keys *k = ud;
    (void)value;
    memcpy(k->all[k->n].bytes, key.data, key.len);
    k->all[k->n++].len = (uint16_t)key.len;
    return true;
}

/* All rows of a family are gone; returns how many. */
static size_t lose(struct rig *r, enum family f, struct slice from)
{
    struct keys k = {.n = 0};
    struct key to;
    assert_int_equal(
        store_scan(r->store, NULL, f, from,
                   from.len == 0 ? SLICE_EMPTY : key_after(&to, from), 64, note,
                   &k, &r->err),
        ERR_OK);
    for (size_t i = 0; i < k.n; i++)
        store_del(r->store, f, key_slice(&k.all[i]));
    return k.n;
}

static struct mended mended(struct rig *r)
{
    struct mended m;
    if (engine_mend(r->engine, r->now, &m, &r->err) != ERR_OK)
        fail_msg("%s", r->err.text);
    rig_restart(r);
    if (engine_check(r->engine, &r->err) != ERR_OK)
        fail_msg("%s", r->err.text);
    r->check = true;
    return m;
}

static void some_of_all(struct rig *r)
{
    struct job_options late = {.given = GIVEN(DELAY), .delay_ms = 60000};
    for (int i = 0; i < 10; i++)
        rig_add(r, "q", "x", NULL);
    rig_add(r, "q", "late", &late);
    assert_int_equal(rig_lease(r, "q", 3), 3);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    r->check = false;
}

static void jobs_without_a_place_get_it_back(void **state)
{
    struct rig *r = *state;
    some_of_all(r);
    assert_int_equal(lose(r, FAMILY_READY, SLICE_EMPTY), 7);
    assert_int_equal(lose(r, FAMILY_RUNS, SLICE_EMPTY), 2);
    assert_true(lose(r, FAMILY_DUE, SLICE_EMPTY) > 0);
    store_commit(r->store, r->now);
    rig_restart(r);
    assert_int_not_equal(engine_check(r->engine, &r->err), ERR_OK);
    struct mended m = mended(r);
    assert_int_equal(m.requeued, 10);
    assert_int_equal(m.recounted, 1);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], 9);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_SCHEDULED], 1);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_RUNNING], 0);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_COMPLETED], 1);
    assert_int_equal(rig_lease(r, "q", 20), 9);
    rig_pass(r, 60000);
    assert_int_equal(rig_lease(r, "q", 20), 1);
}

static void lost_counters_are_counted_anew(void **state)
{
    struct rig *r = *state;
    struct key k;
    some_of_all(r);
    assert_int_equal(
        lose(r, FAMILY_NAMED, key_prefix_named(&k, 5 /* counters */)), 1);
    store_commit(r->store, r->now);
    rig_restart(r);
    assert_int_not_equal(engine_check(r->engine, &r->err), ERR_OK);
    struct mended m = mended(r);
    assert_int_equal(m.requeued, 0);
    assert_int_equal(m.recounted, 1);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], 7);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_RUNNING], 2);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_COMPLETED], 1);
}

static void finished_jobs_are_listed_again(void **state)
{
    struct rig *r = *state;
    some_of_all(r);
    assert_int_equal(rig_ack(r, r->token[1]), ERR_OK);
    assert_int_equal(lose(r, FAMILY_INDEX, SLICE_EMPTY), 2);
    store_commit(r->store, r->now);
    rig_restart(r);
    assert_int_not_equal(engine_check(r->engine, &r->err), ERR_OK);
    struct mended m = mended(r);
    assert_int_equal(m.listed, 2);
    assert_int_equal(m.recounted, 0);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_COMPLETED], 2);
}

static void a_lost_finished_job_is_not_listed(void **state)
{
    struct rig *r = *state;
    some_of_all(r);
    assert_true(lose(r, FAMILY_PAST, SLICE_EMPTY) > 0);
    store_commit(r->store, r->now);
    rig_restart(r);
    assert_int_not_equal(engine_check(r->engine, &r->err), ERR_OK);
    struct mended m = mended(r);
    assert_int_equal(m.listed, 0);
    assert_int_equal(m.recounted, 1);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_COMPLETED], 0);
}

static void finished_jobs_are_counted_where_they_are_listed(void **state)
{
    struct rig *r = *state;
    some_of_all(r);
    assert_true(lose(r, FAMILY_DONE, SLICE_EMPTY) > 0);
    store_commit(r->store, r->now);
    rig_restart(r);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_COMPLETED], 0);
    struct mended m = mended(r);
    assert_int_equal(m.recounted, 1);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_COMPLETED], 1);
}

static void a_lost_job_leaves_no_unique_key(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(UNIQUE), .unique = SLICE_LIT("k")};
    rig_add(r, "q", "x", &o);
    r->check = false;
    assert_int_equal(lose(r, FAMILY_JOBS, SLICE_EMPTY), 1);
    assert_int_equal(lose(r, FAMILY_READY, SLICE_EMPTY), 1);
    store_commit(r->store, r->now);
    rig_restart(r);
    struct mended m = mended(r);
    assert_int_equal(m.keys, 1);
    assert_true(rig_add(r, "q", "again", &o).created);
}

static void a_job_gets_its_lost_name_and_unique_key_back(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(UNIQUE), .unique = SLICE_LIT("k")};
    struct add_result added = rig_add_named(r, "n", &o);
    struct id found;
    r->check = false;
    assert_int_equal(lose(r, FAMILY_KEYS, SLICE_EMPTY), 2);
    store_commit(r->store, r->now);
    rig_restart(r);
    assert_int_not_equal(engine_check(r->engine, &r->err), ERR_OK);
    struct mended m = mended(r);
    assert_int_equal(m.claimed, 2);
    assert_int_equal(
        engine_find(r->engine, NULL, SLICE_LIT("n"), &found, &r->err), ERR_OK);
    assert_true(id_eq(&found, &added.id));
    assert_false(rig_add(r, "q", "again", &o).created);
}

static void what_is_whole_stays_as_it_is(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(UNIQUE), .unique = SLICE_LIT("k")};
    rig_add(r, "q", "x", &o);
    some_of_all(r);
    rig_restart(r);
    struct mended m = mended(r);
    assert_int_equal(m.requeued + m.doubled + m.recounted + m.keys + m.listed +
                         m.homeless + m.unreadable,
                     0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(jobs_without_a_place_get_it_back),
        TEST(lost_counters_are_counted_anew),
        TEST(finished_jobs_are_listed_again),
        TEST(a_lost_finished_job_is_not_listed),
        TEST(finished_jobs_are_counted_where_they_are_listed),
        TEST(a_lost_job_leaves_no_unique_key),
        TEST(a_job_gets_its_lost_name_and_unique_key_back),
        TEST(what_is_whole_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
