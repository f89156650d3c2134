/* The log offline: verify, salvage; and cutting off a suffix. */
#include "unit.h"

#include "log_disk.h"
#include "log_lib.h"

#include "log/segment.h"

static void make_log(struct place *p, struct images *im)
{
    place_make(p);
    p->segment_bytes = LOG_SEGMENT_BYTES_MIN;
    struct log *l = place_open(p, false);
    add_entries(l, 1, 400);
    log_close(&l);
    images_take(im, p);
}

static enum err count_to(const struct log_record *rec, void *ud,
                         struct errbuf *e)
{
    uint64_t *n = (uint64_t *)ud;
    char text[64];
    if (rec->index != ++*n || !slice_eq(rec->entry, entry_text(text, *n)))
        return err_set(e, ERR_INTERNAL, "record %llu is not what was written",
                       (unsigned long long)*n);
    return *n == 333 ? err_set(e, ERR_LIMIT, "enough") : ERR_OK;
}

static void a_whole_log_verifies_record_by_record(void **state)
{
    (void)state;
    struct place p;
    struct images im;
    struct log_check c;
    struct errbuf e;
    uint64_t n = 0;
    make_log(&p, &im);
    assert_ok(log_verify(p.path, &c, NULL, NULL, &e));
    assert_int_equal(c.first, 1);
    assert_int_equal(c.last, 400);
    assert_int_equal(c.records, 400);
    assert_int_equal(c.damaged_index, 0);
    assert_int_equal(c.tail_records, 0);
    assert_int_equal(c.watermark_durable, 400);
    assert_true(c.segments >= 3);
    assert_int_equal(log_verify(p.path, &c, count_to, &n, &e), ERR_LIMIT);
    assert_int_equal(n, 333);
    images_release(&im);
    place_remove(&p);
}

static void a_running_log_cannot_be_verified(void **state)
{
    (void)state;
    struct place p;
    struct log_check c;
    struct errbuf e;
    place_make(&p);
    struct log *l = place_open(&p, false);
    assert_int_equal(log_verify(p.path, &c, NULL, NULL, &e), ERR_BUSY);
    assert_int_equal(log_salvage(p.path, &c, &e), ERR_BUSY);
    log_close(&l);
    place_remove(&p);
}

/* Verify and open must agree; after a salvage the log opens and holds what was
 * before the damage, and what was behind it is told. */
static void salvage(const struct place *p, uint64_t last, uint64_t lost_least)
{
    struct log_check c, done;
    struct errbuf e;
    struct log *l;
    struct log_options o = place_options(p, false);
    assert_int_equal(log_open(&l, &o, NULL, &e), ERR_CORRUPT);
    assert_int_equal(log_verify(p->path, &c, NULL, NULL, &e), ERR_CORRUPT);
    assert_int_equal(c.last, last);
    assert_int_equal(c.damaged_index, last + 1);
    assert_true(c.lost_records >= lost_least);
    assert_int_equal(c.lost_last, 400);
    assert_ok(log_salvage(p->path, &done, &e));
    assert_int_equal(done.last, last);
    assert_int_equal(done.lost_records, c.lost_records);
    assert_ok(log_verify(p->path, &c, NULL, NULL, &e));
    assert_int_equal(c.last, last);
    l = place_open(p, false);
    assert_int_equal(log_last(l), last);
    if (last >= log_first(l))
        check_entries(l, log_first(l), last);
    add_entries(l, last + 1, last + 300);
    check_entries(l, log_first(l), last + 300);
    log_close(&l);
}

static void salvage_keeps_what_is_before_the_damage(void **state)
{
    (void)state;
    struct place p;
    struct images im;
    make_log(&p, &im);
    char text[64];
    uint64_t off = SEG_DATA;
    for (uint64_t i = 1; i < 50; i++)
        off += rec_size(entry_text(text, i).len);
    images_find(&im, "01.seg")->bytes.data[off + REC_HEAD] ^= 4;
    images_put(&im, &p);
    salvage(&p, 49, 350);
    images_release(&im);
    place_remove(&p);
}

static void salvage_goes_on_without_a_head(void **state)
{
    (void)state;
    struct place p;
    struct images im;
    make_log(&p, &im);
    memset(images_find(&im, "01.seg")->bytes.data, 0, SEG_DATA);
    images_put(&im, &p);
    salvage(&p, 0, 250);
    images_release(&im);
    place_remove(&p);
}

static void salvage_of_a_deleted_log_never_uses_an_index_again(void **state)
{
    (void)state;
    struct place p;
    struct images im;
    struct log_check c;
    struct errbuf e;
    make_log(&p, &im);
    for (size_t i = 0; i < im.n; i++)
        if (strstr(im.v[i].name, ".seg") != NULL)
            im.v[i].name[0] = 'x';
    images_put(&im, &p);
    assert_ok(log_salvage(p.path, &c, &e));
    struct log *l = place_open(&p, false);
    assert_int_equal(log_last(l), 400);
    log_close(&l);
    images_release(&im);
    place_remove(&p);
}

static void salvage_of_a_whole_log_changes_nothing(void **state)
{
    (void)state;
    struct place p;
    struct images im, after;
    struct log_check c;
    struct errbuf e;
    make_log(&p, &im);
    assert_ok(log_salvage(p.path, &c, &e));
    assert_int_equal(c.damaged_index, 0);
    images_take(&after, &p);
    assert_int_equal(after.n, im.n);
    for (size_t i = 0; i < im.n; i++)
        assert_true(
            slice_eq(buf_slice(&im.v[i].bytes),
                     buf_slice(&images_find(&after, im.v[i].name)->bytes)));
    images_release(&im);
    images_release(&after);
    place_remove(&p);
}

static void a_suffix_is_cut_and_written_anew(void **state)
{
    (void)state;
    for (int threaded = 0; threaded < 2; threaded++) {
        struct place p;
        struct images im;
        struct errbuf e;
        make_log(&p, &im);
        struct log *l = place_open(&p, threaded == 1);
        static const uint64_t cuts[] = {401, 399, 250, 100, 7, 1};
        for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
            assert_ok(log_truncate_suffix(l, cuts[i], &e));
            assert_int_equal(log_last(l), cuts[i] - 1);
            assert_int_equal(log_durable(l), cuts[i] - 1);
            if (cuts[i] > 1)
                check_entries(l, 1, cuts[i] - 1);
        }
        add_entries(l, 1, 120);
        assert_ok(log_truncate_suffix(l, 60, &e));
        log_close(&l);
        l = place_open(&p, threaded == 1);
        assert_int_equal(log_last(l), 59);
        add_entries(l, 60, 500);
        check_entries(l, 1, 500);
        log_close(&l);
        images_release(&im);
        place_remove(&p);
    }
}

/* The power goes at each step of a cut in turn. */
static void a_cut_that_is_interrupted_is_finished_or_never_was(void **state)
{
    (void)state;
    unsigned finished = 0, never = 0;
    for (uint64_t step = 1; step < 16; step++) {
        struct place p;
        struct images im;
        struct disk d;
        struct errbuf e;
        make_log(&p, &im);
        disk_init(&d, step);
        p.io = &d.io;
        struct log *l = place_open(&p, false);
        d.dies_after = step;
        (void)!log_truncate_suffix(l, 120, &e);
        d.dead = true;
        log_close(&l);
        disk_crash(&d, p.path);
        l = place_open(&p, false);
        assert_true(log_last(l) == 400 || log_last(l) == 119);
        *(log_last(l) == 119 ? &finished : &never) += 1;
        check_entries(l, 1, log_last(l));
        log_close(&l);
        disk_release(&d);
        images_release(&im);
        place_remove(&p);
    }
    assert_true(finished > 2 && never > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_log_verifies_record_by_record),
        cmocka_unit_test(a_running_log_cannot_be_verified),
        cmocka_unit_test(salvage_keeps_what_is_before_the_damage),
        cmocka_unit_test(salvage_goes_on_without_a_head),
        cmocka_unit_test(salvage_of_a_deleted_log_never_uses_an_index_again),
        cmocka_unit_test(salvage_of_a_whole_log_changes_nothing),
        cmocka_unit_test(a_suffix_is_cut_and_written_anew),
        cmocka_unit_test(a_cut_that_is_interrupted_is_finished_or_never_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
