/* Ends: of executions and of jobs, and what is kept of a job that has ended,
 * until it is forgotten, erased or taken back. */
#ifndef ENGINE_ENDS_H
#define ENGINE_ENDS_H

#include "engine/state.h"
#include "store/key.h"

/* --- finish.c: ends of executions and of jobs ----------------------------- */

struct outcome {
    enum verb verb;
    enum reason reason;
    struct slice error, type, stack, result, usage;
    int64_t code;
    bool erase; /* nothing is kept: JOB.DELETE */
};
/* From due rows: too late to start, too late to go on. */
MUST_USE enum err expire_unstarted(struct engine *e, struct gather *g,
                                   const struct id *id, struct now now,
                                   struct errbuf *err);
MUST_USE enum err expire_total(struct engine *e, struct gather *g,
                               const struct id *id, struct now now,
                               struct errbuf *err);
/* All that job_finish() needs: the rows that it reads, and room in the entry
 * for those that go along and for `more` bytes. Call it before changing
 * anything. Errors: ERR_LIMIT, not in this entry. */
MUST_USE enum err finish_gather(struct engine *e, struct gather *g,
                                const struct job *j, size_t more,
                                struct errbuf *err);
/* May the job have one more effect, under this key? */
MUST_USE enum err effect_fits(struct engine *e, struct gather *g, struct job *j,
                              struct slice key, struct errbuf *err);
/* The job ends in `state`: all its rows move to `done` (or vanish), waiters
 * are woken. Frees the job. `g` is the one that gathered. */
void job_finish(struct engine *e, struct gather *g, struct job *j,
                enum job_state state, const struct outcome *o, struct now now);
/* A running job's execution failed, crashed or was given back. */
void execution_failed(struct engine *e, struct gather *g, struct job *j,
                      const struct outcome *o, bool has_delay,
                      uint64_t delay_ms, struct now now);
void execution_lost(struct engine *e, struct gather *g, struct job *j,
                    struct now now);
void execution_released(struct engine *e, struct job *j, enum verb verb,
                        uint64_t delay_ms, struct now now);
/* A job that was told to stop ends when its execution does, however that ends.
 * False: it was not told. Needs what finish_gather() reads. */
bool execution_cancelled(struct engine *e, struct gather *g, struct job *j,
                         const struct outcome *o, struct now now);
/* A job that was purged: neither counted nor in a place any more. Its rows go
 * but for the one in `jobs`, and its memory. Needs what purged_gather()
 * reads. */
MUST_USE enum err purged_gather(struct engine *e, struct gather *g,
                                const struct job *j, struct errbuf *err);
void purged_erase(struct engine *e, struct gather *g, struct job *j,
                  struct now now);
/* Rows that lie beside a job: bodies, executions, effects. Needs what
 * finish_gather() reads. */
void drop_beside(struct engine *e, struct gather *g, struct job *j,
                 struct now now);
void due_rows_del(struct engine *e, const struct job *j);
/* Its start deadline and total deadline, as `m` has them. */
void due_rows_put(struct engine *e, const struct job *j,
                  const struct rec_more *m);
/* Its lease ends uncounted, and its start deadline goes on to hold unless it is
 * met; call it before the job has its new place. */
void expiry_again(struct engine *e, const struct job *j);

/* --- settle.c: what else happens then ------------------------------------- */

/* Reads that settle_outcome() will need. */
MUST_USE enum err settle_gather(struct engine *e, struct gather *g,
                                const struct job *j, struct errbuf *err);
/* An execution ended and the job lives on; it still holds its lease. */
void settle_attempt(struct engine *e, struct job *j, const struct outcome *o,
                    struct now now);
/* The job ends in `state`; its rows are gone, its memory is still there. */
void settle_outcome(struct engine *e, struct gather *g, struct job *j,
                    enum job_state state, const struct outcome *o,
                    struct now now);
/* A lease was taken, or undone as if it had never been. */
void lease_taken(struct engine *e, struct job *j, struct now now);
void lease_untaken(struct engine *e, struct job *j, struct now now);

/* --- done.c: finished jobs ------------------------------------------------ */

uint32_t done_bucket(uint64_t finished_ms, uint64_t keep_ms);
uint64_t done_keep_ms(const struct engine *e, const struct job *j,
                      enum job_state state);
struct done_count *done_count(struct engine *e, uint32_t bucket, uint32_t queue,
                              enum job_state state, int64_t by);
/* Find a finished job by id. *value is its rec_done row.
 * Errors: ERR_NOTFOUND, ERR_PENDING, ERR_CORRUPT. */
MUST_USE enum err done_find(struct engine *e, struct gather *g,
                            const struct id *id, uint32_t *bucket,
                            struct slice *value, struct errbuf *err);
/* Note that a bucket holds rows, so that lookups and forgetting know it. */
void done_note(struct engine *e, uint32_t bucket);
/* As done_note(); one of its rows is this job's. */
void done_file(struct engine *e, uint32_t bucket, const struct id *id);
void done_init(struct engine *e);
uint64_t done_total(const struct engine *e, uint32_t queue,
                    enum job_state state);
bool done_forget(struct engine *e, struct now now);
uint64_t done_next_ms(const struct engine *e);
void done_commit(struct engine *e);
MUST_USE enum err done_load(struct engine *e, struct errbuf *err);
void done_free(struct engine *e);

/* --- index.c: the same by queue, state and time --------------------------- */

/* Name a job that has just ended; returns the number of its block. */
uint64_t index_add(struct engine *e, struct done_count *c, uint64_t finished_ms,
                   const struct id *id);
/* Before the index is read, and at the end of a tick. */
void index_settle(struct engine *e);
/* The row of the index that a row of `past` says names its job. False: it is no
 * job's row, or cannot be read. */
MUST_USE bool index_key_of(const struct past_key *k, struct slice value,
                           struct key *block);
/* Does this row of `past` say that the block at `at` names its job? */
bool index_names(const struct index_key *at, const struct id *id,
                 struct slice value);
/* The ids in a row of the index, holes included; false: damaged. */
MUST_USE bool index_ids(struct slice value, struct slice *ids);
/* The next of them from *at on, which moves behind it; false: no more. */
bool index_next(struct slice ids, size_t *at, struct id *id);
bool index_has(struct slice ids, const struct id *id);
/* The ids of the block at `k`, and the block without `n` of them. */
MUST_USE enum err index_get(struct engine *e, struct gather *g,
                            const struct key *k, struct slice *ids,
                            struct errbuf *err);
void index_del(struct engine *e, const struct key *k, struct slice ids,
               const struct id *gone, size_t n);
/* The block with one that it has lost. */
void index_put_back(struct engine *e, const struct key *k, struct slice ids,
                    const struct id *id);

/* --- revive.c: taken back or erased --------------------------------------- */

/* Reads; ERR_EXISTS: its unique key has another holder now. */
MUST_USE enum err revive_examine(struct engine *e, struct gather *g,
                                 const struct id *id, struct now now,
                                 struct errbuf *err);
MUST_USE enum err revive(struct engine *e, struct gather *g,
                         const struct id *id, struct now now,
                         struct errbuf *err);
/* Keep a finished job for `keep_ms` from its end, 0: not at all. */
MUST_USE enum err done_keep(struct engine *e, struct gather *g,
                            const struct id *id, uint64_t keep_ms,
                            struct now now, struct errbuf *err);
MUST_USE enum err done_erase_examine(struct engine *e, struct gather *g,
                                     const struct id *id, struct errbuf *err);
MUST_USE enum err done_erase(struct engine *e, struct gather *g,
                             const struct id *id, struct now now,
                             struct errbuf *err);

#endif
