/* Lanes: where ready jobs stand in their order, how the next one is chosen
 * among them, and how a job gets to its place and leaves it. */
#ifndef ENGINE_LANES_H
#define ENGINE_LANES_H

#include "engine/state.h"

/* Its queue was purged: nothing in it can be seen any more. */
static inline bool lane_dead(const struct lane *l)
{
    return l->id <= l->queue->purged;
}

/* All that stand in its line are purged, or none does. */
static inline bool part_dead(const struct part *p)
{
    return p->lane <= p->share->queue->purged;
}

/* Nothing of the queue itself holds its jobs back. */
static inline bool queue_open(const struct queue *q)
{
    return q->set.paused == 0 && (q->gate == NULL || q->gate->open);
}

/* --- lane.c: the lanes of a queue ----------------------------------------- */

void lanes_init(struct engine *e);
uint64_t lane_head_order(const struct lane *l);
/* A member's order by the queue's present formula. */
uint64_t lane_order_now(const struct lane *l, const struct member *m);
/* The lane for arrivals, by the queue's present order; NULL: there is none. */
struct lane *lane_find(const struct engine *e, const struct queue *q,
                       const struct handler *h, const struct owner *o);
/* Or a new one; NULL: lanes_max. */
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
/* Bring rows from the store, at most so many, into an unread window. */
#define LANE_REFILL_ROWS 512
MUST_USE enum err lane_refill(struct engine *e, struct gather *g,
                              struct lane *l, uint32_t rows,
                              struct errbuf *err);
/* Have the next fetch of this gather bring what lane_refill() will want. */
void lane_wish(struct engine *e, struct gather *g, struct lane *l,
               uint32_t rows);
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
/* The queue's order has changed: all its lines anew, in slices if there are
 * many lanes. Until then some compete by what they were before. */
void lanes_reorder(struct engine *e, struct queue *q);
bool lanes_reorder_step(struct engine *e); /* true: there is more */
/* The best lane of the queue that is open and not empty, for one of the
 * handlers (n = 0: any); NULL if none. */
struct lane *lane_pick(struct engine *e, struct queue *q,
                       struct handler *const *handlers, uint32_t n);
/* Up to `most` lanes with work, in no order; `open`: none of closed handlers.
 */
uint32_t lanes_of(const struct queue *q, bool open, struct lane **out,
                  uint32_t most);
/* Bring those of them to memory that are unread, with one fetch. */
MUST_USE enum err lanes_read(struct engine *e, struct gather *g,
                             struct lane **lanes, uint32_t n,
                             struct errbuf *err);
void handler_open(struct handler *h, bool open);
/* Heads that are to be written once a tick. */
void lanes_commit(struct engine *e);
MUST_USE enum err lane_load_row(struct engine *e, struct slice key,
                                struct slice value, struct errbuf *err);
void lanes_free(struct engine *e);

/* --- fair.c: shares of owners --------------------------------------------- */

void shares_init(struct engine *e);
void shares_free(struct engine *e);
/* Found or made, with its share and its strand. */
struct part *part_for(struct engine *e, struct queue *q, struct handler *h,
                      struct owner *o);
/* NULL: the queue never had a job of the handler. */
struct strand *strand_find(const struct engine *e, const struct queue *q,
                           const struct handler *h);
bool part_less(const struct heap_node *a, const struct heap_node *b);
bool strand_less(const struct heap_node *a, const struct heap_node *b);
/* Its lanes, or the head of the best of them, have changed: to its place. */
void part_update(struct part *p);
/* Has it work that was not purged? */
bool strand_works(const struct strand *s);
/* The handler was opened or closed. */
void strand_update(struct strand *s);
/* A job will stand in this lane (or NULL): its memory can come meanwhile; then,
 * when that is there, what hangs from it. */
void lane_expect(const struct lane *l);
void lane_place_expect(const struct lane *l);
/* A job of it is leased: the memory of those that follow can come meanwhile. */
void strand_expect(const struct strand *s);
/* The queue's order has changed: queue.open is to be rebuilt afterwards. */
void strand_reorder(struct strand *s);
/* The same for one part, and to its place. */
void part_reorder(struct part *p);
/* The share is served: lane_update() of a lane of this part must follow, which
 * puts it in its new place. Did it pay? */
bool share_charge(struct part *p, uint32_t cost);
/* It has paid, and was not served after all. */
void share_refund(struct part *p, uint32_t cost);
/* What that does to its time, and to a copy's: first to the present of those
 * whose handler was open meanwhile, then by the cost. */
void share_catch_up(struct share *s, const struct strand *strand);
void share_pay(struct share *s, uint32_t cost);
/* The band of an order. */
uint64_t share_band(const struct queue *q, uint64_t order);

/* --- foretell.c: turns to come -------------------------------------------- */

/* How many are leased before the job, ready in a fair queue, if nothing else
 * comes and a worker takes whatever is next? False: that cannot be told from
 * memory, or not in a moment. */
bool shares_foretell(struct engine *e, const struct job *j, uint64_t *before);

/* --- place.c: where a job stands ------------------------------------------ */

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
/* What held back the queue's jobs (h: those of this handler) is gone: if one
 * may be leased now, wake up to `n` waiters and report. */
void ready_again(struct engine *e, struct queue *q, struct handler *h,
                 uint64_t n, struct now now);

/* --- ahead.c: reading what will be leased next ---------------------------- */

/* A job of the lane is leased: see that the next ones are in memory. */
void ahead_look(struct engine *e, struct lane *l);
/* Take in the next `n` rows that a fetch for `g` has brought of members from
 * the `from`th on, as far as there may be more jobs in memory. */
void ahead_take(struct engine *e, struct gather *g, struct lane *l,
                uint32_t from, uint32_t n);
/* Is that under way? Then the caller waits for it: the next trip is longer. */
bool ahead_comes(struct engine *e, const struct lane *l);

#endif
