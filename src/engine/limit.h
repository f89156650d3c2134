/* Names that limit what runs at the same time, and how often it starts.
 *
 *      rule "api:*"  -->  limit api:acme  -->  group (queue, handler)
 *                                                 `--> parked lanes
 *
 * A job names up to four limits. A rule applies to each name that its pattern
 * matches, by itself. A job that finds one of its names full moves under that
 * name, into the parked lane (name, lane), which is a lane with a window like
 * any other: it stands in its share's heap while the name is open, and jobs are
 * leased from it. Nothing moves back.
 *
 *      lane --- full: A ---> (A, lane) --- A open, full: B ---> (B, lane) --->
 *                                                     the eighth time: reserve
 *
 * Two kinds of limits have no rule: `owner:<name>` is an owner's quota of
 * running jobs, `queue:<name>` a queue's own bounds; the latter parks nothing,
 * the whole queue is closed.
 *
 * A name is in memory while something runs under it, is parked under it, or its
 * rate or closing time lies ahead. `open` is a flag: it goes down when a job is
 * refused or takes the last slot, and up by limit_settle(), which is called
 * when a slot is given back, when its time (a `due` row) has come, and when a
 * rule changes.
 *
 * Invariants (limits_check()):
 *  1. running and reserved equal a recount.
 *  2. A parked lane with jobs is in its share's heap (armed), or in its group's
 *     list `shut`, or its handler is closed and it is in that list.
 *  3. The law of wake-ups: in an open limit, each group with a lane in `shut`
 *     has an armed lane. A limit that is closed by time alone and has
 *     parked jobs has a `due` row no later than that time.
 */
#ifndef ENGINE_LIMIT_H
#define ENGINE_LIMIT_H

#include "engine/rate.h"
#include "engine/records.h"
#include "util/list.h"
#include "util/map.h"

struct engine;
struct handler;
struct job;
struct lane;
struct member;
struct owner;
struct queue;

/* Lanes of one group that stand in heaps at a time: a hundred thousand owners
 * under one name must not all be touched whenever it opens. */
#define PARK_ARMED 64
/* So many full names met make a job reserve. */
#define MET_MAX 8

/* Places for names that were looked up lately: a power of two. */
#define LIMIT_HINTS 4096

#define OWNER_LIMIT SLICE_LIT("owner:")
#define QUEUE_LIMIT SLICE_LIT("queue:")

struct limit {
    struct map_node by_name;
    struct slice name;
    struct queue *queue; /* of `queue:<name>` */
    struct owner *owner; /* of `owner:<name>` */
    uint64_t seen;       /* engine.rules_changed when settings were taken */
    const struct rule *rule;
    uint32_t concurrency; /* 0: unlimited */
    struct rate rate;
    uint32_t running, reserved;
    uint64_t tat_us, closed_ms; /* stored: see rec_limit */
    uint64_t rate_until_ms;     /* somebody was refused until then */
    uint64_t due_ms;            /* of its due row; 0: none */
    bool open, dirty, stored;
    bool resting;        /* was found idle once */
    struct list in_all;  /* engine.limits or limits_todo */
    struct list touched; /* in engine.touched_limits */
    struct list cooling; /* in engine.cooling_limits */
    struct list groups;
};

/* A limit's parked lanes of one queue and handler: any of them serves any
 * worker that may have one. */
struct park_group {
    struct list in_limit;
    struct limit *limit;
    struct queue *queue;
    struct handler *handler;
    struct list lanes; /* struct lane.in_group */
    struct list shut;  /* struct lane.shut: with jobs, not armed */
    uint32_t armed_n;
};

/* Settings by pattern. */
struct rule {
    struct slice pattern;
    struct rec_rule set;
    size_t literal; /* bytes that match themselves: the most specific wins */
};

/* The names of a job, its owner's last. `reserved` points into its row. */
struct job_names {
    struct limit *at[5];
    uint32_t n, cost;
    struct owner *owner; /* or NULL */
    struct slice reserved;
};

#endif
