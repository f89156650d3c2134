/* Inside of the engine: what its files share. Nobody else includes this.
 *
 *   queue --- share (one per owner where the queue is fair) --- lane (handler)
 *     |                                                            |
 *     waiters (FIFO)                                             window of
 * `ready`
 *
 * Each idea has its file. To add one, look here for its seam:
 *
 *   idea            file          seam
 *   limits          limit.h       park_gate() is asked before a job is leased;
 *                                 limits_release() when a lease ends
 *   fairness        fair.c        share_less(), share_charge(), share_arrive()
 *   breaker         breaker.c     handler_closed(); settle_outcome() reports
 *   dead letters    dead.c        lists of `done`, state failed; done_revive()
 *   chores          chore.c       engine_tick() calls chore_step()
 *   purging         purge.c       lane_dead(), job_purged()
 *   schedules       schedule.c    due_fire() by kind
 *   workers         worker.c      struct worker; lease_begin()/lease_end()
 *   filters         filter.c      job_view_of()
 *   dependencies    graph.c       finish.c calls settle_outcome()
 *   logs            -             the token check token_find()
 *
 * Memory that is rebuilt at start: queues, handlers, owners, lanes, counters
 * (`named`), leases (`runs`), the near future (`due`). Windows of lanes are
 * read when a lane is first considered.
 */
#ifndef ENGINE_CORE_H
#define ENGINE_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "engine/handlers.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/records.h"
#include "engine/window.h"
#include "store/key.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/hash.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/map.h"
#include "util/pool.h"
#include "util/rng.h"

#define NAME_MAX_LEN 128
#define WEIGHT_MAX 1000000
#define WALL_MS_MAX (((uint64_t)1 << 48) - 1)

enum order_scheme {
    SCHEME_PRIORITY = 0, /* priority, then time */
    SCHEME_AGING = 1,    /* time minus priority times age_ms */
};

/* Settings and counters are rows in `named`. */
struct queue {
    struct map_node by_name;
    struct slice name; /* NUL behind it */
    struct rec_queue set;
    bool stored;  /* false: only somebody waits here, no row yet */
    bool dropped; /* nor this: the row of what it was is still there */
    uint16_t slot;
    struct rec_counts totals;
    uint64_t counts[JOB_STATES]; /* live states */
    struct list touched;         /* in engine.touched_queues */
    struct heap shares;          /* those that have open lanes with work */
    struct share *plain;         /* of jobs without owner, or not fair */
    struct lane *default_lane;   /* plain, handler of the queue's name */
    struct handler *default_handler;
    struct list waiters; /* struct spot, FIFO */
    uint32_t waiters_n;
    uint64_t virtual_now;   /* fair: the share served last */
    struct limit *gate;     /* its own concurrency and rate, or NULL */
    struct list sifting;    /* in engine.sifting: see park_sift() */
    struct list reordering; /* struct lane.shut, for the moment */
    uint64_t pace_from_ms;  /* leases since then: for estimates */
    uint32_t pace_n, pace_before;
    uint64_t ready_told_ms;
    uint32_t purged; /* its lanes up to this number are dead: purge.c */
};

#define BREAKER_SLOTS 10
struct breaker_slot {
    uint64_t number; /* since the clock began, plus one; 0: never used */
    uint64_t good, bad;
};
struct breaker {
    struct rec_breaker set; /* and state; by move() of breaker.c alone */
    struct breaker_slot slots[BREAKER_SLOTS];
    uint32_t probing, passed;
};

struct handler {
    struct map_node by_name;
    struct slice name;
    struct rec_handler set; /* slices point into `row` */
    struct buf row;
    struct job_options *defaults; /* HANDLER.SET, or NULL */
    bool open;                    /* false: paused, or its breaker is open */
    struct list shut_lanes;       /* struct lane, taken out of their shares */
    struct breaker breaker;
};

struct owner {
    struct map_node by_name;
    struct slice name;
    struct rec_owner set; /* `live` counts live jobs */
    uint32_t running;
    struct limit *gate; /* its quota of running jobs, or NULL */
    uint64_t add_tat_us;
    struct list touched; /* in engine.touched_owners */
};

/* A queue's lanes of one owner: they have one virtual time. */
struct share {
    struct map_node by_what;
    struct queue *queue;
    struct owner *owner; /* or NULL */
    uint64_t virtual_time;
    uint64_t band;     /* of its best job, as of lane_update() */
    struct heap lanes; /* open and not empty, the least head on top */
    struct heap_node in_queue;
};

struct lane {
    struct map_node by_what; /* queue, handler, owner, order scheme */
    uint32_t id;
    struct queue *queue;
    struct handler *handler;
    struct owner *owner; /* or NULL */
    struct share *share;
    uint8_t scheme;
    uint64_t age_ms;
    struct window window;
    uint64_t head_stored; /* lower bound in the lane's row */
    uint64_t last_taken;  /* the bound of an empty lane */
    uint32_t taken;       /* since the row was written */
    struct heap_node in_share;
    struct list shut;    /* in handler.shut_lanes or group.shut */
    struct list touched; /* in engine.touched_lanes */
    /* of a parked lane */
    struct limit *limit; /* NULL: it is none */
    struct lane *base;   /* where its jobs came from */
    struct park_group *group;
    struct list in_group;
    bool armed;
};

/* Its queue was purged: nothing in it can be seen any more. */
static inline bool lane_dead(const struct lane *l)
{
    return l->id <= l->queue->purged;
}

struct session {
    struct map_node by_name;
    struct slice name;
    uint32_t clients_n;
    uint64_t ends_mono_ms; /* 0: alive */
    struct heap_node by_end;
    struct list leases; /* struct job.of_session */
};

struct worker {
    struct map_node by_name;
    struct slice name;
    struct list leases; /* struct job.of_worker */
    uint32_t leases_n;
    bool registered; /* by WORKER.BEAT: stays without leases */
    uint64_t seen_mono_ms;
    struct rec_worker set; /* slices point into `row` */
    struct buf row;
    struct list by_seen; /* in engine.workers_seen, if registered */
};

/* One finished state of one queue in one bucket (done.c). */
struct done_count {
    struct map_node by_what;
    uint32_t bucket, queue;
    uint8_t state;
    uint64_t count;
    struct list touched;
    struct buf ids; /* ended in this tick, not in the index yet (index.c) */
    uint64_t ids_ms, block;
};

/* A finishing verb that may be repeated although nothing is kept (KEEP 0). */
struct recent {
    struct id id;
    uint32_t n, e;
    uint8_t verb;
};
#define RECENT_SIZE 65536

/* The guardian of schedules (schedule_guard.c). */
struct guard {
    bool running, begun, zones;
    struct id last; /* where the walk is */
    uint64_t next_mono_ms, seen;
    uint64_t passes, schedules, repairs;
};

/* The trip of the reader thread for what will be leased next (ahead.c). */
struct ahead {
    struct gather *gather;
    uint32_t lane; /* that it is under way for; 0: none */
    uint32_t rows; /* of jobs that were asked for */
    bool keys;     /* and what stands behind the window */
};

#define ENGINE_MAGIC 0x656e6731u

struct engine {
    OBJ_MAGIC;
    struct store *store;
    struct engine_config config;
    struct rng rng;
    uint32_t start, counter; /* of ids; start is the e of tokens */
    uint32_t blocks;         /* of the index, since the start */
    uint64_t id_ms;          /* ids never go back */

    struct map queues_by_name, handlers_by_name, owners_by_name;
    struct queue **queues;
    struct handler **handlers;
    struct owner **owners;
    struct lane **lanes; /* by id; NULL: none */
    uint32_t queues_n, handlers_n, owners_n, lanes_n;
    uint32_t queue_last; /* highest number of a queue */
    uint32_t lane_last;  /* of a lane; no number is given twice */
    uint32_t purged_queues;
    struct map lanes_by_what, shares_by_what;
    struct list touched_queues, touched_lanes, touched_counts, touched_owners;

    /* limits and what is parked under them (limit.h) */
    struct map limits_by_name, parked_by_what;
    struct list limits, limits_todo; /* all: visited since a change, or not */
    uint32_t limits_n, parked_lanes_n;
    uint32_t rested; /* limits that came to rest in this tick */
    struct list touched_limits, cooling_limits, sifting;
    struct rule **rules; /* the most specific first */
    uint32_t rules_n;
    uint64_t rules_changed; /* grows with each change of a rule */
    struct limit *limits_lately[LIMIT_HINTS];
    bool scan_on; /* of parked, at start */
    struct buf scan_from;

    struct pool pool;
    struct map jobs;    /* struct job.by_id */
    struct buf scratch; /* of encoders, for the moment */
    struct buf shown;   /* what the last view borrows */
    uint64_t window_members;

    /* Deadlines mostly arrive in their order: those stand in a list, from
     * which a lease goes at no cost, and only the others in the heap. */
    struct list leases_in_turn; /* struct job.in_turn */
    struct heap leases;         /* struct job.by_deadline */
    size_t leases_len;          /* of both */
    struct map sessions, workers, clients;
    struct heap sessions_ending;
    struct list workers_seen; /* registered, the longest silent first */
    uint32_t draining_n;      /* workers */

    struct window due; /* order: time and kind (due.c) */
    uint64_t due_head_stored, due_last;
    uint32_t due_taken;

    uint32_t *buckets; /* of `done` that hold something, ascending */
    uint32_t buckets_n, buckets_cap;
    struct map done_counts;
    struct done_count *last_count;        /* the one used last */
    uint64_t loaded_mono_ms, forget_from; /* brake of forgetting */
    struct recent *recent;

    struct map job_waits; /* waiters for the end of a job */
    uint32_t waiters_n;
    uint64_t turns;

    /* The timers' own gather: one actor at a time. */
    struct gather *timer_gather;
    bool timer_fetching;
    uint64_t timer_faults; /* rows that a timer could not use */

    struct ahead ahead;
    struct guard guard;
    uint64_t schedule_ends; /* jobs of schedules that ended */
    struct list chores;
    uint32_t chores_n;
    struct gather *chore_gather;
    bool chore_fetching;
    uint64_t chore_next_mono_ms;

    /* start */
    uint32_t load_step;
    struct buf load_from;

    engine_event_fn on_event;
    void *event_ud;
    uint64_t event_mask;
    engine_watch_fn watch; /* or NULL */
    void *watch_ud;
    uint64_t slice_ends_us;
    struct engine_stats stats;
};

/* --- names.c: queues, handlers, owners ----------------------------------- */

void names_init(struct engine *e);
void names_commit(struct engine *e); /* counters of touched queues */
/* Room for index `id` in an array of *n pointers; new ones are NULL. */
void *names_array(void *array, uint32_t *n, uint32_t id);
/* A name that may become a row: 1 to NAME_MAX_LEN bytes without control
 * characters and blanks. `what` is for the sentence: "queue". */
MUST_USE enum err name_check(struct slice name, const char *what,
                             struct errbuf *err);
struct queue *queue_find(struct engine *e, struct slice name);
struct handler *handler_find(struct engine *e, struct slice name);
struct owner *owner_find(struct engine *e, struct slice name);
/* Find or create. NULL if there are names_max of them already. `store`: also
 * as a row. */
struct queue *queue_make(struct engine *e, struct slice name, bool store);
struct handler *handler_make(struct engine *e, struct slice name);
struct owner *owner_make(struct engine *e, struct slice name);
void queue_store(struct engine *e, struct queue *q); /* settings */
void handler_store(struct engine *e, struct handler *h);
void owner_store(struct engine *e, struct owner *o);
void queue_touch(struct engine *e, struct queue *q); /* counters changed */
/* Forget that there was a queue of this name: until somebody uses it. */
void queue_hide(struct engine *e, struct queue *q);
MUST_USE enum err queue_load_dropped(struct engine *e, struct slice key,
                                     struct errbuf *err);
struct slice name_u32(uint32_t n, char out[4]); /* numbered names */

MUST_USE enum err names_load_row(struct engine *e, struct slice key,
                                 struct slice value, struct errbuf *err);
void names_free(struct engine *e);

/* --- lane.c -------------------------------------------------------------- */

void lanes_init(struct engine *e);
uint64_t lane_head_order(const struct lane *l);
/* A member's order by the queue's present formula. */
uint64_t lane_order_now(const struct lane *l, const struct member *m);
/* The lane for arrivals, by the queue's present order; NULL: lanes_max. */
struct lane *lane_for(struct engine *e, struct queue *q, struct handler *h,
                      struct owner *o);
/* The same for a job whose lane was purged under it: beyond any bound. */
struct lane *lane_anew(struct engine *e, const struct job *j);
struct lane *lane_by_id(const struct engine *e, uint32_t id);
/* Forget the window; only a dead lane's rows need no window. */
void lane_forget(struct engine *e, struct lane *l);
void lane_free(struct engine *e, struct lane *l);
uint64_t lane_order(const struct lane *l, uint32_t priority, uint64_t since_ms);
/* Its head changed: put it where it belongs in its share, queue and row. */
void lane_update(struct engine *e, struct lane *l);
/* Bring rows from the store into an unread window. */
MUST_USE enum err lane_refill(struct engine *e, struct gather *g,
                              struct lane *l, struct errbuf *err);
/* Have the next fetch of this gather bring what lane_refill() will want. */
void lane_wish(struct engine *e, struct gather *g, struct lane *l);
/* A member of its window and the job in memory find each other. */
void lane_has_job(struct lane *l, struct member *m, struct job *j);
/* A ready row appeared (the row is written here) or goes. */
void lane_add(struct engine *e, struct lane *l, struct job *j, unsigned met,
              bool fresh);
void lane_add_key(struct engine *e, struct lane *l, const struct member *m,
                  bool fresh);
void lane_take(struct engine *e, struct lane *l, struct member *m);
void lane_remove(struct engine *e, struct job *j);
void lane_touch(struct engine *e, struct lane *l);
/* All heaps of the queue anew: its order has changed. */
void lanes_reorder(struct engine *e, struct queue *q,
                   const struct rec_queue *set);
/* The best lane of the queue that is open and not empty, for one of the
 * handlers (n = 0: any); NULL if none. */
struct lane *lane_pick(struct engine *e, struct queue *q,
                       struct handler *const *handlers, uint32_t n);
void handler_open(struct engine *e, struct handler *h, bool open);
/* Heads that are to be written once a tick. */
void lanes_commit(struct engine *e);
MUST_USE enum err lane_load_row(struct engine *e, struct slice key,
                                struct slice value, struct errbuf *err);
void lanes_free(struct engine *e);

/* --- fair.c -------------------------------------------------------------- */

bool share_is(const struct map_node *n, const void *key);
void share_free(struct map_node *n, void *ud);
struct share *share_for(struct engine *e, struct queue *q, struct owner *o);
bool share_less(const struct heap_node *a, const struct heap_node *b);
void share_arrive(struct share *s); /* it has work again */
/* It is served: lane_update() must follow, which puts it in its new place. */
void share_charge(struct share *s, uint32_t cost);
/* It was not, after all. */
void share_refund(struct share *s, uint32_t cost);
void share_band(struct share *s);

/* --- due.c --------------------------------------------------------------- */

/* Rows of things with a name use due_name_id() and hold the name. */
struct due {
    uint64_t at_ms;
    enum due_kind kind;
    struct id id;
    struct lane *lane; /* DUE_READY: where it will stand */
    uint32_t priority;
    unsigned flags;    /* enum due_flag */
    struct slice name; /* of what has no id */
    struct job *job;   /* in memory, to be kept there if there is room */
};
struct id due_name_id(struct slice name);
void due_put(struct engine *e, const struct due *d, bool fresh);
void due_del(struct engine *e, uint64_t at_ms, enum due_kind kind,
             const struct id *id);
/* Work off what is due, at most `ops`; returns true if there is more. */
bool due_step(struct engine *e, struct now now, uint32_t ops);
/* Do schedules wait for the disk? */
bool due_held(const struct engine *e);
uint64_t due_next_ms(const struct engine *e); /* wall; UINT64_MAX: never */
void due_commit(struct engine *e);
/* ERR_NOTFOUND if the row is gone, which means that it has fired. */
MUST_USE enum err due_exists(struct engine *e, struct gather *g, uint64_t at_ms,
                             enum due_kind kind, const struct id *id,
                             struct errbuf *err);
void due_load(struct engine *e, struct slice key, struct slice value);

/* Kinds that have files of their own: ERR_OK, ERR_PENDING, or a fault. */
MUST_USE enum err due_fire_other(struct engine *e, struct gather *g,
                                 enum due_kind kind, uint64_t at_ms,
                                 const struct id *id, struct now now,
                                 struct errbuf *err);

/* --- place.c: where a job stands ----------------------------------------- */

/* Into its lane, by its order; wakes a waiter. If one of its names is full it
 * goes under that one. Returns what it has become. The job may be gone from
 * memory afterwards, here and in place_due(), unless the caller holds a
 * lease.*/
enum job_state place_ready(struct engine *e, struct job *j, bool fresh,
                           struct now now);
/* Until `at_ms`, then ready. */
void place_due(struct engine *e, struct job *j, uint64_t at_ms, unsigned flags,
               bool fresh);
/* Its lane and its order, by its priority and since_ms. False: lanes_max. */
bool place_choose(struct engine *e, struct job *j, struct owner *o);
/* Its lane may have been purged while it was leased: to the one that took its
 * place. The caller writes the job's row. */
void place_outlived(struct engine *e, struct job *j);
/* Take a waiting job's row of its place away. */
void place_none(struct engine *e, struct job *j, struct now now);
/* A job is in a lane: wake a waiter, report. */
void ready_told(struct engine *e, struct queue *q, struct handler *h,
                const struct id *id, struct now now);

/* --- lease.c: the table of leases ---------------------------------------- */

/* What a token names. */
struct token {
    struct id id;
    uint32_t n, e;
};
#define TOKEN_MAX 64
bool token_parse(struct slice text, struct token *out);
size_t token_print(const struct id *id, uint32_t n, uint32_t e, char *out);

void lease_begin(struct engine *e, struct job *j, uint64_t lease_ms,
                 struct slice worker, struct slice session, struct now now);
/* Out of the table; deletes the row; its names have room again. */
void lease_end(struct engine *e, struct job *j, struct now now);
/* `lease_ms` 0 keeps the length; another one is written. */
void lease_renew(struct engine *e, struct job *j, uint64_t lease_ms,
                 struct now now);
/* Something else of the lease changed: write its row. */
void lease_store(struct engine *e, const struct job *j);
/* The running job whose lease this token is. `verb` is what the caller wants
 * to do: ERR_BUSY says that exactly that was done before with this token.
 *
 * Errors: ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED, ERR_STALE, ERR_PENDING,
 * ERR_BUSY. */
MUST_USE enum err token_find(struct engine *e, struct gather *g,
                             struct slice text, enum verb verb, struct job **j,
                             struct errbuf *err);
bool lease_reap(struct engine *e, struct now now, uint32_t ops);
uint64_t lease_next_ms(const struct engine *e);
MUST_USE enum err lease_load_row(struct engine *e, struct slice key,
                                 struct slice value, struct now now,
                                 struct errbuf *err);
void leases_init(struct engine *e);
void leases_free(struct engine *e);
typedef void (*leases_fn)(const struct job *j, void *ud);
void leases_each(const struct engine *e, leases_fn fn, void *ud);
/* Lanes that are about to be freed: leased jobs let go of them. */
void leases_leave_dead_lanes(struct engine *e, const struct queue *q);
void leases_check(const struct engine *e);

/* --- session.c ----------------------------------------------------------- */

/* Found or made; dropped when it has no leases and is not registered. */
struct worker *worker_make(struct engine *e, struct slice name);
void worker_drop(struct engine *e, struct worker *w);
void session_add(struct engine *e, struct job *j, struct slice name,
                 struct now now);
void session_remove(struct engine *e, struct job *j);
void worker_add(struct engine *e, struct job *j, struct slice name,
                struct now now);
void worker_remove(struct engine *e, struct job *j);

/* --- worker.c: registered workers ---------------------------------------- */

void worker_seen(struct engine *e, struct worker *w, struct now now);
void worker_release(struct engine *e, struct worker *w);
bool worker_draining(struct engine *e, struct slice name);
bool worker_step(struct engine *e, struct now now, uint32_t ops);
uint64_t worker_next_ms(const struct engine *e);
MUST_USE enum err worker_load_row(struct engine *e, struct slice key,
                                  struct slice value, struct now now,
                                  struct errbuf *err);

bool session_reap(struct engine *e, struct now now, uint32_t ops);
uint64_t session_next_ms(const struct engine *e);
/* After a start: time to come back. */
void session_grant(struct engine *e, struct session *s, uint64_t until_mono_ms);
void sessions_init(struct engine *e);
void sessions_free(struct engine *e);

/* --- retry.c ------------------------------------------------------------- */

/* How long to wait after the n-th failure, with jitter. */
uint64_t retry_delay_ms(struct engine *e, const struct job *j, uint32_t n);

/* --- finish.c: ends of executions and of jobs ---------------------------- */

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
/* Reads that job_finish() will need; call it before changing anything. */
MUST_USE enum err finish_gather(struct engine *e, struct gather *g,
                                const struct job *j, struct errbuf *err);
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
/* Rows beside the job that a change of it makes obsolete. */
void drop_bodies(struct engine *e, struct gather *g, struct job *j,
                 struct now now);
void due_rows_del(struct engine *e, const struct job *j);
/* Its start deadline and total deadline, as `m` has them. */
void due_rows_put(struct engine *e, const struct job *j,
                  const struct rec_more *m);

/* --- settle.c: what else happens when an execution or a job ends ---------- */

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

/* --- manage.c ------------------------------------------------------------ */

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

/* --- revive.c: finished jobs that are taken back or erased --------------- */

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

/* --- index.c: finished jobs by queue, state and time -----------------------
 */

/* Name a job that has just ended; returns the number of its block. */
uint64_t index_add(struct engine *e, struct done_count *c, uint64_t finished_ms,
                   const struct id *id);
/* Before the index is read, and at the end of a tick. */
void index_settle(struct engine *e);
/* The ids in a row of the index, holes included; false: damaged. */
MUST_USE bool index_ids(struct slice value, struct slice *ids);
/* The next of them from *at on, which moves behind it; false: no more. */
bool index_next(struct slice ids, size_t *at, struct id *id);
/* The ids of the block at `k`, and the block without one of them. */
MUST_USE enum err index_get(struct engine *e, struct gather *g,
                            const struct key *k, struct slice *ids,
                            struct errbuf *err);
void index_del(struct engine *e, const struct key *k, struct slice ids,
               const struct id *id);

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

/* --- schedule*.c: jobs by the clock (see schedule.h) ---------------------- */

MUST_USE enum err schedule_fire(struct engine *e, struct gather *g,
                                uint64_t at_ms, const struct id *id,
                                struct now now, struct errbuf *err);
MUST_USE enum err schedule_free(struct engine *e, struct gather *g,
                                uint64_t at_ms, const struct id *id,
                                struct now now, struct errbuf *err);
MUST_USE enum err schedule_fill(struct engine *e, struct gather *g,
                                uint64_t at_ms, const struct id *id,
                                struct now now, struct errbuf *err);
/* A job of a schedule (JOBF_SCHEDULE) ends. */
MUST_USE enum err schedule_settle_gather(struct engine *e, struct gather *g,
                                         const struct job *j,
                                         struct errbuf *err);
void schedule_settle(struct engine *e, struct gather *g, const struct job *j,
                     enum job_state state, struct now now);
/* One is taken back. */
MUST_USE enum err schedule_revive_gather(struct engine *e, struct gather *g,
                                         struct slice name, struct errbuf *err);
void schedule_revive(struct engine *e, struct gather *g, struct slice name,
                     const struct id *job, struct now now);
/* The guardian: at the start and every hour, in slices. */
void schedule_guard(struct engine *e, struct now now);
MUST_USE enum err schedules_check(struct engine *e, struct errbuf *err);

/* --- ahead.c -------------------------------------------------------------- */

/* A job of the lane is leased: see that the next ones are in memory. */
void ahead_look(struct engine *e, struct lane *l);
/* Is that under way? */
bool ahead_reads(const struct engine *e, const struct lane *l);

/* --- chore.c ------------------------------------------------------------- */

void chores_init(struct engine *e);
void chores_free(struct engine *e);
bool chore_step(struct engine *e, struct now now);
uint64_t chore_next_ms(const struct engine *e);
MUST_USE enum err chore_load_row(struct engine *e, struct slice key,
                                 struct slice value, struct errbuf *err);

/* --- purge.c ------------------------------------------------------------- */

/* A purge that is under way; the chore keeps it (chore.c). */
struct purge {
    struct queue *queue;
    uint8_t step;    /* enum purge_step; stored */
    struct key next; /* where the step goes on; stored */
    uint64_t expected, done, examined;
    uint32_t window; /* windows of lanes up to here are released */
    bool sealed;     /* see store_seal_soon() */
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

/* --- done.c: finished jobs ----------------------------------------------- */

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
void done_init(struct engine *e);
uint64_t done_total(const struct engine *e, uint32_t queue,
                    enum job_state state);
bool done_forget(struct engine *e, struct now now);
uint64_t done_next_ms(const struct engine *e);
void done_commit(struct engine *e);
MUST_USE enum err done_load(struct engine *e, struct errbuf *err);
void done_free(struct engine *e);

/* --- keys.c: aliases, uniqueness, idempotency, effects ------------------- */

MUST_USE enum err alias_find(struct engine *e, struct gather *g,
                             struct slice name, struct id *id,
                             struct errbuf *err);
MUST_USE enum err unique_forget(struct engine *e, struct gather *g,
                                uint64_t at_ms, const struct id *hash,
                                struct errbuf *err);
/* Is the name, or the unique key, (still) this job's? While a purge is under
 * way another one may have it. */
MUST_USE enum err alias_is(struct engine *e, struct gather *g,
                           struct slice name, const struct id *id, bool *is,
                           struct errbuf *err);
MUST_USE enum err unique_is(struct engine *e, struct gather *g,
                            const struct job *j, const struct rec_more *m,
                            bool *is, struct errbuf *err);
/* The job lets go of its unique key, if it holds it. */
void unique_release(struct engine *e, struct job *j);

#define UNIQUE_MAX 200
struct slice unique_key(struct key *k, uint32_t scope, const struct queue *q,
                        struct slice unique);
MUST_USE enum err unique_find(struct engine *e, struct gather *g,
                              uint32_t scope, const struct queue *q,
                              struct slice unique, struct now now,
                              struct rec_unique *r, struct errbuf *err);
void unique_put(struct engine *e, uint32_t scope, const struct queue *q,
                struct slice unique, const struct id *id, uint64_t until_ms);
MUST_USE enum err alias_check(struct slice name, struct errbuf *err);
void alias_put(struct engine *e, struct slice name, const struct id *id);
/* Replies of requests with an idempotency key, filed until `until_ms`. */
MUST_USE enum err idem_find(struct engine *e, struct gather *g,
                            enum key_kind kind, struct slice name,
                            struct now now, struct slice *value,
                            struct errbuf *err);
char *idem_put(struct engine *e, enum key_kind kind, struct slice name,
               uint64_t until_ms, size_t len);

/* --- view.c -------------------------------------------------------------- */

struct slice reason_name(uint8_t reason);
struct slice verb_name(uint8_t verb);
void job_view_of(struct engine *e, const struct job *j, struct now now,
                 struct job_view *v);
/* From a row of a finished job, which the view borrows. */
MUST_USE enum err done_view(struct engine *e, const struct id *id,
                            struct slice value, struct job_view *v,
                            struct errbuf *err);
/* The state of a job, live or finished. ERR_NOTFOUND, ERR_PENDING ... */
MUST_USE enum err job_state_of(struct engine *e, struct gather *g,
                               const struct id *id, enum job_state *state,
                               struct errbuf *err);

/* --- limit.c: names, slots and rates -------------------------------------- */

void limits_init(struct engine *e);
void limits_free(struct engine *e);
struct limit *limit_find(const struct engine *e, struct slice name);
struct limit *limit_make(struct engine *e, struct slice name);
/* Something of it changed that is looked at once a tick. */
void limit_touch(struct engine *e, struct limit *l);
/* Take the settings that apply now. */
void limit_refresh(struct engine *e, struct limit *l);
struct limit *queue_gate(struct engine *e, struct queue *q);
struct limit *owner_gate(struct engine *e, struct owner *o);
/* The limits of a job. `make`: also those that nothing runs under. */
void job_names(struct engine *e, struct job *j, bool make, struct job_names *n);
bool job_has_names(const struct job *j);
/* May so much start now? If not, the flag `open` is down afterwards. */
bool limit_admits(struct engine *e, struct limit *l, uint32_t cost,
                  struct now now);
/* One that does not admit a job now, or NULL. */
struct limit *limit_refusing(struct engine *e, struct job *j, struct now now);
/* Find out whether it is open; wake who may go on, or see to it that somebody
 * will. */
void limit_settle(struct engine *e, struct limit *l, struct now now);
/* Its rate pays for a start. */
void limit_charge(struct engine *e, struct limit *l, uint32_t cost,
                  struct now now);
/* A rule was changed: every name is visited, in slices. */
void limits_changed(struct engine *e);
/* A lease begins, was found at start, or ends. */
void limits_hold(struct engine *e, struct job *j, struct now now);
void limits_held(struct engine *e, struct job *j);
void limits_release(struct engine *e, struct job *j, struct now now);
/* What its rates took for a lease that was undone. */
void limits_refund(struct engine *e, struct job *j);
/* Slots that a parked job had reserved (names in its row). */
void limits_unreserve(struct engine *e, struct job *j, struct now now);
bool queue_admits(struct engine *e, struct queue *q, struct now now);
MUST_USE enum err limit_due(struct engine *e, struct gather *g, uint64_t at_ms,
                            const struct id *id, struct now now,
                            struct errbuf *err);
void limits_commit(struct engine *e, struct now now);
/* What is to be done in slices: names behind a changed rule, parked lanes at
 * start, long rows of jobs that cannot go. True if there is more. */
bool limits_step(struct engine *e, struct now now, uint32_t ops);
bool limits_busy(const struct engine *e);
MUST_USE enum err limit_load_row(struct engine *e, struct slice key,
                                 struct slice value, struct errbuf *err);
/* Recount; the first violation as a sentence, or NULL. */
const char *limits_check(struct engine *e);

/* --- rule.c --------------------------------------------------------------- */

const struct rule *rule_for(const struct engine *e, struct slice name);
MUST_USE enum err rule_load_row(struct engine *e, struct slice key,
                                struct slice value, struct errbuf *err);
void rules_free(struct engine *e);
/* A name that a job or a worker may give. */
MUST_USE enum err limit_name_check(struct slice name, struct errbuf *err);
MUST_USE enum err rate_check(const struct rate *r, struct errbuf *err);
void limit_view_of(struct engine *e, struct limit *l, struct now now,
                   struct limit_view *v);

/* --- park.c: where they stand --------------------------------------------- */

/* Under a full name; the job is ready or new. */
void park_job(struct engine *e, struct limit *l, struct job *j, unsigned met,
              bool fresh, struct now now);
/* May the head of this lane be leased? If not it has been moved, or its lane
 * is closed. */
bool park_gate(struct engine *e, struct lane *l, struct job *j, struct now now);
/* The parked lane of a limit for jobs of `base`. */
struct lane *park_lane(struct engine *e, struct limit *l, struct lane *base);
/* Its base is dead: the window goes, and with the end of the tick the lane. */
void park_forget(struct engine *e, struct slice name, struct lane *base);
void park_free(struct engine *e, struct lane *l);
/* May this parked lane stand in its share's heap? Keeps the lists. */
bool park_arm(struct engine *e, struct lane *l, bool work);
/* The limit has opened: lanes into heaps, waiters awake. */
void park_open(struct engine *e, struct limit *l, struct now now);
/* Is the job parked? Then it is marked so. */
MUST_USE enum err park_find(struct engine *e, struct gather *g, struct job *j,
                            struct errbuf *err);
/* So many jobs were moved in one call that others must have their turn. */
void park_sift(struct engine *e, struct queue *q);
/* A slice of the scan at start. */
MUST_USE enum err park_scan(struct engine *e, struct gather *g, struct now now,
                            struct errbuf *err);

/* --- owner.c -------------------------------------------------------------- */

/* A job of an owner is born or ends. */
void owner_count(struct engine *e, const struct job *j, int by);
void owners_commit(struct engine *e);
/* May this owner add `n` jobs now? owner_added() when they are. */
MUST_USE enum err owner_admits(struct engine *e, const struct owner *o,
                               uint32_t n, struct now now, struct errbuf *err);
void owner_added(struct owner *o, uint32_t n, struct now now);

/* --- why.c ---------------------------------------------------------------- */

/* For estimates: a job of the queue was leased; how long until so many more
 * are, in ms, or -1. */
void pace_note(struct queue *q, struct now now);
int64_t pace_estimate(const struct queue *q, uint64_t ahead, struct now now);

/* --- queue.c, handler.c -------------------------------------------------- */

uint64_t queue_live(const struct queue *q); /* jobs */
/* MAXLEN is reached: ERR_OK if room was made. */
MUST_USE enum err queue_full(struct engine *e, struct gather *g,
                             struct queue *q, uint32_t n, struct now now,
                             struct errbuf *err);
/* The handler's check of payloads. */
MUST_USE enum err handler_examine(const struct handler *h,
                                  const struct add_params *p,
                                  struct errbuf *err);

bool handler_says_permanent(const struct job *j, struct slice type);
/* Opens or closes its lanes as pause and breaker say now. */
void handler_refresh(struct engine *e, struct handler *h, struct now now);
/* False: the row is damaged, nothing changed. */
bool handler_take_row(struct handler *h, struct slice row);
/* `set` or the breaker changed: the row, in memory and in the store. */
void handler_keep(struct engine *e, struct handler *h);

/* --- breaker.c ----------------------------------------------------------- */

void breaker_defaults(struct rec_breaker *b);
bool breaker_allows(const struct handler *h);
/* How many more executions may begin. */
uint64_t breaker_room(const struct handler *h);
/* False: its jobs may run. *until_ms: when that may change, 0: unknown. */
bool breaker_why(const struct handler *h, enum breaker_state *state,
                 uint64_t *until_ms);
void breaker_set(struct engine *e, struct handler *h, bool on,
                 const struct breaker_settings *s, struct now now);
void breaker_view_of(const struct handler *h, struct now now,
                     struct breaker_view *v);
/* A lease of a job began, was undone, ended; a lease was loaded. */
void breaker_taken(struct engine *e, struct job *j, struct now now);
void breaker_untaken(struct engine *e, struct job *j, struct now now);
void breaker_settle(struct engine *e, struct job *j, const struct outcome *o,
                    struct now now);
void breaker_lease_loaded(struct job *j);
void breaker_due(struct engine *e, const struct id *id, uint64_t at_ms,
                 struct now now);

/* --- wait.c -------------------------------------------------------------- */

/* A job became ready: wake the first in line who may have it. */
void wait_wake(struct engine *e, struct queue *q, struct handler *h,
               uint64_t n);
void wait_job_ended(struct engine *e, const struct id *id,
                    enum job_state state);
void waits_init(struct engine *e);
void waits_free(struct engine *e);

/* --- report.c: events ---------------------------------------------------- */

void report(struct engine *e, enum event_type type, const struct job *j,
            struct now now, uint64_t took_ms, struct slice text);

void report_event(struct engine *e, const struct event *ev);
/* A row that cannot be right: told as an event, never fatal here. */
void fault(struct engine *e, struct now now, const struct errbuf *why);

/* --- engine.c ------------------------------------------------------------ */

struct id id_next(struct engine *e, const struct queue *q, struct now now);
/* A slice of long work: has it had its millisecond? */
void slice_begin(struct engine *e);
bool slice_over(const struct engine *e);
/* The timers miss rows: fetch them, timers wait meanwhile. */
void timer_fetch(struct engine *e);

#endif
