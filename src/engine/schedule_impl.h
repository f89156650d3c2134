/* Inside of schedules: what the files schedule_*.c share.
 *
 *   schedule.c        rows; SET, PAUSE, DEL
 *   schedule_view.c   GET, LIST
 *   schedule_plan.c   a timing, ready to be asked for times
 *   schedule_fire.c   the alarm: misfire, overlap, next
 *   schedule_live.c   the jobs of a schedule: their index, their ends
 *   schedule_fill.c   RUN and BACKFILL
 *   schedule_guard.c  the guardian
 */
#ifndef ENGINE_SCHEDULE_IMPL_H
#define ENGINE_SCHEDULE_IMPL_H

#include "cron/cron.h"
#include "cron/zone.h"
#include "engine/core.h"
#include "engine/schedule.h"

/* When its zone could not be read. */
#define SCHEDULE_AGAIN_MS 60000

/* --- schedule_plan.c ----------------------------------------------------- */

struct plan {
    enum schedule_when when;
    struct cron *crons[SCHEDULE_PATTERNS_MAX];
    struct cron *excludes[SCHEDULE_PATTERNS_MAX];
    uint32_t crons_n, excludes_n;
    struct cron_rules rules;
    uint64_t every_ms, at_ms, start_ms, end_ms, spread_ms;
    uint64_t hash; /* of the name: its place in the spread */
};

/* Errors: ERR_SYNTAX, ERR_LIMIT, and those of zone_get(). */
MUST_USE enum err plan_make(struct plan *p, const struct schedule_timing *t,
                            struct slice name, struct errbuf *err);
void plan_release(struct plan *p);

/* The first occurrence later than `after_ms`. False: there is none. Behind more
 * exclusions than it can jump over it gives up and returns an excluded one,
 * which is a place to go on from (plan_excluded() tells). */
bool plan_next(const struct plan *p, int64_t after_ms, uint64_t *next_ms);
bool plan_excluded(const struct plan *p, uint64_t nominal_ms);

/* When its alarm is: later by its spread, but before the next nominal time. */
uint64_t plan_due(const struct plan *p, uint64_t nominal_ms);

struct walk {
    uint64_t n, last_ms; /* how many occurrences, and the last of them */
    uint64_t from_ms;    /* go on behind this */
    enum walk_end { WALK_DONE, WALK_MORE, WALK_UNSURE } end;
};
/* Walk from the occurrence `nominal_ms` over those whose alarm is at most
 * `until_ms` (its own is), a bounded number of them. None lies between it and
 * `from_ms`. Then there are no more of them, more are sure to come, or so much
 * is excluded that nobody knows yet. */
struct walk plan_walk(const struct plan *p, uint64_t nominal_ms,
                      uint64_t from_ms, uint64_t until_ms);

/* --- schedule.c ---------------------------------------------------------- */

/* A schedule while it is worked on: copies of its rows. */
struct schedule {
    struct id id;
    struct rec_schedule set;
    struct rec_schedule_state st;
    struct schedule_timing timing; /* of `set` */
    struct buf set_row, st_row;
    /* What st points to, when changed. */
    struct buf buffered, outcomes, error, displaced;
};

void schedule_release(struct schedule *s);
/* Errors: ERR_NOTFOUND, ERR_PENDING, ERR_CORRUPT. */
MUST_USE enum err schedule_load(struct engine *e, struct gather *g,
                                const struct id *id, struct schedule *s,
                                struct errbuf *err);
/* Its state alone (st, not set). */
MUST_USE enum err schedule_load_state(struct engine *e, struct gather *g,
                                      const struct id *id, struct schedule *s,
                                      struct errbuf *err);
/* Both rows at once; s borrows them. */
bool schedule_of_rows(struct schedule *s, struct slice set, struct slice st);
void schedule_store_state(struct engine *e, const struct schedule *s);
/* Its live jobs have changed: a deleted one goes with the last of them. */
void schedule_store_rest(struct engine *e, const struct schedule *s);
struct slice schedule_key(struct key *k, enum named_kind kind,
                          const struct id *id);
struct slice schedule_name_key(struct key *k, struct slice name);

/* Look for the next occurrence later than after_ms and move the alarm there.
 * The caller writes the state. */
void schedule_move(struct engine *e, struct schedule *s, const struct plan *p,
                   int64_t after_ms);
void schedule_alarm(struct engine *e, const struct schedule *s);
void schedule_silence(struct engine *e, const struct schedule *s);
/* The jobs that MAX allows have been made, or wait to be. */
bool schedule_spent(const struct schedule *s);
/* An alarm of another kind, at `at_ms`. */
void schedule_due(struct engine *e, const struct id *id, enum due_kind kind,
                  uint64_t at_ms);
void schedule_report(struct engine *e, const struct schedule *s,
                     enum event_type type, uint64_t n, struct slice name,
                     struct now now);

/* Strings of a list: each with its length in front. */
uint32_t strings_decode(struct slice bytes, struct slice *out, uint32_t max);
void strings_encode(struct buf *out, const struct slice *in, uint32_t n);

/* --- schedule_fire.c ----------------------------------------------------- */

/* Times in order: fixed64, little-endian. */
static inline uint32_t times_count(struct slice times)
{
    return (uint32_t)(times.len / 8);
}
uint64_t times_at(struct slice times, uint32_t i);

/* Make the job of an occurrence; counts in s->st, which the caller stores.
 * ERR_PENDING: nothing happened. A job that cannot be made is counted as
 * rejected and ERR_OK; *made says which. */
MUST_USE enum err schedule_make_job(struct engine *e, struct gather *g,
                                    struct schedule *s, uint64_t nominal_ms,
                                    struct now now, bool *made,
                                    struct errbuf *err);
/* Has this nominal time been decided? Only asked where it may have been. */
MUST_USE enum err occurrence_exists(struct engine *e, struct gather *g,
                                    const struct schedule *s,
                                    uint64_t nominal_ms, struct now now,
                                    bool *exists, struct errbuf *err);
void occurrence_put(struct engine *e, const struct schedule *s,
                    uint64_t nominal_ms, struct now now);

/* --- schedule_live.c ----------------------------------------------------- */

void live_put(struct engine *e, const struct id *schedule, const struct id *job,
              bool fresh);
/* One more lives. It may lie before those that were displaced so far: a job
 * that was taken back, or one whose id is of a clock that went back. */
void live_counted(struct schedule *s);
struct slice live_key(struct key *k, const struct id *schedule,
                      const struct id *job);
/* The live jobs of a schedule behind `after` (an id; empty: all), oldest first,
 * at most `max`. */
MUST_USE enum err live_jobs_of(struct engine *e, struct gather *g,
                               const struct id *schedule, struct slice after,
                               uint32_t max, struct buf *ids,
                               struct errbuf *err);
/* Reads that live_stop() will need. */
MUST_USE enum err live_stop_gather(struct engine *e, struct gather *g,
                                   struct slice ids, struct errbuf *err);
/* Waiting jobs are cancelled; running ones are told to stop or (terminate)
 * ended. Changes the schedule's state row. Returns how many of them a slice had
 * room for, at least one. */
size_t live_stop(struct engine *e, struct gather *g, struct slice ids,
                 bool terminate, struct now now);

/* The ring as a view shows it; returns how many. */
uint32_t schedule_outcomes(struct slice ring, struct schedule_outcome *out);

#endif
