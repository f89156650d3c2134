/* A window: the head of a long sorted run on disk, held in memory.
 *
 *      on disk   a  b  c  d  e  f  g  h  i  j  k ...
 *      window   [a  b  c  d  e] bound: f
 *                first    last
 *
 * Members are ordered by (order, id). Everything below the bound is in the
 * window; what is at or above it is only on disk, until a refill scans from the
 * bound. A complete window has no bound: nothing is only on disk.
 *
 * Lanes of ready and parked jobs and the near future (due) are windows. A
 * window knows nothing of rows: whoever owns it writes them and scans.
 *
 * Invariants (window_check()):
 *  1. Members are strictly ascending, and below the bound.
 *  2. An unused window has no memory: 100,000 lanes are cheap.
 *
 * A member may point at its job, loaded or not (NULL): the window borrows it.
 */
#ifndef ENGINE_WINDOW_H
#define ENGINE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "util/assert.h"
#include "util/id.h"

struct job;

struct member {
    uint64_t order;
    struct id id;
    uint64_t since_ms : 48, priority : 12;
    uint64_t met : 4; /* parked: full names met in turn */
    struct job *job;
};
#define MEMBER_PRIORITY(n) ((n)&4095u)
#define MEMBER_MET(n) ((n)&15u)

struct window {
    struct member *at;
    uint32_t first, len, cap;
    bool complete;
    uint64_t bound_order; /* valid if !complete */
    struct id bound_id;
};

/* A run of which nothing is on disk yet. */
void window_init(struct window *w);
/* A run of which nothing is in memory, and nothing on disk below `order`. */
void window_init_unread(struct window *w, uint64_t order);
void window_release(struct window *w);

static inline struct member *window_head(const struct window *w)
{
    return w->len == 0 ? NULL : &w->at[w->first];
}

static inline struct member *window_at(const struct window *w, uint32_t i)
{
    ASSERT(i < w->len);
    return &w->at[w->first + i];
}

/* Nothing, neither here nor on disk. */
static inline bool window_nothing(const struct window *w)
{
    return w->len == 0 && w->complete;
}

/* The head is only on disk: refill. */
static inline bool window_unread(const struct window *w)
{
    return w->len == 0 && !w->complete;
}

/* Is there room in the window for this one, or does it stay on disk only? */
bool window_wants(const struct window *w, uint64_t order, const struct id *id);

/* Put a member that window_wants() in its place. */
struct member *window_insert(struct window *w, const struct member *m);

/* The member with this key, or NULL. */
struct member *window_find(const struct window *w, uint64_t order,
                           const struct id *id);

/* Take a member out (one that window_head(), _at() or _find() returned). */
void window_remove(struct window *w, struct member *m);

/* Drop the members behind the first `keep`; `drop` is told of each. */
void window_trim(struct window *w, uint32_t keep,
                 void (*drop)(void *ud, struct member *m), void *ud);

/* A refill: append what a scan from the bound found, in order, then say where
 * it stopped: the bound lies behind the last one, or the run is complete. */
void window_append(struct window *w, const struct member *m);
void window_appended(struct window *w, bool complete);

void window_check(const struct window *w);

#endif
