/* What log_open() does with a log that was torn, damaged or rolled back. The
 * numbers are those of the invariants in log/log.h. */
#include "unit.h"

#include "log_disk.h"
#include "log_lib.h"

#include "log/segment.h"
#include "util/logger.h"

#define SYNCED 3 /* records 1..3 are named durable by record 4 */
#define LAST 6

/* Six records in one segment, three of them known to be durable. */
static void make_log(struct place *p, struct images *im)
{
    char text[LAST][64];
    place_make(p);
    p->segment_bytes = LOG_SEGMENT_BYTES_MIN;
    p->sync = LOG_NO;
    struct log *l = place_open(p, false);
    for (uint64_t i = 1; i <= LAST; i++) {
        (void)log_append(l, entry_text(text[i - 1], i));
        log_submit(l);
        if (i == SYNCED)
            log_request_sync(l);
    }
    assert_int_equal(log_durable(l), SYNCED);
    log_close(&l);
    images_take(im, p);
}

static uint64_t offset_of(uint64_t index)
{
    char text[64];
    uint64_t off = SEG_DATA;
    for (uint64_t i = 1; i < index; i++)
        off += rec_size(entry_text(text, i).len);
    return off;
}

static enum err try_open(const struct place *p, struct log **l,
                         struct log_found *found, struct errbuf *e)
{
    struct log_options o = place_options(p, false);
    e->text[0] = '\0';
    return log_open(l, &o, found, e);
}

/* Open must refuse, and say each of `words`. */
static void must_refuse(const struct place *p, const char *words[])
{
    struct log *l;
    struct errbuf e;
    assert_int_equal(try_open(p, &l, NULL, &e), ERR_CORRUPT);
    assert_null(l);
    for (size_t i = 0; words[i] != NULL; i++)
        if (strstr(e.text, words[i]) == NULL)
            fail_msg("'%s' does not say '%s'", e.text, words[i]);
}

static void a_torn_tail_is_dropped_at_every_byte(void **state)
{
    (void)state;
    struct place p;
    struct images im;
    make_log(&p, &im);
    struct image *seg = images_find(&im, ".seg");
    uint64_t end = offset_of(LAST + 1);
    char *whole = (char *)mem_dup(buf_slice(&seg->bytes));
    for (uint64_t cut = offset_of(SYNCED + 1); cut <= end; cut++) {
        for (int fill = 0; fill < 2; fill++) {
            memcpy(seg->bytes.data, whole, seg->bytes.len);
            memset(seg->bytes.data + cut, fill ? 0xa5 : 0,
                   (size_t)(end + REC_HEAD - cut));
            images_put(&im, &p);
            uint64_t whole_ones = SYNCED;
            /* The pad is not covered: a record is whole without it. */
            char text[64];
            while (whole_ones < LAST &&
                   offset_of(whole_ones + 1) + REC_HEAD +
                           entry_text(text, whole_ones + 1).len <=
                       cut)
                whole_ones++;
            struct log *l;
            struct log_found found;
            struct errbuf e;
            assert_ok(try_open(&p, &l, &found, &e));
            if (found.last != whole_ones)
                fail_msg("cut at %llu: last is %llu, not %llu",
                         (unsigned long long)cut,
                         (unsigned long long)found.last,
                         (unsigned long long)whole_ones);
            /* Part of a record is counted; a clean end is not. */
            if (fill == 1)
                assert_int_equal(found.tail_records, 1);
            check_entries(l, 1, whole_ones);
            add_entries(l, whole_ones + 1, whole_ones + 2);
            check_entries(l, 1, whole_ones + 2);
            log_close(&l);
        }
    }
    mem_free(whole);
    images_release(&im);
    place_remove(&p);
}

static void a_flipped_bit_never_loses_what_is_named_durable(void **state)
{
    (void)state;
    struct place p;
    struct images im;
    make_log(&p, &im);
    unsigned refused = 0, dropped = 0;
    for (size_t f = 0; f < im.n; f++) {
        struct buf *b = &im.v[f].bytes;
        for (size_t at = 0; at < b->len; at++) {
            if (at == 128 || at == 4096 + 128) /* nothing there */
                at += 4096 - 128;
            if (at >= b->len || at >= offset_of(LAST + 1) + REC_HEAD)
                break;
            char bit = (char)(1 << (at % 8));
            b->data[at] = (char)(b->data[at] ^ bit);
            images_put(&im, &p);
            b->data[at] = (char)(b->data[at] ^ bit);
            struct log *l;
            struct log_found found;
            struct errbuf e;
            enum err rc = try_open(&p, &l, &found, &e);
            if (rc != ERR_OK) {
                assert_int_equal(rc, ERR_CORRUPT);
                assert_non_null(strstr(e.text, ".seg, offset "));
                assert_non_null(strstr(e.text, "record "));
                refused++;
                continue;
            }
            assert_true(found.last >= SYNCED);
            dropped += found.last < LAST;
            assert_true(found.last == LAST || found.tail_records > 0);
            check_entries(l, 1, found.last);
            log_close(&l);
        }
    }
    assert_true(refused > 50);
    assert_true(dropped > 50);
    images_release(&im);
    place_remove(&p);
}

static void damage_names_file_offset_and_index(void **state)
{
    (void)state;
    struct place p;
    struct images im;
    make_log(&p, &im);
    images_find(&im, ".seg")->bytes.data[offset_of(2) + REC_HEAD] ^= 1;
    /* Without a watermark the later records are the only witnesses. */
    images_find(&im, "watermark")->name[0] = 'x';
    images_put(&im, &p);
    char offset[64];
    (void)snprintf(offset, sizeof(offset),
                   "offset %llu:", (unsigned long long)offset_of(2));
    const char *words[] = {
        p.path,      "/00000000000000000001.seg",         offset,
        "record 2 ", "a later record names 3 as durable", NULL};
    must_refuse(&p, words);
    images_release(&im);
    place_remove(&p);
}

static void a_zeroed_page_in_the_middle_is_damage(void **state)
{
    (void)state;
    struct place p;
    struct images im;
    make_log(&p, &im);
    memset(images_find(&im, ".seg")->bytes.data + offset_of(1), 0,
           (size_t)(offset_of(3) - offset_of(1)));
    images_put(&im, &p);
    must_refuse(&p, (const char *[]){"offset 8192", "record 1 ", NULL});
    images_release(&im);
    place_remove(&p);
}

/* Invariant 6. The entry contains the image of a record that names everything
 * durable, where a search behind damage would look. */
static void a_payload_cannot_pose_as_a_record(void **state)
{
    (void)state;
    struct place p;
    struct images im;
    struct errbuf e;
    unsigned char fake[2 * REC_HEAD];
    place_make(&p);
    p.sync = LOG_NO;
    struct log *l = place_open(&p, false);
    struct log_record rec = {.index = 9, .durable = 8};
    memset(fake, 0, sizeof(fake));
    rec_encode(fake + 8, &rec, 0);
    (void)log_append(l, slice_of(fake, sizeof(fake)));
    log_submit(l);
    log_close(&l);
    images_take(&im, &p);
    images_find(&im, ".seg")->bytes.data[SEG_DATA] ^= 1;
    images_put(&im, &p);
    struct log_found found;
    assert_ok(try_open(&p, &l, &found, &e));
    assert_int_equal(found.last, 0);
    assert_int_equal(found.tail_records, 1);
    log_close(&l);
    images_release(&im);
    place_remove(&p);
}

static void each_life_of_a_file_has_its_own_salt(void **state)
{
    (void)state;
    struct place p;
    struct errbuf e;
    uint64_t salts[64], *n, from = 1;
    size_t seen = 0, count;
    place_make(&p);
    p.segment_bytes = LOG_SEGMENT_BYTES_MIN;
    struct log *l = place_open(&p, false);
    for (int round = 0; round < 8; round++) {
        add_entries(l, from, from + 299);
        from += 300;
        struct log_dir d = {.path = p.path};
        d.fd = open(p.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_ok(seg_list(&d, ".seg", &n, &count, &e));
        for (size_t i = 1; i < count; i++) { /* the first was seen already */
            struct seg_head head;
            int fd;
            assert_ok(seg_open(&d, n[i], O_RDONLY, &fd, &head, &e));
            (void)close(fd);
            for (size_t k = 0; k < seen; k++)
                assert_int_not_equal(salts[k], head.salt);
            assert_true(seen < ARRAY_LEN(salts));
            salts[seen++] = head.salt;
        }
        mem_free(n);
        (void)close(d.fd);
        log_release(l, from);
    }
    struct log_stats st;
    log_stats(l, &st);
    assert_true(st.recycled > 4 && seen > 10);
    log_close(&l);
    place_remove(&p);
}

/* Invariant 7. */
static void what_may_be_unsynced_is_written_again(void **state)
{
    (void)state;
    struct place p;
    struct images im;
    struct disk d;
    struct errbuf e;
    struct log_found found;
    struct log *l;
    make_log(&p, &im);
    disk_init(&d, 1);
    p.io = &d.io;
    assert_ok(try_open(&p, &l, &found, &e));
    assert_int_equal(found.rewritten, LAST - SYNCED);
    assert_true(d.writes >= LAST - SYNCED);
    assert_int_equal(d.n, 0); /* and all of it was synced */
    assert_int_equal(log_durable(l), LAST);
    log_close(&l);
    disk_release(&d);
    images_release(&im);
    place_remove(&p);
}

/* Invariants 1 and 2: good bytes in the wrong place are not of this log. */
static void a_record_of_a_lower_epoch_or_other_index_ends_the_log(void **state)
{
    (void)state;
    static const struct log_record wrong[] = {
        {.index = LAST + 1, .epoch = 4},
        {.index = LAST + 2, .epoch = 5},
        {.index = LAST, .epoch = 5},
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct place p;
        struct errbuf e;
        struct seg_head head;
        struct log_found found;
        unsigned char bytes[REC_HEAD];
        char text[LAST][64];
        place_make(&p);
        struct log *l = place_open(&p, false);
        log_set_epoch(l, 5);
        for (uint64_t n = 1; n <= LAST; n++)
            (void)log_append(l, entry_text(text[n - 1], n));
        assert_ok(log_drain(l, &e));
        log_close(&l);
        struct log_dir d = {.path = p.path};
        d.fd = open(p.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int fd;
        assert_ok(seg_open(&d, 1, O_RDWR, &fd, &head, &e));
        rec_encode(bytes, &wrong[i], head.salt);
        assert_int_equal(
            io_write_bytes(NULL, fd, bytes, sizeof(bytes), offset_of(LAST + 1)),
            0);
        (void)close(fd);
        (void)close(d.fd);
        assert_ok(try_open(&p, &l, &found, &e));
        assert_int_equal(found.last, LAST);
        assert_int_equal(found.epoch, 5);
        assert_int_equal(found.tail_records, 1);
        log_close(&l);
        place_remove(&p);
    }
}

static void a_deleted_log_is_noticed(void **state)
{
    (void)state;
    struct place p;
    struct images im;
    make_log(&p, &im);
    images_find(&im, ".seg")->name[0] = 'x';
    images_put(&im, &p);
    must_refuse(&p, (const char *[]){p.path, "deleted or rolled back", NULL});
    images_release(&im);
    place_remove(&p);
}

static void a_rolled_back_log_is_noticed(void **state)
{
    (void)state;
    struct place p;
    struct images old, new;
    make_log(&p, &old);
    p.sync = LOG_ALWAYS;
    struct log *l = place_open(&p, false);
    add_entries(l, LAST + 1, LAST + 20);
    log_close(&l);
    images_take(&new, &p);
    struct buf tmp = images_find(&new, ".seg")->bytes;
    images_find(&new, ".seg")->bytes = images_find(&old, ".seg")->bytes;
    images_find(&old, ".seg")->bytes = tmp;
    images_put(&new, &p);
    must_refuse(&p,
                (const char *[]){"record 7 ", "the watermark names 26", NULL});
    images_release(&old);
    images_release(&new);
    place_remove(&p);
}

static void missing_segments_are_noticed(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        struct place p;
        struct images im;
        place_make(&p);
        p.segment_bytes = LOG_SEGMENT_BYTES_MIN;
        struct log *l = place_open(&p, false);
        add_entries(l, 1, 400);
        log_close(&l);
        uint64_t *n;
        size_t count;
        struct errbuf e;
        struct log_dir d = {.path = p.path};
        d.fd = open(p.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_ok(seg_list(&d, ".seg", &n, &count, &e));
        assert_true(count >= 3);
        char name[SEG_NAME];
        seg_name(name, n[which == 0 ? count - 1 : 1], ".seg");
        if (which < 2) { /* the newest, one in the middle */
            assert_int_equal(unlinkat(d.fd, name, 0), 0);
        } else { /* cut off */
            int fd = openat(d.fd, name, O_RDWR | O_CLOEXEC);
            assert_int_equal(ftruncate(fd, 12000), 0);
            (void)close(fd);
        }
        mem_free(n);
        (void)close(d.fd);
        must_refuse(&p, which == 0   ? (const char *[]){"watermark", NULL}
                        : which == 1 ? (const char *[]){"next segment", NULL}
                                     : (const char *[]){"cut off", name, NULL});
        (void)im;
        place_remove(&p);
    }
}

static void a_lost_watermark_is_said_and_made_anew(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        struct place p;
        struct images im;
        struct log_found found;
        struct errbuf e;
        struct log *l;
        make_log(&p, &im);
        struct image *mark = images_find(&im, "watermark");
        if (which == 0)
            mark->name[0] = 'x';
        mark->bytes.data[20] ^= 1;
        if (which == 1)
            mark->bytes.data[4096 + 20] ^= 1;
        images_put(&im, &p);
        logger_set_level(LL_WARNING + 1); /* it is said, which is expected */
        assert_ok(try_open(&p, &l, &found, &e));
        logger_set_level(LL_NOTICE);
        assert_int_equal(found.watermark_unusable, which < 2);
        assert_int_equal(found.last, LAST);
        log_close(&l);
        assert_ok(try_open(&p, &l, &found, &e));
        assert_false(found.watermark_unusable);
        log_close(&l);
        images_release(&im);
        place_remove(&p);
    }
}

static void a_second_process_is_refused(void **state)
{
    (void)state;
    struct place p;
    struct errbuf e;
    struct log *second;
    place_make(&p);
    struct log *l = place_open(&p, false);
    assert_int_equal(try_open(&p, &second, NULL, &e), ERR_BUSY);
    assert_non_null(strstr(e.text, p.path));
    log_close(&l);
    place_remove(&p);
}

static void a_new_log_may_begin_anywhere(void **state)
{
    (void)state;
    struct place p;
    struct errbuf e;
    struct log *l;
    struct log_found found;
    place_make(&p);
    struct log_options o = place_options(&p, false);
    o.first_index = 1000;
    assert_ok(log_open(&l, &o, &found, &e));
    assert_true(found.created);
    assert_int_equal(found.first, 1000);
    assert_int_equal(found.last, 999);
    add_entries(l, 1000, 1010);
    log_close(&l);
    o.first_index = 5; /* of no account now */
    assert_ok(log_open(&l, &o, &found, &e));
    assert_false(found.created);
    assert_int_equal(found.last, 1010);
    check_entries(l, 1000, 1010);
    log_close(&l);
    place_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_torn_tail_is_dropped_at_every_byte),
        cmocka_unit_test(a_flipped_bit_never_loses_what_is_named_durable),
        cmocka_unit_test(damage_names_file_offset_and_index),
        cmocka_unit_test(a_zeroed_page_in_the_middle_is_damage),
        cmocka_unit_test(a_payload_cannot_pose_as_a_record),
        cmocka_unit_test(each_life_of_a_file_has_its_own_salt),
        cmocka_unit_test(what_may_be_unsynced_is_written_again),
        cmocka_unit_test(a_record_of_a_lower_epoch_or_other_index_ends_the_log),
        cmocka_unit_test(a_deleted_log_is_noticed),
        cmocka_unit_test(a_rolled_back_log_is_noticed),
        cmocka_unit_test(missing_segments_are_noticed),
        cmocka_unit_test(a_lost_watermark_is_said_and_made_anew),
        cmocka_unit_test(a_second_process_is_refused),
        cmocka_unit_test(a_new_log_may_begin_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
