#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/hash.h"
#include "util/rng.h"

static void a_buffer_grows_and_gives_from_the_front(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    for (int i = 0; i < 1000; i++)
        buf_add_char(&b, (char)('a' + i % 26));
    buf_consume(&b, 990);
    assert_slice(buf_slice(&b), "cdefghijkl");
    buf_consume(&b, 0);
    buf_clear(&b);
    buf_add_u64(&b, UINT64_MAX);
    buf_add_char(&b, ' ');
    buf_add_i64(&b, INT64_MIN);
    buf_printf(&b, " %s/%d", "x", 7);
    buf_add_slice(&b, SLICE_EMPTY);
    assert_string_equal(buf_cstr(&b),
                        "18446744073709551615 -9223372036854775808 x/7");
    assert_int_equal(b.len, strlen(b.data));
    buf_release(&b);
    assert_null(b.data);
}

static void slices_compare_by_bytes_and_words_without_case(void **state)
{
    (void)state;
    assert_true(slice_cmp(slice_str("a"), slice_str("ab")) < 0);
    assert_true(slice_cmp(slice_str("b"), slice_str("ab")) > 0);
    assert_true(slice_cmp(slice_str("\xff"), slice_str("a")) > 0);
    assert_int_equal(slice_cmp(SLICE_EMPTY, slice_str("")), 0);
    assert_true(slice_eq(SLICE_EMPTY, slice_str("")));
    assert_false(slice_eq(slice_str("a"), slice_str("A")));
    assert_true(slice_is(slice_str("WiTh"), "with"));
    assert_false(slice_is(slice_str("wit"), "with"));
    assert_true(slice_has_prefix(slice_str("abc"), slice_str("ab")));
    assert_true(slice_has_prefix(slice_str("abc"), SLICE_EMPTY));
    assert_false(slice_has_prefix(slice_str("a"), slice_str("ab")));
}

static void slices_differ_wherever_a_byte_does(void **state)
{
    (void)state;
    char a[40], b[40];
    for (size_t i = 0; i < sizeof(a); i++)
        a[i] = b[i] = (char)(i * 7);
    for (size_t len = 0; len < sizeof(a); len++) {
        assert_true(slice_eq(slice_of(a, len), slice_of(b, len)));
        assert_false(slice_eq(slice_of(a, len), slice_of(b, len + 1)));
        for (size_t at = 0; at < len; at++) {
            b[at] ^= 0x20;
            assert_false(slice_eq(slice_of(a, len), slice_of(b, len)));
            b[at] ^= 0x20;
        }
    }
}

static void slots_are_those_of_redis_cluster(void **state)
{
    (void)state;
    assert_int_equal(crc16(slice_str("123456789")), 0x31c3);
    assert_int_equal(crc16(SLICE_EMPTY), 0);
    assert_int_equal(key_slot(slice_str("foo")), 12182);
    assert_int_equal(key_slot(slice_str("somekey")), 11058);
    assert_int_equal(key_slot(slice_str("{foo}.bar")), 12182);
    assert_int_equal(key_slot(slice_str("x{foo}{bar}")), 12182);
    /* No tag: an empty one, or one that is not closed. */
    assert_int_equal(key_slot(slice_str("foo{}{bar}")),
                     crc16(slice_str("foo{}{bar}")) & 16383);
    assert_int_equal(key_slot(slice_str("foo{bar")),
                     crc16(slice_str("foo{bar")) & 16383);
    assert_int_equal(key_slot(SLICE_EMPTY), 0);
}

static void hashes_are_stable_because_they_reach_the_disk(void **state)
{
    (void)state;
    assert_true(hash64(SLICE_EMPTY) == 0x2d06800538d394c2u);
    assert_true(hash64(slice_str("belfry")) == hash64(slice_str("belfry")));
    assert_true(hash64_seed(slice_str("a"), 1) !=
                hash64_seed(slice_str("a"), 2));
}

static void checksums_of_rocksdb_are_known(void **state)
{
    (void)state;
    assert_int_equal(crc32c(0, slice_str("123456789")), 0xe3069283);
    assert_int_equal(crc32c(crc32c(0, slice_str("1234")), slice_str("56789")),
                     0xe3069283);
    assert_int_equal(crc32c(0, SLICE_EMPTY), 0);
}

static void a_seed_repeats_its_numbers(void **state)
{
    (void)state;
    struct rng a, b, c;
    rng_seed(&a, 7);
    rng_seed(&b, 7);
    rng_seed(&c, 8);
    int differ = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t x = rng_next(&a);
        assert_true(x == rng_next(&b));
        differ += x != rng_next(&c);
    }
    assert_int_equal(differ, 100);
    int seen[10] = {0};
    for (int i = 0; i < 10000; i++)
        seen[rng_below(&a, 10)]++;
    for (int i = 0; i < 10; i++)
        assert_in_range(seen[i], 850, 1150);
    assert_int_equal(rng_below(&a, 1), 0);
    /* xoshiro256** as its authors print it for this state. */
    struct rng known = {{1, 2, 3, 4}};
    assert_true(rng_next(&known) == 11520);
    assert_true(rng_next(&known) == 0);
    assert_true(rng_next(&known) == 1509978240);
    assert_true(rng_next(&known) == 1215971899390074240u);
    assert_true(rng_next(&known) == 1216172134540287360u);
}

static void errors_say_what_and_never_break_the_line(void **state)
{
    (void)state;
    struct errbuf e;
    assert_int_equal(err_set(&e, ERR_LIMIT, "queue %s\r\nfull", "q\x01"),
                     ERR_LIMIT);
    assert_string_equal(e.text, "queue q   full");
    err_wrap(&e, "adding %d", 3);
    assert_string_equal(e.text, "adding 3: queue q   full");
    assert_int_equal(err_sys(&e, ERR_IO, ENOENT, "open %s", "x"), ERR_IO);
    assert_string_equal(e.text, "open x: No such file or directory");
    assert_int_equal(err_set(NULL, ERR_IO, "x"), ERR_IO);
    err_wrap(NULL, "x");
    char lots[1000];
    memset(lots, 'x', sizeof(lots) - 1);
    lots[999] = '\0';
    (void)err_set(&e, ERR_IO, "%s", lots);
    assert_int_equal(strlen(e.text), ERRBUF_SIZE - 1);
    err_wrap(&e, "front");
    assert_memory_equal(e.text, "front: xxx", 10);
    (void)err_sys(&e, ERR_IO, EIO, "%s", lots);
    assert_int_equal(strlen(e.text), ERRBUF_SIZE - 1);
}

static void every_error_has_a_name_a_prefix_and_a_meaning(void **state)
{
    (void)state;
    for (int i = 0; i < ERR_COUNT; i++) {
        enum err code = (enum err)i;
        assert_true(strlen(err_name(code)) > 0);
        assert_true(strlen(err_meaning(code)) > 0);
        for (const char *p = err_prefix(code); *p != '\0'; p++)
            assert_true(*p >= 'A' && *p <= 'Z'); /* one word */
    }
    assert_string_equal(err_prefix(ERR_NOTFOUND), "NOTFOUND");
}

static void only_allocations_that_may_fail_do_fail(void **state)
{
    (void)state;
    mem_fail_after(2);
    void *a = mem_try_alloc(10), *b = mem_alloc(10), *c = mem_try_alloc(10),
         *d = mem_try_alloc(10);
    assert_non_null(a);
    assert_non_null(b);
    assert_null(c);
    assert_non_null(d);
    mem_fail_after(1);
    assert_null(mem_try_realloc(a, 100)); /* and `a` is still good */
    mem_free(a);
    FREE(&b);
    assert_null(b);
    mem_free(d);
    char *s = mem_dup(SLICE_LIT("a\0b"));
    assert_memory_equal(s, "a\0b\0", 4);
    mem_free(s);
}

static void a_soft_buffer_is_emptied_when_memory_is_refused(void **state)
{
    (void)state;
    struct buf b = {0};
    b.soft = true;
    buf_add_str(&b, "kept");
    mem_fail_after(1);
    assert_true(buf_reserve(&b, 1000)); /* less would do */
    assert_int_equal(b.cap, 1004);
    assert_false(b.failed);
    mem_fail_after(1);
    buf_add_str(&b, "no need to ask");
    assert_memory_equal(b.data, "keptno need to ask", b.len);
    mem_fail_always(true);
    assert_false(buf_reserve(&b, 2000));
    assert_int_equal(b.len, 18);
    memset(buf_room(&b, 990), 'x', 990);
    assert_true(b.failed);
    assert_int_equal(b.len, 0);
    mem_fail_always(false);
    mem_fail_after(0);
    buf_release(&b);
}

static void memory_in_use_follows_what_is_allocated(void **state)
{
    (void)state;
    size_t before = mem_used();
    void *p = mem_alloc(50 << 20);
    assert_true(before > 0);
    assert_true(mem_used() >= before + (50 << 20));
    mem_free(p);
}

static void digits_are_those_of_printf(void **state)
{
    (void)state;
    for (uint64_t ten = 1, i = 0; i < 20; i++, ten *= 10) {
        for (uint64_t n = ten - 1; n <= ten + 1; n++) {
            char want[24], memory[24];
            int len =
                snprintf(want, sizeof(want), "%llu", (unsigned long long)n);
            /* Fixed memory, and not a byte too much of it. */
            struct buf b = {memory, 0, (size_t)len};
            buf_add_u64(&b, n);
            assert_ptr_equal(b.data, memory);
            assert_int_equal(b.len, len);
            assert_memory_equal(memory, want, (size_t)len);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_differ_wherever_a_byte_does),
        cmocka_unit_test(a_buffer_grows_and_gives_from_the_front),
        cmocka_unit_test(digits_are_those_of_printf),
        cmocka_unit_test(slices_compare_by_bytes_and_words_without_case),
        cmocka_unit_test(slots_are_those_of_redis_cluster),
        cmocka_unit_test(checksums_of_rocksdb_are_known),
        cmocka_unit_test(hashes_are_stable_because_they_reach_the_disk),
        cmocka_unit_test(a_seed_repeats_its_numbers),
        cmocka_unit_test(errors_say_what_and_never_break_the_line),
        cmocka_unit_test(every_error_has_a_name_a_prefix_and_a_meaning),
        cmocka_unit_test(only_allocations_that_may_fail_do_fail),
        cmocka_unit_test(a_soft_buffer_is_emptied_when_memory_is_refused),
        cmocka_unit_test(memory_in_use_follows_what_is_allocated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
