/* Fairness: whose turn it is inside a queue.
 *
 * A share is a queue's work of one owner, however many handlers it has. Shares
 * with work stand in the queue's heap: first by the priority band of their best
 * job (where the queue orders by priority), then by virtual time, which grows
 * by cost / weight with each lease. An owner that was idle starts at the
 * others' present. Of shares with the same virtual time the one that has stood
 * there the longest is first: owners who have a job now and then are served in
 * the order in which they come, and so their rows are changed in the order in
 * which they lie. A queue that is not fair has a single share.
 */
#include "engine/core.h"

#define COST_UNIT ((uint64_t)1 << 20)

struct share_key {
    const struct queue *queue;
    const struct owner *owner;
};

bool share_is(const struct map_node *n, const void *key)
{
    const struct share *s = CONTAINER_OF(n, struct share, by_what);
    const struct share_key *k = key;
    return s->queue == k->queue && s->owner == k->owner;
}

static bool lane_less(const struct heap_node *a, const struct heap_node *b)
{
    const struct lane *x = CONTAINER_OF(a, struct lane, in_share);
    const struct lane *y = CONTAINER_OF(b, struct lane, in_share);
    return lane_head_order(x) < lane_head_order(y);
}

/* The band of the best job; one band under aging. */
void share_band(struct share *s)
{
    const struct heap_node *top = heap_top(&s->lanes);
    s->band = 0;
    if (top == NULL || s->queue->set.order == SCHEME_AGING)
        return;
    const struct lane *l = CONTAINER_OF(top, struct lane, in_share);
    s->band = lane_head_order(l) >> 48;
}

bool share_less(const struct heap_node *a, const struct heap_node *b)
{
    const struct share *x = CONTAINER_OF(a, struct share, in_queue);
    const struct share *y = CONTAINER_OF(b, struct share, in_queue);
    if (x->band != y->band)
        return x->band < y->band;
    if (x->virtual_time != y->virtual_time)
        return x->virtual_time < y->virtual_time;
    return x->turn < y->turn;
}

struct share *share_for(struct engine *e, struct queue *q, struct owner *o)
{
    struct share_key k = {q, o};
    uint64_t h = ((uint64_t)q->set.id << 32 | (o == NULL ? 0 : o->set.id)) *
                 (uint64_t)0x9e3779b97f4a7c15u;
    struct map_node *n = map_get(&e->shares_by_what, h, &k);
    if (n != NULL)
        return CONTAINER_OF(n, struct share, by_what);
    struct share *s = NEW(struct share);
    s->queue = q;
    s->owner = o;
    heap_init(&s->lanes, lane_less);
    map_add(&e->shares_by_what, &s->by_what, h);
    return s;
}

void share_arrive(struct share *s)
{
    if (s->virtual_time < s->queue->virtual_now)
        s->virtual_time = s->queue->virtual_now;
    s->turn = ++s->queue->turns;
}

void share_charge(struct share *s, uint32_t cost)
{
    struct queue *q = s->queue;
    uint32_t weight = s->owner == NULL ? 1 : s->owner->set.weight;
    if (q->virtual_now < s->virtual_time)
        q->virtual_now = s->virtual_time;
    s->virtual_time += COST_UNIT * cost / (weight == 0 ? 1 : weight);
    s->turn = ++q->turns;
}

void share_refund(struct share *s, uint32_t cost)
{
    uint32_t weight = s->owner == NULL ? 1 : s->owner->set.weight;
    uint64_t paid = COST_UNIT * cost / (weight == 0 ? 1 : weight);
    s->virtual_time = s->virtual_time > paid ? s->virtual_time - paid : 0;
    if (heap_in(&s->in_queue))
        heap_changed(&s->queue->shares, &s->in_queue);
}

void share_free(struct map_node *n, void *ud)
{
    (void)ud;
    struct share *s = CONTAINER_OF(n, struct share, by_what);
    heap_release(&s->lanes);
    mem_free(s);
}
