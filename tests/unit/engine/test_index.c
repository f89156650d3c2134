/* The index of finished jobs: many of one tick in a row, each told once. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#define JOBS 200

static bool count_row(struct slice key, struct slice value, void *ud)
{
    (void)key;
    (void)value;
    ++*(uint32_t *)ud;
    return true;
}

static uint32_t blocks(struct rig *r)
{
    uint32_t n = 0;
    assert_int_equal(store_scan(r->store, NULL, FAMILY_INDEX, SLICE_EMPTY,
                                SLICE_EMPTY, SIZE_MAX, count_row, &n, &r->err),
                     ERR_OK);
    return n;
}

/* So many jobs that were cancelled in one tick. */
static void end_together(struct rig *r, struct id *ids, uint32_t n)
{
    r->check = false; /* a recount per job would take its square */
    for (uint32_t i = 0; i < n; i++)
        ids[i] = rig_add(r, "q", "x", NULL).id;
    r->check = true;
    assert_int_equal(
        rig_manage(r, (struct manage_params){.verb = MANAGE_CANCEL}, ids, n),
        ERR_OK);
}

struct told {
    struct id ids[2 * JOBS];
    uint32_t n;
};

static void note(void *ud, const struct job_view *v)
{
    struct told *t = ud;
    assert_true(t->n < 2 * JOBS);
    t->ids[t->n++] = v->id;
}

/* One page; false: it was the last one. */
static bool page(struct rig *r, struct told *t, struct list_result *res,
                 uint32_t count)
{
    struct job_filter f = {.queue = SLICE_LIT("q"),
                           .states = (uint32_t)1 << JOB_CANCELLED};
    char cursor[CURSOR_MAX];
    uint32_t before = t->n;
    strcpy(cursor, res->cursor);
    struct list_params p = {
        .filter = &f, .cursor = slice_str(cursor), .count = count};
    while (engine_list(r->engine, r->gather, &p, r->now, note, t, res,
                       &r->err) == ERR_PENDING) {
        t->n = before;
        rig_fetch(r);
    }
    gather_release(r->gather);
    assert_true(t->n - before <= count);
    return res->cursor[0] != '\0';
}

static uint32_t times_told(const struct told *t, const struct id *id)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++)
        n += id_eq(&t->ids[i], id);
    return n;
}

static void ends_of_a_tick_share_rows(void **state)
{
    struct rig *r = *state;
    struct id ids[JOBS];
    end_together(r, ids, JOBS);
    assert_int_equal(blocks(r), 4); /* 64 in each */
    end_together(r, ids, 1);
    assert_int_equal(blocks(r), 5);
}

static void pages_tell_each_job_once(void **state)
{
    struct rig *r = *state;
    struct id ids[JOBS];
    end_together(r, ids, JOBS);
    for (uint32_t count = 1; count < 200; count = count * 3 + 1) {
        struct told t = {.n = 0};
        struct list_result res = {.cursor = ""};
        while (page(r, &t, &res, count))
            ;
        assert_int_equal(t.n, JOBS);
        for (uint32_t i = 0; i < JOBS; i++)
            assert_int_equal(times_told(&t, &ids[i]), 1);
    }
}

static void pages_keep_their_place_while_jobs_are_erased(void **state)
{
    struct rig *r = *state;
    struct id ids[JOBS];
    struct told t = {.n = 0};
    struct list_result res = {.cursor = ""};
    end_together(r, ids, JOBS);
    assert_true(page(r, &t, &res, 10));
    /* All that were told, and some of those to come. */
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(
            rig_manage(r, (struct manage_params){.verb = MANAGE_DELETE},
                       &ids[i], 1),
            ERR_OK);
    while (page(r, &t, &res, 10))
        ;
    for (uint32_t i = 0; i < JOBS; i++)
        assert_int_equal(times_told(&t, &ids[i]), i < 10 || i >= 20);
}

static void the_last_job_of_a_block_takes_its_row_along(void **state)
{
    struct rig *r = *state;
    struct id ids[70];
    end_together(r, ids, 70);
    assert_int_equal(blocks(r), 2);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(
            rig_manage(r, (struct manage_params){.verb = MANAGE_DELETE},
                       &ids[i], 1),
            ERR_OK);
    assert_int_equal(blocks(r), 1);
}

static void ignore(void *ud, uint32_t i, enum err rc, const char *why)
{
    (void)ud;
    (void)i;
    (void)why;
    assert_int_equal(rc, ERR_OK);
}

/* Without a commit behind it. */
static void manage_now(struct rig *r, const struct manage_params *p)
{
    assert_int_equal(
        engine_manage(r->engine, r->gather, p, r->now, ignore, NULL, &r->err),
        ERR_OK);
}

static void a_block_of_this_tick_can_be_read_and_changed(void **state)
{
    struct rig *r = *state;
    struct id ids[3];
    struct told t = {.n = 0};
    struct list_result res = {.cursor = ""};
    for (uint32_t i = 0; i < 3; i++)
        ids[i] = rig_add(r, "q", "x", NULL).id;
    char text[3][ID_TEXT_LEN];
    struct slice names[3];
    for (uint32_t i = 0; i < 3; i++) {
        id_text(&ids[i], text[i]);
        names[i] = slice_of(text[i], ID_TEXT_LEN);
    }
    struct manage_params p = {.verb = MANAGE_CANCEL, .jobs = names, .n = 3};
    manage_now(r, &p);
    while (page(r, &t, &res, 10))
        ;
    assert_int_equal(t.n, 3);
    t.n = 0;
    p = (struct manage_params){.verb = MANAGE_RETRY, .jobs = names, .n = 1};
    manage_now(r, &p);
    while (page(r, &t, &res, 10))
        ;
    assert_int_equal(times_told(&t, &ids[0]), 0);
    assert_int_equal(times_told(&t, &ids[1]), 1);
    assert_int_equal(times_told(&t, &ids[2]), 1);
    rig_step(r);
    rig_restart(r);
    assert_int_equal(rig_state(r, ids[0]), JOB_READY);
}

/* JOBS that have ended, with their rows in the base. */
static void end_in_base(struct rig *r)
{
    struct id ids[JOBS];
    r->generation_bytes = 4096;
    rig_restart(r);
    end_together(r, ids, JOBS);
    rig_restart(r);
}

static void rows_of_history_are_left_to_the_reader(void **state)
{
    struct rig *r = *state;
    struct told t = {.n = 0};
    struct list_result res = {.cursor = ""};
    struct store_stats before, after;
    end_in_base(r);
    store_get_stats(r->store, &before);
    while (page(r, &t, &res, JOBS))
        ;
    store_get_stats(r->store, &after);
    assert_int_equal(t.n, JOBS);
    assert_true(r->fetches > 0);
    /* What is left are scans of the index. */
    assert_in_range(after.base_reads - before.base_reads, 0, JOBS / 4);
}

static void a_page_asks_for_the_rows_that_it_tells(void **state)
{
    struct rig *r = *state;
    struct told t = {.n = 0};
    struct list_result res = {.cursor = ""};
    struct store_stats before, after;
    end_in_base(r);
    store_get_stats(r->store, &before);
    assert_true(page(r, &t, &res, 5));
    store_get_stats(r->store, &after);
    assert_int_equal(t.n, 5);
    assert_in_range(after.pending_reads - before.pending_reads, 5, 10);
}

/* --- live jobs ----------------------------------------------------------- */

#define MANY 2500

static struct list_result count_from(struct rig *r, const char *cursor)
{
    struct job_filter f = {.handler = SLICE_LIT("q"),
                           .states = (uint32_t)1 << JOB_READY};
    struct list_result res;
    struct list_params p = {.filter = &f, .cursor = slice_str(cursor)};
    while (engine_count(r->engine, r->gather, &p, r->now, &res, &r->err) ==
           ERR_PENDING)
        rig_fetch(r);
    gather_release(r->gather);
    assert_in_range(res.examined, 0, 1000); /* a millisecond, not a queue */
    return res;
}

static void counting_goes_on_while_jobs_change_their_states(void **state)
{
    struct rig *r = *state;
    static struct id ids[MANY];
    struct manage_params hold = {.verb = MANAGE_HOLD};
    r->check = false;
    for (uint32_t i = 0; i < MANY; i++)
        ids[i] = rig_add(r, "q", "x", NULL).id;
    struct list_result res = count_from(r, "");
    assert_int_equal(res.n, 1000);
    /* Some that were counted, and some of those to come. */
    assert_int_equal(rig_manage(r, hold, &ids[900], 200), ERR_OK);
    hold.verb = MANAGE_DELETE;
    assert_int_equal(rig_manage(r, hold, &ids[1990], 20), ERR_OK);
    uint64_t n = res.n;
    while (res.cursor[0] != '\0') {
        char cursor[CURSOR_MAX];
        strcpy(cursor, res.cursor);
        res = count_from(r, cursor);
        n += res.n;
    }
    assert_int_equal(n, MANY - 100 - 20);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        T(ends_of_a_tick_share_rows),
        T(pages_tell_each_job_once),
        T(pages_keep_their_place_while_jobs_are_erased),
        T(the_last_job_of_a_block_takes_its_row_along),
        T(a_block_of_this_tick_can_be_read_and_changed),
        T(rows_of_history_are_left_to_the_reader),
        T(a_page_asks_for_the_rows_that_it_tells),
        T(counting_goes_on_while_jobs_change_their_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
