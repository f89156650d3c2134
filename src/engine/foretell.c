/* Foretelling: how many jobs of a fair queue come before one of them.
 *
 * If nothing else came, each share's turns would follow each other by band and
 * virtual time, and those of all shares would come in that order; of two that
 * are equal the one whose share was served before the other, with the turn
 * before. So the turns of two shares are compared without those between.
 */
#include "engine/core.h"

#define SHARES_LOOKED 1000
#define TURNS_LOOKED 500   /* of a share */
#define JOBS_LOOKED 5000   /* of all */
#define LANES_LOOKED 8     /* of a share: handlers, names, older orders */
#define PARTS_LOOKED 32    /* of a share, most of which may be empty */
#define STEPS_LOOKED 50000 /* of the way to all these: strands and parts */

struct turn {
    uint64_t band, at;
};

struct course {
    struct share share; /* a copy, which pays */
    struct {
        const struct lane *lane;
        uint32_t next;
    } lines[LANES_LOOKED];
    uint32_t lines_n, n;
    struct turn turns[TURNS_LOOKED];
};

static bool part_serves(const struct part *p)
{
    return line_in(&p->in_strand) && !part_dead(p) && p->strand->handler->open;
}

static bool course_begin(struct course *c, const struct share *s)
{
    uint32_t parts = 0;
    c->share = *s;
    c->lines_n = c->n = 0;
    LIST_FOR (it, &s->parts) {
        const struct part *p = CONTAINER_OF(it, struct part, in_share);
        const struct line_node *n = NULL;
        if (parts++ == PARTS_LOOKED)
            return false;
        while (part_serves(p) && (n = line_next(&p->lanes, n)) != NULL) {
            const struct lane *l = CONTAINER_OF(n, struct lane, in_part);
            if (lane_dead(l))
                continue;
            if (c->lines_n == LANES_LOOKED)
                return false;
            c->lines[c->lines_n].next = 0;
            c->lines[c->lines_n++].lane = l;
        }
    }
    return true;
}

/* The share's next turn; *job is NULL if it has no more. False: nobody knows,
 * since a row is only on disk, a limit may stop the job, or two are equal. */
static bool course_step(struct engine *e, struct course *c, struct job **job)
{
    const struct member *first = NULL;
    uint64_t least = 0;
    uint32_t from = 0;
    *job = NULL;
    for (uint32_t i = 0; i < c->lines_n; i++) {
        const struct lane *l = c->lines[i].lane;
        if (c->lines[i].next == l->window.len && l->window.complete)
            continue;
        if (c->lines[i].next == l->window.len)
            return false;
        const struct member *m = window_at(&l->window, c->lines[i].next);
        uint64_t order = lane_order_now(l, m);
        if (first != NULL && order == least)
            return false;
        if (first == NULL || order < least) {
            first = m;
            least = order;
            from = i;
        }
    }
    if (first == NULL)
        return true;
    struct job *j = first->job;
    struct turn t = {share_band(c->share.queue, least), c->share.virtual_time};
    if (j == NULL || job_limited(e, j) || c->n == TURNS_LOOKED ||
        (c->n > 0 && t.band < c->turns[c->n - 1].band))
        return false;
    c->turns[c->n++] = t;
    share_catch_up(&c->share, c->lines[from].lane->part->strand);
    share_pay(&c->share, j->cost);
    c->lines[from].next++;
    *job = j;
    return true;
}

/* The last turns of both. */
static bool turn_before(const struct course *a, const struct course *b)
{
    uint32_t i = a->n, k = b->n;
    while (i > 0 && k > 0) {
        const struct turn *x = &a->turns[--i], *y = &b->turns[--k];
        if (x->band != y->band)
            return x->band < y->band;
        if (x->at != y->at)
            return x->at < y->at;
    }
    return i == 0 && k == 0 ? a->share.turn < b->share.turn : i == 0;
}

/* How many turns of `s` come before the last one of `own`. */
static bool turns_before(struct engine *e, const struct share *s,
                         const struct course *own, uint64_t *n)
{
    struct course c;
    struct job *j;
    if (!course_begin(&c, s))
        return false;
    do {
        if (!course_step(e, &c, &j))
            return false;
    } while (j != NULL && turn_before(&c, own));
    *n = j == NULL ? c.n : c.n - 1;
    return true;
}

bool shares_foretell(struct engine *e, const struct job *j, uint64_t *before)
{
    const struct queue *q = j->queue;
    struct course own;
    struct job *at;
    if (j->state != JOB_READY || q->shares_n > SHARES_LOOKED ||
        list_linked(&q->reordering) ||
        !course_begin(&own, j->lane->part->share))
        return false;
    do {
        if (!course_step(e, &own, &at) || at == NULL)
            return false;
    } while (at != j);
    uint64_t all = own.n - 1, n;
    uint32_t steps = 0;
    /* A share has several parts, and is looked at once. */
    j->lane->part->share->foretold = ++e->foretold;
    LIST_FOR (it, &q->strands) {
        const struct strand *s = CONTAINER_OF(it, struct strand, in_queue);
        const struct line_node *node =
            s->handler->open ? line_next(&s->parts, NULL) : NULL;
        if (++steps > STEPS_LOOKED)
            return false;
        while (node != NULL) {
            const struct part *p = CONTAINER_OF(node, struct part, in_strand);
            bool dead = part_dead(p);
            if (++steps > STEPS_LOOKED)
                return false;
            if (!dead && p->share->foretold != e->foretold) {
                p->share->foretold = e->foretold;
                if (!turns_before(e, p->share, &own, &n) ||
                    (all += n) > JOBS_LOOKED)
                    return false;
            }
            node =
                dead ? line_past(&s->parts, node) : line_next(&s->parts, node);
        }
    }
    *before = all;
    return true;
}
