/* Appending, syncing, reading back: the happy path in both modes. */
#include "unit.h"

#include "log_lib.h"

static void what_was_drained_is_read_back(void **state)
{
    (void)state;
    for (int threaded = 0; threaded < 2; threaded++) {
        struct place p;
        place_make(&p);
        struct log *l = place_open(&p, threaded == 1);
        add_entries(l, 1, 1000);
        assert_int_equal(log_last(l), 1000);
        assert_int_equal(log_durable(l), 1000);
        check_entries(l, 1, 1000);
        log_close(&l);
        l = place_open(&p, threaded == 1);
        assert_int_equal(log_last(l), 1000);
        check_entries(l, 1, 1000);
        add_entries(l, 1001, 3000);
        check_entries(l, 500, 3000);
        log_close(&l);
        place_remove(&p);
    }
}

static void an_inline_sync_leaves_nothing_to_wait_for(void **state)
{
    (void)state;
    struct place p;
    place_make(&p);
    struct log *l = place_open(&p, true);
    unsigned here = 0;
    for (uint64_t i = 1; i <= 200; i++) {
        char text[64];
        (void)log_append(l, entry_text(text, i));
        if (log_sync_inline(l)) {
            here++;
            assert_int_equal(log_durable(l), i);
            assert_int_equal(log_pending_bytes(l), 0);
        } else {
            assert_int_equal(log_drain(l, NULL), ERR_OK);
        }
    }
    assert_true(here > 0);
    check_entries(l, 1, 200);
    log_close(&l);
    place_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_drained_is_read_back),
        cmocka_unit_test(an_inline_sync_leaves_nothing_to_wait_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
