/* What a correct scheduler may answer: an independent model, one small state
 * machine per job. It knows nothing of the engine's data; it is told what was
 * asked, what was answered and when, and objects.
 *
 * Every change of the model carries the index of the entry that made it, so
 * that a crash, which keeps a prefix of the entries, takes back exactly the
 * changes behind it.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "util/clock.h"
#include "util/id.h"

enum mstate {
    M_NONE,
    M_WAITING,
    M_RUNNING,
    M_COMPLETED,
    M_FAILED,
    M_CANCELLED,
    M_EXPIRED,
    M_ERASED
};

#define M_QUEUES 4
#define M_CRASHES 8
#define M_BASE_MS 1000 /* BASE of every job; FACTOR 2 and JITTER 30 */

/* The keys that a request gives, see keys.h. */
struct key_use {
    uint8_t unique;       /* a key, and 1; 0: none */
    uint8_t name, repeat; /* ID, IDEMPOTENCY: as above */
    bool global, waiting; /* SCOPE, WHILE */
    bool has_conflict;
    uint8_t conflict; /* enum conflict */
    uint64_t for_ms, debounce_ms;
    uint32_t request; /* the same number: the same request */
};

struct mjob {
    struct id id;
    enum mstate state;
    uint8_t queue, ended_by;    /* verb that ended its last execution: a n r */
    uint32_t ended;             /* and the delivery that it ended */
    uint8_t schedule;           /* that made it, and 1; 0: none */
    uint32_t completed, failed; /* how often it has ended so */
    uint32_t retries, failures, delivery, epoch;
    uint32_t priority, clock;     /* if it stands ... */
    bool in_line;                 /* ... as it arrived */
    uint64_t arrived_ms, arrival; /* wall; a number that grows */
    uint64_t seen_ms;             /* the latest time seen when it arrived */
    uint32_t era;                 /* of its queue, when it was added */
    uint8_t share;                /* of which owner it is, see model_fair() */
    uint64_t not_before_ms;       /* wall */
    uint64_t stands_ms; /* wall: it can be leased for certain from then on */
    uint32_t checkpoint, progress; /* see world_notes.c */
    uint8_t effects;
    uint8_t session, worker; /* of its lease, and 1; 0: none */
    bool again;              /* a repeated request got the same lease */
    uint32_t payload;        /* a number */
    struct key_use use;
    bool let_go;          /* its unique key, with the lease that it has */
    bool holds;           /* its unique key */
    uint8_t owner;        /* 0: none */
    uint8_t handler;      /* 0: of the queue's name */
    uint32_t gates, cost; /* see gates.h */
    uint64_t lease_ms, lease_end_ms, leased_at_ms; /* monotonic */
    uint64_t finished_ms, revived_ms;              /* wall, monotonic */
    /* EXPIRES and DEADLINE: how long, and until when (wall); 0: none */
    uint64_t expires_ms, deadline_ms, expires_at_ms, deadline_at_ms;
    /* TIMEOUT: how long an execution may take, and until when (monotonic) */
    uint64_t timeout_ms, timeout_at_ms, started_ms; /* wall */
    uint32_t trips;        /* of its breaker, when it was leased ... */
    bool probe;            /* ... while that was half open */
    bool tried;            /* an execution has ended that counts */
    bool purged;           /* its rows are still there */
    uint32_t ends;         /* how often it has ended ... */
    enum mstate over;      /* ... and how it did last */
    bool held, cancelling; /* told to stop at told_ms, by force at force_ms */
    uint64_t told_ms, force_ms;
    uint64_t crashed_ms[M_CRASHES]; /* wall, newest first; 0: none */
};

struct model;

/* `jobs`: so many are expected; `set_ms`: how far the wall clock may be set
 * within the window in which crashes count; `slack_ms`: that, and how late a
 * crash may be noticed. */
struct model *model_new(uint32_t jobs, uint64_t keep_ms, uint32_t crashes_max,
                        uint64_t crash_window_ms, uint64_t set_ms,
                        uint64_t slack_ms);
void model_free(struct model **m);
uint32_t model_jobs(const struct model *m);
const struct mjob *model_job(const struct model *m, uint32_t k);
/* By id; false: there is none. */
bool model_find(const struct model *m, const struct id *id, uint32_t *k);
bool model_is_none(const struct model *m, uint32_t k);
bool model_is_live(const struct model *m, uint32_t k);
/* The wall clock shows this: what becomes due has done so, even if the clock is
 * set back. */
void model_clock(struct model *m, struct now now);

/* What the engine did; `k` is the job's number, which is its payload too. Each
 * returns NULL, or the sentence that says what must not be. */
const char *model_added(struct model *m, uint32_t k, const struct id *id,
                        uint8_t queue, uint32_t payload, uint32_t retries,
                        uint64_t not_before_ms, enum job_state state,
                        struct now now);
/* It was ready at once: jobs of its queue are leased by priority, then in the
 * order in which they came, also if the clock is corrected meanwhile. */
void model_arrived(struct model *m, uint32_t k, uint32_t priority,
                   struct now now);
/* The queue orders its lines by age from now on: a point of priority is worth
 * so much of it. 0: by priority. */
void model_ordered(struct model *m, uint32_t queue, uint64_t age_ms);
/* Those who come have lines of their owners from now on, and are a share of
 * each; or not, and are of nobody's share (0). Who stands stays where it is. */
#define M_SHARE_UNKNOWN UINT8_MAX
void model_fair(struct model *m, uint32_t queue, bool fair);
/* What may keep it from being leased, see gates.h. */
void model_described(struct model *m, uint32_t k, uint8_t owner,
                     uint8_t handler, uint32_t gates, uint32_t cost);
/* The request that made it, or changed it, gave these keys. */
void model_keyed(struct model *m, uint32_t k, const struct key_use *use);
void model_holds(struct model *m, uint32_t k, bool holds);
/* Another request has changed what waits. */
const char *model_replaced(struct model *m, uint32_t k, uint32_t payload,
                           uint32_t retries, uint64_t not_before_ms,
                           enum job_state state, struct now now);
/* It has ended: may it be forgotten by now? */
bool model_maybe_forgotten(const struct model *m, uint32_t k);
uint64_t model_wall_max(const struct model *m);
/* Is it certain that it stands in line, with nothing left to wait for? */
bool model_stands(const struct model *m, uint32_t k, struct now now);
/* It was made by this schedule. */
void model_scheduled(struct model *m, uint32_t k, uint32_t schedule);
/* How many of its jobs have completed and failed, ever. */
void model_ended(const struct model *m, uint32_t schedule, uint64_t *completed,
                 uint64_t *failed);
const char *model_leased(struct model *m, uint32_t k,
                         const struct lease_view *v, struct now now);
/* Under this session, and by this worker, and 1; 0: none. A repeated request
 * got it, too. */
void model_under(struct model *m, uint32_t k, uint8_t session, uint8_t worker);
/* Its handler's breaker had opened so often; is it a probe? */
void model_under_breaker(struct model *m, uint32_t k, uint32_t trips,
                         bool probe);
void model_leased_again(struct model *m, uint32_t k);
/* The lease is taken back, uncounted; false: it stands. */
bool model_undone(struct model *m, uint32_t k, uint32_t delivery,
                  struct now now);
/* Its session has ended: so does its lease, now. */
void model_cut_off(struct model *m, uint32_t k, struct now now);
/* That counted for nothing. */
const char *model_given_back(struct model *m, uint32_t k, struct now now);
const char *model_acked(struct model *m, uint32_t k, uint32_t delivery,
                        uint32_t epoch, enum err rc, struct now now);
const char *model_nacked(struct model *m, uint32_t k, uint32_t delivery,
                         uint32_t epoch, bool permanent, uint64_t delay_ms,
                         enum err rc, struct now now);
const char *model_released(struct model *m, uint32_t k, uint32_t delivery,
                           uint32_t epoch, enum err rc, struct now now);
/* Another verb with a token was answered so. */
const char *model_token(const struct model *m, uint32_t k, uint32_t delivery,
                        enum err rc, struct now now);
/* What it means for what the job shows is changed here. */
struct mjob *model_change(struct model *m, uint32_t k);
const char *model_extended(struct model *m, uint32_t k, uint32_t delivery,
                           uint32_t epoch, enum lease_order order, enum err why,
                           struct now now);
/* Is it certain what a verb from outside must answer? Not while nobody can know
 * whether the engine has noticed the end of a lease, or of a retention. */
bool model_sure(const struct model *m, uint32_t k, struct now now);
const char *model_managed(struct model *m, uint32_t k, enum manage_verb verb,
                          uint64_t force_ms, enum err rc, struct now now);
/* The engine did so by itself, for a chore or because a time was over. */
const char *model_chored(struct model *m, uint32_t k, enum manage_verb verb,
                         uint64_t force_ms, struct now now);
/* Its lease was lost; it comes back after `delay_ms`. */
const char *model_lost(struct model *m, uint32_t k, uint64_t delay_ms,
                       struct now now);
/* It ended because its lease was lost once too often. */
const char *model_poisoned(struct model *m, uint32_t k, struct now now);
/* Has its execution taken too long? That ended it; and the job, or not. */
bool model_is_slow(const struct mjob *j, struct now now);
const char *model_timed_out(struct model *m, uint32_t k, bool failed,
                            struct now now);
/* It ended because a time was over. */
const char *model_expired(struct model *m, uint32_t k, struct now now);
/* It went from the line to make room for others. */
const char *model_dropped(struct model *m, uint32_t k, struct now now);
/* Is a time over that should have ended it? */
bool model_is_late(const struct model *m, uint32_t k, struct now now);
/* All that waits in the queue is gone. */
void model_purged(struct model *m, uint8_t queue);
const char *model_seen(struct model *m, uint32_t k, enum err rc,
                       const struct job_view *v, struct now now);

/* The entry of this tick has this index. */
void model_committed(struct model *m, uint64_t index);
/* After a crash: entries up to `index` survived; leases that were in force
 * start afresh. */
void model_crashed(struct model *m, uint64_t index, uint64_t crash_mono_ms,
                   struct now now);
/* Changes up to here can no longer be lost: forget how to undo them. */
void model_durable(struct model *m, uint64_t index);

/* How many are neither finished nor gone. */
uint32_t model_live(const struct model *m);

#endif
