/* What the engine has in memory: struct engine and what hangs from it. A job is
 * in job.h, a limit in limit.h, a window in window.h; core.h draws how they
 * hang together and says what is rebuilt at start. */
#ifndef ENGINE_STATE_H
#define ENGINE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "engine/handlers.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/records.h"
#include "engine/window.h"
#include "store/store.h"
#include "util/buf.h"
#include "util/heap.h"
#include "util/line.h"
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
    struct line open;            /* strands with work that may run */
    struct list strands;         /* all with lanes: struct strand.in_queue */
    uint32_t shares_n;           /* that have work */
    struct list reordering;      /* in engine.reordering: lanes_reorder() */
    uint32_t ranked_to;          /* up to this lane */
    struct share *plain;         /* of jobs without owner, or not fair */
    struct lane *default_lane;   /* plain, handler of the queue's name */
    struct handler *default_handler;
    struct list waiters; /* struct spot, FIFO */
    uint32_t waiters_n;
    uint32_t wanted;       /* by so many waiters, in line or woken */
    uint64_t virtual_now;  /* fair: the share served last */
    uint64_t turns;        /* given to shares */
    struct limit *gate;    /* its own concurrency and rate, or NULL */
    struct list sifting;   /* in engine.sifting: see park_sift() */
    struct list closed;    /* struct lane.closed: parked, and in no heap */
    uint64_t pace_from_ms; /* leases since then: for estimates */
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
    struct list strands;          /* struct strand.in_handler */
    struct lane *lane; /* that its last one without an owner was for, or NULL */
    struct breaker breaker;
};

struct owner {
    struct map_node by_name;
    struct slice name;
    struct rec_owner set;
    struct limit *gate; /* its quota of running jobs, or NULL */
    struct rate_paid adds;
    struct lane *lane; /* that its last job was for, or NULL */
};

/* What each life of a job looks at of owners whose ids follow each other. Their
 * live jobs are one row of NAMED_LIVE. */
struct live_block {
    uint32_t first;
    uint32_t quotas;     /* bits: has a gate, or is to have one */
    struct list touched; /* in engine.touched_lives */
    uint64_t n[LIVE_BLOCK];
    uint32_t running[LIVE_BLOCK];
};

/* A queue's lanes of one handler: whatever they hold, one step opens and closes
 * them. */
struct strand {
    struct map_node by_what;
    struct line_node in_open; /* queue.open */
    struct queue *queue;
    struct handler *handler;
    struct line parts;    /* those with lanes in them */
    uint64_t reopened_at; /* queue.virtual_now when its handler last opened */
    struct list in_queue, in_handler;
};

/* What is both of a share and of a strand. */
struct part {
    struct line_node in_strand;
    uint64_t band, head; /* of its best job, as of part_update() */
    uint32_t lane;       /* where that stands: part_dead() */
    struct share *share;
    struct strand *strand;
    struct line lanes; /* those with work that no name holds back, the least
                          head on top */
    struct list in_share;
    struct map_node by_what;
};

/* A queue's lanes of one owner: they have one virtual time. */
struct share {
    struct queue *queue;
    struct owner *owner; /* or NULL */
    uint32_t working;    /* of its parts, those with work */
    uint32_t purged;     /* queue.purged when these were counted */
    bool unseen;         /* since the start: nobody knows if it has any */
    uint32_t rest;       /* of the last division by its weight */
    uint64_t virtual_time;
    uint64_t turn; /* who came first to that time: see part_less() */
    /* Most have one part only: what part_less() reads lies together. */
    struct part first;
    struct list parts; /* struct part.in_share */
    uint64_t foretold; /* engine.foretold when it was looked at last */
    struct map_node by_what;
};

struct lane {
    /* What each lease looks at lies together: of many lanes none is still in
     * the processor's cache when it is its turn again. */
    struct window window;
    struct line_node in_part;
    uint64_t rank; /* lane_head_order(), as of lane_update() */
    uint32_t id;
    uint32_t taken; /* since the row was written */
    struct part *part;
    struct queue *queue;
    struct handler *handler;
    struct limit *limit;  /* under which it is parked; NULL: it is not */
    struct owner *owner;  /* or NULL */
    uint64_t head_stored; /* lower bound in the lane's row */
    uint64_t last_taken;  /* the bound of an empty lane */
    uint64_t age_ms;
    uint8_t scheme;
    bool armed;              /* parked: it stands in its part's line */
    struct map_node by_what; /* queue, handler, owner, order scheme */
    struct list closed;      /* in queue.closed */
    struct list touched;     /* in engine.touched_lanes */
    /* of a parked lane */
    struct list shut;  /* in group.shut */
    struct lane *base; /* where its jobs came from */
    struct park_group *group;
    struct list in_group;
};

struct session {
    struct map_node by_name;
    struct slice name;
    uint32_t clients_n;
    bool seen;             /* a client, since the start */
    uint64_t ends_mono_ms; /* 0: alive */
    struct heap_node by_end;
    struct list leases; /* struct job.of_session */
    struct list ties;   /* struct tie.of_session */
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
    struct list by_seen;        /* in engine.workers_seen, if registered */
    bool has_session;           /* it is in ... */
    struct map_node by_session; /* ... engine.session_workers */
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

/* Finished work that will be forgotten in the same hour (done.c). */
struct bucket {
    uint32_t hour;
    uint64_t oldest_ms, newest_ms; /* its jobs were created within */
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
    uint32_t size; /* of a trip */
    uint32_t rows; /* of jobs that were asked for */
    uint32_t keys; /* and so many that stand behind the window */
    bool late;     /* somebody waits for it */
};

/* What a new job is made of (add.c). */
struct draft_bytes {
    struct buf more, limits, tags;
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
    uint64_t foretold;       /* shares_foretell() so often */
    uint64_t arrival_ms;     /* nor do arrivals, by much: arrival_ms() */

    struct map queues_by_name, handlers_by_name, owners_by_name;
    struct queue **queues;
    struct handler **handlers;
    struct owner **owners;
    struct live_block **lives; /* by id / LIVE_BLOCK */
    struct lane **lanes;       /* by id; NULL: none */
    uint32_t queues_n, handlers_n, owners_n, lives_n, lanes_n;
    uint32_t queue_last; /* highest number of a queue */
    uint32_t lane_last;  /* of a lane; no number is given twice */
    uint32_t purged_queues;
    struct map lanes_by_what, shares_by_what, strands_by_what, parts_by_what;
    struct list touched_queues, touched_lanes, touched_counts, touched_lives;

    /* limits and what is parked under them (limit.h) */
    struct map limits_by_name, parked_by_what;
    struct list limits, limits_todo; /* all: visited since a change, or not */
    uint32_t limits_n, parked_lanes_n;
    uint32_t limits_came; /* were made since the last cool() */
    struct list touched_limits, cooling_limits, sifting, reordering;
    struct rule **rules; /* the most specific first */
    uint32_t rules_n;
    uint64_t rules_changed;  /* grows with each change of a rule */
    uint64_t limits_freed;   /* so many so far: see names_known() */
    uint64_t limits_wall_ms; /* the clock as limits_clock() saw it */
    bool scan_on;            /* of parked, at start */
    struct buf scan_from;

    struct pool pool;
    struct map jobs;          /* struct job.by_id */
    struct buf scratch;       /* of encoders, for the moment */
    struct buf more;          /* as scratch, of what goes into a row */
    struct buf shown;         /* what the last view borrows */
    struct buf tokens;        /* of a batch: struct token */
    struct draft_bytes draft; /* room for the next one */
    uint64_t window_members;
    size_t owed_bytes; /* at most so many does engine_commit() add */

    struct line leases; /* struct job.by_deadline */
    struct map sessions, workers, clients;
    struct map session_workers; /* struct worker.by_session */
    struct heap sessions_ending;
    struct list workers_seen; /* registered, the longest silent first */
    uint32_t draining_n;      /* workers */

    struct window due; /* order: time and kind (due.c) */
    uint64_t due_head_stored, due_last;
    uint32_t due_taken;

    struct bucket *buckets; /* of `done` that hold something, ascending */
    uint32_t buckets_n, buckets_cap;
    struct map done_counts;
    struct done_count *last_count;        /* the one used last */
    uint64_t loaded_mono_ms, forget_from; /* brake of forgetting */
    struct recent *recent;

    struct map job_waits; /* waiters for the end of a job */
    struct map key_waits; /* those for a lease, by IDEMPOTENCY key */
    struct map askers;    /* and by worker or session (wait.c) */
    uint32_t waiters_n;
    uint64_t turns;

    /* The timers' own gather: one actor at a time. */
    struct gather *timer_gather;
    bool timer_fetching;
    uint64_t full_again_ms; /* monotonic: look whether the store has room */
    uint64_t timer_faults;  /* rows that a timer could not use */

    struct ahead ahead;
    struct guard guard;
    uint64_t schedule_ends; /* jobs of schedules that ended */
    struct list chores;
    uint32_t chores_n;
    struct gather *chore_gather;
    bool chore_fetching, chore_came; /* ... and its rows are here */
    uint64_t chore_next_mono_ms, chore_ran_mono_ms;

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

#endif
