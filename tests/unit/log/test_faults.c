/* Disks that write short, fail, or are full. Invariant 8. */
#include "unit.h"

#include <sys/wait.h>

#include "log_disk.h"
#include "log_lib.h"
#include "wait.h"

#include "log/record.h"
#include "log/watermark.h"
#include "util/logger.h"

static void short_writes_are_completed(void **state)
{
    (void)state;
    struct place p;
    struct disk d;
    place_make(&p);
    disk_init(&d, 3);
    d.short_writes = true;
    p.io = &d.io;
    struct log *l = place_open(&p, false);
    add_entries(l, 1, 300);
    check_entries(l, 1, 300);
    log_close(&l);
    l = place_open(&p, false);
    check_entries(l, 1, 300);
    log_close(&l);
    disk_release(&d);
    place_remove(&p);
}

static void count_fatal(const char *why, void *ud)
{
    assert_non_null(strstr(why, "has failed"));
    ++*(unsigned *)ud;
}

/* One entry at a time until the n-th write or sync fails. Returns whether that
 * was final: one of the watermark is not, it is only a second witness. */
static unsigned fail_at(uint64_t n, bool in_sync)
{
    struct place p;
    struct disk d;
    struct errbuf e;
    struct log *l;
    unsigned fatal = 0;
    char text[64];
    place_make(&p);
    p.segment_bytes = LOG_SEGMENT_BYTES_MIN;
    disk_init(&d, n);
    p.io = &d.io;
    struct log_options o = place_options(&p, false);
    o.on_fatal = count_fatal;
    o.ud = &fatal;
    assert_ok(log_open(&l, &o, NULL, &e));
    *(in_sync ? &d.fail_sync : &d.fail_write) = n;
    logger_set_level(LL_WARNING + 1);
    uint64_t durable = 0;
    for (uint64_t i = 1; i < 1000 && fatal == 0; i++) {
        (void)log_append(l, entry_text(text, i));
        durable = log_durable(l);
        log_submit(l);
        if (fatal == 0)
            assert_int_equal(log_durable(l), i);
    }
    logger_set_level(LL_NOTICE);
    /* Nothing that failed is ever called durable, nor tried again. */
    if (fatal > 0) {
        assert_int_equal(log_durable(l), durable);
        assert_int_equal(log_acked(l), durable);
        uint64_t writes = d.writes;
        (void)log_append(l, entry_text(text, 1));
        log_submit(l);
        assert_int_equal(log_drain(l, &e), ERR_IO);
        assert_int_equal(log_durable(l), durable);
        log_close(&l);
        assert_int_equal(d.writes, writes);
        assert_int_equal(fatal, 1);
    }
    log_close(&l);
    p.io = NULL;
    l = place_open(&p, false);
    assert_true(log_last(l) >= durable);
    check_entries(l, 1, log_last(l));
    log_close(&l);
    disk_release(&d);
    place_remove(&p);
    return fatal;
}

static void a_failed_write_is_final_wherever_it_happens(void **state)
{
    (void)state;
    unsigned final = 0;
    for (uint64_t n = 1; n <= 200; n++)
        final += fail_at(n, false);
    assert_true(final > 180);
}

static void a_failed_sync_is_final_wherever_it_happens(void **state)
{
    (void)state;
    unsigned final = 0;
    for (uint64_t n = 1; n <= 200; n++)
        final += fail_at(n, true);
    assert_true(final > 180);
}

/* What was durable before an operation failed, in a start, in writing, in
 * letting segments go, in a cut or at the end. */
static bool fail_anything_at(uint64_t n)
{
    struct place p;
    struct disk d;
    struct errbuf e;
    struct log *l;
    unsigned fatal = 0;
    char text[64];
    uint64_t durable = 600, i = 601;
    place_make(&p);
    p.segment_bytes = LOG_SEGMENT_BYTES_MIN;
    disk_init(&d, n);
    p.io = &d.io;
    l = place_open(&p, false);
    add_entries(l, 1, durable);
    log_close(&l);
    struct log_options o = place_options(&p, false);
    o.on_fatal = count_fatal;
    o.ud = &fatal;
    logger_set_level(LL_WARNING + 1);
    d.fail_any = n;
    if (log_open(&l, &o, NULL, &e) != ERR_OK) {
        assert_null(l);
        goto again;
    }
    log_release(l, 400);
    for (; i <= 900 && fatal == 0; i++) {
        (void)log_append(l, entry_text(text, i));
        log_submit(l);
        durable = log_durable(l);
    }
    if (fatal == 0) {
        log_release(l, 800);
        (void)!log_truncate_suffix(l, 880, &e);
        durable = 879;
    }
    log_close(&l);

again:
    logger_set_level(LL_NOTICE);
    bool hit = d.fail_any == 0;
    d.fail_any = 0;
    struct log_check check;
    if (log_verify(p.path, &check, NULL, NULL, &e) != ERR_OK)
        fail_msg("fault %llu: %s", (unsigned long long)n, e.text);
    l = place_open(&p, false);
    assert_true(log_last(l) >= durable);
    check_entries(l, log_first(l), log_last(l));
    add_entries(l, log_last(l) + 1, log_last(l) + 10);
    log_close(&l);
    disk_release(&d);
    place_remove(&p);
    return hit;
}

static void a_failed_operation_anywhere_loses_nothing(void **state)
{
    (void)state;
    uint64_t n = 1;
    while (fail_anything_at(n))
        n++;
    assert_true(n > 300);
}

/* A watermark that could not be written leaves the one before, and both slots
 * are there as soon as one could. */
static void a_failed_watermark_is_written_again(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 4; n++) { /* two writes, the sync, its name's */
        struct place p;
        struct disk disk;
        struct stat st;
        struct mark m = {.durable = 7}, seen;
        enum mark_state found;
        struct errbuf e;
        place_make(&p);
        disk_init(&disk, 1);
        struct log_dir d = {.path = p.path, .io = &disk.io};
        d.fd = open(p.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        disk.fail_any = n;
        assert_int_equal(mark_write(&d, &m, &e), ERR_IO);
        assert_ok(mark_write(&d, &m, &e));
        assert_int_equal(fstatat(d.fd, "watermark", &st, 0), 0);
        assert_true(st.st_size > 4096);
        m.durable = 8;
        disk.fail_any = 1;
        assert_int_equal(mark_write(&d, &m, &e), ERR_IO);
        assert_ok(mark_read(&d, &seen, &found, &e));
        assert_int_equal(found, MARK_GOOD);
        assert_int_equal(seen.durable, 7);
        assert_ok(mark_write(&d, &m, &e));
        assert_ok(mark_read(&d, &seen, &found, &e));
        assert_int_equal(seen.durable, 8);
        (void)close(d.fd);
        disk_release(&disk);
        place_remove(&p);
    }
}

static void the_process_ends_with_the_documented_code(void **state)
{
    (void)state;
    for (int threaded = 0; threaded < 2; threaded++) {
        struct place p;
        place_make(&p);
        pid_t child = fork();
        if (child == 0) {
            struct disk d;
            logger_set_level(LL_WARNING + 1);
            disk_init(&d, 1);
            p.io = &d.io;
            struct log *l = place_open(&p, threaded == 1);
            d.fail_sync = 1;
            (void)log_append(l, SLICE_LIT("never acknowledged"));
            (void)!log_drain(l, NULL);
            _exit(1); /* it should not come to this */
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), EXIT_LOG_FAILED);
        place_remove(&p);
    }
}

static void a_full_disk_stops_new_segments_and_nothing_else(void **state)
{
    (void)state;
    for (int threaded = 0; threaded < 2; threaded++) {
        struct place p;
        struct disk d;
        struct errbuf e;
        static char text[64];
        place_make(&p);
        p.segment_bytes = LOG_SEGMENT_BYTES_MIN;
        disk_init(&d, 3);
        p.io = &d.io;
        struct log *l = place_open(&p, threaded == 1);
        add_entries(l, 1, 10);
        d.full = true;
        logger_set_level(LL_WARNING + 1);
        /* The next segment was reserved while there was space; the one after
         * it is refused, and that is known as soon as the spare is taken. */
        uint64_t i = 11;
        while (log_space_left(l) > 2 * rec_size(sizeof(text))) {
            bool ready = log_next_ready(l);
            add_entries(l, i, i);
            i++;
            if (!ready)
                assert_true(log_space_left(l) <= LOG_SEGMENT_BYTES_MIN);
        }
        assert_true(wait_until(!log_next_ready(l)));
        /* Beyond that entries wait; none is lost, none is acknowledged. */
        uint64_t promised = 0, from = i;
        static char more[300][64];
        for (; i < from + 300; i++) {
            (void)log_append(l, entry_text(more[i - from], i));
            log_submit(l);
        }
        assert_int_equal(log_drain(l, &e), ERR_NOSPACE);
        promised = log_durable(l);
        assert_true(promised < i - 1);
        assert_int_equal(log_acked(l), promised);
        assert_false(log_next_ready(l));
        /* One group is stuck; what comes behind it waits for room. */
        static char last[64];
        (void)log_append(l, entry_text(last, i++));
        log_submit(l);
        assert_true(log_pending_bytes(l) > 0);
        d.full = false;
        if (threaded)
            assert_true(wait_until(log_durable(l) == log_last(l)));
        else
            assert_ok(log_drain(l, &e));
        assert_true(wait_until(log_next_ready(l)));
        logger_set_level(LL_NOTICE);
        assert_int_equal(log_durable(l), i - 1);
        check_entries(l, 1, i - 1);
        log_close(&l);
        l = place_open(&p, false);
        check_entries(l, 1, i - 1);
        log_close(&l);
        disk_release(&d);
        place_remove(&p);
    }
}

/* The spare that was reserved stays, being too small, and says nothing of
 * whether there is space. */
static void a_large_entry_that_found_room_again_ends_the_refusals(void **state)
{
    (void)state;
    struct place p;
    struct disk d;
    struct errbuf e;
    static const char text[4 * LOG_SEGMENT_BYTES_MIN];
    place_make(&p);
    p.segment_bytes = LOG_SEGMENT_BYTES_MIN;
    disk_init(&d, 3);
    p.io = &d.io;
    struct log *l = place_open(&p, false);
    d.full = true;
    (void)log_append(l, slice_of(text, sizeof(text)));
    log_submit(l);
    assert_int_equal(log_drain(l, &e), ERR_NOSPACE);
    assert_false(log_next_ready(l));
    d.full = false;
    assert_ok(log_drain(l, &e));
    assert_true(log_next_ready(l));
    log_close(&l);
    disk_release(&d);
    place_remove(&p);
}

static void a_full_disk_at_the_start_is_an_error(void **state)
{
    (void)state;
    struct place p;
    struct disk d;
    struct errbuf e;
    struct log *l;
    place_make(&p);
    disk_init(&d, 3);
    d.full = true;
    p.io = &d.io;
    struct log_options o = place_options(&p, false);
    assert_int_equal(log_open(&l, &o, NULL, &e), ERR_NOSPACE);
    assert_null(l);
    d.full = false; /* and leaves nothing that is in the way */
    assert_ok(log_open(&l, &o, NULL, &e));
    log_close(&l);
    disk_release(&d);
    place_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_writes_are_completed),
        cmocka_unit_test(a_failed_write_is_final_wherever_it_happens),
        cmocka_unit_test(a_failed_sync_is_final_wherever_it_happens),
        cmocka_unit_test(a_failed_operation_anywhere_loses_nothing),
        cmocka_unit_test(a_failed_watermark_is_written_again),
        cmocka_unit_test(the_process_ends_with_the_documented_code),
        cmocka_unit_test(a_full_disk_stops_new_segments_and_nothing_else),
        cmocka_unit_test(a_large_entry_that_found_room_again_ends_the_refusals),
        cmocka_unit_test(a_full_disk_at_the_start_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
