/* The alarm of a schedule.
 *
 *     due_step() -> schedule_fire():
 *       1. read settings and state; an alarm before due_ms is void;
 *       2. misfire: how late is it, which occurrence stands for those passed?
 *       3. overlap: make the job, buffer the occurrence, skip it, or stop the
 *          jobs that are live;
 *       4. look for the next occurrence behind it, set its alarm, write state.
 *
 * All of it is in one entry with the job. Nothing has happened if rows were
 * missing (ERR_PENDING). A catch-up of many occurrences goes on in slices,
 * since its next alarm is in the past, too.
 *
 * Misfire, if the alarm is later than the grace:
 *
 *     skip   none of the late ones runs
 *     once   one job, for the last occurrence that is due by now
 *     all    a job each, oldest first, if it is inside the window
 *
 * What did not run within its grace is counted as missed, whatever the rule
 * does about it.
 */
#include "engine/schedule_impl.h"

#define AHEAD_MAX 128
/* How long an occurrence is known by its key. */
#define OCCURRENCE_KEEP_MS ((uint64_t)7 * 24 * 3600 * 1000)
#define HOUR_MS ((uint64_t)3600 * 1000)

uint64_t times_at(struct slice times, uint32_t i)
{
    struct record_reader in = record_reader(times);
    ASSERT(i < times_count(times));
    in.at += (size_t)i * 8;
    return record_get_fix64(&in);
}

/* --- occurrence keys ----------------------------------------------------- */

/* 0: too old to be known. */
static uint32_t occurrence_key(struct key *k, const struct id *schedule,
                               uint64_t nominal_ms, struct now now)
{
    uint32_t bucket = done_bucket(nominal_ms, OCCURRENCE_KEEP_MS);
    if (bucket <= now.wall_ms / HOUR_MS)
        return 0;
    char bytes[ID_LEN + 8];
    memcpy(bytes, schedule->bytes, ID_LEN);
    for (int i = 0; i < 8; i++)
        bytes[ID_LEN + i] = (char)(unsigned char)(nominal_ms >> (56 - 8 * i));
    key_done_key(k, bucket, KEY_OCCURRENCE, slice_of(bytes, sizeof(bytes)));
    return bucket;
}

enum err occurrence_exists(struct engine *e, struct gather *g,
                           const struct schedule *s, uint64_t nominal_ms,
                           struct now now, bool *exists, struct errbuf *err)
{
    struct key k;
    struct slice value;
    *exists = false;
    if (occurrence_key(&k, &s->id, nominal_ms, now) == 0)
        return ERR_OK;
    enum err rc =
        store_get(e->store, g, FAMILY_DONE, key_slice(&k), &value, err);
    *exists = rc == ERR_OK;
    return rc == ERR_NOTFOUND ? ERR_OK : rc;
}

void occurrence_put(struct engine *e, const struct schedule *s,
                    uint64_t nominal_ms, struct now now)
{
    struct key k;
    struct rec_mark mark = {0};
    uint32_t bucket = occurrence_key(&k, &s->id, nominal_ms, now);
    if (bucket == 0)
        return;
    done_note(e, bucket);
    rec_mark_encode(&mark, store_put(e->store, FAMILY_DONE, key_slice(&k),
                                     rec_mark_size(&mark), false));
}

/* --- the job of an occurrence -------------------------------------------- */

static void rejected(struct engine *e, struct schedule *s, const char *why,
                     struct now now)
{
    s->st.rejected++;
    buf_clear(&s->error);
    buf_add_str(&s->error, why);
    s->st.error = buf_slice(&s->error);
    schedule_report(e, s, EVENT_SCHEDULE_REJECTED, 1, s->set.name, now);
}

enum err schedule_make_job(struct engine *e, struct gather *g,
                           struct schedule *s, uint64_t nominal_ms,
                           struct now now, bool *made, struct errbuf *err)
{
    struct job_options o;
    struct add_result result;
    *made = false;
    if (!options_decode(&o, s->set.options))
        return err_set(err, ERR_CORRUPT,
                       "family named: bad options of a schedule");
    struct add_params p = {.queue = s->set.queue,
                           .payloads = &s->set.payload,
                           .n = 1,
                           .options = &o,
                           .schedule = s->set.name,
                           .nominal_ms = nominal_ms,
                           .occurrence = s->st.fired + s->st.manual + 1};
    enum err room = entry_has_room(e, STEP_BYTES + s->set.payload.len, err);
    if (room != ERR_OK)
        return room; /* which is no fault of the job */
    struct errbuf why;
    uint64_t ends = e->schedule_ends;
    enum err rc = engine_add(e, g, &p, now, &result, &why);
    if (rc == ERR_PENDING)
        return rc;
    /* Room was made by ending a job, perhaps one of ours: it was noted in our
     * row, of which nothing else has been changed so far. */
    if (ends != e->schedule_ends) {
        enum err again = schedule_load_state(e, NULL, &s->id, s, err);
        if (again != ERR_OK)
            return again;
    }
    if (rc != ERR_OK || !result.created) {
        rejected(e, s,
                 rc != ERR_OK ? why.text
                              : "another job has its UNIQUE "
                                "key",
                 now);
        return ERR_OK;
    }
    live_put(e, &s->id, &result.id, true);
    live_counted(s);
    s->st.fired++;
    s->st.last_ms = nominal_ms;
    s->st.last_fired_ms = now.wall_ms;
    s->st.last_job = result.id;
    *made = true;
    return ERR_OK;
}

/* --- overlap ------------------------------------------------------------- */

static void buffer(struct schedule *s, uint64_t nominal_ms)
{
    char bytes[8];
    struct buf times = {0};
    record_put_fix64(bytes, nominal_ms);
    buf_add_slice(&times, s->st.buffered);
    buf_add(&times, bytes, sizeof(bytes));
    buf_release(&s->buffered);
    s->buffered = times;
    s->st.buffered = buf_slice(&s->buffered);
}

static void overlapped(struct engine *e, struct schedule *s, uint64_t n,
                       struct now now)
{
    s->st.overlapped += n;
    schedule_report(e, s, EVENT_SCHEDULE_OVERLAP, n, s->set.name, now);
}

/* None of the times that wait shall run any more. Not before a job is made:
 * that may read the row anew, or find that rows are missing. */
static void drop_waiting(struct engine *e, struct schedule *s, struct now now)
{
    uint32_t waiting = times_count(s->st.buffered);
    if (waiting == 0)
        return;
    s->st.buffered = SLICE_EMPTY;
    overlapped(e, s, waiting, now);
}

/* The others make room: at once, or as soon as they have stopped. They are
 * looked at oldest first, a slice at a time; *again: there may be more, so that
 * the alarm is to go off once more. */
static enum err displace(struct engine *e, struct gather *g, struct schedule *s,
                         uint64_t nominal_ms, bool terminate, struct now now,
                         bool *again, struct errbuf *err)
{
    struct buf ids = {0};
    bool made;
    uint32_t most = e->config.slice_ops;
    enum err rc = live_jobs_of(e, g, &s->id, s->st.displaced, most, &ids, err);
    if (rc == ERR_OK)
        rc = live_stop_gather(e, g, buf_slice(&ids), err);
    if (rc != ERR_OK)
        goto out;
    size_t found = ids.len;
    ids.len = live_stop(e, g, buf_slice(&ids), terminate, now) * ID_LEN;
    /* Their ends were noted in the row: read it anew. It was gathered, and
     * perhaps just written. */
    rc = schedule_load_state(e, g, &s->id, s, err);
    if (rc != ERR_OK)
        goto out;
    if (s->st.live > 0 && (ids.len < found || found == (size_t)most * ID_LEN)) {
        buf_clear(&s->displaced);
        buf_add(&s->displaced, ids.data + ids.len - ID_LEN, ID_LEN);
        s->st.displaced = buf_slice(&s->displaced);
        *again = true;
        goto out;
    }
    if (slice_full(e)) { /* the job has its own entry */
        *again = true;
        goto out;
    }
    occurrence_put(e, s, nominal_ms, now);
    if (s->st.live > 0 && !terminate) {
        drop_waiting(e, s, now);
        buffer(s, nominal_ms);
        goto out;
    }
    rc = schedule_make_job(e, g, s, nominal_ms, now, &made, err);
    if (rc == ERR_PENDING) /* too late to start over */
        rc = schedule_make_job(e, NULL, s, nominal_ms, now, &made, err);
    if (rc == ERR_OK)
        drop_waiting(e, s, now);
out:
    buf_release(&ids);
    return rc;
}

static enum err occur(struct engine *e, struct gather *g, struct schedule *s,
                      uint64_t nominal_ms, struct now now, bool *again,
                      struct errbuf *err)
{
    enum schedule_overlap overlap = (enum schedule_overlap)s->set.overlap;
    bool made, displaces = false;
    uint32_t waiting = times_count(s->st.buffered);
    bool busy = s->st.live > 0;
    switch (overlap) {
    case OVERLAP_ALLOW:
        break;
    case OVERLAP_BUFFER_ONE:
    case OVERLAP_BUFFER_ALL:
        if (!busy && waiting == 0)
            break;
        if (waiting >=
            (overlap == OVERLAP_BUFFER_ONE ? 1 : SCHEDULE_BUFFER_MAX)) {
            overlapped(e, s, 1, now);
            return ERR_OK;
        }
        occurrence_put(e, s, nominal_ms, now);
        buffer(s, nominal_ms);
        return ERR_OK;
    case OVERLAP_CANCEL:
    case OVERLAP_TERMINATE:
        if (busy)
            return displace(e, g, s, nominal_ms, overlap == OVERLAP_TERMINATE,
                            now, again, err);
        displaces = true;
        break;
    case OVERLAP_SKIP:
    default:
        if (!busy)
            break;
        overlapped(e, s, 1, now);
        return ERR_OK;
    }
    enum err rc = schedule_make_job(e, g, s, nominal_ms, now, &made, err);
    if (rc == ERR_OK && made)
        occurrence_put(e, s, nominal_ms, now);
    if (rc == ERR_OK && displaces)
        drop_waiting(e, s, now);
    return rc;
}

/* --- misfire ------------------------------------------------------------- */

struct verdict {
    enum { PASS, RUN, WALK_ON } what;
    uint64_t nominal_ms; /* what runs, or may be found to be the last one */
    uint64_t from_ms;    /* the next one is looked for behind this */
    uint64_t missed;
};

/* None of those up to `until_ms` runs. */
static struct verdict pass(const struct plan *p, uint64_t nominal_ms,
                           uint64_t until_ms)
{
    struct walk w = plan_walk(p, nominal_ms, nominal_ms, until_ms);
    return (struct verdict){PASS, 0, w.from_ms, w.n};
}

/* Of those that are due by now the last one runs. */
static struct verdict latest(const struct plan *p, const struct schedule *s,
                             struct now now)
{
    struct walk w = plan_walk(p, s->st.next_ms, s->st.from_ms, now.wall_ms);
    if (w.end == WALK_UNSURE)
        return (struct verdict){WALK_ON, w.last_ms, w.from_ms, w.n - 1};
    uint64_t late = now.wall_ms - plan_due(p, w.last_ms);
    bool run = w.end == WALK_DONE && late <= s->set.window_ms;
    bool in_time = run && late <= s->set.grace_ms;
    return (struct verdict){run ? RUN : PASS, w.last_ms, w.from_ms,
                            w.n - in_time};
}

static struct verdict judge(const struct plan *p, const struct schedule *s,
                            struct now now)
{
    const struct rec_schedule *set = &s->set;
    uint64_t nominal = s->st.next_ms, late = now.wall_ms - s->st.due_ms;
    if (plan_excluded(p, nominal))
        return (struct verdict){PASS, 0, nominal, 0};
    if (late <= set->grace_ms)
        return (struct verdict){RUN, nominal, nominal, 0};
    switch ((enum schedule_misfire)set->misfire) {
    case MISFIRE_ALL:
        if (late <= set->window_ms)
            return (struct verdict){RUN, nominal, nominal, 1};
        return pass(p, nominal, now.wall_ms - set->window_ms - 1);
    case MISFIRE_SKIP:
        return pass(p, nominal, now.wall_ms - set->grace_ms - 1);
    case MISFIRE_ONCE:
    default:
        return latest(p, s, now);
    }
}

/* --- the alarm ----------------------------------------------------------- */

/* Rows are missing: those of the alarms behind this one will be, too. */
static void look_ahead(struct engine *e, struct gather *g, struct now now)
{
    struct key k;
    struct slice value;
    struct errbuf err;
    for (uint32_t i = 1; i < e->due.len && i < AHEAD_MAX; i++) {
        const struct member *m = window_at(&e->due, i);
        if (m->order >> 4 > now.wall_ms)
            return;
        if ((m->order & 15) != DUE_SCHEDULE)
            continue;
        enum err a = store_get(e->store, g, FAMILY_NAMED,
                               schedule_key(&k, NAMED_SCHEDULE_STATE, &m->id),
                               &value, &err);
        enum err b = store_get(e->store, g, FAMILY_NAMED,
                               schedule_key(&k, NAMED_SCHEDULE_SET, &m->id),
                               &value, &err);
        (void)a; /* each is read for good, and judged, when it fires */
        (void)b;
    }
}

/* The walk goes on in the next alarm, from the last one that it found. */
static void walk_on(struct engine *e, struct schedule *s, const struct plan *p,
                    const struct verdict *v)
{
    uint64_t due_ms = plan_due(p, v->nominal_ms);
    s->st.next_ms = v->nominal_ms;
    s->st.from_ms = v->from_ms;
    s->st.displaced = SLICE_EMPTY;
    /* The alarm that went off is used up. */
    s->st.due_ms = due_ms > s->st.due_ms ? due_ms : s->st.due_ms + 1;
    schedule_alarm(e, s);
    schedule_store_state(e, s);
}

static enum err fire(struct engine *e, struct gather *g, struct schedule *s,
                     const struct plan *p, struct now now, struct errbuf *err)
{
    struct verdict v = judge(p, s, now);
    enum err rc = ERR_OK;
    bool again = false;
    if (v.what == RUN && v.nominal_ms <= s->st.high_ms) {
        bool exists;
        rc = occurrence_exists(e, g, s, v.nominal_ms, now, &exists, err);
        v.what = exists ? PASS : RUN;
    }
    if (rc == ERR_OK && v.what == RUN)
        rc = occur(e, g, s, v.nominal_ms, now, &again, err);
    if (rc != ERR_OK)
        return rc;
    if (again) {
        s->st.due_ms++; /* the alarm that went off is used up */
        schedule_alarm(e, s);
        schedule_store_state(e, s);
        return ERR_OK;
    }
    if (v.missed > 0) {
        s->st.missed += v.missed;
        schedule_report(e, s, EVENT_SCHEDULE_MISSED, v.missed, s->set.name,
                        now);
    }
    if (v.what == WALK_ON) {
        walk_on(e, s, p, &v);
        return ERR_OK;
    }
    if (s->st.high_ms < v.from_ms)
        s->st.high_ms = v.from_ms;
    schedule_move(e, s, p, (int64_t)v.from_ms);
    schedule_store_state(e, s);
    return ERR_OK;
}

enum err schedule_fire(struct engine *e, struct gather *g, uint64_t at_ms,
                       const struct id *id, struct now now, struct errbuf *err)
{
    struct schedule s = {0};
    struct plan p = {0};
    enum err rc = schedule_load(e, g, id, &s, err);
    if (rc == ERR_PENDING)
        look_ahead(e, g, now);
    if (rc == ERR_OK && s.st.next_ms > 0 && s.st.due_ms <= at_ms) {
        rc = plan_make(&p, &s.timing, s.set.name, err);
        if (rc == ERR_OK)
            rc = fire(e, g, &s, &p, now, err);
        else /* its zone cannot be read: it may come back */
            schedule_due(e, id, DUE_SCHEDULE, now.wall_ms + SCHEDULE_AGAIN_MS);
    }
    plan_release(&p);
    schedule_release(&s);
    return rc == ERR_NOTFOUND ? ERR_OK : rc;
}

/* The last live job has ended: the oldest occurrence that waits may start. */
enum err schedule_free(struct engine *e, struct gather *g, uint64_t at_ms,
                       const struct id *id, struct now now, struct errbuf *err)
{
    struct schedule s = {0};
    bool made = false;
    enum err rc = schedule_load(e, g, id, &s, err);
    if (rc == ERR_OK && s.set.max > 0 && s.st.fired >= s.set.max &&
        times_count(s.st.buffered) > 0) {
        drop_waiting(e, &s, now); /* MAX was lowered meanwhile */
        schedule_store_state(e, &s);
    } else if (rc == ERR_OK && s.st.live == 0 && s.st.paused == PAUSED_NOT &&
               times_count(s.st.buffered) > 0) {
        rc = schedule_make_job(e, g, &s, times_at(s.st.buffered, 0), now, &made,
                               err);
        if (rc == ERR_OK) {
            s.st.buffered =
                slice_of(s.st.buffered.data + 8, s.st.buffered.len - 8);
            if (!made && times_count(s.st.buffered) > 0)
                schedule_due(e, id, DUE_SCHEDULE_FREE, at_ms + 1);
            schedule_store_state(e, &s);
        }
    }
    schedule_release(&s);
    return rc == ERR_NOTFOUND ? ERR_OK : rc;
}
