/* Purging: all that waits in a queue goes with one entry.
 *
 *     purge_begin()   the queue's lanes so far are dead: a row says up to which
 *                     number. What waits in them cannot be leased, found or
 *                     counted from here on; arrivals get new lanes.
 *     purge_slice()   a chore frees what is left, in this order:
 *
 *       PARKED   windows of dead lanes, and their places in lines; rows of
 *                `parked`
 *       JOBS     rows of `jobs` and `ready`, and all that a job has beside them
 *       LANES    the lanes themselves
 *
 * Whether a job was purged is told by its row alone: it does not run, and its
 * lane is dead. So nothing has to be reached in time, and a crash loses
 * nothing: the position lies in the entry of what was done.
 *
 * A job that runs outlives its lane. When it comes back it stands in the lane
 * that took the dead one's place (place_outlived()).
 *
 * What follows only when the chore has reached a job: its owner's count of live
 * jobs, slots that it had reserved, its schedule's count. Names and unique keys
 * of purged jobs may be taken at once (keys.c).
 *
 * Invariants:
 *  1. The counters of a queue tell no purged job; the count of an owner does.
 *  2. Numbers of lanes are never given again: rows of running jobs may still
 *     name a lane that is no more.
 */
#include "engine/core.h"

#define SLICE_ROWS 1024
#define FIRST_JOBS 64
#define SLICE_MEMBERS 4096
#define SLICE_LANES 1024

static void watermark_store(struct engine *e, const struct queue *q)
{
    struct rec_purged r = {q->purged};
    char name[4];
    struct key k;
    rec_purged_encode(
        &r, store_put(e->store, FAMILY_NAMED,
                      key_named(&k, NAMED_PURGED, name_u32(q->set.id, name)),
                      rec_purged_size(&r), false));
}

static void watermark_set(struct engine *e, struct queue *q, uint32_t lane)
{
    if (q->purged == 0 && lane > 0)
        e->purged_queues++;
    q->purged = lane;
}

enum err purge_load_row(struct engine *e, struct slice key, struct slice value,
                        struct errbuf *err)
{
    uint8_t kind;
    struct slice name;
    struct rec_purged r;
    uint32_t id = 0;
    if (!key_parse_named(key, &kind, &name) || name.len != 4 ||
        !rec_purged_decode(&r, value))
        return err_set(err, ERR_CORRUPT, "family named: bad row of a purge");
    for (size_t i = 0; i < 4; i++)
        id = id << 8 | (unsigned char)name.data[i];
    if (id >= e->queues_n || e->queues[id] == NULL)
        return err_set(err, ERR_CORRUPT, "family named: a purge of no queue");
    watermark_set(e, e->queues[id], r.lane);
    if (r.lane > e->lane_last)
        e->lane_last = r.lane;
    return ERR_OK;
}

uint64_t purge_begin(struct engine *e, struct queue *q)
{
    uint64_t n = 0;
    for (unsigned s = JOB_BLOCKED; s < JOB_RUNNING; s++) {
        n += q->counts[s];
        q->counts[s] = 0;
    }
    q->totals.cancelled += n;
    e->stats.jobs_live -= n;
    queue_touch(e, q);
    watermark_set(e, q, e->lane_last);
    watermark_store(e, q);
    q->default_lane = NULL;
    q->shares_n = 0; /* its lines need not be touched: fair.c */
    /* Nor need those in `closed`: they go on as a ring that nobody looks at,
     * from which each can be removed. */
    list_remove(&q->closed);
    return n;
}

/* --- rows in their order ------------------------------------------------- */

struct row {
    bool dead;
    uint32_t key_at, key_len, value_at, value_len;
};

struct rows {
    struct engine *e;
    const struct purge *p;
    enum family family;
    struct buf all; /* struct row */
    struct buf bytes;
    bool bad;
};

static void rows_release(struct rows *r)
{
    buf_release(&r->all);
    buf_release(&r->bytes);
}

static uint32_t rows_n(const struct rows *r)
{
    return (uint32_t)(r->all.len / sizeof(struct row));
}

static const struct row *row_at(const struct rows *r, uint32_t i)
{
    return (const struct row *)(const void *)r->all.data + i;
}

static struct slice row_key(const struct rows *r, uint32_t i)
{
    const struct row *row = row_at(r, i);
    return slice_of(r->bytes.data + row->key_at, row->key_len);
}

static struct slice row_value(const struct rows *r, uint32_t i)
{
    const struct row *row = row_at(r, i);
    return slice_of(r->bytes.data + row->value_at, row->value_len);
}

/* Is it a row of the purge? False: it is damaged. */
static bool parked_is_dead(const struct rows *r, struct slice key, bool *dead)
{
    struct parked_key k;
    if (!key_parse_parked(key, &k))
        return false;
    const struct lane *l = lane_by_id(r->e, k.lane);
    *dead = l != NULL && l->queue == r->p->queue && lane_dead(l);
    return true;
}

static bool job_is_dead(const struct rows *r, struct slice key,
                        struct slice value, bool *dead)
{
    struct id id;
    struct rec_job job;
    if (!key_parse_id(key, &id) || !rec_job_decode(&job, value))
        return false;
    const struct queue *q = r->p->queue;
    *dead = job.queue == q->set.id && row_purged(q, job.lane);
    if (*dead) {
        const struct job *j = job_get(r->e, &id);
        *dead = j == NULL || j->state != JOB_RUNNING;
    }
    return true;
}

static bool note_row(struct slice key, struct slice value, void *ud)
{
    struct rows *r = ud;
    struct row row = {.key_len = (uint32_t)key.len,
                      .value_len = (uint32_t)value.len};
    bool good = r->family == FAMILY_PARKED
                    ? parked_is_dead(r, key, &row.dead)
                    : job_is_dead(r, key, value, &row.dead);
    if (!good) {
        r->bad = true;
        return false;
    }
    row.key_at = (uint32_t)r->bytes.len;
    buf_add_slice(&r->bytes, key);
    row.value_at = (uint32_t)r->bytes.len;
    if (row.dead)
        buf_add_slice(&r->bytes, value);
    buf_add(&r->all, &row, sizeof(row));
    return true;
}

static enum err rows_read(struct rows *r, struct gather *g, uint32_t max,
                          struct errbuf *err)
{
    enum err rc = store_scan(r->e->store, g, r->family, key_slice(&r->p->next),
                             SLICE_EMPTY, max, note_row, r, err);
    if (rc == ERR_OK && r->bad)
        return err_set(err, ERR_CORRUPT, "family %s: bad row",
                       r->family == FAMILY_PARKED ? "parked" : "jobs");
    return rc;
}

/* --- parked -------------------------------------------------------------- */

/* True: all are released. */
static bool forget_windows(struct engine *e, struct purge *p)
{
    uint32_t members = 0, lanes = 0;
    while (p->window < p->queue->purged && members < SLICE_MEMBERS &&
           lanes++ < SLICE_MEMBERS && !slice_over(e)) {
        struct lane *l = lane_by_id(e, ++p->window);
        if (l == NULL || l->queue != p->queue)
            continue;
        members += l->window.len;
        lane_forget(e, l);
        lane_update(e, l);
    }
    return p->window >= p->queue->purged;
}

/* Dead rows from the position on; behind a live one its whole lane is passed
 * over. */
static enum err free_parked(struct engine *e, struct gather *g, struct purge *p,
                            struct errbuf *err)
{
    struct rows r = {.e = e, .p = p, .family = FAMILY_PARKED};
    enum err rc = rows_read(&r, g, SLICE_ROWS, err);
    uint32_t n = rows_n(&r), i = 0;
    struct key next;
    for (; rc == ERR_OK && i < n && row_at(&r, i)->dead; i++) {
        struct parked_key k;
        if (key_parse_parked(row_key(&r, i), &k))
            park_forget(e, k.limit, lane_by_id(e, k.lane));
        store_del(e->store, FAMILY_PARKED, row_key(&r, i));
    }
    if (rc == ERR_OK) {
        p->examined += i;
        if (i < n) {
            struct parked_key k;
            struct key lane;
            if (key_parse_parked(row_key(&r, i), &k))
                (void)key_after(&next,
                                key_prefix_limit_lane(&lane, k.limit, k.lane));
        } else if (n == SLICE_ROWS) {
            (void)key_next(&next, row_key(&r, n - 1));
        } else {
            p->step = PURGE_JOBS;
            next.len = 0;
        }
        p->next = next;
    }
    rows_release(&r);
    return rc;
}

/* --- jobs ---------------------------------------------------------------- */

/* What a job may have beside its row, that must be read to be erased. */
#define HAS_MORE                                              \
    (JOBF_NAMED | JOBF_UNIQUE | JOBF_BODY | JOBF_CHECKPOINT | \
     JOBF_EXECUTIONS | JOBF_EFFECTS | JOBF_SCHEDULE)

static struct job *dead_job(struct rows *r, uint32_t i, bool *made)
{
    struct id id;
    if (!key_parse_id(row_key(r, i), &id))
        return NULL;
    struct job *j = job_get(r->e, &id);
    *made = j == NULL;
    return j != NULL ? j : job_from_row(r->e, &id, row_value(r, i));
}

static enum err examine(struct rows *r, struct gather *g, struct errbuf *err)
{
    enum err all = ERR_OK;
    for (uint32_t i = 0; i < rows_n(r); i++) {
        bool made;
        if (!row_at(r, i)->dead)
            continue;
        struct job *j = dead_job(r, i, &made);
        if (j == NULL)
            return err_set(err, ERR_CORRUPT, "family jobs: bad row of a job");
        enum err rc = ERR_OK;
        if ((j->flags & HAS_MORE) != 0)
            rc = purged_gather(r->e, g, j, err);
        if (made)
            job_free(r->e, j);
        if (rc != ERR_OK && rc != ERR_PENDING)
            return rc;
        if (rc == ERR_PENDING)
            all = rc;
    }
    return all;
}

/* The row says where it would stand; whether it did or was parked, no matter.
 */
static void erase_rows(struct rows *r, uint32_t i)
{
    struct id id;
    struct rec_job job;
    struct key k;
    store_del(r->e->store, FAMILY_JOBS, row_key(r, i));
    if (key_parse_id(row_key(r, i), &id) &&
        rec_job_decode(&job, row_value(r, i)) &&
        (job.state == JOB_READY || job.state == JOB_PARKED))
        store_del(r->e->store, FAMILY_READY,
                  key_ready(&k, job.queue, job.lane, job.order, &id));
}

/* Erase what is dead. Returns how many rows were passed. */
static uint32_t erase(struct rows *r, struct gather *g, struct purge *p,
                      struct now now)
{
    uint32_t n = rows_n(r), i = 0;
    for (; i < n && (i == 0 || !slice_over(r->e)); i++) {
        bool made;
        if (!row_at(r, i)->dead)
            continue;
        struct job *j = dead_job(r, i, &made);
        ASSERT(j != NULL);
        purged_erase(r->e, g, j, now);
        erase_rows(r, i);
        p->done++;
    }
    return i;
}

/* What was looked at and not erased was looked at for nothing: on a slow
 * machine that would be nearly all of it, slice after slice. */
static uint32_t next_jobs(uint32_t asked, uint32_t passed)
{
    if (passed < asked)
        return passed + 1;
    return asked < SLICE_ROWS / 2 ? asked * 2 : SLICE_ROWS;
}

static enum err free_jobs(struct engine *e, struct gather *g, struct purge *p,
                          struct now now, struct errbuf *err)
{
    struct rows r = {.e = e, .p = p, .family = FAMILY_JOBS};
    struct key next = {0};
    uint32_t asked = p->jobs == 0 ? FIRST_JOBS : p->jobs;
    enum err rc = rows_read(&r, g, asked, err);
    if (rc == ERR_OK)
        rc = examine(&r, g, err);
    if (rc == ERR_OK) {
        uint32_t passed = erase(&r, g, p, now);
        p->examined += passed;
        p->jobs = next_jobs(asked, passed);
        if ((passed == rows_n(&r) && passed < asked) || p->done >= p->expected)
            p->step = PURGE_LANES;
        else
            (void)key_next(&next, row_key(&r, passed - 1));
        p->next = next;
    }
    rows_release(&r);
    return rc;
}

/* --- lanes --------------------------------------------------------------- */

static void free_lanes(struct engine *e, struct purge *p)
{
    struct queue *q = p->queue;
    if (!p->left) {
        p->left = true;
        p->window = 0;
        leases_leave_dead_lanes(e, q);
    }
    for (uint32_t n = 0; p->window < q->purged && n < SLICE_LANES; n++) {
        struct lane *l = lane_by_id(e, ++p->window);
        if (l != NULL && l->queue == q)
            lane_free(e, l);
    }
    if (p->window >= q->purged)
        p->step = PURGE_END;
}

enum err purge_slice(struct engine *e, struct gather *g, struct purge *p,
                     struct now now, struct errbuf *err)
{
    switch ((enum purge_step)p->step) {
    case PURGE_PARKED:
        if (!forget_windows(e, p))
            return ERR_OK;
        return free_parked(e, g, p, err);
    case PURGE_JOBS:
        return free_jobs(e, g, p, now, err);
    case PURGE_LANES:
        free_lanes(e, p);
        return ERR_OK;
    case PURGE_END:
        break;
    }
    ASSERT(!"a purge that has ended has no slices");
    return ERR_OK;
}
