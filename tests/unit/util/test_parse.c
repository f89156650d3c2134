#include <string.h>

#include "unit.h"
#include "util/parse.h"

static void integers_are_exact_or_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      "01",
                                      "1 ",
                                      " 1",
                                      "1a",
                                      "18446744073709551616",
                                      "-1",
                                      "--1",
                                      "99999999999999999999999"};
    uint64_t u = 7;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(parse_u64(slice_str(bad[i]), &u));
    assert_int_equal(u, 7);
    assert_true(parse_u64(slice_str("0"), &u) && u == 0);
    assert_true(parse_u64(slice_str("18446744073709551615"), &u));
    assert_true(u == UINT64_MAX);
    int64_t n;
    assert_true(parse_i64(slice_str("-9223372036854775808"), &n));
    assert_true(n == INT64_MIN);
    assert_true(parse_i64(slice_str("9223372036854775807"), &n));
    assert_true(n == INT64_MAX);
    assert_false(parse_i64(slice_str("9223372036854775808"), &n));
    assert_false(parse_i64(slice_str("-9223372036854775809"), &n));
    assert_false(parse_i64(slice_str("-0"), &n));
}

static void doubles_are_plain_and_finite(void **state)
{
    (void)state;
    double d;
    assert_true(parse_double(slice_str("1.5e3"), &d) && d > 1499 && d < 1501);
    assert_true(parse_double(slice_str("-2"), &d) && d < -1.9);
    static const char *const bad[] = {"",      "nan", "inf", "0x1",
                                      "1e999", "1 2", ".",   "1,5"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(parse_double(slice_str(bad[i]), &d));
    assert_false(parse_double(SLICE_LIT("1\0"), &d));
}

static void durations_take_units_and_overflow_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ms;
    } good[] = {{"0", 0},         {"250", 250},   {"250ms", 250},
                {"30s", 30000},   {"5m", 300000}, {"2H", 7200000},
                {"7d", 604800000}};
    uint64_t v;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(parse_duration_ms(slice_str(good[i].text), &v));
        assert_int_equal(v, good[i].ms);
    }
    static const char *const bad[] = {
        "",    "s", "-1s", "1.5s", "1 s", "1w", "36601d", "999999999999999999d",
        "1s1s"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(parse_duration_ms(slice_str(bad[i]), &v));
    assert_true(parse_duration_ms(slice_str("36600d"), &v));
}

static void sizes_take_the_units_of_redis(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"1", 1},           {"1b", 1},          {"1k", 1000},
                {"1kb", 1024},      {"1M", 1e6},        {"1Mb", 1048576},
                {"1g", 1000000000}, {"1gb", 1073741824}};
    uint64_t v;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(parse_size(slice_str(good[i].text), &v));
        assert_int_equal(v, good[i].bytes);
    }
    assert_false(parse_size(slice_str("99999999999gb"), &v));
    assert_false(parse_size(slice_str("1tb"), &v));
    assert_false(parse_size(slice_str("kb"), &v));
}

static void times_are_unix_ms_or_rfc_3339(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ms;
    } good[] = {
        {"0", 0},
        {"1700000000123", 1700000000123},
        {"1970-01-01T00:00:00Z", 0},
        {"2000-02-29T12:34:56.789Z", 951827696789},
        {"2024-03-31t02:30:00+02:00", 1711845000000},
        {"2024-03-31 00:30:00-00:00", 1711845000000},
        {"2023-12-31T23:59:59.9999Z", 1704067199999},
        {"9999-12-31T23:59:59.999Z", 253402300799999},
    };
    uint64_t v;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(parse_time_ms(slice_str(good[i].text), &v));
        assert_int_equal(v, good[i].ms);
    }
    static const char *const bad[] = {
        "",
        "2023-02-29T00:00:00Z",
        "2024-13-01T00:00:00Z",
        "2024-00-01T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:60:00Z",
        "2024-01-01T00:00:60Z",
        "2024-01-01T00:00:00",
        "2024-01-01T00:00:00.Z",
        "2024-01-01T00:00:00Zx",
        "2024-01-01T00:00:00+2:00",
        "2024-01-01",
        "1969-12-31T23:59:59Z",
        "253402300800000",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(parse_time_ms(slice_str(bad[i]), &v));
}

static void civil_dates_and_days_are_inverse(void **state)
{
    (void)state;
    for (int64_t day = -800000; day < 3000000; day += 37) {
        int64_t year;
        unsigned month, d;
        civil_from_days(day, &year, &month, &d);
        assert_true(month >= 1 && month <= 12 && d >= 1 && d <= 31);
        assert_true(days_from_civil(year, month, d) == day);
    }
    assert_true(days_from_civil(1970, 1, 1) == 0);
    assert_true(days_from_civil(2000, 3, 1) == 11017);
}

static bool match(const char *pattern, const char *s)
{
    return glob_match(slice_str(pattern), slice_str(s));
}

static void globs_match_as_in_redis(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *s;
        bool want;
    } t[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "abc", true},
        {"a*c", "abbbc", true},
        {"a*c", "abcd", false},
        {"?", "", false},
        {"?", "a", true},
        {"a[bc]d", "acd", true},
        {"a[b-d]e", "ace", true},
        {"a[^b]c", "abc", false},
        {"a[^b]c", "axc", true},
        {"a\\*c", "a*c", true},
        {"a\\*c", "abc", false},
        {"*a*b*c*", "xaybzc", true},
        {"a[", "a", false},
        {"[z-a]", "m", true},
        {"\\", "\\", true},
        {"api:*", "api:acme", true},
        {"a", "A", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        assert_int_equal(match(t[i].pattern, t[i].s), t[i].want);
    assert_true(
        glob_match_nocase(slice_str("MAX*[A-C]?"), slice_str("maxzbx")));
    assert_false(glob_match_nocase(slice_str("MAXa"), slice_str("maxb")));
}

static void a_hostile_glob_takes_bounded_time(void **state)
{
    (void)state;
    /* Exponential in a naive matcher: it would not come back. */
    char pattern[201], s[2001];
    for (size_t i = 0; i < 200; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[199] = 'b';
    pattern[200] = '\0';
    memset(s, 'a', 2000);
    s[2000] = '\0';
    assert_false(match(pattern, s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_exact_or_refused),
        cmocka_unit_test(doubles_are_plain_and_finite),
        cmocka_unit_test(durations_take_units_and_overflow_nothing),
        cmocka_unit_test(sizes_take_the_units_of_redis),
        cmocka_unit_test(times_are_unix_ms_or_rfc_3339),
        cmocka_unit_test(civil_dates_and_days_are_inverse),
        cmocka_unit_test(globs_match_as_in_redis),
        cmocka_unit_test(a_hostile_glob_takes_bounded_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
