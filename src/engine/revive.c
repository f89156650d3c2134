/* Finished jobs that are taken back (JOB.RETRY), erased (JOB.DELETE) or kept
 * for another time (JOB.UPDATE id KEEP d).
 *
 * All rows of a finished job lie in one bucket:
 *
 *     job, index, count     the record and what lists it
 *     exec, body, effect    what went along when it ended (finish.c)
 *     alias                 its name
 *
 * so each of the three is a move of all of them: to the live families, to
 * nowhere, to another bucket. A job that is taken back keeps its id, its name,
 * its executions and its checkpoint, and numbers its deliveries on, so that no
 * token is given twice; its budget of failures is new, and deadlines give it as
 * long as they gave at first. Its unique key it takes again, or it stays where
 * it is (ERR_EXISTS).
 */
#include "engine/core.h"

/* A finished job with its rows; slices point into `value` and `rows`. */
struct kept {
    struct id id;
    uint32_t bucket;
    struct buf value; /* of its record */
    struct rec_done d;
    struct rec_job r;
    struct rec_more m;
    struct rec_exec x; /* the last execution, if d.exec is not empty */
    struct buf rows;   /* key length, value length, key, value */
    size_t bytes;      /* that moving them writes */
    struct key block;  /* of the index */
    struct buf ids;    /* in it */
};

static void kept_release(struct kept *k)
{
    buf_release(&k->value);
    buf_release(&k->rows);
    buf_release(&k->ids);
}

static bool copy_row(struct slice key, struct slice value, void *ud)
{
    struct kept *k = ud;
    uint32_t len[2] = {(uint32_t)key.len, (uint32_t)value.len};
    buf_add(&k->rows, len, sizeof(len));
    buf_add_slice(&k->rows, key);
    buf_add_slice(&k->rows, value);
    k->bytes += 2 * (key.len + ROW_BYTES) + value.len;
    return true;
}

static bool next_row(const struct kept *k, size_t *at, struct slice *key,
                     struct slice *value)
{
    uint32_t len[2];
    if (*at >= k->rows.len)
        return false;
    memcpy(len, k->rows.data + *at, sizeof(len));
    *at += sizeof(len);
    *key = slice_of(k->rows.data + *at, len[0]);
    *at += len[0];
    *value = slice_of(k->rows.data + *at, len[1]);
    *at += len[1];
    return true;
}

static enum err scan(struct engine *e, struct gather *g, struct kept *k,
                     enum past_kind kind, struct errbuf *err)
{
    struct key from, to;
    key_prefix_past(&from, k->bucket, &k->id, kind);
    return store_scan(e->store, g, FAMILY_PAST, key_slice(&from),
                      key_after(&to, key_slice(&from)), SIZE_MAX, copy_row, k,
                      err);
}

static enum err decode(struct engine *e, struct kept *k, struct errbuf *err)
{
    if (!rec_done_decode(&k->d, buf_slice(&k->value)) ||
        !rec_job_decode(&k->r, k->d.job) || k->r.queue >= e->queues_n ||
        e->queues[k->r.queue] == NULL || k->r.handler >= e->handlers_n ||
        e->handlers[k->r.handler] == NULL || k->d.state < JOB_COMPLETED ||
        k->d.state >= JOB_STATES || k->r.priority > PRIORITY_MAX ||
        (k->d.exec.len > 0 && !rec_exec_decode(&k->x, k->d.exec)) ||
        (k->r.more.len > 0 && !rec_more_decode(&k->m, k->r.more)) ||
        (k->m.owner != 0 &&
         (k->m.owner >= e->owners_n || e->owners[k->m.owner] == NULL)))
        return err_set(err, ERR_CORRUPT, "family past: bad row of a job");
    return ERR_OK;
}

static enum err find_block(struct engine *e, struct gather *g, struct kept *k,
                           struct errbuf *err)
{
    struct slice ids = SLICE_EMPTY;
    key_index(&k->block, k->bucket, k->r.queue, k->d.state, k->d.finished_ms,
              k->d.block);
    enum err rc = index_get(e, g, &k->block, &ids, err);
    buf_add_slice(&k->ids, ids);
    return rc;
}

/* All rows of a finished job, if the entry has room for their move. Release *k
 * in any case. */
static enum err kept_read(struct engine *e, struct gather *g,
                          const struct id *id, struct kept *k,
                          struct errbuf *err)
{
    struct slice value;
    *k = (struct kept){.id = *id};
    enum err rc = done_find(e, g, id, &k->bucket, &value, err);
    if (rc != ERR_OK)
        return rc;
    buf_add_slice(&k->value, value);
    rc = decode(e, k, err);
    if (rc == ERR_OK)
        rc = find_block(e, g, k, err);
    if (rc == ERR_OK && (k->r.flags & JOBF_EXECUTIONS) != 0)
        rc = scan(e, g, k, PAST_EXEC, err);
    if (rc == ERR_OK && ((k->r.flags & (JOBF_BODY | JOBF_CHECKPOINT)) != 0 ||
                         k->d.has_result == 2))
        rc = scan(e, g, k, PAST_BODY, err);
    if (rc == ERR_OK && (k->r.flags & JOBF_EFFECTS) != 0)
        rc = scan(e, g, k, PAST_EFFECT, err);
    if (rc == ERR_OK && (k->r.flags & JOBF_SCHEDULE) != 0)
        rc = schedule_revive_gather(e, g, k->m.schedule, err);
    if (rc == ERR_OK)
        rc = entry_has_room(e, STEP_BYTES + k->bytes, err);
    return rc;
}

/* --- out of the bucket --------------------------------------------------- */

static void erase_rows(struct engine *e, const struct kept *k)
{
    struct key key;
    struct slice row, value;
    for (size_t at = 0; next_row(k, &at, &row, &value);)
        store_del(e->store, FAMILY_PAST, row);
    if (k->m.name.len > 0)
        store_del(e->store, FAMILY_DONE,
                  key_done_alias(&key, k->bucket, k->m.name));
    index_del(e, &k->block, buf_slice(&k->ids), &k->id, 1);
    store_del(e->store, FAMILY_PAST, key_past_job(&key, k->bucket, &k->id));
    done_count(e, k->bucket, k->r.queue, (enum job_state)k->d.state, -1);
}

static void told(struct engine *e, const struct kept *k, enum event_type type,
                 struct now now)
{
    struct queue *q = e->queues[k->r.queue];
    struct handler *h = e->handlers[k->r.handler];
    struct event ev = {.type = type,
                       .at_ms = now.wall_ms,
                       .id = k->id,
                       .queue = q->name,
                       .handler = h->name,
                       .queue_id = q->set.id,
                       .handler_id = h->set.id};
    report_event(e, &ev);
}

enum err done_erase_examine(struct engine *e, struct gather *g,
                            const struct id *id, struct errbuf *err)
{
    struct kept k;
    enum err rc = kept_read(e, g, id, &k, err);
    kept_release(&k);
    return rc;
}

enum err done_erase(struct engine *e, struct gather *g, const struct id *id,
                    struct now now, struct errbuf *err)
{
    struct kept k;
    enum err rc = kept_read(e, g, id, &k, err);
    if (rc == ERR_OK) {
        erase_rows(e, &k);
        told(e, &k, EVENT_JOB_DELETED, now);
    }
    kept_release(&k);
    return rc;
}

/* --- to another bucket --------------------------------------------------- */

static void rows_to(struct engine *e, const struct kept *k, uint32_t bucket)
{
    struct slice row, value;
    struct key key;
    for (size_t at = 0; next_row(k, &at, &row, &value);)
        memcpy(store_put(e->store, FAMILY_PAST,
                         key_to_bucket(&key, bucket, row), value.len, false),
               value.data, value.len);
}

static void move_to(struct engine *e, struct kept *k, uint32_t bucket)
{
    struct buf job = {0};
    struct key key;
    size_t len = rec_job_size(&k->r);
    rec_job_encode(&k->r, buf_room(&job, len));
    k->d.job = slice_of(job.data, len);
    struct done_count *c =
        done_count(e, bucket, k->r.queue, (enum job_state)k->d.state, 1);
    k->d.block = index_add(e, c, k->d.finished_ms, &k->id);
    rec_done_encode(&k->d, store_put(e->store, FAMILY_PAST,
                                     key_past_job(&key, bucket, &k->id),
                                     rec_done_size(&k->d), false));
    if (k->m.name.len > 0) {
        struct rec_alias a = {k->id};
        rec_alias_encode(&a, store_put(e->store, FAMILY_DONE,
                                       key_done_alias(&key, bucket, k->m.name),
                                       rec_alias_size(&a), false));
    }
    rows_to(e, k, bucket);
    done_file(e, bucket, &k->id);
    buf_release(&job);
}

/* A time that is over already erases it now: a bucket of the past may have been
 * forgotten, and is never written again. */
enum err done_keep(struct engine *e, struct gather *g, const struct id *id,
                   uint64_t keep_ms, struct now now, struct errbuf *err)
{
    struct kept k;
    enum err rc = kept_read(e, g, id, &k, err);
    if (rc == ERR_OK) {
        bool over = k.d.finished_ms + keep_ms <= now.wall_ms;
        uint32_t bucket = done_bucket(k.d.finished_ms, keep_ms);
        erase_rows(e, &k);
        k.r.keep = keep_ms + 1;
        if (!over)
            move_to(e, &k, bucket);
        told(e, &k, over ? EVENT_JOB_DELETED : EVENT_JOB_UPDATED, now);
    }
    kept_release(&k);
    return rc;
}

/* --- back to life -------------------------------------------------------- */

/* Does it hold a unique key while it lives? A key FOR a time is not its own,
 * and one WHILE waiting is let go with the first lease. */
static bool wants_unique(const struct kept *k)
{
    return k->m.unique.len > 0 && k->m.unique_for_ms == 0 &&
           (k->m.unique_while == WHILE_LIVE ||
            (k->r.deliveries == 0 && k->d.exec.len == 0));
}

static enum err examine(struct engine *e, struct gather *g,
                        const struct kept *k, struct now now,
                        struct errbuf *err)
{
    struct rec_unique holder;
    if (!wants_unique(k))
        return ERR_OK;
    enum err rc = unique_find(e, g, k->m.unique_scope, e->queues[k->r.queue],
                              k->m.unique, now, &holder, err);
    if (rc == ERR_NOTFOUND)
        return ERR_OK;
    if (rc == ERR_OK && !id_eq(&holder.job, &k->id)) {
        char text[ID_TEXT_LEN];
        id_text(&holder.job, text);
        return err_set(err, ERR_EXISTS, "UNIQUE key belongs to job %.*s now",
                       ID_TEXT_LEN, text);
    }
    return rc;
}

enum err revive_examine(struct engine *e, struct gather *g, const struct id *id,
                        struct now now, struct errbuf *err)
{
    struct kept k;
    enum err rc = kept_read(e, g, id, &k, err);
    if (rc == ERR_OK)
        rc = examine(e, g, &k, now, err);
    kept_release(&k);
    return rc;
}

static void put_execution(struct engine *e, const struct id *id, uint32_t n,
                          struct slice exec)
{
    struct key k;
    memcpy(store_put(e->store, FAMILY_BODIES,
                     key_body(&k, id, BODY_EXECUTION, n), exec.len, false),
           exec.data, exec.len);
}

static void put_effect(struct engine *e, const struct id *id,
                       struct slice effect)
{
    char bytes[KEY_NAME_MAX];
    struct key k;
    struct rec_mark mark = {0};
    ASSERT(effect.len <= UNIQUE_MAX);
    memcpy(bytes, id->bytes, ID_LEN);
    memcpy(bytes + ID_LEN, effect.data, effect.len);
    struct slice key =
        key_key(&k, KEY_EFFECT, slice_of(bytes, ID_LEN + effect.len));
    rec_mark_encode(&mark, store_put(e->store, FAMILY_KEYS, key,
                                     rec_mark_size(&mark), false));
}

/* Executions, bodies and effects go back beside the live job; a result is that
 * of an end that no longer is. */
static void put_rows(struct engine *e, const struct kept *k)
{
    struct slice row, value;
    struct past_key d;
    struct key key;
    for (size_t at = 0; next_row(k, &at, &row, &value);) {
        if (!key_parse_past(row, &d))
            continue;
        if (d.kind == PAST_EXEC)
            put_execution(e, &k->id, d.n, value);
        else if (d.kind == PAST_BODY && d.part != BODY_RESULT)
            memcpy(store_put(e->store, FAMILY_BODIES,
                             key_body(&key, &k->id, d.part, d.n), value.len,
                             false),
                   value.data, value.len);
        else if (d.kind == PAST_EFFECT && d.name.len <= UNIQUE_MAX)
            put_effect(e, &k->id, d.name);
    }
    if (k->d.exec.len > 0)
        put_execution(e, &k->id, k->x.n, k->d.exec);
}

/* A time that ends so much later than now. A record of the first version does
 * not tell how much: as much as it was after the job's creation. */
static void begin_anew(uint64_t *at_ms, uint64_t *long_ms, const struct id *id,
                       struct now now)
{
    if (*long_ms == 0)
        *long_ms = *at_ms > id_ms(id) ? *at_ms - id_ms(id) : 1;
    *at_ms = now.wall_ms + *long_ms;
}

/* What it says about itself from now on. */
static void renew(struct engine *e, struct kept *k, const struct lane *l,
                  struct now now)
{
    struct rec_job *r = &k->r;
    struct rec_more *m = &k->m;
    if (k->d.exec.len > 0) {
        r->deliveries = k->x.n;
        r->flags |= JOBF_EXECUTIONS;
        m->last_n = k->x.n;
        m->last_e = k->d.e;
        m->last_verb = k->x.verb;
        m->error = k->x.error;
        m->error_type = k->x.error_type;
    }
    r->flags &=
        ~(uint32_t)(JOBF_CANCEL | JOBF_UNIQUE | JOBF_RESERVED | JOBF_BEGUN);
    r->flags |= JOBF_MOVED | (wants_unique(k) ? JOBF_UNIQUE : 0);
    r->state = JOB_READY;
    r->failures = r->crashes = 0;
    m->first_crash_ms = m->cancel_at_ms = 0;
    m->crashed_ms = SLICE_EMPTY;
    m->held_from = 0;
    m->progress = 0;
    m->reserved = SLICE_EMPTY;
    m->progress_text = SLICE_EMPTY;
    if ((r->flags & JOBF_EXPIRES) != 0)
        begin_anew(&m->expires_at_ms, &m->expires_ms, &k->id, now);
    if ((r->flags & JOBF_DEADLINE) != 0)
        begin_anew(&m->deadline_at_ms, &m->deadline_ms, &k->id, now);
    r->since_ms = arrival_ms(e, now);
    r->lane = l->id;
    r->order = lane_order(l, r->priority, r->since_ms);
}

enum err revive(struct engine *e, struct gather *g, const struct id *id,
                struct now now, struct errbuf *err)
{
    struct kept k;
    struct buf more = {0};
    enum err rc = kept_read(e, g, id, &k, err);
    if (rc != ERR_OK)
        goto out;
    struct queue *q = e->queues[k.r.queue];
    struct owner *o = k.m.owner == 0 ? NULL : e->owners[k.m.owner];
    struct lane *l = lane_for(e, q, e->handlers[k.r.handler], o);
    if (l == NULL) {
        rc = err_set(err, ERR_LIMIT, "there are %u lanes already (max-lanes)",
                     (unsigned)e->config.lanes_max);
        goto out;
    }
    if (!q->stored)
        queue_store(e, q); /* it was dropped, and is used again */
    erase_rows(e, &k);
    put_rows(e, &k);
    renew(e, &k, l, now);
    job_more_encode(&k.m, &more);
    k.r.more = buf_slice(&more);
    struct job *j = job_new(e, id, &k.r);
    job_born(e, j, JOB_READY);
    job_put_row(e, j, false);
    due_rows_put(e, j, &k.m);
    if (k.m.name.len > 0)
        alias_put(e, k.m.name, id);
    if ((j->flags & JOBF_UNIQUE) != 0)
        unique_put(e, k.m.unique_scope, q, k.m.unique, id, 0);
    if ((j->flags & JOBF_SCHEDULE) != 0)
        schedule_revive(e, g, k.m.schedule, id, now);
    e->stats.jobs_live++;
    told(e, &k, EVENT_JOB_REVIVED, now);
    place_ready(e, j, false, now);
out:
    buf_release(&more);
    kept_release(&k);
    return rc;
}
