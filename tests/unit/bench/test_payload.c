/* What jobs carry when servers are measured. */
#include "bench/payload.c"
#include "unit.h"

#include <zstd.h>

#define SIZE 150
#define JOBS 400

static void each_job_has_its_stamp(void **state)
{
    (void)state;
    struct payload p;
    payload_init(&p, SIZE, 1);
    for (uint64_t stamp = 1; stamp != 0 && stamp < UINT64_MAX / 10;
         stamp *= 7) {
        struct slice s = payload_next(&p, stamp);
        assert_int_equal(s.len, SIZE);
        assert_int_equal(payload_stamp(s), stamp);
    }
    payload_release(&p);
}

/* A server that compresses has to keep the text of each job: of 64 letters,
 * so six bits in eight. */
static void jobs_beside_each_other_share_no_text(void **state)
{
    (void)state;
    struct payload p;
    struct buf all = {0};
    static char packed[2 * JOBS * SIZE];
    payload_init(&p, SIZE, 1);
    for (uint64_t i = 0; i < JOBS; i++) {
        struct slice s = payload_next(&p, i);
        buf_add(&all, s.data + PAYLOAD_HEAD, s.len - PAYLOAD_HEAD);
    }
    size_t n = ZSTD_compress(packed, sizeof(packed), all.data, all.len, 3);
    assert_false(ZSTD_isError(n));
    assert_true(n > all.len * 70 / 100);
    payload_release(&p);
    buf_release(&all);
}

static void a_seed_makes_the_same_jobs_again(void **state)
{
    (void)state;
    struct payload p, q;
    payload_init(&p, SIZE, 7);
    payload_init(&q, SIZE, 7);
    for (uint64_t i = 0; i < 10; i++)
        assert_true(slice_eq(payload_next(&p, i), payload_next(&q, i)));
    payload_release(&p);
    payload_release(&q);
}

static void the_smallest_is_a_head(void **state)
{
    (void)state;
    struct payload p;
    payload_init(&p, PAYLOAD_HEAD, 1);
    assert_int_equal(payload_stamp(payload_next(&p, 5)), 5);
    payload_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_job_has_its_stamp),
        cmocka_unit_test(jobs_beside_each_other_share_no_text),
        cmocka_unit_test(a_seed_makes_the_same_jobs_again),
        cmocka_unit_test(the_smallest_is_a_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
