/* Which segments stay, which go, and what becomes of them. Invariant 9. */
#include "unit.h"

#include "log_disk.h"
#include "log_lib.h"

static struct log *many_segments(struct place *p, uint64_t last)
{
    place_make(p);
    p->segment_bytes = LOG_SEGMENT_BYTES_MIN;
    struct log *l = place_open(p, false);
    add_entries(l, 1, last);
    struct log_stats st;
    log_stats(l, &st);
    assert_true(st.segments >= 5);
    return l;
}

static void what_was_not_released_stays(void **state)
{
    (void)state;
    struct place p;
    struct log *l = many_segments(&p, 700);
    assert_int_equal(log_first(l), 1);
    log_release(l, 300);
    uint64_t first = log_first(l);
    assert_true(first > 1 && first <= 300);
    check_entries(l, first, 700);
    log_release(l, 200); /* never goes back */
    assert_int_equal(log_first(l), first);
    log_close(&l);
    l = place_open(&p, false);
    assert_int_equal(log_first(l), first);
    check_entries(l, first, 700);
    log_close(&l);
    place_remove(&p);
}

static void the_newest_segment_always_stays(void **state)
{
    (void)state;
    struct place p;
    struct log *l = many_segments(&p, 700);
    log_release(l, UINT64_MAX);
    struct log_stats st;
    log_stats(l, &st);
    assert_int_equal(st.segments, 1);
    assert_true(log_first(l) <= 700);
    check_entries(l, log_first(l), 700);
    add_entries(l, 701, 800);
    log_close(&l);
    l = place_open(&p, false);
    assert_int_equal(log_last(l), 800);
    log_close(&l);
    place_remove(&p);
}

static void a_hold_keeps_what_the_store_released(void **state)
{
    (void)state;
    struct place p;
    struct log_hold feed, backup;
    struct log *l = many_segments(&p, 700);
    log_hold_begin(l, &feed, 250);
    log_hold_begin(l, &backup, 500);
    log_release(l, 600);
    uint64_t first = log_first(l);
    assert_true(first > 1 && first <= 250);
    log_hold_move(l, &feed, 700);
    log_release(l, 601);
    assert_true(log_first(l) > first && log_first(l) <= 500);
    check_entries(l, log_first(l), 700);
    log_hold_end(l, &backup);
    log_release(l, 602);
    assert_true(log_first(l) > 500 && log_first(l) <= 602);
    log_hold_end(l, &feed);
    log_close(&l);
    place_remove(&p);
}

static void
holds_end_where_keep_bytes_does_the_stores_need_does_not(void **state)
{
    (void)state;
    struct place p;
    struct log_hold replica;
    struct log *l = many_segments(&p, 700);
    log_hold_begin(l, &replica, 1);
    log_set_keep_bytes(l, 3 * LOG_SEGMENT_BYTES_MIN);
    log_release(l, 10); /* the store needs 10, whatever it costs */
    assert_int_equal(log_first(l), 1);
    log_release(l, 700);
    struct log_stats st;
    log_stats(l, &st);
    assert_true(st.segment_bytes <= 3 * LOG_SEGMENT_BYTES_MIN);
    assert_true(st.segments >= 2); /* no more than the cap asks for */
    assert_true(log_first(l) > 1);
    struct log_iter *it;
    struct errbuf e;
    assert_int_equal(log_iter_open(&it, l, 1, &e), ERR_NOTFOUND);
    assert_non_null(strstr(e.text, "record 1 is no longer kept"));
    assert_null(it);
    log_hold_end(l, &replica);
    log_close(&l);
    place_remove(&p);
}

static void released_segments_are_written_over(void **state)
{
    (void)state;
    struct place p;
    struct log *l = many_segments(&p, 700);
    struct log_stats after;
    for (uint64_t i = 701; i < 3000; i += 50) {
        log_release(l, i);
        add_entries(l, i, i + 49);
        check_entries(l, log_first(l), i + 49);
    }
    log_stats(l, &after);
    assert_true(after.recycled > 10);
    uint64_t first = log_first(l), last = log_last(l);
    log_close(&l);
    /* Nothing of the old lives comes back (invariant 6). */
    for (int n = 0; n < 2; n++) {
        struct log_found found;
        struct errbuf e;
        struct log_options o = place_options(&p, false);
        assert_ok(log_open(&l, &o, &found, &e));
        assert_int_equal(found.last, last);
        /* A clean end is one, though old bytes follow it. */
        assert_int_equal(found.tail_records, 0);
        check_entries(l, first, last);
        log_close(&l);
    }
    place_remove(&p);
}

static size_t spares_in(const struct place *p)
{
    size_t n = 0;
    DIR *d = opendir(p->path);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d)) != NULL;)
        n += strstr(f->d_name, ".spare") != NULL ||
             strstr(f->d_name, ".reserve") != NULL;
    (void)closedir(d);
    return n;
}

static void a_busy_log_keeps_as_many_spares_as_it_may(void **state)
{
    (void)state;
    struct place p;
    struct log *l = many_segments(&p, 3000);
    log_release(l, 1500); /* nothing was said: no more than a few */
    assert_int_equal(spares_in(&p), 4);
    log_set_spare_bytes(l, 9 * LOG_SEGMENT_BYTES_MIN);
    log_release(l, 3000);
    assert_int_equal(spares_in(&p), 9);
    log_set_spare_bytes(l, 0); /* the disk has filled */
    add_entries(l, 3001, 3001);
    assert_int_equal(spares_in(&p), 4);
    check_entries(l, log_first(l), log_last(l));
    log_close(&l);
    place_remove(&p);
}

static void an_unsynced_record_is_never_released(void **state)
{
    (void)state;
    struct place p;
    place_make(&p);
    p.sync = LOG_NO;
    p.segment_bytes = LOG_SEGMENT_BYTES_MIN;
    struct log *l = place_open(&p, false);
    char text[64];
    for (uint64_t i = 1; i <= 300; i++) {
        (void)log_append(l, entry_text(text, i));
        log_submit(l);
    }
    log_release(l, 301);
    assert_true(log_durable(l) < 300);
    assert_true(log_first(l) <= log_durable(l) + 1);
    log_close(&l);
    place_remove(&p);
}

static void a_reader_survives_the_release_of_its_segment(void **state)
{
    (void)state;
    struct place p;
    struct log *l = many_segments(&p, 700);
    struct log_iter *it;
    struct log_record rec;
    struct errbuf e;
    char text[64];
    assert_ok(log_iter_open(&it, l, 3, &e));
    assert_ok(log_iter_next(it, 700, &rec, &e));
    log_release(l, 650);
    add_entries(l, 701, 1200); /* written over what was free */
    /* Either the right bytes or the plain answer that they are gone. */
    uint64_t i = 4;
    enum err rc;
    while ((rc = log_iter_next(it, 1200, &rec, &e)) == ERR_OK) {
        assert_int_equal(rec.index, i);
        assert_true(slice_eq(rec.entry, entry_text(text, i)));
        i++;
    }
    assert_int_equal(rc, ERR_NOTFOUND);
    assert_true(i > 4);
    log_iter_close(&it);
    log_close(&l);
    place_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_released_stays),
        cmocka_unit_test(the_newest_segment_always_stays),
        cmocka_unit_test(a_hold_keeps_what_the_store_released),
        cmocka_unit_test(
            holds_end_where_keep_bytes_does_the_stores_need_does_not),
        cmocka_unit_test(released_segments_are_written_over),
        cmocka_unit_test(a_busy_log_keeps_as_many_spares_as_it_may),
        cmocka_unit_test(an_unsynced_record_is_never_released),
        cmocka_unit_test(a_reader_survives_the_release_of_its_segment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
