/* The stopwatch shows what the monotonic clock shows. */
#include "unit.h"

#include "util/clock.h"

/* The longest that a setting took: a test that loses its processor between
 * looking at the clock and at the counter sets them apart by as much. */
static uint64_t longest;

static void set(struct stopwatch *w)
{
    uint64_t now = clock_mono_us();
    stopwatch_set(w, now);
    uint64_t took = clock_mono_us() - now;
    if (took > longest)
        longest = took;
}

static void near_clock(const struct stopwatch *w)
{
    /* Rounding, and a calibration over only 50 ms. */
    uint64_t slack = 200 + 3 * longest;
    uint64_t before = clock_mono_us();
    uint64_t us = stopwatch_us(w);
    uint64_t after = clock_mono_us();
    assert_true(us + slack >= before);
    assert_true(us <= after + slack);
}

static void
it_agrees_with_the_clock_before_and_after_it_is_calibrated(void **state)
{
    (void)state;
    struct stopwatch w = {0};
    uint64_t begin = clock_mono_us();
    near_clock(&w); /* never set: the clock itself */
    while (clock_mono_us() - begin < 120000) {
        set(&w);
        for (int i = 0; i < 100; i++)
            near_clock(&w);
    }
}

static void it_does_not_go_back_between_two_settings(void **state)
{
    (void)state;
    struct stopwatch w = {0};
    uint64_t begin = clock_mono_us(), last = 0;
    while (clock_mono_us() - begin < 60000)
        set(&w);
    for (int i = 0; i < 100000; i++) {
        uint64_t us = stopwatch_us(&w);
        assert_true(us >= last);
        last = us;
    }
}

static void a_counter_that_began_again_is_noticed(void **state)
{
    (void)state;
    struct stopwatch w = {0};
    uint64_t begin = clock_mono_us();
    while (clock_mono_us() - begin < 60000)
        set(&w);
    w.anchor_ticks = UINT64_MAX; /* as after a move to another machine */
    set(&w);
    near_clock(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            it_agrees_with_the_clock_before_and_after_it_is_calibrated),
        cmocka_unit_test(it_does_not_go_back_between_two_settings),
        cmocka_unit_test(a_counter_that_began_again_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
