/* Jobs in memory: those in windows and those that are leased.
 *
 * A struct job is a copy of its row with the hot fields decoded. It is owned by
 * the job table and stays as long as somebody needs it: a member of a window, a
 * lease, or the operation that loaded it. The table is bounded by
 * config.jobs_in_memory; beyond that windows hold keys only.
 *
 * The state is changed by job_move() alone, which keeps the counters.
 *
 * Where a job stands (invariant 1 of engine.h):
 *
 *     BLOCKED HELD          nowhere
 *     SCHEDULED RETRYING    due: (since_ms, DUE_READY, id)
 *     READY                 ready: (queue, lane, order, id)
 *     PARKED                parked: (limit, lane, order, id)
 *     RUNNING               runs: id
 *
 * The row in `jobs` is not rewritten when a job becomes due, is leased or
 * parked: its state there is what it was when it was last written, and the row
 * of the place says where it is now (see job_load()).
 */
#ifndef ENGINE_JOB_H
#define ENGINE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "engine/records.h"
#include "util/buf.h"
#include "util/line.h"
#include "util/list.h"
#include "util/map.h"

struct handler;
struct lane;
struct limit;
struct owner;
struct queue;
struct session;
struct worker;

#define JOB_MAGIC 0x6a6f6221u
#define NAMES_HELD UINT64_MAX

struct job {
    OBJ_MAGIC;
    struct map_node by_id;
    struct id id;
    uint8_t state; /* enum job_state, written by job_move() */
    bool in_window;
    bool charged;    /* its share has paid for the lease */
    bool more_shown; /* `more` has what a lease shows, beside the owner */
    uint32_t flags;  /* enum job_flag */
    struct queue *queue;
    struct handler *handler;
    struct lane *lane;   /* where it stands or will stand when ready */
    struct lane *parked; /* the parked lane in which it stands, or NULL */
    uint64_t order;      /* its place in the lane */
    uint64_t since_ms;   /* ready since, or due at */
    uint32_t priority, retries, failures, crashes;
    uint32_t n;            /* deliveries so far: the token's number */
    uint64_t own_lease_ms; /* 0: the queue's or the default */
    uint64_t keep;         /* 0: the queue's, else ms + 1 */

    /* the lease, if running (see lease.h) */
    struct line_node by_deadline; /* engine.leases */
    uint32_t run_flags;           /* of the runs row: enum run_flag */
    uint32_t progress;
    uint32_t e;             /* the start number in its token */
    uint32_t trips;         /* of its handler's breaker, when it began */
    uint32_t effects_bytes; /* 0: they must be looked up (effect_fits()) */
    uint64_t deadline_mono_ms, started_ms, lease_ms;
    uint64_t reap_mono_ms; /* deadline, time limit or cut: the earliest */
    struct worker *worker;
    struct session *session;
    struct list of_worker, of_session;
    uint64_t timeout_mono_ms; /* run-time limit, UINT64_MAX: none */

    /* the row as it is in `jobs`, with the parts that are used often */
    char *row;
    uint32_t row_len, row_cap, size; /* cap 0: inline; size of the object */
    uint32_t more_at, more_len, payload_at, payload_len;
    /* of `more`, what every lease asks for */
    uint32_t owner, cost, limits_at, limits_len;
    struct limit *names[2]; /* of its limits, if they are no more */
    uint32_t names_n;       /* 0: they must be looked up */
    uint64_t names_seen;    /* or NAMES_HELD: see names_known() */
    uint64_t timeout_ms;
    char inline_row[];
};

static inline struct slice job_row(const struct job *j)
{
    return slice_of(j->row, j->row_len);
}

/* Inline payload (empty if it is in `bodies`: JOBF_BODY). */
static inline struct slice job_payload(const struct job *j)
{
    return slice_of(j->row + j->payload_at, j->payload_len);
}

/* Its LIMIT names: a list of words. */
static inline struct slice job_limits(const struct job *j)
{
    return slice_of(j->row + j->limits_at, j->limits_len);
}

static inline struct slice job_more_bytes(const struct job *j)
{
    return slice_of(j->row + j->more_at, j->more_len);
}

/* What few jobs have; slices point into the job's row. */
void job_more(const struct job *j, struct rec_more *m);

/* Its long payload, or its checkpoint. */
enum err job_body(struct engine *e, struct gather *g, const struct id *id,
                  enum body_part part, struct slice *out, struct errbuf *err);

struct job *job_get(struct engine *e, const struct id *id);
/* It will be looked up soon: its memory, not touched since it was leased, can
 * come meanwhile. */
void job_expect(const struct engine *e, const struct id *id);
void job_expect_limits(const struct engine *e, const struct id *id); /* next */

/* A new job from its record; the fields must be set in *r. It is in memory only
 * (job_store() writes it). */
struct job *job_new(struct engine *e, const struct id *id,
                    const struct rec_job *r);

/* The live job with this id, from memory or from its row; its state says where
 * it stands. Call job_drop() when done: it frees what nobody else holds.
 *
 * Errors: ERR_NOTFOUND, ERR_PENDING, ERR_CORRUPT.
 */
MUST_USE enum err job_load(struct engine *e, struct gather *g,
                           const struct id *id, struct job **out,
                           struct errbuf *err);
/* At start: a job that is leased, wherever it stood before. */
MUST_USE enum err job_load_leased(struct engine *e, const struct id *id,
                                  struct job **out, struct errbuf *err);
void job_drop(struct engine *e, struct job *j);
/* The same for one that is not in memory and whose row is at hand. */
MUST_USE enum err job_load_row(struct engine *e, struct gather *g,
                               const struct id *id, struct slice row,
                               struct job **out, struct errbuf *err);

/* Write the row anew from the fields, with this `more` (NULL: as it was) and
 * the old payload. */
void job_store(struct engine *e, struct job *j, const struct rec_more *m);

/* The two halves of job_store(): new bytes in memory, bytes into the store. */
void job_encode(struct engine *e, struct job *j, const struct rec_more *m);
void job_put_row(struct engine *e, const struct job *j, bool fresh);
/* `m` as bytes; nothing if all of it is zero. */
size_t job_more_encode(const struct rec_more *m, struct buf *out);
/* The same of one that has no more than an owner or limits. */
void job_more_encode_names(uint32_t owner, struct slice limits, uint32_t cost,
                           struct buf *out);
/* A job from its row; NULL if the row is damaged. */
struct job *job_from_row(struct engine *e, const struct id *id,
                         struct slice row);
bool job_is(const struct map_node *n, const void *key);

/* Free a job that has ended or that is only in the store from now on. */
void job_free(struct engine *e, struct job *j);

/* The only writer of `state`. Counts it in its queue. */
void job_move(struct engine *e, struct job *j, enum job_state to);
/* A job is born (into `state`) or ends as a row of `jobs`. */
void job_born(struct engine *e, struct job *j, enum job_state state);

/* May a job in `from` become `to`? */
bool job_may_become(enum job_state from, enum job_state to);

static inline bool job_state_live(enum job_state s)
{
    return s >= JOB_BLOCKED && s <= JOB_RUNNING;
}

static inline uint32_t job_attempt(const struct job *j)
{
    return j->failures + j->crashes + 1;
}

/* Is its start deadline met, since it was added or taken back? By an execution
 * that counts, or by one that was released or snoozed only after that time. */
static inline bool job_tried(const struct job *j)
{
    return job_attempt(j) > 1 || (j->flags & JOBF_BEGUN) != 0;
}

#endif
