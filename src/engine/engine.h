/* The scheduler: queues, jobs, leases, retries.
 *
 *   commands --- engine_add() ... --->+--------+--- rows ----> store
 *                                      | engine |
 *   server --- engine_tick() ... ----->+--------+--- events --> server
 *
 * The engine is a function of its inputs: it reads no clock, no socket and no
 * random source (a seed is given), it does not log. Time comes in as
 * `struct now`: wall time rules delays, retries, schedules and retention,
 * monotonic time rules leases.
 *
 * An operation takes a gather and a struct of parameters. It first reads all
 * that it needs, then changes; ERR_PENDING means that rows are missing and that
 * nothing has been changed: fetch (store_fetch) and call again with the same
 * gather. With a NULL gather it reads blocking. Every other error also means
 * that nothing has been changed. Results borrow the engine's memory and are
 * valid until the next call.
 *
 * A tick of the server looks like this:
 *
 *     read sockets; engine_reap(); run commands; engine_tick();
 *     index = engine_commit()                  -- one entry for all of it
 *
 * Disk is the truth: everything in memory can be rebuilt from rows, by scans
 * whose length does not depend on the backlog (see engine/core.h).
 *
 * Invariants (engine_check() verifies them):
 *  1. A live job has one row in `jobs` and stands in exactly one of: ready, due
 *     (delay or retry), parked, runs, or nowhere (held, blocked).
 *  2. Counters per queue and state equal a recount of the rows, at any time
 *     after engine_commit().
 *  3. A job is in the lease table if and only if its state is running.
 *  4. A token `<id>#<n>.<e>` is given out once; n grows with each delivery of a
 *     job, e with each start of the server.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/event.h"
#include "engine/options.h"
#include "engine/page.h"
#include "engine/rate.h"
#include "engine/waiter.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/id.h"
#include "util/slice.h"

struct engine;
struct gather;
struct store;

enum job_state {
#define STATE(NAME, number, name, next) JOB_##NAME = number,
#include "engine/states.def"
#undef STATE
    JOB_STATES
};

static inline bool job_state_ended(enum job_state s)
{
    return s >= JOB_COMPLETED;
}

const char *job_state_name(enum job_state s);
/* Accepts the words of other systems too. Returns 0 for an unknown word. */
enum job_state job_state_parse(struct slice word);

/* --- life ---------------------------------------------------------------- */

struct engine_config {
    uint64_t seed;
    /* what an option is if nobody says */
    uint64_t lease_ms, keep_ms, keep_failed_ms;
    uint32_t retries, backoff, jitter;
    uint64_t base_ms, cap_ms;
    double factor;
    /* crashes */
    uint32_t crashes_max;
    uint64_t crash_window_ms, crash_delay_ms, session_grace_ms;
    uint64_t idempotency_ms, cancel_force_ms;
    /* a worker that sends no beats is shown as silent, then forgotten */
    uint64_t worker_silent_ms, worker_forget_ms;
    /* bounds */
    uint64_t payload_max, lease_ms_max;
    uint32_t names_max; /* queues, handlers, owners: each */
    uint32_t lanes_max;
    /* memory: entries of windows, all together and per lane; job objects */
    uint32_t window_entries, window_lane, window_due, jobs_in_memory;
    uint32_t slice_ops; /* work of one tick, in jobs: about a millisecond */
    /* Schedules fire while fewer bytes than this wait for the disk. */
    uint64_t alarms_unsynced_max;
};

void engine_config_default(struct engine_config *c);

struct engine *engine_new(struct store *store, const struct engine_config *c);
void engine_free(struct engine **e);

/* May be called at any time with changed values (CONFIG SET). */
void engine_configure(struct engine *e, const struct engine_config *c);
const struct engine_config *engine_get_config(const struct engine *e);

/* Rebuild from the store, a slice a call, until *done. Leases get their full
 * length again. Call once, before anything else, after the store has loaded. */
MUST_USE enum err engine_load(struct engine *e, struct now now, bool *done,
                              struct errbuf *err);

/* Events go here as they happen, before they are durable: the receiver keeps
 * them until the index of the tick's entry is acknowledged. `mask` has a bit
 * per event type (1 << EVENT_x); what nobody wants is not built. */
typedef void (*engine_event_fn)(void *ud, const struct event *ev);
void engine_on_event(struct engine *e, uint64_t mask, engine_event_fn fn,
                     void *ud);

/* A watch that runs on within a call, in us: long work stops after a
 * millisecond. Without one its slices are bounded by numbers alone, so that a
 * run of the engine repeats itself to the byte. */
typedef uint64_t (*engine_watch_fn)(void *ud);
void engine_set_watch(struct engine *e, engine_watch_fn fn, void *ud);

/* --- the loop's side ----------------------------------------------------- */

/* What time brings: due jobs, retries, deadlines, refills, chores. A bounded
 * slice; returns true if more is to be done at once. */
bool engine_tick(struct engine *e, struct now now);

/* Expired leases and ended sessions. Call it after the sockets were read: after
 * a stall of the server an acknowledgement that waits in a socket must come
 * before the reaper. A slice, as above. The rows that it read are let go by the
 * engine_tick() that follows. */
bool engine_reap(struct engine *e, struct now now);

/* When engine_tick() or engine_reap() have something to do, as monotonic ms; in
 * the past if at once, UINT64_MAX for never. */
uint64_t engine_next_ms(const struct engine *e, struct now now);

/* Write what is written once a tick (counters, heads of lanes) and close the
 * entry. Returns the index that covers everything so far. */
uint64_t engine_commit(struct engine *e, struct now now);

/* Bytes of the open entry, with those that engine_commit() is going to add. */
size_t engine_entry_bytes(const struct engine *e);

/* Whoever lets several commands write into one entry asks before each: has it
 * room for what one of so many bytes writes at most? A command that may write
 * more, because it is about many jobs or large ones, sees to that itself.
 * Errors: ERR_LIMIT. */
MUST_USE enum err engine_has_room(const struct engine *e, size_t bytes,
                                  struct errbuf *err);

/* --- adding -------------------------------------------------------------- */

struct add_params {
    struct slice queue;
    const struct slice *payloads; /* one for ADD, n + behind for ADDM */
    uint32_t n;
    /* Of a call in parts: so many were before this one, and come behind it. The
     * first is examined and admitted for all of them. With a key each part is
     * remembered by itself, the later ones by the first job of all, so that the
     * call can be made again whatever has become of it. */
    uint32_t before, behind;
    struct id first;
    struct slice name; /* ID name: only with n = 1; empty: none */
    struct slice idempotency;
    const struct job_options *options;
    bool estimate; /* of one job: fill start_estimate_ms, and always state */
    /* an occurrence of a schedule; empty: none */
    struct slice schedule;
    uint64_t nominal_ms, occurrence;
};

struct add_result {
    struct id id;
    bool created;              /* false: UNIQUE named an older job */
    enum job_state state;      /* 0: of the same request again, not asked for */
    int64_t start_estimate_ms; /* from now; -1: unknown */
};

/* Add `n` jobs; results[0..n) are filled.
 *
 * Errors:
 *   ERR_SYNTAX    options that collide, a bad name
 *   ERR_LIMIT     payload too long, queue full (MAXLEN), too many names
 *   ERR_EXISTS    the name or (CONFLICT reject) unique key is taken
 *   ERR_STATE     CONFLICT replace of a running job
 *   ERR_MISMATCH  idempotency key used with another request
 *   ERR_NOTFOUND, ERR_CYCLE   parents
 */
MUST_USE enum err engine_add(struct engine *e, struct gather *g,
                             const struct add_params *p, struct now now,
                             struct add_result *results, struct errbuf *err);

/* Was the part of this call that begins behind `before` jobs added with its key
 * already? Then it had *n jobs.
 *
 * Errors: ERR_NOTFOUND: no, or not within a day. */
MUST_USE enum err engine_added(struct engine *e, struct gather *g,
                               const struct add_params *p, struct now now,
                               uint32_t *n, struct errbuf *err);

/* --- leasing ------------------------------------------------------------- */

struct lease_params {
    const struct slice *queues; /* in order of preference */
    uint32_t queues_n;
    uint32_t count;
    uint64_t lease_ms; /* 0: the job's own, else the queue's, else default */
    struct slice worker, session; /* no worker: that of the session, if any */
    const struct slice *handlers; /* only these; n = 0: any */
    uint32_t handlers_n;
    struct slice idempotency;
    const uint32_t *weights; /* one per queue: take turns; NULL: in order */
};

struct lease_view {
    struct slice token;
    struct id id;
    struct slice name, queue, handler, owner, payload;
    uint32_t attempt;  /* 1 + failures and crashes so far */
    uint32_t delivery; /* n of the token: a fencing number */
    uint32_t failures, crashes, retries, priority;
    uint64_t created_ms, lease_ms, timeout_ms, deadline_ms; /* 0: none */
    struct slice checkpoint, trace, meta, tags; /* tags: see word_next() */
    struct slice schedule; /* that made it, for its nominal time; or empty */
    uint64_t nominal_ms, occurrence;
};
typedef void (*lease_fn)(void *ud, const struct lease_view *v);

/* Lease up to `count` jobs and call `fn` for each.
 *
 * Errors:
 *   ERR_EMPTY     nothing can be leased now
 *   ERR_MISMATCH  idempotency key used with another request
 */
MUST_USE enum err engine_lease(struct engine *e, struct gather *g,
                               const struct lease_params *p, struct now now,
                               lease_fn fn, void *ud, struct errbuf *err);

/* The reply with these leases never left: take them back, uncounted. It may end
 * an entry, so it is never part of a command. */
void engine_lease_undo(struct engine *e, const struct slice *tokens, uint32_t n,
                       struct now now);

/* Stand in line for a lease with these parameters (copied). `w` keeps its place
 * until engine_unwait() or until its lease succeeds; asking again while in line
 * is free. False: a queue does not exist and there can be no more (names_max);
 * `w` then stands nowhere. */
bool engine_wait_lease(struct engine *e, struct waiter *w,
                       const struct lease_params *p);
/* Wait until one of these jobs ends. `states` is how they stand now: what has
 * ended stays so for this waiter, as does each end from now on, also if nothing
 * of the job is kept. */
void engine_wait_jobs(struct engine *e, struct waiter *w, const struct id *ids,
                      const enum job_state *states, uint32_t n);
bool engine_waits_for_jobs(const struct waiter *w);
/* The i-th of them: how it ended, or how it stands. */
MUST_USE enum err engine_waited(struct engine *e, struct gather *g,
                                const struct waiter *w, uint32_t i,
                                struct id *id, enum job_state *state,
                                struct errbuf *err);
/* Leave all lines; a wake-up that was meant for `w` goes to the next. */
void engine_unwait(struct engine *e, struct waiter *w);

/* A session is alive while a client that used it is connected;
 * session_grace_ms after the last one left its leases are lost, which counts as
 * a crash; of a draining worker, and of a session that no client has used since
 * the start, they are released. Tell every client's end: unknown ones are
 * cheap. */
void engine_session_attach(struct engine *e, struct slice session,
                           uint64_t client_id);
void engine_client_gone(struct engine *e, uint64_t client_id, struct now now);

/* --- with a lease -------------------------------------------------------- */

/* Called once per token, in order: ERR_OK, or why not (NOTFOUND, FINISHED,
 * STALE, in this order of examination; SYNTAX for what is no token). */
typedef void (*token_fn)(void *ud, uint32_t i, enum err rc, const char *why);

/* A list is worked off as a whole, or, with `cut`, as far as fits into a slice
 * of time: then *cut says how many from its beginning were answered for, or, if
 * ERR_PENDING, with how many to call again. Rows that are not in memory are
 * left to the reader. Call again behind others for the rest. */
struct ack_params {
    const struct slice *tokens;
    uint32_t n;
    uint32_t *cut;
    struct slice result; /* kept with the job; of all tokens */
    struct slice usage;  /* words, name and number in turn; of all tokens */
};
#define USAGE_MAX 16
/* Errors (of the call as a whole): ERR_PENDING, ERR_LIMIT. */
MUST_USE enum err engine_ack(struct engine *e, struct gather *g,
                             const struct ack_params *p, struct now now,
                             token_fn fn, void *ud, struct errbuf *err);

struct nack_params {
    const struct slice *tokens;
    uint32_t n;
    uint32_t *cut;
    struct slice error, type, stack, usage;
    int64_t code;
    bool has_delay, permanent, snooze; /* snooze: delay_ms, uncounted */
    uint64_t delay_ms;
    struct slice close; /* a limit to close until close_ms; empty: none */
    uint64_t close_ms;
};
MUST_USE enum err engine_nack(struct engine *e, struct gather *g,
                              const struct nack_params *p, struct now now,
                              token_fn fn, void *ud, struct errbuf *err);

/* Give back uncounted, to the old place. */
MUST_USE enum err engine_release(struct engine *e, struct gather *g,
                                 const struct slice *tokens, uint32_t n,
                                 uint32_t *cut, struct now now, token_fn fn,
                                 void *ud, struct errbuf *err);

enum lease_order { ORDER_CONTINUE, ORDER_CANCEL, ORDER_LOST };
/* `why` it is lost: as of token_fn; else ERR_OK. */
typedef void (*extend_fn)(void *ud, uint32_t i, uint64_t left_ms,
                          enum lease_order order, enum err why);
struct extend_params {
    const struct slice *tokens;
    uint32_t n;
    uint32_t *cut;     /* as in ack_params */
    uint64_t lease_ms; /* 0: keep the length */
};
/* Renew. A token that is not in force gets ORDER_LOST. */
MUST_USE enum err engine_extend(struct engine *e, struct gather *g,
                                const struct extend_params *p, struct now now,
                                extend_fn fn, void *ud, struct errbuf *err);

/* Errors of these three: those of token_fn. */
MUST_USE enum err engine_progress(struct engine *e, struct gather *g,
                                  struct slice token, uint32_t percent,
                                  struct slice text, struct now now,
                                  struct errbuf *err);
MUST_USE enum err engine_checkpoint(struct engine *e, struct gather *g,
                                    struct slice token, struct slice bytes,
                                    struct now now, struct errbuf *err);
/* *first: this effect was not yet done by any execution of the job. */
MUST_USE enum err engine_effect(struct engine *e, struct gather *g,
                                struct slice token, struct slice key,
                                struct now now, bool *first,
                                struct errbuf *err);

/* --- managing ------------------------------------------------------------ */

/* Stored in chores: never renumber. */
enum manage_verb {
    MANAGE_CANCEL = 1, /* waiting: at once; running: an order to stop */
    MANAGE_RUNNOW = 2, /* delayed or retrying: ready at once */
    MANAGE_HOLD = 3,   /* waiting: not until UNHOLD */
    MANAGE_UNHOLD = 4,
    MANAGE_RETRY = 5,  /* finished: ready again, with a fresh budget */
    MANAGE_DELETE = 6, /* waiting or finished: as if it had never been */
};

struct manage_params {
    enum manage_verb verb;
    const struct slice *jobs; /* ids or names */
    uint32_t n;
    uint32_t *cut;     /* as in ack_params */
    bool has_force;    /* CANCEL of a running job: end it by force ... */
    uint64_t force_ms; /* ... after so long; else config.cancel_force_ms */
};

/* For each job, in order: ERR_OK, or why not (SYNTAX, NOTFOUND, FINISHED,
 * STATE, EXISTS, LIMIT). What is so already is ERR_OK.
 *
 * Errors (of the call as a whole): ERR_PENDING, ERR_LIMIT. */
MUST_USE enum err engine_manage(struct engine *e, struct gather *g,
                                const struct manage_params *p, struct now now,
                                token_fn fn, void *ud, struct errbuf *err);

struct update_params {
    struct slice job;                  /* id or name */
    const struct job_options *options; /* what is given is changed */
    bool has_payload;
    struct slice payload;
};
/* Change a waiting job. Errors: ERR_SYNTAX (an option that cannot be changed:
 * uniqueness, owner), ERR_NOTFOUND, ERR_FINISHED, ERR_STATE (it runs),
 * ERR_LIMIT, ERR_PENDING. */
MUST_USE enum err engine_update(struct engine *e, struct gather *g,
                                const struct update_params *p, struct now now,
                                struct errbuf *err);

/* --- looking ------------------------------------------------------------- */

struct job_view {
    struct id id;
    struct slice name, queue, handler, owner;
    enum job_state state;
    uint32_t priority, retries, failures, crashes, deliveries;
    uint64_t created_ms, run_at_ms, finished_ms; /* 0: not */
    /* lease_ms: of a job that waits, what it gets if the worker says nothing */
    uint64_t lease_ms, timeout_ms, expires_at_ms, deadline_at_ms;
    uint64_t expect_ms; /* 0: none */
    enum sla sla;
    bool keep_given;
    uint64_t keep_ms;
    /* how it is retried, whether it says so or the server does */
    enum backoff backoff;
    uint64_t base_ms, cap_ms;
    double factor;
    uint32_t jitter, cost;
    struct slice unique, batch, trace, meta;
    enum unique_scope scope; /* of `unique`, if it has one */
    enum unique_while unique_while;
    uint64_t for_ms;           /* 0: not FOR */
    struct slice tags, limits; /* lists of words: see word_next() */
    struct slice payload;
    struct slice schedule; /* that made it, for its nominal time; or empty */
    uint64_t nominal_ms, occurrence;
    /* running */
    struct slice worker, session;
    uint64_t started_ms, lease_left_ms;
    uint32_t progress;
    struct slice progress_text, checkpoint;
    bool cancelling;
    /* finished, or failed before */
    struct slice reason; /* error, permanent, poison, lost, deadline ... */
    struct slice error, error_type;
    bool has_result;
    struct slice result;
};

/* `ref` is an id or a name. Errors: ERR_NOTFOUND, ERR_SYNTAX. */
MUST_USE enum err engine_find(struct engine *e, struct gather *g,
                              struct slice ref, struct id *id,
                              struct errbuf *err);
MUST_USE enum err engine_get(struct engine *e, struct gather *g,
                             struct slice ref, struct now now,
                             struct job_view *v, struct errbuf *err);

/* What it takes: its rows and, if it is in memory, its object (size.c).
 * Errors: ERR_NOTFOUND, ERR_SYNTAX. */
MUST_USE enum err engine_job_bytes(struct engine *e, struct gather *g,
                                   struct slice ref, uint64_t *bytes,
                                   struct errbuf *err);

/* The state alone. Errors: ERR_NOTFOUND, ERR_SYNTAX. */
MUST_USE enum err engine_state(struct engine *e, struct gather *g,
                               struct slice ref, struct now now,
                               enum job_state *state, struct errbuf *err);

/* The states of several, 0 where there is no such job; `cut` as in ack_params.
 * What `fn` was told is to be forgotten if this does not return ERR_OK.
 * Errors: ERR_SYNTAX. */
typedef void (*state_fn)(void *ud, enum job_state state);
MUST_USE enum err engine_states(struct engine *e, struct gather *g,
                                const struct slice *refs, uint32_t n,
                                uint32_t *cut, struct now now, state_fn fn,
                                void *ud, struct errbuf *err);

struct execution_view {
    uint32_t n;
    struct slice outcome; /* running completed failed lost released ... */
    uint64_t started_ms, ended_ms;
    struct slice worker, error, error_type, stack;
    int64_t code;
    struct slice usage; /* words, name and number in turn */
};
typedef void (*execution_fn)(void *ud, const struct execution_view *v);
/* Oldest first, at most the newest hundred. */
MUST_USE enum err engine_executions(struct engine *e, struct gather *g,
                                    struct slice ref, struct now now,
                                    execution_fn fn, void *ud,
                                    struct errbuf *err);

/* --- lists --------------------------------------------------------------- */

/* Which jobs; what is empty or 0 lets all pass. Times are wall ms. */
struct job_filter {
    struct slice queue, handler, owner, worker;
    struct slice key; /* UNIQUE */
    bool has_tag;
    struct slice tag_key, tag_value;
    struct slice id_prefix; /* as printed, any case */
    uint32_t states;        /* bits 1 << JOB_x */
    uint64_t created_from_ms, created_to_ms, finished_from_ms, finished_to_ms;
    uint64_t signature; /* of the error, see dead_signature() */
};

struct list_params {
    const struct job_filter *filter;
    struct slice cursor; /* empty: from the beginning */
    uint32_t count;      /* at most so many are told */
};

/* A cursor is a position, not a snapshot: it stays good whatever happens to
 * jobs. Live jobs come first, by age, then finished ones, by the time at which
 * they will be forgotten. A job that ends between two calls may be told twice;
 * none that keeps still is left out. */
#define CURSOR_MAX 320
struct list_result {
    uint64_t n, examined;
    char cursor[CURSOR_MAX]; /* text; empty at the end */
};

typedef void (*job_fn)(void *ud, const struct job_view *v);
/* The work of one call is bounded: it may tell fewer than `count`, even none,
 * with a cursor to go on from. Payloads of more than 512 bytes and results are
 * not read. If it says ERR_PENDING what `fn` was told is to be forgotten.
 *
 * Errors: ERR_SYNTAX (cursor, id prefix, ranges), ERR_PENDING. */
MUST_USE enum err engine_list(struct engine *e, struct gather *g,
                              const struct list_params *p, struct now now,
                              job_fn fn, void *ud, struct list_result *r,
                              struct errbuf *err);
/* How many fit. By counters if only queue and states are asked for (r->cursor
 * is empty then); else as many as one call may examine, from p->cursor on. */
MUST_USE enum err engine_count(struct engine *e, struct gather *g,
                               const struct list_params *p, struct now now,
                               struct list_result *r, struct errbuf *err);

/* The ready jobs that come next, as far as they are in memory, at most `count`
 * (100). Errors: ERR_NOTFOUND, ERR_PENDING (then forget what `fn` was told). */
MUST_USE enum err engine_peek(struct engine *e, struct gather *g,
                              struct slice queue, uint32_t count,
                              struct now now, job_fn fn, void *ud,
                              struct errbuf *err);

/* --- chores -------------------------------------------------------------- */

/* 0: no such verb. */
enum manage_verb manage_verb_parse(struct slice word);

struct bulk_params {
    enum manage_verb verb;
    const struct job_filter *filter; /* copied */
    bool dry;                        /* only count */
    uint64_t rate;                   /* jobs a second; 0: as fast as it goes */
};
/* Do the verb with all jobs that fit and are there now, in slices, whatever
 * happens meanwhile. Errors: ERR_SYNTAX, ERR_LIMIT. */
MUST_USE enum err engine_bulk(struct engine *e, const struct bulk_params *p,
                              struct now now, struct id *chore,
                              struct errbuf *err);

/* All that waits in the queue is gone; the chore frees its rows. Errors:
 * ERR_NOTFOUND, ERR_LIMIT. */
MUST_USE enum err engine_purge(struct engine *e, struct slice queue,
                               struct now now, struct id *chore,
                               struct errbuf *err);

/* And the queue with it: settings, counters and its place in lists. Errors: as
 * engine_purge(), ERR_STATE. */
MUST_USE enum err engine_queue_drop(struct engine *e, struct slice queue,
                                    struct now now, struct id *chore,
                                    struct errbuf *err);

struct chore_view {
    struct id id;
    struct slice verb, state; /* active done cancelled failed */
    const struct job_filter *filter;
    bool dry;
    uint64_t rate, examined, matched, done, refused;
    uint64_t created_ms, updated_ms, finished_ms;
};
typedef void (*chore_fn)(void *ud, const struct chore_view *v);
/* Those under way and those of the last day. */
void engine_chores(struct engine *e, chore_fn fn, void *ud);
MUST_USE enum err engine_chore(struct engine *e, struct slice id,
                               struct chore_view *v, struct errbuf *err);
/* What it has done stays done. ERR_STATE: a purge has happened already. */
MUST_USE enum err engine_chore_cancel(struct engine *e, struct slice id,
                                      struct now now, struct errbuf *err);

/* --- dead letters -------------------------------------------------------- */

/* Errors of one cause: the same type, the same message but for numbers and
 * ids. Never 0. */
uint64_t dead_signature(struct slice type, struct slice error);
/* The message with numbers and ids folded, at most `max` bytes of it. */
size_t dead_fold(struct slice text, char *out, size_t max);

struct dead_group {
    uint64_t signature;
    struct slice type, message;
    uint64_t count, first_ms, last_ms;
    struct id sample; /* the last one */
};
typedef void (*dead_fn)(void *ud, const struct dead_group *v);
/* The largest first, of as many dead letters as one call may look at; r->cursor
 * goes on from there, with the groups of what comes next. *complete: these were
 * all, and every group of them was told. */
MUST_USE enum err engine_dead_groups(struct engine *e, struct gather *g,
                                     struct slice queue, struct slice cursor,
                                     struct now now, dead_fn fn, void *ud,
                                     struct list_result *r, bool *complete,
                                     struct errbuf *err);

/* The first word of a list of words (tags: key and value in turn), which is
 * then one shorter; false at its end. */
bool word_next(struct slice *list, struct slice *word);
bool word_among(struct slice list, struct slice word);

/* --- queues -------------------------------------------------------------- */

struct queue_view {
    struct slice name;
    uint32_t id;
    bool exists, paused, fair, aging;
    uint64_t jobs[JOB_STATES]; /* by state, finished and kept ones too */
    uint64_t added, leased, completed, failed, cancelled, expired, retried,
        lost; /* since ever */
    uint64_t waiters;
    uint64_t oldest_ready_ms; /* since when, wall; 0: none waits, in memory */
    uint64_t maxlen, age_ms, lease_ms, keep_ms;
    uint32_t concurrency;
    struct rate rate;
    bool drops_oldest;
    bool keep_given;
};
/* Errors: ERR_NOTFOUND. */
MUST_USE enum err engine_queue(struct engine *e, struct slice queue,
                               struct now now, struct queue_view *v,
                               struct errbuf *err);
/* Bring the heads of a queue, or of all, to memory: after a start none is
 * there, and oldest_ready_ms knows no more than memory. */
MUST_USE enum err engine_queue_heads(struct engine *e, struct gather *g,
                                     struct slice queue, struct errbuf *err);
MUST_USE enum err engine_queues_heads(struct engine *e, struct gather *g,
                                      struct errbuf *err);
typedef void (*queue_fn)(void *ud, const struct queue_view *v);
/* By name; returns how many there are, with those that are on later pages. */
size_t engine_queues(struct engine *e, const struct page *page, queue_fn fn,
                     void *ud);

MUST_USE enum err engine_queue_pause(struct engine *e, struct slice queue,
                                     bool paused, struct now now,
                                     struct errbuf *err);

/* What QUEUE.SET changes: the fields with their flag. */
struct queue_settings {
    bool has_concurrency, has_rate, has_burst, has_maxlen, has_overflow,
        has_order, has_age, has_fair, has_lease, has_keep;
    uint32_t concurrency; /* 0: unlimited */
    struct rate rate;
    uint64_t maxlen;
    uint32_t overflow; /* 0 reject, 1 drop the oldest */
    uint32_t order;    /* 0 priority, 1 aging */
    uint64_t age_ms;
    bool fair;
    uint64_t lease_ms; /* 0: the default */
    uint64_t keep_ms;  /* UINT64_MAX: the default */
};
/* Errors: ERR_SYNTAX, ERR_LIMIT. */
MUST_USE enum err engine_queue_set(struct engine *e, struct slice queue,
                                   const struct queue_settings *s,
                                   struct now now, struct errbuf *err);

/* --- limits -------------------------------------------------------------- */

struct limit_rule {
    struct slice pattern;
    bool has_concurrency, has_rate, has_burst; /* to set */
    bool open; /* what a worker closed by exactly this name */
    uint32_t concurrency;
    struct rate rate;
};
/* Make or change the rule of a pattern; it applies at once to all names that
 * it matches. Errors: ERR_SYNTAX, ERR_LIMIT. */
#define RULES_MAX 1000
MUST_USE enum err engine_limit_set(struct engine *e, struct slice pattern,
                                   const struct limit_rule *set, struct now now,
                                   struct errbuf *err);
/* The rule goes, and what a worker closed by this name opens, also if there is
 * no such rule. Errors: ERR_NOTFOUND. */
MUST_USE enum err engine_limit_del(struct engine *e, struct slice pattern,
                                   struct now now, struct errbuf *err);
typedef void (*limit_rule_fn)(void *ud, const struct limit_rule *r);
/* Every rule, the most specific first. */
void engine_limits(struct engine *e, limit_rule_fn fn, void *ud);

struct limit_view {
    struct slice name, pattern; /* of the rule that applies; empty: none */
    uint32_t concurrency, running, reserved;
    struct rate rate;
    uint64_t room; /* starts that the rate allows now */
    bool full;
    uint64_t closed_ms, opens_ms; /* until when, wall; 0: not */
    uint64_t parked;              /* at least, if there are more */
    bool parked_more;
};
/* One name. Errors: ERR_NOTFOUND. */
MUST_USE enum err engine_limit(struct engine *e, struct slice name,
                               struct now now, struct limit_view *v,
                               struct errbuf *err);
/* Nothing starts under this name until then, or later, if somebody has said so:
 * who was told first may say it last. Errors: ERR_SYNTAX, ERR_LIMIT. */
MUST_USE enum err engine_limit_close(struct engine *e, struct slice name,
                                     uint64_t until_ms, struct now now,
                                     struct errbuf *err);

/* --- owners -------------------------------------------------------------- */

struct owner_settings {
    bool has_weight, has_live, has_running, has_adds;
    uint32_t weight;      /* 1 and more */
    uint64_t live_max;    /* 0: unlimited, as all of these */
    uint32_t running_max; /* at the same time */
    struct rate adds;
};
struct owner_view {
    struct slice name;
    struct owner_settings set;
    uint64_t live, running;
};
MUST_USE enum err engine_owner_set(struct engine *e, struct slice owner,
                                   const struct owner_settings *s,
                                   struct now now, struct errbuf *err);
/* Errors: ERR_NOTFOUND. */
MUST_USE enum err engine_owner(struct engine *e, struct slice owner,
                               struct owner_view *v, struct errbuf *err);
typedef void (*owner_fn)(void *ud, const struct owner_view *v);
/* Owners by number, from *cursor on, at most n; *cursor is 0 at the end. */
void engine_owners(struct engine *e, uint32_t *cursor, uint32_t n, owner_fn fn,
                   void *ud);

/* --- why ----------------------------------------------------------------- */

/* Why a job does not run, or what it does. */
struct why_view {
    struct id id;
    enum job_state state;
    struct slice reason; /* in line, queue paused, limit ... a fixed word */
    struct slice name;   /* of the queue, handler, limit or worker meant */
    char text[192];      /* a sentence */
    uint64_t place;      /* in line, from 1; 0: in no line */
    bool place_exact;    /* false: at least */
    uint64_t changes_ms; /* when that may change, wall; 0: not known */
    int64_t start_estimate_ms;
};
/* Errors: ERR_NOTFOUND, ERR_SYNTAX. */
MUST_USE enum err engine_why(struct engine *e, struct gather *g,
                             struct slice ref, struct now now,
                             struct why_view *v, struct errbuf *err);

/* --- for people and tests ------------------------------------------------ */

struct engine_stats {
    uint64_t jobs_live, jobs_finished, running, scheduled, ready;
    uint64_t queues, handlers, owners, lanes, sessions, waiters;
    uint64_t limits, parked_lanes, parked;
    uint64_t jobs_in_memory, window_entries, due_entries, memory_bytes;
    uint64_t refills, leases_lost, added, leased, completed, failed, faults;
    uint64_t schedules, schedule_repairs; /* as the guardian saw them last */
};
void engine_get_stats(const struct engine *e, struct engine_stats *out);

/* Compare rows with rows, and with the counters that engine_load() took from
 * them: a pass over each family, in bounded memory. Each finding is a sentence
 * that names family and row and says what is wrong. To be called when nothing
 * but engine_load() has changed the store, or after engine_commit().
 *
 * Errors: what reading the store returns. */
typedef void (*engine_finding_fn)(void *ud, const char *finding);
MUST_USE enum err engine_audit(struct engine *e, engine_finding_fn tell,
                               void *ud, struct errbuf *err);

/* That, and whether memory is as the rows are: slow, for tests and debug. The
 * first violation is told in *err (ERR_INTERNAL). */
MUST_USE enum err engine_check(struct engine *e, struct errbuf *err);

#endif
