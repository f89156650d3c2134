/* Plans: a timing that is ready to be asked for its times.
 *
 *     patterns --min--> candidate --excluded?--> next one
 *                           `--> START, END --> occurrence --spread--> alarm
 */
#include "engine/schedule_impl.h"
#include "util/parse.h"

/* How many candidates one search, or one walk, looks at: what a slice of the
 * loop may cost. */
#define LOOKS_MAX 1000

_Static_assert(SCHEDULE_PATTERN_MAX == CRON_TEXT_MAX, "what SET takes");

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
        p->excludes_n = i + 1;
        if (rc != ERR_OK)
            err_wrap(err, "EXCLUDE");
    }
    return rc;
}

static enum err check(const struct schedule_timing *t, struct errbuf *err)
{
    if (t->when == WHEN_EVERY &&
        (t->every_ms < SCHEDULE_EVERY_MS_MIN || t->every_ms > TIME_MS_MAX))
        return err_set(err, ERR_SYNTAX, "EVERY is %d to %llu ms",
                       SCHEDULE_EVERY_MS_MIN, (unsigned long long)TIME_MS_MAX);
    /* A next time of 0 means that there is none. */
    if (t->when == WHEN_AT && t->at_ms == 0)
        return err_set(err, ERR_SYNTAX, "AT is later than 1970 began");
    if (t->at_ms > TIME_MS_MAX || t->start_ms > TIME_MS_MAX ||
        t->end_ms > TIME_MS_MAX || t->spread_ms > TIME_MS_MAX)
        return err_set(err, ERR_SYNTAX, "a time beyond the year 9999");
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

/* An hour that is excluded is excluded each time that the clock shows it, and a
 * time that stands for skipped ones if one of those is. *until_ms: all before
 * it is excluded. */
static bool excluded(const struct plan *p, uint64_t at_ms, unsigned marks,
                     uint64_t *until_ms)
{
    for (uint32_t i = 0; i < p->excludes_n; i++)
        if (cron_covers(p->excludes[i], p->rules.zone, at_ms,
                        (marks & CRON_MARK_GAP) != 0, until_ms))
            return true;
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
            (found && next > *next_ms))
            continue;
        /* One that is itself shown stands for nothing else. */
        *marks = found && next == *next_ms ? *marks & m : m;
        *next_ms = next;
        found = true;
    }
    return found && *next_ms <= TIME_MS_MAX;
}

enum sought { NONE, FOUND, GAVE_UP };

/* The first occurrence later than `after_ms`. Looks at no more than *looks
 * candidates, and counts them; the last one is excluded if it gives up. */
static enum sought seek(const struct plan *p, int64_t after_ms, unsigned *looks,
                        uint64_t *next_ms, unsigned *marks)
{
    uint64_t until_ms;
    if (after_ms < (int64_t)p->start_ms - 1)
        after_ms = (int64_t)p->start_ms - 1;
    while (candidate(p, after_ms, next_ms, marks)) {
        ASSERT((int64_t)*next_ms > after_ms);
        if (p->end_ms > 0 && *next_ms > p->end_ms)
            return NONE;
        if (!excluded(p, *next_ms, *marks, &until_ms))
            return FOUND;
        if (*looks == 0)
            return GAVE_UP;
        (*looks)--;
        after_ms = (int64_t)until_ms - 1;
    }
    return NONE;
}

bool plan_next(const struct plan *p, int64_t after_ms, uint64_t *next_ms)
{
    unsigned looks = LOOKS_MAX, marks;
    return seek(p, after_ms, &looks, next_ms, &marks) != NONE;
}

bool plan_excluded(const struct plan *p, uint64_t nominal_ms)
{
    uint64_t at_ms, until_ms;
    unsigned marks;
    if (p->excludes_n == 0)
        return false;
    /* Whether it stands for a skipped one is known from how it is found. */
    if (!candidate(p, (int64_t)nominal_ms - 1, &at_ms, &marks) ||
        at_ms != nominal_ms)
        marks = 0;
    return excluded(p, nominal_ms, marks, &until_ms);
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

/* Those of EVERY, which may be milliseconds of a year: counted, not walked. */
static struct walk walk_every(const struct plan *p, uint64_t nominal_ms,
                              uint64_t until_ms)
{
    uint64_t due = plan_due(p, nominal_ms);
    uint64_t steps = until_ms > due ? (until_ms - due) / p->every_ms : 0;
    if (p->end_ms > 0 && p->end_ms >= nominal_ms &&
        steps > (p->end_ms - nominal_ms) / p->every_ms)
        steps = (p->end_ms - nominal_ms) / p->every_ms;
    uint64_t last = nominal_ms + steps * p->every_ms;
    return (struct walk){1 + steps, last, last, WALK_DONE};
}

struct walk plan_walk(const struct plan *p, uint64_t nominal_ms,
                      uint64_t from_ms, uint64_t until_ms)
{
    struct walk w = {1, nominal_ms, nominal_ms, WALK_DONE};
    unsigned looks = LOOKS_MAX, marks;
    uint64_t next;
    enum sought how;
    if (p->when == WHEN_EVERY && p->excludes_n == 0)
        return walk_every(p, nominal_ms, until_ms);
    if (w.from_ms < from_ms)
        w.from_ms = from_ms;
    while ((how = seek(p, (int64_t)w.from_ms, &looks, &next, &marks)) != NONE &&
           plan_due(p, next) <= until_ms) {
        if (how == GAVE_UP) {
            w.from_ms = next;
            w.end = WALK_UNSURE;
            break;
        }
        if (looks == 0) {
            w.end = WALK_MORE;
            break;
        }
        looks--;
        w.from_ms = w.last_ms = next;
        w.n++;
    }
    return w;
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
    unsigned looks = LOOKS_MAX;
    struct schedule_time at;
    for (uint32_t n = 0;
         n < count && seek(&p, from_ms, &looks, &at.at_ms, &marks) == FOUND;
         n++) {
        from_ms = (int64_t)at.at_ms;
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
