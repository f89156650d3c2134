/* The wrapped libraries (JSON, histograms), and files, tokens, log lines. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/histogram.h"
#include "util/json.h"
#include "util/logger.h"
#include "util/tokens.h"

static struct errbuf e;

static struct json *parse(const char *text)
{
    struct json *j;
    assert_ok(json_parse(slice_str(text), 10000, &j, &e));
    return j;
}

static void json_fields_come_out_typed(void **state)
{
    (void)state;
    struct json *j =
        parse("{\"s\":\"a\\u0041\",\"i\":-3,\"u\":9007199254740993,\"d\":1.5,"
              "\"b\":true,\"n\":null,\"a\":[1,2],\"o\":{\"x\":1}}");
    struct slice s = slice_str("default");
    int64_t i = 0;
    uint64_t u = 5;
    double d = 0;
    bool b = false;
    const struct json *a, *o;
    assert_ok(json_get_str(j, "s", JSON_REQUIRED, &s, &e));
    assert_slice(s, "aA");
    assert_ok(json_get_i64(j, "i", JSON_REQUIRED, &i, &e));
    assert_true(i == -3);
    assert_ok(json_get_u64(j, "u", JSON_REQUIRED, &u, &e));
    assert_true(u == 9007199254740993u); /* more than a double holds */
    assert_ok(json_get_double(j, "d", JSON_REQUIRED, &d, &e));
    assert_true(d > 1.4 && d < 1.6);
    assert_ok(json_get_double(j, "i", JSON_REQUIRED, &d, &e));
    assert_ok(json_get_bool(j, "b", JSON_REQUIRED, &b, &e));
    assert_true(b);
    assert_ok(json_get_array(j, "a", JSON_REQUIRED, &a, &e));
    assert_int_equal(json_len(a), 2);
    assert_int_equal(json_kind(json_at(a, 1)), JSON_KIND_INT);
    assert_null(json_at(a, 2));
    assert_ok(json_get_object(j, "o", JSON_REQUIRED, &o, &e));
    struct buf out = {NULL, 0, 0};
    json_write(o, &out);
    assert_slice(buf_slice(&out), "{\"x\":1}");
    buf_release(&out);
    json_free(&j);
    assert_null(j);
}

static void missing_and_wrong_json_fields_are_named(void **state)
{
    (void)state;
    struct json *j = parse("{\"s\":5,\"n\":null,\"i\":-1}");
    struct slice s = slice_str("default");
    uint64_t u = 7;
    assert_ok(json_get_str(j, "none", JSON_OPTIONAL, &s, &e));
    assert_ok(json_get_str(j, "n", JSON_OPTIONAL, &s, &e));
    assert_slice(s, "default");
    assert_ok(json_get_u64(j, "n", JSON_OPTIONAL, &u, &e));
    assert_int_equal(u, 7);
    assert_int_equal(json_get_str(j, "none", JSON_REQUIRED, &s, &e),
                     ERR_SYNTAX);
    assert_string_equal(e.text, "field 'none' is missing");
    assert_int_equal(json_get_str(j, "s", JSON_REQUIRED, &s, &e), ERR_SYNTAX);
    assert_string_equal(e.text, "field 's' must be a string, not an integer");
    assert_int_equal(json_get_u64(j, "i", JSON_REQUIRED, &u, &e), ERR_SYNTAX);
    assert_string_equal(e.text, "field 'i' must not be negative");
    assert_ok(json_only(j, (const char *const[]){"s", "n", "i", NULL}, &e));
    assert_int_equal(json_only(j, (const char *const[]){"s", "n", NULL}, &e),
                     ERR_SYNTAX);
    assert_string_equal(e.text, "unknown field 'i'");
    json_free(&j);
    j = parse("[1]");
    assert_int_equal(json_get_str(j, "s", JSON_OPTIONAL, &s, &e), ERR_SYNTAX);
    json_free(&j);
}

static void json_is_bounded_and_strict(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "{",
                                      "{} x",
                                      "{'a':1}",
                                      "[1,]",
                                      "{\"a\":1,\"a\":2}",
                                      "\"\xff\"",
                                      "nul",
                                      "[1e999]",
                                      "01",
                                      "99999999999999999999"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct json *j;
        assert_int_equal(json_parse(slice_str(bad[i]), 100, &j, &e),
                         ERR_SYNTAX);
        assert_null(j);
    }
    assert_true(json_valid(slice_str(" 5 "), 100, &e));
    assert_false(json_valid(slice_str("[1,2,3]"), 6, &e));
    assert_string_equal(e.text, "JSON of 7 bytes is over 6");
    char deep[140];
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    assert_false(json_valid(slice_of(deep, 130), 1000, &e));
    assert_string_equal(e.text, "JSON is nested more than 64 deep");
    assert_true(json_valid(slice_of(deep + 1, 128), 1000, &e));
    /* Brackets in strings are not depth. */
    char text[200] = "\"";
    memset(text + 1, '[', 100);
    memcpy(text + 101, "\\\"[\"", 5);
    assert_true(json_valid(slice_str(text), 1000, &e));
}

struct sum {
    uint64_t values, count, last;
};

static void add(void *ud, uint64_t value, uint64_t count)
{
    struct sum *s = ud;
    assert_true(value > s->last);
    s->last = value;
    s->values += value * count;
    s->count += count;
}

static void a_histogram_is_right_to_its_digits(void **state)
{
    (void)state;
    struct histogram *h = histogram_new(3600000000u, 3);
    assert_int_equal(histogram_percentile(h, 99), 0);
    assert_int_equal(histogram_min(h), 0);
    for (uint64_t i = 1; i <= 100000; i++)
        histogram_record(h, i);
    assert_int_equal(histogram_count(h), 100000);
    assert_in_range(histogram_percentile(h, 50), 49950, 50100);
    assert_in_range(histogram_percentile(h, 99), 98901, 99099);
    assert_in_range(histogram_percentile(h, 100), 100000, 100100);
    assert_int_equal(histogram_min(h), 1);
    assert_in_range((uint64_t)histogram_mean(h), 49950, 50100);
    assert_in_range(histogram_memory(h), 100000, 300000);
    struct sum s = {0, 0, 0};
    histogram_each(h, add, &s);
    assert_int_equal(s.count, 100000);
    assert_in_range(s.values / s.count, 49900, 50100);
    histogram_free(&h);
    assert_null(h);
}

static void a_histogram_clamps_and_merges(void **state)
{
    (void)state;
    struct histogram *h = histogram_new(1000, 2),
                     *big = histogram_new(1u << 30, 2);
    histogram_record(h, 0);
    histogram_record(h, UINT64_MAX);
    assert_int_equal(histogram_max(h), 1000);
    histogram_record_n(big, 1000000, 5);
    histogram_merge(h, big);
    assert_int_equal(histogram_count(h), 7);
    assert_int_equal(histogram_percentile(h, 50), 1000);
    histogram_reset(h);
    assert_int_equal(histogram_count(h), 0);
    histogram_free(&h);
    histogram_free(&big);
    histogram_free(&big);
}

static void tokens_are_split_and_quoted_both_ways(void **state)
{
    (void)state;
    struct tokens t = {NULL, 0, 0, {NULL, 0, 0}};
    assert_true(tokens_split(&t, slice_str(" a  \"b \\x41\\n\\\"\" 'c\\'d' ")));
    assert_int_equal(t.len, 3);
    assert_slice(t.at[0], "a");
    assert_slice(t.at[1], "b A\n\"");
    assert_slice(t.at[2], "c'd");
    static const char *const bad[] = {"\"a",  "'a",   "\"a\"b",
                                      "'a'b", "a\"b", "\"a\\"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(tokens_split(&t, slice_str(bad[i])));
        assert_int_equal(t.len, 0);
    }
    assert_true(tokens_split(&t, SLICE_EMPTY));
    assert_int_equal(t.len, 0);
    assert_true(tokens_split(&t, slice_str("\"\"")));
    assert_int_equal(t.len, 1);

    char all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    struct buf line = {NULL, 0, 0};
    tokens_quote(&line, slice_of(all, 256));
    buf_add_char(&line, ' ');
    tokens_quote(&line, SLICE_EMPTY);
    buf_add_char(&line, ' ');
    tokens_quote(&line, slice_str("plain"));
    assert_true(tokens_split(&t, buf_slice(&line)));
    assert_int_equal(t.len, 3);
    assert_true(slice_eq(t.at[0], slice_of(all, 256)));
    assert_int_equal(t.at[1].len, 0);
    assert_slice(t.at[2], "plain");
    buf_release(&line);
    tokens_release(&t);
}

static void files_are_replaced_whole_or_not_at_all(void **state)
{
    (void)state;
    char dir[] = "/tmp/belfry-file-XXXXXX", path[64], there[80];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/f", dir);
    (void)snprintf(there, sizeof(there), "%s/none/f", dir);
    struct buf got = {NULL, 0, 0};
    assert_int_equal(file_read(path, 100, &got, &e), ERR_IO);
    assert_ok(file_replace(path, slice_str("one"), &e));
    assert_int_equal(chmod(path, 0600), 0);
    assert_ok(file_replace(path, slice_str("second"), &e));
    assert_ok(file_read(path, 6, &got, &e));
    assert_slice(buf_slice(&got), "second");
    assert_int_equal(file_read(path, 5, &got, &e), ERR_LIMIT);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(file_replace(there, slice_str("x"), &e), ERR_IO);
    /* Over a directory the rename fails; the temporary file goes. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(file_replace(path, slice_str("x"), &e), ERR_IO);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(dir), 0); /* so it was empty */
    buf_release(&got);
}

static void log_lines_have_a_level_and_a_file(void **state)
{
    (void)state;
    char dir[] = "/tmp/belfry-log-XXXXXX", path[64], moved[64];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/log", dir);
    (void)snprintf(moved, sizeof(moved), "%s/old", dir);
    assert_ok(logger_open(path, LL_NOTICE, &e));
    say(LL_VERBOSE, "hidden");
    say(LL_WARNING, "shown %d", 1);
    assert_int_equal(rename(path, moved), 0);
    /* Other threads may be in the middle of a line: their descriptor must not
     * become that of a connection. */
    int fd = logger_fd();
    assert_ok(logger_reopen(&e));
    assert_int_equal(logger_fd(), fd);
    logger_set_level(LL_DEBUG);
    say(LL_DEBUG, "after");
    logger_close();
    struct buf got = {NULL, 0, 0};
    assert_ok(file_read(moved, 1000, &got, &e));
    assert_null(strstr(buf_cstr(&got), "hidden"));
    assert_non_null(strstr(buf_cstr(&got), "Z # shown 1\n"));
    buf_clear(&got);
    assert_ok(file_read(path, 1000, &got, &e));
    assert_non_null(strstr(buf_cstr(&got), "Z . after\n"));
    buf_release(&got);
    assert_int_equal(logger_open("/none/none/x", LL_NOTICE, &e), ERR_IO);
    (void)unlink(path);
    (void)unlink(moved);
    (void)rmdir(dir);
}

static void clocks_are_sane(void **state)
{
    (void)state;
    struct now a = clock_now(), b = clock_now();
    assert_true(b.mono_ms >= a.mono_ms);
    assert_true(a.wall_ms > 1600000000000u);
    assert_true(clock_mono_us() / 1000 >= b.mono_ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_fields_come_out_typed),
        cmocka_unit_test(missing_and_wrong_json_fields_are_named),
        cmocka_unit_test(json_is_bounded_and_strict),
        cmocka_unit_test(a_histogram_is_right_to_its_digits),
        cmocka_unit_test(a_histogram_clamps_and_merges),
        cmocka_unit_test(tokens_are_split_and_quoted_both_ways),
        cmocka_unit_test(files_are_replaced_whole_or_not_at_all),
        cmocka_unit_test(log_lines_have_a_level_and_a_file),
        cmocka_unit_test(clocks_are_sane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
