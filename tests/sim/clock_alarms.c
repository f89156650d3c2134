/* Alarms of schedules: which times they pass, and what starts. */
#include "clock_impl.h"

/* The engine may stop walking and go on in its next slice, not sooner. */
#define SLICE_MIN 100

/* Failures pause a schedule that wants it. */
static bool gave_up(const struct clock_state *st, const struct schedule_view *v)
{
    return v != NULL && st->exists && !st->paused &&
           v->paused == PAUSED_BY_FAILURES && st->set.pause_after > 0 &&
           v->failed >= st->set.pause_after;
}

const char *clocks_still(struct clocks *c, uint32_t s,
                         const struct schedule_view *v)
{
    if (gave_up(&c->now[s], v)) {
        struct clock_state *st = clocks_change(c, s);
        st->paused = true;
        st->next_ms = st->due_ms = 0;
    }
    return clocks_compare(&c->now[s], v);
}

/* A slice of a backfill. */
static const char *filled(struct clocks *c, uint32_t s,
                          const struct schedule_view *v,
                          const struct clock_job *jobs, uint32_t jobs_n)
{
    struct clock_state *st = clocks_change(c, s);
    for (uint32_t i = 0; i < jobs_n; i++) {
        uint64_t at = jobs[i].nominal_ms;
        if (at < st->fill_from_ms || at > st->fill_to_ms)
            return "a backfill made a job outside of its range";
        if (clocks_next(&st->set, (int64_t)at - 1) != at)
            return "a backfill made a job of no time of its schedule";
        if (clocks_found(&c->decided[s], st->older, st->decided, at))
            return "a backfill made a job of a time that had one";
        clocks_decide(c, s, st, at);
        if (st->high_ms < at)
            st->high_ms = at;
        st->manual++;
    }
    st->filling = v->filling;
    if (!st->filling && !st->fill_moved) {
        uint64_t at = st->fill_from_ms;
        while ((at = clocks_next(&st->set, (int64_t)at - 1)) != 0 &&
               at <= st->fill_to_ms) {
            if (!clocks_found(&c->decided[s], 0, st->decided, at))
                return "a backfill left a time without a job";
            at++;
        }
    }
    return clocks_compare(st, v);
}

/* What waited first may run, as nothing is live. */
static const char *freed(struct clocks *c, uint32_t s,
                         const struct schedule_view *v, uint64_t live,
                         const struct clock_job *jobs, uint32_t jobs_n)
{
    struct clock_state *st = clocks_change(c, s);
    if (st->set.max > 0 && st->fired >= st->set.max) {
        st->overlapped += st->tail - st->head;
        st->head = st->tail;
        return jobs_n > 0 ? "more jobs than MAX" : clocks_compare(st, v);
    }
    if (live > 0)
        return "what waited ran beside a live job";
    if (jobs_n != 1 || jobs[0].nominal_ms != c->waiting[s].at[st->head])
        return "of the times that waited another one ran";
    st->head++;
    st->fired++;
    return clocks_compare(st, v);
}

/* Which times does this alarm pass, and which one of them is to run (0: none)?
 * A walk over many may go on in a later alarm, at `next_ms`, as long as each of
 * those passed was to be passed. */
static void passed(const struct clock_state *st, uint64_t next_ms,
                   struct now now, uint64_t *last, uint64_t *run,
                   uint64_t *count)
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
    while ((next = clocks_next(set, (int64_t)*last)) != 0 &&
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

static void wait(struct clocks *c, uint32_t s, struct clock_state *st,
                 uint64_t at_ms)
{
    clocks_note(&c->waiting[s], st->tail++, at_ms);
    clocks_decide(c, s, st, at_ms);
}

/* Does a job start for it now? */
static bool overlap(struct clocks *c, uint32_t s, struct clock_state *st,
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
    struct clock_state *st = clocks_change(c, s);
    uint64_t last, run, count;
    if (st->paused || st->next_ms == 0)
        return "it fired without a next time";
    if (st->due_ms > now.wall_ms)
        return "it fired before its time";
    passed(st, v->next_ms, now, &last, &run, &count);
    st->missed += count;
    if (clocks_found(&c->decided[s], st->older, st->decided, run))
        run = 0;
    /* An earlier schedule of this name may have had it: either is right. One
     * that is left out is passed; what still stops jobs has not come to it. */
    if (clocks_found(&c->decided[s], 0, st->older, run) &&
        v->next_ms != st->next_ms && v->fired == st->fired &&
        v->overlapped == st->overlapped && v->buffered == st->tail - st->head)
        run = 0;
    bool displaces = run != 0 && live > 0 &&
                     (st->set.overlap == OVERLAP_CANCEL ||
                      st->set.overlap == OVERLAP_TERMINATE);
    /* What it told to stop a chore may have ended in the same slice. */
    if (displaces && v->due_ms == st->due_ms + 1 && jobs_n == 0) {
        *displaced = DISPLACED_SOME;
        st->missed -= count; /* not yet */
        st->due_ms++;
        return clocks_compare(st, v);
    }
    if (displaces)
        *displaced = DISPLACED_ALL;
    bool starts = run != 0 && overlap(c, s, st, run, live > 0, jobs_n > 0);
    if (starts) {
        clocks_decide(c, s, st, run);
        st->fired++;
    }
    if (jobs_n != starts)
        return starts ? "a time had no job" : "a time had a job against a rule";
    if (jobs_n == 1 && jobs[0].nominal_ms != run)
        return "a job has another nominal time";
    if (st->high_ms < last)
        st->high_ms = last;
    clocks_move(st, (int64_t)last);
    return clocks_compare(st, v);
}

const char *clocks_ticked(struct clocks *c, uint32_t s,
                          const struct schedule_view *v, uint64_t live,
                          const struct clock_job *jobs, uint32_t jobs_n,
                          struct now now, enum clock_displaced *displaced)
{
    *displaced = DISPLACED_NONE;
    const char *wrong = clocks_still(c, s, v);
    const struct clock_state *st = &c->now[s];
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
    const struct clock_state *st = &c->now[s];
    if (!st->exists || st->paused)
        return NULL;
    if (st->next_ms > 0 && st->due_ms <= now.wall_ms)
        return "an alarm did not go off";
    if (live == 0 && st->head < st->tail && settled)
        return "a time waits although nothing is live";
    return NULL;
}
