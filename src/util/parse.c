#include "util/parse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

bool parse_u64(struct slice s, uint64_t *out)
{
    if (s.len == 0 || s.len > 20 || (s.data[0] == '0' && s.len > 1))
        return false;
    uint64_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        unsigned d = (unsigned)((unsigned char)s.data[i] - '0');
        if (d > 9 || __builtin_mul_overflow(n, 10u, &n) ||
            __builtin_add_overflow(n, d, &n))
            return false;
    }
    *out = n;
    return true;
}

bool parse_i64(struct slice s, int64_t *out)
{
    bool negative = s.len > 0 && s.data[0] == '-';
    uint64_t n;
    if (negative)
        s = slice_of(s.data + 1, s.len - 1);
    if (!parse_u64(s, &n) || n > (uint64_t)INT64_MAX + (negative ? 1 : 0) ||
        (negative && n == 0))
        return false;
    *out = negative ? (int64_t)(0 - n) : (int64_t)n;
    return true;
}

bool parse_double(struct slice s, double *out)
{
    char word[48];
    if (s.len == 0 || s.len >= sizeof(word))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (strchr("0123456789.+-eE", s.data[i]) == NULL || s.data[i] == '\0')
            return false;
    memcpy(word, s.data, s.len);
    word[s.len] = '\0';
    char *end;
    errno = 0;
    double d = strtod(word, &end);
    if (*end != '\0' || end == word || !isfinite(d))
        return false;
    *out = d;
    return true;
}

struct unit {
    const char *suffix;
    uint64_t factor;
};

static bool parse_with_unit(struct slice s, const struct unit *units,
                            uint64_t max, uint64_t *out)
{
    size_t digits = 0;
    while (digits < s.len && s.data[digits] >= '0' && s.data[digits] <= '9')
        digits++;
    uint64_t n, factor = 0;
    if (!parse_u64(slice_of(s.data, digits), &n))
        return false;
    struct slice suffix = slice_of(s.data + digits, s.len - digits);
    for (const struct unit *u = units; u->suffix != NULL && factor == 0; u++)
        if (slice_is(suffix, u->suffix))
            factor = u->factor;
    if (factor == 0 || __builtin_mul_overflow(n, factor, &n) || n > max)
        return false;
    *out = n;
    return true;
}

bool parse_duration_ms(struct slice s, uint64_t *out)
{
    static const struct unit units[] = {
        {"", 1},         {"ms", 1},        {"s", 1000}, {"m", 60000},
        {"h", 3600000u}, {"d", 86400000u}, {NULL, 0},
    };
    return parse_with_unit(s, units, DURATION_MS_MAX, out);
}

bool parse_size(struct slice s, uint64_t *out)
{
    static const struct unit units[] = {
        {"", 1},           {"b", 1},           {"k", 1000},
        {"kb", 1024},      {"m", 1000000},     {"mb", 1048576},
        {"g", 1000000000}, {"gb", 1073741824}, {NULL, 0},
    };
    return parse_with_unit(s, units, UINT64_MAX / 2, out);
}

int64_t days_from_civil(int64_t year, unsigned month, unsigned day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t yoe = year - era * 400;
    int64_t mp = (int64_t)(month + 9) % 12;
    int64_t doy = (153 * mp + 2) / 5 + (int64_t)day - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

void civil_from_days(int64_t days, int64_t *year, unsigned *month,
                     unsigned *day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t doe = days - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    *day = (unsigned)(doy - (153 * mp + 2) / 5 + 1);
    *month = (unsigned)(mp < 10 ? mp + 3 : mp - 9);
    *year = yoe + era * 400 + (*month <= 2);
}

/* Read exactly `n` digits at *p; -1 if they are not there. */
static int digits(const char **p, const char *end, int n)
{
    int v = 0;
    if (end - *p < n)
        return -1;
    for (int i = 0; i < n; i++, (*p)++) {
        if (**p < '0' || **p > '9')
            return -1;
        v = v * 10 + (**p - '0');
    }
    return v;
}

static bool expect(const char **p, const char *end, const char *any)
{
    if (*p >= end || **p == '\0' || strchr(any, **p) == NULL)
        return false;
    (*p)++;
    return true;
}

/* The offset behind the time: Z, +hh:mm or -hh:mm; minutes east of UTC. */
static bool parse_offset(const char **p, const char *end, int *minutes)
{
    *minutes = 0;
    if (expect(p, end, "Zz"))
        return *p == end;
    bool west = *p < end && **p == '-';
    if (!expect(p, end, "+-"))
        return false;
    int h = digits(p, end, 2);
    if (h < 0 || h > 23 || !expect(p, end, ":"))
        return false;
    int m = digits(p, end, 2);
    if (m < 0 || m > 59 || *p != end)
        return false;
    *minutes = west ? -(h * 60 + m) : h * 60 + m;
    return true;
}

static unsigned days_in_month(int64_t year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30,
                                         31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap ? 1u : 0u);
}

static bool parse_rfc3339(struct slice s, uint64_t *out)
{
    const char *p = s.data, *end = s.data + s.len;
    int year = digits(&p, end, 4);
    if (year < 0 || !expect(&p, end, "-"))
        return false;
    int month = digits(&p, end, 2);
    if (month < 1 || month > 12 || !expect(&p, end, "-"))
        return false;
    int day = digits(&p, end, 2);
    if (day < 1 || (unsigned)day > days_in_month(year, (unsigned)month) ||
        !expect(&p, end, "Tt "))
        return false;
    int h = digits(&p, end, 2);
    if (h < 0 || h > 23 || !expect(&p, end, ":"))
        return false;
    int min = digits(&p, end, 2);
    if (min < 0 || min > 59 || !expect(&p, end, ":"))
        return false;
    int sec = digits(&p, end, 2);
    if (sec < 0 || sec > 59)
        return false;
    int ms = 0;
    if (expect(&p, end, ".")) {
        int scale = 100, n = 0;
        for (; p < end && *p >= '0' && *p <= '9'; p++, n++, scale /= 10)
            ms += (*p - '0') * scale;
        if (n == 0)
            return false;
    }
    int offset;
    if (!parse_offset(&p, end, &offset))
        return false;
    int64_t t = days_from_civil(year, (unsigned)month, (unsigned)day) * 86400 +
                h * 3600 + min * 60 + sec - (int64_t)offset * 60;
    if (t < 0)
        return false;
    *out = (uint64_t)t * 1000 + (uint64_t)ms;
    return true;
}

bool parse_time_ms(struct slice s, uint64_t *out)
{
    uint64_t t;
    if (!(parse_u64(s, &t) || parse_rfc3339(s, &t)) || t > TIME_MS_MAX)
        return false;
    *out = t;
    return true;
}

static unsigned char fold(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c - 'A' + 'a') : c;
}

/* One [set] at p (behind the bracket); *next is set behind the set. */
static bool in_set(const char *p, const char *end, unsigned char c, bool nocase,
                   const char **next)
{
    bool negate = p < end && *p == '^', found = false;
    if (negate)
        p++;
    while (p < end && *p != ']') {
        if (*p == '\\' && p + 1 < end)
            p++;
        unsigned char lo = (unsigned char)*p, hi = lo;
        if (p + 2 < end && p[1] == '-') {
            hi = (unsigned char)p[2];
            p += 2;
        }
        if (lo > hi) {
            unsigned char t = lo;
            lo = hi;
            hi = t;
        }
        if (nocase) {
            lo = fold(lo);
            hi = fold(hi);
        }
        found |= c >= lo && c <= hi;
        p++;
    }
    *next = p < end ? p + 1 : end;
    return found != negate;
}

static bool match(struct slice pattern, struct slice s, bool nocase)
{
    const char *p = pattern.data, *pe = p + pattern.len;
    const char *t = s.data, *te = t + s.len;
    const char *star = NULL, *star_t = NULL;
    while (t < te) {
        const char *next = p + 1;
        unsigned char c = (unsigned char)*t;
        bool ok = false;
        if (nocase)
            c = fold(c);
        if (p < pe && *p == '*') {
            star = ++p; /* try with nothing, come back for more */
            star_t = t;
            continue;
        }
        if (p < pe) {
            if (*p == '?')
                ok = true;
            else if (*p == '[')
                ok = in_set(p + 1, pe, c, nocase, &next);
            else {
                if (*p == '\\' && p + 1 < pe) {
                    p++;
                    next = p + 1;
                }
                unsigned char want = (unsigned char)*p;
                ok = (nocase ? fold(want) : want) == c;
            }
        }
        if (ok) {
            p = next;
            t++;
        } else if (star != NULL) {
            p = star;
            t = ++star_t;
        } else {
            return false;
        }
    }
    while (p < pe && *p == '*')
        p++;
    return p == pe;
}

bool glob_match(struct slice pattern, struct slice s)
{
    return match(pattern, s, false);
}

bool glob_match_nocase(struct slice pattern, struct slice s)
{
    return match(pattern, s, true);
}
