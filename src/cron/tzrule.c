#include "cron/tzif.h"
#include "cron/zone.h"
#include "util/parse.h"

/* The rule in a footer: std offset [dst [offset] , start [/time] , end [/time]]
 * as POSIX has it, with RFC 9636's wider hours (-167 to 167). */

static bool name_skip(const char **p, const char *end)
{
    const char *s = *p;
    if (s < end && *s == '<') {
        while (s < end && *s != '>')
            s++;
        if (s == end)
            return false;
        *p = s + 1;
        return true;
    }
    while (s < end && ((*s >= 'A' && *s <= 'Z') || (*s >= 'a' && *s <= 'z')))
        s++;
    bool ok = s - *p >= 3;
    *p = s;
    return ok;
}

static bool number(const char **p, const char *end, unsigned max, unsigned *out)
{
    unsigned n = 0;
    const char *s = *p;
    for (; s < end && *s >= '0' && *s <= '9' && s - *p < 4; s++)
        n = n * 10 + (unsigned)(*s - '0');
    bool ok = s > *p && n <= max;
    *p = s;
    *out = n;
    return ok;
}

static bool char_is(const char **p, const char *end, char c)
{
    if (*p >= end || **p != c)
        return false;
    (*p)++;
    return true;
}

/* [+-]hh[:mm[:ss]] */
static bool clock_read(const char **p, const char *end, unsigned hours_max,
                       int32_t *out)
{
    bool negative = char_is(p, end, '-');
    if (!negative)
        (void)char_is(p, end, '+');
    unsigned h, m = 0, s = 0;
    if (!number(p, end, hours_max, &h))
        return false;
    if (char_is(p, end, ':')) {
        if (!number(p, end, 59, &m))
            return false;
        if (char_is(p, end, ':') && !number(p, end, 59, &s))
            return false;
    }
    int32_t n = (int32_t)(h * 3600 + m * 60 + s);
    *out = negative ? -n : n;
    return true;
}

static bool day_read(const char **p, const char *end, struct tz_day *d)
{
    bool ok;
    if (char_is(p, end, 'M')) {
        d->kind = TZ_MONTH;
        ok = number(p, end, 12, &d->month) && d->month >= 1 &&
             char_is(p, end, '.') && number(p, end, 5, &d->week) &&
             d->week >= 1 && char_is(p, end, '.') && number(p, end, 6, &d->day);
    } else if (char_is(p, end, 'J')) {
        d->kind = TZ_JULIAN;
        ok = number(p, end, 365, &d->day) && d->day >= 1;
    } else {
        d->kind = TZ_DAY0;
        ok = number(p, end, 365, &d->day);
    }
    d->time_s = 7200;
    if (ok && char_is(p, end, '/'))
        ok = clock_read(p, end, 167, &d->time_s);
    return ok;
}

enum err tz_rule_parse(struct slice text, struct tz_rule *out, struct errbuf *e)
{
    const char *p = text.data, *end = text.data + text.len;
    struct tz_rule r = {0};
    int32_t west;
    if (!name_skip(&p, end) || !clock_read(&p, end, 25, &west))
        goto bad;
    r.std = -west;
    if (p < end) {
        r.has_dst = true;
        if (!name_skip(&p, end))
            goto bad;
        r.dst = r.std + 3600; /* which may be too far */
        if (p < end && *p != ',') {
            if (!clock_read(&p, end, 25, &west))
                goto bad;
            r.dst = -west;
        }
        if (r.dst > ZONE_OFFSET_MAX || !char_is(&p, end, ',') ||
            !day_read(&p, end, &r.start) || !char_is(&p, end, ',') ||
            !day_read(&p, end, &r.end) || p != end)
            goto bad;
    }
    *out = r;
    return ERR_OK;

bad:
    return err_set(e, ERR_CORRUPT, "the footer's rule is wrong near byte %d",
                   (int)(p - text.data) + 1);
}

/* Seconds from 1970 to the day's time, as its local clock shows it. */
static int64_t day_at(const struct tz_day *d, int64_t year)
{
    int64_t days = days_from_civil(year, 1, 1);
    bool leap = days_from_civil(year + 1, 1, 1) - days == 366;
    switch (d->kind) {
    case TZ_JULIAN: /* 29 February is never counted */
        days += d->day - 1 + (leap && d->day >= 60 ? 1 : 0);
        break;
    case TZ_DAY0:
        days += d->day;
        break;
    case TZ_MONTH: {
        int64_t first = days_from_civil(year, d->month, 1);
        int64_t next = d->month == 12 ? days_from_civil(year + 1, 1, 1)
                                      : days_from_civil(year, d->month + 1, 1);
        /* 1970-01-01 was a Thursday. */
        int64_t weekday = ((first + 4) % 7 + 7) % 7;
        days = first + (d->day + 7 - weekday) % 7 + (d->week - 1) * 7;
        if (days >= next)
            days -= 7;
        break;
    }
    }
    return days * 86400 + d->time_s;
}

void tz_rule_expand(const struct tz_rule *r, int64_t year, int64_t after,
                    struct tz_table *t)
{
    if (!r->has_dst) {
        /* The rule agrees with the last change, or there was none. */
        if (after == INT64_MIN)
            t->offset[0] = r->std;
        else
            tz_table_add(t, after + 1, r->std);
        return;
    }
    size_t stored = t->len;
    if (after == INT64_MIN)
        t->offset[0] = r->std;
    /* Two more years than a cycle, so that its end lies behind `after`. */
    for (int64_t y = year; y <= year + TZ_CYCLE_YEARS + 2; y++) {
        int64_t start = day_at(&r->start, y) - r->std;
        int64_t end = day_at(&r->end, y) - r->dst;
        bool start_first = start < end;
        for (int i = 0; i < 2; i++) {
            bool is_start = (i == 0) == start_first;
            int64_t at = is_start ? start : end;
            /* Permanent daylight saving ends where it starts again; the start
             * replaces the end there. */
            if (at > after && (t->len == 0 || at >= t->at[t->len - 1]))
                tz_table_add(t, at, is_start ? r->dst : r->std);
        }
    }
    t->cyclic = t->len - stored > 2;
}
