/* The near future: what becomes due, by wall time.
 *
 * One window over the family `due` (time, kind, id). Members keep what is
 * needed to make a job ready without reading it: the lane and the priority.
 *
 *     order of a member = time << 4 | kind, which sorts as the keys do
 *
 * A row is deleted in the entry that does what it says, so that a crash in
 * between does it again, or not at all, but never half.
 */
#include "engine/core.h"

#define HEAD_EVERY 4096
#define REFILL_ROWS 1024
#define HEAD_NAME SLICE_LIT("due")

/* A DUE_READY member has its lane, and above it its flags, in since_ms. */
#define FLAGS_SHIFT 32

static uint64_t due_order(uint64_t at_ms, enum due_kind kind)
{
    ASSERT((unsigned)kind < 16);
    if (at_ms > WALL_MS_MAX)
        at_ms = WALL_MS_MAX;
    return at_ms << 4 | (unsigned)kind;
}

static uint64_t member_ms(const struct member *m)
{
    return m->order >> 4;
}

static enum due_kind member_kind(const struct member *m)
{
    return (enum due_kind)(m->order & 15);
}

struct id due_name_id(struct slice name)
{
    uint64_t a = hash64(name), b = hash64_seed(name, 1);
    return id_make(a >> 16, (uint16_t)a, (uint32_t)(b >> 32), (uint32_t)b);
}

static struct slice due_key(struct key *k, uint64_t order, const struct id *id)
{
    return key_due(k, order >> 4, (uint8_t)(order & 15), id_slice(id));
}

/* --- putting ------------------------------------------------------------- */

static void forget_member(void *ud, struct member *m)
{
    if (m->job != NULL) {
        m->job->in_window = false;
        job_drop(ud, m->job);
    }
}

void due_put(struct engine *e, const struct due *d, bool fresh)
{
    struct rec_due r = {.lane = d->lane == NULL ? 0 : d->lane->id,
                        .priority = d->priority,
                        .flags = (uint8_t)d->flags,
                        .name = d->name};
    struct key k;
    uint64_t order = due_order(d->at_ms, d->kind);
    rec_due_encode(&r,
                   store_put(e->store, FAMILY_DUE, due_key(&k, order, &d->id),
                             rec_due_size(&r), fresh));
    /* Before the new member is in: what is trimmed is freed, and the caller
     * still has its job in hand. */
    if (e->due.len > e->config.window_due)
        window_trim(&e->due, e->config.window_due / 2 + 1, forget_member, e);
    if (!window_wants(&e->due, order, &d->id))
        return;
    struct member m = {.order = order,
                       .id = d->id,
                       .since_ms = (r.lane | (uint64_t)r.flags << FLAGS_SHIFT) &
                                   WALL_MS_MAX,
                       .priority = MEMBER_PRIORITY(d->priority),
                       .job = d->job};
    if (e->jobs.len > e->config.jobs_in_memory)
        m.job = NULL;
    if (m.job != NULL)
        m.job->in_window = true;
    /* The same thing at the same time again: a schedule that was set anew. */
    struct member *old = window_find(&e->due, order, &d->id);
    if (old != NULL)
        *old = m;
    else
        window_insert(&e->due, &m);
}

static void member_take(struct engine *e, struct member *m)
{
    struct key k;
    store_del(e->store, FAMILY_DUE, due_key(&k, m->order, &m->id));
    if (m->job != NULL)
        m->job->in_window = false;
    e->due_last = m->order;
    e->due_taken++;
    window_remove(&e->due, m);
}

void due_del(struct engine *e, uint64_t at_ms, enum due_kind kind,
             const struct id *id)
{
    uint64_t order = due_order(at_ms, kind);
    struct member *m = window_find(&e->due, order, id);
    if (m != NULL) {
        member_take(e, m);
        return;
    }
    struct key k;
    store_del(e->store, FAMILY_DUE, due_key(&k, order, id));
}

bool due_waits(const struct engine *e, const struct due *d)
{
    return window_find(&e->due, due_order(d->at_ms, d->kind), &d->id) != NULL;
}

enum err due_exists(struct engine *e, struct gather *g, uint64_t at_ms,
                    enum due_kind kind, const struct id *id, struct errbuf *err)
{
    uint64_t order = due_order(at_ms, kind);
    if (window_wants(&e->due, order, id))
        return window_find(&e->due, order, id) != NULL ? ERR_OK : ERR_NOTFOUND;
    struct key k;
    struct slice value;
    return store_get(e->store, g, FAMILY_DUE, due_key(&k, order, id), &value,
                     err);
}

/* --- refill -------------------------------------------------------------- */

struct refill {
    struct engine *e;
    uint32_t rows;
    bool bad;
};

static bool refill_row(struct slice key, struct slice value, void *ud)
{
    struct refill *r = ud;
    struct due_key k;
    struct rec_due v;
    if (!key_parse_due(key, &k) || k.what.len != ID_LEN || k.kind > 15 ||
        !rec_due_decode(&v, value) || v.priority > PRIORITY_MAX) {
        r->bad = true;
        return false;
    }
    struct member m = {.order = due_order(k.time_ms, (enum due_kind)k.kind),
                       .since_ms = (v.lane | (uint64_t)v.flags << FLAGS_SHIFT) &
                                   WALL_MS_MAX,
                       .priority = MEMBER_PRIORITY(v.priority)};
    memcpy(m.id.bytes, k.what.data, ID_LEN);
    window_append(&r->e->due, &m);
    r->rows++;
    return true;
}

static enum err refill(struct engine *e, struct gather *g, struct errbuf *err)
{
    struct key from, to;
    uint32_t most = e->config.window_due / 2 + 1;
    if (most > REFILL_ROWS)
        most = REFILL_ROWS;
    struct refill r = {.e = e};
    due_key(&from, e->due.bound_order, &e->due.bound_id);
    to.len = 0;
    enum err rc = store_scan(e->store, g, FAMILY_DUE, key_slice(&from),
                             key_slice(&to), most, refill_row, &r, err);
    if (rc != ERR_OK)
        return rc;
    if (r.bad)
        return err_set(err, ERR_CORRUPT, "family due: bad row");
    window_appended(&e->due, r.rows < most);
    e->stats.refills++;
    return ERR_OK;
}

/* --- firing -------------------------------------------------------------- */

static enum err fire_ready(struct engine *e, struct member *m, struct now now,
                           struct errbuf *err)
{
    uint32_t lane_id = (uint32_t)(m->since_ms & UINT32_MAX);
    unsigned flags = (unsigned)(m->since_ms >> FLAGS_SHIFT);
    struct lane *l = lane_by_id(e, lane_id);
    if (l != NULL && lane_dead(l)) {
        struct job *gone = m->job;
        member_take(e, m);
        if (gone != NULL)
            job_free(e, gone);
        return ERR_OK;
    }
    if (l == NULL)
        return err_set(err, ERR_CORRUPT, "family due: lane %u does not exist",
                       (unsigned)lane_id);
    struct queue *q = l->queue;
    struct job *j = m->job;
    if (j == NULL && (flags & DUEF_OLD_PLACE) != 0) {
        /* Only the job knows its old place. */
        enum err rc = job_load(e, e->timer_gather, &m->id, &j, err);
        if (rc != ERR_OK)
            return rc;
    }
    bool retrying = (flags & DUEF_RETRYING) != 0;
    uint64_t at_ms = member_ms(m);
    struct member ready = {.order = lane_order(l, m->priority, at_ms),
                           .id = m->id,
                           .since_ms = at_ms & WALL_MS_MAX,
                           .priority = m->priority};
    member_take(e, m);
    if (j != NULL) {
        ASSERT(j->lane == l);
        ASSERT(j->order == ready.order || (flags & DUEF_OLD_PLACE) != 0);
        job_move(e, j, JOB_READY);
        (void)place_ready(e, j, !retrying && (j->flags & JOBF_MOVED) == 0, now);
        return ERR_OK;
    }
    enum job_state was = retrying ? JOB_RETRYING : JOB_SCHEDULED;
    ASSERT(q->counts[was] > 0);
    q->counts[was]--;
    q->counts[JOB_READY]++;
    queue_touch(e, q);
    lane_add_key(e, l, &ready, false);
    ready_told(e, q, l->handler, &ready.id, now);
    return ERR_OK;
}

/* One member that is due. Nothing has happened if it says ERR_PENDING. */
static enum err fire(struct engine *e, struct member *m, struct now now,
                     struct errbuf *err)
{
    struct gather *g = e->timer_gather;
    enum due_kind kind = member_kind(m);
    uint64_t order = m->order;
    struct id id = m->id;
    enum err rc;
    switch (kind) {
    case DUE_READY:
        rc = fire_ready(e, m, now, err);
        break;
    case DUE_EXPIRES:
        rc = expire_unstarted(e, g, &id, now, err);
        break;
    case DUE_DEADLINE:
        rc = expire_total(e, g, &id, now, err);
        break;
    case DUE_UNIQUE:
        rc = unique_forget(e, g, order >> 4, &id, err);
        break;
    case DUE_CANCEL:
        rc = cancel_forced(e, g, &id, now, err);
        break;
    case DUE_LIMIT:
    case DUE_SCHEDULE:
    case DUE_BREAKER:
    default:
        rc = due_fire_other(e, g, kind, order >> 4, &id, now, err);
        break;
    }
    if (rc == ERR_PENDING)
        return rc;
    /* Whatever it was, its time is over; firing may have deleted the row. */
    m = window_find(&e->due, order, &id);
    if (m != NULL)
        member_take(e, m);
    return rc;
}

static bool makes_many(const struct member *m)
{
    return member_kind(m) == DUE_SCHEDULE ||
           member_kind(m) == DUE_SCHEDULE_FILL;
}

/* Many schedules have midnight in common, or one is filled up, which makes more
 * bytes than the disk can sync at once. They stop before the server stops
 * taking in commands for the same reason, so that other clients wait for a sync
 * or two, not for them all. */
bool due_held(const struct engine *e)
{
    return store_acked(e->store) < store_last(e->store) &&
           store_pending_bytes(e->store) > e->config.alarms_unsynced_max;
}

/* The first member that may fire. New work is refused while the disk is nearly
 * full, and a schedule's is new work: its alarm waits, and is late then by its
 * rules for misfires. All that is due otherwise goes on. */
static struct member *first_to_fire(const struct engine *e)
{
    if (store_room(e->store) == STORE_ROOM)
        return window_head(&e->due);
    for (uint32_t i = 0; i < e->due.len; i++)
        if (!makes_many(window_at(&e->due, i)))
            return window_at(&e->due, i);
    return NULL;
}

/* When the window has none to fire: not if those that wait fill it. */
static bool may_refill(const struct engine *e)
{
    return !e->due.complete && e->due.len <= e->config.window_due / 2;
}

bool due_step(struct engine *e, struct now now, uint32_t ops)
{
    struct errbuf err;
    while (ops > 0) {
        struct member *m = first_to_fire(e);
        enum err rc;
        if (m == NULL && !may_refill(e))
            return false;
        if (m == NULL) {
            if (e->due.bound_order >> 4 > now.wall_ms)
                return false;
            rc = refill(e, e->timer_gather, &err);
        } else if (member_ms(m) > now.wall_ms) {
            return false;
        } else if (makes_many(m) && due_held(e)) {
            return false;
        } else {
            rc = fire(e, m, now, &err);
            ops--;
        }
        if (rc == ERR_PENDING) {
            timer_fetch(e);
            return false;
        }
        if (rc != ERR_OK) {
            fault(e, now, &err);
            if (m == NULL)
                return false; /* damaged rows: not again and again */
        }
        if (slice_over(e))
            break;
    }
    return true;
}

uint64_t due_next_ms(const struct engine *e)
{
    const struct member *m = first_to_fire(e);
    if (m != NULL)
        return member_ms(m);
    return may_refill(e) ? e->due.bound_order >> 4 : UINT64_MAX;
}

/* --- the head's row ------------------------------------------------------ */

void due_commit(struct engine *e)
{
    const struct member *m = window_head(&e->due);
    uint64_t low = m != NULL         ? m->order
                   : e->due.complete ? e->due_last
                                     : e->due.bound_order;
    if (low >= e->due_head_stored &&
        (low == e->due_head_stored || e->due_taken < HEAD_EVERY))
        return;
    struct rec_head r = {low >> 4};
    struct key k;
    e->due_head_stored = r.time_ms << 4;
    e->due_taken = 0;
    rec_head_encode(&r, store_put(e->store, FAMILY_NAMED,
                                  key_named(&k, NAMED_ENGINE, HEAD_NAME),
                                  rec_head_size(&r), false));
}

void due_load(struct engine *e, struct slice name, struct slice value)
{
    struct rec_head r;
    if (!slice_eq(name, HEAD_NAME) || !rec_head_decode(&r, value))
        return;
    e->due_head_stored = e->due_last = due_order(r.time_ms, 0);
}
