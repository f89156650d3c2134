/* Inside of a world: what world.c (time, crashes), world_ops.c (which operation
 * comes next), world_jobs.c (jobs) and the others, each of which has its part
 * below, share. */
#ifndef SIM_WORLD_IMPL_H
#define SIM_WORLD_IMPL_H

#include "breakers.h"
#include "clock.h"
#include "crew.h"
#include "gates.h"
#include "keys.h"
#include "quotas.h"
#include "room.h"
#include "turns.h"
#include "undo.h"
#include "util/hash.h"
#include "world.h"

#define QUEUES 3
#define CLOCK_QUEUE QUEUES /* where schedules put their jobs */
#define HELD_MAX 512       /* tokens that clients remember, also stale ones */
#define CLIENTS 100        /* so many may wait for the disk */
#define LEASE_COUNT 8
#define CALM_LEASES 20 /* times as long */
#define CALM_HELD 16
#define ASKED_MAX 16 /* requests that clients may repeat */
#define BORN_MAX 64  /* jobs of one alarm: a slice of a backfill */

enum op_kind {
    OP_ADD,
    OP_LEASE,
    OP_ACK,
    OP_NACK,
    OP_RELEASE,
    OP_EXTEND,
    OP_GET,
    OP_MANAGE,
    OP_PURGE,
    OP_BULK,
    /* of schedules, see world_clock_ops.c */
    OP_SET,
    OP_DEL,
    OP_PAUSE,
    OP_RESUME,
    OP_RUN,
    OP_BACKFILL,
    OP_GATES, /* see world_gates.c */
    OP_CREW,  /* see world_crew.c */
    OP_NOTE,  /* see world_notes.c */
    OP_UPDATE,
    OP_ROOM,   /* see world_room.c */
    OP_TURNS,  /* see world_turns.c */
    OP_QUOTAS, /* see world_quotas.c */
    OP_WAIT    /* see world_waits.c */
};

enum {
    UPDATE_PAYLOAD = 1,
    UPDATE_RETRIES = 2,
    UPDATE_PRIORITY = 4,
    UPDATE_DELAY = 8,
    UPDATE_GATES = 16
};

struct held {
    uint32_t k, delivery, epoch;
    char text[64];
    uint8_t len;
};

struct op {
    struct list in; /* world.fetching or world.answered */
    enum op_kind kind;
    uint8_t queue;
    uint32_t k, count;
    uint64_t delay_ms, lease_ms;
    uint32_t retries, priority;
    bool permanent;
    enum manage_verb verb;
    uint64_t force_ms;
    struct held held;
    uint32_t schedule;
    struct clock_settings set;
    uint64_t from_ms, to_ms;
    /* of a job that is added */
    uint8_t owner, handler;
    uint32_t gates, cost;
    uint32_t n; /* so many, numbered from k on */
    struct key_use use;
    char words[3][16];
    uint64_t expires_ms, total_ms; /* EXPIRES, DEADLINE, from its start on */
    uint64_t timeout_ms;           /* of each execution */
    bool again;                    /* a request that was sent before */
    uint32_t jobs[KEYS_JOBS];      /* the model's numbers of what came of it */
    uint32_t update, number;       /* what is changed, see world_notes.c */
    uint8_t only;                  /* LEASE: this handler, and 1; 0: any */
    /* of a lease, see world_crew.c */
    uint8_t worker, session, queue2; /* and 1; 0: none */
    bool nameless;                   /* its session says which worker it is */
    uint32_t weights[2];             /* 0: the first queue comes first */
    uint8_t line;
    uint32_t request, again_n; /* 0: it has no key */
    uint8_t variant;           /* 0: as it was asked first with that key */
    uint64_t block_ms, deadline_ms;
    struct waiter waiter;
    struct list *woken;
    uint64_t turn, came; /* came: its turn before it took over another's */
    bool in_line, passed_on;
    bool left_line; /* the engine woke it since it stood */
    bool served;    /* a request with its key was, since one of them stood */
    /* of who waits for jobs to end, see world_waits.c */
    bool any;
    enum job_state states[KEYS_JOBS]; /* as they were when it asked */
    uint32_t wakes, ends[KEYS_JOBS];  /* how often they had ended */
    struct gather *gather;
    bool ready; /* its rows have come */
    bool done;
    uint64_t index; /* its answer may be seen from here on */
    /* leases that the answer carries */
    struct held got[LEASE_COUNT];
    uint32_t got_n;
};

struct world {
    const struct world_options *o;
    struct world_report *r;
    struct rng rng;
    struct mem_disk *disk;
    struct store *store;
    struct engine *engine;
    struct engine_config config;
    struct now now;
    unsigned applies; /* of 1,000 ticks, so many apply something */
    uint64_t watch_us, watch_step;
    struct model *model;
    struct undo *undo;         /* of what follows */
    struct gates *gates;       /* NULL: a world without limits */
    struct breakers *breakers; /* NULL: a world without them */
    struct crew *crew;         /* NULL: a world without workers */
    struct crew_world *crew_world;
    struct list waiting, woken;
    bool waits; /* a world of clients that wait for jobs to end */
    struct list expecting;
    struct keys *keys; /* NULL: a world without keys */
    struct op asked[ASKED_MAX];
    uint32_t asked_n;
    struct room *room;     /* NULL: a world of queues without bounds */
    struct quotas *quotas; /* NULL: a world without them */
    struct turns *turns;   /* NULL: a world of queues that are not fair */
    bool turns_alone;      /* owners take turns by their law */
    uint64_t ages[QUEUES]; /* 0: by priority ... */
    bool flat[QUEUES];     /* ... of which all jobs have the same */
    bool large;            /* weights of owners: see TURNS_LARGE */
    const struct op *adds; /* what adds jobs just now */
    bool ends;             /* of EXPIRES, DEADLINE and TIMEOUT */
    bool weighs; /* a world of leases by weights; nothing is in their way */
    double ahead, variance; /* of what they got from their first queue */
    bool notes;             /* a world whose workers note things down */
    uint32_t owners;        /* so many have jobs */
    struct clocks *clocks;  /* NULL: a world without schedules */
    uint32_t region;        /* where the clock is about to change */
    uint64_t wall_max_ms;
    bool timers, reaping;     /* what happens now is nobody's command */
    struct id born[BORN_MAX]; /* jobs added since the last look */
    uint32_t born_n;
    bool lost; /* a lease, this moment: of job lost_k */
    uint32_t lost_k;
    uint64_t live[CLOCK_SCHEDULES]; /* as of the last look */
    uint32_t made_room; /* bits: schedules, and 1, that have stopped jobs */
    struct list fetching, answered;
    struct held held[HELD_MAX];
    uint32_t held_n, next_k;
    uint64_t seen_index; /* clients have seen answers up to here */
    bool draining;
    struct errbuf e;
};

/* --- world.c ------------------------------------------------------------- */

void note(struct world *w, uint64_t a, uint64_t b);
void violate(struct world *w, const struct op *op, const char *what);
void violate_job(struct world *w, uint32_t k, const char *what);
void trace(const struct world *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool chance(struct world *w, uint32_t per_1000);
const char *world_queue(const struct world *w, uint32_t queue);
/* A tick without new operations. True if nothing moved. */
bool world_tick(struct world *w);

/* --- world_ops.c --------------------------------------------------------- */

/* A new operation, and run it: it is freed when its client has the answer. */
struct op *world_op(struct world *w, enum op_kind kind);
void world_op_run(struct world *w, struct op *op);
void world_op_free(struct world *w, struct op *op);
/* Draw one, and run it. */
void world_op_next(struct world *w);

/* --- world_jobs.c, world_lease.c ----------------------------------------- */

enum err jobs_run_add(struct world *w, struct op *op);
enum err jobs_run_verb(struct world *w, struct op *op);
enum err jobs_run_manage(struct world *w, struct op *op);
enum err jobs_run_purge(struct world *w, struct op *op);
enum err jobs_run_bulk(struct world *w, struct op *op);
/* Ask for a job and tell its model. */
enum err look_at(struct world *w, struct op *op);
enum err lease_run(struct world *w, struct op *op);

/* --- world_events.c ------------------------------------------------------ */

void events_on(void *ud, const struct event *ev);
/* The reaper's word on the last lease that was lost has come. */
void events_lost(struct world *w);

/* --- idle.c -------------------------------------------------------------- */

void idle_look(struct world *w);
/* While it reads for a timer or a chore nothing seems to move. */
bool idle_reads(const struct world *w);

/* --- world_gates.c ------------------------------------------------------- */

void gates_begin(struct world *w);
/* What a new job must pass, and how that is said. */
void gates_draw(struct world *w, struct op *op);
void gates_options(const struct op *op, struct job_options *o);
struct slice gates_handler_name(const struct world *w, uint32_t queue,
                                uint32_t handler);
/* Change a setting. */
enum err gates_run(struct world *w);
/* Everything that was added must be able to end. */
void gates_drain(struct world *w);

/* --- world_breakers.c ---------------------------------------------------- */

void breakers_begin(struct world *w);
/* Change a setting, or move one by hand. */
enum err breakers_run(struct world *w);
/* Is it about a breaker? Then it is told. */
bool breakers_event(struct world *w, const struct event *ev);
/* An execution ended so; all that comes of it has been said. */
void breakers_tell(struct world *w, uint32_t k, enum told told);
void breakers_flush(struct world *w);
void breakers_idle(struct world *w);

/* --- world_crew.c -------------------------------------------------------- */

void crew_begin(struct world *w);
void crew_end(struct world *w);
/* Who asks for a lease, and how. */
void crew_draw(struct world *w, struct op *op);
/* Ask; ERR_BUSY: it stands in line. */
enum err crew_ask(struct world *w, struct op *op, struct lease_params *p,
                  lease_fn fn, void *ud);
/* A lease: is it one that this request got before? If not, was it its turn? */
bool crew_same_lease(struct world *w, struct op *op, uint32_t k,
                     uint32_t delivery);
void crew_lease(struct world *w, struct op *op, uint32_t k);
/* Does somebody stand in line who may have this job and came before? */
bool crew_waits_for(const struct world *w, uint32_t k, uint64_t before);
/* Has its worker lost the connection? Then nobody gets the reply. */
bool crew_left(const struct world *w, const struct op *op);
/* An operation is over. */
void crew_let_go(struct world *w, struct op *op);
/* Those who were woken or gave up. True if nobody was. */
bool crew_tick(struct world *w);
/* Cut somebody off, or have a worker drain. */
enum err crew_run(struct world *w);
void crew_idle(struct world *w);
void crew_leave(struct world *w, bool crashed);

/* --- world_ends.c -------------------------------------------------------- */

void ends_draw(struct world *w, struct op *op);
void ends_options(const struct op *op, struct job_options *o);
/* Does a lease show it? */
void ends_leased(struct world *w, uint32_t k, const struct lease_view *v);
/* This job was told so. */
void ends_said(struct world *w, const struct op *op, uint32_t k);
/* Is a change of its times no good? */
bool ends_refuse(const struct world *w, const struct op *op, uint32_t k);
void ends_idle(struct world *w);

/* --- world_room.c -------------------------------------------------------- */

void room_begin(struct world *w);
/* Say how many a queue holds. */
enum err room_run(struct world *w);
/* Jobs were added, or refused: had they to be? False if they were refused
 * because there is no room. */
bool room_judge(struct world *w, const struct op *op, enum err rc);
/* One goes to make room for what is added. */
void room_drop(struct world *w, const struct id *id);

/* --- world_quotas.c ------------------------------------------------------ */

void quotas_begin(struct world *w);
/* Say what an owner may add. */
enum err quotas_run(struct world *w);
/* Are they shown as they were said? */
void quotas_look(struct world *w);
/* What must come of a request, before it is made; and was it right? False if it
 * was refused because of a quota. */
enum quota_word quotas_expect(const struct world *w, const struct op *op);
bool quotas_judge(struct world *w, const struct op *op,
                  enum quota_word expected, enum err rc, bool made);

/* --- world_waits.c ------------------------------------------------------- */

void waits_begin(struct world *w);
/* For which jobs, and how long. */
void waits_draw(struct world *w, struct op *op);
/* Ask; ERR_BUSY: it waits. */
enum err waits_run(struct world *w, struct op *op);
/* An operation is over. */
void waits_leave(struct world *w, struct op *op);
/* Those who were woken or gave up. True if nobody was. */
bool waits_tick(struct world *w);
/* Were those woken who had to be, and no others? */
void waits_look(struct world *w);
/* Nobody may be left. */
void waits_end(struct world *w);

/* --- world_turns.c ------------------------------------------------------ */

/* `alone`: nothing else has a say in whose turn it is. */
void turns_begin(struct world *w, bool alone);
/* Say what was not said yet, or was lost by a crash or with a queue. */
void turns_say(struct world *w);
void turns_crash(struct world *w);
/* Change something. */
enum err turns_run(struct world *w);
/* What a job of this queue may have, instead of this. */
uint32_t turns_priority(const struct world *w, uint32_t queue,
                        uint32_t priority);

/* --- world_weights.c ----------------------------------------------------- */

/* From which second queue, and how often from which. */
void weights_draw(struct world *w, struct op *op);
/* This job is leased, and its model does not know yet. */
void weights_leased(struct world *w, const struct op *op, uint32_t k);
/* It was answered. */
void weights_asked(struct world *w, const struct op *op, enum err rc);
void weights_end(struct world *w);

/* --- world_notes.c ------------------------------------------------------- */

void notes_draw(struct world *w, struct op *op);
enum err notes_run(struct world *w, struct op *op);
/* Does a lease, or GET, show what was noted down? */
void notes_leased(struct world *w, const struct op *op, uint32_t k,
                  const struct lease_view *v);
void notes_seen(struct world *w, const struct op *op, const struct job_view *v);
void update_draw(struct world *w, struct op *op);
enum err update_run(struct world *w, struct op *op);

/* --- world_keys.c -------------------------------------------------------- */

void keys_begin(struct world *w);
/* Which keys a request gives, or which request it repeats: drawn last. */
void keys_draw(struct world *w, struct op *op);
void keys_options(struct op *op, struct add_params *p, struct job_options *o);
/* Was the answer right, and what has come of it? */
enum key_outcome keys_judge(struct world *w, struct op *op, enum err rc,
                            const struct add_result *results);
/* Would new jobs come of it? */
bool keys_make(const struct world *w, const struct op *op);
/* Or change a job. */
bool keys_replace(const struct world *w, const struct op *op, uint32_t *k);
/* May it not live again, because another one has its key? */
bool keys_barred(const struct world *w, uint32_t k);

/* --- world_clock.c ------------------------------------------------------- */

void clock_begin(struct world *w);
void clock_end(struct world *w);
/* A job was made. */
void clock_born(struct world *w, const struct event *ev);
/* This one had to make room for another one of its schedule. */
void clock_stopped(struct world *w, uint32_t k);
/* Something else than alarms happened: jobs may have ended. */
void clock_look(struct world *w);
/* One slice of the engine went by. */
void clock_ticked(struct world *w);
/* Nothing is due any more. */
void clock_idle(struct world *w);
/* Count rows and jobs. */
void clock_check(struct world *w);
/* How far the wall clock may be set. */
void clock_step(struct world *w);
bool clock_drained(struct world *w);

/* --- world_clock_ops.c --------------------------------------------------- */

/* Draw an operation, and run it. */
enum op_kind clock_pick(struct world *w);
void clock_draw(struct world *w, struct op *op);
enum err clock_run(struct world *w, struct op *op);

/* The world looks at the engine for itself: nothing is evicted meanwhile, as
 * its reads block. Returns what eviction() takes to be as before. */
static inline unsigned no_eviction(struct world *w)
{
    unsigned was = mem_knobs(w->disk)->pending_per_1000;
    mem_knobs(w->disk)->pending_per_1000 = 0;
    return was;
}

static inline void eviction(struct world *w, unsigned per_1000)
{
    mem_knobs(w->disk)->pending_per_1000 = per_1000;
}

#endif
