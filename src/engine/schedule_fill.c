/* Jobs out of turn: RUN makes one now, BACKFILL those of the past.
 *
 * A backfill is a row (from, to, at) and an alarm. Each alarm makes the jobs of
 * a few occurrences, moves `at` in the same entry and sets the next alarm, so
 * that it goes on where it was after a crash. Occurrences that are known by
 * their key have had their job.
 */
#include "engine/schedule_impl.h"

#define FILL_SLICE 50

enum err engine_schedule_run(struct engine *e, struct gather *g,
                             struct slice name, struct now now, struct id *job,
                             struct errbuf *err)
{
    struct schedule s = {0};
    struct id id = due_name_id(name);
    bool made = false;
    enum err rc = schedule_load(e, g, &id, &s, err);
    if (rc == ERR_NOTFOUND)
        rc = err_set(err, rc, "no such schedule");
    if (rc == ERR_OK)
        rc = schedule_make_job(e, g, &s, now.wall_ms, now, &made, err);
    if (rc == ERR_OK) {
        if (made) {
            s.st.fired--; /* MAX counts what the clock made */
            s.st.manual++;
        }
        *job = s.st.last_job;
        if (!made)
            rc = err_set(err, ERR_STATE, "no job: %.*s", SLICE_FMT(s.st.error));
        schedule_store_state(e, &s);
    }
    schedule_release(&s);
    return rc;
}

/* --- backfill ------------------------------------------------------------ */

static enum err load_fill(struct engine *e, struct gather *g,
                          const struct id *id, struct rec_schedule_fill *f,
                          struct errbuf *err)
{
    struct key k;
    struct slice row;
    enum err rc =
        store_get(e->store, g, FAMILY_NAMED,
                  schedule_key(&k, NAMED_SCHEDULE_FILL, id), &row, err);
    if (rc == ERR_OK && !rec_schedule_fill_decode(f, row))
        return err_set(err, ERR_CORRUPT, "family named: bad row of a backfill");
    return rc;
}

static void store_fill(struct engine *e, const struct id *id,
                       const struct rec_schedule_fill *f)
{
    struct key k;
    rec_schedule_fill_encode(
        f, store_put(e->store, FAMILY_NAMED,
                     schedule_key(&k, NAMED_SCHEDULE_FILL, id),
                     rec_schedule_fill_size(f), false));
}

static void drop_fill(struct engine *e, const struct id *id)
{
    struct key k;
    store_del(e->store, FAMILY_NAMED,
              schedule_key(&k, NAMED_SCHEDULE_FILL, id));
}

static enum err find(struct engine *e, struct gather *g, struct slice name,
                     struct id *id, struct errbuf *err)
{
    struct schedule s = {0};
    *id = due_name_id(name);
    enum err rc = schedule_load(e, g, id, &s, err);
    schedule_release(&s);
    return rc == ERR_NOTFOUND ? err_set(err, rc, "no such schedule") : rc;
}

enum err engine_schedule_backfill(struct engine *e, struct gather *g,
                                  struct slice name, uint64_t from_ms,
                                  uint64_t to_ms, struct now now,
                                  struct errbuf *err)
{
    struct rec_schedule_fill f;
    struct id id;
    if (from_ms > to_ms)
        return err_set(err, ERR_SYNTAX, "FROM is after TO");
    if (to_ms > now.wall_ms)
        return err_set(err, ERR_SYNTAX,
                       "TO is in the future: the schedule will fire then");
    enum err rc = find(e, g, name, &id, err);
    if (rc != ERR_OK)
        return rc;
    rc = load_fill(e, g, &id, &f, err);
    if (rc == ERR_OK)
        return err_set(err, ERR_STATE, "a backfill is under way");
    if (rc != ERR_NOTFOUND)
        return rc;
    f = (struct rec_schedule_fill){
        .from_ms = from_ms, .to_ms = to_ms, .at_ms = from_ms};
    store_fill(e, &id, &f);
    schedule_due(e, &id, DUE_SCHEDULE_FILL, now.wall_ms);
    return ERR_OK;
}

/* Its alarm finds nothing to do. */
enum err engine_schedule_fill_stop(struct engine *e, struct gather *g,
                                   struct slice name, struct errbuf *err)
{
    struct id id;
    enum err rc = find(e, g, name, &id, err);
    if (rc == ERR_OK)
        drop_fill(e, &id);
    return rc;
}

/* One occurrence of a backfill; `*rc` ERR_PENDING: nothing happened. */
static bool fill_one(struct engine *e, struct gather *g, struct schedule *s,
                     struct rec_schedule_fill *f, uint64_t nominal_ms,
                     struct now now, enum err *rc, struct errbuf *err)
{
    bool exists, made;
    *rc = occurrence_exists(e, g, s, nominal_ms, now, &exists, err);
    if (*rc != ERR_OK || exists)
        return *rc == ERR_OK;
    *rc = schedule_make_job(e, g, s, nominal_ms, now, &made, err);
    if (*rc != ERR_OK)
        return false;
    if (made) {
        s->st.fired--;
        s->st.manual++;
        f->made++;
        occurrence_put(e, s, nominal_ms, now);
        /* Its alarm may still come, if it has a spread, and must look. */
        if (s->st.high_ms < nominal_ms)
            s->st.high_ms = nominal_ms;
        /* The next one may end a job of ours to make room, which is noted in
         * our row: it must hold this one. */
        schedule_store_state(e, s);
    }
    return true;
}

/* A slice; true if it got to the end. */
static bool fill(struct engine *e, struct gather *g, struct schedule *s,
                 const struct plan *p, struct rec_schedule_fill *f,
                 struct now now, enum err *rc, struct errbuf *err)
{
    for (int i = 0; i < FILL_SLICE && (i == 0 || !slice_over(e)); i++) {
        uint64_t nominal;
        if (!plan_next(p, (int64_t)f->at_ms - 1, &nominal) ||
            nominal > f->to_ms)
            return true;
        if (!plan_excluded(p, nominal) &&
            !fill_one(e, g, s, f, nominal, now, rc, err))
            return false;
        f->at_ms = nominal + 1;
    }
    return false;
}

static enum err fill_slice(struct engine *e, struct gather *g,
                           struct schedule *s, const struct plan *p,
                           struct rec_schedule_fill *f, uint64_t at_ms,
                           struct now now, struct errbuf *err)
{
    uint64_t before = f->at_ms;
    enum err step = ERR_OK;
    bool done = fill(e, g, s, p, f, now, &step, err);
    if (step == ERR_PENDING && f->at_ms == before)
        return step;
    /* What could be made is made; the rest is for the next slice. */
    if (step == ERR_PENDING)
        step = ERR_OK;
    if (done || step != ERR_OK) { /* damaged rows: not again and again */
        drop_fill(e, &s->id);
    } else {
        store_fill(e, &s->id, f);
        schedule_due(e, &s->id, DUE_SCHEDULE_FILL,
                     (at_ms > now.wall_ms ? at_ms : now.wall_ms) + 1);
    }
    schedule_store_state(e, s);
    return step;
}

enum err schedule_fill(struct engine *e, struct gather *g, uint64_t at_ms,
                       const struct id *id, struct now now, struct errbuf *err)
{
    struct schedule s = {0};
    struct plan p = {0};
    struct rec_schedule_fill f;
    enum err rc = schedule_load(e, g, id, &s, err);
    if (rc == ERR_OK)
        rc = load_fill(e, g, id, &f, err);
    if (rc == ERR_OK) {
        rc = plan_make(&p, &s.timing, s.set.name, err);
        if (rc != ERR_OK) /* its zone cannot be read: it may come back */
            schedule_due(e, id, DUE_SCHEDULE_FILL,
                         now.wall_ms + SCHEDULE_AGAIN_MS);
        else
            rc = fill_slice(e, g, &s, &p, &f, at_ms, now, err);
    }
    plan_release(&p);
    schedule_release(&s);
    return rc == ERR_NOTFOUND ? ERR_OK : rc;
}
