/* The guardian: does every schedule have its alarm?
 *
 * At the start and every hour it walks all states, a slice at a time and not
 * faster than the server notices: the alarm is there, the live jobs that are
 * counted are live, what is buffered will be looked at. What is wrong is
 * mended, counted and reported. If the zones' data changed, next times are
 * looked for again.
 *
 * Alarms too many need no search: one before due_ms does nothing, and goes.
 */
#include "engine/schedule_impl.h"

#define GUARD_EVERY_MS ((uint64_t)3600 * 1000)
#define GUARD_SLICE_MS 10
#define GUARD_SLICE 64
#define GUARD_LIVE_MAX 64

static void mended(struct engine *e, const struct schedule *s,
                   struct slice what, struct now now)
{
    e->guard.repairs++;
    schedule_report(e, s, EVENT_SCHEDULE_REPAIRED, 1, what, now);
}

/* Rows of live jobs that are none; ERR_PENDING if that is not at hand. */
static enum err check_live(struct engine *e, struct gather *g,
                           struct schedule *s, bool act, struct now now,
                           bool *changed, struct errbuf *err)
{
    struct buf ids = {0};
    struct key k;
    struct slice row;
    uint32_t live = 0, lost = 0;
    enum err rc =
        live_jobs_of(e, g, &s->id, SLICE_EMPTY, GUARD_LIVE_MAX, &ids, err);
    if (rc != ERR_OK || ids.len == GUARD_LIVE_MAX * ID_LEN)
        goto out; /* so many: the count is believed */
    for (size_t at = 0; at < ids.len; at += ID_LEN) {
        struct id id;
        memcpy(id.bytes, ids.data + at, ID_LEN);
        enum err there = job_get(e, &id) != NULL
                             ? ERR_OK
                             : store_get(e->store, g, FAMILY_JOBS,
                                         key_job(&k, &id), &row, err);
        if (there == ERR_OK) {
            live++;
        } else if (there == ERR_NOTFOUND) {
            lost++;
            if (act)
                store_del(e->store, FAMILY_KEYS, live_key(&k, &s->id, &id));
        } else {
            rc = there;
        }
    }
    if (rc == ERR_OK && act && (lost > 0 || live != s->st.live)) {
        s->st.live = live;
        *changed = true;
        mended(e, s, SLICE_LIT("live jobs of a schedule were miscounted"), now);
    }
out:
    buf_release(&ids);
    return rc;
}

/* The clock's rules changed under it. */
static enum err check_zone(struct engine *e, struct gather *g,
                           struct schedule *s, bool act, bool *changed,
                           struct errbuf *err)
{
    struct plan p;
    uint64_t next = 0, due = 0;
    enum err rc = schedule_load(e, g, &s->id, s, err);
    if (rc != ERR_OK || s->timing.zone.len == 0 || s->set.when != WHEN_CRON)
        return rc;
    rc = plan_make(&p, &s->timing, s->set.name, err);
    if (rc != ERR_OK)
        return rc;
    if (plan_next(&p, (int64_t)s->st.from_ms, &next))
        due = plan_due(&p, next);
    /* An alarm later than planned is right: it is displacing jobs. So is a time
     * that the search has passed: walk_on() holds it until it is judged. */
    if (act && s->st.next_ms > s->st.from_ms &&
        (next != s->st.next_ms || due > s->st.due_ms)) {
        schedule_silence(e, s);
        schedule_move(e, s, &p, (int64_t)s->st.from_ms);
        *changed = true;
    }
    plan_release(&p);
    return ERR_OK;
}

static enum err check_one(struct engine *e, struct gather *g,
                          const struct id *id, bool act, struct now now,
                          struct errbuf *err)
{
    struct schedule s = {0};
    bool changed = false;
    enum err rc = schedule_load_state(e, g, id, &s, err);
    e->guard.seen += rc == ERR_OK && act && s.st.paused != PAUSED_DELETED;
    if (rc == ERR_OK && s.st.next_ms > 0 && e->guard.zones)
        rc = check_zone(e, g, &s, act, &changed, err);
    if (rc == ERR_OK && s.st.next_ms > 0 && !changed) {
        rc = due_exists(e, g, s.st.due_ms, DUE_SCHEDULE, id, err);
        if (rc == ERR_NOTFOUND && act) {
            schedule_alarm(e, &s);
            mended(e, &s, SLICE_LIT("a schedule had lost its alarm"), now);
        }
        if (rc == ERR_NOTFOUND)
            rc = ERR_OK;
    }
    if (rc == ERR_OK && s.st.live > 0)
        rc = check_live(e, g, &s, act, now, &changed, err);
    if (rc == ERR_OK && act && s.st.live == 0 && s.st.paused == PAUSED_NOT &&
        times_count(s.st.buffered) > 0)
        schedule_due(e, id, DUE_SCHEDULE_FREE, now.wall_ms);
    if (changed)
        schedule_store_rest(e, &s);
    schedule_release(&s);
    return rc == ERR_NOTFOUND ? ERR_OK : rc;
}

/* --- the walk ------------------------------------------------------------ */

static bool note_id(struct slice key, struct slice value, void *ud)
{
    uint8_t kind;
    struct slice name;
    (void)value;
    if (key_parse_named(key, &kind, &name) && name.len == ID_LEN)
        buf_add(ud, name.data, ID_LEN);
    return true;
}

static enum err next_ids(struct engine *e, struct gather *g, struct buf *ids,
                         struct errbuf *err)
{
    struct key from, to, prefix, k;
    key_prefix_named(&prefix, NAMED_SCHEDULE_STATE);
    from = prefix;
    if (e->guard.begun)
        key_next(&from, schedule_key(&k, NAMED_SCHEDULE_STATE, &e->guard.last));
    return store_scan(e->store, g, FAMILY_NAMED, key_slice(&from),
                      key_after(&to, key_slice(&prefix)), GUARD_SLICE, note_id,
                      ids, err);
}

/* First for the gather alone, then for good. */
static enum err check_ids(struct engine *e, struct gather *g, struct slice ids,
                          struct now now)
{
    struct errbuf err;
    for (int act = 0; act < 2; act++) {
        bool pending = false;
        for (size_t at = 0; at < ids.len; at += ID_LEN) {
            struct id id;
            memcpy(id.bytes, ids.data + at, ID_LEN);
            /* What was read for the gather is there, or in memory. */
            enum err rc = check_one(e, g, &id, act == 1, now, &err);
            if (rc == ERR_PENDING)
                pending = true;
            else if (rc != ERR_OK && act == 1)
                fault(e, now, &err);
        }
        if (pending && act == 0)
            return ERR_PENDING;
    }
    return ERR_OK;
}

static void begin(struct engine *e)
{
    struct guard *gd = &e->guard;
    gd->running = true;
    gd->begun = false;
    gd->seen = 0;
    /* At the first pass the data may have changed while we were down. */
    gd->zones = zone_reload_changed(NULL) > 0 || gd->passes == 0;
}

void schedule_guard(struct engine *e, struct now now)
{
    struct guard *gd = &e->guard;
    struct buf ids = {0};
    struct errbuf err;
    if (now.mono_ms < gd->next_mono_ms)
        return;
    if (!gd->running)
        begin(e);
    enum err rc = next_ids(e, e->timer_gather, &ids, &err);
    if (rc == ERR_OK)
        rc = check_ids(e, e->timer_gather, buf_slice(&ids), now);
    if (rc == ERR_PENDING) {
        timer_fetch(e);
        buf_release(&ids);
        return;
    }
    if (rc != ERR_OK)
        fault(e, now, &err);
    size_t n = ids.len / ID_LEN;
    gd->next_mono_ms = now.mono_ms + GUARD_SLICE_MS;
    if (n > 0) {
        memcpy(gd->last.bytes, ids.data + ids.len - ID_LEN, ID_LEN);
        gd->begun = true;
    }
    if (rc != ERR_OK || n < GUARD_SLICE) {
        gd->running = false;
        gd->passes++;
        gd->schedules = gd->seen;
        gd->next_mono_ms = now.mono_ms + GUARD_EVERY_MS;
    }
    buf_release(&ids);
}

/* --- invariants ---------------------------------------------------------- */

static enum err judge_live(struct engine *e, const struct schedule *s,
                           const struct id *id, struct errbuf *err)
{
    struct buf live = {0};
    struct key k;
    struct slice row;
    struct id job;
    enum err rc =
        live_jobs_of(e, NULL, id, SLICE_EMPTY, UINT32_MAX, &live, err);
    if (rc == ERR_OK && live.len / ID_LEN != s->st.live)
        rc = err_set(
            err, ERR_INTERNAL, "schedule %.*s counts %u live jobs, not %zu",
            SLICE_FMT(s->set.name), (unsigned)s->st.live, live.len / ID_LEN);
    for (size_t j = 0; rc == ERR_OK && j < live.len; j += ID_LEN) {
        memcpy(job.bytes, live.data + j, ID_LEN);
        rc = store_get(e->store, NULL, FAMILY_JOBS, key_job(&k, &job), &row,
                       err);
        if (rc == ERR_NOTFOUND)
            rc = err_set(err, ERR_INTERNAL,
                         "schedule %.*s counts a job that has ended",
                         SLICE_FMT(s->set.name));
    }
    buf_release(&live);
    return rc;
}

static enum err judge_one(struct engine *e, const struct id *id,
                          struct errbuf *err)
{
    struct schedule s = {0};
    enum err rc = schedule_load_state(e, NULL, id, &s, err);
    if (rc == ERR_OK && s.st.paused != PAUSED_DELETED)
        rc = schedule_load(e, NULL, id, &s, err);
    else if (rc == ERR_OK && s.st.live == 0)
        rc =
            err_set(err, ERR_INTERNAL, "a deleted schedule has left its state");
    if (rc == ERR_OK && s.st.next_ms > 0) {
        rc = due_exists(e, NULL, s.st.due_ms, DUE_SCHEDULE, id, err);
        if (rc == ERR_NOTFOUND)
            rc = err_set(err, ERR_INTERNAL, "schedule %.*s has no alarm",
                         SLICE_FMT(s.set.name));
    }
    if (rc == ERR_OK)
        rc = judge_live(e, &s, id, err);
    schedule_release(&s);
    store_forget_reads(e->store);
    return rc;
}

#define CHECK_ROWS 1024

enum err schedules_check(struct engine *e, struct errbuf *err)
{
    struct buf ids = {0};
    struct key from, to;
    size_t rows = CHECK_ROWS;
    enum err rc = ERR_OK;
    key_after(&to, key_prefix_named(&from, NAMED_SCHEDULE_STATE));
    while (rc == ERR_OK && rows == CHECK_ROWS) {
        struct id id;
        buf_clear(&ids);
        rc = store_scan(e->store, NULL, FAMILY_NAMED, key_slice(&from),
                        key_slice(&to), CHECK_ROWS, note_id, &ids, err);
        rows = ids.len / ID_LEN;
        for (size_t i = 0; rc == ERR_OK && i < rows; i++) {
            memcpy(id.bytes, ids.data + i * ID_LEN, ID_LEN);
            rc = judge_one(e, &id, err);
        }
        struct key last;
        if (rc == ERR_OK && rows > 0)
            key_next(&from,
                     key_named(&last, NAMED_SCHEDULE_STATE, id_slice(&id)));
    }
    buf_release(&ids);
    return rc;
}
