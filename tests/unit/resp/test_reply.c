/* Replies of RESP2 and RESP3. */
#include "unit.h"

#include <stdlib.h>

#include "resp/reply.h"

static struct buf out;

static struct reply in_proto(int proto)
{
    buf_clear(&out);
    return (struct reply){&out, proto, false};
}

static void simple_kinds_are_the_same_in_both(void **state)
{
    (void)state;
    for (int proto = 2; proto <= 3; proto++) {
        struct reply r = in_proto(proto);
        reply_ok(&r);
        reply_simple(&r, "PONG");
        reply_int(&r, 0);
        reply_int(&r, 9);
        reply_int(&r, 10);
        reply_int(&r, INT64_MIN);
        reply_bulk(&r, SLICE_LIT("a\r\nb"));
        reply_bulk(&r, SLICE_EMPTY);
        reply_array(&r, 2);
        assert_slice(buf_slice(&out), "+OK\r\n+PONG\r\n:0\r\n:9\r\n:10\r\n"
                                      ":-9223372036854775808\r\n"
                                      "$4\r\na\r\nb\r\n$0\r\n\r\n*2\r\n");
    }
}

static void nulls_and_containers_differ(void **state)
{
    (void)state;
    struct reply r = in_proto(2);
    reply_null(&r);
    reply_null_array(&r);
    reply_map(&r, 7);
    reply_set(&r, 1);
    reply_push(&r, 3);
    reply_verbatim(&r, SLICE_LIT("hi"));
    assert_slice(buf_slice(&out),
                 "$-1\r\n*-1\r\n*14\r\n*1\r\n*3\r\n$2\r\nhi\r\n");
    r = in_proto(3);
    reply_null(&r);
    reply_null_array(&r);
    reply_map(&r, 7);
    reply_set(&r, 1);
    reply_push(&r, 3);
    reply_verbatim(&r, SLICE_LIT("hi"));
    assert_slice(buf_slice(&out),
                 "_\r\n_\r\n%7\r\n~1\r\n>3\r\n=6\r\ntxt:hi\r\n");
}

static void an_error_is_one_line(void **state)
{
    (void)state;
    struct reply r = in_proto(2);
    reply_error(&r, ERR_NOTFOUND, "no\r\nsuch\njob");
    reply_error_raw(&r, "EXECABORT x\r\n+OK");
    assert_slice(buf_slice(&out),
                 "-NOTFOUND no  such job\r\n-EXECABORT x  +OK\r\n");
}

static void lengths_can_be_set_afterwards(void **state)
{
    (void)state;
    struct reply r = in_proto(3);
    struct reply_mark outer = reply_array_begin(&r);
    struct reply_mark inner = reply_map_begin(&r);
    reply_field_int(&r, "a", 1);
    reply_field_null(&r, "b");
    reply_map_end(&r, inner, 2);
    reply_field_str(&r, "c", SLICE_LIT("d"));
    reply_array_end(&r, outer, 123456);
    assert_slice(buf_slice(&out), "*123456\r\n%2\r\n$1\r\na\r\n:1\r\n$1\r\nb"
                                  "\r\n_\r\n$1\r\nc\r\n$1\r\nd\r\n");
}

static void a_guessed_header_is_mended(void **state)
{
    (void)state;
    static const size_t guesses[] = {0, 2, 100, 12345};
    for (size_t i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++) {
        struct reply r = in_proto(2);
        reply_ok(&r);
        struct reply_mark m = reply_array_guess(&r, guesses[i]);
        reply_int(&r, 7);
        reply_int(&r, 8);
        reply_array_end(&r, m, 2);
        assert_slice(buf_slice(&out), "+OK\r\n*2\r\n:7\r\n:8\r\n");
    }
}

static void a_muted_reply_writes_nothing(void **state)
{
    (void)state;
    struct reply r = in_proto(2);
    r.muted = true;
    struct reply_mark m = reply_map_begin(&r);
    reply_ok(&r);
    reply_int(&r, -1);
    reply_error(&r, ERR_STALE, "x");
    reply_null(&r);
    reply_printf(&r, "%d", 1);
    reply_map_end(&r, m, 3);
    assert_int_equal(out.len, 0);
}

static void what_was_written_can_be_written_again(void **state)
{
    (void)state;
    struct reply r = in_proto(2);
    reply_int(&r, 1);
    reply_str(&r, "again");
    /* However often the buffer has to move. */
    for (int i = 0; i < 10000; i++)
        reply_again(&r, 4, 11);
    assert_int_equal(out.len, 4 + 10001 * 11);
    for (size_t at = 4; at < out.len; at += 11)
        assert_memory_equal(out.data + at, "$5\r\nagain\r\n", 11);
    r.muted = true;
    reply_again(&r, 4, 11);
    assert_int_equal(out.len, 4 + 10001 * 11);
}

static void long_texts_are_printed_whole(void **state)
{
    (void)state;
    struct reply r = in_proto(2);
    reply_printf(&r, "%0600d", 7);
    assert_int_equal(out.len, 6 + 600 + 2);
    assert_memory_equal(out.data, "$600\r\n000", 9);
    assert_memory_equal(out.data + 604, "07\r\n", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_kinds_are_the_same_in_both),
        cmocka_unit_test(nulls_and_containers_differ),
        cmocka_unit_test(an_error_is_one_line),
        cmocka_unit_test(lengths_can_be_set_afterwards),
        cmocka_unit_test(a_guessed_header_is_mended),
        cmocka_unit_test(a_muted_reply_writes_nothing),
        cmocka_unit_test(what_was_written_can_be_written_again),
        cmocka_unit_test(long_texts_are_printed_whole),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    buf_release(&out);
    return rc;
}
