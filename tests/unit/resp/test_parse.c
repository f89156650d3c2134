/* The parser of commands: whole, in pieces, and broken. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "resp/parse.h"

static const struct resp_limits limits = {512 * 1024 * 1024, false};
static const struct resp_limits strict = {512 * 1024 * 1024, true};

/* Words of the first command joined by '|', or the error, or "more". */
static void shown(const struct resp_limits *lim, struct slice in, char *out,
                  size_t size)
{
    struct resp_parser p = {NULL};
    struct resp_args args = {NULL, 0, 0, {NULL, 0, 0}};
    struct errbuf e = {""};
    size_t used, done = 0, at = 0;
    enum resp_status st;
    do {
        st = resp_parse(&p, lim, slice_of(in.data + done, in.len - done), &args,
                        &used, &e);
        done += used;
    } while (st == RESP_NOTHING);
    out[0] = '\0';
    if (st == RESP_MORE)
        (void)snprintf(out, size, "more");
    else if (st == RESP_ERROR)
        (void)snprintf(out, size, "%s", e.text);
    for (uint32_t i = 0; st == RESP_COMMAND && i < args.argc; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%.*s", i ? "|" : "",
                               SLICE_FMT(args.argv[i]));
    resp_parser_release(&p);
    resp_args_release(&args);
}

static void check(const struct resp_limits *lim, const char *in,
                  const char *expected)
{
    char got[1024];
    shown(lim, slice_str(in), got, sizeof(got));
    if (strcmp(got, expected) != 0)
        fail_msg("for \"%s\": got \"%s\" instead of \"%s\"", in, got, expected);
}

static void commands_are_read_whole(void **state)
{
    (void)state;
    check(&limits, "*1\r\n$4\r\nPING\r\n", "PING");
    check(&limits, "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "ECHO|");
    check(&limits, "*2\r\n$4\r\nECHO\r\n$10\r\n0123456789\r\n",
          "ECHO|0123456789");
    check(&limits, "PING\r\n", "PING");
    check(&limits, "PING\n", "PING");
    check(&limits, "  ECHO   a\tb \r\n", "ECHO|a|b");
    /* Redis skips the two bytes behind a bulk string without a look. */
    check(&limits, "*1\r\n$4\r\nPINGxx", "PING");
}

static void empty_requests_are_ignored(void **state)
{
    (void)state;
    check(&limits, "\r\n\n*0\r\n*-1\r\n*-9\r\n   \r\nPING\r\n", "PING");
}

static void quotes_and_escapes_are_those_of_redis(void **state)
{
    (void)state;
    check(&limits, "SET \"a b\" 'c d'\r\n", "SET|a b|c d");
    check(&limits, "SET \"\\x41\\n\\r\\t\\b\\a\\\"\\\\\\q\" ''\r\n",
          "SET|A\n\r\t\b\a\"\\q|");
    check(&limits, "SET 'it\\'s' 'a\\n'\r\n", "SET|it's|a\\n");
    check(&limits, "SET a\"b c\" d\r\n", "SET|ab c|d");
    check(&limits, "SET \"\\xg1\"\r\n", "SET|xg1");
    check(&limits, "\v\fSET\va\f\r\n", "SET\va\f");
    check(&limits, "\v\fSET\va\f\r\n", "SET\va\f");
    check(&limits, "SET \"a\"b\r\n",
          "Protocol error: unbalanced quotes in request");
    check(&limits, "SET \"a\r\n",
          "Protocol error: unbalanced quotes in request");
    check(&limits, "SET 'a\r\n",
          "Protocol error: unbalanced quotes in request");
    check(&limits, "SET \"a\\\r\n",
          "Protocol error: unbalanced quotes in request");
}

static void broken_frames_have_the_errors_of_redis(void **state)
{
    (void)state;
    check(&limits, "*a\r\n", "Protocol error: invalid multibulk length");
    check(&limits, "*\r\n", "Protocol error: invalid multibulk length");
    check(&limits, "*01\r\n", "Protocol error: invalid multibulk length");
    check(&limits, "*+1\r\n", "Protocol error: invalid multibulk length");
    check(&limits, "* 1\r\n", "Protocol error: invalid multibulk length");
    check(&limits, "*2147483648\r\n",
          "Protocol error: invalid multibulk length");
    check(&limits, "*99999999999999999999\r\n",
          "Protocol error: invalid multibulk length");
    check(&limits, "*1\r\nPING\r\n", "Protocol error: expected '$', got 'P'");
    check(&limits, "*1\r\n:4\r\n", "Protocol error: expected '$', got ':'");
    check(&limits, "*1\r\n$-1\r\n", "Protocol error: invalid bulk length");
    check(&limits, "*1\r\n$x\r\n", "Protocol error: invalid bulk length");
    check(&limits, "*1\r\n$536870913\r\n",
          "Protocol error: invalid bulk length");
    check(&limits, "*1\r\n$536870912\r\n", "more");
    check(&limits, "*1\r\n$9223372036854775808\r\n",
          "Protocol error: invalid bulk length");
}

static void the_unauthenticated_may_say_little(void **state)
{
    (void)state;
    check(&strict, "*11\r\n",
          "Protocol error: unauthenticated multibulk length");
    check(&strict, "*10\r\n", "more");
    check(&strict, "*1\r\n$16385\r\n",
          "Protocol error: unauthenticated bulk length");
    check(&strict, "*1\r\n$16384\r\n", "more");
}

static void check_flood(char first, char fill, size_t len, const char *expected)
{
    char *in = malloc(len), got[256];
    memset(in, fill, len);
    in[0] = first;
    shown(&limits, slice_of(in, len), got, sizeof(got));
    assert_string_equal(got, expected);
    free(in);
}

static void lines_without_an_end_are_refused_at_64_kib(void **state)
{
    (void)state;
    check_flood('*', '1', RESP_INLINE_MAX, "more");
    check_flood('*', '1', RESP_INLINE_MAX + 1,
                "Protocol error: too big mbulk count string");
    check_flood('P', 'x', RESP_INLINE_MAX, "more");
    check_flood('P', 'x', RESP_INLINE_MAX + 1,
                "Protocol error: too big inline request");
}

static void a_bulk_header_without_an_end_is_refused(void **state)
{
    (void)state;
    size_t len = RESP_INLINE_MAX + 6;
    char *in = malloc(len), got[256];
    memset(in, '1', len);
    memcpy(in, "*1\r\n$", 5);
    shown(&limits, slice_of(in, len), got, sizeof(got));
    assert_string_equal(got, "Protocol error: too big bulk count string");
    free(in);
}

/* Redis looks for line ends with strchr(). */
static void a_nul_hides_what_is_behind_it(void **state)
{
    (void)state;
    char got[256];
    shown(&limits, SLICE_LIT("PI\0NG\r\n"), got, sizeof(got));
    assert_string_equal(got, "more");
    shown(&limits, SLICE_LIT("*1\0\r\n"), got, sizeof(got));
    assert_string_equal(got, "more");
}

/* Feed `all` in pieces of `step` bytes, each time at another address, and
 * compare with what is read in one go. */
static void feed(struct slice all, size_t step, uint32_t commands)
{
    struct resp_parser p = {NULL};
    struct resp_args args = {NULL, 0, 0, {NULL, 0, 0}};
    struct errbuf e;
    char *held = NULL;
    size_t have = 0, taken = 0;
    uint32_t seen = 0;
    while (taken < all.len) {
        size_t n = all.len - taken < step ? all.len - taken : step;
        char *moved = malloc(have + n);
        if (have > 0)
            memcpy(moved, held, have);
        memcpy(moved + have, all.data + taken, n);
        free(held);
        held = moved;
        have += n;
        taken += n;
        size_t done = 0, used;
        for (;;) {
            enum resp_status st =
                resp_parse(&p, &limits, slice_of(held + done, have - done),
                           &args, &used, &e);
            assert_true(st != RESP_ERROR);
            if (st == RESP_MORE)
                break;
            done += used;
            if (st != RESP_COMMAND)
                continue;
            seen++;
            char number[16];
            int len = snprintf(number, sizeof(number), "%u", seen);
            assert_int_equal(args.argc, 3);
            assert_slice(args.argv[0], "ECHO");
            assert_int_equal(args.argv[1].len, 300);
            assert_int_equal(args.argv[1].data[299], 'x');
            assert_true(slice_eq(args.argv[2], slice_of(number, (size_t)len)));
        }
        memmove(held, held + done, have - done);
        have -= done;
    }
    assert_int_equal(seen, commands);
    assert_int_equal(have, 0);
    assert_null(p.pending);
    free(held);
    resp_parser_release(&p);
    resp_args_release(&args);
}

static void a_command_may_come_in_any_pieces(void **state)
{
    (void)state;
    struct buf all = {NULL, 0, 0};
    char x[301];
    memset(x, 'x', 300);
    x[300] = '\0';
    for (int i = 1; i <= 40; i++) {
        char number[16];
        int len = snprintf(number, sizeof(number), "%d", i);
        if (i % 3 == 0)
            buf_printf(&all, "ECHO %s \"%d\"\r\n", x, i);
        else
            buf_printf(&all, "*3\r\n$4\r\nECHO\r\n$300\r\n%s\r\n$%d\r\n%d\r\n",
                       x, len, i);
        if (i % 5 == 0)
            buf_add_str(&all, "\r\n*0\r\n");
    }
    for (size_t step = 1; step < 700; step += step < 20 ? 1 : 13)
        feed(buf_slice(&all), step, 40);
    buf_release(&all);
}

static void a_long_command_costs_memory_as_it_arrives(void **state)
{
    (void)state;
    struct resp_parser p = {NULL};
    struct resp_args args = {NULL, 0, 0, {NULL, 0, 0}};
    struct errbuf e;
    size_t used;
    struct slice in = SLICE_LIT("*1000000\r\n$400000000\r\nabc");
    assert_int_equal(resp_parse(&p, &limits, in, &args, &used, &e), RESP_MORE);
    assert_true(resp_parser_memory(&p) < 1024);
    assert_int_equal(resp_parser_wants(&p, in.len), 400000002 - 3);
    resp_parser_release(&p);
    resp_args_release(&args);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_read_whole),
        cmocka_unit_test(empty_requests_are_ignored),
        cmocka_unit_test(quotes_and_escapes_are_those_of_redis),
        cmocka_unit_test(broken_frames_have_the_errors_of_redis),
        cmocka_unit_test(the_unauthenticated_may_say_little),
        cmocka_unit_test(lines_without_an_end_are_refused_at_64_kib),
        cmocka_unit_test(a_bulk_header_without_an_end_is_refused),
        cmocka_unit_test(a_nul_hides_what_is_behind_it),
        cmocka_unit_test(a_command_may_come_in_any_pieces),
        cmocka_unit_test(a_long_command_costs_memory_as_it_arrives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
