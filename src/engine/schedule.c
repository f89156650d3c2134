/* Schedules: their rows, and what people do to them.
 *
 * SET, PAUSE and RESUME read the rows, change them and move the alarm, in one
 * entry. What is not about timing leaves the next occurrence alone, so that a
 * deployment may SET all its schedules at every start.
 */
#include "engine/schedule_impl.h"

const char *const overlap_list[] = {
    "skip",  "buffer-one", "buffer-all", "cancel-other", "terminate-other",
    "allow", "queue",      "parallel",   "forbid",       "replace",
    NULL};
const char *const misfire_list[] = {"once", "skip", "all", NULL};
const char *const gap_list[] = {"pattern", "run", "skip", NULL};
const char *const fold_list[] = {"pattern", "first", "last", "both", NULL};

enum schedule_overlap schedule_overlap_of(uint32_t word)
{
    static const enum schedule_overlap of[] = {
        OVERLAP_SKIP,       OVERLAP_BUFFER_ONE, OVERLAP_BUFFER_ALL,
        OVERLAP_CANCEL,     OVERLAP_TERMINATE,  OVERLAP_ALLOW,
        OVERLAP_BUFFER_ALL, OVERLAP_ALLOW,      OVERLAP_SKIP,
        OVERLAP_TERMINATE,
    };
    ASSERT(word < ARRAY_LEN(of));
    return of[word];
}

/* --- lists of strings ---------------------------------------------------- */

uint32_t strings_decode(struct slice bytes, struct slice *out, uint32_t max)
{
    struct record_reader in = record_reader(bytes);
    uint32_t n = 0;
    while (n < max && !in.bad && in.at < in.end) {
        out[n] = record_get_bytes(&in);
        if (!in.bad)
            n++;
    }
    return n;
}

void strings_encode(struct buf *out, const struct slice *in, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        size_t len = record_size_bytes(in[i]);
        record_put_bytes(buf_room(out, len), in[i]);
        out->len += len;
    }
}

/* --- rows ---------------------------------------------------------------- */

struct slice schedule_key(struct key *k, enum named_kind kind,
                          const struct id *id)
{
    return key_named(k, (uint8_t)kind, id_slice(id));
}

struct slice schedule_name_key(struct key *k, struct slice name)
{
    return key_named(k, NAMED_SCHEDULE, name);
}

void schedule_release(struct schedule *s)
{
    buf_release(&s->set_row);
    buf_release(&s->st_row);
    buf_release(&s->buffered);
    buf_release(&s->outcomes);
    buf_release(&s->error);
    buf_release(&s->displaced);
}

static enum err damaged(struct errbuf *err)
{
    return err_set(err, ERR_CORRUPT, "family named: bad row of a schedule");
}

static void timing_of(const struct rec_schedule *r, struct schedule_timing *t)
{
    *t = (struct schedule_timing){.when = (enum schedule_when)r->when,
                                  .every_ms = r->every_ms,
                                  .at_ms = r->at_ms,
                                  .zone = r->zone,
                                  .gap = r->gap,
                                  .fold = r->fold,
                                  .start_ms = r->start_ms,
                                  .end_ms = r->end_ms,
                                  .spread_ms = r->spread_ms};
    t->patterns_n =
        strings_decode(r->patterns, t->patterns, SCHEDULE_PATTERNS_MAX);
    t->excludes_n =
        strings_decode(r->excludes, t->excludes, SCHEDULE_PATTERNS_MAX);
}

enum err schedule_load_state(struct engine *e, struct gather *g,
                             const struct id *id, struct schedule *s,
                             struct errbuf *err)
{
    struct key k;
    struct slice row;
    s->id = *id;
    enum err rc =
        store_get(e->store, g, FAMILY_NAMED,
                  schedule_key(&k, NAMED_SCHEDULE_STATE, id), &row, err);
    if (rc != ERR_OK)
        return rc;
    buf_clear(&s->st_row);
    buf_add_slice(&s->st_row, row);
    if (!rec_schedule_state_decode(&s->st, buf_slice(&s->st_row)))
        return damaged(err);
    return ERR_OK;
}

enum err schedule_load(struct engine *e, struct gather *g, const struct id *id,
                       struct schedule *s, struct errbuf *err)
{
    struct key k;
    struct slice row;
    /* Ask for both, so that one fetch brings both. */
    enum err state = schedule_load_state(e, g, id, s, err);
    enum err rc =
        store_get(e->store, g, FAMILY_NAMED,
                  schedule_key(&k, NAMED_SCHEDULE_SET, id), &row, err);
    if (state != ERR_OK)
        return state;
    if (rc != ERR_OK)
        return rc;
    buf_clear(&s->set_row);
    buf_add_slice(&s->set_row, row);
    if (!rec_schedule_decode(&s->set, buf_slice(&s->set_row)))
        return damaged(err);
    timing_of(&s->set, &s->timing);
    return ERR_OK;
}

bool schedule_of_rows(struct schedule *s, struct slice set, struct slice st)
{
    if (!rec_schedule_decode(&s->set, set) ||
        !rec_schedule_state_decode(&s->st, st))
        return false;
    timing_of(&s->set, &s->timing);
    return true;
}

void schedule_store_state(struct engine *e, const struct schedule *s)
{
    struct key k;
    rec_schedule_state_encode(
        &s->st, store_put(e->store, FAMILY_NAMED,
                          schedule_key(&k, NAMED_SCHEDULE_STATE, &s->id),
                          rec_schedule_state_size(&s->st), false));
}

void schedule_store_rest(struct engine *e, const struct schedule *s)
{
    struct key k;
    if (s->st.paused == PAUSED_DELETED && s->st.live == 0)
        store_del(e->store, FAMILY_NAMED,
                  schedule_key(&k, NAMED_SCHEDULE_STATE, &s->id));
    else
        schedule_store_state(e, s);
}

void schedule_report(struct engine *e, const struct schedule *s,
                     enum event_type type, uint64_t n, struct slice name,
                     struct now now)
{
    struct event ev = {.type = type,
                       .at_ms = now.wall_ms,
                       .n = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n,
                       .queue = s->set.queue,
                       .text = name};
    report_event(e, &ev);
}

/* --- the alarm ----------------------------------------------------------- */

void schedule_due(struct engine *e, const struct id *id, enum due_kind kind,
                  uint64_t at_ms)
{
    struct due d = {.at_ms = at_ms, .kind = kind, .id = *id};
    due_put(e, &d, false);
}

void schedule_alarm(struct engine *e, const struct schedule *s)
{
    ASSERT(s->st.next_ms > 0 && s->st.due_ms >= s->st.next_ms);
    schedule_due(e, &s->id, DUE_SCHEDULE, s->st.due_ms);
}

void schedule_silence(struct engine *e, const struct schedule *s)
{
    if (s->st.next_ms > 0)
        due_del(e, s->st.due_ms, DUE_SCHEDULE, &s->id);
}

bool schedule_spent(const struct schedule *s)
{
    return s->set.max > 0 &&
           s->st.fired + times_count(s->st.buffered) >= s->set.max;
}

void schedule_move(struct engine *e, struct schedule *s, const struct plan *p,
                   int64_t after_ms)
{
    struct rec_schedule_state *st = &s->st;
    st->from_ms = after_ms < 0 ? 0 : (uint64_t)after_ms;
    st->displaced = SLICE_EMPTY;
    if (st->paused != PAUSED_NOT || schedule_spent(s) ||
        !plan_next(p, after_ms, &st->next_ms)) {
        st->next_ms = st->due_ms = 0;
        return;
    }
    st->due_ms = plan_due(p, st->next_ms);
    schedule_alarm(e, s);
}

/* --- SET ----------------------------------------------------------------- */

static enum err examine(const struct engine *e, const struct schedule_params *p,
                        struct now now, struct errbuf *err)
{
    static const enum job_option refused[] = {
        JOPT_AT, JOPT_AFTER, JOPT_ON, JOPT_ELSE, JOPT_BATCH, JOPT_TRACE};
    const struct job_options *o = p->options;
    enum err rc = name_check(p->name, "schedule", err);
    if (rc == ERR_OK)
        rc = name_check(p->queue, "queue", err);
    if (rc == ERR_OK && option_given(o, JOPT_HANDLER))
        rc = name_check(o->handler, "handler", err);
    if (rc == ERR_OK && o->owner.len > 0)
        rc = name_check(o->owner, "owner", err);
    for (uint32_t i = 0; rc == ERR_OK && i < o->limits_n; i++)
        rc = limit_name_check(o->limits[i], err);
    for (size_t i = 0; rc == ERR_OK && i < ARRAY_LEN(refused); i++)
        if (option_given(o, refused[i]))
            rc = err_set(err, ERR_SYNTAX, "a schedule's jobs have no %s",
                         job_option_name(refused[i]));
    if (rc == ERR_OK)
        rc = options_check(o, o->given, now, err);
    if (rc == ERR_OK && p->payload.len > e->config.payload_max)
        rc = err_set(err, ERR_LIMIT,
                     "payload has %zu bytes; at most %llu are allowed",
                     p->payload.len, (unsigned long long)e->config.payload_max);
    if (rc == ERR_OK && option_given(o, JOPT_LEASE) &&
        o->lease_ms > e->config.lease_ms_max)
        rc = err_set(err, ERR_LIMIT,
                     "LEASE %llu ms is above the limit of %llu ms",
                     (unsigned long long)o->lease_ms,
                     (unsigned long long)e->config.lease_ms_max);
    return rc;
}

/* What moves the next occurrence. */
static bool same_timing(const struct rec_schedule *a,
                        const struct rec_schedule *b)
{
    return a->when == b->when && slice_eq(a->patterns, b->patterns) &&
           slice_eq(a->excludes, b->excludes) && a->every_ms == b->every_ms &&
           a->at_ms == b->at_ms && slice_eq(a->zone, b->zone) &&
           a->gap == b->gap && a->fold == b->fold &&
           a->start_ms == b->start_ms && a->spread_ms == b->spread_ms;
}

/* The settings' record; its slices point into the params and into `bytes`. */
static struct rec_schedule settings(const struct schedule_params *p,
                                    struct buf *bytes, struct now now)
{
    const struct schedule_timing *t = &p->timing;
    struct rec_schedule r = {.created_ms = now.wall_ms,
                             .changed_ms = now.wall_ms,
                             .when = (uint8_t)t->when,
                             .every_ms = t->every_ms,
                             .at_ms = t->at_ms,
                             .zone = t->zone,
                             .gap = (uint8_t)t->gap,
                             .fold = (uint8_t)t->fold,
                             .start_ms = t->start_ms,
                             .end_ms = t->end_ms,
                             .spread_ms = t->spread_ms,
                             .max = p->max,
                             .overlap = (uint8_t)p->overlap,
                             .misfire = (uint8_t)p->misfire,
                             .grace_ms = p->grace_ms,
                             .window_ms = p->window_ms,
                             .pause_after = p->pause_after,
                             .name = p->name,
                             .queue = p->queue,
                             .payload = p->payload};
    strings_encode(bytes, t->patterns, t->patterns_n);
    size_t excludes_at = bytes->len;
    strings_encode(bytes, t->excludes, t->excludes_n);
    size_t options_at = bytes->len, options_len = options_size(p->options);
    options_encode(p->options, buf_room(bytes, options_len));
    bytes->len += options_len;
    r.patterns = slice_of(bytes->data, excludes_at);
    r.excludes = slice_of(bytes->data + excludes_at, options_at - excludes_at);
    r.options = slice_of(bytes->data + options_at, options_len);
    return r;
}

static void put_settings(struct engine *e, const struct id *id,
                         const struct rec_schedule *r, bool existed)
{
    struct key k;
    struct rec_schedule_name n = {*id};
    rec_schedule_encode(r, store_put(e->store, FAMILY_NAMED,
                                     schedule_key(&k, NAMED_SCHEDULE_SET, id),
                                     rec_schedule_size(r), false));
    if (existed)
        return;
    rec_schedule_name_encode(&n, store_put(e->store, FAMILY_NAMED,
                                           schedule_name_key(&k, r->name),
                                           rec_schedule_name_size(&n), false));
}

/* Does the timing have a time at all? A date in the past is a misfire. */
static enum err will_fire(const struct plan *p, int64_t after_ms,
                          struct errbuf *err)
{
    uint64_t next;
    if (plan_next(p, after_ms, &next))
        return ERR_OK;
    return err_set(err, ERR_SYNTAX,
                   "it never fires: no time of it lies between now (or START) "
                   "and END");
}

enum err engine_schedule_set(struct engine *e, struct gather *g,
                             const struct schedule_params *p, struct now now,
                             uint64_t *next_ms, struct errbuf *err)
{
    struct schedule s = {0};
    struct plan plan = {0};
    struct buf bytes = {0};
    struct id id = due_name_id(p->name);
    enum err rc = examine(e, p, now, err);
    if (rc == ERR_OK)
        rc = plan_make(&plan, &p->timing, p->name, err);
    if (rc != ERR_OK)
        return rc;
    rc = schedule_load(e, g, &id, &s, err);
    bool existed = rc == ERR_OK;
    if (rc != ERR_OK && rc != ERR_NOTFOUND)
        goto out;
    rc = ERR_OK;
    if (!existed) /* jobs of a deleted one of this name may be live */
        s.st = (struct rec_schedule_state){.live = s.st.live};
    struct rec_schedule r = settings(p, &bytes, now);
    bool move = !existed || !same_timing(&r, &s.set);
    bool wake = !move && s.st.next_ms == 0;
    int64_t after =
        p->timing.when == WHEN_AT && move ? -1 : (int64_t)now.wall_ms;
    if (wake && after < (int64_t)s.st.high_ms)
        after = (int64_t)s.st.high_ms;
    if (move)
        rc = will_fire(&plan, after, err);
    if (rc != ERR_OK)
        goto out;
    if (existed)
        r.created_ms = s.set.created_ms;
    put_settings(e, &id, &r, existed);
    s.set = r;
    s.st.displaced = SLICE_EMPTY; /* the rule may be another one */
    s.st.pause_after = r.pause_after;
    if (!move && s.st.next_ms > 0 &&
        ((r.end_ms > 0 && s.st.next_ms > r.end_ms) || schedule_spent(&s))) {
        schedule_silence(e, &s);
        s.st.next_ms = s.st.due_ms = 0;
    } else if (move || wake) {
        schedule_silence(e, &s);
        schedule_move(e, &s, &plan, after);
    }
    schedule_store_state(e, &s);
    *next_ms = s.st.next_ms;
out:
    plan_release(&plan);
    schedule_release(&s);
    buf_release(&bytes);
    return rc;
}

/* --- DEL, PAUSE, RESUME -------------------------------------------------- */

static enum err not_found(struct errbuf *err)
{
    return err_set(err, ERR_NOTFOUND, "no such schedule");
}

enum err engine_schedule_del(struct engine *e, struct gather *g,
                             struct slice name, struct errbuf *err)
{
    struct schedule s = {0};
    struct id id = due_name_id(name);
    struct key k;
    enum err rc = schedule_load_state(e, g, &id, &s, err);
    if (rc == ERR_OK && s.st.paused == PAUSED_DELETED)
        rc = ERR_NOTFOUND;
    if (rc == ERR_OK) {
        schedule_silence(e, &s);
        store_del(e->store, FAMILY_NAMED, schedule_name_key(&k, name));
        store_del(e->store, FAMILY_NAMED,
                  schedule_key(&k, NAMED_SCHEDULE_SET, &id));
        store_del(e->store, FAMILY_NAMED,
                  schedule_key(&k, NAMED_SCHEDULE_FILL, &id));
        s.st = (struct rec_schedule_state){.live = s.st.live,
                                           .paused = PAUSED_DELETED};
        schedule_store_rest(e, &s);
    }
    schedule_release(&s);
    return rc == ERR_NOTFOUND ? not_found(err) : rc;
}

static void pause(struct engine *e, struct schedule *s, struct now now)
{
    schedule_silence(e, s);
    s->st.paused = PAUSED_BY_COMMAND;
    s->st.next_ms = s->st.due_ms = 0;
    schedule_store_state(e, s);
    schedule_report(e, s, EVENT_SCHEDULE_PAUSED, 0, s->set.name, now);
}

static void resume(struct engine *e, struct schedule *s, const struct plan *p,
                   struct now now)
{
    /* From now, even if later ones were decided: the clock may have been far
     * ahead for a while. Occurrence keys keep what was from being repeated. An
     * AT that is not behind the mark has never fired. */
    int64_t after = (int64_t)now.wall_ms;
    s->st.paused = PAUSED_NOT;
    s->st.failures_in_row = 0;
    if (s->set.when == WHEN_AT && s->st.high_ms < s->set.at_ms)
        after = -1;
    schedule_move(e, s, p, after);
    if (times_count(s->st.buffered) > 0 && s->st.live == 0)
        schedule_due(e, &s->id, DUE_SCHEDULE_FREE, now.wall_ms);
    schedule_store_state(e, s);
}

enum err engine_schedule_pause(struct engine *e, struct gather *g,
                               struct slice name, bool paused, struct now now,
                               uint64_t *next_ms, struct errbuf *err)
{
    struct schedule s = {0};
    struct plan p = {0};
    struct id id = due_name_id(name);
    enum err rc = schedule_load(e, g, &id, &s, err);
    if (rc == ERR_NOTFOUND)
        rc = not_found(err);
    if (rc == ERR_OK && !paused)
        rc = plan_make(&p, &s.timing, name, err);
    if (rc == ERR_OK && paused != (s.st.paused != PAUSED_NOT)) {
        if (paused)
            pause(e, &s, now);
        else
            resume(e, &s, &p, now);
    }
    *next_ms = s.st.next_ms;
    plan_release(&p);
    schedule_release(&s);
    return rc;
}
