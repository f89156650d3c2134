/* Parked lanes: where jobs stand that found one of their names full.
 *
 *     head of a lane --- all names admit ---> leased
 *           `--- one refuses: the row moves under it, met + 1
 *                `--- met 8 in turn: reserve slots in the order of names
 *
 * A job that reserves takes the slots of its names one after the other, in the
 * order of their bytes, and keeps them while it is parked under the next: since
 * all do so in the same order no two wait for each other, and it is not
 * overtaken for ever. What it has is in its row.
 */
#include "engine/core.h"

#define SCAN_ROWS 64
#define SCAN_LANES 16 /* of one slice */

/* --- lanes and groups ---------------------------------------------------- */

static uint64_t parked_hash(const struct limit *l, const struct lane *base)
{
    return hash_number(l->by_name.hash ^ (uint64_t)base->id << 20);
}

static struct lane *park_get(const struct engine *e, struct limit *l,
                             struct lane *base)
{
    struct lane k = {.limit = l, .base = base};
    struct map_node *n = map_get(&e->parked_by_what, parked_hash(l, base), &k);
    return n == NULL ? NULL : CONTAINER_OF(n, struct lane, by_what);
}

static struct park_group *group_for(struct limit *l, const struct lane *base)
{
    LIST_FOR (it, &l->groups) {
        struct park_group *g = CONTAINER_OF(it, struct park_group, in_limit);
        const struct lane *any =
            CONTAINER_OF(list_first(&g->lanes), struct lane, in_group);
        /* Those that were purged must not take the places of others. */
        if (g->queue == base->queue && g->handler == base->handler &&
            !lane_dead(any))
            return g;
    }
    struct park_group *g = NEW(struct park_group);
    g->limit = l;
    g->queue = base->queue;
    g->handler = base->handler;
    list_init(&g->lanes);
    list_init(&g->shut);
    list_append(&l->groups, &g->in_limit);
    return g;
}

struct lane *park_lane(struct engine *e, struct limit *l, struct lane *base)
{
    ASSERT(base->limit == NULL && !lane_dead(base));
    struct lane *p = park_get(e, l, base);
    if (p != NULL)
        return p;
    p = NEW(struct lane);
    p->id = base->id;
    p->queue = base->queue;
    p->handler = base->handler;
    p->owner = base->owner;
    p->part = base->part;
    p->scheme = base->scheme;
    p->age_ms = base->age_ms;
    p->limit = l;
    p->base = base;
    p->group = group_for(l, base);
    list_append(&p->group->lanes, &p->in_group);
    map_add(&e->parked_by_what, &p->by_what, parked_hash(l, base));
    e->parked_lanes_n++;
    if (e->scan_on) {
        /* Until the scan at start is over there may be older rows. */
        window_init_unread(&p->window, 0);
        lane_update(e, p);
    } else {
        window_init(&p->window);
    }
    return p;
}

void park_free(struct engine *e, struct lane *p)
{
    struct park_group *g = p->group;
    struct limit *l = p->limit;
    ASSERT(window_nothing(&p->window));
    ASSERT(!line_in(&p->in_part));
    ASSERT(!p->armed);
    list_remove(&p->shut);
    list_remove(&p->closed);
    list_remove(&p->touched);
    list_remove(&p->in_group);
    map_remove(&e->parked_by_what, &p->by_what);
    window_release(&p->window);
    mem_free(p);
    e->parked_lanes_n--;
    if (list_empty(&g->lanes)) {
        list_remove(&g->in_limit);
        mem_free(g);
        limit_touch(e, l);
    }
}

void park_forget(struct engine *e, struct slice name, struct lane *base)
{
    struct limit *l = limit_find(e, name);
    struct lane *p = l == NULL ? NULL : park_get(e, l, base);
    if (p == NULL)
        return;
    ASSERT(lane_dead(p));
    lane_forget(e, p);
    lane_update(e, p);
}

/* --- heaps --------------------------------------------------------------- */

/* Put the next ones of the group into their heaps. */
static void arm_next(struct engine *e, struct park_group *g)
{
    struct list *it;
    while (g->limit->open && g->armed_n < PARK_ARMED &&
           (it = list_pop(&g->shut)) != NULL)
        lane_update(e, CONTAINER_OF(it, struct lane, shut));
}

bool park_arm(struct engine *e, struct lane *p, bool work)
{
    struct park_group *g = p->group;
    bool open = p->limit->open;
    if (work && open && (p->armed || g->armed_n < PARK_ARMED)) {
        if (!p->armed) {
            list_remove(&p->shut);
            p->armed = true;
            g->armed_n++;
        }
        return true;
    }
    bool was = p->armed;
    if (was) {
        p->armed = false;
        g->armed_n--;
    }
    if (!work)
        list_remove(&p->shut);
    else if (!list_linked(&p->shut))
        list_append(&g->shut, &p->shut);
    if (was && open) {
        /* It ran empty: the heap must not hold it while others enter. */
        line_remove(&p->part->lanes, &p->in_part);
        arm_next(e, g);
    }
    return false;
}

/* How many may start now: that many waiters are worth waking. */
static uint64_t room_of(const struct limit *l, struct now now)
{
    uint64_t n = l->concurrency == 0
                     ? UINT64_MAX
                     : l->concurrency - l->running - l->reserved;
    uint64_t rate = rate_room(&l->rate, l->paid.tat_us, now.wall_ms);
    if (rate < n)
        n = rate;
    return n == 0 ? 1 : n; /* what costs more than the burst */
}

void park_open(struct engine *e, struct limit *l, struct now now)
{
    uint64_t n = room_of(l, now);
    ASSERT(l->open);
    if (l->queue != NULL) {
        ready_again(e, l->queue, NULL, n, now);
        return;
    }
    LIST_FOR (it, &l->groups) {
        struct park_group *g = CONTAINER_OF(it, struct park_group, in_limit);
        arm_next(e, g);
        ready_again(e, g->queue, g->handler, n, now);
    }
    /* Another queue is the first to be woken next time. */
    struct list *first = list_pop(&l->groups);
    if (first != NULL)
        list_append(&l->groups, first);
}

/* --- moving -------------------------------------------------------------- */

void park_job(struct engine *e, struct limit *l, struct job *j, unsigned met,
              bool fresh, struct now now)
{
    struct id id = j->id;
    job_move(e, j, JOB_PARKED);
    struct lane *p = park_lane(e, l, j->lane);
    lane_add(e, p, j, met < MET_MAX ? met : MET_MAX, fresh);
    limit_settle(e, l, now);
    job_drop(e, job_get(e, &id));
}

/* From the head of its lane under another name. */
static void move_under(struct engine *e, struct lane *from, struct job *j,
                       struct limit *l, struct now now)
{
    struct member *m = window_head(&from->window);
    unsigned met = m->met + 1u;
    ASSERT(m->job == j);
    lane_take(e, from, m);
    park_job(e, l, j, met, false, now);
}

/* Others of this name, in the same line, sort before it. They are not in the
 * heap if more lanes are parked than are armed. */
static bool would_overtake(const struct engine *e, struct limit *l,
                           const struct job *j)
{
    if (list_empty(&l->groups))
        return false;
    const struct lane *p = park_get(e, l, j->lane);
    if (p == NULL || window_nothing(&p->window))
        return false;
    const struct member *m = window_head(&p->window);
    return m != NULL && m->order <= j->order;
}

static void sort_names(struct job_names *n)
{
    for (uint32_t i = 1; i < n->n; i++)
        for (uint32_t k = i;
             k > 0 && slice_cmp(n->at[k]->name, n->at[k - 1]->name) < 0; k--) {
            struct limit *l = n->at[k];
            n->at[k] = n->at[k - 1];
            n->at[k - 1] = l;
        }
}

/* Keep what there is, up to the first name that is full. */
static void reserve(struct engine *e, struct job *j, const struct job_names *n,
                    uint32_t upto, struct now now)
{
    struct rec_more m;
    struct buf list = {0};
    job_more(j, &m);
    buf_add_slice(&list, m.reserved);
    for (uint32_t i = 0; i < upto; i++) {
        struct limit *l = n->at[i];
        if (word_among(m.reserved, l->name))
            continue;
        buf_add_char(&list, (char)(unsigned char)l->name.len);
        buf_add_slice(&list, l->name);
        l->reserved++;
        limit_dirty(e, l);
        limit_charge(e, l, n->cost, now);
        if (l->concurrency > 0 && l->running + l->reserved >= l->concurrency)
            l->open = false;
    }
    if (list.len > m.reserved.len) {
        m.reserved = buf_slice(&list);
        j->flags |= JOBF_RESERVED;
        job_store(e, j, &m);
    }
    buf_release(&list);
}

static bool reserve_gate(struct engine *e, struct lane *lane, struct job *j,
                         struct now now)
{
    struct job_names n;
    job_names(e, j, true, &n);
    sort_names(&n);
    for (uint32_t i = 0; i < n.n; i++) {
        struct limit *l = n.at[i];
        if (word_among(n.reserved, l->name) || limit_admits(e, l, n.cost, now))
            continue;
        reserve(e, j, &n, i, now);
        if (l != lane->limit)
            move_under(e, lane, j, l, now);
        return false;
    }
    return true;
}

bool park_gate(struct engine *e, struct lane *lane, struct job *j,
               struct now now)
{
    struct job_names n;
    if (!job_limited(e, j))
        return true;
    if (lane->limit != NULL && window_head(&lane->window)->met >= MET_MAX)
        return reserve_gate(e, lane, j, now);
    job_names(e, j, false, &n);
    for (uint32_t i = 0; i < n.n; i++) {
        struct limit *l = n.at[i];
        bool admits = limit_admits(e, l, n.cost, now);
        if (l == lane->limit) {
            if (!admits)
                return false; /* its lane is closed now */
            continue;
        }
        if (admits && !l->open)
            limit_settle(e, l, now); /* its time came, nobody had looked */
        if (admits && !would_overtake(e, l, j))
            continue;
        move_under(e, lane, j, l, now);
        return false;
    }
    return true;
}

void park_sift(struct engine *e, struct queue *q)
{
    if (!list_linked(&q->sifting))
        list_append(&e->sifting, &q->sifting);
}

/* --- finding ------------------------------------------------------------- */

static enum err stands_under(struct engine *e, struct gather *g,
                             const struct park_place *p, struct slice kind,
                             struct slice name, struct park_name *out,
                             struct errbuf *err)
{
    struct key k;
    struct slice value;
    ASSERT(kind.len + name.len <= sizeof(out->text));
    out->len = kind.len + name.len;
    if (kind.len > 0)
        memcpy(out->text, kind.data, kind.len);
    memcpy(out->text + kind.len, name.data, name.len);
    return store_get(
        e->store, g, FAMILY_PARKED,
        key_parked(&k, slice_of(out->text, out->len), p->lane, p->order, p->id),
        &value, err);
}

enum err park_look(struct engine *e, struct gather *g,
                   const struct park_place *p, const struct rec_more *m,
                   struct park_name *out, struct errbuf *err)
{
    struct slice name, limits = m->limits;
    enum err rc = ERR_NOTFOUND;
    while (rc == ERR_NOTFOUND && word_next(&limits, &name))
        rc = stands_under(e, g, p, SLICE_EMPTY, name, out, err);
    if (rc == ERR_NOTFOUND && m->owner > 0 && m->owner < e->owners_n &&
        e->owners[m->owner] != NULL)
        rc = stands_under(e, g, p, OWNER_LIMIT, e->owners[m->owner]->name, out,
                          err);
    return rc;
}

/* A job whose row does not say where it is: under one of its names? */
enum err park_find(struct engine *e, struct gather *g, struct job *j,
                   struct errbuf *err)
{
    struct park_name name;
    struct rec_more m;
    if ((j->flags & (JOBF_LIMITS | JOBF_OWNED)) == 0 || j->lane == NULL)
        return ERR_OK;
    struct park_place p = {&j->id, j->lane->id, j->order};
    job_more(j, &m);
    enum err rc = park_look(e, g, &p, &m, &name, err);
    if (rc == ERR_OK) {
        j->state = JOB_PARKED;
        j->parked =
            park_lane(e, limit_make(e, slice_of(name.text, name.len)), j->lane);
    }
    return rc == ERR_NOTFOUND ? ERR_OK : rc;
}

/* --- start --------------------------------------------------------------- */

/* The first row of each parked lane, and where the next lane begins. */
struct scan {
    struct buf found; /* struct found, name */
    struct key next;
    uint32_t rows;
    bool bad;
};

struct found {
    uint32_t lane;
    uint64_t order;
    size_t name_len;
};

static bool scan_row(struct slice key, struct slice value, void *ud)
{
    struct scan *s = ud;
    struct parked_key k;
    struct key lane;
    (void)value;
    s->rows++;
    if (!key_parse_parked(key, &k)) {
        s->bad = true;
        return false;
    }
    /* Still of the lane whose first row was seen? */
    if (s->next.len > 0 && slice_cmp(key, key_slice(&s->next)) < 0)
        return true;
    struct found f = {k.lane, k.order, k.limit.len};
    buf_add(&s->found, &f, sizeof(f));
    buf_add_slice(&s->found, k.limit);
    key_after(&s->next, key_prefix_limit_lane(&lane, k.limit, k.lane));
    return true;
}

/* The window is read later, from its first row on. */
static void take_in(struct engine *e, struct slice name, const struct found *f,
                    struct now now)
{
    struct errbuf err;
    struct lane *base = lane_by_id(e, f->lane);
    if (base == NULL) {
        err_set(&err, ERR_CORRUPT, "family parked: lane %u does not exist",
                (unsigned)f->lane);
        fault(e, now, &err);
        return;
    }
    if (lane_dead(base))
        return;
    struct limit *l = limit_make(e, name);
    struct lane *p = park_lane(e, l, base);
    if (window_unread(&p->window) && p->window.bound_order < f->order)
        window_init_unread(&p->window, f->order);
    lane_update(e, p);
    bool open = l->open;
    limit_settle(e, l, now);
    if (open && l->open)
        park_open(e, l, now);
}

enum err park_scan(struct engine *e, struct gather *g, struct now now,
                   struct errbuf *err)
{
    for (int lanes = 0; e->scan_on && lanes < SCAN_LANES; lanes++) {
        struct scan s = {.next.len = 0};
        enum err rc =
            store_scan(e->store, g, FAMILY_PARKED, buf_slice(&e->scan_from),
                       SLICE_EMPTY, SCAN_ROWS, scan_row, &s, err);
        if (rc == ERR_OK && s.bad)
            rc = err_set(err, ERR_CORRUPT, "family parked: bad key");
        if (rc != ERR_OK) {
            buf_release(&s.found);
            return rc;
        }
        for (size_t at = 0; at < s.found.len;) {
            struct found f;
            memcpy(&f, s.found.data + at, sizeof(f));
            at += sizeof(f);
            take_in(e, slice_of(s.found.data + at, f.name_len), &f, now);
            at += f.name_len;
        }
        buf_release(&s.found);
        buf_clear(&e->scan_from);
        buf_add_slice(&e->scan_from, key_slice(&s.next));
        e->scan_on = s.rows == SCAN_ROWS && s.next.len > 0;
    }
    return ERR_OK;
}
