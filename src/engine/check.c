/* The invariants of the engine, by recounting rows. */
#include "engine/core.h"

#include <stdlib.h>

struct tally {
    struct engine *e;
    struct errbuf *err;
    enum err rc;
    uint64_t *counts; /* by queue and state */
    uint64_t jobs, ready, runs, due, parked_seen;
    struct buf parked; /* struct parked_at, sorted */
    uint64_t *owners;  /* live jobs by owner */
    const struct lane *lane;
    uint64_t lane_low;
};

static void violated(struct tally *t, const char *what, const struct id *id)
{
    char text[ID_TEXT_LEN + 1] = "";
    if (id != NULL)
        id_text(id, text);
    if (t->rc == ERR_OK)
        t->rc = err_set(t->err, ERR_INTERNAL, "%s%s%.*s", what,
                        id == NULL ? "" : ": ", ID_TEXT_LEN, text);
}

struct parked_at {
    struct id id;
    uint32_t lane;
    uint64_t order;
};

static int by_id(const void *a, const void *b)
{
    const struct parked_at *x = a, *y = b;
    return id_cmp(&x->id, &y->id);
}

static bool note_parked(struct slice key, struct slice value, void *ud)
{
    struct tally *t = ud;
    struct parked_key k;
    (void)value;
    if (!key_parse_parked(key, &k)) {
        violated(t, "a row of parked is damaged", NULL);
        return false;
    }
    struct parked_at p;
    memset(&p, 0, sizeof(p));
    p.id = k.id;
    p.lane = k.lane;
    p.order = k.order;
    buf_add(&t->parked, &p, sizeof(p));
    return true;
}

static void read_parked(struct tally *t)
{
    if (store_scan(t->e->store, NULL, FAMILY_PARKED, SLICE_EMPTY, SLICE_EMPTY,
                   SIZE_MAX, note_parked, t, t->err) != ERR_OK)
        violated(t, "parked cannot be read", NULL);
    size_t n = t->parked.len / sizeof(struct parked_at);
    if (n == 0)
        return;
    struct parked_at *at = (struct parked_at *)(void *)t->parked.data;
    qsort(at, n, sizeof(*at), by_id);
    for (size_t i = 1; i < n; i++)
        if (id_eq(&at[i].id, &at[i - 1].id))
            violated(t, "a job is parked twice", &at[i].id);
}

static bool is_parked(struct tally *t, const struct id *id, uint32_t lane,
                      uint64_t order)
{
    struct parked_at k = {.id = *id};
    size_t n = t->parked.len / sizeof(k);
    if (n == 0)
        return false;
    struct parked_at *p = bsearch(&k, t->parked.data, n, sizeof(k), by_id);
    if (p == NULL)
        return false;
    if (p->lane != lane || p->order != order)
        violated(t, "a job is parked where its row does not say", id);
    t->parked_seen++;
    return true;
}

static void count_owner(struct tally *t, const struct rec_job *r)
{
    struct rec_more m;
    if ((r->flags & JOBF_OWNED) == 0)
        return;
    if (!rec_more_decode(&m, r->more) || m.owner >= t->e->owners_n)
        violated(t, "a job of no owner", NULL);
    else
        t->owners[m.owner]++;
}

static bool row_there(struct tally *t, enum family f, struct slice key)
{
    struct slice value;
    return store_get(t->e->store, NULL, f, key, &value, NULL) == ERR_OK;
}

/* A job has exactly one place. */
static bool check_job(struct slice key, struct slice value, void *ud)
{
    struct tally *t = ud;
    struct engine *e = t->e;
    struct id id;
    struct rec_job r;
    struct key k;
    if (!key_parse_id(key, &id) || !rec_job_decode(&r, value)) {
        violated(t, "a row of jobs is damaged", NULL);
        return false;
    }
    count_owner(t, &r);
    buf_add(&e->scratch, id.bytes, ID_LEN);
    buf_add(&e->scratch, &r.queue, sizeof(r.queue));
    buf_add(&e->scratch, &r.lane, sizeof(r.lane));
    buf_add(&e->scratch, &r.order, sizeof(r.order));
    buf_add(&e->scratch, &r.since_ms, sizeof(r.since_ms));
    buf_add(&e->scratch, &r.state, sizeof(r.state));
    (void)k;
    return t->rc == ERR_OK;
}

static void check_place(struct tally *t, const struct id *id, uint32_t queue,
                        uint32_t lane, uint64_t order, uint64_t since_ms,
                        uint8_t stored)
{
    struct engine *e = t->e;
    struct key k;
    bool run = row_there(t, FAMILY_RUNS, key_run(&k, id));
    bool ready =
        row_there(t, FAMILY_READY, key_ready(&k, queue, lane, order, id));
    bool due = row_there(t, FAMILY_DUE,
                         key_due(&k, since_ms, DUE_READY, id_slice(id)));
    bool parked = is_parked(t, id, lane, order);
    struct job *j = job_get(e, id);
    if (!run && row_purged(e->queues[queue], lane))
        return; /* its rows wait for the chore */
    t->jobs++;
    uint8_t state = stored == JOB_PARKED ? JOB_READY : stored;
    if (run)
        state = JOB_RUNNING;
    else if (parked)
        state = JOB_PARKED;
    else if (ready)
        state = JOB_READY;
    if (run + ready + due + parked > 1)
        violated(t, "a job stands in two places", id);
    if (state == JOB_RUNNING && !run)
        violated(t, "a running job without its lease", id);
    if ((state == JOB_SCHEDULED || state == JOB_RETRYING) && !due)
        violated(t, "a delayed job without its time", id);
    if (state == JOB_READY && !ready)
        violated(t, "a ready job without its lane", id);
    if (run && (j == NULL || j->state != JOB_RUNNING))
        violated(t, "a lease that the table does not know", id);
    if (j != NULL && j->state != state)
        violated(t, "memory and rows disagree about a state", id);
    if (t->rc == ERR_OK)
        t->counts[queue * JOB_STATES + state]++;
}

static void check_jobs(struct tally *t)
{
    struct engine *e = t->e;
    struct buf rows = {0};
    buf_clear(&e->scratch);
    enum err rc = store_scan(e->store, NULL, FAMILY_JOBS, SLICE_EMPTY,
                             SLICE_EMPTY, SIZE_MAX, check_job, t, t->err);
    if (rc != ERR_OK)
        violated(t, "jobs cannot be read", NULL);
    buf_add_slice(&rows, buf_slice(&e->scratch));
    for (size_t at = 0; at < rows.len && t->rc == ERR_OK;) {
        struct id id;
        uint32_t queue, lane;
        uint64_t order, since_ms;
        uint8_t state;
        memcpy(id.bytes, rows.data + at, ID_LEN);
        at += ID_LEN;
        memcpy(&queue, rows.data + at, sizeof(queue));
        at += sizeof(queue);
        memcpy(&lane, rows.data + at, sizeof(lane));
        at += sizeof(lane);
        memcpy(&order, rows.data + at, sizeof(order));
        at += sizeof(order);
        memcpy(&since_ms, rows.data + at, sizeof(since_ms));
        at += sizeof(since_ms);
        memcpy(&state, rows.data + at, sizeof(state));
        at += sizeof(state);
        check_place(t, &id, queue, lane, order, since_ms, state);
    }
    buf_release(&rows);
}

static bool count_row(struct slice key, struct slice value, void *ud)
{
    (void)key;
    (void)value;
    (*(uint64_t *)ud)++;
    return true;
}

/* What lies beside a job belongs to one that lives. */
static bool check_body(struct slice key, struct slice value, void *ud)
{
    struct tally *t = ud;
    struct body_key b;
    struct key k;
    (void)value;
    if (!key_parse_body(key, &b))
        violated(t, "a row of bodies is damaged", NULL);
    else if (!row_there(t, FAMILY_JOBS, key_job(&k, &b.id)))
        violated(t, "a row of bodies without its job", &b.id);
    return t->rc == ERR_OK;
}

static uint64_t rows_of(struct tally *t, enum family f)
{
    uint64_t n = 0;
    if (store_scan(t->e->store, NULL, f, SLICE_EMPTY, SLICE_EMPTY, SIZE_MAX,
                   count_row, &n, t->err) != ERR_OK)
        violated(t, "a family cannot be read", NULL);
    return n;
}

static bool check_index_row(struct slice key, struct slice value, void *ud)
{
    struct tally *t = ud;
    struct index_key k;
    struct slice ids;
    struct id id;
    if (!key_parse_index(key, &k) || k.queue >= t->e->queues_n ||
        k.state >= JOB_STATES || !index_ids(value, &ids)) {
        violated(t, "a row of index is damaged", NULL);
        return false;
    }
    for (size_t at = 0; index_next(ids, &at, &id);)
        t->counts[k.queue * JOB_STATES + k.state]++;
    return true;
}

static void check_counts(struct tally *t)
{
    struct engine *e = t->e;
    for (uint32_t i = 0; i < e->queues_n; i++) {
        const struct queue *q = e->queues[i];
        for (unsigned s = 1; q != NULL && s < JOB_STATES; s++) {
            uint64_t rows = t->counts[i * JOB_STATES + s];
            if (rows != q->counts[s] && t->rc == ERR_OK)
                t->rc = err_set(t->err, ERR_INTERNAL,
                                "queue %.*s counts %llu %s jobs; its rows say "
                                "%llu",
                                SLICE_FMT(q->name),
                                (unsigned long long)q->counts[s],
                                job_state_name((enum job_state)s),
                                (unsigned long long)rows);
        }
    }
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
    if (t->parked_seen != t->parked.len / sizeof(struct parked_at))
        violated(t, "a parked row without its job", NULL);
    for (uint32_t i = 0; i < e->owners_n; i++)
        if (e->owners[i] != NULL && owner_live(e, i) != t->owners[i])
            violated(t, "an owner's live jobs are miscounted", NULL);
}

enum err engine_check(struct engine *e, struct errbuf *err)
{
    struct tally t = {.e = e, .err = err};
    CHECK_OBJ(e, ENGINE);
    t.owners = mem_zalloc((e->owners_n + 1) * sizeof(uint64_t));
    read_parked(&t);
    t.counts = mem_zalloc((e->queues_n + 1) * JOB_STATES * sizeof(uint64_t));
    check_jobs(&t);
    if (store_scan(e->store, NULL, FAMILY_INDEX, SLICE_EMPTY, SLICE_EMPTY,
                   SIZE_MAX, check_index_row, &t, err) != ERR_OK)
        violated(&t, "index cannot be read", NULL);
    if (store_scan(e->store, NULL, FAMILY_BODIES, SLICE_EMPTY, SLICE_EMPTY,
                   SIZE_MAX, check_body, &t, err) != ERR_OK)
        violated(&t, "bodies cannot be read", NULL);
    if (t.rc == ERR_OK)
        check_counts(&t);
    for (uint32_t i = 0; i < e->lanes_n && t.rc == ERR_OK; i++)
        if (e->lanes[i] != NULL)
            check_lane(&t, e->lanes[i]);
    if (t.rc == ERR_OK)
        check_limits(&t);
    leases_check(e);
    window_check(&e->due);
    if (t.rc == ERR_OK && rows_of(&t, FAMILY_RUNS) != e->leases.len)
        violated(&t, "leases and rows of runs differ in number", NULL);
    if (t.rc == ERR_OK && t.jobs != e->stats.jobs_live)
        violated(&t, "the number of live jobs is wrong", NULL);
    mem_free(t.counts);
    mem_free(t.owners);
    buf_release(&t.parked);
    if (t.rc == ERR_OK)
        t.rc = rows_check(e, err);
    if (t.rc == ERR_OK)
        t.rc = schedules_check(e, err);
    return t.rc;
}
