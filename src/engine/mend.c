/* After a salvage: every live job has one place again, and counters say what
 * there is. Nothing here runs in a server.
 *
 *  1. Each live job is looked for where it may stand: leased, ready, parked,
 *     due. One that stands nowhere and is neither blocked nor held lost its
 *     row, and is put where its record says; a leased one leaves other places.
 *     Deadlines get their timers back.
 *  2. Names, unique keys and effects of jobs that are lost go; live jobs get
 *     theirs back.
 *  3. Finished jobs (`past`) are named by the rows that list them (`index`),
 *     and these name no others.
 *  4. Counters of queues and owners are set to what was found, those of
 *     finished jobs (`done`) to the ids in the rows that list them.
 *
 * What a lost lease means nobody knows: its job is given out again, as after
 * any lost lease. A job whose queue or lane is lost stays where it is, and is
 * told of.
 */
#include "engine/mend.h"
#include <stdlib.h>

#include "engine/core.h"

#define CHUNK 500
#define CHUNK_LARGE 64 /* of rows that may be payloads */
#define COMMIT_BYTES ((size_t)1 << 20)

struct seen {
    struct id id;
    struct rec_job r; /* its slices are gone */
    uint32_t owner;
    uint64_t deadline_ms; /* 0: none */
};

/* A name or a unique key that a live job has and `keys` does not know. */
struct claim {
    struct id id;
    bool unique;
    uint32_t scope, queue;
    size_t len;
    char text[KEY_NAME_MAX];
};

/* Finished jobs of a bucket, as `done` says or as `index` has them. */
struct tally {
    uint32_t bucket, queue;
    uint8_t state;
    uint64_t n;
};

/* A block of the index that names jobs that it should not, the next `n` of
 * mend.lost. */
struct holed {
    struct index_key at;
    size_t n;
};

struct mend {
    struct engine *e;
    struct mended *out;
    struct now now;
    struct buf parked; /* struct id, sorted */
    uint64_t *counts, *owners;
    struct buf found, told; /* struct tally, in order */
    struct buf holed;       /* struct holed */
    struct buf lost;        /* struct id, block by block */
    struct buf claims;      /* struct claim */
    struct seen chunk[CHUNK];
    size_t n;
};

static int by_id(const void *a, const void *b)
{
    return id_cmp(a, b);
}

static int tally_cmp(const struct tally *a, const struct tally *b)
{
    if (a->bucket != b->bucket)
        return a->bucket < b->bucket ? -1 : 1;
    if (a->queue != b->queue)
        return a->queue < b->queue ? -1 : 1;
    return (a->state > b->state) - (a->state < b->state);
}

static bool note_parked(struct slice key, struct slice value, void *ud)
{
    struct mend *m = ud;
    struct parked_key k;
    (void)value;
    if (key_parse_parked(key, &k))
        buf_add(&m->parked, &k.id, sizeof(k.id));
    return true;
}

/* The live job that a row of `keys` hangs from; false: it needs none. */
static bool key_hangs(struct slice key, struct slice value, struct id *job)
{
    struct rec_alias alias;
    struct rec_unique unique;
    struct slice name;
    uint8_t kind;
    if (!key_parse_key(key, &kind, &name))
        return false;
    if (kind == KEY_ALIAS && rec_alias_decode(&alias, value))
        *job = alias.job;
    else if (kind == KEY_UNIQUE && rec_unique_decode(&unique, value) &&
             unique.until_ms == 0)
        *job = unique.job;
    else if (kind == KEY_EFFECT && name.len > ID_LEN)
        memcpy(job->bytes, name.data, ID_LEN);
    else
        return false;
    return true;
}

static bool there(struct mend *m, enum family f, struct slice key)
{
    struct slice value;
    return store_get(m->e->store, NULL, f, key, &value, NULL) == ERR_OK;
}

/* Whoever holds it and lives keeps it. */
static void note_claim(struct mend *m, struct slice key, const struct claim *c)
{
    struct id holder;
    struct slice value;
    struct key job;
    if (store_get(m->e->store, NULL, FAMILY_KEYS, key, &value, NULL) ==
            ERR_OK &&
        key_hangs(key, value, &holder) &&
        (id_eq(&holder, &c->id) ||
         there(m, FAMILY_JOBS, key_job(&job, &holder))))
        return;
    buf_add(&m->claims, c, sizeof(*c));
}

static struct claim claim_of(const struct seen *s, struct slice text)
{
    struct claim c = {.id = s->id, .queue = s->r.queue, .len = text.len};
    memcpy(c.text, text.data, text.len);
    return c;
}

static void note_claims(struct mend *m, const struct seen *s,
                        const struct rec_more *more)
{
    struct engine *e = m->e;
    struct queue *q = s->r.queue < e->queues_n ? e->queues[s->r.queue] : NULL;
    struct key k;
    if (q == NULL || row_purged(q, s->r.lane))
        return; /* its keys may be another job's by now */
    if ((s->r.flags & JOBF_NAMED) != 0 && more->name.len <= KEY_NAME_MAX) {
        struct claim c = claim_of(s, more->name);
        note_claim(m, key_key(&k, KEY_ALIAS, more->name), &c);
    }
    if ((s->r.flags & JOBF_UNIQUE) != 0 && more->unique.len <= UNIQUE_MAX) {
        struct claim c = claim_of(s, more->unique);
        c.unique = true;
        c.scope = more->unique_scope;
        note_claim(m, unique_key(&k, c.scope, q, more->unique), &c);
    }
}

static void give_back(struct mend *m)
{
    size_t n = m->claims.len / sizeof(struct claim);
    for (size_t i = 0; i < n; i++) {
        struct claim c;
        memcpy(&c, m->claims.data + i * sizeof(c), sizeof(c));
        struct slice text = slice_of(c.text, c.len);
        if (c.unique)
            unique_put(m->e, c.scope, m->e->queues[c.queue], text, &c.id, 0);
        else
            alias_put(m->e, text, &c.id);
    }
    m->out->claimed += n;
    buf_clear(&m->claims);
}

static bool note_job(struct slice key, struct slice value, void *ud)
{
    struct mend *m = ud;
    struct seen *s = &m->chunk[m->n];
    struct rec_more more;
    if (!key_parse_id(key, &s->id) || !rec_job_decode(&s->r, value)) {
        m->out->unreadable++;
        return true;
    }
    s->owner = 0;
    s->deadline_ms = 0;
    if ((s->r.flags &
         (JOBF_OWNED | JOBF_NAMED | JOBF_UNIQUE | JOBF_DEADLINE)) != 0 &&
        rec_more_decode(&more, s->r.more)) {
        s->owner = (s->r.flags & JOBF_OWNED) != 0 ? more.owner : 0;
        if ((s->r.flags & JOBF_DEADLINE) != 0)
            s->deadline_ms = more.deadline_at_ms;
        note_claims(m, s, &more);
    }
    m->n++;
    return true;
}

/* How many jobs of a block there are and know of it; the others are noted. */
static uint64_t count_block(struct mend *m, const struct index_key *at,
                            struct slice ids)
{
    struct holed h = {.at = *at};
    struct slice row;
    struct id id;
    struct key k;
    uint64_t n = 0;
    for (size_t i = 0; index_next(ids, &i, &id);) {
        if (store_get(m->e->store, NULL, FAMILY_PAST,
                      key_past_job(&k, at->bucket, &id), &row,
                      NULL) == ERR_OK &&
            index_names(at, &id, row)) {
            n++;
        } else {
            buf_add(&m->lost, &id, sizeof(id));
            h.n++;
        }
    }
    if (h.n > 0)
        buf_add(&m->holed, &h, sizeof(h));
    return n;
}

/* The rows of `index` of one bucket, queue and state stand together. */
static bool note_finished(struct slice key, struct slice value, void *ud)
{
    struct mend *m = ud;
    struct index_key k;
    struct slice ids;
    if (!key_parse_index(key, &k) || !index_ids(value, &ids))
        return true;
    uint64_t n = count_block(m, &k, ids);
    struct tally t;
    memset(&t, 0, sizeof(t));
    t.bucket = k.bucket;
    t.queue = k.queue;
    t.state = k.state;
    if (m->found.len > 0) {
        char *last = m->found.data + m->found.len - sizeof(t);
        struct tally before;
        memcpy(&before, last, sizeof(before));
        if (tally_cmp(&before, &t) == 0) {
            t.n = before.n;
            m->found.len -= sizeof(t);
        }
    }
    t.n += n;
    if (t.n > 0)
        buf_add(&m->found, &t, sizeof(t));
    return true;
}

static bool note_count(struct slice key, struct slice value, void *ud)
{
    struct mend *m = ud;
    struct done_key k;
    struct rec_count r;
    struct tally t;
    if (!key_parse_done(key, &k) || k.kind != DONE_COUNT)
        return true;
    memset(&t, 0, sizeof(t));
    t.bucket = k.bucket;
    t.queue = k.queue;
    t.state = k.state;
    t.n = rec_count_decode(&r, value) ? r.count : UINT64_MAX;
    buf_add(&m->told, &t, sizeof(t));
    return true;
}

static bool is_parked(const struct mend *m, const struct id *id)
{
    size_t n = m->parked.len / sizeof(*id);
    return n > 0 && bsearch(id, m->parked.data, n, sizeof(*id), by_id) != NULL;
}

/* To where its record says. */
static enum job_state put_back(struct mend *m, const struct seen *s,
                               struct lane *l)
{
    const struct rec_job *r = &s->r;
    if (r->state == JOB_BLOCKED || r->state == JOB_HELD)
        return (enum job_state)r->state;
    m->out->requeued++;
    if ((r->state == JOB_SCHEDULED || r->state == JOB_RETRYING) &&
        r->since_ms > m->now.wall_ms) {
        struct due d = {.at_ms = r->since_ms,
                        .kind = DUE_READY,
                        .id = s->id,
                        .lane = l,
                        .priority = r->priority,
                        .flags = r->state == JOB_RETRYING ? DUEF_RETRYING : 0};
        due_put(m->e, &d, true);
        return (enum job_state)r->state;
    }
    struct member at = {.order = r->order,
                        .id = s->id,
                        .since_ms = r->since_ms & WALL_MS_MAX,
                        .priority = MEMBER_PRIORITY(r->priority)};
    lane_add_key(m->e, l, &at, true);
    return JOB_READY;
}

static void mend_deadline(struct mend *m, const struct seen *s)
{
    struct due d = {.at_ms = s->deadline_ms, .kind = DUE_DEADLINE, .id = s->id};
    struct key k;
    if (d.at_ms > 0 &&
        !there(m, FAMILY_DUE, key_due(&k, d.at_ms, d.kind, id_slice(&d.id))))
        due_put(m->e, &d, false);
}

static void mend_job(struct mend *m, const struct seen *s)
{
    struct engine *e = m->e;
    const struct rec_job *r = &s->r;
    struct key run, ready, due;
    struct queue *q = r->queue < e->queues_n ? e->queues[r->queue] : NULL;
    struct lane *l = r->lane < e->lanes_n ? e->lanes[r->lane] : NULL;
    if (q == NULL || l == NULL || l->queue != q) {
        m->out->homeless++;
        return;
    }
    bool runs = there(m, FAMILY_RUNS, key_run(&run, &s->id));
    bool is_ready =
        there(m, FAMILY_READY,
              key_ready(&ready, r->queue, r->lane, r->order, &s->id));
    bool is_due = there(
        m, FAMILY_DUE, key_due(&due, r->since_ms, DUE_READY, id_slice(&s->id)));
    enum job_state state;
    if (!runs && row_purged(q, r->lane))
        return; /* its rows wait for the chore */
    mend_deadline(m, s);
    if (is_ready && (runs || is_due)) {
        store_del(e->store, FAMILY_READY, key_slice(&ready));
        m->out->doubled++;
        is_ready = false;
    }
    if (runs && is_due) {
        store_del(e->store, FAMILY_DUE, key_slice(&due));
        m->out->doubled++;
    }
    if (runs)
        state = JOB_RUNNING;
    else if (is_parked(m, &s->id))
        state = JOB_PARKED;
    else if (is_ready)
        state = JOB_READY;
    else if (is_due)
        state = r->state == JOB_RETRYING ? JOB_RETRYING : JOB_SCHEDULED;
    else
        state = put_back(m, s, l);
    m->counts[r->queue * JOB_STATES + state]++;
    if (s->owner < e->owners_n)
        m->owners[s->owner]++;
}

static void commit(struct mend *m)
{
    engine_commit(m->e, m->now);
    store_poll(m->e->store, m->now);
}

/* An entry has its bound, and what was lost has none. */
static void commit_if_large(struct mend *m)
{
    if (entry_bytes(m->e) >= COMMIT_BYTES)
        commit(m);
}

static void mend_chunk(void *ud)
{
    struct mend *m = ud;
    for (size_t i = 0; i < m->n; i++)
        mend_job(m, &m->chunk[i]);
    give_back(m);
    commit(m);
    m->n = 0;
}

struct keys {
    struct mend *m;
    struct key lone[CHUNK];
    size_t n;
};

static bool note_key(struct slice key, struct slice value, void *ud)
{
    struct keys *all = ud;
    struct key k, *lone = &all->lone[all->n];
    struct id job;
    if (key.len > KEY_MAX || !key_hangs(key, value, &job) ||
        there(all->m, FAMILY_JOBS, key_job(&k, &job)))
        return true;
    memcpy(lone->bytes, key.data, key.len);
    lone->len = (uint16_t)key.len;
    all->n++;
    return true;
}

static void drop_keys(void *ud)
{
    struct keys *all = ud;
    struct mend *m = all->m;
    for (size_t i = 0; i < all->n; i++)
        store_del(m->e->store, FAMILY_KEYS, key_slice(&all->lone[i]));
    m->out->keys += all->n;
    commit(m);
    all->n = 0;
}

/* A name whose job is lost would name nobody, and a unique key keep others out
 * for ever. */
static enum err mend_keys(struct mend *m, struct errbuf *err)
{
    struct keys *all = NEW(struct keys);
    all->m = m;
    enum err rc = store_walk(m->e->store, FAMILY_KEYS, CHUNK, note_key,
                             drop_keys, all, err);
    mem_free(all);
    return rc;
}

static void set_finished(struct mend *m, const struct tally *t, bool any)
{
    struct rec_count r = {t->n};
    struct key k;
    key_done_count(&k, t->bucket, t->queue, t->state);
    m->out->recounted++;
    if (any)
        rec_count_encode(&r, store_put(m->e->store, FAMILY_DONE, key_slice(&k),
                                       rec_count_size(&r), false));
    else
        store_del(m->e->store, FAMILY_DONE, key_slice(&k));
    commit_if_large(m);
}

static enum err unlist(struct mend *m, struct errbuf *err)
{
    const struct id *lost = (const struct id *)(void *)m->lost.data;
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < m->holed.len;) {
        struct holed h;
        struct slice ids;
        struct key k;
        memcpy(&h, m->holed.data + i, sizeof(h));
        i += sizeof(h);
        key_index(&k, h.at.bucket, h.at.queue, h.at.state, h.at.time_ms,
                  h.at.block);
        rc = index_get(m->e, NULL, &k, &ids, err);
        if (rc == ERR_OK)
            index_del(m->e, &k, ids, lost, h.n);
        lost += h.n;
        commit_if_large(m);
    }
    return rc;
}

/* Finished jobs of a chunk of `past` that their block does not name. */
struct unlisted {
    struct mend *m;
    struct {
        struct key block;
        struct id id;
    } all[CHUNK_LARGE];
    size_t n;
};

/* The queue is not lost, and this is what a job can end as. */
static bool may_be_listed(const struct mend *m, const struct key *block)
{
    struct index_key k;
    return key_parse_index(key_slice(block), &k) && k.queue < m->e->queues_n &&
           m->e->queues[k.queue] != NULL && k.state > JOB_RUNNING &&
           k.state < JOB_STATES;
}

static bool note_unlisted(struct slice key, struct slice value, void *ud)
{
    struct unlisted *u = ud;
    struct past_key k;
    struct key block;
    struct slice row, ids;
    if (!key_parse_past(key, &k) || !index_key_of(&k, value, &block) ||
        !may_be_listed(u->m, &block))
        return true;
    if (store_get(u->m->e->store, NULL, FAMILY_INDEX, key_slice(&block), &row,
                  NULL) == ERR_OK &&
        (!index_ids(row, &ids) || index_has(ids, &k.id)))
        return true;
    u->all[u->n].block = block;
    u->all[u->n++].id = k.id;
    return true;
}

static void list_again(void *ud)
{
    struct unlisted *u = ud;
    struct engine *e = u->m->e;
    for (size_t i = 0; i < u->n; i++) {
        struct slice row, ids = SLICE_EMPTY;
        const struct key *k = &u->all[i].block;
        if (store_get(e->store, NULL, FAMILY_INDEX, key_slice(k), &row, NULL) ==
                ERR_OK &&
            !index_ids(row, &ids))
            continue;
        index_put_back(e, k, ids, &u->all[i].id);
        u->m->out->listed++;
    }
    commit(u->m);
    u->n = 0;
}

static enum err mend_lists(struct mend *m, struct errbuf *err)
{
    struct unlisted *u = NEW(struct unlisted);
    u->m = m;
    enum err rc = store_walk(m->e->store, FAMILY_PAST, CHUNK_LARGE,
                             note_unlisted, list_again, u, err);
    mem_free(u);
    return rc;
}

/* Both lists have one order. */
static enum err mend_finished(struct mend *m, struct errbuf *err)
{
    enum err rc = store_walk(m->e->store, FAMILY_INDEX, CHUNK_LARGE,
                             note_finished, NULL, m, err);
    if (rc == ERR_OK)
        rc = unlist(m, err);
    if (rc == ERR_OK)
        rc = store_walk(m->e->store, FAMILY_DONE, CHUNK, note_count, NULL, m,
                        err);
    size_t found = m->found.len / sizeof(struct tally);
    size_t told = m->told.len / sizeof(struct tally);
    for (size_t i = 0, k = 0; rc == ERR_OK && (i < found || k < told);) {
        struct tally a, b;
        if (i < found)
            memcpy(&a, m->found.data + i * sizeof(a), sizeof(a));
        if (k < told)
            memcpy(&b, m->told.data + k * sizeof(b), sizeof(b));
        int cmp = i == found ? 1 : k == told ? -1 : tally_cmp(&a, &b);
        if (cmp > 0)
            set_finished(m, &b, false);
        else if (cmp < 0 || a.n != b.n)
            set_finished(m, &a, true);
        i += cmp <= 0;
        k += cmp >= 0;
    }
    commit(m);
    return rc;
}

static void set_counts(struct mend *m)
{
    struct engine *e = m->e;
    for (uint32_t i = 0; i < e->queues_n; i++) {
        struct queue *q = e->queues[i];
        bool differs = false;
        for (unsigned s = JOB_BLOCKED; q != NULL && s <= JOB_RUNNING; s++) {
            differs |= q->counts[s] != m->counts[i * JOB_STATES + s];
            q->counts[s] = m->counts[i * JOB_STATES + s];
        }
        m->out->recounted += differs;
        if (differs)
            queue_touch(e, q);
        commit_if_large(m);
    }
    for (uint32_t i = 0; i < e->owners_n; i++) {
        struct owner *o = e->owners[i];
        if (o == NULL || owner_live(e, i) == m->owners[i])
            continue;
        owner_recount(e, o, m->owners[i]);
        m->out->recounted++;
        commit_if_large(m);
    }
    commit(m);
}

enum err engine_mend(struct engine *e, struct now now, struct mended *out,
                     struct errbuf *err)
{
    CHECK_OBJ(e, ENGINE);
    memset(out, 0, sizeof(*out));
    struct mend *m = NEW(struct mend);
    m->e = e;
    m->out = out;
    m->now = now;
    m->counts = mem_zalloc((e->queues_n + 1) * JOB_STATES * sizeof(uint64_t));
    m->owners = mem_zalloc((e->owners_n + 1) * sizeof(uint64_t));
    enum err rc =
        store_walk(e->store, FAMILY_PARKED, CHUNK, note_parked, NULL, m, err);
    if (m->parked.len > 0)
        qsort(m->parked.data, m->parked.len / sizeof(struct id),
              sizeof(struct id), by_id);
    if (rc == ERR_OK)
        rc = store_walk(e->store, FAMILY_JOBS, CHUNK, note_job, mend_chunk, m,
                        err);
    if (rc == ERR_OK)
        rc = mend_keys(m, err);
    if (rc == ERR_OK)
        rc = mend_lists(m, err);
    if (rc == ERR_OK)
        rc = mend_finished(m, err);
    if (rc == ERR_OK)
        set_counts(m);
    buf_release(&m->parked);
    buf_release(&m->found);
    buf_release(&m->told);
    buf_release(&m->holed);
    buf_release(&m->lost);
    buf_release(&m->claims);
    mem_free(m->counts);
    mem_free(m->owners);
    mem_free(m);
    return rc;
}
