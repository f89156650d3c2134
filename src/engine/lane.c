/* Lanes: where ready jobs stand, by queue, handler and (fair) owner.
 *
 * A lane is a window of the `ready` family. Its row in `named` holds a lower
 * bound of its head, so that no scan ever starts at the beginning of the
 * family, where the tombstones of past jobs lie.
 *
 *      arrival --> row in ready --> member of the window, if below its bound
 *      lease   --> head of the window; refill from the bound when it runs out
 *
 * Invariants:
 *  1. A lane is in its part's line if and only if it has work (or may have:
 *     unread); of a parked one limit.h says more. A part is in its strand's
 *     line if and only if it has such a lane, a strand in its queue's if and
 *     only if it has such a part and its handler is open. A parked lane with
 *     work that stands in no heap is in its queue's list `closed`. Lanes that
 *     were purged are still in the lines, behind the others, until a chore
 *     comes to them.
 *  2. The stored head is never above a row of the lane.
 */
#include "engine/core.h"

#define HEAD_EVERY                                            \
    4096 /* leases between two writes of a head that moved up \
          */

struct lane_key {
    const struct queue *queue;
    const struct handler *handler;
    const struct owner *owner;
    uint8_t scheme;
    uint64_t age_ms;
};

static bool lane_is(const struct map_node *n, const void *key)
{
    const struct lane *l = CONTAINER_OF(n, struct lane, by_what);
    const struct lane_key *k = key;
    return l->queue == k->queue && l->handler == k->handler &&
           l->owner == k->owner && l->scheme == k->scheme &&
           l->age_ms == k->age_ms && !lane_dead(l);
}

static uint64_t lane_hash(const struct lane_key *k)
{
    uint32_t owner = k->owner == NULL ? 0 : k->owner->set.id;
    uint64_t h =
        hash_number((uint64_t)k->queue->set.id << 32 | k->handler->set.id);
    return hash_number(h ^ ((k->age_ms << 1 | k->scheme) << 32 | owner));
}

void lanes_init(struct engine *e)
{
    map_init(&e->lanes_by_what, lane_is);
    list_init(&e->reordering);
    shares_init(e);
}

/* --- order --------------------------------------------------------------- */

static uint64_t order_of(uint8_t scheme, uint64_t age_ms, uint32_t priority,
                         uint64_t since_ms)
{
    ASSERT(priority <= PRIORITY_MAX);
    if (since_ms > WALL_MS_MAX)
        since_ms = WALL_MS_MAX;
    uint64_t below = PRIORITY_MAX - priority;
    return scheme == SCHEME_AGING ? since_ms + below * age_ms
                                  : below << 48 | since_ms;
}

uint64_t lane_order(const struct lane *l, uint32_t priority, uint64_t since_ms)
{
    return order_of(l->scheme, l->age_ms, priority, since_ms);
}

static uint64_t age_of(const struct queue *q)
{
    return q->set.order == SCHEME_AGING ? q->set.age_ms : 0;
}

static bool is_present(const struct lane *l)
{
    return l->scheme == l->queue->set.order && l->age_ms == age_of(l->queue);
}

uint64_t lane_order_now(const struct lane *l, const struct member *m)
{
    const struct rec_queue *set = &l->queue->set;
    return is_present(l) ? m->order
                         : order_of(set->order, age_of(l->queue), m->priority,
                                    m->since_ms);
}

/* The head by the queue's present formula, so that heads of lanes of an older
 * one compete on equal terms. An unread lane is looked at first. */
uint64_t lane_head_order(const struct lane *l)
{
    const struct member *m = window_head(&l->window);
    if (m == NULL)
        return is_present(l) ? l->window.bound_order : 0;
    return lane_order_now(l, m);
}

/* --- rows of lanes ------------------------------------------------------- */

void lane_touch(struct engine *e, struct lane *l)
{
    if (list_linked(&l->touched))
        return;
    list_append(&e->touched_lanes, &l->touched);
    e->owed_bytes += 2 * sizeof(struct rec_lane);
}

static void lane_store(struct engine *e, struct lane *l, bool fresh)
{
    struct rec_lane r = {
        .queue = l->queue->set.id,
        .handler = l->handler->set.id,
        .owner = l->owner == NULL ? 0 : l->owner->set.id,
        .order = l->scheme,
        .age_ms = l->age_ms,
        .head = l->head_stored,
    };
    char name[4];
    struct key k;
    rec_lane_encode(&r,
                    store_put(e->store, FAMILY_NAMED,
                              key_named(&k, NAMED_LANE, name_u32(l->id, name)),
                              rec_lane_size(&r), fresh));
    l->taken = 0;
}

static uint64_t lane_low(const struct lane *l)
{
    const struct member *m = window_head(&l->window);
    if (m != NULL)
        return m->order;
    return l->window.complete ? l->last_taken : l->window.bound_order;
}

/* An insert below the stored head lowers it in the same entry; a head that has
 * moved up is written now and then. */
void lanes_commit(struct engine *e)
{
    struct list *it;
    while ((it = list_pop(&e->touched_lanes)) != NULL) {
        struct lane *l = CONTAINER_OF(it, struct lane, touched);
        if (l->limit != NULL) {
            if (window_nothing(&l->window))
                park_free(e, l);
            continue;
        }
        if (lane_dead(l))
            continue;
        uint64_t low = lane_low(l);
        if (low < l->head_stored ||
            (low > l->head_stored && l->taken >= HEAD_EVERY)) {
            l->head_stored = low;
            lane_store(e, l, false);
        }
    }
}

static struct lane *lane_new(struct engine *e, const struct lane_key *k,
                             struct owner *o, uint32_t id)
{
    struct lane *l = NEW(struct lane);
    l->id = id;
    l->queue = e->queues[k->queue->set.id];
    l->handler = e->handlers[k->handler->set.id];
    l->owner = o;
    l->scheme = k->scheme;
    l->age_ms = k->age_ms;
    l->part = part_for(e, l->queue, l->handler, o);
    window_init(&l->window);
    map_add(&e->lanes_by_what, &l->by_what, lane_hash(k));
    e->lanes = names_array(e->lanes, &e->lanes_n, id);
    ASSERT(e->lanes[id] == NULL);
    e->lanes[id] = l;
    e->stats.lanes++;
    if (id > e->lane_last)
        e->lane_last = id;
    return l;
}

static struct lane_key key_for(const struct queue *q, const struct handler *h,
                               const struct owner *o)
{
    return (struct lane_key){q, h, q->set.fair ? o : NULL, q->set.order,
                             age_of(q)};
}

struct lane *lane_find(const struct engine *e, const struct queue *q,
                       const struct handler *h, const struct owner *o)
{
    struct lane_key k = key_for(q, h, o);
    struct map_node *n = map_get(&e->lanes_by_what, lane_hash(&k), &k);
    return n == NULL ? NULL : CONTAINER_OF(n, struct lane, by_what);
}

static struct lane *lane_found(struct engine *e, struct queue *q,
                               struct handler *h, struct owner *o, bool must)
{
    if (!q->set.fair)
        o = NULL;
    if (o == NULL && q->default_lane != NULL && q->default_handler == h)
        return q->default_lane;
    struct lane_key k = key_for(q, h, o);
    struct lane **last = o == NULL ? &h->lane : &o->lane;
    if (*last != NULL && lane_is(&(*last)->by_what, &k))
        return *last;
    struct lane *l = lane_find(e, q, h, o);
    if (l == NULL) {
        if (e->stats.lanes >= e->config.lanes_max && !must)
            return NULL;
        l = lane_new(e, &k, o, e->lane_last + 1);
        l->head_stored = l->last_taken = UINT64_MAX;
        lane_store(e, l, true);
    }
    *last = l;
    if (o == NULL)
        q->default_lane = l;
    if (o == NULL || q->default_lane == NULL)
        q->default_handler = h;
    return l;
}

struct lane *lane_for(struct engine *e, struct queue *q, struct handler *h,
                      struct owner *o)
{
    return lane_found(e, q, h, o, false);
}

struct lane *lane_anew(struct engine *e, const struct job *j)
{
    struct owner *o = j->owner == 0 ? NULL : e->owners[j->owner];
    return lane_found(e, j->queue, j->handler, o, true);
}

struct lane *lane_by_id(const struct engine *e, uint32_t id)
{
    return id < e->lanes_n ? e->lanes[id] : NULL;
}

enum err lane_load_row(struct engine *e, struct slice key, struct slice value,
                       struct errbuf *err)
{
    uint8_t kind;
    struct slice name;
    struct rec_lane r;
    if (!key_parse_named(key, &kind, &name) || name.len != 4 ||
        !rec_lane_decode(&r, value) || r.queue >= e->queues_n ||
        e->queues[r.queue] == NULL || r.handler >= e->handlers_n ||
        e->handlers[r.handler] == NULL ||
        (r.owner != 0 &&
         (r.owner >= e->owners_n || e->owners[r.owner] == NULL)))
        return err_set(err, ERR_CORRUPT, "family named: bad row of a lane");
    uint32_t id = 0;
    for (size_t i = 0; i < 4; i++)
        id = id << 8 | (unsigned char)name.data[i];
    if (id == 0 || id > (1u << 28))
        return err_set(err, ERR_CORRUPT, "family named: bad number of a lane");
    struct owner *o = r.owner == 0 ? NULL : e->owners[r.owner];
    struct lane_key k = {e->queues[r.queue], e->handlers[r.handler], o, r.order,
                         r.age_ms};
    struct lane *l = lane_new(e, &k, o, id);
    l->head_stored = l->last_taken = r.head;
    if (!lane_dead(l)) {
        window_init_unread(&l->window, r.head);
        lane_update(e, l);
        l->part->share->unseen = true;
    }
    return ERR_OK;
}

void lanes_free(struct engine *e)
{
    for (uint32_t i = 0; i < e->lanes_n; i++) {
        struct lane *l = e->lanes[i];
        if (l == NULL)
            continue;
        window_release(&l->window);
        mem_free(l);
    }
    FREE(&e->lanes);
    map_release(&e->lanes_by_what);
    shares_free(e);
}

/* --- heaps --------------------------------------------------------------- */

/* Its name is closed: its queue knows it nevertheless. */
static void lane_closed(struct lane *l, bool closed)
{
    if (closed == list_linked(&l->closed))
        return;
    if (closed)
        list_append(&l->queue->closed, &l->closed);
    else
        list_remove(&l->closed);
}

void lane_update(struct engine *e, struct lane *l)
{
    struct line *lanes = &l->part->lanes;
    bool work = !window_nothing(&l->window) && !lane_dead(l);
    if (l->limit != NULL) {
        bool any = work;
        work = park_arm(e, l, work);
        lane_closed(l, any && !work);
    }
    if (work)
        l->rank = lane_head_order(l);
    if (!work)
        line_remove(lanes, &l->in_part);
    else if (line_in(&l->in_part))
        line_changed(lanes, &l->in_part);
    else
        line_add(lanes, &l->in_part);
    part_update(l->part);
}

/* A handler is paused or resumed, or its breaker moves: nothing else does. */
void handler_open(struct handler *h, bool open)
{
    if (open == h->open)
        return;
    h->open = open;
    LIST_FOR (it, &h->strands) {
        struct strand *s = CONTAINER_OF(it, struct strand, in_handler);
        if (open)
            s->reopened_at = s->queue->virtual_now;
        strand_update(s);
    }
}

static struct lane *strand_top(const struct strand *s)
{
    const struct part *p =
        CONTAINER_OF(line_top(&s->parts), struct part, in_strand);
    return CONTAINER_OF(line_top(&p->lanes), struct lane, in_part);
}

/* The best strand; parked lanes whose name was closed meanwhile are put
 * aside. */
static struct lane *pick_any(struct engine *e, const struct queue *q)
{
    struct line_node *top;
    while ((top = line_top(&q->open)) != NULL) {
        struct lane *l = strand_top(CONTAINER_OF(top, struct strand, in_open));
        if (lane_dead(l))
            return NULL;
        if (l->limit == NULL || l->limit->open)
            return l;
        lane_update(e, l);
    }
    return NULL;
}

struct lane *lane_pick(struct engine *e, struct queue *q,
                       struct handler *const *handlers, uint32_t n)
{
    struct lane *best = NULL;
    if (n == 0)
        return pick_any(e, q);
    for (uint32_t i = 0; i < n; i++) {
        struct strand *s = strand_find(e, q, handlers[i]);
        while (s != NULL && line_in(&s->in_open)) {
            struct lane *l = strand_top(s);
            if (lane_dead(l))
                break;
            if (l->limit != NULL && !l->limit->open) {
                lane_update(e, l);
                continue;
            }
            if (best == NULL || part_less(&l->part->in_strand.in_heap,
                                          &best->part->in_strand.in_heap))
                best = l;
            break;
        }
    }
    return best;
}

#define REORDER_LANES 512 /* in one go */
#define REORDER_LOOKS 8192

static bool are_many(const struct queue *q)
{
    size_t n = 0;
    LIST_FOR (it, &q->strands) {
        const struct strand *s = CONTAINER_OF(it, struct strand, in_queue);
        const struct line_node *at = NULL;
        while (n <= REORDER_LANES && (at = line_next(&s->parts, at)) != NULL)
            n += CONTAINER_OF(at, struct part, in_strand)->lanes.len;
    }
    return n > REORDER_LANES;
}

void lanes_reorder(struct engine *e, struct queue *q)
{
    if (are_many(q)) {
        q->ranked_to = 0;
        if (!list_linked(&q->reordering))
            list_append(&e->reordering, &q->reordering);
        return;
    }
    LIST_FOR (it, &q->strands)
        strand_reorder(CONTAINER_OF(it, struct strand, in_queue));
    line_rebuild(&q->open);
}

bool lanes_reorder_step(struct engine *e)
{
    if (list_empty(&e->reordering))
        return false;
    struct queue *q =
        CONTAINER_OF(list_first(&e->reordering), struct queue, reordering);
    uint32_t looks = 0, lanes = 0;
    while (q->ranked_to < e->lane_last && looks++ < REORDER_LOOKS &&
           lanes < REORDER_LANES) {
        struct lane *l = lane_by_id(e, ++q->ranked_to);
        if (l == NULL || l->queue != q || l->part->lanes.len == 0)
            continue;
        lanes += (uint32_t)l->part->lanes.len;
        part_reorder(l->part);
    }
    if (q->ranked_to >= e->lane_last)
        list_remove(&q->reordering);
    return !list_empty(&e->reordering);
}

/* In a line what is dead stands behind what is not, and is left out. */
static uint32_t lanes_in(const struct part *p, struct lane **out, uint32_t n,
                         uint32_t most)
{
    const struct line_node *at = line_next(&p->lanes, NULL);
    while (at != NULL && n < most) {
        struct lane *l = CONTAINER_OF(at, struct lane, in_part);
        bool dead = lane_dead(l);
        if (!dead)
            out[n++] = l;
        at = dead ? line_past(&p->lanes, at) : line_next(&p->lanes, at);
    }
    return n;
}

uint32_t lanes_of(const struct queue *q, bool open, struct lane **out,
                  uint32_t most)
{
    uint32_t n = 0;
    LIST_FOR (it, &q->strands) {
        const struct strand *s = CONTAINER_OF(it, struct strand, in_queue);
        if (open && !s->handler->open)
            continue;
        const struct line_node *at = line_next(&s->parts, NULL);
        while (at != NULL && n < most) {
            const struct part *p = CONTAINER_OF(at, struct part, in_strand);
            bool dead = part_dead(p);
            if (!dead)
                n = lanes_in(p, out, n, most);
            at = dead ? line_past(&s->parts, at) : line_next(&s->parts, at);
        }
    }
    return n;
}

/* --- members ------------------------------------------------------------- */

static void forget_member(void *ud, struct member *m)
{
    struct engine *e = ud;
    e->window_members--;
    if (m->job != NULL) {
        m->job->in_window = false;
        job_drop(e, m->job);
    }
}

void lane_forget(struct engine *e, struct lane *l)
{
    window_trim(&l->window, 0, forget_member, e);
    window_release(&l->window);
    window_init(&l->window);
    if (l->limit != NULL)
        lane_touch(e, l); /* an empty parked lane is freed */
}

void lane_free(struct engine *e, struct lane *l)
{
    char name[4];
    struct key k;
    ASSERT(lane_dead(l) && window_nothing(&l->window));
    ASSERT(!line_in(&l->in_part));
    store_del(e->store, FAMILY_NAMED,
              key_named(&k, NAMED_LANE, name_u32(l->id, name)));
    list_remove(&l->closed);
    list_remove(&l->touched);
    map_remove(&e->lanes_by_what, &l->by_what);
    if (l->owner != NULL && l->owner->lane == l)
        l->owner->lane = NULL;
    if (l->handler->lane == l)
        l->handler->lane = NULL;
    window_release(&l->window);
    e->lanes[l->id] = NULL;
    e->stats.lanes--;
    mem_free(l);
}

/* Windows share a budget: when it is used up, the lane that grows gives up its
 * own tail, down to a few members. */
static void make_room(struct engine *e, struct lane *l)
{
    uint32_t most = e->config.window_lane;
    if (e->window_members >= e->config.window_entries)
        most = 8;
    if (l->window.len > most)
        window_trim(&l->window, most / 2 + 1, forget_member, e);
}

static enum family family_of(const struct lane *l)
{
    return l->limit == NULL ? FAMILY_READY : FAMILY_PARKED;
}

static struct slice row_key(struct key *k, const struct lane *l, uint64_t order,
                            const struct id *id)
{
    return l->limit == NULL
               ? key_ready(k, l->queue->set.id, l->id, order, id)
               : key_parked(k, l->limit->name, l->base->id, order, id);
}

static void row_put(struct engine *e, const struct lane *l,
                    const struct member *m, bool fresh)
{
    struct key k;
    struct slice key = row_key(&k, l, m->order, &m->id);
    if (l->limit == NULL) {
        struct rec_ready r = {m->priority, m->since_ms};
        rec_ready_encode(&r, store_put(e->store, FAMILY_READY, key,
                                       rec_ready_size(&r), fresh));
    } else {
        struct rec_parked r = {m->priority, m->since_ms, m->met};
        rec_parked_encode(&r, store_put(e->store, FAMILY_PARKED, key,
                                        rec_parked_size(&r), fresh));
    }
}

static struct member *member_add(struct engine *e, struct lane *l,
                                 const struct member *m)
{
    if (l->limit != NULL || m->order < l->head_stored)
        lane_touch(e, l);
    if (!window_wants(&l->window, m->order, &m->id))
        return NULL;
    e->window_members++;
    return window_insert(&l->window, m);
}

/* On return the job is in the window (in_window), or it should be dropped. */
void lane_add(struct engine *e, struct lane *l, struct job *j, unsigned met,
              bool fresh)
{
    struct member m = {.order = j->order,
                       .id = j->id,
                       .since_ms = j->since_ms & WALL_MS_MAX,
                       .priority = MEMBER_PRIORITY(j->priority),
                       .met = MEMBER_MET(met),
                       .job = j};
    row_put(e, l, &m, fresh);
    j->parked = l->limit == NULL ? NULL : l;
    if (e->jobs.len > e->config.jobs_in_memory)
        m.job = NULL;
    bool had = !window_nothing(&l->window);
    /* Before the new member is in: what is trimmed is freed, and the caller
     * still has `j` in hand. */
    if (l->window.len > 8)
        make_room(e, l);
    struct member *at = member_add(e, l, &m);
    j->in_window = at != NULL && m.job != NULL;
    /* Only a new head changes anything in the heaps. */
    if (!had || at == window_head(&l->window))
        lane_update(e, l);
}

void lane_add_key(struct engine *e, struct lane *l, const struct member *m,
                  bool fresh)
{
    row_put(e, l, m, fresh);
    member_add(e, l, m);
    make_room(e, l);
    lane_update(e, l);
}

void lane_take(struct engine *e, struct lane *l, struct member *m)
{
    struct key k;
    store_del(e->store, family_of(l), row_key(&k, l, m->order, &m->id));
    if (m->job != NULL) {
        m->job->in_window = false;
        m->job->parked = NULL;
    }
    l->last_taken = m->order;
    window_remove(&l->window, m);
    e->window_members--;
    l->taken++;
    if (l->limit != NULL || l->taken >= HEAD_EVERY)
        lane_touch(e, l);
    lane_update(e, l);
}

void lane_remove(struct engine *e, struct job *j)
{
    struct lane *l = j->parked != NULL ? j->parked : j->lane;
    struct member *m = window_find(&l->window, j->order, &j->id);
    j->parked = NULL;
    if (m != NULL) {
        lane_take(e, l, m);
        return;
    }
    struct key k;
    store_del(e->store, family_of(l), row_key(&k, l, j->order, &j->id));
}

void lane_has_job(struct lane *l, struct member *m, struct job *j)
{
    j->state = l->limit == NULL ? JOB_READY : JOB_PARKED;
    j->lane = l->limit == NULL ? l : l->base;
    j->parked = l->limit == NULL ? NULL : l;
    j->order = m->order;
    j->in_window = true;
    m->job = j;
}

/* --- refill -------------------------------------------------------------- */

struct refill {
    struct engine *e;
    struct lane *lane;
    uint32_t rows;
    bool bad;
};

static bool parse_row(const struct lane *l, struct slice key,
                      struct slice value, struct member *m)
{
    struct ready_key k;
    struct parked_key p;
    struct rec_parked v = {0};
    if (l->limit == NULL) {
        struct rec_ready r;
        if (!key_parse_ready(key, &k) || !rec_ready_decode(&r, value))
            return false;
        v.priority = r.priority;
        v.since_ms = r.since_ms;
    } else {
        if (!key_parse_parked(key, &p) || !rec_parked_decode(&v, value))
            return false;
        k.order = p.order;
        k.id = p.id;
    }
    *m = (struct member){.order = k.order,
                         .id = k.id,
                         .since_ms = v.since_ms & WALL_MS_MAX,
                         .priority = MEMBER_PRIORITY(v.priority),
                         .met = MEMBER_MET(v.met)};
    return v.priority <= PRIORITY_MAX;
}

static bool refill_row(struct slice key, struct slice value, void *ud)
{
    struct refill *r = ud;
    struct member m;
    if (!parse_row(r->lane, key, value, &m)) {
        r->bad = true;
        return false;
    }
    m.job = job_get(r->e, &m.id);
    if (m.job != NULL) {
        m.job->in_window = true;
        m.job->parked = r->lane->limit == NULL ? NULL : r->lane;
    }
    window_append(&r->lane->window, &m);
    r->e->window_members++;
    r->rows++;
    return true;
}

/* From the bound to the end of the lane's rows. Returns how many of them, at
 * most `rows`. */
static uint32_t refill_range(const struct engine *e, const struct lane *l,
                             uint32_t rows, struct key *from, struct key *to)
{
    struct key prefix;
    row_key(from, l, l->window.bound_order, &l->window.bound_id);
    if (l->limit == NULL)
        key_prefix_lane(&prefix, l->queue->set.id, l->id);
    else
        key_prefix_limit_lane(&prefix, l->limit->name, l->base->id);
    key_after(to, key_slice(&prefix));
    if (e->window_members >= e->config.window_entries)
        return 8;
    uint32_t most = e->config.window_lane / 2 + 1;
    return most > rows ? rows : most;
}

void lane_wish(struct engine *e, struct gather *g, struct lane *l,
               uint32_t rows)
{
    struct key from, to;
    uint32_t most = refill_range(e, l, rows, &from, &to);
    store_wish_scan(e->store, g, family_of(l), key_slice(&from), key_slice(&to),
                    most);
}

enum err lane_refill(struct engine *e, struct gather *g, struct lane *l,
                     uint32_t rows, struct errbuf *err)
{
    ASSERT(!l->window.complete);
    struct key from, to;
    uint32_t most = refill_range(e, l, rows, &from, &to);
    struct refill r = {.e = e, .lane = l};
    enum err rc = store_scan(e->store, g, family_of(l), key_slice(&from),
                             key_slice(&to), most, refill_row, &r, err);
    if (rc != ERR_OK)
        return rc;
    if (r.bad)
        return err_set(err, ERR_CORRUPT, "family %s: bad row in lane %u",
                       l->limit == NULL ? "ready" : "parked",
                       (unsigned)(l->limit == NULL ? l->id : l->base->id));
    window_appended(&l->window, r.rows < most);
    e->stats.refills++;
    l->taken += r.rows; /* heads far above the stored one are worth a row */
    lane_touch(e, l);
    lane_update(e, l);
    return ERR_OK;
}

/* Lanes are noted first: a refill moves them in their heaps. */
enum err lanes_read(struct engine *e, struct gather *g, struct lane **lanes,
                    uint32_t n, struct errbuf *err)
{
    enum err all = ERR_OK;
    for (uint32_t i = 0; i < n; i++) {
        if (!window_unread(&lanes[i]->window))
            continue;
        enum err rc = lane_refill(e, g, lanes[i], LANE_REFILL_ROWS, err);
        if (rc == ERR_PENDING)
            all = rc;
        else if (rc != ERR_OK)
            return rc;
    }
    return all;
}
