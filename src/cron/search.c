#include "cron/pattern.h"
#include "util/parse.h"

/* The search through the calendar: local times only, no zones.
 *
 * From the given moment on: is the day a match and is there a time left in it?
 * Else the next matching day of the month, else of the next month that has
 * any, else of the next year that has any; there the first time of the day. */

static const unsigned char month_len[] = {31, 28, 31, 30, 31, 30,
                                          31, 31, 30, 31, 30, 31};

static bool year_is_leap(int64_t y)
{
    return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
}

static unsigned days_in(unsigned month, bool leap)
{
    return month_len[month - 1] + (month == 2 && leap ? 1u : 0u);
}

/* 1970-01-01 was a Thursday. */
static unsigned weekday_of(int64_t days)
{
    return (unsigned)(((days + 4) % 7 + 7) % 7);
}

static unsigned lowest(uint64_t mask)
{
    return (unsigned)__builtin_ctzll(mask);
}

/* The bits at and above `n`. */
static uint64_t from_bit(uint64_t mask, unsigned n)
{
    return n > 63 ? 0 : mask & (UINT64_MAX << n);
}

/* The working day nearest to `day` within the month. */
static unsigned workday_near(unsigned day, unsigned len, unsigned first)
{
    unsigned weekday = (first + day - 1) % 7;
    if (weekday == 6)
        return day > 1 ? day - 1 : day + 2;
    if (weekday == 0)
        return day < len ? day + 1 : day - 2;
    return day;
}

uint32_t pattern_days(const struct cron *c, unsigned len, unsigned first)
{
    const uint32_t all = (uint32_t)((UINT64_C(2) << len) - 2);
    uint32_t dom = c->dom;
    if (c->dom_last)
        dom |= UINT32_C(1) << len;
    if (c->dom_last_workday)
        dom |= UINT32_C(1) << workday_near(len, len, first);
    if (c->dom_workday != 0 && c->dom_workday <= len)
        dom |= UINT32_C(1) << workday_near(c->dom_workday, len, first);

    /* Bit d of a weekday mask becomes the first day of the month that is a d,
     * then repeats by sevens. */
    uint64_t dow = c->dow == 0x7f ? all : 0;
    for (unsigned d = 0; d < 7 && dow != all; d++) {
        unsigned day = 1 + (d + 7 - first) % 7;
        if (c->dow >> d & 1)
            dow |= UINT64_C(0x10204081) << day;
        if (c->dow_last >> d & 1)
            dow |= UINT64_C(1) << (day + (len - day) / 7 * 7);
        for (unsigned n = 0; n < 5; n++)
            if (c->nth[n] >> d & 1)
                dow |= UINT64_C(1) << (day + n * 7);
    }
    uint32_t by_week = (uint32_t)(dow & all);
    dom &= all;
    if (c->both || c->dom_star || c->dow_star)
        return dom & by_week;
    return dom | by_week;
}

static uint16_t months_of(const struct cron *c, int64_t year)
{
    if (year < CRON_YEAR_MIN || year > CRON_YEAR_MAX)
        return 0;
    unsigned i = (unsigned)(year - CRON_YEAR_MIN);
    if ((c->years[i / 64] >> (i % 64) & 1) == 0)
        return 0;
    unsigned kind =
        weekday_of(days_from_civil(year, 1, 1)) + (year_is_leap(year) ? 7 : 0);
    return c->months_of_kind[kind];
}

void pattern_finish(struct cron *c)
{
    for (unsigned kind = 0; kind < YEAR_KINDS; kind++) {
        bool leap = kind >= 7;
        unsigned first = kind % 7;
        c->months_of_kind[kind] = 0;
        for (unsigned m = 1; m <= 12; m++) {
            unsigned len = days_in(m, leap);
            if ((c->month >> m & 1) != 0 && pattern_days(c, len, first) != 0)
                c->months_of_kind[kind] |= (uint16_t)(1u << m);
            first = (first + len) % 7;
        }
    }
    c->never = true;
    for (int64_t y = CRON_YEAR_MIN; y <= CRON_YEAR_MAX && c->never; y++)
        c->never = months_of(c, y) == 0;
}

/* The first matching second of a day at or after second `from`. */
static bool time_from(const struct cron *c, unsigned from, unsigned *out)
{
    unsigned h = from / 3600, m = from / 60 % 60, s = from % 60;
    uint64_t mask;
    if ((c->hour >> h & 1) != 0) {
        if ((c->minute >> m & 1) != 0) {
            mask = from_bit(c->second, s);
            if (mask != 0) {
                *out = h * 3600 + m * 60 + lowest(mask);
                return true;
            }
        }
        mask = from_bit(c->minute, m + 1);
        if (mask != 0) {
            *out = h * 3600 + lowest(mask) * 60 + lowest(c->second);
            return true;
        }
    }
    mask = from_bit(c->hour, h + 1);
    if (mask == 0)
        return false;
    *out = lowest(mask) * 3600 + lowest(c->minute) * 60 + lowest(c->second);
    return true;
}

bool pattern_next(const struct cron *c, int64_t local_s, int64_t *out)
{
    int64_t year, days = local_s / DAY_S;
    unsigned from = 0, month, day, second;
    if (local_s % DAY_S < 0)
        days--;
    civil_from_days(days, &year, &month, &day);
    if (year < CRON_YEAR_MIN) {
        year = CRON_YEAR_MIN;
        month = day = 1;
    } else {
        from = (unsigned)(local_s - days * DAY_S);
    }
    for (; year <= CRON_YEAR_MAX; year++, month = day = 1, from = 0) {
        uint64_t months = from_bit(months_of(c, year), month);
        for (; months != 0; months &= months - 1) {
            if (lowest(months) != month) {
                month = lowest(months);
                day = 1;
                from = 0;
            }
            int64_t first = days_from_civil(year, month, 1);
            uint64_t mask =
                from_bit(pattern_days(c, days_in(month, year_is_leap(year)),
                                      weekday_of(first)),
                         day);
            for (; mask != 0; mask &= mask - 1) {
                if (lowest(mask) != day)
                    from = 0;
                if (time_from(c, from, &second)) {
                    *out = (first + lowest(mask) - 1) * DAY_S + second;
                    return true;
                }
            }
        }
    }
    return false;
}

/* The matching days of a month; none if its year or the month is no match. */
static uint32_t days_of(const struct cron *c, int64_t year, unsigned month,
                        int64_t first)
{
    if ((months_of(c, year) >> month & 1) == 0)
        return 0;
    return pattern_days(c, days_in(month, year_is_leap(year)),
                        weekday_of(first));
}

/* All of `day` matches: the first day behind it that does not, counted from
 * 1970 as `first`, the first of its month, is. */
static int64_t days_end(const struct cron *c, int64_t year, unsigned month,
                        int64_t first, unsigned day)
{
    for (;;) {
        unsigned len = days_in(month, year_is_leap(year));
        uint64_t missing =
            from_bit(~(uint64_t)days_of(c, year, month, first), day);
        if (lowest(missing) <= len)
            return first + lowest(missing) - 1;
        first += len;
        day = 1;
        year += month == 12;
        month = month % 12 + 1;
    }
}

bool pattern_covers(const struct cron *c, int64_t local_s, int64_t *end)
{
    const uint64_t all60 = (UINT64_C(1) << 60) - 1;
    const uint32_t all24 = (UINT32_C(1) << 24) - 1;
    int64_t year, days = local_s / DAY_S;
    unsigned month, day;
    if (local_s % DAY_S < 0)
        days--;
    civil_from_days(days, &year, &month, &day);
    int64_t first = days - day + 1;
    unsigned s = (unsigned)(local_s - days * DAY_S);
    if ((days_of(c, year, month, first) >> day & 1) == 0 ||
        (c->hour >> (s / 3600) & 1) == 0 ||
        (c->minute >> (s / 60 % 60) & 1) == 0 ||
        (!c->minutes && (c->second >> (s % 60) & 1) == 0))
        return false;
    if (!c->minutes && c->second != all60)
        *end = local_s + 1;
    else if (c->minute != all60)
        *end = local_s - s % 60 + 60;
    else if (c->hour != all24)
        *end = local_s - s % 3600 + 3600;
    else
        *end = days_end(c, year, month, first, day) * DAY_S;
    return true;
}
