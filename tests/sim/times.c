#include "times.h"

#include <string.h>

#include "cron/zone.h"
#include "util/alloc.h"
#include "util/assert.h"

#define MINUTE_MS 60000
#define DAY_MIN 1440

static const struct {
    const char *zone;
    uint64_t change_ms;
} regions[TIMES_REGIONS] = {
    {"Europe/Zurich", 1711846800000},       /* 2024-03-31 01:00Z, +1 h */
    {"Europe/Zurich", 1729990800000},       /* 2024-10-27 01:00Z, -1 h */
    {"America/New_York", 1710054000000},    /* 2024-03-10 07:00Z, +1 h */
    {"America/New_York", 1730613600000},    /* 2024-11-03 06:00Z, -1 h */
    {"Australia/Lord_Howe", 1712415600000}, /* 2024-04-06 15:00Z, -30 min */
    {"Australia/Lord_Howe", 1728142200000}, /* 2024-10-05 15:30Z, +30 min */
};

/* What is said to the engine, and what it means: every so many minutes of the
 * hour, as long as the clock shows them; or at up to two times of the day. */
static const struct kind {
    const char *patterns[2], *exclude;
    enum schedule_gap gap;
    enum schedule_fold fold;
    bool utc;
    int every_min, but_min; /* of the hour; 0: daily, 0: none */
    int daily[2];           /* minutes of the day; -1: none */
    unsigned weekdays;      /* bit 0: Sunday */
} kinds[] = {
    {{"* * * * *"}, .every_min = 1},
    {{"*/15 * * * *"}, .every_min = 15},
    {{"*/7 * * * *"}, .utc = true, .every_min = 7},
    {{"0,30 * * * *"}, "30 * * * *", .every_min = 30, .but_min = 30},
    {{"30 2 * * *"}, .daily = {150, -1}, .weekdays = 127},
    {{"30 2 * * *"},
     .gap = GAP_SKIP,
     .fold = FOLD_LAST,
     .daily = {150, -1},
     .weekdays = 127},
    {{"30 2 * * *"}, .fold = FOLD_BOTH, .daily = {150, -1}, .weekdays = 127},
    {{"0 2 * * *", "30 2 * * *"}, .daily = {120, 150}, .weekdays = 127},
    {{"45 1 * * *"}, .daily = {105, -1}, .weekdays = 127},
    {{"15 9 * * MON-FRI"}, .daily = {555, -1}, .weekdays = 62},
    {{"0 0 * * *"}, .daily = {0, -1}, .weekdays = 127},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct times {
    uint64_t *at;
    size_t n, cap;
};
/* Found once for all seeds. */
static struct times calendar[TIMES_REGIONS][KINDS];

uint64_t times_change_ms(uint32_t region)
{
    ASSERT(region < TIMES_REGIONS);
    return regions[region].change_ms;
}

uint32_t times_kinds(void)
{
    return KINDS;
}

static const char *zone_of(uint32_t kind, uint32_t region)
{
    return kinds[kind].utc ? "UTC" : regions[region].zone;
}

void times_say(uint32_t kind, uint32_t region, struct schedule_timing *t)
{
    const struct kind *k = &kinds[kind];
    *t = (struct schedule_timing){.when = WHEN_CRON,
                                  .zone = slice_str(zone_of(kind, region)),
                                  .gap = k->gap,
                                  .fold = k->fold};
    for (int i = 0; i < 2 && k->patterns[i] != NULL; i++)
        t->patterns[t->patterns_n++] = slice_str(k->patterns[i]);
    if (k->exclude != NULL)
        t->excludes[t->excludes_n++] = slice_str(k->exclude);
}

uint64_t times_spread_max(uint32_t kind)
{
    return kinds[kind].every_min > 0 ? 0 : 20 * (uint64_t)MINUTE_MS;
}

static void append(struct times *t, uint64_t at_ms)
{
    if (t->n == t->cap) {
        t->cap = t->cap == 0 ? 256 : 2 * t->cap;
        uint64_t *grown = mem_alloc(t->cap * sizeof(*grown));
        if (t->n > 0)
            memcpy(grown, t->at, t->n * sizeof(*grown));
        mem_free(t->at);
        t->at = grown;
    }
    t->at[t->n++] = at_ms;
}

/* What the wall showed at a minute and at the one before. */
struct minute {
    uint64_t utc_ms;
    int64_t local, before; /* minutes, counted as if it were UTC */
};

static void of_the_hour(const struct kind *k, const struct minute *m,
                        struct times *out)
{
    int of_hour = (int)(m->local % 60);
    if (of_hour % k->every_min == 0 &&
        (k->but_min == 0 || of_hour != k->but_min))
        append(out, m->utc_ms);
}

/* One of its times of the day; *date is the day that has had it. */
static void of_the_day(const struct kind *k, int wanted, const struct minute *m,
                       int64_t *date, struct times *out)
{
    int64_t day = m->local / DAY_MIN, at = day * DAY_MIN + wanted;
    bool shown = m->local == at;
    bool skipped = m->before < at && at < m->local && k->gap != GAP_SKIP;
    if ((!shown && !skipped) || (k->weekdays >> ((day + 4) % 7) & 1) == 0)
        return;
    if (*date == day && k->fold != FOLD_LAST && k->fold != FOLD_BOTH)
        return;
    if (*date == day && k->fold == FOLD_LAST)
        out->n--;
    *date = day;
    /* Two times of the day that a gap skips are one. */
    if (out->n == 0 || out->at[out->n - 1] != m->utc_ms)
        append(out, m->utc_ms);
}

static const struct times *times_of(uint32_t kind, uint32_t region)
{
    ASSERT(kind < KINDS && region < TIMES_REGIONS);
    struct times *t = &calendar[region][kind];
    const struct kind *k = &kinds[kind];
    const struct zone *zone;
    struct errbuf err;
    int64_t dates[2] = {-1, -1};
    if (t->n > 0)
        return t;
    enum err rc = zone_get(slice_str(zone_of(kind, region)), &zone, &err);
    ASSERT(rc == ERR_OK);
    uint64_t from = regions[region].change_ms - TIMES_BEFORE_MS;
    uint64_t to = regions[region].change_ms + TIMES_AFTER_MS;
    struct minute m = {.before = -1};
    for (uint64_t at = from - from % MINUTE_MS; at < to; at += MINUTE_MS) {
        int64_t s = (int64_t)(at / 1000);
        m.utc_ms = at;
        m.local = (s + zone_offset_at(zone, s)) / 60;
        if (k->every_min > 0)
            of_the_hour(k, &m, t);
        for (int i = 0; k->every_min == 0 && m.before >= 0 && i < 2; i++)
            if (k->patterns[i] != NULL)
                of_the_day(k, k->daily[i], &m, &dates[i], t);
        m.before = m.local;
    }
    return t;
}

uint64_t times_next(uint32_t kind, uint32_t region, int64_t after_ms)
{
    const struct times *t = times_of(kind, region);
    size_t lo = 0, hi = t->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if ((int64_t)t->at[mid] > after_ms)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo < t->n ? t->at[lo] : 0;
}
