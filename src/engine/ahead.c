/* Reading ahead: what stands behind the head of a long lane is brought into
 * memory before it is leased.
 *
 *     window  [ jobs in memory | keys ............ ] bound
 *               ^ half a trip left: ask for the rows of the next members, and
 *                 for the keys behind the bound
 *
 * A trip is as long as the callers are fast: if one of them comes to its end
 * while the next is under way, the next but one is twice as long.
 *
 * Without it every lease of a backlog would wait for its own rows, and callers
 * that came together would each fetch the same ones: what the first has leased
 * when they start over, the others fetched in vain (60 us of CPU for a life
 * with 16 callers, where 4 are needed).
 *
 * There is one trip of the reader thread under way at a time, for one lane.
 * Lanes that find it busy, and parked ones, do without: their callers fetch a
 * few rows by themselves. A trip brings as many keys as rows: if it has less
 * than all who wait for it want, the others start over for nothing.
 *
 * Nothing is decided here, and no row changes: a trip that failed or came too
 * late leaves everything as it was.
 */
#include "engine/core.h"

#define ROWS_MIN 1024
#define ROWS_MAX 4096

static bool is_full(const struct engine *e)
{
    return e->jobs.len >= e->config.jobs_in_memory;
}

static bool is_low(const struct engine *e, const struct lane *l)
{
    const struct window *w = &l->window;
    uint32_t low = e->ahead.size / 2;
    if (w->len <= low && !w->complete)
        return true;
    if (w->len == 0 || is_full(e))
        return false;
    return window_at(w, w->len <= low ? w->len - 1 : low)->job == NULL;
}

/* Ask for the rows of members that are not in memory. Returns how many. */
static uint32_t wish_rows(struct engine *e, struct lane *l)
{
    uint32_t n = l->window.len < e->ahead.size ? l->window.len : e->ahead.size;
    uint32_t wished = 0;
    for (uint32_t i = 0; i < n && !is_full(e); i++) {
        struct member *m = window_at(&l->window, i);
        struct key k;
        struct slice row;
        if (m->job != NULL)
            continue;
        struct job *j = job_get(e, &m->id);
        if (j == NULL) {
            enum err rc =
                store_get_later(e->store, e->ahead.gather, FAMILY_JOBS,
                                key_job(&k, &m->id), &row, NULL);
            wished += rc == ERR_PENDING;
            if (rc == ERR_OK)
                j = job_from_row(e, &m->id, row);
        }
        if (j != NULL)
            lane_has_job(l, m, j);
    }
    return wished;
}

void ahead_take(struct engine *e, struct gather *g, struct lane *l,
                uint32_t from, uint32_t n)
{
    for (uint32_t i = from; i < l->window.len && n > 0 && !is_full(e); i++) {
        struct member *m = window_at(&l->window, i);
        struct key k;
        struct slice row;
        if (m->job != NULL)
            continue;
        struct job *j = job_get(e, &m->id);
        if (j == NULL) {
            if (store_get(e->store, g, FAMILY_JOBS, key_job(&k, &m->id), &row,
                          NULL) != ERR_OK)
                return;
            j = job_from_row(e, &m->id, row);
            n--;
        }
        if (j == NULL)
            return; /* whoever leases it says that it is damaged */
        lane_has_job(l, m, j);
    }
}

static void arrived(void *ud)
{
    struct engine *e = ud;
    CHECK_OBJ(e, ENGINE);
    struct lane *l = lane_by_id(e, e->ahead.lane);
    e->ahead.lane = 0;
    if (e->ahead.late && e->ahead.size < ROWS_MAX)
        e->ahead.size *= 2;
    e->ahead.late = false;
    if (l != NULL && !lane_dead(l)) {
        struct errbuf err;
        enum err rc = ERR_OK;
        ahead_take(e, e->ahead.gather, l, 0, e->ahead.rows);
        if (e->ahead.keys > 0 && !l->window.complete)
            rc = lane_refill(e, e->ahead.gather, l, e->ahead.keys, &err);
        (void)rc; /* not enough came: leases refill by themselves */
    }
    gather_release(e->ahead.gather);
}

void ahead_look(struct engine *e, struct lane *l)
{
    if (e->ahead.lane != 0 || l->limit != NULL || !is_low(e, l))
        return;
    if (e->ahead.size == 0)
        e->ahead.size = ROWS_MIN;
    e->ahead.rows = wish_rows(e, l);
    bool keys = l->window.len <= e->ahead.size && !l->window.complete;
    e->ahead.keys = keys ? e->ahead.size : 0;
    if (keys)
        lane_wish(e, e->ahead.gather, l, e->ahead.keys);
    if (e->ahead.rows == 0 && !keys) {
        /* What it found holds the overlay: nothing could be dropped until the
         * next time that rows are missing. */
        gather_release(e->ahead.gather);
        return;
    }
    e->ahead.lane = l->id;
    store_fetch(e->store, e->ahead.gather, arrived, e);
}

bool ahead_comes(struct engine *e, const struct lane *l)
{
    bool reads = l->limit == NULL && e->ahead.lane == l->id;
    if (reads)
        e->ahead.late = true;
    return reads;
}
