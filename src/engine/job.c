/* The table of jobs in memory, their rows, and the one writer of states. */
#include "engine/core.h"

/* --- states -------------------------------------------------------------- */

#define S(NAME) (1u << JOB_##NAME)
static const struct {
    const char *name;
    unsigned may_become;
} states[JOB_STATES] = {
#define STATE(NAME, number, name, next) [JOB_##NAME] = {name, next},
#include "engine/states.def"
#undef STATE
};
#undef S

static const struct {
    const char *word;
    enum job_state state;
} aliases[] = {
#define STATE(NAME, number, name, next)
#define STATE_ALIAS(alias, NAME) {alias, JOB_##NAME},
#include "engine/states.def"
#undef STATE
};

const char *job_state_name(enum job_state s)
{
    ASSERT(s > 0 && s < JOB_STATES);
    return states[s].name;
}

enum job_state job_state_parse(struct slice word)
{
    for (unsigned s = 1; s < JOB_STATES; s++)
        if (slice_is(word, states[s].name))
            return (enum job_state)s;
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
        if (slice_is(word, aliases[i].word))
            return aliases[i].state;
    return (enum job_state)0;
}

bool job_may_become(enum job_state from, enum job_state to)
{
    return states[from].may_become >> to & 1;
}

void job_move(struct engine *e, struct job *j, enum job_state to)
{
    CHECK_OBJ(j, JOB);
    ASSERT(job_may_become(j->state, to));
    struct queue *q = j->queue;
    ASSERT(q->counts[j->state] > 0);
    q->counts[j->state]--;
    if (job_state_live(to))
        q->counts[to]++;
    else
        owner_count(e, j, -1);
    j->state = (uint8_t)to;
    queue_touch(e, q);
}

void job_born(struct engine *e, struct job *j, enum job_state state)
{
    ASSERT(job_state_live(state));
    j->state = (uint8_t)state;
    j->queue->counts[state]++;
    queue_touch(e, j->queue);
    owner_count(e, j, 1);
}

/* --- the table ----------------------------------------------------------- */

bool job_is(const struct map_node *n, const void *key)
{
    return id_eq(&CONTAINER_OF(n, struct job, by_id)->id,
                 (const struct id *)key);
}

struct job *job_get(struct engine *e, const struct id *id)
{
    struct map_node *n = map_get(&e->jobs, id_hash(id), id);
    return n == NULL ? NULL : CONTAINER_OF(n, struct job, by_id);
}

#define EXPECT_BYTES 256 /* what the end of a lease looks at */

void job_expect(const struct engine *e, const struct id *id)
{
    mem_expect(map_peek(&e->jobs, id_hash(id)), EXPECT_BYTES);
}

void job_expect_limits(const struct engine *e, const struct id *id)
{
    const struct map_node *n = map_peek(&e->jobs, id_hash(id));
    if (n != NULL)
        limits_expect(CONTAINER_OF(n, struct job, by_id));
}

struct more_hot {
    REC_MORE_HOT(RECORD_FIELD)
};

/* What is not zero behind the first part. False: the bytes are damaged. */
static bool more_next(struct job *j, struct record_reader in,
                      struct more_hot *r)
{
    if (in.at == in.end)
        return !in.bad;
    REC_MORE_NEXT(RECORD_GET_CUT)
    j->timeout_ms = r->timeout_ms;
    j->more_shown =
        r->tags.len + r->trace.len + r->meta.len + r->timeout_ms > 0 ||
        in.at < in.end;
    return !in.bad;
}

/* Half of `more` is decoded here, by every life of a job that has one. */
static void more_parts(struct job *j)
{
    struct record_reader in = record_reader(job_more_bytes(j));
    struct more_hot hot, *r = &hot;
    uint8_t version = record_get_u8(&in);
    REC_MORE_FIRST(RECORD_GET_CUT)
    if (version < 1 || version > REC_MORE_VERSION || !more_next(j, in, r))
        return;
    j->owner = hot.owner;
    j->cost = hot.cost > 0 ? hot.cost : 1;
    j->limits_len = (uint32_t)hot.limits.len;
    if (hot.limits.len > 0)
        j->limits_at = (uint32_t)(hot.limits.data - j->row);
    if (hot.name.len > 0)
        j->more_shown = true;
}

/* Where payload and `more` lie in the row that was just encoded. */
static void row_parts(struct job *j, const struct rec_job *r, char *end)
{
    j->payload_len = (uint32_t)r->payload.len;
    j->payload_at = (uint32_t)(end - j->row) - j->payload_len;
    j->more_len = (uint32_t)r->more.len;
    j->more_at =
        j->payload_at - (uint32_t)varint_size(j->payload_len) - j->more_len;
    j->owner = j->limits_at = j->limits_len = j->names_n = 0;
    j->cost = 1;
    j->timeout_ms = 0;
    j->more_shown = false;
    if (j->more_len > 0)
        more_parts(j);
}

static struct job *job_alloc(struct engine *e, const struct id *id,
                             size_t row_len)
{
    size_t size = sizeof(struct job) + row_len;
    struct job *j = pool_alloc(&e->pool, size);
    memset(j, 0, sizeof(*j));
    INIT_OBJ(j, JOB);
    j->id = *id;
    j->size = (uint32_t)pool_room(size);
    j->row = j->inline_row;
    j->row_len = (uint32_t)row_len;
    j->timeout_mono_ms = UINT64_MAX;
    map_add(&e->jobs, &j->by_id, id_hash(id));
    return j;
}

static void take_fields(struct job *j, const struct rec_job *r)
{
    j->state = r->state;
    j->flags = r->flags;
    j->order = r->order;
    j->since_ms = r->since_ms;
    j->priority = r->priority;
    j->retries = r->retries;
    j->failures = r->failures;
    j->crashes = r->crashes;
    j->n = r->deliveries;
    j->own_lease_ms = r->lease_ms;
    j->keep = r->keep;
}

struct job *job_new(struct engine *e, const struct id *id,
                    const struct rec_job *r)
{
    struct job *j = job_alloc(e, id, rec_job_size(r));
    take_fields(j, r);
    j->queue = e->queues[r->queue];
    j->handler = e->handlers[r->handler];
    j->lane = lane_by_id(e, r->lane);
    row_parts(j, r, rec_job_encode(r, j->row));
    return j;
}

/* A job from its row. */
static enum err from_row(struct engine *e, const struct id *id,
                         struct slice row, struct job **out, struct errbuf *err)
{
    struct rec_job r;
    if (!rec_job_decode(&r, row) || r.queue >= e->queues_n ||
        e->queues[r.queue] == NULL || r.handler >= e->handlers_n ||
        e->handlers[r.handler] == NULL ||
        !job_state_live((enum job_state)r.state) || r.priority > PRIORITY_MAX)
        return err_set(err, ERR_CORRUPT, "family jobs: bad row of a job");
    struct job *j = job_alloc(e, id, row.len);
    take_fields(j, &r);
    j->queue = e->queues[r.queue];
    j->handler = e->handlers[r.handler];
    j->lane = row_purged(j->queue, r.lane) ? NULL : lane_by_id(e, r.lane);
    memcpy(j->row, row.data, row.len);
    row_parts(j, &r, j->row + row.len);
    *out = j;
    return ERR_OK;
}

enum err job_body(struct engine *e, struct gather *g, const struct id *id,
                  enum body_part part, struct slice *out, struct errbuf *err)
{
    struct key k;
    return store_get(e->store, g, FAMILY_BODIES,
                     key_body(&k, id, (uint8_t)part, 0), out, err);
}

struct job *job_from_row(struct engine *e, const struct id *id,
                         struct slice row)
{
    struct job *j;
    return from_row(e, id, row, &j, NULL) == ERR_OK ? j : NULL;
}

enum err job_load(struct engine *e, struct gather *g, const struct id *id,
                  struct job **out, struct errbuf *err)
{
    struct job *j = job_get(e, id);
    if (j != NULL) {
        *out = j;
        return job_purged(j) ? err_set(err, ERR_NOTFOUND, "it was purged")
                             : ERR_OK;
    }
    struct key k;
    struct slice row;
    enum err rc =
        store_find(e->store, g, FAMILY_JOBS, key_job(&k, id), &row, err);
    if (rc != ERR_OK)
        return rc;
    return job_load_row(e, g, id, row, out, err);
}

enum err job_load_row(struct engine *e, struct gather *g, const struct id *id,
                      struct slice row, struct job **out, struct errbuf *err)
{
    struct job *j;
    enum err rc = from_row(e, id, row, &j, err);
    if (rc != ERR_OK)
        return rc;
    if (job_purged(j)) {
        job_free(e, j);
        return err_set(err, ERR_NOTFOUND, "it was purged");
    }
    if (j->state == JOB_SCHEDULED || j->state == JOB_RETRYING) {
        /* It may have become due since the row was written. */
        rc = due_exists(e, g, j->since_ms, DUE_READY, &j->id, err);
        if (rc == ERR_NOTFOUND) {
            j->state = JOB_READY;
        } else if (rc != ERR_OK) {
            job_free(e, j);
            return rc;
        }
    }
    /* Or it found one of its names full. */
    if (j->state == JOB_READY || j->state == JOB_PARKED) {
        j->state = JOB_READY;
        rc = park_find(e, g, j, err);
        if (rc != ERR_OK) {
            job_free(e, j);
            return rc;
        }
    }
    *out = j;
    return ERR_OK;
}

enum err job_load_leased(struct engine *e, const struct id *id,
                         struct job **out, struct errbuf *err)
{
    struct key k;
    struct slice row;
    enum err rc =
        store_get(e->store, NULL, FAMILY_JOBS, key_job(&k, id), &row, err);
    return rc == ERR_OK ? from_row(e, id, row, out, err) : rc;
}

void job_drop(struct engine *e, struct job *j)
{
    if (j != NULL && !j->in_window && j->state != JOB_RUNNING)
        job_free(e, j);
}

void job_free(struct engine *e, struct job *j)
{
    CHECK_OBJ(j, JOB);
    ASSERT(!j->in_window);
    ASSERT(!line_in(&j->by_deadline));
    map_remove(&e->jobs, &j->by_id);
    if (j->row_cap > 0)
        mem_free(j->row);
    j->magic = 0;
    pool_free(&e->pool, j, j->size);
}

/* --- rows ---------------------------------------------------------------- */

void job_more(const struct job *j, struct rec_more *m)
{
    if (j->more_len == 0) {
        memset(m, 0, sizeof(*m));
        return;
    }
    /* The job was decoded from its row or encoded by us. */
    bool good = rec_more_decode(m, job_more_bytes(j));
    if (!good)
        memset(m, 0, sizeof(*m));
}

/* As rec_more_encode(), for those three alone: who sets three fields pays for
 * three. */
void job_more_encode_names(uint32_t owner, struct slice limits, uint32_t cost,
                           struct buf *out)
{
    const struct rec_more m = {.owner = owner, .limits = limits, .cost = cost};
    const struct rec_more *r = &m;
    size_t len = 1, whole = 1;
    ASSERT(owner > 0 || limits.len > 0);
    REC_MORE_FIRST(RECORD_SIZE_CUT)
    buf_clear(out);
    char *to = buf_room(out, len);
    const char *end = to + len;
    to = record_put_u8(to, REC_MORE_VERSION);
    REC_MORE_FIRST(RECORD_PUT_CUT)
    out->len = len;
}

size_t job_more_encode(const struct rec_more *m, struct buf *out)
{
    size_t len = rec_more_size(m);
    buf_clear(out);
    if (len == 1)
        return 0; /* all of it is zero */
    rec_more_encode(m, buf_room(out, len));
    return out->len = len;
}

/* Encodes into scratch first: the new row is made of slices of the old one. */
void job_encode(struct engine *e, struct job *j, const struct rec_more *m)
{
    struct slice more = job_more_bytes(j);
    if (m != NULL) {
        job_more_encode(m, &e->more);
        more = buf_slice(&e->more);
    }
    struct rec_job r = {
        .state = j->state,
        .flags = j->flags,
        .queue = j->queue->set.id,
        .handler = j->handler->set.id,
        .lane = j->lane == NULL ? 0 : j->lane->id,
        .order = j->order,
        .since_ms = j->since_ms,
        .priority = j->priority,
        .retries = j->retries,
        .failures = j->failures,
        .crashes = j->crashes,
        .deliveries = j->n,
        .lease_ms = j->own_lease_ms,
        .keep = j->keep,
        .more = more,
        .payload = job_payload(j),
    };
    size_t len = rec_job_size(&r);
    buf_clear(&e->scratch);
    rec_job_encode(&r, buf_room(&e->scratch, len));
    size_t inline_cap = j->size - sizeof(struct job);
    size_t cap = j->row_cap > 0 ? j->row_cap : inline_cap;
    if (len > cap) {
        if (j->row_cap > 0)
            mem_free(j->row);
        j->row = mem_alloc(len);
        j->row_cap = (uint32_t)len;
    }
    memcpy(j->row, e->scratch.data, len);
    j->row_len = (uint32_t)len;
    row_parts(j, &r, j->row + len);
}

void job_put_row(struct engine *e, const struct job *j, bool fresh)
{
    struct key k;
    memcpy(store_put(e->store, FAMILY_JOBS, key_job(&k, &j->id), j->row_len,
                     fresh),
           j->row, j->row_len);
}

void job_store(struct engine *e, struct job *j, const struct rec_more *m)
{
    job_encode(e, j, m);
    job_put_row(e, j, false);
}
