#include "cron/cron.h"

#include "cron/pattern.h"
#include "cron/zone.h"
#include "util/alloc.h"

/* From local times to instants.
 *
 * The search walks along the zone's spans. Within a span local time is UTC plus
 * a constant, so one search through the calendar answers for all of it:
 *
 *     ---- span ----|------------- span -------------|----
 *              ^    ^ gap: local times skipped here   ^ fold: shown again
 *            after
 *
 * 1. At a span's first instant, if the clock jumped forward there: did it jump
 *    over a match? Then this instant stands for it (CRON_GAP_RUN).
 * 2. Otherwise the first match inside the span, without the repeated times
 *    that the fold rule leaves out.
 * 3. Otherwise the next span; spans that the calendar's answer lies far behind
 *    are jumped over.
 *
 * Each step only moves forward in UTC, so the result is strictly later. */

/* No clock jumps further than from one end of the offsets to the other. */
#define FAR_S (2 * 2 * (int64_t)ZONE_OFFSET_MAX)

struct policy {
    bool gap_runs, fold_first, fold_last;
};

static struct policy policy_of(const struct cron *c, const struct cron_rules *r)
{
    struct policy p = {
        .gap_runs = !c->elapsed, .fold_first = true, .fold_last = c->elapsed};
    if (r->gap_given)
        p.gap_runs = r->gap == CRON_GAP_RUN;
    if (r->fold_given) {
        p.fold_first = r->fold != CRON_FOLD_LAST;
        p.fold_last = r->fold != CRON_FOLD_FIRST;
    }
    return p;
}

static bool every_next(const struct cron *c, int64_t after_ms, uint64_t *out)
{
    uint64_t from = after_ms < 0 ? 0 : (uint64_t)after_ms + 1;
    uint64_t phase = c->anchor_ms % c->every_ms;
    uint64_t n = from <= phase ? 0 : (from - phase - 1) / c->every_ms + 1;
    uint64_t t;
    if (__builtin_mul_overflow(n, c->every_ms, &t) ||
        __builtin_add_overflow(t, phase, &t) || t > INT64_MAX)
        return false;
    *out = t;
    return true;
}

/* Was `local` (a time in `span`) shown in the span before already? */
static bool is_second_pass(const struct zone_span *span, int64_t local)
{
    return span->begin != INT64_MIN && local < span->begin + span->before;
}

/* Will it be shown again in the span behind? */
static bool is_first_pass(const struct zone_span *span, int64_t local)
{
    return span->end != INT64_MAX && local >= span->end + span->after;
}

bool cron_next(const struct cron *c, const struct cron_rules *rules,
               int64_t after_ms, uint64_t *out_ms, unsigned *marks)
{
    CHECK_OBJ(c, CRON);
    unsigned ignored;
    if (marks == NULL)
        marks = &ignored;
    *marks = 0;
    if (c->every)
        return every_next(c, after_ms, out_ms);
    if (c->reboot || c->never)
        return false;

    const struct zone *zone = rules->zone != NULL ? rules->zone : zone_utc();
    const struct policy policy = policy_of(c, rules);
    int64_t t = after_ms < 0 ? 0 : after_ms / 1000 + 1;
    int64_t local;
    struct zone_span span;
    for (;;) {
        zone_span_at(zone, t, &span);
        if (t == span.begin && span.before < span.offset && policy.gap_runs &&
            pattern_next(c, t + span.before, &local) &&
            local < t + span.offset) {
            *marks = CRON_MARK_GAP;
            break;
        }
        bool any = pattern_next(c, t + span.offset, &local);
        if (!any)
            local = INT64_MAX / 2; /* but a fold may still go back to one */
        int64_t found = local - span.offset;
        if (any && found < span.end) {
            bool second = is_second_pass(&span, local);
            bool first = is_first_pass(&span, local);
            if (second && !policy.fold_last) {
                int64_t end = span.begin + span.before - span.offset;
                t = end < span.end ? end : span.end;
                continue;
            }
            if (!first || policy.fold_first) {
                *marks = first || second ? CRON_MARK_FOLD : 0;
                t = found;
                break;
            }
            /* All that is left of this span is shown again. */
        }
        if (span.end == INT64_MAX || span.end > INT64_MAX / 4)
            return false;
        /* A fold near `t` may show again what the search began behind. */
        t = span.end - t > FAR_S && local - FAR_S > span.end ? local - FAR_S
                                                             : span.end;
    }
    *out_ms = (uint64_t)t * 1000;
    return true;
}

static bool every_prev(const struct cron *c, int64_t before_ms, uint64_t *out)
{
    uint64_t phase = c->anchor_ms % c->every_ms;
    if (before_ms <= 0 || (uint64_t)before_ms <= phase)
        return false;
    uint64_t last = (uint64_t)before_ms - 1;
    *out = last - (last - phase) % c->every_ms;
    return true;
}

/* The last time in [from, before), which is known to hold at least one. */
static uint64_t last_between(const struct cron *c,
                             const struct cron_rules *rules, uint64_t from,
                             uint64_t before, unsigned *marks)
{
    uint64_t found;
    int64_t lo = (int64_t)from - 1, hi = (int64_t)before;
    unsigned m;
    while (cron_next(c, rules, lo, &found, &m) && found < before) {
        lo = (int64_t)found;
        *marks = m;
        int64_t mid = lo + (hi - lo) / 2;
        if (cron_next(c, rules, mid, &found, &m) && found < before) {
            lo = (int64_t)found;
            *marks = m;
        } else {
            hi = mid;
        }
    }
    return (uint64_t)lo;
}

/* Backwards by cron_next() alone, so that the two can never disagree: windows
 * that grow eightfold find one time, halving finds the last. */
bool cron_prev(const struct cron *c, const struct cron_rules *rules,
               int64_t before_ms, uint64_t *out_ms, unsigned *marks)
{
    CHECK_OBJ(c, CRON);
    unsigned ignored;
    if (marks == NULL)
        marks = &ignored;
    *marks = 0;
    if (before_ms <= 0)
        return false;
    if (c->every)
        return every_prev(c, before_ms, out_ms);
    for (int64_t window = 60000;;
         window = window < before_ms / 8 ? window * 8 : before_ms) {
        int64_t from = window < before_ms ? before_ms - window : 0;
        uint64_t found;
        if (cron_next(c, rules, from - 1, &found, NULL) &&
            found < (uint64_t)before_ms) {
            *out_ms = last_between(c, rules, found, (uint64_t)before_ms, marks);
            return true;
        }
        if (from == 0)
            return false;
    }
}

bool cron_covers(const struct cron *c, const struct zone *zone, uint64_t at_ms,
                 bool moved, uint64_t *until_ms)
{
    CHECK_OBJ(c, CRON);
    if (c->reboot || c->never)
        return false;
    if (c->every) {
        *until_ms = at_ms + 1;
        return at_ms % c->every_ms == c->anchor_ms % c->every_ms;
    }
    struct zone_span span;
    int64_t at = (int64_t)(at_ms / 1000), end;
    zone_span_at(zone != NULL ? zone : zone_utc(), at, &span);
    if (moved) {
        *until_ms = at_ms + 1;
        return pattern_next(c, at + span.before, &end) &&
               end < at + span.offset;
    }
    if (!pattern_covers(c, at + span.offset, &end))
        return false;
    end -= span.offset;
    *until_ms = (uint64_t)(end < span.end ? end : span.end) * 1000;
    return true;
}

struct cron *cron_every(uint64_t every_ms, uint64_t anchor_ms)
{
    ASSERT(every_ms > 0);
    struct cron *c = NEW(struct cron);
    INIT_OBJ(c, CRON);
    c->every = true;
    c->every_ms = every_ms;
    c->anchor_ms = anchor_ms;
    return c;
}

void cron_free(struct cron **c)
{
    if (*c == NULL)
        return;
    CHECK_OBJ(*c, CRON);
    (*c)->magic = 0;
    FREE(c);
}

bool cron_is_never(const struct cron *c)
{
    CHECK_OBJ(c, CRON);
    return c->never;
}

bool cron_is_reboot(const struct cron *c)
{
    CHECK_OBJ(c, CRON);
    return c->reboot;
}

bool cron_follows_elapsed(const struct cron *c)
{
    CHECK_OBJ(c, CRON);
    return c->elapsed || c->every;
}
