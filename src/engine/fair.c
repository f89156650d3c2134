/* Fairness: whose turn it is inside a queue.
 *
 *     queue --- strand (handler) --- part (handler and owner) --- lanes
 *                                     |
 *                            share (owner): virtual time
 *
 * A share is a queue's work of one owner, however many handlers it has. Shares
 * are served first by the priority band of their best job (where the queue
 * orders by priority), then by virtual time, which grows by cost / weight with
 * each lease. An owner that was idle starts at the others' present. Of shares
 * with the same virtual time the one that has stood there the longest is first:
 * owners who have a job now and then are served in the order in which they
 * come, and so their rows are changed in the order in which they lie. A queue
 * that is not fair has a single share; jobs that came while it was stand in
 * theirs until they are leased, but without turns. Jobs that came before it was
 * stand in a share of nobody, with the weight of one owner.
 *
 * What a worker may have depends on the handler, and so does what is closed. So
 * the lines are of strands: a worker's best job is the best of its handlers'
 * strands, and a handler that is paused takes its strands out of their queues,
 * however many owners stand in them.
 *
 * A purge touches none of it: what stands here then is dead from one moment to
 * the next, all of a queue. In each line what is dead comes behind what is not,
 * and is equal among itself, so the lines are right as they are; a chore takes
 * the dead out later (purge.c).
 */
#include "engine/core.h"

#define COST_UNIT ((uint64_t)1 << 20)

struct share_key {
    const struct queue *queue;
    const struct owner *owner;
};

struct strand_key {
    const struct queue *queue;
    const struct handler *handler;
};

struct part_key {
    const struct share *share;
    const struct strand *strand;
};

static bool share_is(const struct map_node *n, const void *key)
{
    const struct share *s = CONTAINER_OF(n, struct share, by_what);
    const struct share_key *k = key;
    return s->queue == k->queue && s->owner == k->owner;
}

static bool strand_is(const struct map_node *n, const void *key)
{
    const struct strand *s = CONTAINER_OF(n, struct strand, by_what);
    const struct strand_key *k = key;
    return s->queue == k->queue && s->handler == k->handler;
}

static bool part_is(const struct map_node *n, const void *key)
{
    const struct part *p = CONTAINER_OF(n, struct part, by_what);
    const struct part_key *k = key;
    return p->share == k->share && p->strand == k->strand;
}

void shares_init(struct engine *e)
{
    map_init(&e->shares_by_what, share_is);
    map_init(&e->strands_by_what, strand_is);
    map_init(&e->parts_by_what, part_is);
}

static uint64_t hash_of(const struct queue *q, uint32_t id)
{
    return hash_number((uint64_t)q->set.id << 32 | id);
}

/* --- order --------------------------------------------------------------- */

static bool lane_less(const struct heap_node *a, const struct heap_node *b)
{
    const struct lane *x = CONTAINER_OF(a, struct lane, in_part.in_heap);
    const struct lane *y = CONTAINER_OF(b, struct lane, in_part.in_heap);
    if (lane_dead(x) || lane_dead(y))
        return !lane_dead(x);
    return x->rank < y->rank;
}

bool part_less(const struct heap_node *a, const struct heap_node *b)
{
    const struct part *x = CONTAINER_OF(a, struct part, in_strand.in_heap);
    const struct part *y = CONTAINER_OF(b, struct part, in_strand.in_heap);
    if (part_dead(x) || part_dead(y))
        return !part_dead(x);
    if (x->band != y->band)
        return x->band < y->band;
    if (x->share->virtual_time != y->share->virtual_time)
        return x->share->virtual_time < y->share->virtual_time;
    if (x->share->turn != y->share->turn)
        return x->share->turn < y->share->turn;
    return x->head < y->head; /* of one share */
}

bool strand_less(const struct heap_node *a, const struct heap_node *b)
{
    const struct strand *x = CONTAINER_OF(a, struct strand, in_open.in_heap);
    const struct strand *y = CONTAINER_OF(b, struct strand, in_open.in_heap);
    return part_less(&line_top(&x->parts)->in_heap,
                     &line_top(&y->parts)->in_heap);
}

static struct lane *part_lane(const struct part *p)
{
    return CONTAINER_OF(line_top(&p->lanes), struct lane, in_part);
}

/* One band under aging. Where nobody takes turns any more each order is a band
 * of its own, also of the shares that are left from before. */
uint64_t share_band(const struct queue *q, uint64_t order)
{
    const struct rec_queue *set = &q->set;
    return !set->fair ? order : set->order == SCHEME_AGING ? 0 : order >> 48;
}

/* The band and the order of the best job. */
static void look_at_head(struct part *p)
{
    const struct lane *l = part_lane(p);
    p->lane = l->id;
    p->head = l->rank;
    p->band = share_band(p->strand->queue, p->head);
}

bool strand_works(const struct strand *s)
{
    return s->parts.len > 0 && !part_dead(CONTAINER_OF(line_top(&s->parts),
                                                       struct part, in_strand));
}

void strand_update(struct strand *s)
{
    struct line *open = &s->queue->open;
    if (!strand_works(s) || !s->handler->open)
        line_remove(open, &s->in_open);
    else if (line_in(&s->in_open))
        line_changed(open, &s->in_open);
    else
        line_add(open, &s->in_open);
}

static void share_arrive(struct share *s)
{
    if (s->virtual_time < s->queue->virtual_now)
        s->virtual_time = s->queue->virtual_now;
    s->turn = ++s->queue->turns;
}

/* Does one of its parts begin or end to have work? */
static void share_count(struct share *s, bool worked, bool works)
{
    struct queue *q = s->queue;
    if (s->purged != q->purged) { /* those were counted that are dead now */
        s->purged = q->purged;
        s->working = 0;
    }
    if (works && !worked && s->working++ == 0) {
        q->shares_n++;
        share_arrive(s);
    } else if (worked && !works && --s->working == 0) {
        q->shares_n--;
    }
}

static void leave(struct share *s)
{
    LIST_FOR (it, &s->parts) {
        struct part *p = CONTAINER_OF(it, struct part, in_share);
        if (!line_in(&p->in_strand))
            continue;
        line_remove(&s->queue->open, &p->strand->in_open);
        line_remove(&p->strand->parts, &p->in_strand);
        strand_update(p->strand);
    }
}

static void come_back(struct share *s)
{
    LIST_FOR (it, &s->parts) {
        struct part *p = CONTAINER_OF(it, struct part, in_share);
        if (p->lanes.len == 0)
            continue;
        line_add(&p->strand->parts, &p->in_strand);
        strand_update(p->strand);
    }
}

/* Unread lanes count as work, and may turn out to be none: who has been idle
 * since the start begins at the others' present, too. */
static void share_see(struct share *s)
{
    s->unseen = false;
    if (s->virtual_time >= s->queue->virtual_now)
        return;
    leave(s);
    share_arrive(s);
    come_back(s);
}

void part_update(struct part *p)
{
    struct share *s = p->share;
    struct line *parts = &p->strand->parts;
    bool was = line_in(&p->in_strand), is = p->lanes.len > 0;
    bool worked = was && !part_dead(p);
    if (is)
        look_at_head(p);
    share_count(s, worked, is && !part_dead(p));
    if (is && was) {
        line_changed(parts, &p->in_strand);
    } else if (is) {
        line_add(parts, &p->in_strand);
        if (parts->len == 1)
            list_append(&s->queue->strands, &p->strand->in_queue);
    } else if (was) {
        line_remove(parts, &p->in_strand);
        if (parts->len == 0)
            list_remove(&p->strand->in_queue);
    }
    strand_update(p->strand);
    if (s->unseen && is && !window_unread(&part_lane(p)->window))
        share_see(s);
}

static void rank_lanes(struct part *p)
{
    struct line_node *n = NULL;
    while ((n = line_next(&p->lanes, n)) != NULL) {
        struct lane *l = CONTAINER_OF(n, struct lane, in_part);
        l->rank = lane_head_order(l);
    }
    line_rebuild(&p->lanes);
}

void part_reorder(struct part *p)
{
    rank_lanes(p);
    part_update(p);
}

void strand_reorder(struct strand *s)
{
    struct line_node *n = NULL;
    while ((n = line_next(&s->parts, n)) != NULL) {
        struct part *p = CONTAINER_OF(n, struct part, in_strand);
        rank_lanes(p);
        look_at_head(p);
    }
    line_rebuild(&s->parts);
}

/* --- made ---------------------------------------------------------------- */

static struct share *share_for(struct engine *e, struct queue *q,
                               struct owner *o)
{
    struct share_key k = {q, o};
    uint64_t h = hash_of(q, o == NULL ? 0 : o->set.id);
    struct map_node *n = map_get(&e->shares_by_what, h, &k);
    if (n != NULL)
        return CONTAINER_OF(n, struct share, by_what);
    struct share *s = NEW(struct share);
    s->queue = q;
    s->owner = o;
    list_init(&s->parts);
    map_add(&e->shares_by_what, &s->by_what, h);
    return s;
}

struct strand *strand_find(const struct engine *e, const struct queue *q,
                           const struct handler *h)
{
    struct strand_key k = {q, h};
    struct map_node *n =
        map_get(&e->strands_by_what, hash_of(q, h->set.id), &k);
    return n == NULL ? NULL : CONTAINER_OF(n, struct strand, by_what);
}

static struct strand *strand_for(struct engine *e, struct queue *q,
                                 struct handler *h)
{
    struct strand *s = strand_find(e, q, h);
    if (s != NULL)
        return s;
    s = NEW(struct strand);
    s->queue = q;
    s->handler = h;
    line_init(&s->parts, part_less);
    list_append(&h->strands, &s->in_handler);
    map_add(&e->strands_by_what, &s->by_what, hash_of(q, h->set.id));
    return s;
}

struct part *part_for(struct engine *e, struct queue *q, struct handler *h,
                      struct owner *o)
{
    struct part_key k = {share_for(e, q, o), strand_for(e, q, h)};
    uint64_t hash = k.share->by_what.hash + k.strand->by_what.hash * 31;
    struct map_node *n = map_get(&e->parts_by_what, hash, &k);
    if (n != NULL)
        return CONTAINER_OF(n, struct part, by_what);
    struct share *s = share_for(e, q, o);
    struct part *p = list_empty(&s->parts) ? &s->first : NEW(struct part);
    p->share = s;
    p->strand = strand_for(e, q, h);
    line_init(&p->lanes, lane_less);
    list_append(&p->share->parts, &p->in_share);
    map_add(&e->parts_by_what, &p->by_what, hash);
    return p;
}

static void part_free(struct map_node *n, void *ud)
{
    (void)ud;
    struct part *p = CONTAINER_OF(n, struct part, by_what);
    line_release(&p->lanes);
    if (p != &p->share->first)
        mem_free(p);
}

static void strand_free(struct map_node *n, void *ud)
{
    (void)ud;
    struct strand *s = CONTAINER_OF(n, struct strand, by_what);
    line_release(&s->parts);
    mem_free(s);
}

static void share_free(struct map_node *n, void *ud)
{
    (void)ud;
    mem_free(CONTAINER_OF(n, struct share, by_what));
}

void shares_free(struct engine *e)
{
    map_each(&e->parts_by_what, part_free, NULL);
    map_release(&e->parts_by_what);
    map_each(&e->strands_by_what, strand_free, NULL);
    map_release(&e->strands_by_what);
    map_each(&e->shares_by_what, share_free, NULL);
    map_release(&e->shares_by_what);
}

/* --- expected ------------------------------------------------------------ */

#define LANE_BYTES offsetof(struct lane, closed)
#define SHARE_BYTES offsetof(struct share, first.lanes.heap)

void lane_expect(const struct lane *l)
{
    mem_expect(l, LANE_BYTES);
}

void lane_place_expect(const struct lane *l)
{
    mem_expect(l->part->share, SHARE_BYTES);
    if (l->window.at != NULL)
        mem_expect(l->window.at + l->window.first + l->window.len, 1);
}

#define JOB_BYTES 512 /* what a lease looks at, payload and all */
#define EXPECT                                              \
    4 /* parts on their way, each one step further than the \
         one behind it: part, lane, window, job, limits */

static void expect_job(const struct window *w, uint32_t i)
{
    if (w->len > i && window_at(w, i)->job != NULL)
        mem_expect(window_at(w, i)->job, JOB_BYTES);
}

static void expect_limits(const struct window *w, uint32_t i)
{
    if (w->len > i && window_at(w, i)->job != NULL)
        limits_expect(window_at(w, i)->job);
}

/* Where there is one share its lane has all of them; else each share's turn is
 * a part, a lane, a window and a job that nobody has looked at since the job
 * was added. */
void strand_expect(const struct strand *s)
{
    const struct list *turn = &s->parts.in_turn, *at = turn->next;
    const struct part *next[EXPECT] = {NULL};
    if (s->parts.len == 1) {
        const struct part *p =
            CONTAINER_OF(line_top(&s->parts), struct part, in_strand);
        const struct window *w = &part_lane(p)->window;
        expect_job(w, 2);
        expect_limits(w, 1);
        return;
    }
    for (int i = 0; i < EXPECT && at != turn; i++, at = at->next)
        next[i] = CONTAINER_OF(at, struct part, in_strand.in_turn);
    if (at != turn)
        mem_expect(CONTAINER_OF(at, struct share, first.in_strand.in_turn),
                   SHARE_BYTES);
    if (next[3] != NULL)
        lane_expect(part_lane(next[3]));
    if (next[2] != NULL)
        mem_expect(window_head(&part_lane(next[2])->window), 1);
    if (next[1] != NULL)
        expect_job(&part_lane(next[1])->window, 0);
    if (next[0] != NULL)
        expect_limits(&part_lane(next[0])->window, 0);
}

/* --- served -------------------------------------------------------------- */

/* Its time changes in several lines at once, and a line bears one changed
 * member: so out with its parts, and in again. Among themselves the parts of
 * one share do not move. */
static bool must_leave(const struct share *s)
{
    return s->working > 1 && s->queue->shares_n > 1;
}

static uint32_t weight_of(const struct share *s)
{
    return s->owner == NULL || s->owner->set.weight == 0 ? 1
                                                         : s->owner->set.weight;
}

/* Weights reach the size of COST_UNIT: what a division leaves is paid with the
 * next one, or all large weights would be the same. */
void share_pay(struct share *s, uint32_t cost)
{
    uint32_t weight = weight_of(s);
    uint64_t due = COST_UNIT * cost + (s->rest < weight ? s->rest : 0);
    s->virtual_time += due / weight;
    s->rest = (uint32_t)(due % weight);
}

static void share_get_back(struct share *s, uint32_t cost)
{
    uint32_t weight = weight_of(s);
    uint64_t paid = COST_UNIT * cost / weight;
    uint32_t rest = (uint32_t)(COST_UNIT * cost % weight);
    if (s->rest < rest) {
        s->rest += weight;
        paid++;
    }
    s->rest -= rest;
    s->virtual_time = s->virtual_time > paid ? s->virtual_time - paid : 0;
}

/* While its handler was closed it was idle, as far as it goes. */
void share_catch_up(struct share *s, const struct strand *strand)
{
    if (s->virtual_time < strand->reopened_at)
        s->virtual_time = strand->reopened_at;
}

bool share_charge(struct part *p, uint32_t cost)
{
    struct share *s = p->share;
    struct queue *q = s->queue;
    if (!q->set.fair)
        return false; /* or it would have to make up for it afterwards */
    bool out = must_leave(s);
    if (out)
        leave(s);
    share_catch_up(s, p->strand);
    if (q->virtual_now < s->virtual_time)
        q->virtual_now = s->virtual_time;
    share_pay(s, cost);
    s->turn = ++q->turns;
    if (out)
        come_back(s);
    return true;
}

void share_refund(struct part *p, uint32_t cost)
{
    struct share *s = p->share;
    leave(s);
    share_get_back(s, cost);
    come_back(s);
}
