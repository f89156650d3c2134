/* Ends: of executions, and of jobs.
 *
 *     ack ------------------------------> completed
 *     nack, timeout -- budget left -----> retrying, due after a delay
 *            `-------- permanent, used up -> failed
 *     lost ----------- crashes left ----> back to its old place, after a pause
 *            `-------- used up ---------> failed: poison
 *     release, snooze, end of session --> ready or scheduled, uncounted
 *
 * When a job ends, all its rows leave the live families in one entry: the
 * record, its executions and bodies move to the bucket in which they will be
 * forgotten, keys that it held are let go.
 */
#include "engine/core.h"

#define EXECUTIONS_MAX 100
#define ERROR_KEPT 1024 /* bytes of an error's text */
/* They move with the job, beside its bodies: all of it fits one entry. */
#define EFFECTS_BYTES_MAX (2 << 20)

static struct slice cut(struct slice s, size_t most)
{
    if (s.len > most)
        s.len = most;
    return s;
}

static struct rec_exec exec_of(const struct job *j, const struct outcome *o,
                               struct now now)
{
    return (struct rec_exec){
        .n = j->n,
        .verb = (uint8_t)o->verb,
        .started_ms = j->started_ms,
        .ended_ms = now.wall_ms,
        .worker = j->worker == NULL ? SLICE_EMPTY : j->worker->name,
        .error = cut(o->error, ERROR_KEPT),
        .error_type = cut(o->type, NAME_MAX_LEN),
        .stack = cut(o->stack, ERROR_KEPT * 8),
        .code = o->code,
        .usage = o->usage,
    };
}

static uint64_t since(uint64_t from_ms, struct now now)
{
    return now.wall_ms > from_ms ? now.wall_ms - from_ms : 0;
}

/* --- rows that go along -------------------------------------------------- */

struct moving {
    struct engine *e;
    uint32_t bucket; /* 0: they are only deleted */
    struct buf keys; /* of rows to delete: length, bytes */
    struct buf rows; /* part, n, length, bytes of what is to be put */
};

static bool note_body(struct slice key, struct slice value, void *ud)
{
    struct moving *m = ud;
    uint32_t len = (uint32_t)value.len;
    struct body_key k;
    if (!key_parse_body(key, &k))
        return true;
    /* Most jobs have a few short executions: room for them at once. */
    size_t need = sizeof(k) + sizeof(len) + value.len;
    char *to = buf_room(&m->rows, need < 1024 ? 1024 : need);
    memcpy(to, &k, sizeof(k));
    memcpy(to + sizeof(k), &len, sizeof(len));
    if (value.len > 0)
        memcpy(to + sizeof(k) + sizeof(len), value.data, value.len);
    m->rows.len += need;
    return true;
}

/* What moving it writes: it is put under another key, and deleted. */
static bool weigh_row(struct slice key, struct slice value, void *ud)
{
    *(size_t *)ud += 2 * (key.len + ROW_BYTES) + value.len;
    return true;
}

static bool has_bodies(const struct job *j)
{
    return (j->flags & (JOBF_BODY | JOBF_CHECKPOINT | JOBF_EXECUTIONS)) != 0;
}

static enum err get_body(struct engine *e, struct gather *g,
                         const struct job *j, enum body_part part,
                         store_row_fn fn, void *ud, struct errbuf *err)
{
    struct key k;
    struct slice value;
    struct slice key = key_body(&k, &j->id, (uint8_t)part, 0);
    enum err rc = store_get(e->store, g, FAMILY_BODIES, key, &value, err);
    if (rc == ERR_OK)
        (void)fn(key, value, ud);
    return rc == ERR_NOTFOUND ? ERR_OK : rc;
}

/* Executions are looked for; the other two are gets, which ask no table when
 * the row is young: that of a long payload is most often all there is. */
static enum err scan_bodies(struct engine *e, struct gather *g,
                            const struct job *j, store_row_fn fn, void *ud,
                            struct errbuf *err)
{
    struct key from, to;
    enum err rc = ERR_OK;
    if ((j->flags & JOBF_EXECUTIONS) != 0) {
        key_prefix_body(&from, &j->id);
        return store_scan(e->store, g, FAMILY_BODIES, key_slice(&from),
                          key_after(&to, key_slice(&from)), SIZE_MAX, fn, ud,
                          err);
    }
    if ((j->flags & JOBF_BODY) != 0)
        rc = get_body(e, g, j, BODY_PAYLOAD, fn, ud, err);
    if (rc == ERR_OK && (j->flags & JOBF_CHECKPOINT) != 0)
        rc = get_body(e, g, j, BODY_CHECKPOINT, fn, ud, err);
    return rc;
}

/* Effects: keys of kind KEY_EFFECT that begin with the id. */
static enum err scan_effects(struct engine *e, struct gather *g,
                             const struct job *j, store_row_fn fn, void *ud,
                             struct errbuf *err)
{
    struct key from, to;
    key_key(&from, KEY_EFFECT, id_slice(&j->id));
    return store_scan(e->store, g, FAMILY_KEYS, key_slice(&from),
                      key_after(&to, key_slice(&from)), SIZE_MAX, fn, ud, err);
}

enum err finish_gather(struct engine *e, struct gather *g, const struct job *j,
                       size_t more, struct errbuf *err)
{
    size_t bytes = STEP_BYTES + more;
    enum err rc = ERR_OK;
    if (has_bodies(j))
        rc = scan_bodies(e, g, j, weigh_row, &bytes, err);
    if (rc == ERR_OK && (j->flags & JOBF_EFFECTS) != 0)
        rc = scan_effects(e, g, j, weigh_row, &bytes, err);
    if (rc == ERR_OK)
        rc = settle_gather(e, g, j, err);
    return rc == ERR_OK ? entry_has_room(e, bytes, err) : rc;
}

enum err effect_fits(struct engine *e, struct gather *g, struct job *j,
                     struct slice key, struct errbuf *err)
{
    size_t bytes = j->effects_bytes;
    if (bytes == 0 && (j->flags & JOBF_EFFECTS) != 0) {
        enum err rc = scan_effects(e, g, j, weigh_row, &bytes, err);
        if (rc != ERR_OK)
            return rc;
    }
    (void)weigh_row(key, SLICE_LIT("."), &bytes);
    if (bytes > EFFECTS_BYTES_MAX)
        return err_set(err, ERR_LIMIT,
                       "the effects of one job fill at most %d bytes, which "
                       "are some thousand keys",
                       EFFECTS_BYTES_MAX);
    j->effects_bytes = (uint32_t)bytes;
    return ERR_OK;
}

static void move_bodies(struct engine *e, struct gather *g, struct job *j,
                        uint32_t bucket, struct now now)
{
    struct moving m = {.e = e};
    struct errbuf err;
    enum err rc = scan_bodies(e, g, j, note_body, &m, &err);
    if (rc == ERR_PENDING) { /* it was not gathered: read blocking */
        buf_clear(&m.rows);
        rc = scan_bodies(e, NULL, j, note_body, &m, &err);
    }
    if (rc != ERR_OK)
        fault(e, now, &err);
    for (size_t at = 0; at < m.rows.len;) {
        struct body_key b;
        uint32_t len;
        struct key k;
        memcpy(&b, m.rows.data + at, sizeof(b));
        memcpy(&len, m.rows.data + at + sizeof(b), sizeof(len));
        at += sizeof(b) + sizeof(len);
        if (bucket != 0) {
            struct slice key =
                b.part == BODY_EXECUTION
                    ? key_past_exec(&k, bucket, &b.id, b.n)
                    : key_past_body(&k, bucket, &b.id, b.part, b.n);
            memcpy(store_put(e->store, FAMILY_PAST, key, len, false),
                   m.rows.data + at, len);
        }
        store_del(e->store, FAMILY_BODIES, key_body(&k, &b.id, b.part, b.n));
        at += len;
    }
    buf_release(&m.rows);
}

static bool note_effect(struct slice key, struct slice value, void *ud)
{
    struct moving *m = ud;
    uint32_t len = (uint32_t)key.len;
    (void)value;
    buf_add(&m->keys, &len, sizeof(len));
    buf_add_slice(&m->keys, key);
    return true;
}

static void move_effects(struct engine *e, struct gather *g, struct job *j,
                         uint32_t bucket, struct now now)
{
    struct moving m = {.e = e};
    struct errbuf err;
    enum err rc = scan_effects(e, g, j, note_effect, &m, &err);
    if (rc == ERR_PENDING) {
        buf_clear(&m.keys);
        rc = scan_effects(e, NULL, j, note_effect, &m, &err);
    }
    if (rc != ERR_OK)
        fault(e, now, &err);
    for (size_t at = 0; at < m.keys.len;) {
        uint32_t len;
        uint8_t kind;
        struct slice name;
        struct key k;
        memcpy(&len, m.keys.data + at, sizeof(len));
        struct slice key = slice_of(m.keys.data + at + sizeof(len), len);
        at += sizeof(len) + len;
        if (bucket != 0 && key_parse_key(key, &kind, &name) &&
            name.len > ID_LEN) {
            struct rec_mark mark = {0};
            struct slice effect =
                slice_of(name.data + ID_LEN, name.len - ID_LEN);
            rec_mark_encode(
                &mark, store_put(e->store, FAMILY_PAST,
                                 key_past_effect(&k, bucket, &j->id, effect),
                                 rec_mark_size(&mark), false));
        }
        store_del(e->store, FAMILY_KEYS, key);
    }
    buf_release(&m.keys);
}

void drop_beside(struct engine *e, struct gather *g, struct job *j,
                 struct now now)
{
    if (has_bodies(j))
        move_bodies(e, g, j, 0, now);
    if ((j->flags & JOBF_EFFECTS) != 0)
        move_effects(e, g, j, 0, now);
}

/* --- the record of a finished job ---------------------------------------- */

static void put_done(struct engine *e, const struct job *j, uint32_t bucket,
                     enum job_state state, const struct outcome *o,
                     const struct rec_exec *x, struct now now)
{
    bool fresh = (j->flags & JOBF_MOVED) == 0;
    struct key k;
    struct slice exec = SLICE_EMPTY, result = o->result;
    if (x != NULL) {
        size_t len = rec_exec_size(x);
        buf_clear(&e->scratch);
        rec_exec_encode(x, buf_room(&e->scratch, len));
        exec = slice_of(e->scratch.data, len);
    }
    if (result.len > BODY_INLINE_MAX) {
        memcpy(store_put(e->store, FAMILY_PAST,
                         key_past_body(&k, bucket, &j->id, BODY_RESULT, 0),
                         result.len, fresh),
               result.data, result.len);
        result = SLICE_EMPTY;
    }
    struct done_count *c = done_count(e, bucket, j->queue->set.id, state, 1);
    struct rec_done r = {.state = (uint8_t)state,
                         .block = index_add(e, c, now.wall_ms, &j->id),
                         .reason = (uint8_t)o->reason,
                         .finished_ms = now.wall_ms,
                         .e = x == NULL ? 0 : j->e,
                         .has_result = o->result.data == NULL        ? 0
                                       : o->result.len == result.len ? 1
                                                                     : 2,
                         .exec = exec,
                         .result = result,
                         .job = job_row(j)};
    rec_done_encode(&r, store_put(e->store, FAMILY_PAST,
                                  key_past_job(&k, bucket, &j->id),
                                  rec_done_size(&r), fresh));
    done_file(e, bucket, &j->id);
}

static void count_end(struct engine *e, struct queue *q, enum job_state state)
{
    switch (state) {
    case JOB_COMPLETED:
        q->totals.completed++;
        e->stats.completed++;
        return;
    case JOB_FAILED:
        q->totals.failed++;
        e->stats.failed++;
        return;
    case JOB_CANCELLED:
        q->totals.cancelled++;
        return;
    default:
        ASSERT(state == JOB_EXPIRED);
        q->totals.expired++;
    }
}

static enum event_type event_of(enum job_state state)
{
    switch (state) {
    case JOB_COMPLETED:
        return EVENT_JOB_COMPLETED;
    case JOB_FAILED:
        return EVENT_JOB_FAILED;
    case JOB_CANCELLED:
        return EVENT_JOB_CANCELLED;
    default:
        return EVENT_JOB_EXPIRED;
    }
}

void due_rows_put(struct engine *e, const struct job *j,
                  const struct rec_more *m)
{
    struct due d = {.id = j->id};
    if ((j->flags & JOBF_EXPIRES) != 0) {
        d.kind = DUE_EXPIRES;
        d.at_ms = m->expires_at_ms;
        due_put(e, &d, false);
    }
    if ((j->flags & JOBF_DEADLINE) != 0) {
        d.kind = DUE_DEADLINE;
        d.at_ms = m->deadline_at_ms;
        due_put(e, &d, false);
    }
}

void due_rows_del(struct engine *e, const struct job *j)
{
    struct rec_more m;
    if ((j->flags & (JOBF_EXPIRES | JOBF_DEADLINE | JOBF_CANCEL)) == 0)
        return;
    job_more(j, &m);
    if ((j->flags & JOBF_EXPIRES) != 0)
        due_del(e, m.expires_at_ms, DUE_EXPIRES, &j->id);
    if ((j->flags & JOBF_DEADLINE) != 0)
        due_del(e, m.deadline_at_ms, DUE_DEADLINE, &j->id);
    if ((j->flags & JOBF_CANCEL) != 0)
        due_del(e, m.cancel_at_ms, DUE_CANCEL, &j->id);
}

/* The timer may have rung while somebody seemed to have the job: it rings
 * again. Also one that is still to come, because the clock may have been set
 * back. */
void expiry_again(struct engine *e, const struct job *j)
{
    struct rec_more m;
    if ((j->flags & JOBF_EXPIRES) == 0 || job_tried(j))
        return;
    job_more(j, &m);
    struct due d = {.at_ms = m.expires_at_ms, .kind = DUE_EXPIRES, .id = j->id};
    if (!due_waits(e, &d))
        due_put(e, &d, false);
}

/* Keys, due rows and edges that only a live job has. */
static void let_go(struct engine *e, struct job *j, uint32_t bucket)
{
    struct rec_more m;
    struct key k;
    due_rows_del(e, j);
    if ((j->flags & JOBF_NAMED) != 0) {
        job_more(j, &m);
        store_del(e->store, FAMILY_KEYS, key_key(&k, KEY_ALIAS, m.name));
        if (bucket != 0) {
            struct rec_alias a = {j->id};
            rec_alias_encode(&a, store_put(e->store, FAMILY_DONE,
                                           key_done_alias(&k, bucket, m.name),
                                           rec_alias_size(&a), false));
        }
    }
    if ((j->flags & JOBF_UNIQUE) != 0)
        unique_release(e, j);
}

void job_finish(struct engine *e, struct gather *g, struct job *j,
                enum job_state state, const struct outcome *o, struct now now)
{
    CHECK_OBJ(j, JOB);
    struct key k;
    struct rec_exec x;
    bool ran = j->state == JOB_RUNNING;
    struct id id = j->id;
    uint64_t keep = o->erase ? 0 : done_keep_ms(e, j, state);
    uint32_t bucket = keep == 0 ? 0 : done_bucket(now.wall_ms, keep);
    uint64_t took = since(ran ? j->started_ms : id_ms(&id), now);

    if (ran)
        x = exec_of(j, o, now);
    else
        limits_unreserve(e, j, now); /* what is kept must not say so */
    if (bucket != 0) {
        put_done(e, j, bucket, state, o, ran ? &x : NULL, now);
    } else if (ran) {
        struct recent *r = &e->recent[id_hash(&id) % RECENT_SIZE];
        *r = (struct recent){id, j->n, j->e, (uint8_t)o->verb};
    }
    report(e, o->erase ? EVENT_JOB_DELETED : event_of(state), j, now, took,
           o->type.len > 0 ? o->type : o->error);
    if (j->flags != 0) {
        if (has_bodies(j))
            move_bodies(e, g, j, bucket, now);
        if ((j->flags & JOBF_EFFECTS) != 0)
            move_effects(e, g, j, bucket, now);
        let_go(e, j, bucket);
    }
    if (ran)
        lease_end(e, j, now); /* the worker's name was needed until here */
    else
        place_none(e, j, now);
    store_del(e->store, FAMILY_JOBS, key_job(&k, &id));
    count_end(e, j->queue, state);
    settle_outcome(e, g, j, state, o, now);
    job_move(e, j, state);
    e->stats.jobs_live--;
    job_free(e, j);
    wait_job_ended(e, &id, state);
}

/* --- purged jobs --------------------------------------------------------- */

/* Its name and its unique key may belong to a newer job by now. */
static enum err keys_held(struct engine *e, struct gather *g,
                          const struct job *j, bool *name, bool *unique,
                          struct errbuf *err)
{
    struct rec_more m;
    enum err rc = ERR_OK;
    *name = *unique = false;
    if ((j->flags & (JOBF_NAMED | JOBF_UNIQUE)) == 0)
        return ERR_OK;
    job_more(j, &m);
    if ((j->flags & JOBF_NAMED) != 0)
        rc = alias_is(e, g, m.name, &j->id, name, err);
    if (rc == ERR_OK && (j->flags & JOBF_UNIQUE) != 0)
        rc = unique_is(e, g, j, &m, unique, err);
    return rc;
}

enum err purged_gather(struct engine *e, struct gather *g, const struct job *j,
                       struct errbuf *err)
{
    bool name, unique;
    enum err rc = finish_gather(e, g, j, 0, err);
    return rc == ERR_OK ? keys_held(e, g, j, &name, &unique, err) : rc;
}

void purged_erase(struct engine *e, struct gather *g, struct job *j,
                  struct now now)
{
    struct outcome o = {
        .verb = VERB_CANCEL, .reason = REASON_CANCELLED, .erase = true};
    struct errbuf err;
    struct id id = j->id;
    bool name, unique;
    ASSERT(job_purged(j));
    limits_unreserve(e, j, now);
    report(e, EVENT_JOB_DELETED, j, now, since(id_ms(&id), now), SLICE_EMPTY);
    drop_beside(e, g, j, now);
    enum err rc = keys_held(e, g, j, &name, &unique, &err);
    if (rc == ERR_PENDING)
        rc = keys_held(e, NULL, j, &name, &unique, &err);
    if (rc != ERR_OK)
        fault(e, now, &err);
    if (!name)
        j->flags &= ~(uint32_t)JOBF_NAMED;
    if (!unique)
        j->flags &= ~(uint32_t)JOBF_UNIQUE;
    if (j->flags != 0)
        let_go(e, j, 0);
    if (j->state == JOB_SCHEDULED || j->state == JOB_RETRYING)
        due_del(e, j->since_ms, DUE_READY, &id);
    settle_outcome(e, g, j, JOB_CANCELLED, &o, now);
    owner_count(e, j, -1);
    job_free(e, j);
    wait_job_ended(e, &id, JOB_CANCELLED);
}

/* --- ends of executions -------------------------------------------------- */

/* The execution goes to `bodies`; the newest hundred stay. */
static void put_execution(struct engine *e, struct job *j,
                          const struct rec_exec *x)
{
    struct key k;
    j->flags |= JOBF_EXECUTIONS;
    rec_exec_encode(x, store_put(e->store, FAMILY_BODIES,
                                 key_body(&k, &j->id, BODY_EXECUTION, x->n),
                                 rec_exec_size(x), false));
    if (x->n > EXECUTIONS_MAX)
        store_del(e->store, FAMILY_BODIES,
                  key_body(&k, &j->id, BODY_EXECUTION, x->n - EXECUTIONS_MAX));
}

/* The job remembers what ended its last execution, so that the verb may be
 * repeated, and what went wrong. */
static void remember(struct job *j, struct rec_more *m,
                     const struct rec_exec *x)
{
    m->last_n = x->n;
    m->last_e = j->e;
    m->last_verb = x->verb;
    if (x->verb == VERB_FAIL || x->verb == VERB_TIMEOUT ||
        x->verb == VERB_LOST) {
        m->error = x->error;
        m->error_type = x->error_type;
    }
}

/* Out of the lease, into `to` at `at_ms` (0: at once, old place). */
static void come_back(struct engine *e, struct job *j, struct rec_more *m,
                      enum job_state to, uint64_t at_ms, unsigned flags,
                      struct now now)
{
    lease_end(e, j, now);
    job_move(e, j, to);
    j->flags |= JOBF_MOVED;
    place_outlived(e, j);
    if (to != JOB_READY)
        j->since_ms = at_ms;
    if (to == JOB_READY || (flags & DUEF_OLD_PLACE) != 0) {
        /* its order stays */
    } else {
        struct owner *o = m->owner == 0 ? NULL : e->owners[m->owner];
        if (!place_choose(e, j, o))
            j->order = lane_order(j->lane, j->priority, j->since_ms);
    }
    job_store(e, j, m);
    if (to == JOB_READY)
        (void)place_ready(e, j, false, now);
    else
        place_due(e, j, at_ms, flags, false);
}

bool execution_cancelled(struct engine *e, struct gather *g, struct job *j,
                         const struct outcome *o, struct now now)
{
    if ((j->run_flags & RUNF_CANCEL) == 0)
        return false;
    struct outcome end = *o;
    end.reason = REASON_CANCELLED;
    job_finish(e, g, j, JOB_CANCELLED, &end, now);
    return true;
}

void execution_failed(struct engine *e, struct gather *g, struct job *j,
                      const struct outcome *o, bool has_delay,
                      uint64_t delay_ms, struct now now)
{
    if (execution_cancelled(e, g, j, o, now))
        return;
    if (o->reason == REASON_PERMANENT || j->failures >= j->retries) {
        job_finish(e, g, j, JOB_FAILED, o, now);
        return;
    }
    struct rec_exec x = exec_of(j, o, now);
    struct rec_more m;
    job_more(j, &m);
    put_execution(e, j, &x);
    remember(j, &m, &x);
    j->failures++;
    if (!has_delay)
        delay_ms = retry_delay_ms(e, j, j->failures);
    j->queue->totals.retried++;
    report(e, o->verb == VERB_TIMEOUT ? EVENT_JOB_TIMEOUT : EVENT_JOB_RETRYING,
           j, now, since(j->started_ms, now),
           o->type.len > 0 ? o->type : o->error);
    settle_attempt(e, j, o, now);
    come_back(e, j, &m, JOB_RETRYING, now.wall_ms + delay_ms, DUEF_RETRYING,
              now);
}

static void add_time(struct buf *times, uint64_t ms)
{
    record_put_fix64(buf_room(times, sizeof(ms)), ms);
    times->len += sizeof(ms);
}

/* How many crashes within the window there are with this one; their times. An
 * older version noted the first alone: the others count no longer than it. */
static uint32_t count_crash(const struct engine *e, const struct job *j,
                            const struct rec_more *m, struct now now,
                            struct buf *times)
{
    uint64_t window_ms = e->config.crash_window_ms;
    if (m->first_crash_ms > 0 && since(m->first_crash_ms, now) <= window_ms)
        for (uint32_t i = 0; i < j->crashes && i < e->config.crashes_max; i++)
            add_time(times, m->first_crash_ms);
    struct record_reader in = record_reader(m->crashed_ms);
    while (!in.bad && in.at < in.end) {
        uint64_t ms = record_get_fix64(&in);
        if (since(ms, now) <= window_ms)
            add_time(times, ms);
    }
    add_time(times, now.wall_ms);
    return (uint32_t)(times->len / sizeof(now.wall_ms));
}

void execution_lost(struct engine *e, struct gather *g, struct job *j,
                    struct now now)
{
    struct outcome o = {.verb = VERB_LOST,
                        .reason = REASON_POISON,
                        .error = SLICE_LIT("the lease ended without a word "
                                           "from its holder"),
                        .type = SLICE_LIT("lost")};
    struct rec_more m;
    if (execution_cancelled(e, g, j, &o, now))
        return;
    struct buf times = {0};
    job_more(j, &m);
    bool poison = count_crash(e, j, &m, now, &times) >= e->config.crashes_max;
    j->crashes++;
    e->stats.leases_lost++;
    j->queue->totals.lost++;
    report(e, EVENT_LEASE_LOST, j, now, since(j->started_ms, now), SLICE_EMPTY);
    settle_attempt(e, j, &o, now);
    if (poison) {
        job_encode(e, j, NULL); /* the record tells the crashes */
        job_finish(e, g, j, JOB_FAILED, &o, now);
        goto out;
    }
    struct rec_exec x = exec_of(j, &o, now);
    put_execution(e, j, &x);
    remember(j, &m, &x);
    m.first_crash_ms = 0;
    m.crashed_ms = buf_slice(&times);
    come_back(e, j, &m, JOB_RETRYING, now.wall_ms + e->config.crash_delay_ms,
              DUEF_RETRYING | DUEF_OLD_PLACE, now);
out:
    buf_release(&times);
}

void execution_released(struct engine *e, struct job *j, enum verb verb,
                        uint64_t delay_ms, struct now now)
{
    struct outcome o = {.verb = verb};
    struct rec_exec x = exec_of(j, &o, now);
    struct rec_more m;
    job_more(j, &m);
    remember(j, &m, &x);
    report(e, verb == VERB_SNOOZE ? EVENT_JOB_SNOOZED : EVENT_JOB_RELEASED, j,
           now, since(j->started_ms, now), SLICE_EMPTY);
    settle_attempt(e, j, &o, now);
    if ((j->flags & JOBF_EXPIRES) != 0 && m.expires_at_ms <= now.wall_ms)
        j->flags |= JOBF_BEGUN;
    expiry_again(e, j);
    if (delay_ms == 0)
        come_back(e, j, &m, JOB_READY, 0, DUEF_OLD_PLACE, now);
    else
        come_back(e, j, &m, JOB_SCHEDULED, now.wall_ms + delay_ms, 0, now);
}

/* --- deadlines of jobs --------------------------------------------------- */

static enum err expire(struct engine *e, struct gather *g, const struct id *id,
                       bool unstarted, struct now now, struct errbuf *err)
{
    struct job *j;
    enum err rc = job_load(e, g, id, &j, err);
    if (rc == ERR_NOTFOUND)
        return ERR_OK; /* it ended; its row here was overlooked */
    if (rc != ERR_OK)
        return rc;
    if (unstarted && (job_tried(j) || j->state == JOB_RUNNING)) {
        job_drop(e, j);
        return ERR_OK;
    }
    rc = finish_gather(e, g, j, 0, err);
    if (rc != ERR_OK) {
        job_drop(e, j);
        return rc;
    }
    struct outcome o = {.verb = VERB_CANCEL,
                        .reason = unstarted ? REASON_EXPIRES : REASON_DEADLINE,
                        .error = unstarted ? SLICE_LIT("not started in time")
                                           : SLICE_LIT("deadline passed")};
    job_finish(e, g, j, JOB_EXPIRED, &o, now);
    return ERR_OK;
}

enum err expire_unstarted(struct engine *e, struct gather *g,
                          const struct id *id, struct now now,
                          struct errbuf *err)
{
    return expire(e, g, id, true, now, err);
}

enum err expire_total(struct engine *e, struct gather *g, const struct id *id,
                      struct now now, struct errbuf *err)
{
    return expire(e, g, id, false, now, err);
}
