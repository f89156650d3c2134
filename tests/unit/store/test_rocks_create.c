/* A new directory has no base until the first generation is applied. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "store/offline.h"
#include "store_lib.h"

#define ROWS 100

static const char *path_in(const struct place *p, const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", p->dir, name);
    return path;
}

static bool is_there(const struct place *p, const char *name)
{
    struct stat st;
    return stat(path_in(p, name), &st) == 0;
}

static void write_rows(struct place *p)
{
    load(p);
    for (unsigned i = 1; i <= ROWS; i++) {
        put(p, i, i, true);
        commit(p);
    }
    del(p, 50);
    commit(p);
    wait_durable(p);
}

static void check_rows(struct place *p)
{
    for (unsigned i = 1; i <= ROWS; i++)
        assert_int_equal(get(p, i), i == 50 ? 0 : i);
    assert_int_equal(count_rows(p), ROWS - 1);
}

static void it_is_read_and_written_without_a_base(void **state)
{
    struct place *p = *state;
    struct store_stats st;
    write_rows(p);
    check_rows(p);
    assert_false(is_there(p, "base"));
    store_get_stats(p->s, &st);
    assert_null(st.fault);
    assert_int_equal(st.base_disk_bytes, 0);
    wait_applied(p);
    assert_true(is_there(p, "base"));
    assert_false(is_there(p, "base.making"));
    check_rows(p);
}

static void rows_can_be_fetched_before_there_is_a_base(void **state)
{
    struct place *p = *state;
    struct key k;
    struct slice v;
    uint64_t end = deadline();
    bool done = false;
    write_rows(p);
    struct gather *g = gather_new(p->s);
    /* None of the overlay's; so many that they are read together. */
    for (unsigned i = ROWS + 1; i <= ROWS + 40; i++)
        assert_int_equal(
            store_get_later(p->s, g, FAMILY_JOBS, key_of(&k, i), &v, NULL),
            ERR_PENDING);
    store_fetch(p->s, g, set_flag, &done);
    while (!done) {
        assert_true(clock_mono_us() < end);
        turn(p);
    }
    assert_false(is_there(p, "base"));
    assert_int_equal(
        store_get_later(p->s, g, FAMILY_JOBS, key_of(&k, 1), &v, NULL), ERR_OK);
    assert_int_equal(
        store_get_later(p->s, g, FAMILY_JOBS, key_of(&k, ROWS + 1), &v, NULL),
        ERR_NOTFOUND);
    gather_free(&g);
    check_rows(p);
}

static void a_clean_stop_makes_the_base(void **state)
{
    struct place *p = *state;
    struct store_stats st;
    write_rows(p);
    store_close(&p->s);
    assert_true(is_there(p, "base"));
    load(p);
    store_get_stats(p->s, &st);
    assert_int_equal(st.replayed_entries, 0);
    check_rows(p);
}

/* What a crash in the middle of it leaves, at its worst. */
static void a_creation_cut_short_begins_afresh(void **state)
{
    struct place *p = *state;
    write_rows(p);
    store_abandon(&p->s);
    FILE *f = fopen(path_in(p, "base.making/CURRENT"), "w");
    assert_non_null(f);
    fputs("MANIFEST-000001\n", f);
    fclose(f);
    f = fopen(path_in(p, "base.making/000123.sst"), "w");
    assert_non_null(f);
    fclose(f);
    load(p);
    check_rows(p);
    wait_applied(p);
    assert_true(is_there(p, "base"));
    assert_false(is_there(p, "base/000123.sst"));
    store_close(&p->s);
    load(p);
    check_rows(p);
}

static void a_creation_that_fails_is_told_and_tried_again(void **state)
{
    struct place *p = *state;
    struct store_stats st;
    uint64_t end = deadline();
    write_rows(p);
    assert_int_equal(mkdir(path_in(p, "base.making/other"), 0700), 0);
    store_seal(p->s);
    do {
        assert_true(clock_mono_us() < end);
        turn(p);
        store_get_stats(p->s, &st);
    } while (st.fault == NULL);
    assert_string_equal(st.fault, "applying to the base fails");
    check_rows(p);
    assert_int_equal(st.fault_is, ERR_IO);
    /* The disk has room, and so has the overlay. */
    assert_int_equal(store_room(p->s), STORE_ROOM);
    assert_int_equal(rmdir(path_in(p, "base.making/other")), 0);
    wait_applied(p);
    assert_int_equal(store_room(p->s), STORE_ROOM);
    check_rows(p);
}

static void a_place_where_none_can_be_made_is_refused(void **state)
{
    struct place *p = *state;
    struct errbuf e;
    FILE *f = fopen(path_in(p, "base.making"), "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(store_open(&p->s, &p->o, &e), ERR_IO);
    assert_non_null(strstr(e.text, "/base.making"));
    assert_int_equal(unlink(path_in(p, "base.making")), 0);
    assert_int_equal(symlink("base", path_in(p, "base")), 0);
    assert_int_equal(store_open(&p->s, &p->o, &e), ERR_IO);
    assert_non_null(strstr(e.text, "/base"));
    assert_int_equal(unlink(path_in(p, "base")), 0);
}

static void such_data_can_be_checked_copied_and_salvaged(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct errbuf e;
    char copy[96];
    write_rows(p);
    store_abandon(&p->s);
    if (offline_verify(p->dir, &n, &e) != ERR_OK)
        fail_msg("%s", e.text);
    assert_int_equal(n.applied, 0);
    assert_int_equal(n.rows[FAMILY_JOBS], 0);
    assert_true(n.replay > ROWS);
    snprintf(copy, sizeof(copy), "%s/copy", p->dir);
    if (offline_copy(p->dir, copy, &e) != ERR_OK)
        fail_msg("%s", e.text);
    p->o.dir = copy;
    load(p);
    check_rows(p);
    store_abandon(&p->s);
    p->o.dir = p->dir;
}

static void ignore(void *ud, const char *line)
{
    (void)ud;
    (void)line;
}

static void salvage_keeps_a_log_without_a_base(void **state)
{
    struct place *p = *state;
    struct errbuf e;
    write_rows(p);
    store_abandon(&p->s);
    if (offline_salvage(p->dir, ignore, NULL, &e) != ERR_OK)
        fail_msg("%s", e.text);
    load(p);
    check_rows(p);
}

static void backed_up(void *ud, enum err rc, const char *why)
{
    if (rc != ERR_OK)
        fail_msg("%s", why);
    *(bool *)ud = true;
}

static void a_backup_needs_no_base(void **state)
{
    struct place *p = *state;
    struct errbuf e;
    bool done = false;
    char copy[96];
    uint64_t end = deadline();
    snprintf(copy, sizeof(copy), "%s/copy", p->dir);
    write_rows(p);
    if (store_backup(p->s, copy, backed_up, &done, &e) != ERR_OK)
        fail_msg("%s", e.text);
    wait_applied(p); /* the base is made meanwhile */
    while (!done) {
        assert_true(clock_mono_us() < end);
        turn(p);
    }
    store_close(&p->s);
    p->o.dir = copy;
    load(p);
    check_rows(p);
    store_close(&p->s);
    p->o.dir = p->dir;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_read_and_written_without_a_base),
        TEST(rows_can_be_fetched_before_there_is_a_base),
        TEST(a_clean_stop_makes_the_base),
        TEST(a_creation_cut_short_begins_afresh),
        TEST(a_creation_that_fails_is_told_and_tried_again),
        TEST(a_place_where_none_can_be_made_is_refused),
        TEST(such_data_can_be_checked_copied_and_salvaged),
        TEST(salvage_keeps_a_log_without_a_base),
        TEST(a_backup_needs_no_base),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
