#include "clock.h"

#include <string.h>

#include "times.h"
#include "util/alloc.h"
#include "util/assert.h"

/* The engine may stop walking and go on in its next slice, not sooner. */
#define SLICE_MIN 100

/* Grows only; a state says how much of it is valid. */
struct ledger {
    uint64_t *at;
    size_t cap;
};

struct state {
    bool exists, paused, filling;
    struct clock_settings set;
    uint64_t next_ms, due_ms, high_ms;
    uint64_t offset_ms; /* of the alarm behind the nominal time */
    uint64_t fired, missed, overlapped, manual;
    uint64_t completed_before, failed_before;
    size_t head, tail;     /* of the times that wait */
    size_t decided, older; /* times that had their job; by earlier lives */
    uint64_t fill_from_ms, fill_to_ms;
    bool fill_moved; /* the timing changed meanwhile */
};

struct undo {
    uint64_t index; /* 0: the open entry */
    uint32_t s;
    struct state was;
};

struct clocks {
    struct state now[CLOCK_SCHEDULES];
    struct ledger waiting[CLOCK_SCHEDULES], decided[CLOCK_SCHEDULES];
    struct undo *undo;
    size_t undo_n, undo_cap;
};

struct clocks *clocks_new(void)
{
    return NEW(struct clocks);
}

void clocks_free(struct clocks **c)
{
    for (uint32_t s = 0; s < CLOCK_SCHEDULES; s++) {
        mem_free((*c)->waiting[s].at);
        mem_free((*c)->decided[s].at);
    }
    mem_free((*c)->undo);
    FREE(c);
}

bool clocks_exists(const struct clocks *c, uint32_t s)
{
    return c->now[s].exists;
}

uint64_t clocks_next_ms(const struct clocks *c, uint32_t s)
{
    return c->now[s].next_ms;
}

const struct clock_settings *clocks_settings(const struct clocks *c, uint32_t s)
{
    return &c->now[s].set;
}

/* --- changes that can be taken back -------------------------------------- */

static struct state *change(struct clocks *c, uint32_t s)
{
    if (c->undo_n == c->undo_cap) {
        size_t cap = c->undo_cap == 0 ? 64 : 2 * c->undo_cap;
        struct undo *grown = mem_alloc(cap * sizeof(*grown));
        if (c->undo_n > 0)
            memcpy(grown, c->undo, c->undo_n * sizeof(*grown));
        mem_free(c->undo);
        c->undo = grown;
        c->undo_cap = cap;
    }
    c->undo[c->undo_n++] = (struct undo){0, s, c->now[s]};
    return &c->now[s];
}

void clocks_committed(struct clocks *c, uint64_t index)
{
    for (size_t i = c->undo_n; i > 0 && c->undo[i - 1].index == 0; i--)
        c->undo[i - 1].index = index;
}

void clocks_crashed(struct clocks *c, uint64_t index)
{
    while (c->undo_n > 0 && (c->undo[c->undo_n - 1].index == 0 ||
                             c->undo[c->undo_n - 1].index > index)) {
        const struct undo *u = &c->undo[--c->undo_n];
        c->now[u->s] = u->was;
    }
    c->undo_n = 0;
}

void clocks_durable(struct clocks *c, uint64_t index)
{
    size_t n = 0;
    while (n < c->undo_n && c->undo[n].index != 0 && c->undo[n].index <= index)
        n++;
    if (n == 0)
        return;
    c->undo_n -= n;
    memmove(c->undo, c->undo + n, c->undo_n * sizeof(*c->undo));
}

static void note(struct ledger *l, size_t i, uint64_t at_ms)
{
    if (i == l->cap) {
        size_t cap = l->cap == 0 ? 64 : 2 * l->cap;
        uint64_t *grown = mem_alloc(cap * sizeof(*grown));
        if (l->cap > 0)
            memcpy(grown, l->at, l->cap * sizeof(*grown));
        mem_free(l->at);
        l->at = grown;
        l->cap = cap;
    }
    l->at[i] = at_ms;
}

static void decide(struct clocks *c, uint32_t s, struct state *st,
                   uint64_t at_ms)
{
    note(&c->decided[s], st->decided++, at_ms);
}

static bool found(const struct ledger *l, size_t from, size_t to,
                  uint64_t at_ms)
{
    for (size_t i = to; i > from; i--)
        if (l->at[i - 1] == at_ms)
            return true;
    return false;
}

/* --- times --------------------------------------------------------------- */

static uint64_t next_of(const struct clock_settings *set, int64_t after_ms)
{
    uint64_t next = 0;
    if (after_ms < (int64_t)set->start_ms - 1)
        after_ms = (int64_t)set->start_ms - 1;
    if (set->when == WHEN_AT)
        next = (int64_t)set->at_ms > after_ms ? set->at_ms : 0;
    else if (set->when == WHEN_CRON)
        next = times_next(set->kind, set->region, after_ms);
    else
        next = set->start_ms +
               ((uint64_t)(after_ms + 1) - set->start_ms + set->every_ms - 1) /
                   set->every_ms * set->every_ms;
    return set->end_ms > 0 && next > set->end_ms ? 0 : next;
}

static bool spent(const struct state *st)
{
    return st->set.max > 0 && st->fired + (st->tail - st->head) >= st->set.max;
}

static void move(struct state *st, int64_t after_ms)
{
    st->next_ms = st->paused || spent(st) ? 0 : next_of(&st->set, after_ms);
    st->due_ms = st->next_ms == 0 ? 0 : st->next_ms + st->offset_ms;
}

/* --- comparing ----------------------------------------------------------- */

static const char *compare(const struct state *st,
                           const struct schedule_view *v)
{
    if (st->exists != (v != NULL))
        return st->exists ? "it is gone" : "it is there";
    if (v == NULL)
        return NULL;
    if (st->paused != (v->paused != PAUSED_NOT))
        return "it is paused, or is not, against what was said";
    if (st->next_ms != v->next_ms)
        return "its next time is wrong";
    if (st->due_ms != v->due_ms)
        return "its alarm is at the wrong time";
    if (st->fired != v->fired)
        return "it counts its jobs wrongly";
    if (st->missed != v->missed)
        return "it counts missed times wrongly";
    if (st->overlapped != v->overlapped)
        return "it counts overlapped times wrongly";
    if (st->manual != v->manual)
        return "it counts jobs out of turn wrongly";
    if (st->tail - st->head != v->buffered)
        return "another number of times waits";
    if (v->rejected != 0)
        return "it could not make a job";
    if (st->filling != v->filling)
        return "a backfill is under way, or is not";
    return NULL;
}

/* The spread is the engine's to choose once, within its bounds. */
static const char *learn_offset(struct state *st, const struct schedule_view *v)
{
    const struct clock_settings *set = &st->set;
    uint64_t most = set->spread_ms;
    if (v == NULL || v->next_ms == 0)
        return NULL;
    if (set->when == WHEN_EVERY && most > set->every_ms)
        most = set->every_ms;
    st->offset_ms = v->due_ms - v->next_ms;
    st->due_ms = st->next_ms + st->offset_ms;
    if (v->due_ms < v->next_ms || (most > 0 && st->offset_ms >= most) ||
        (most == 0 && st->offset_ms != 0))
        return "an alarm is outside of its spread";
    return NULL;
}

/* --- commands ------------------------------------------------------------ */

static bool same_timing(const struct clock_settings *a,
                        const struct clock_settings *b)
{
    return a->when == b->when && a->kind == b->kind && a->region == b->region &&
           a->every_ms == b->every_ms && a->at_ms == b->at_ms &&
           a->start_ms == b->start_ms && a->spread_ms == b->spread_ms;
}

const char *clocks_set(struct clocks *c, uint32_t s,
                       const struct clock_settings *set, enum err rc,
                       const struct schedule_view *v, struct now now)
{
    const struct state *was = &c->now[s];
    bool moves = !was->exists || !same_timing(set, &was->set);
    int64_t after = set->when == WHEN_AT && moves ? -1 : (int64_t)now.wall_ms;
    if (moves && next_of(set, after) == 0)
        return rc == ERR_SYNTAX ? compare(was, v)
                                : "a timing that never fires was taken";
    if (rc != ERR_OK)
        return "good settings were refused";
    struct state *st = change(c, s);
    uint64_t was_next_ms = moves ? 0 : st->next_ms;
    if (!st->exists)
        *st = (struct state){.exists = true,
                             .head = st->tail,
                             .tail = st->tail,
                             .decided = st->decided,
                             .older = st->decided};
    st->set = *set;
    st->fill_moved = st->fill_moved || moves;
    if (moves) {
        st->offset_ms = 0;
        move(st, after);
    } else if (st->next_ms == 0) {
        if (after < (int64_t)st->high_ms)
            after = (int64_t)st->high_ms;
        move(st, after);
    } else if (spent(st) || (set->end_ms > 0 && st->next_ms > set->end_ms)) {
        st->next_ms = st->due_ms = 0;
    }
    /* If it stays, its alarm may be a little late: it is displacing jobs. */
    const char *wrong = was_next_ms != st->next_ms ? learn_offset(st, v) : NULL;
    return wrong != NULL ? wrong : compare(st, v);
}

const char *clocks_deleted(struct clocks *c, uint32_t s, enum err rc,
                           const struct schedule_view *v)
{
    if (rc != (c->now[s].exists ? ERR_OK : ERR_NOTFOUND))
        return "it was deleted without being there, or was not";
    if (rc == ERR_OK) {
        struct state *st = change(c, s);
        st->exists = false;
    }
    return compare(&c->now[s], v);
}

const char *clocks_pause(struct clocks *c, uint32_t s, bool pause, enum err rc,
                         const struct schedule_view *v, struct now now)
{
    if (rc != (c->now[s].exists ? ERR_OK : ERR_NOTFOUND))
        return "it was paused without being there, or was not";
    if (rc != ERR_OK || pause == c->now[s].paused)
        return compare(&c->now[s], v);
    struct state *st = change(c, s);
    st->paused = pause;
    if (pause)
        st->next_ms = st->due_ms = 0;
    else
        move(st, st->set.when == WHEN_AT && st->high_ms < st->set.at_ms
                     ? -1
                     : (int64_t)now.wall_ms);
    const char *wrong = learn_offset(st, v);
    return wrong != NULL ? wrong : compare(st, v);
}

const char *clocks_ran(struct clocks *c, uint32_t s, enum err rc,
                       const struct schedule_view *v)
{
    if (rc != (c->now[s].exists ? ERR_OK : ERR_NOTFOUND))
        return "it ran without being there, or did not";
    if (rc == ERR_OK)
        change(c, s)->manual++;
    return compare(&c->now[s], v);
}

const char *clocks_backfill(struct clocks *c, uint32_t s, uint64_t from_ms,
                            uint64_t to_ms, enum err rc,
                            const struct schedule_view *v)
{
    const struct state *was = &c->now[s];
    if (rc != (!was->exists ? ERR_NOTFOUND : was->filling ? ERR_STATE : ERR_OK))
        return "a backfill got the wrong answer";
    if (rc == ERR_OK) {
        struct state *st = change(c, s);
        st->filling = true;
        st->fill_from_ms = from_ms;
        st->fill_to_ms = to_ms;
        st->fill_moved = false;
    }
    return compare(&c->now[s], v);
}

/* --- alarms -------------------------------------------------------------- */

/* Failures pause a schedule that wants it. */
static bool gave_up(const struct state *st, const struct schedule_view *v)
{
    return v != NULL && st->exists && !st->paused &&
           v->paused == PAUSED_BY_FAILURES && st->set.pause_after > 0 &&
           v->failed >= st->set.pause_after;
}

const char *clocks_still(struct clocks *c, uint32_t s,
                         const struct schedule_view *v)
{
    if (gave_up(&c->now[s], v)) {
        struct state *st = change(c, s);
        st->paused = true;
        st->next_ms = st->due_ms = 0;
    }
    return compare(&c->now[s], v);
}

/* A slice of a backfill. */
static const char *filled(struct clocks *c, uint32_t s,
                          const struct schedule_view *v,
                          const struct clock_job *jobs, uint32_t jobs_n)
{
    struct state *st = change(c, s);
    for (uint32_t i = 0; i < jobs_n; i++) {
        uint64_t at = jobs[i].nominal_ms;
        if (at < st->fill_from_ms || at > st->fill_to_ms)
            return "a backfill made a job outside of its range";
        if (next_of(&st->set, (int64_t)at - 1) != at)
            return "a backfill made a job of no time of its schedule";
        if (found(&c->decided[s], st->older, st->decided, at))
            return "a backfill made a job of a time that had one";
        decide(c, s, st, at);
        if (st->high_ms < at)
            st->high_ms = at;
        st->manual++;
    }
    st->filling = v->filling;
    if (!st->filling && !st->fill_moved) {
        uint64_t at = st->fill_from_ms;
        while ((at = next_of(&st->set, (int64_t)at - 1)) != 0 &&
               at <= st->fill_to_ms) {
            if (!found(&c->decided[s], 0, st->decided, at))
                return "a backfill left a time without a job";
            at++;
        }
    }
    return compare(st, v);
}

/* What waited first may run, as nothing is live. */
static const char *freed(struct clocks *c, uint32_t s,
                         const struct schedule_view *v, uint64_t live,
                         const struct clock_job *jobs, uint32_t jobs_n)
{
    struct state *st = change(c, s);
    if (st->set.max > 0 && st->fired >= st->set.max) {
        st->overlapped += st->tail - st->head;
        st->head = st->tail;
        return jobs_n > 0 ? "more jobs than MAX" : compare(st, v);
    }
    if (live > 0)
        return "what waited ran beside a live job";
    if (jobs_n != 1 || jobs[0].nominal_ms != c->waiting[s].at[st->head])
        return "of the times that waited another one ran";
    st->head++;
    st->fired++;
    return compare(st, v);
}

/* Which times does this alarm pass, and which one of them is to run (0: none)?
 * A walk over many may go on in a later alarm, at `next_ms`, as long as each of
 * those passed was to be passed. */
static void passed(const struct state *st, uint64_t next_ms, struct now now,
                   uint64_t *last, uint64_t *run, uint64_t *count)
{
    const struct clock_settings *set = &st->set;
    uint64_t late = now.wall_ms - st->due_ms, n = 1, next;
    uint64_t least_late = set->misfire == MISFIRE_ALL    ? set->window_ms + 1
                          : set->misfire == MISFIRE_SKIP ? set->grace_ms + 1
                                                         : 0;
    *last = st->next_ms;
    *run = *count = 0;
    if (late <= set->grace_ms ||
        (set->misfire == MISFIRE_ALL && late <= set->window_ms)) {
        *run = st->next_ms;
        *count = late > set->grace_ms;
        return;
    }
    bool more = true;
    while ((next = next_of(set, (int64_t)*last)) != 0 &&
           next + st->offset_ms + least_late <= now.wall_ms) {
        if (n >= SLICE_MIN && next == next_ms) {
            more = false;
            break;
        }
        *last = next;
        n++;
    }
    *count = n;
    late = now.wall_ms - (*last + st->offset_ms);
    if (set->misfire == MISFIRE_ONCE && more && late <= set->window_ms) {
        *run = *last;
        *count -= late <= set->grace_ms;
    }
}

static void wait(struct clocks *c, uint32_t s, struct state *st, uint64_t at_ms)
{
    note(&c->waiting[s], st->tail++, at_ms);
    decide(c, s, st, at_ms);
}

/* Does a job start for it now? */
static bool overlap(struct clocks *c, uint32_t s, struct state *st,
                    uint64_t at_ms, bool busy, bool stopped)
{
    uint64_t waiting = st->tail - st->head;
    switch (st->set.overlap) {
    case OVERLAP_SKIP:
        st->overlapped += busy;
        return !busy;
    case OVERLAP_BUFFER_ONE:
    case OVERLAP_BUFFER_ALL:
        if (!busy && waiting == 0)
            return true;
        if (waiting >=
            (st->set.overlap == OVERLAP_BUFFER_ONE ? 1 : SCHEDULE_BUFFER_MAX))
            st->overlapped++;
        else
            wait(c, s, st, at_ms);
        return false;
    case OVERLAP_CANCEL:
        /* Those that are not running stop at once. Whatever waited is older
         * than this one. */
        st->overlapped += waiting;
        st->head = st->tail;
        if (!busy || stopped)
            return true;
        wait(c, s, st, at_ms);
        return false;
    case OVERLAP_TERMINATE:
        st->overlapped += waiting;
        st->head = st->tail;
        return true;
    case OVERLAP_ALLOW:
        return true;
    }
    return true;
}

static const char *fired(struct clocks *c, uint32_t s,
                         const struct schedule_view *v, uint64_t live,
                         const struct clock_job *jobs, uint32_t jobs_n,
                         struct now now, enum clock_displaced *displaced)
{
    struct state *st = change(c, s);
    uint64_t last, run, count;
    if (st->paused || st->next_ms == 0)
        return "it fired without a next time";
    if (st->due_ms > now.wall_ms)
        return "it fired before its time";
    passed(st, v->next_ms, now, &last, &run, &count);
    st->missed += count;
    if (found(&c->decided[s], st->older, st->decided, run))
        run = 0;
    /* An earlier schedule of this name may have had it: either is right. One
     * that is left out is passed; what still stops jobs has not come to it. */
    if (found(&c->decided[s], 0, st->older, run) && v->next_ms != st->next_ms &&
        v->fired == st->fired && v->overlapped == st->overlapped &&
        v->buffered == st->tail - st->head)
        run = 0;
    bool displaces = run != 0 && live > 0 &&
                     (st->set.overlap == OVERLAP_CANCEL ||
                      st->set.overlap == OVERLAP_TERMINATE);
    /* What it told to stop a chore may have ended in the same slice. */
    if (displaces && v->due_ms == st->due_ms + 1 && jobs_n == 0) {
        *displaced = DISPLACED_SOME;
        st->missed -= count; /* not yet */
        st->due_ms++;
        return compare(st, v);
    }
    if (displaces)
        *displaced = DISPLACED_ALL;
    bool starts = run != 0 && overlap(c, s, st, run, live > 0, jobs_n > 0);
    if (starts) {
        decide(c, s, st, run);
        st->fired++;
    }
    if (jobs_n != starts)
        return starts ? "a time had no job" : "a time had a job against a rule";
    if (jobs_n == 1 && jobs[0].nominal_ms != run)
        return "a job has another nominal time";
    if (st->high_ms < last)
        st->high_ms = last;
    move(st, (int64_t)last);
    return compare(st, v);
}

const char *clocks_ticked(struct clocks *c, uint32_t s,
                          const struct schedule_view *v, uint64_t live,
                          const struct clock_job *jobs, uint32_t jobs_n,
                          struct now now, enum clock_displaced *displaced)
{
    *displaced = DISPLACED_NONE;
    const char *wrong = clocks_still(c, s, v);
    const struct state *st = &c->now[s];
    if ((wrong == NULL && jobs_n == 0) || v == NULL || !st->exists)
        return jobs_n > 0 ? "a job came out of nowhere" : wrong;
    if (st->filling && (v->manual != st->manual || !v->filling))
        return filled(c, s, v, jobs, jobs_n);
    if (v->next_ms == st->next_ms && v->buffered < st->tail - st->head)
        return freed(c, s, v, live, jobs, jobs_n);
    return fired(c, s, v, live, jobs, jobs_n, now, displaced);
}

const char *clocks_idle(const struct clocks *c, uint32_t s, uint64_t live,
                        bool settled, struct now now)
{
    const struct state *st = &c->now[s];
    if (!st->exists || st->paused)
        return NULL;
    if (st->next_ms > 0 && st->due_ms <= now.wall_ms)
        return "an alarm did not go off";
    if (live == 0 && st->head < st->tail && settled)
        return "a time waits although nothing is live";
    return NULL;
}

void clocks_count_from(struct clocks *c, uint32_t s, uint64_t completed,
                       uint64_t failed)
{
    struct state *st = &c->now[s];
    st->completed_before = completed;
    st->failed_before = failed;
}

const char *clocks_ends(const struct clocks *c, uint32_t s,
                        const struct schedule_view *v, uint64_t completed,
                        uint64_t failed)
{
    const struct state *st = &c->now[s];
    if (v->completed != completed - st->completed_before)
        return "it counts completed jobs wrongly";
    if (v->failed != failed - st->failed_before)
        return "it counts failed jobs wrongly";
    return NULL;
}
