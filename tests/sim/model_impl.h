/* What the files of the model share: see model.h. */
#ifndef SIM_MODEL_IMPL_H
#define SIM_MODEL_IMPL_H

#include "model.h"

#define CORRECTED_MS 60000 /* a clock goes back by less: it is corrected */

struct was {
    uint64_t index; /* 0: the open entry */
    uint32_t k;
    struct mjob job;
};

struct model {
    struct mjob *jobs;
    uint32_t jobs_n, live;
    /* A bit for each job that may stand in line; those that do not any more are
     * cleared when somebody looks. */
    uint64_t *line;
    /* Numbers of jobs by the hash of their ids, and 1. Those of jobs that were
     * never born stay until the table grows: an id is never given again. */
    uint32_t *by_id;
    uint32_t by_id_n, by_id_used; /* size: a power of two */
    uint64_t keep_ms, crash_window_ms, set_ms, slack_ms, wall_max_ms;
    uint32_t crashes_max;
    uint64_t arrivals;
    uint32_t clock; /* grows when arrivals begin to be ordered anew */
    uint64_t clock_ms;
    bool fair[M_QUEUES];
    uint32_t eras[M_QUEUES]; /* how often a queue began or ceased to be fair */
    uint64_t age_ms[M_QUEUES];
    struct was *undo; /* a ring would do; a queue with a head is simpler */
    size_t head, tail, cap;
};

static inline bool model_lives(const struct mjob *j)
{
    return j->state == M_WAITING || j->state == M_RUNNING;
}

/* Beside that of its queue: then others may pass it. */
static inline bool model_has_limits(const struct mjob *j)
{
    return (j->gates & (j->gates - 1)) != 0;
}

static inline bool model_lease_over(const struct mjob *j, struct now now)
{
    return now.mono_ms >= j->lease_end_ms;
}

/* --- model.c ------------------------------------------------------------- */

void model_become(struct model *m, struct mjob *j, enum mstate state);
/* Its execution ends, by this verb. */
void model_end(struct model *m, struct mjob *j, enum mstate state, uint8_t verb,
               struct now now);

/* --- model_line.c -------------------------------------------------------- */

uint64_t *model_line_new(uint32_t jobs);
void model_line_add(struct model *m, uint32_t k);
/* In whose share it stands; M_SHARE_UNKNOWN if it may have got its place before
 * its queue began or ceased to be fair, or afterwards. */
uint8_t model_share(const struct model *m, const struct mjob *j);
/* Is this one's turn behind that of another? `leased`: also by how long they
 * have waited, and of another share. */
bool model_passes(struct model *m, uint32_t k, bool leased);

/* --- model_ends.c -------------------------------------------------------- */

/* Its lease ended at lease_end_ms without a word. When exactly the engine
 * noticed is its own business; that it did is what the model infers. */
void model_crash_of(struct mjob *j, struct now now);
uint32_t model_crashes_since(const struct mjob *j, uint64_t wall_ms);
/* Might it have had too many crashes by now? */
bool model_maybe_poison(const struct model *m, const struct mjob *j,
                        struct now now);
/* Its execution may have ended without a word to its holder. */
bool model_overdue(const struct model *m, const struct mjob *j, struct now now);

#endif
