/* Work on many jobs, in slices: verbs for one job, the walk over those that
 * fit a filter, chores that do the one to the other, and purges. */
#ifndef ENGINE_CHORES_H
#define ENGINE_CHORES_H

#include "engine/lanes.h"
#include "engine/state.h"
#include "store/key.h"

/* --- manage.c: a verb for a job ------------------------------------------- */

/* From a due row: a running job was told to stop and did not. */
MUST_USE enum err cancel_forced(struct engine *e, struct gather *g,
                                const struct id *id, struct now now,
                                struct errbuf *err);
/* One verb for one job, in two steps: manage_examine() reads all that the verb
 * needs and says whether it may be done (ERR_BUSY: it is so already);
 * manage_do() does it, with the same gather, if nothing changed in between. */
struct manage {
    enum manage_verb verb;
    bool has_force;
    uint64_t force_ms;
};
MUST_USE enum err manage_examine(struct engine *e, struct gather *g,
                                 const struct manage *a, const struct id *id,
                                 struct now now, struct errbuf *err);
MUST_USE enum err manage_do(struct engine *e, struct gather *g,
                            const struct manage *a, const struct id *id,
                            struct now now, struct errbuf *err);
/* A waiting job to no place, until UNHOLD. It may be gone from memory then. */
void job_hold(struct engine *e, struct job *j, struct now now);

/* --- list.c: jobs by filter, from a position ------------------------------ */

struct list_pos {
    bool done, end;  /* the live ones are behind us; all are */
    struct key next; /* first key to look at; empty: where the phase begins */
    uint32_t skip;   /* so many bytes of its ids are behind us */
};
/* Tell those that fit, from *pos on, until `count` were told or `rows` rows
 * examined; *pos moves behind them. Nothing has moved if it says ERR_PENDING,
 * though `fn` may have been called. */
MUST_USE enum err list_walk(struct engine *e, struct gather *g,
                            const struct job_filter *f, struct list_pos *pos,
                            uint32_t count, uint32_t rows, struct now now,
                            job_fn fn, void *ud, struct list_result *r,
                            struct errbuf *err);
MUST_USE enum err list_examine(const struct job_filter *f, struct errbuf *err);
/* Positions as text of at most CURSOR_MAX bytes, empty at the end, and back. */
void cursor_print(const struct list_pos *pos, const struct job_filter *f,
                  char *out);
MUST_USE enum err cursor_parse(struct slice text, const struct job_filter *f,
                               struct list_pos *pos, struct errbuf *err);

/* --- chore.c -------------------------------------------------------------- */

void chores_init(struct engine *e);
void chores_free(struct engine *e);
bool chore_step(struct engine *e, struct now now);
uint64_t chore_next_ms(const struct engine *e);
MUST_USE enum err chore_load_row(struct engine *e, struct slice key,
                                 struct slice value, struct errbuf *err);

/* --- purge.c: a queue is emptied ------------------------------------------ */

/* A purge that is under way; the chore keeps it (chore.c). */
struct purge {
    struct queue *queue;
    uint8_t step;    /* enum purge_step; stored */
    struct key next; /* where the step goes on; stored */
    uint64_t expected, done, examined;
    uint32_t window; /* windows of lanes up to here are released */
    bool left;       /* by what runs: then the lanes can go */
    uint32_t jobs;   /* to look at in a slice: about as many as it erases */
};
enum purge_step { /* stored as the chore's phase: never renumber */
                  PURGE_PARKED = 0,
                  PURGE_JOBS = 1,
                  PURGE_END = 2,
                  PURGE_LANES = 3,
};
/* All that waits in the queue is gone; returns how many jobs. What is left to
 * do is purge_slice(), until the step is PURGE_END. */
uint64_t purge_begin(struct engine *e, struct queue *q);
MUST_USE enum err purge_slice(struct engine *e, struct gather *g,
                              struct purge *p, struct now now,
                              struct errbuf *err);
MUST_USE enum err purge_load_row(struct engine *e, struct slice key,
                                 struct slice value, struct errbuf *err);
/* Was the job of this row purged? It does not run. */
static inline bool row_purged(const struct queue *q, uint32_t lane)
{
    return q->purged > 0 && lane <= q->purged;
}
static inline bool job_purged(const struct job *j)
{
    return j->state != JOB_RUNNING && j->queue->purged > 0 &&
           (j->lane == NULL || lane_dead(j->lane));
}

#endif
