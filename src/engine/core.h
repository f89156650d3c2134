/* Inside of the engine: what its files share. Nobody else includes this.
 *
 *   queue --- share (one per owner where the queue is fair) --- lane (handler)
 *     |                                                            |
 *   waiters (FIFO)                                     window of `ready`
 *
 * This brings all of it; each part has its header:
 *
 *   state.h    the structs       names.h    queues, handlers, owners
 *   lanes.h    ready jobs        due.h      what is to happen at a time
 *   leases.h   running jobs      limit.h    limits, and who waits for them
 *   ends.h     finished jobs     keys.h     aliases, unique keys
 *   chores.h   many jobs         view.h     what is shown
 *
 * Each idea has its file. To add one, look here for its seam:
 *
 *   idea            file          seam
 *   limits          limit.h       park_gate() is asked before a job is leased;
 *                                 limits_release() when a lease ends
 *   fairness        fair.c        share_less(), share_charge(), share_arrive()
 *   breaker         breaker.c     handler_refresh(); breaker_settle()
 *   dead letters    dead.c        lists of `done`, state failed; revive()
 *   chores          chore.c       engine_tick() calls chore_step()
 *   purging         purge.c       lane_dead(), job_purged()
 *   schedules       schedule.h    due_fire_other() by kind
 *   workers         worker.c      struct worker; lease_begin()/lease_end()
 *   filters         list.c        list_walk()
 *   dependencies    -             finish.c calls settle_outcome()
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

#include "engine/chores.h"
#include "engine/due.h"
#include "engine/ends.h"
#include "engine/engine.h"
#include "engine/handlers.h"
#include "engine/job.h"
#include "engine/keys.h"
#include "engine/lanes.h"
#include "engine/leases.h"
#include "engine/limit.h"
#include "engine/names.h"
#include "engine/records.h"
#include "engine/state.h"
#include "engine/view.h"
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

/* --- wait.c: those who wait for jobs -------------------------------------- */

/* A job became ready: wake the first in line who may have it. With h == NULL
 * something else changed: those for whom there is a job now. */
void wait_wake(struct engine *e, struct queue *q, struct handler *h,
               uint64_t n);
void wait_job_ended(struct engine *e, const struct id *id,
                    enum job_state state);
/* Does a call wait with this IDEMPOTENCY key that asks for something else? */
bool wait_differs(const struct engine *e, const struct lease_params *p);
/* A request with this IDEMPOTENCY key got jobs. */
void wait_served(struct engine *e, struct slice key);
/* Does a call of it wait, or one of its session that names no worker? */
bool wait_worker(const struct engine *e, struct slice name,
                 struct slice session);
/* NULL: all is well. */
const char *waits_check(struct engine *e);
void waits_init(struct engine *e);
void waits_free(struct engine *e);

/* --- take.c --------------------------------------------------------------- */

/* A hash of all that makes it the same request, the key and BLOCK aside. */
uint64_t lease_request(const struct lease_params *p);

/* --- report.c: events ----------------------------------------------------- */

void report(struct engine *e, enum event_type type, const struct job *j,
            struct now now, uint64_t took_ms, struct slice text);

void report_event(struct engine *e, const struct event *ev);
/* A row that cannot be right: told as an event, never fatal here. */
void fault(struct engine *e, struct now now, const struct errbuf *why);

/* --- add.c ---------------------------------------------------------------- */

void draft_free(struct engine *e);

/* --- engine.c ------------------------------------------------------------- */

struct id id_next(struct engine *e, const struct queue *q, struct now now);
/* Since when a job is ready that becomes ready now by itself: jobs of one
 * priority are leased in the order in which they arrived. */
uint64_t arrival_ms(struct engine *e, struct now now);
/* A slice of long work: has it had its millisecond, or filled the entry? */
void slice_begin(struct engine *e);
bool slice_over(const struct engine *e);
bool slice_full(const struct engine *e); /* the latter */
/* A list that may be cut (see ack_params): its rehearsal has a part of a slice,
 * what is done then has one. Does either end behind number `i`? */
void cut_begin(struct engine *e, struct gather *g);
bool cut_here(const struct engine *e, uint32_t i);

/* The changes of one entry have their bound (docs/decisions/0022), so a step
 * that writes asks first: whether there is room for the bodies that it moves,
 * and for STEP_BYTES, which is more than any step writes beside them and beside
 * the words of its command. */
#define STEP_BYTES ((size_t)128 << 10)
/* More than a row has beside its key and value, and than a small one has. */
#define ROW_BYTES ((size_t)64)

static inline size_t entry_bytes(const struct engine *e)
{
    return store_entry_bytes(e->store) + e->owed_bytes;
}

/* ERR_LIMIT: not in this entry. */
MUST_USE enum err entry_has_room(const struct engine *e, size_t bytes,
                                 struct errbuf *err);
/* A full one ends here, so that what follows begins with room for any one job.
 * Never inside of a command. */
void entry_cut(struct engine *e, struct now now);
/* The timers miss rows: fetch them, timers wait meanwhile. */
void timer_fetch(struct engine *e);

#endif
