/* Plans: a timing that is ready to be asked for its times.
 *
 *     patterns --min--> candidate --excluded?--> next one
 *                           `--> START, END --> occurrence --spread--> alarm
 */
#include "engine/schedule_impl.h"

/* Candidates in a row that may be excluded, and steps of one walk: what a
 * slice of the loop may cost. */
#define EXCLUDED_MAX 1000
#define WALK_MAX 1000

_Static_assert(SCHEDULE_PATTERN_MAX == CRON_TEXT_MAX, "what SET takes");

/* Five fields say nothing about seconds, so they exclude whole minutes. */
static bool of_minutes(struct slice pattern)
{
    unsigned fields = 0;
    bool in_field = false;
    for (size_t i = 0; i < pattern.len; i++) {
        bool blank = pattern.data[i] == ' ' || pattern.data[i] == '\t';
        if (!blank && !in_field)
            fields++;
        in_field = !blank;
    }
    return fields <= 5;
}

static enum err parse(struct slice pattern, struct slice name,
                      struct cron **out, struct errbuf *err)
{
    enum err rc = cron_parse(pattern, name, out, err);
    if (rc != ERR_OK)
        return rc;
    if (cron_is_reboot(*out))
        return err_set(err, ERR_SYNTAX,
                       "@reboot: a schedule follows the clock, not the start "
                       "of a machine");
    if (cron_is_never(*out))
        return err_set(err, ERR_SYNTAX, "pattern %.*s never fires",
                       SLICE_FMT(pattern));
    return ERR_OK;
}

static enum err parse_all(struct plan *p, const struct schedule_timing *t,
                          struct slice name, struct errbuf *err)
{
    enum err rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < t->patterns_n; i++) {
        rc = parse(t->patterns[i], name, &p->crons[i], err);
        p->crons_n = i + 1;
    }
    if (t->when == WHEN_EVERY) {
        p->crons[0] = cron_every(t->every_ms, t->start_ms);
        p->crons_n = 1;
    }
    for (uint32_t i = 0; rc == ERR_OK && i < t->excludes_n; i++) {
        rc = parse(t->excludes[i], name, &p->excludes[i], err);
        p->exclude_minute[i] = of_minutes(t->excludes[i]);
        p->excludes_n = i + 1;
        if (rc != ERR_OK)
            err_wrap(err, "EXCLUDE");
    }
    return rc;
}

static enum err check(const struct schedule_timing *t, struct errbuf *err)
{
    if (t->when == WHEN_EVERY &&
        (t->every_ms < SCHEDULE_EVERY_MS_MIN || t->every_ms > WALL_MS_MAX))
        return err_set(err, ERR_SYNTAX, "EVERY is at least %d ms",
                       SCHEDULE_EVERY_MS_MIN);
    if (t->at_ms > WALL_MS_MAX || t->start_ms > WALL_MS_MAX ||
        t->end_ms > WALL_MS_MAX || t->spread_ms > WALL_MS_MAX)
        return err_set(err, ERR_SYNTAX, "a time beyond the year 10000");
    if (t->end_ms > 0 && t->end_ms < t->start_ms)
        return err_set(err, ERR_SYNTAX, "END is before START");
    return ERR_OK;
}

enum err plan_make(struct plan *p, const struct schedule_timing *t,
                   struct slice name, struct errbuf *err)
{
    *p = (struct plan){.when = t->when,
                       .every_ms = t->every_ms,
                       .at_ms = t->at_ms,
                       .start_ms = t->start_ms,
                       .end_ms = t->end_ms,
                       .spread_ms = t->spread_ms,
                       .hash = hash64_seed(name, 2)};
    enum err rc = check(t, err);
    if (rc == ERR_OK && t->zone.len > 0)
        rc = zone_get(t->zone, &p->rules.zone, err);
    p->rules.gap_given = t->gap != GAP_BY_PATTERN;
    p->rules.gap = t->gap == GAP_SKIP ? CRON_GAP_SKIP : CRON_GAP_RUN;
    p->rules.fold_given = t->fold != FOLD_BY_PATTERN;
    p->rules.fold = t->fold == FOLD_BOTH   ? CRON_FOLD_BOTH
                    : t->fold == FOLD_LAST ? CRON_FOLD_LAST
                                           : CRON_FOLD_FIRST;
    /* An hour that is excluded is excluded each time it is shown. */
    p->exclude_rules = (struct cron_rules){
        .zone = p->rules.zone, .fold = CRON_FOLD_BOTH, .fold_given = true};
    if (rc == ERR_OK)
        rc = parse_all(p, t, name, err);
    if (rc != ERR_OK)
        plan_release(p);
    return rc;
}

void plan_release(struct plan *p)
{
    for (uint32_t i = 0; i < p->crons_n; i++)
        cron_free(&p->crons[i]);
    for (uint32_t i = 0; i < p->excludes_n; i++)
        cron_free(&p->excludes[i]);
    p->crons_n = p->excludes_n = 0;
}

bool plan_excluded(const struct plan *p, uint64_t nominal_ms)
{
    for (uint32_t i = 0; i < p->excludes_n; i++) {
        uint64_t unit = p->exclude_minute[i] ? 60000 : 1000, next;
        uint64_t at = nominal_ms - nominal_ms % unit;
        if (cron_next(p->excludes[i], &p->exclude_rules, (int64_t)at - 1, &next,
                      NULL) &&
            next == at)
            return true;
    }
    return false;
}

/* Of all patterns, the earliest. */
static bool candidate(const struct plan *p, int64_t after_ms, uint64_t *next_ms,
                      unsigned *marks)
{
    bool found = false;
    if (p->when == WHEN_AT) {
        *next_ms = p->at_ms;
        *marks = 0;
        return after_ms < (int64_t)p->at_ms;
    }
    for (uint32_t i = 0; i < p->crons_n; i++) {
        uint64_t next;
        unsigned m = 0;
        if (!cron_next(p->crons[i], &p->rules, after_ms, &next, &m) ||
            (found && next >= *next_ms))
            continue;
        found = true;
        *next_ms = next;
        *marks = m;
    }
    return found;
}

bool plan_next(const struct plan *p, int64_t after_ms, uint64_t *next_ms,
               unsigned *marks)
{
    unsigned m;
    if (after_ms < (int64_t)p->start_ms - 1)
        after_ms = (int64_t)p->start_ms - 1;
    for (unsigned i = 0; i <= EXCLUDED_MAX; i++) {
        if (!candidate(p, after_ms, next_ms, marks == NULL ? &m : marks))
            return false;
        ASSERT((int64_t)*next_ms > after_ms);
        if (p->end_ms > 0 && *next_ms > p->end_ms)
            return false;
        if (p->excludes_n == 0 || !plan_excluded(p, *next_ms))
            return true;
        after_ms = (int64_t)*next_ms;
    }
    return true; /* an excluded one: go on from there */
}

uint64_t plan_due(const struct plan *p, uint64_t nominal_ms)
{
    uint64_t spread = p->spread_ms, next;
    unsigned marks;
    if (spread == 0)
        return nominal_ms;
    if (p->when == WHEN_EVERY)
        next = nominal_ms + p->every_ms;
    else if (!candidate(p, (int64_t)nominal_ms, &next, &marks))
        next = UINT64_MAX;
    /* A spread longer than the gap is the gap: cutting what lies behind it
     * would pile most schedules up on its last millisecond. */
    if (spread > next - nominal_ms)
        spread = next - nominal_ms;
    /* The hash decides where in the spread, so that it stays the same. */
    return nominal_ms + (uint64_t)(((unsigned __int128)p->hash * spread) >> 64);
}

uint64_t plan_walk(const struct plan *p, uint64_t nominal_ms, uint64_t until_ms,
                   uint64_t *last, bool *done)
{
    uint64_t n = 1, next;
    *last = nominal_ms;
    *done = true;
    if (p->when == WHEN_EVERY && p->excludes_n == 0) {
        /* Milliseconds of a year are too many to walk. */
        uint64_t due = plan_due(p, nominal_ms);
        uint64_t steps = until_ms > due ? (until_ms - due) / p->every_ms : 0;
        if (p->end_ms > 0 && p->end_ms >= nominal_ms &&
            steps > (p->end_ms - nominal_ms) / p->every_ms)
            steps = (p->end_ms - nominal_ms) / p->every_ms;
        *last = nominal_ms + steps * p->every_ms;
        return 1 + steps;
    }
    while (plan_next(p, (int64_t)*last, &next, NULL) &&
           plan_due(p, next) <= until_ms) {
        if (n == WALK_MAX) {
            *done = false;
            break;
        }
        *last = next;
        n++;
    }
    return n;
}

/* --- NEXT ---------------------------------------------------------------- */

enum err engine_timing_next(const struct schedule_timing *t, struct slice name,
                            int64_t from_ms, uint32_t count,
                            schedule_time_fn fn, void *ud, struct errbuf *err)
{
    struct plan p;
    unsigned marks = 0;
    enum err rc = plan_make(&p, t, name, err);
    if (rc != ERR_OK)
        return rc;
    uint32_t looked = 0;
    for (uint32_t n = 0; n < count && looked < count + EXCLUDED_MAX; looked++) {
        struct schedule_time at;
        if (!plan_next(&p, from_ms, &at.at_ms, &marks))
            break;
        from_ms = (int64_t)at.at_ms;
        if (plan_excluded(&p, at.at_ms))
            continue;
        n++;
        at.gap = (marks & CRON_MARK_GAP) != 0;
        at.fold = (marks & CRON_MARK_FOLD) != 0;
        at.offset_s =
            p.rules.zone == NULL
                ? 0
                : zone_offset_at(p.rules.zone, (int64_t)(at.at_ms / 1000));
        fn(ud, &at);
    }
    plan_release(&p);
    return ERR_OK;
}
