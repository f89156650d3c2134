/* What the tests of cron share: local times as words, patterns as literals. */
#ifndef UNIT_CRON_CRON_LIB_H
#define UNIT_CRON_CRON_LIB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cron/cron.h"
#include "cron/zone.h"
#include "util/parse.h"

#define NAME SLICE_LIT("nightly-report")

/* "2025-03-10 10:15[:30]" read as if it were UTC, in seconds. */
static inline int64_t civil(const char *text)
{
    char full[32];
    uint64_t ms = 0;
    (void)snprintf(full, sizeof(full), "%s%s", text,
                   strlen(text) == 16 ? ":00Z" : "Z");
    if (!parse_time_ms(slice_str(full), &ms))
        fail_msg("not a time: %s", text);
    return (int64_t)(ms / 1000);
}

/* The reverse of civil(), in a static buffer that is good for one line. */
static inline const char *civil_text(int64_t s)
{
    static char ring[4][32];
    static unsigned turn;
    char *out = ring[turn++ % 4];
    int64_t year, days = s / 86400 - (s % 86400 < 0);
    unsigned month, day, sec = (unsigned)(s - days * 86400);
    civil_from_days(days, &year, &month, &day);
    (void)snprintf(out, sizeof(ring[0]), "%04d-%02u-%02u %02u:%02u:%02u",
                   (int)year, month, day, sec / 3600, sec / 60 % 60, sec % 60);
    return out;
}

static inline struct cron *pattern(const char *text)
{
    struct cron *c = NULL;
    struct errbuf e;
    if (cron_parse(slice_str(text), NAME, &c, &e) != ERR_OK)
        fail_msg("'%s': %s", text, e.text);
    return c;
}

static inline const struct zone *zone(const char *name)
{
    const struct zone *z = NULL;
    struct errbuf e;
    if (zone_get(slice_str(name), &z, &e) != ERR_OK)
        fail_msg("%s: %s", name, e.text);
    return z;
}

static inline bool matches(const struct cron *c, int64_t s)
{
    const struct cron_rules rules = {0};
    uint64_t next;
    return cron_next(c, &rules, s * 1000 - 1, &next, NULL) &&
           next == (uint64_t)s * 1000;
}

#endif
