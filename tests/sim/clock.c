#include "clock_impl.h"

#include <string.h>

#include "times.h"
#include "util/alloc.h"

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

struct clock_state *clocks_change(struct clocks *c, uint32_t s)
{
    if (c->undo_n == c->undo_cap) {
        size_t cap = c->undo_cap == 0 ? 64 : 2 * c->undo_cap;
        struct clock_was *grown = mem_alloc(cap * sizeof(*grown));
        if (c->undo_n > 0)
            memcpy(grown, c->undo, c->undo_n * sizeof(*grown));
        mem_free(c->undo);
        c->undo = grown;
        c->undo_cap = cap;
    }
    c->undo[c->undo_n++] = (struct clock_was){0, s, c->now[s]};
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
        const struct clock_was *u = &c->undo[--c->undo_n];
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

void clocks_note(struct clock_ledger *l, size_t i, uint64_t at_ms)
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

void clocks_decide(struct clocks *c, uint32_t s, struct clock_state *st,
                   uint64_t at_ms)
{
    clocks_note(&c->decided[s], st->decided++, at_ms);
}

bool clocks_found(const struct clock_ledger *l, size_t from, size_t to,
                  uint64_t at_ms)
{
    for (size_t i = to; i > from; i--)
        if (l->at[i - 1] == at_ms)
            return true;
    return false;
}

/* --- times --------------------------------------------------------------- */

uint64_t clocks_next(const struct clock_settings *set, int64_t after_ms)
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

static bool spent(const struct clock_state *st)
{
    return st->set.max > 0 && st->fired + (st->tail - st->head) >= st->set.max;
}

void clocks_move(struct clock_state *st, int64_t after_ms)
{
    st->next_ms = st->paused || spent(st) ? 0 : clocks_next(&st->set, after_ms);
    st->due_ms = st->next_ms == 0 ? 0 : st->next_ms + st->offset_ms;
}

/* --- comparing ----------------------------------------------------------- */

const char *clocks_compare(const struct clock_state *st,
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
static const char *learn_offset(struct clock_state *st,
                                const struct schedule_view *v)
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
    const struct clock_state *was = &c->now[s];
    bool moves = !was->exists || !same_timing(set, &was->set);
    int64_t after = set->when == WHEN_AT && moves ? -1 : (int64_t)now.wall_ms;
    if (moves && clocks_next(set, after) == 0)
        return rc == ERR_SYNTAX ? clocks_compare(was, v)
                                : "a timing that never fires was taken";
    if (rc != ERR_OK)
        return "good settings were refused";
    struct clock_state *st = clocks_change(c, s);
    uint64_t was_next_ms = moves ? 0 : st->next_ms;
    if (!st->exists)
        *st = (struct clock_state){.exists = true,
                                   .head = st->tail,
                                   .tail = st->tail,
                                   .decided = st->decided,
                                   .older = st->decided};
    st->set = *set;
    st->fill_moved = st->fill_moved || moves;
    if (moves) {
        st->offset_ms = 0;
        clocks_move(st, after);
    } else if (st->next_ms == 0) {
        if (after < (int64_t)st->high_ms)
            after = (int64_t)st->high_ms;
        clocks_move(st, after);
    } else if (spent(st) || (set->end_ms > 0 && st->next_ms > set->end_ms)) {
        st->next_ms = st->due_ms = 0;
    }
    /* If it stays, its alarm may be a little late: it is displacing jobs. */
    const char *wrong = was_next_ms != st->next_ms ? learn_offset(st, v) : NULL;
    return wrong != NULL ? wrong : clocks_compare(st, v);
}

const char *clocks_deleted(struct clocks *c, uint32_t s, enum err rc,
                           const struct schedule_view *v)
{
    if (rc != (c->now[s].exists ? ERR_OK : ERR_NOTFOUND))
        return "it was deleted without being there, or was not";
    if (rc == ERR_OK) {
        struct clock_state *st = clocks_change(c, s);
        st->exists = false;
    }
    return clocks_compare(&c->now[s], v);
}

const char *clocks_pause(struct clocks *c, uint32_t s, bool pause, enum err rc,
                         const struct schedule_view *v, struct now now)
{
    if (rc != (c->now[s].exists ? ERR_OK : ERR_NOTFOUND))
        return "it was paused without being there, or was not";
    if (rc != ERR_OK || pause == c->now[s].paused)
        return clocks_compare(&c->now[s], v);
    struct clock_state *st = clocks_change(c, s);
    st->paused = pause;
    if (pause)
        st->next_ms = st->due_ms = 0;
    else
        clocks_move(st, st->set.when == WHEN_AT && st->high_ms < st->set.at_ms
                            ? -1
                            : (int64_t)now.wall_ms);
    const char *wrong = learn_offset(st, v);
    return wrong != NULL ? wrong : clocks_compare(st, v);
}

const char *clocks_ran(struct clocks *c, uint32_t s, enum err rc,
                       const struct schedule_view *v)
{
    if (rc != (c->now[s].exists ? ERR_OK : ERR_NOTFOUND))
        return "it ran without being there, or did not";
    if (rc == ERR_OK)
        clocks_change(c, s)->manual++;
    return clocks_compare(&c->now[s], v);
}

const char *clocks_backfill(struct clocks *c, uint32_t s, uint64_t from_ms,
                            uint64_t to_ms, enum err rc,
                            const struct schedule_view *v)
{
    const struct clock_state *was = &c->now[s];
    if (rc != (!was->exists ? ERR_NOTFOUND : was->filling ? ERR_STATE : ERR_OK))
        return "a backfill got the wrong answer";
    if (rc == ERR_OK) {
        struct clock_state *st = clocks_change(c, s);
        st->filling = true;
        st->fill_from_ms = from_ms;
        st->fill_to_ms = to_ms;
        st->fill_moved = false;
    }
    return clocks_compare(&c->now[s], v);
}

/* --- ends ---------------------------------------------------------------- */

void clocks_count_from(struct clocks *c, uint32_t s, uint64_t completed,
                       uint64_t failed)
{
    struct clock_state *st = &c->now[s];
    st->completed_before = completed;
    st->failed_before = failed;
}

const char *clocks_ends(const struct clocks *c, uint32_t s,
                        const struct schedule_view *v, uint64_t completed,
                        uint64_t failed)
{
    const struct clock_state *st = &c->now[s];
    if (v->completed != completed - st->completed_before)
        return "it counts completed jobs wrongly";
    if (v->failed != failed - st->failed_before)
        return "it counts failed jobs wrongly";
    return NULL;
}
