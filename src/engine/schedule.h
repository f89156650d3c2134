/* Schedules: jobs by the clock.
 *
 * A schedule is a timing (patterns, every d, or once), a zone, and a job to
 * make. It is three rows, and nothing in memory:
 *
 *     named  NAMED_SCHEDULE        name -> id       for lists
 *     named  NAMED_SCHEDULE_SET    id -> settings   written by SET
 *     named  NAMED_SCHEDULE_STATE  id -> next fire, counters, outcomes
 *     due    (due_ms, DUE_SCHEDULE, id)             the alarm
 *
 * A schedule that is deleted while jobs of it live leaves its state until the
 * last of them has ended, so that one that is made anew knows how many they
 * are.
 *
 * The id is a hash of the name, so the alarm finds its rows without another
 * lookup, and a million schedules cost disk only.
 *
 * When the alarm goes off, job, occurrence key, next alarm and counters are one
 * entry, so an occurrence happens once whatever crashes:
 *
 *     alarm -- late? --> misfire rule -- live jobs? --> overlap rule --> job
 *       `------------------------- next alarm <------------------------'
 *
 * The next occurrence follows from this one's nominal time, at the moment this
 * one fires. Spread delays the alarm, not the nominal time: by a place in the
 * spread, or in the gap to the next time if that is shorter, which the name's
 * hash picks.
 *
 * Invariants (schedules_check() verifies them):
 *  1. A schedule that is not paused and has a next occurrence has an alarm at
 *     exactly due_ms; while its zone cannot be read, one a minute later. An
 * alarm before due_ms is void: it does nothing.
 *  2. next_ms is later than every nominal time that was decided, except after
 *     RESUME or SET, where the occurrence keys tell what has been.
 *  3. `live` is the number of KEY_SCHEDULE rows of the schedule, each of which
 *     names a live job; the state of a deleted one stands while there are any.
 */
#ifndef ENGINE_SCHEDULE_H
#define ENGINE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/options.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/id.h"
#include "util/slice.h"

struct engine;
struct gather;

#define SCHEDULE_PATTERNS_MAX 8
#define SCHEDULE_PATTERN_MAX 256
#define SCHEDULE_BUFFER_MAX 1000 /* occurrences that wait (buffer-all) */
#define SCHEDULE_OUTCOMES 10
#define SCHEDULE_EVERY_MS_MIN 100
#define SCHEDULE_GRACE_MS 60000
#define SCHEDULE_WINDOW_MS ((uint64_t)366 * 24 * 3600 * 1000)

/* Stored numbers: never renumber. */
enum schedule_when { WHEN_CRON = 1, WHEN_EVERY = 2, WHEN_AT = 3 };
enum schedule_overlap {
    OVERLAP_SKIP,
    OVERLAP_BUFFER_ONE,
    OVERLAP_BUFFER_ALL,
    OVERLAP_CANCEL,    /* tell the others to stop; start when they have */
    OVERLAP_TERMINATE, /* end the others, start at once */
    OVERLAP_ALLOW,
};
enum schedule_misfire { MISFIRE_ONCE, MISFIRE_SKIP, MISFIRE_ALL };
enum schedule_gap { GAP_BY_PATTERN, GAP_RUN, GAP_SKIP };
enum schedule_fold { FOLD_BY_PATTERN, FOLD_FIRST, FOLD_LAST, FOLD_BOTH };
enum schedule_paused {
    PAUSED_NOT,
    PAUSED_BY_COMMAND,
    PAUSED_BY_FAILURES,
    PAUSED_DELETED, /* only its state is left: it counts the live jobs */
};

/* The words, NULL at the end; overlap_list goes on with the aliases of
 * schedule_overlap_of(). */
extern const char *const overlap_list[],
    *const misfire_list[], *const gap_list[], *const fold_list[];
enum schedule_overlap schedule_overlap_of(uint32_t word);

/* When: what SET and NEXT have in common. */
struct schedule_timing {
    enum schedule_when when;
    struct slice patterns[SCHEDULE_PATTERNS_MAX];
    struct slice excludes[SCHEDULE_PATTERNS_MAX];
    uint32_t patterns_n, excludes_n;
    uint64_t every_ms, at_ms;
    struct slice zone; /* empty: UTC */
    uint32_t gap, fold;
    uint64_t start_ms, end_ms; /* 0: none; both inclusive */
    uint64_t spread_ms;
};

struct schedule_params {
    struct slice name, queue, payload;
    struct schedule_timing timing;
    enum schedule_overlap overlap;
    enum schedule_misfire misfire;
    uint64_t grace_ms, window_ms;
    uint64_t max;         /* jobs, 0: no end */
    uint32_t pause_after; /* failed jobs in a row; 0: never */
    const struct job_options *options;
};

/* Make or change a schedule. History stays; the next occurrence moves only if
 * the timing changed. *next_ms is its nominal time, 0 if there is none.
 *
 * Errors:
 *   ERR_SYNTAX  a bad name, pattern, zone or option; a timing that never fires
 *   ERR_LIMIT   something too long
 */
MUST_USE enum err engine_schedule_set(struct engine *e, struct gather *g,
                                      const struct schedule_params *p,
                                      struct now now, uint64_t *next_ms,
                                      struct errbuf *err);

struct schedule_outcome {
    uint64_t nominal_ms, ended_ms;
    uint32_t state; /* enum job_state */
};

struct schedule_view {
    struct slice name, queue, payload;
    struct schedule_timing timing;
    enum schedule_overlap overlap;
    enum schedule_misfire misfire;
    uint64_t grace_ms, window_ms, max;
    uint32_t pause_after;
    struct job_options options;
    uint64_t created_ms, changed_ms;
    enum schedule_paused paused;
    uint64_t next_ms, due_ms; /* 0: none; nominal, and with its spread */
    uint64_t last_ms, last_fired_ms;
    struct id last_job;
    uint64_t fired, missed, overlapped, failed, completed, rejected, manual;
    uint32_t live, buffered, failures_in_row;
    struct slice error; /* why the last job could not be made */
    struct schedule_outcome outcomes[SCHEDULE_OUTCOMES]; /* newest first */
    uint32_t outcomes_n;
    bool filling; /* a backfill is under way */
    uint64_t fill_from_ms, fill_to_ms, fill_at_ms, filled;
};

/* Errors: ERR_NOTFOUND. */
MUST_USE enum err engine_schedule_get(struct engine *e, struct gather *g,
                                      struct slice name,
                                      struct schedule_view *v,
                                      struct errbuf *err);

typedef void (*schedule_fn)(void *ud, const struct schedule_view *v);
struct schedule_page {
    struct slice after; /* names behind this */
    struct slice match; /* glob; empty: all */
    uint32_t count;     /* at most so many */
    uint32_t look;      /* of at most so many that are looked at */
};
/* By name. *next: the name to go on behind, empty if there are no more. */
MUST_USE enum err engine_schedules(struct engine *e, struct gather *g,
                                   const struct schedule_page *page,
                                   schedule_fn fn, void *ud, struct buf *next,
                                   struct errbuf *err);

/* Its jobs stay. Errors: ERR_NOTFOUND. */
MUST_USE enum err engine_schedule_del(struct engine *e, struct gather *g,
                                      struct slice name, struct errbuf *err);

/* What would have fired while paused is not missed. RESUME looks for the next
 * time from now on. *next_ms as in SET. */
MUST_USE enum err engine_schedule_pause(struct engine *e, struct gather *g,
                                        struct slice name, bool pause,
                                        struct now now, uint64_t *next_ms,
                                        struct errbuf *err);

/* One job now, beside the timing and whatever else is live. */
MUST_USE enum err engine_schedule_run(struct engine *e, struct gather *g,
                                      struct slice name, struct now now,
                                      struct id *job, struct errbuf *err);

/* Make the jobs of past occurrences from <= t <= to that have none yet, in
 * slices, whatever is live.
 *
 * Errors:
 *   ERR_NOTFOUND, ERR_SYNTAX
 *   ERR_STATE     another backfill of it is under way
 */
MUST_USE enum err engine_schedule_backfill(struct engine *e, struct gather *g,
                                           struct slice name, uint64_t from_ms,
                                           uint64_t to_ms, struct now now,
                                           struct errbuf *err);

/* No more jobs by the backfill that is under way, if there is one.
 * Errors: ERR_NOTFOUND. */
MUST_USE enum err engine_schedule_fill_stop(struct engine *e, struct gather *g,
                                            struct slice name,
                                            struct errbuf *err);

struct schedule_time {
    uint64_t at_ms;
    int32_t offset_s; /* of the zone, then */
    bool gap, fold;
};
typedef void (*schedule_time_fn)(void *ud, const struct schedule_time *t);
/* The next times of a timing, from `from_ms` on (exclusive). `name` feeds H.
 * Errors: ERR_SYNTAX. */
MUST_USE enum err engine_timing_next(const struct schedule_timing *t,
                                     struct slice name, int64_t from_ms,
                                     uint32_t count, schedule_time_fn fn,
                                     void *ud, struct errbuf *err);

#endif
