/* Names that limit what runs at the same time, and how often it starts.
 *
 *      rule "api:*"  -->  limit api:acme  -->  group (queue, handler)
 *                                                 `--> parked lanes
 *
 * A job names up to four limits. A rule applies to each name that its pattern
 * matches, by itself. A job that finds one of its names full moves under that
 * name, into the parked lane (name, lane), which is a lane with a window like
 * any other: it stands in its part's line while the name is open, and jobs are
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
 *  2. A parked lane with jobs is in its part's line (armed), or in its group's
 *     list `shut`.
 *  3. The law of wake-ups: in an open limit, each group with a lane in `shut`
 *     has an armed lane. A limit that is closed by time alone and has
 *     parked jobs has a `due` row no later than that time.
 */
#ifndef ENGINE_LIMIT_H
#define ENGINE_LIMIT_H

#include "engine/job.h"
#include "engine/rate.h"
#include "engine/records.h"
#include "store/key.h"
#include "util/list.h"
#include "util/map.h"

struct engine;
struct gather;
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

#define OWNER_LIMIT SLICE_LIT("owner:")
#define QUEUE_LIMIT SLICE_LIT("queue:")

struct limit {
    /* What each life looks at lies together. */
    struct map_node by_name;
    struct slice name;
    uint64_t seen;        /* engine.rules_changed when settings were taken */
    uint32_t concurrency; /* 0: unlimited */
    uint32_t running, reserved;
    uint32_t rounds; /* of cool() since something ran under it */
    bool open, dirty, stored;
    bool gate; /* `queue:<name>` or `owner:<name>`: no job names it */
    struct rate rate;
    struct rate_paid paid; /* its tat and closed_ms are stored: see rec_limit */
    uint64_t closed_ms;
    struct list groups;
    uint64_t rate_until_ms; /* somebody was refused until then */
    struct list touched;    /* in engine.touched_limits */
    struct list cooling;    /* in engine.cooling_limits */
    struct list in_all;     /* engine.limits or limits_todo */
    uint64_t due_ms;        /* of its due row; 0: none */
    const struct rule *rule;
    struct queue *queue; /* of `queue:<name>` */
    struct owner *owner; /* of `owner:<name>` */
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
    struct slice reserved;
    uint64_t seen; /* of limits_known(): engine.limits_freed */
};

/* --- limit.c: names, slots and rates -------------------------------------- */

void limits_init(struct engine *e);
void limits_free(struct engine *e);
struct limit *limit_find(const struct engine *e, struct slice name);
void limits_expect(const struct job *j); /* see mem_expect() */
struct limit *limit_make(struct engine *e, struct slice name);
/* Something of it changed that is looked at once a tick. */
void limit_touch(struct engine *e, struct limit *l);
void limit_dirty(struct engine *e, struct limit *l); /* its row is to change */
/* Take the settings that apply now. */
void limit_refresh(struct engine *e, struct limit *l);
struct limit *queue_gate(struct engine *e, struct queue *q);
struct limit *owner_gate(struct engine *e, struct owner *o);
/* The limits of a job. `make`: also those that nothing runs under. */
void job_names(struct engine *e, struct job *j, bool make, struct job_names *n);
/* The same of names that a job will have. False: not all of them are in memory;
 * then they may be bad. */
bool limits_known(const struct engine *e, const struct slice *names,
                  uint32_t names_n, struct job_names *n);
/* It has just been made, and these are all. */
void job_names_are(struct job *j, const struct job_names *n);
/* Is there any? */
bool job_limited(const struct engine *e, const struct job *j);
/* May so much start now? If not, the flag `open` is down afterwards. */
bool limit_admits(struct engine *e, struct limit *l, uint32_t cost,
                  struct now now);
/* One that does not admit a job now, or NULL. */
struct limit *limit_refusing(struct engine *e, struct job *j, struct now now);
/* The same for who only looks: it closes nothing. */
struct limit *limit_in_the_way(struct engine *e, struct job *j, struct now now);
/* Find out whether it is open; wake who may go on, or see to it that somebody
 * will. */
void limit_settle(struct engine *e, struct limit *l, struct now now);
/* What it owes as of now, for who only looks. */
struct rate_paid limit_paid(const struct limit *l, struct now now);
/* Until when it lets nobody start, whatever the cost: the next under it may
 * cost more than others. 0: somebody may, or needs a slot. */
uint64_t limit_shut_ms(const struct limit *l, struct now now);
/* Its rate pays for a start. */
void limit_charge(struct engine *e, struct limit *l, uint32_t cost,
                  struct now now);
/* A rule was changed: every name is visited, in slices. */
void limits_changed(struct engine *e);
/* Timers run: if the wall clock was put back every name is visited, too. */
void limits_clock(struct engine *e, struct now now);
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

/* --- rule.c: settings by pattern ------------------------------------------ */

const struct rule *rule_for(const struct engine *e, struct slice name);
MUST_USE enum err rule_load_row(struct engine *e, struct slice key,
                                struct slice value, struct errbuf *err);
void rules_free(struct engine *e);
static inline bool limit_is_gate(struct slice name)
{
    return slice_has_prefix(name, OWNER_LIMIT) ||
           slice_has_prefix(name, QUEUE_LIMIT);
}
/* A name that a job or a worker may give. */
MUST_USE enum err limit_name_check(struct slice name, struct errbuf *err);
MUST_USE enum err rate_check(const struct rate *r, struct errbuf *err);
/* As it looks to what costs so much. */
void limit_view_of(struct engine *e, struct limit *l, uint32_t cost,
                   struct now now, struct limit_view *v);

/* --- park.c: where those stand that must wait ----------------------------- */

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
/* May this parked lane stand in its part's line? Keeps the lists. */
bool park_arm(struct engine *e, struct lane *l, bool work);
/* The limit has opened: lanes into heaps, waiters awake. */
void park_open(struct engine *e, struct limit *l, struct now now);
/* The place of a job by its row, and the name under which it is parked there:
 * the first of its own. ERR_NOTFOUND: it is not. */
struct park_place {
    const struct id *id;
    uint32_t lane;
    uint64_t order;
};
struct park_name {
    size_t len;
    char text[KEY_NAME_MAX];
};
MUST_USE enum err park_look(struct engine *e, struct gather *g,
                            const struct park_place *p,
                            const struct rec_more *m, struct park_name *name,
                            struct errbuf *err);
/* Is the job parked? Then it is marked so. */
MUST_USE enum err park_find(struct engine *e, struct gather *g, struct job *j,
                            struct errbuf *err);
/* So many jobs were moved in one call that others must have their turn. */
void park_sift(struct engine *e, struct queue *q);
/* A slice of the scan at start. */
MUST_USE enum err park_scan(struct engine *e, struct gather *g, struct now now,
                            struct errbuf *err);

#endif
