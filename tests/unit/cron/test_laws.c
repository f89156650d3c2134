#include "cron_lib.h"
#include "util/rng.h"

/* Laws of next and prev on random patterns, zones and rules, and a brute force
 * that knows the pattern's sets because it made them. */

#define TRIALS 2000
#define WINDOW_S (3 * 86400)

static const char *const zones[] = {
    "UTC",
    "Europe/Zurich",
    "America/New_York",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
    "Europe/Dublin",
    "Asia/Kathmandu",
    "America/Nuuk",
    "Africa/Cairo",
    "Antarctica/Troll", /* two hours */
};

/* A pattern as sets, and as text. */
struct sample {
    uint64_t minute;
    uint32_t hour, dom, month, dow;
    bool dom_star, dow_star, both, elapsed;
    char text[CRON_TEXT_MAX + 1];
};

static uint64_t range_mask(unsigned min, unsigned max, unsigned by)
{
    uint64_t m = 0;
    for (unsigned v = min; v <= max; v += by)
        m |= UINT64_C(1) << v;
    return m;
}

/* One random field: a star, a step, a range or a list. */
static uint64_t any_field(struct rng *r, unsigned min, unsigned max, char *text,
                          size_t size, bool *star, bool *often)
{
    unsigned n = max - min + 1;
    unsigned a = min + (unsigned)rng_below(r, n);
    unsigned b = a + (unsigned)rng_below(r, max - a + 1);
    unsigned by = 1 + (unsigned)rng_below(r, n / 2);
    size_t used = 0;
    uint64_t mask = 0;
    *star = *often = false;
    switch (rng_below(r, 6)) {
    case 0:
        (void)snprintf(text, size, "*");
        *star = *often = true;
        return range_mask(min, max, 1);
    case 1:
        (void)snprintf(text, size, "*/%u", by);
        *star = *often = true;
        return range_mask(min, max, by);
    case 2:
        (void)snprintf(text, size, "%u-%u", a, b);
        return range_mask(a, b, 1);
    case 3:
        (void)snprintf(text, size, "%u-%u/%u", a, b, by);
        *often = true;
        return range_mask(a, b, by);
    default:
        for (unsigned i = (unsigned)rng_below(r, 3); i < 3; i++) {
            a = min + (unsigned)rng_below(r, n);
            used += (size_t)snprintf(text + used, size - used, "%s%u",
                                     used == 0 ? "" : ",", a);
            mask |= UINT64_C(1) << a;
        }
        return mask;
    }
}

static void any_pattern(struct rng *r, struct sample *s)
{
    char minute[32], hour[32], dom[32], month[32] = "*", dow[32];
    bool star, m_often, h_often, often;
    s->minute = any_field(r, 0, 59, minute, sizeof(minute), &star, &m_often);
    s->hour =
        (uint32_t)any_field(r, 0, 23, hour, sizeof(hour), &star, &h_often);
    s->dom =
        (uint32_t)any_field(r, 1, 31, dom, sizeof(dom), &s->dom_star, &often);
    s->month = 0x1ffe;
    if (rng_below(r, 3) == 0)
        s->month =
            (uint32_t)any_field(r, 1, 12, month, sizeof(month), &star, &often);
    s->dow =
        (uint32_t)any_field(r, 0, 6, dow, sizeof(dow), &s->dow_star, &often);
    s->both = rng_below(r, 4) == 0;
    s->elapsed = m_often || h_often;
    (void)snprintf(s->text, sizeof(s->text), "%s %s %s %s %s%s", minute, hour,
                   dom, month, s->both ? "+" : "", dow);
}

static bool has(uint64_t mask, unsigned bit)
{
    return (mask >> bit & 1) != 0;
}

static bool sample_has(const struct sample *s, int64_t local)
{
    int64_t year, days = local / 86400 - (local % 86400 < 0);
    unsigned month, day, sec = (unsigned)(local - days * 86400);
    civil_from_days(days, &year, &month, &day);
    bool dom = has(s->dom, day);
    bool dow = has(s->dow, (unsigned)((days + 4) % 7));
    bool date = s->both || s->dom_star || s->dow_star ? dom && dow : dom || dow;
    return sec % 60 == 0 && has(s->minute, sec / 60 % 60) &&
           has(s->hour, sec / 3600) && has(s->month, month) && date;
}

static void any_rules(struct rng *r, struct cron_rules *rules)
{
    *rules = (struct cron_rules){
        .zone = zone(zones[rng_below(r, ARRAY_LEN(zones))]),
        .gap = (enum cron_gap)rng_below(r, 2),
        .fold = (enum cron_fold)rng_below(r, 3),
        .gap_given = rng_below(r, 2) == 0,
        .fold_given = rng_below(r, 2) == 0,
    };
}

/* Does the pattern fire at `utc`, a whole minute? By the definition alone. */
static bool fires(const struct sample *s, const struct cron_rules *rules,
                  int64_t utc)
{
    bool gap_runs = rules->gap_given ? rules->gap == CRON_GAP_RUN : !s->elapsed;
    enum cron_fold fold = rules->fold_given ? rules->fold
                          : s->elapsed      ? CRON_FOLD_BOTH
                                            : CRON_FOLD_FIRST;
    int32_t before = zone_offset_at(rules->zone, utc - 1);
    int32_t offset = zone_offset_at(rules->zone, utc);
    for (int64_t l = utc + before; gap_runs && l < utc + offset; l += 60)
        if (sample_has(s, l))
            return true;
    if (!sample_has(s, utc + offset))
        return false;
    struct zone_local local;
    zone_local_to_utc(rules->zone, utc + offset, &local);
    if (local.when != ZONE_TWICE || fold == CRON_FOLD_BOTH)
        return true;
    return utc == (fold == CRON_FOLD_FIRST ? local.first : local.last);
}

/* Somewhere in 1975 to 2095; every other time close to a change. */
static int64_t any_time(struct rng *r, const struct zone *z)
{
    int64_t t = 157766400 + (int64_t)rng_below(r, 120ull * 365 * 86400);
    struct zone_span span;
    zone_span_at(z, t, &span);
    if (rng_below(r, 2) == 0 && span.end < INT64_MAX / 2)
        t = span.end - (int64_t)rng_below(r, 36 * 3600);
    return t / 60 * 60;
}

static void next_is_the_first_that_brute_force_finds(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 1);
    unsigned found = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        struct sample s;
        struct cron_rules rules;
        any_pattern(&r, &s);
        any_rules(&r, &rules);
        struct cron *c = pattern(s.text);
        assert_int_equal(cron_follows_elapsed(c), s.elapsed);
        int64_t t = any_time(&r, rules.zone), end = t + WINDOW_S;
        uint64_t next = 0;
        bool any = cron_next(c, &rules, t * 1000, &next, NULL);
        for (t += 60; t < end; t += 60) {
            bool is = any && next == (uint64_t)t * 1000;
            if (is != fires(&s, &rules, t))
                fail_msg("'%s' %s gap %d/%d fold %d/%d: %s is %s by brute "
                         "force, next is %s",
                         s.text, zone_name(rules.zone), rules.gap,
                         rules.gap_given, rules.fold, rules.fold_given,
                         civil_text(t), is ? "no time" : "a time",
                         civil_text((int64_t)next / 1000));
            if (!is)
                continue;
            found++;
            any = cron_next(c, &rules, t * 1000, &next, NULL);
        }
        cron_free(&c);
    }
    assert_true(found > 50000); /* or the samples are too rare to tell */
}

static void next_is_strictly_later_and_prev_comes_back(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 2);
    for (int trial = 0; trial < TRIALS; trial++) {
        struct sample s;
        struct cron_rules rules;
        any_pattern(&r, &s);
        any_rules(&r, &rules);
        struct cron *c = pattern(s.text);
        uint64_t from =
            (uint64_t)any_time(&r, rules.zone) * 1000 + rng_below(&r, 60000);
        uint64_t t = from, next, back, until;
        unsigned marks, back_marks;
        for (int i = 0;
             i < 20 && cron_next(c, &rules, (int64_t)t, &next, &marks); i++) {
            assert_true(next > t);
            assert_true(cron_covers(c, rules.zone, next,
                                    (marks & CRON_MARK_GAP) != 0, &until));
            assert_true(until > next);
            if (cron_prev(c, &rules, (int64_t)next, &back, NULL)) {
                assert_true(back <= t);
                if (i > 0)
                    assert_int_equal(back, t);
            }
            assert_true(
                cron_prev(c, &rules, (int64_t)next + 1, &back, &back_marks));
            assert_int_equal(back, next);
            assert_int_equal(back_marks, marks);
            t = next;
        }
        cron_free(&c);
    }
}

/* A time is covered if the wall shows it, and so is all up to the end that is
 * told; an end that comes too soon shows in how many steps a run takes. */
static void what_is_covered_is_what_the_wall_shows(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 4);
    for (int trial = 0; trial < TRIALS; trial++) {
        struct sample s;
        struct cron_rules rules;
        any_rules(&r, &rules);
        any_pattern(&r, &s);
        struct cron *c = pattern(s.text);
        int64_t t = any_time(&r, rules.zone), end = t + WINDOW_S;
        for (t -= t % 60; t < end; t += 60) {
            uint64_t until = 0;
            int64_t local = t + zone_offset_at(rules.zone, t);
            bool covered = cron_covers(c, rules.zone, (uint64_t)t * 1000 + 1,
                                       false, &until);
            if (covered != sample_has(&s, local - local % 60))
                fail_msg("'%s' %s at %s", s.text, zone_name(rules.zone),
                         civil_text(t));
            if (!covered)
                continue;
            assert_in_range(until, (uint64_t)t * 1000 + 2, UINT64_MAX);
            for (; (uint64_t)(t + 60) * 1000 < until && t < end; t += 60) {
                local = t + 60 + zone_offset_at(rules.zone, t + 60);
                assert_true(sample_has(&s, local - local % 60));
            }
        }
        cron_free(&c);
    }
}

static void a_run_of_covered_times_is_as_long_as_its_fields(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *at, *until;
    } runs[] = {
        {"* * * * SAT,SUN", "2025-10-04 00:00", "2025-10-06 00:00"},
        {"* * 25 12 *", "2025-12-25 13:14", "2025-12-26 00:00"},
        {"* * * 12 *", "2025-12-25 13:14", "2026-01-01 00:00"},
        {"* * * 1-2,12 *", "2025-12-01 00:00", "2026-03-01 00:00"},
        {"* 0-7 * * *", "2025-10-04 03:30", "2025-10-04 04:00"},
        {"0-9 * * * *", "2025-10-04 03:05", "2025-10-04 03:06"},
        {"* * * * * *", "2025-10-04 03:05", "2200-01-01 00:00"},
        {"* * * * * * 2025", "2025-10-04 03:05", "2026-01-01 00:00"},
        {"30-59 * * * * *", "2025-10-04 03:05:45", "2025-10-04 03:05:46"},
        {"@daily", "2025-10-04 00:00:59", "2025-10-04 00:01:00"},
    };
    uint64_t until;
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        struct cron *c = pattern(runs[i].pattern);
        assert_true(cron_covers(c, NULL, (uint64_t)civil(runs[i].at) * 1000,
                                false, &until));
        if (until != (uint64_t)civil(runs[i].until) * 1000)
            fail_msg("'%s': %s", runs[i].pattern,
                     civil_text((int64_t)until / 1000));
        cron_free(&c);
    }
    struct cron *c = pattern("@every 90s");
    assert_true(cron_covers(c, NULL, 180000, false, &until));
    assert_int_equal(until, 180001);
    assert_false(cron_covers(c, NULL, 180001, false, &until));
    cron_free(&c);
}

static void a_pattern_never_fires_twice_for_one_local_time(void **state)
{
    (void)state;
    struct rng r;
    rng_seed(&r, 3);
    for (int trial = 0; trial < TRIALS; trial++) {
        char text[32];
        struct cron_rules rules;
        any_rules(&r, &rules);
        rules.gap_given = rules.fold_given = false;
        (void)snprintf(text, sizeof(text), "%u %u * * *",
                       (unsigned)rng_below(&r, 60),
                       (unsigned)rng_below(&r, 24));
        struct cron *c = pattern(text);
        uint64_t t = (uint64_t)any_time(&r, rules.zone) * 1000, next;
        assert_true(cron_next(c, &rules, (int64_t)t, &t, NULL));
        for (int i = 0; i < 400; i++, t = next) {
            assert_true(cron_next(c, &rules, (int64_t)t, &next, NULL));
            /* A daily job runs once a day whatever the clock does; a skipped
             * day (Apia) runs at the day's end. */
            assert_in_range(next - t, 1, 26 * 3600000);
        }
        cron_free(&c);
    }
}

static int teardown(void **state)
{
    (void)state;
    zone_cache_clear();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_is_the_first_that_brute_force_finds),
        cmocka_unit_test(next_is_strictly_later_and_prev_comes_back),
        cmocka_unit_test(what_is_covered_is_what_the_wall_shows),
        cmocka_unit_test(a_run_of_covered_times_is_as_long_as_its_fields),
        cmocka_unit_test(a_pattern_never_fires_twice_for_one_local_time),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
