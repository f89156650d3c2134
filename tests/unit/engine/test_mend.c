/* What a salvage may leave: jobs without a place, places without end, counters
 * that count what is gone. */
#include "rig.h"

#include "engine/core.h"
#include "engine/mend.h"
#include "store/generation.h"

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
    struct job_options late = {.given = GIVEN(DELAY) | GIVEN(DEADLINE),
                               .delay_ms = 60000,
                               .deadline_ms = 120000};
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
    rig_pass(r, 60000);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_EXPIRED], 1);
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

static void plant(struct rig *r, enum family f, struct slice key,
                  struct slice value)
{
    memcpy(store_put(r->store, f, key, value.len, false), value.data,
           value.len);
}

/* The only row of a finished job, and its value: good until it is freed. */
static struct past_key only_past(struct rig *r, struct buf *value)
{
    struct past_key at;
    struct keys k = {.n = 0};
    struct slice row;
    assert_int_equal(store_scan(r->store, NULL, FAMILY_PAST, SLICE_EMPTY,
                                SLICE_EMPTY, 1, note, &k, &r->err),
                     ERR_OK);
    assert_true(key_parse_past(key_slice(&k.all[0]), &at));
    assert_int_equal(at.kind, PAST_JOB);
    assert_int_equal(store_get(r->store, NULL, FAMILY_PAST,
                               key_slice(&k.all[0]), &row, &r->err),
                     ERR_OK);
    buf_add_slice(value, row);
    return at;
}

/* A row of the index that was written anew, say, and an older one as well. */
static void a_finished_job_is_listed_where_its_row_says(void **state)
{
    struct rig *r = *state;
    struct buf value = {0};
    struct rec_done d;
    struct rec_job job;
    struct key k;
    some_of_all(r);
    struct past_key past = only_past(r, &value);
    assert_true(rec_done_decode(&d, buf_slice(&value)));
    assert_true(rec_job_decode(&job, d.job));
    struct rec_index index = {id_slice(&past.id)};
    key_index(&k, past.bucket, job.queue, d.state, d.finished_ms, d.block + 1);
    rec_index_encode(&index, store_put(r->store, FAMILY_INDEX, key_slice(&k),
                                       rec_index_size(&index), false));
    buf_release(&value);
    store_commit(r->store, r->now);
    rig_restart(r);
    assert_int_not_equal(engine_check(r->engine, &r->err), ERR_OK);
    struct mended m = mended(r);
    assert_int_equal(m.recounted + m.listed, 0);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_COMPLETED], 1);
    assert_int_equal(lose(r, FAMILY_INDEX, SLICE_EMPTY), 1);
}

/* Blocks of which one job is left each: more of them than an entry may hold. */
static void jobs_are_lost_without_bound(void **state)
{
    enum { IDS = 256, BLOCKS = (int)(GENERATION_ENTRY_MAX / IDS / ID_LEN) + 9 };
    struct rig *r = *state;
    struct buf value = {0};
    struct rec_done d;
    struct rec_job job;
    struct key k;
    struct id ids[IDS];
    char row[1024];
    some_of_all(r);
    struct past_key past = only_past(r, &value);
    assert_true(rec_done_decode(&d, buf_slice(&value)));
    assert_true(rec_job_decode(&job, d.job));
    assert_true(rec_done_size(&d) <= sizeof(row));
    for (uint32_t i = 0; i < BLOCKS; i++) {
        struct rec_index index = {slice_of((char *)ids, sizeof(ids))};
        struct id id = id_make(1, 2, i, 0);
        for (uint32_t n = 0; n < IDS; n++)
            ids[n] = id_make(1, 2, i, n);
        d.block = (uint64_t)7 << 32 | i;
        rec_done_encode(&d, row);
        plant(r, FAMILY_PAST, key_past_job(&k, past.bucket, &id),
              slice_of(row, rec_done_size(&d)));
        key_index(&k, past.bucket, job.queue, d.state, d.finished_ms, d.block);
        rec_index_encode(&index,
                         store_put(r->store, FAMILY_INDEX, key_slice(&k),
                                   rec_index_size(&index), false));
        if (i % 100 == 0)
            store_commit(r->store, r->now);
    }
    buf_release(&value);
    store_commit(r->store, r->now);
    rig_restart(r);
    assert_int_not_equal(engine_check(r->engine, &r->err), ERR_OK);
    struct mended m = mended(r);
    assert_int_equal(m.listed, 0);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_COMPLETED], BLOCKS + 1);
}

static void a_lost_counter_of_an_owner_is_counted_anew(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(OWNER), .owner = SLICE_LIT("acme")};
    struct owner_view v;
    struct key k;
    rig_add(r, "q", "x", &o);
    r->check = false;
    assert_int_equal(lose(r, FAMILY_NAMED, key_prefix_named(&k, NAMED_LIVE)),
                     1);
    store_commit(r->store, r->now);
    rig_restart(r);
    assert_int_not_equal(engine_check(r->engine, &r->err), ERR_OK);
    assert_int_equal(mended(r).recounted, 1);
    assert_int_equal(engine_owner(r->engine, SLICE_LIT("acme"), &v, &r->err),
                     ERR_OK);
    assert_int_equal(v.live, 1);
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

/* The longest keys that we read, and longer ones, which are nobody's. */
static void rows_with_keys_of_any_length_are_passed(void **state)
{
    struct rig *r = *state;
    char bytes[KEY_MAX + 1], value[64];
    struct mended m;
    struct rec_alias alias = {id_make(1, 2, 3, 4)};
    rec_alias_encode(&alias, value);
    memset(bytes, 0xff, sizeof(bytes));
    some_of_all(r);
    for (size_t len = KEY_MAX - 1; len <= sizeof(bytes); len++) {
        bytes[0] = (char)0xff;
        plant(r, FAMILY_JOBS, slice_of(bytes, len), SLICE_LIT("x"));
        plant(r, FAMILY_PAST, slice_of(bytes, len), SLICE_LIT("x"));
        plant(r, FAMILY_DUE, slice_of(bytes, len), SLICE_LIT("x"));
        bytes[0] = KEY_ALIAS;
        plant(r, FAMILY_KEYS, slice_of(bytes, len),
              slice_of(value, rec_alias_size(&alias)));
        assert_int_not_equal(engine_check(r->engine, &r->err), ERR_OK);
        if (engine_mend(r->engine, r->now, &m, &r->err) != ERR_OK)
            fail_msg("%s", r->err.text);
        assert_int_equal(m.keys, len <= KEY_MAX ? 1 : 0);
        assert_int_equal(m.unreadable, len - KEY_MAX + 2);
    }
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
        TEST(a_finished_job_is_listed_where_its_row_says),
        TEST(jobs_are_lost_without_bound),
        TEST(a_lost_counter_of_an_owner_is_counted_anew),
        TEST(finished_jobs_are_counted_where_they_are_listed),
        TEST(a_lost_job_leaves_no_unique_key),
        TEST(a_job_gets_its_lost_name_and_unique_key_back),
        TEST(rows_with_keys_of_any_length_are_passed),
        TEST(what_is_whole_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
