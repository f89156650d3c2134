/* The invariants of the engine: rows as engine_audit() compares them, and what
 * is in memory. */
#include "engine/core.h"

struct tally {
    struct engine *e;
    struct errbuf *err;
    enum err rc;
};

static void first_finding(void *ud, const char *finding)
{
    struct tally *t = ud;
    if (t->rc == ERR_OK)
        t->rc = err_set(t->err, ERR_INTERNAL, "%s", finding);
}

static void violated(struct tally *t, const char *what, const struct id *id)
{
    char text[ID_TEXT_LEN + 1] = "";
    if (id != NULL)
        id_text(id, text);
    if (t->rc == ERR_OK)
        t->rc = err_set(t->err, ERR_INTERNAL, "%s%s%.*s", what,
                        id == NULL ? "" : ": ", ID_TEXT_LEN, text);
}

static bool row_there(struct tally *t, enum family f, struct slice key)
{
    struct slice value;
    return store_get(t->e->store, NULL, f, key, &value, NULL) == ERR_OK;
}

static bool count_row(struct slice key, struct slice value, void *ud)
{
    (void)key;
    (void)value;
    (*(uint64_t *)ud)++;
    return true;
}

static uint64_t rows_of(struct tally *t, enum family f)
{
    uint64_t n = 0;
    if (store_scan(t->e->store, NULL, f, SLICE_EMPTY, SLICE_EMPTY, SIZE_MAX,
                   count_row, &n, t->err) != ERR_OK)
        violated(t, "a family cannot be read", NULL);
    return n;
}

/* The heaps above a lane, as the invariants of lane.c have them. */
static void check_heaps(struct tally *t, const struct part *p)
{
    const struct strand *s = p->strand;
    const struct queue *q = s->queue;
    uint32_t working = 0;
    if (line_in(&p->in_strand) != (p->lanes.len > 0))
        violated(t, "a part stands in its strand without work, or not with it",
                 NULL);
    if ((strand_works(s) && line_in(&s->in_open) != s->handler->open) ||
        list_linked(&s->in_queue) != (s->parts.len > 0))
        violated(t, "a strand stands in its queue without work, or not with it",
                 NULL);
    LIST_FOR (it, &p->share->parts) {
        const struct part *other = CONTAINER_OF(it, struct part, in_share);
        working += line_in(&other->in_strand) && !part_dead(other);
    }
    if (working != (p->share->purged == q->purged ? p->share->working : 0))
        violated(t, "the parts of a share are miscounted", NULL);
    line_check(&p->lanes);
    line_check(&s->parts);
    line_check(&q->open);
}

/* Every member has its row; a complete window has as many as there are rows. */
static void check_lane(struct tally *t, struct lane *l)
{
    struct engine *e = t->e;
    struct key from, to, k;
    uint64_t rows = 0;
    bool parked = l->limit != NULL;
    if (lane_dead(l))
        return;
    enum family family = parked ? FAMILY_PARKED : FAMILY_READY;
    window_check(&l->window);
    for (uint32_t i = 0; i < l->window.len; i++) {
        const struct member *m = window_at(&l->window, i);
        struct slice key =
            parked ? key_parked(&k, l->limit->name, l->id, m->order, &m->id)
                   : key_ready(&k, l->queue->set.id, l->id, m->order, &m->id);
        if (!row_there(t, family, key))
            violated(t, "a member of a lane without its row", &m->id);
        if (m->job == NULL)
            continue;
        if (m->job->state != (parked ? JOB_PARKED : JOB_READY) ||
            !m->job->in_window || m->job->lane != (parked ? l->base : l) ||
            m->job->parked != (parked ? l : NULL))
            violated(t, "a job in a lane that it does not stand in", &m->id);
    }
    if (parked)
        key_prefix_limit_lane(&from, l->limit->name, l->id);
    else
        key_prefix_lane(&from, l->queue->set.id, l->id);
    if (store_scan(e->store, NULL, family, key_slice(&from),
                   key_after(&to, key_slice(&from)), SIZE_MAX, count_row, &rows,
                   t->err) != ERR_OK)
        violated(t, "ready cannot be read", NULL);
    if (l->window.complete && rows != l->window.len)
        violated(t, "a complete window lacks rows", NULL);
    bool work = !window_nothing(&l->window);
    if (work != (line_in(&l->in_part) || list_linked(&l->shut)))
        violated(t, "a lane stands in a heap without work, or not with it",
                 NULL);
    if (line_in(&l->in_part) && !list_linked(&l->queue->reordering) &&
        l->rank != lane_head_order(l))
        violated(t, "a lane stands where its head was before", NULL);
    check_heaps(t, l->part);
}

struct running {
    struct tally *t;
    struct limit *l;
    uint32_t n;
};

static void count_running(const struct job *j, void *ud)
{
    struct running *r = ud;
    struct job_names n;
    job_names(r->t->e, (struct job *)(uintptr_t)j, false, &n);
    r->n += j->queue == r->l->queue;
    for (uint32_t k = 0; k < n.n; k++)
        r->n += n.at[k] == r->l;
}

/* Limits: their lanes, what runs under them, and the law of wake-ups. */
static void check_limit(struct tally *t, struct limit *l)
{
    struct running r = {t, l, 0};
    LIST_FOR (it, &l->groups) {
        struct park_group *g = CONTAINER_OF(it, struct park_group, in_limit);
        LIST_FOR (p, &g->lanes)
            check_lane(t, CONTAINER_OF(p, struct lane, in_group));
    }
    leases_each(t->e, count_running, &r);
    if (r.n != l->running && t->rc == ERR_OK)
        t->rc = err_set(t->err, ERR_INTERNAL,
                        "limit %.*s counts %u running jobs, not %u",
                        SLICE_FMT(l->name), l->running, r.n);
}

static void check_limits(struct tally *t)
{
    struct engine *e = t->e;
    for (int pass = 0; pass < 2; pass++) {
        struct list *all = pass == 0 ? &e->limits : &e->limits_todo;
        LIST_FOR (it, all)
            check_limit(t, CONTAINER_OF(it, struct limit, in_all));
    }
    const char *bad = limits_check(e);
    if (bad != NULL)
        violated(t, bad, NULL);
}

enum err engine_check(struct engine *e, struct errbuf *err)
{
    struct tally t = {.e = e, .err = err};
    CHECK_OBJ(e, ENGINE);
    enum err rc = engine_audit(e, first_finding, &t, err);
    if (rc != ERR_OK)
        return rc;
    for (uint32_t i = 0; i < e->lanes_n && t.rc == ERR_OK; i++)
        if (e->lanes[i] != NULL)
            check_lane(&t, e->lanes[i]);
    if (t.rc == ERR_OK)
        check_limits(&t);
    const char *bad = workers_check(e);
    if (bad == NULL)
        bad = waits_check(e);
    if (bad != NULL)
        violated(&t, bad, NULL);
    leases_check(e);
    window_check(&e->due);
    if (t.rc == ERR_OK && rows_of(&t, FAMILY_RUNS) != e->leases.len)
        violated(&t, "leases and rows of runs differ in number", NULL);
    return t.rc;
}
