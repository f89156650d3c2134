/* What correct schedules may do: a model of them, beside that of the jobs.
 *
 * Like that one it knows nothing of the engine's data. It is told what was
 * asked of a schedule, and then compares all that GET shows with what it
 * expects, after each command and after each alarm. Times come from times.h.
 *
 * What it holds the engine to:
 *  1. A nominal time makes at most one job, whatever crashes and whichever way
 *     the clock is set.
 *  2. None is lost: each time between an alarm and the next one has its job,
 *     waits, or is counted, by the rules for misfire and overlap.
 *  3. The next time is the first one behind the last that was passed.
 *  4. All counters are right.
 *  5. MAX bounds what the clock makes.
 *  6. A backfill leaves no time of its range without a job.
 */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/schedule.h"
#include "util/clock.h"

#define CLOCK_SCHEDULES 5

struct clock_settings {
    enum schedule_when when;
    uint32_t kind, region; /* of times.h */
    uint64_t every_ms, at_ms, start_ms, end_ms, spread_ms;
    enum schedule_overlap overlap;
    enum schedule_misfire misfire;
    uint64_t grace_ms, window_ms, max;
    uint32_t pause_after, retries;
};

/* A job that appeared, as it says itself. */
struct clock_job {
    uint32_t schedule;
    uint64_t nominal_ms;
};

struct clocks;

struct clocks *clocks_new(void);
void clocks_free(struct clocks **c);

bool clocks_exists(const struct clocks *c, uint32_t s);
uint64_t clocks_next_ms(const struct clocks *c, uint32_t s);
const struct clock_settings *clocks_settings(const struct clocks *c,
                                             uint32_t s);

/* A command was answered. `v` is what GET shows behind it, NULL for NOTFOUND.
 * Each returns NULL, or the sentence that says what must not be. */
const char *clocks_set(struct clocks *c, uint32_t s,
                       const struct clock_settings *set, enum err rc,
                       const struct schedule_view *v, struct now now);
const char *clocks_deleted(struct clocks *c, uint32_t s, enum err rc,
                           const struct schedule_view *v);
const char *clocks_pause(struct clocks *c, uint32_t s, bool pause, enum err rc,
                         const struct schedule_view *v, struct now now);
const char *clocks_ran(struct clocks *c, uint32_t s, enum err rc,
                       const struct schedule_view *v);
const char *clocks_backfill(struct clocks *c, uint32_t s, uint64_t from_ms,
                            uint64_t to_ms, enum err rc,
                            const struct schedule_view *v);

/* Jobs may have ended; nothing else may have happened. */
const char *clocks_still(struct clocks *c, uint32_t s,
                         const struct schedule_view *v);
/* At most one alarm has gone off since the last view, when `live` jobs of the
 * schedule were live; these jobs were made. *displaced: those that were live
 * had to stop; some of them only, if the alarm is to go off again. */
enum clock_displaced { DISPLACED_NONE, DISPLACED_SOME, DISPLACED_ALL };

const char *clocks_ticked(struct clocks *c, uint32_t s,
                          const struct schedule_view *v, uint64_t live,
                          const struct clock_job *jobs, uint32_t jobs_n,
                          struct now now, enum clock_displaced *displaced);
/* All alarms of the present have gone off: is there something left to do? */
/* `settled`: the clock has not been later before. */
const char *clocks_idle(const struct clocks *c, uint32_t s, uint64_t live,
                        bool settled, struct now now);
/* So many of its jobs have completed and failed, of which so many before it was
 * made. */
void clocks_count_from(struct clocks *c, uint32_t s, uint64_t completed,
                       uint64_t failed);
const char *clocks_ends(const struct clocks *c, uint32_t s,
                        const struct schedule_view *v, uint64_t completed,
                        uint64_t failed);

/* As for the jobs: see model.h. */
void clocks_committed(struct clocks *c, uint64_t index);
void clocks_crashed(struct clocks *c, uint64_t index);
void clocks_durable(struct clocks *c, uint64_t index);

#endif
