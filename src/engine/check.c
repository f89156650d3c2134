/* The invariants of the engine, by recounting rows. */
#include "engine/core.h"

struct tally {
    struct engine *e;
    struct errbuf *err;
    enum err rc;
    uint64_t *counts; /* by queue and state */
    uint64_t jobs, ready, runs, due, parked;
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
    t->jobs++;
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
    struct job *j = job_get(e, id);
    uint8_t state = stored;
    if (run)
        state = JOB_RUNNING;
    else if (ready)
        state = JOB_READY;
    if (run + ready + due > 1)
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

static uint64_t rows_of(struct tally *t, enum family f)
{
    uint64_t n = 0;
    if (store_scan(t->e->store, NULL, f, SLICE_EMPTY, SLICE_EMPTY, SIZE_MAX,
                   count_row, &n, t->err) != ERR_OK)
        violated(t, "a family cannot be read", NULL);
    return n;
}

static bool check_done_row(struct slice key, struct slice value, void *ud)
{
    struct tally *t = ud;
    struct done_key k;
    (void)value;
    if (!key_parse_done(key, &k)) {
        violated(t, "a row of done is damaged", NULL);
        return false;
    }
    if (k.kind == DONE_INDEX)
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

/* Every member has its row; a complete window has as many as there are rows. */
static void check_lane(struct tally *t, struct lane *l)
{
    struct engine *e = t->e;
    struct key from, to, k;
    uint64_t rows = 0;
    window_check(&l->window);
    for (uint32_t i = 0; i < l->window.len; i++) {
        const struct member *m = window_at(&l->window, i);
        if (!row_there(
                t, FAMILY_READY,
                key_ready(&k, l->queue->set.id, l->id, m->order, &m->id)))
            violated(t, "a member of a lane without its row", &m->id);
        if (m->job != NULL && (m->job->state != JOB_READY ||
                               !m->job->in_window || m->job->lane != l))
            violated(t, "a job in a lane that it does not stand in", &m->id);
    }
    key_prefix_lane(&from, l->queue->set.id, l->id);
    if (store_scan(e->store, NULL, FAMILY_READY, key_slice(&from),
                   key_after(&to, key_slice(&from)), SIZE_MAX, count_row, &rows,
                   t->err) != ERR_OK)
        violated(t, "ready cannot be read", NULL);
    if (l->window.complete && rows != l->window.len)
        violated(t, "a complete window lacks rows", NULL);
    bool work = !window_nothing(&l->window);
    if (work != (heap_in(&l->in_share) || list_linked(&l->shut)))
        violated(t, "a lane stands in its share without work, or not with it",
                 NULL);
    heap_check(&l->share->lanes);
    heap_check(&l->queue->shares);
}

enum err engine_check(struct engine *e, struct errbuf *err)
{
    struct tally t = {.e = e, .err = err};
    CHECK_OBJ(e, ENGINE);
    t.counts = mem_zalloc((e->queues_n + 1) * JOB_STATES * sizeof(uint64_t));
    check_jobs(&t);
    if (store_scan(e->store, NULL, FAMILY_DONE, SLICE_EMPTY, SLICE_EMPTY,
                   SIZE_MAX, check_done_row, &t, err) != ERR_OK)
        violated(&t, "done cannot be read", NULL);
    if (t.rc == ERR_OK)
        check_counts(&t);
    for (uint32_t i = 0; i < e->lanes_n && t.rc == ERR_OK; i++)
        if (e->lanes[i] != NULL)
            check_lane(&t, e->lanes[i]);
    heap_check(&e->leases);
    window_check(&e->due);
    if (t.rc == ERR_OK && rows_of(&t, FAMILY_RUNS) != e->leases.len)
        violated(&t, "leases and rows of runs differ in number", NULL);
    if (t.rc == ERR_OK && t.jobs != e->stats.jobs_live)
        violated(&t, "the number of live jobs is wrong", NULL);
    mem_free(t.counts);
    return t.rc;
}
