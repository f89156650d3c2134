/* The jobs of a schedule: which are live, how they ended.
 *
 * A row (KEY_SCHEDULE: schedule, job) stands as long as the job lives, written
 * and deleted in the entries in which the job is born and ends, and the
 * schedule counts them, also one that was deleted. Overlap is judged from that,
 * so no crash can leave a schedule believing that something still runs.
 */
#include "engine/schedule_impl.h"

/* An outcome in the ring: nominal time, end, state. */
#define OUTCOME_LEN 17

static struct id id_at(struct slice ids, size_t i)
{
    struct id id;
    memcpy(id.bytes, ids.data + i * ID_LEN, ID_LEN);
    return id;
}

struct slice live_key(struct key *k, const struct id *schedule,
                      const struct id *job)
{
    char bytes[2 * ID_LEN];
    memcpy(bytes, schedule->bytes, ID_LEN);
    memcpy(bytes + ID_LEN, job->bytes, ID_LEN);
    return key_key(k, KEY_SCHEDULE, slice_of(bytes, sizeof(bytes)));
}

void live_put(struct engine *e, const struct id *schedule, const struct id *job,
              bool fresh)
{
    struct rec_mark mark = {0};
    struct key k;
    rec_mark_encode(&mark, store_put(e->store, FAMILY_KEYS,
                                     live_key(&k, schedule, job),
                                     rec_mark_size(&mark), fresh));
}

void live_counted(struct schedule *s)
{
    s->st.live++;
    s->st.displaced = SLICE_EMPTY;
}

static bool note_live(struct slice key, struct slice value, void *ud)
{
    struct buf *ids = ud;
    uint8_t kind;
    struct slice name;
    (void)value;
    if (key_parse_key(key, &kind, &name) && name.len == 2 * ID_LEN)
        buf_add(ids, name.data + ID_LEN, ID_LEN);
    return true;
}

enum err live_jobs_of(struct engine *e, struct gather *g,
                      const struct id *schedule, struct slice after,
                      uint32_t max, struct buf *ids, struct errbuf *err)
{
    struct key prefix, from, to, k;
    key_key(&prefix, KEY_SCHEDULE, id_slice(schedule));
    from = prefix;
    if (after.len == ID_LEN) {
        struct id last = id_at(after, 0);
        key_next(&from, live_key(&k, schedule, &last));
    }
    return store_scan(e->store, g, FAMILY_KEYS, key_slice(&from),
                      key_after(&to, key_slice(&prefix)), max, note_live, ids,
                      err);
}

/* --- stopping them ------------------------------------------------------- */

enum err live_stop_gather(struct engine *e, struct gather *g, struct slice ids,
                          struct errbuf *err)
{
    bool pending = false;
    for (size_t i = 0; i < ids.len / ID_LEN; i++) {
        struct id id = id_at(ids, i);
        struct job *j;
        enum err rc = job_load(e, g, &id, &j, err);
        if (rc == ERR_OK) {
            rc = finish_gather(e, g, j, 0, err);
            job_drop(e, j);
        }
        if (rc == ERR_PENDING)
            pending = true;
        else if (rc != ERR_OK && rc != ERR_NOTFOUND)
            return rc;
    }
    return pending ? ERR_PENDING : ERR_OK;
}

static void stop(struct engine *e, struct gather *g, struct job *j,
                 bool terminate, struct now now)
{
    struct outcome o = {.verb = VERB_CANCEL,
                        .reason = REASON_CANCELLED,
                        .error = SLICE_LIT("its schedule fired again")};
    if (j->state != JOB_RUNNING || terminate) {
        job_finish(e, g, j, JOB_CANCELLED, &o, now);
    } else if ((j->run_flags & RUNF_CANCEL) == 0) {
        struct manage a = {.verb = MANAGE_CANCEL};
        struct id id = j->id;
        struct errbuf err;
        if (manage_do(e, g, &a, &id, now, &err) != ERR_OK)
            fault(e, now, &err);
    }
}

size_t live_stop(struct engine *e, struct gather *g, struct slice ids,
                 bool terminate, struct now now)
{
    struct errbuf err;
    size_t n = ids.len / ID_LEN, i = 0;
    for (; i < n && (i == 0 || !slice_over(e)); i++) {
        struct id id = id_at(ids, i);
        struct job *j;
        enum err rc = job_load(e, g, &id, &j, &err);
        if (rc == ERR_PENDING) /* it was not gathered: read blocking */
            rc = job_load(e, NULL, &id, &j, &err);
        if (rc == ERR_OK)
            stop(e, g, j, terminate, now);
        else if (rc != ERR_NOTFOUND)
            fault(e, now, &err);
    }
    return i;
}

/* --- how they end -------------------------------------------------------- */

enum err schedule_settle_gather(struct engine *e, struct gather *g,
                                const struct job *j, struct errbuf *err)
{
    struct rec_more m;
    struct key k;
    struct slice value;
    if ((j->flags & JOBF_SCHEDULE) == 0)
        return ERR_OK;
    job_more(j, &m);
    struct id id = due_name_id(m.schedule);
    enum err state =
        store_get(e->store, g, FAMILY_NAMED,
                  schedule_key(&k, NAMED_SCHEDULE_STATE, &id), &value, err);
    enum err live = store_get(e->store, g, FAMILY_KEYS,
                              live_key(&k, &id, &j->id), &value, err);
    if (state != ERR_OK && state != ERR_NOTFOUND)
        return state;
    return live == ERR_NOTFOUND ? ERR_OK : live;
}

/* A finished job is taken back: it is live again, and counts. */
enum err schedule_revive_gather(struct engine *e, struct gather *g,
                                struct slice name, struct errbuf *err)
{
    struct key k;
    struct slice value;
    struct id id = due_name_id(name);
    enum err rc =
        store_get(e->store, g, FAMILY_NAMED,
                  schedule_key(&k, NAMED_SCHEDULE_STATE, &id), &value, err);
    return rc == ERR_NOTFOUND ? ERR_OK : rc;
}

void schedule_revive(struct engine *e, struct gather *g, struct slice name,
                     const struct id *job, struct now now)
{
    struct schedule s = {0};
    struct errbuf err;
    struct id id = due_name_id(name);
    enum err rc = schedule_load_state(e, g, &id, &s, &err);
    if (rc == ERR_PENDING)
        rc = schedule_load_state(e, NULL, &id, &s, &err);
    live_put(e, &id, job, false);
    /* If its schedule is gone, one of that name may come again. */
    if (rc == ERR_NOTFOUND)
        s.st = (struct rec_schedule_state){.paused = PAUSED_DELETED};
    if (rc == ERR_OK || rc == ERR_NOTFOUND) {
        live_counted(&s);
        schedule_store_state(e, &s);
    } else {
        fault(e, now, &err);
    }
    schedule_release(&s);
}

/* Newest first; the oldest falls off. */
static void note_outcome(struct schedule *s, uint64_t nominal_ms,
                         enum job_state state, struct now now)
{
    struct slice old = s->st.outcomes;
    char bytes[OUTCOME_LEN];
    if (old.len > (SCHEDULE_OUTCOMES - 1) * OUTCOME_LEN)
        old.len = (SCHEDULE_OUTCOMES - 1) * OUTCOME_LEN;
    record_put_u8(
        record_put_fix64(record_put_fix64(bytes, nominal_ms), now.wall_ms),
        (uint8_t)state);
    buf_clear(&s->outcomes);
    buf_add(&s->outcomes, bytes, sizeof(bytes));
    buf_add_slice(&s->outcomes, old);
    s->st.outcomes = buf_slice(&s->outcomes);
}

uint32_t schedule_outcomes(struct slice ring, struct schedule_outcome *out)
{
    struct record_reader in = record_reader(ring);
    uint32_t n = 0;
    while (n < SCHEDULE_OUTCOMES && ring.len - n * OUTCOME_LEN >= OUTCOME_LEN) {
        out[n].nominal_ms = record_get_fix64(&in);
        out[n].ended_ms = record_get_fix64(&in);
        out[n].state = record_get_u8(&in);
        if (out[n].state < JOB_COMPLETED || out[n].state >= JOB_STATES)
            break;
        n++;
    }
    return n;
}

/* So many in a row have failed for good: wait for somebody to look. */
static void pause_on_failure(struct engine *e, struct schedule *s,
                             struct slice name, struct now now)
{
    if (s->st.pause_after == 0 || s->st.paused != PAUSED_NOT ||
        s->st.failures_in_row < s->st.pause_after)
        return;
    schedule_silence(e, s);
    s->st.paused = PAUSED_BY_FAILURES;
    s->st.next_ms = s->st.due_ms = 0;
    schedule_report(e, s, EVENT_SCHEDULE_PAUSED, s->st.failures_in_row, name,
                    now);
}

void schedule_settle(struct engine *e, struct gather *g, const struct job *j,
                     enum job_state state, struct now now)
{
    struct rec_more m;
    struct key k;
    struct slice value;
    struct errbuf err;
    if ((j->flags & JOBF_SCHEDULE) == 0)
        return;
    struct schedule s = {0};
    e->schedule_ends++;
    job_more(j, &m);
    struct id id = due_name_id(m.schedule);
    struct slice live = live_key(&k, &id, &j->id);
    enum err rc = store_get(e->store, g, FAMILY_KEYS, live, &value, &err);
    if (rc == ERR_PENDING) /* it was not gathered: read blocking */
        rc = store_get(e->store, NULL, FAMILY_KEYS, live, &value, &err);
    bool counted = rc == ERR_OK;
    if (counted)
        store_del(e->store, FAMILY_KEYS, live);
    rc = schedule_load_state(e, g, &id, &s, &err);
    if (rc == ERR_PENDING)
        rc = schedule_load_state(e, NULL, &id, &s, &err);
    if (rc != ERR_OK) {
        if (rc != ERR_NOTFOUND)
            fault(e, now, &err);
        schedule_release(&s);
        return;
    }
    if (counted && s.st.live > 0)
        s.st.live--;
    note_outcome(&s, m.nominal_ms, state, now);
    if (state == JOB_COMPLETED) {
        s.st.completed++;
        s.st.failures_in_row = 0;
    } else if (state == JOB_FAILED) {
        s.st.failed++;
        s.st.failures_in_row++;
        pause_on_failure(e, &s, m.schedule, now);
    }
    if (s.st.live == 0 && times_count(s.st.buffered) > 0 &&
        s.st.paused == PAUSED_NOT)
        schedule_due(e, &id, DUE_SCHEDULE_FREE, now.wall_ms);
    schedule_store_rest(e, &s);
    schedule_release(&s);
}
