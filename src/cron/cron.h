/* Cron patterns: when is the next time?
 *
 * The language is the Open Cron Pattern Specification, 1.0 to 1.4:
 *
 *     [second] minute hour day-of-month month day-of-week [year]
 *
 * with * , - / ? names, L, nL, n#m, n#L, nW, LW, a leading + in day-of-week
 * (both day fields must match instead of either), the nicknames @yearly
 * @annually @monthly @weekly @daily @midnight @hourly @reboot, and two
 * additions: H (a value that a hash of the schedule's name picks; H/15,
 * H(0-29), H(0-29)/10) and "@every 90s". Years are 1970 to 2199.
 *
 * A pattern is a set of local times; zone and rules turn it into instants:
 *
 *  - A local time that exists once is that instant.
 *  - In a gap (the clock jumps over it): the first instant behind the gap, or
 *    nothing.
 *  - In a fold (the clock shows it twice): the first, the last, or both.
 *
 * Unless told otherwise a fixed time runs at the end of a gap and once, first,
 * in a fold; a pattern with `*` or a step in second, minute or hour means
 * "every so often", so it follows elapsed time: nothing extra at a gap, both
 * passes of a fold.
 *
 * cron_next() searches fields, not minutes: masks for the time of day, the days
 * of a month as one mask, and for each of the 14 kinds of year the months that
 * have any matching day. So 29 February on a Monday costs what tomorrow costs,
 * and "never" is known at once.
 *
 * A cron is immutable after parsing. Times are unix ms; results are whole
 * seconds except for cron_every().
 */
#ifndef CRON_CRON_H
#define CRON_CRON_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"
#include "util/slice.h"

#define CRON_TEXT_MAX 256
#define CRON_YEAR_MIN 1970
#define CRON_YEAR_MAX 2199

struct cron;
struct zone;

enum cron_gap { CRON_GAP_RUN, CRON_GAP_SKIP };
enum cron_fold { CRON_FOLD_FIRST, CRON_FOLD_LAST, CRON_FOLD_BOTH };

/* A zeroed struct means UTC and the defaults above. */
struct cron_rules {
    const struct zone *zone; /* NULL is UTC */
    enum cron_gap gap;       /* counts only if gap_given */
    enum cron_fold fold;     /* counts only if fold_given */
    bool gap_given, fold_given;
};

/* What cron_next() says about an instant. */
#define CRON_MARK_GAP 1u  /* stands for a local time that did not exist */
#define CRON_MARK_FOLD 2u /* the local time is shown twice that day */

/* `hash_name` feeds H. Leading and trailing blanks are ignored.
 *
 * Errors:
 *   ERR_SYNTAX  *e says at which column and what is allowed
 *   ERR_LIMIT   longer than CRON_TEXT_MAX bytes
 */
MUST_USE enum err cron_parse(struct slice text, struct slice hash_name,
                             struct cron **out, struct errbuf *e);

/* Every `every_ms` (at least 1): the instants anchor_ms + n * every_ms, before
 * and after the anchor. Zones and rules do not matter to it. */
struct cron *cron_every(uint64_t every_ms, uint64_t anchor_ms);

void cron_free(struct cron **c);

/* The first time strictly later than `after_ms`, and never before 1970. False:
 * there is none up to the end of CRON_YEAR_MAX. `marks` may be NULL. */
bool cron_next(const struct cron *c, const struct cron_rules *rules,
               int64_t after_ms, uint64_t *out_ms, unsigned *marks);

/* The last time strictly earlier than `before_ms`, not before 1970. */
bool cron_prev(const struct cron *c, const struct cron_rules *rules,
               int64_t before_ms, uint64_t *out_ms, unsigned *marks);

/* Is `at_ms` one of its times, by the zone's clock alone? A pattern without a
 * field for seconds has whole minutes. `moved`: at_ms is the first moment
 * behind a gap and stands for what the gap skipped, so is one of those skipped?
 * *until_ms lies behind: the pattern has every moment up to there. */
bool cron_covers(const struct cron *c, const struct zone *zone, uint64_t at_ms,
                 bool moved, uint64_t *until_ms);

/* No date can ever match ("0 0 30 2 *"); known without a search. @reboot also
 * never fires by the clock. */
bool cron_is_never(const struct cron *c);

bool cron_is_reboot(const struct cron *c);

/* A `*` or a step in second, minute or hour: follows elapsed time. */
bool cron_follows_elapsed(const struct cron *c);

#endif
