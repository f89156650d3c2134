/* Adding jobs.
 *
 * The way of a plain job: names are found, the record is made and written
 * (`jobs`), it goes into its lane (`ready`) and one waiter is woken. Options
 * bring more rows: a delay (`due` instead of `ready`), a name or a unique key
 * (`keys`), a long payload (`bodies`).
 *
 * What can refuse is examined first; nothing has been changed then. Of several
 * payloads (ADDM) what refuses one refuses all; those of a call in parts are
 * examined and admitted with the first part.
 */
#include "engine/core.h"
#include "store/generation.h"

/* Options that need a `more` record. */
#define MORE_OPTIONS                                                        \
    (BIT(BACKOFF) | BIT(BASE) | BIT(FACTOR) | BIT(CAP) | BIT(JITTER) |      \
     BIT(TIMEOUT) | BIT(EXPECT) | BIT(SLA) | BIT(EXPIRES) | BIT(DEADLINE) | \
     BIT(UNIQUE) | BIT(DEBOUNCE) | BIT(LIMIT) | BIT(COST) | BIT(OWNER) |    \
     BIT(BATCH) | BIT(TAG) | BIT(TRACE) | BIT(META))
#define NAME_OPTIONS (BIT(LIMIT) | BIT(COST) | BIT(OWNER))
#define BIT(NAME) ((uint64_t)1 << JOPT_##NAME)

/* Of a job's rows beside its payload and options: more than there is. */
#define ROWS_BYTES 1024

/* All that is decided before anything is written. */
struct draft {
    /* NULL: draft_names() makes it, or (owner) there is none. */
    struct queue *queue;
    struct handler *handler;
    struct owner *owner;
    struct job_names limits; /* as far as they are in memory */
    const struct job_options *o;
    struct rec_job r;
    struct rec_more m;
    struct draft_bytes b;
    bool delayed;
    uint64_t for_until_ms;
    /* CONFLICT replace: the waiting job that is changed */
    struct job *replaced;
};

/* The engine's buffers go from one draft to the next. */
static void draft_begin(struct engine *e, struct draft *d)
{
    d->b = e->draft;
    e->draft = (struct draft_bytes){0};
    buf_clear(&d->b.more);
    buf_clear(&d->b.limits);
    buf_clear(&d->b.tags);
}

static void draft_end(struct engine *e, struct draft *d)
{
    draft_free(e);
    e->draft = d->b;
}

void draft_free(struct engine *e)
{
    buf_release(&e->draft.more);
    buf_release(&e->draft.limits);
    buf_release(&e->draft.tags);
}

/* A list of words as bytes: length (one byte), word, ... */
static void list_put(struct buf *b, struct slice word)
{
    ASSERT(word.len <= 255);
    buf_add_char(b, (char)(unsigned char)word.len);
    buf_add_slice(b, word);
}

static void draft_retry(struct engine *e, struct draft *d)
{
    const struct job_options *o = d->o;
    const struct engine_config *c = &e->config;
    if ((o->given & (BIT(BACKOFF) | BIT(BASE) | BIT(FACTOR) | BIT(CAP) |
                     BIT(JITTER))) == 0)
        return;
    double factor = option_given(o, JOPT_FACTOR) ? o->factor : c->factor;
    d->m.retry_given = 1;
    d->m.backoff =
        (uint8_t)(option_given(o, JOPT_BACKOFF) ? o->backoff : c->backoff);
    d->m.base_ms = option_given(o, JOPT_BASE) ? o->base_ms : c->base_ms;
    d->m.cap_ms = option_given(o, JOPT_CAP)  ? o->cap_ms
                  : d->m.base_ms > c->cap_ms ? d->m.base_ms
                                             : c->cap_ms;
    d->m.jitter = option_given(o, JOPT_JITTER) ? o->jitter : c->jitter;
    memcpy(&d->m.factor, &factor, sizeof(factor));
}

static void draft_unique(struct draft *d, struct now now)
{
    const struct job_options *o = d->o;
    struct rec_more *m = &d->m;
    if (!option_given(o, JOPT_UNIQUE))
        return;
    m->unique = o->unique;
    m->unique_scope = (uint8_t)o->scope;
    m->unique_while = (uint8_t)o->unique_while;
    /* A debounced job that runs must not swallow what comes then. */
    if (option_given(o, JOPT_DEBOUNCE) && !option_given(o, JOPT_WHILE))
        m->unique_while = WHILE_WAITING;
    if (option_given(o, JOPT_FOR)) {
        m->unique_for_ms = o->for_ms;
        d->for_until_ms = now.wall_ms + o->for_ms;
    } else {
        d->r.flags |= JOBF_UNIQUE;
    }
}

static void draft_more(struct engine *e, struct draft *d,
                       const struct add_params *p, struct now now)
{
    const struct job_options *o = d->o;
    struct rec_more *m = &d->m;
    draft_retry(e, d);
    m->name = p->name;
    m->timeout_ms = o->timeout_ms;
    m->expect_ms = o->expect_ms;
    m->sla = (uint8_t)o->sla;
    m->cost = o->cost;
    m->trace = o->trace;
    m->meta = o->meta;
    m->batch = o->batch;
    if (p->name.len > 0)
        d->r.flags |= JOBF_NAMED;
    if (p->schedule.len > 0) {
        m->schedule = p->schedule;
        m->nominal_ms = p->nominal_ms;
        m->occurrence = p->occurrence;
        d->r.flags |= JOBF_SCHEDULE;
    }
    if (d->owner != NULL) {
        m->owner = d->owner->set.id;
        d->r.flags |= JOBF_OWNED;
    }
    if (option_given(o, JOPT_EXPIRES)) {
        m->expires_ms = o->expires_ms;
        m->expires_at_ms = now.wall_ms + o->expires_ms;
        d->r.flags |= JOBF_EXPIRES;
    }
    if (option_given(o, JOPT_DEADLINE)) {
        m->deadline_ms = o->deadline_ms;
        m->deadline_at_ms = now.wall_ms + o->deadline_ms;
        d->r.flags |= JOBF_DEADLINE;
    }
    draft_unique(d, now);
    for (uint32_t i = 0; i < o->limits_n; i++)
        list_put(&d->b.limits, o->limits[i]);
    if (o->limits_n > 0) {
        m->limits = buf_slice(&d->b.limits);
        d->r.flags |= JOBF_LIMITS;
    }
    for (uint32_t i = 0; i < o->tags_n; i++) {
        list_put(&d->b.tags, o->tags[i].key);
        list_put(&d->b.tags, o->tags[i].value);
    }
    m->tags = buf_slice(&d->b.tags);
    if ((o->given & MORE_OPTIONS & ~NAME_OPTIONS) == 0 && p->name.len == 0 &&
        p->schedule.len == 0 && (m->owner > 0 || m->limits.len > 0))
        job_more_encode_names(m->owner, m->limits, m->cost, &d->b.more);
    else
        job_more_encode(m, &d->b.more);
    d->r.more = buf_slice(&d->b.more);
}

/* The record but for payload and place. */
static void draft_make(struct engine *e, struct draft *d,
                       const struct add_params *p, struct now now)
{
    const struct job_options *o = d->o;
    struct rec_job *r = &d->r;
    uint64_t at = now.wall_ms;
    if (option_given(o, JOPT_DEBOUNCE))
        at += o->debounce_ms;
    else if (option_given(o, JOPT_DELAY))
        at += o->delay_ms;
    else if (option_given(o, JOPT_AT))
        at = o->at_ms;
    d->delayed = at > now.wall_ms;
    r->state = d->delayed ? JOB_SCHEDULED : JOB_READY;
    r->since_ms = d->delayed ? at : arrival_ms(e, now);
    r->queue = d->queue->set.id;
    r->handler = d->handler->set.id;
    r->priority =
        option_given(o, JOPT_PRIORITY) ? o->priority : PRIORITY_DEFAULT;
    r->retries = option_given(o, JOPT_RETRIES) ? o->retries : e->config.retries;
    r->lease_ms = option_given(o, JOPT_LEASE) ? o->lease_ms : 0;
    r->keep = option_given(o, JOPT_KEEP) ? o->keep_ms + 1 : 0;
    if ((o->given & MORE_OPTIONS) != 0 || p->name.len > 0 ||
        p->schedule.len > 0)
        draft_more(e, d, p, now);
}

/* --- examining ----------------------------------------------------------- */

/* What is known by its name has a good one. */
static enum err examine_names(struct engine *e, struct draft *d,
                              struct errbuf *err)
{
    const struct job_options *o = d->o;
    enum err rc = ERR_OK;
    if (o->owner.len > 0 && (d->owner = owner_find(e, o->owner)) == NULL)
        rc = name_check(o->owner, "owner", err);
    if (d->owner != NULL)
        lane_expect(d->owner->lane);
    if (rc == ERR_OK && o->limits_n > 0 &&
        !limits_known(e, o->limits, o->limits_n, &d->limits))
        for (uint32_t i = 0; rc == ERR_OK && i < o->limits_n; i++)
            rc = limit_name_check(o->limits[i], err);
    return rc;
}

static enum err examine_options(struct engine *e, struct draft *d,
                                const struct add_params *p, struct now now,
                                struct errbuf *err)
{
    const struct job_options *o = d->o;
    /* SET has examined a schedule's, and an earlier version's was less strict:
     * what runs since then goes on. */
    uint64_t said = p->schedule.len > 0 ? 0 : p->options->given;
    enum err rc = o->given == 0 ? ERR_OK : options_check(o, said, now, err);
    if (rc == ERR_OK)
        rc = examine_names(e, d, err);
    if (rc == ERR_OK && option_given(o, JOPT_LEASE) &&
        o->lease_ms > e->config.lease_ms_max)
        rc = err_set(err, ERR_LIMIT,
                     "LEASE %llu ms is above the limit of "
                     "%llu ms",
                     (unsigned long long)o->lease_ms,
                     (unsigned long long)e->config.lease_ms_max);
    return rc;
}

/* What they write at most, with what the handler says about them. The options
 * of a single one need not be looked at: they are less than STEP_BYTES. */
static size_t bytes_of(const struct add_params *p, const struct job_options *o)
{
    size_t bytes = STEP_BYTES;
    if (p->n > 1)
        bytes += p->n * (options_size(o) + ROWS_BYTES);
    for (uint32_t i = 0; i < p->n; i++)
        bytes += p->payloads[i].len;
    return bytes;
}

static enum err examine_bytes(const struct engine *e,
                              const struct add_params *p,
                              const struct job_options *o, struct errbuf *err)
{
    size_t bytes = bytes_of(p, o);
    enum err rc = entry_has_room(e, bytes, err);
    if (rc == ERR_OK || p->n == 1)
        return rc;
    return err_set(err, ERR_LIMIT,
                   "%u jobs of %zu bytes at once; an entry of the log has at "
                   "most %zu",
                   (unsigned)p->n, bytes, GENERATION_ENTRY_MAX);
}

/* What must be good before the first part, so that none is refused later. */
static uint32_t all_of(const struct add_params *p)
{
    return p->before > 0 ? 0 : p->n + p->behind;
}

static enum err examine(struct engine *e, const struct add_params *p,
                        struct errbuf *err)
{
    enum err rc = name_check(p->queue, "queue", err);
    if (rc == ERR_OK && option_given(p->options, JOPT_HANDLER))
        rc = name_check(p->options->handler, "handler", err);
    if (rc == ERR_OK && p->name.len > 0)
        rc = alias_check(p->name, err);
    if (rc == ERR_OK && p->n > 1 && p->name.len > 0)
        rc = err_set(err, ERR_SYNTAX, "ID names one job, not %u",
                     (unsigned)p->n);
    if (rc == ERR_OK && p->idempotency.len > UNIQUE_MAX)
        rc = err_set(err, ERR_LIMIT,
                     "IDEMPOTENCY has %zu bytes; at most %d are allowed",
                     p->idempotency.len, UNIQUE_MAX);
    for (uint32_t i = 0; rc == ERR_OK && i < all_of(p); i++)
        if (p->payloads[i].len > e->config.payload_max)
            rc = err_set(err, ERR_LIMIT,
                         "payload has %zu bytes; at most %llu are allowed",
                         p->payloads[i].len,
                         (unsigned long long)e->config.payload_max);
    return rc;
}

/* --- conflicts ----------------------------------------------------------- */

static uint32_t how_to_settle(const struct job_options *o)
{
    return option_given(o, JOPT_CONFLICT)   ? o->conflict
           : option_given(o, JOPT_DEBOUNCE) ? CONFLICT_REPLACE
                                            : CONFLICT_RETURN;
}

/* An older job's, whatever has become of it. */
static enum err state_now(struct engine *e, struct gather *g,
                          struct add_result *result, struct errbuf *err)
{
    enum err rc = job_state_of(e, g, &result->id, &result->state, err);
    if (rc != ERR_NOTFOUND)
        return rc;
    result->state = JOB_COMPLETED; /* and forgotten */
    return ERR_OK;
}

/* Somebody holds the unique key. ERR_OK: the reply is theirs (*theirs), or
 * their job is to be replaced (d->replaced). */
static enum err conflict(struct engine *e, struct gather *g, struct draft *d,
                         const struct id *holder, bool *theirs,
                         struct add_result *result, struct errbuf *err)
{
    uint32_t how = how_to_settle(d->o);
    char text[ID_TEXT_LEN];
    id_text(holder, text);
    if (how == CONFLICT_REJECT)
        return err_set(err, ERR_EXISTS, "UNIQUE key belongs to job %.*s",
                       ID_TEXT_LEN, text);
    struct job *j = NULL;
    enum err rc = ERR_NOTFOUND;
    if (how == CONFLICT_REPLACE)
        rc = job_load(e, g, holder, &j, err);
    /* A FOR row outlives its job, and holds: there is nothing to replace. */
    if (rc == ERR_NOTFOUND) {
        *theirs = true;
        *result = (struct add_result){.id = *holder, .start_estimate_ms = -1};
        return state_now(e, g, result, err);
    }
    if (rc != ERR_OK)
        return rc;
    if (j->state == JOB_RUNNING || j->queue != d->queue) {
        rc = err_set(err, ERR_STATE,
                     j->state == JOB_RUNNING
                         ? "job %.*s has the UNIQUE key and is running"
                         : "job %.*s has the UNIQUE key in another queue",
                     ID_TEXT_LEN, text);
        job_drop(e, j);
        return rc;
    }
    rc = finish_gather(e, g, j, 0, err); /* its bodies go */
    if (rc != ERR_OK) {
        job_drop(e, j);
        return rc;
    }
    d->replaced = j;
    return ERR_OK;
}

/* --- acting -------------------------------------------------------------- */

static void put_body(struct engine *e, const struct id *id,
                     struct slice payload, bool fresh)
{
    struct key k;
    memcpy(store_put(e->store, FAMILY_BODIES, key_body(&k, id, BODY_PAYLOAD, 0),
                     payload.len, fresh),
           payload.data, payload.len);
}

static void put_keys(struct engine *e, const struct draft *d,
                     const struct job *j)
{
    if (d->m.name.len > 0)
        alias_put(e, d->m.name, &j->id);
    if (d->m.unique.len > 0)
        unique_put(e, d->m.unique_scope, j->queue, d->m.unique, &j->id,
                   d->for_until_ms);
}

/* Into its place; j may be gone afterwards. */
static enum job_state place(struct engine *e, struct job *j, bool fresh,
                            struct now now)
{
    if (j->state == JOB_HELD) {
        job_drop(e, j); /* nowhere */
        return JOB_HELD;
    }
    if (j->state != JOB_SCHEDULED)
        return place_ready(e, j, fresh, now);
    place_due(e, j, j->since_ms, 0, fresh);
    return JOB_SCHEDULED;
}

/* When it may start, by what stands before it. One that is gone from memory
 * has all others before it. */
static int64_t estimate(struct engine *e, const struct draft *d,
                        const struct add_result *r, bool waited, struct now now)
{
    struct job *j = job_get(e, &r->id);
    if (j != NULL)
        return start_estimate(e, j, waited, now);
    return r->state == JOB_PARKED
               ? -1
               : start_estimate_last(d->queue, d->handler, now);
}

static void add_one(struct engine *e, struct draft *d, struct slice payload,
                    bool asks, struct now now, struct add_result *result)
{
    struct id id = id_next(e, d->queue, now);
    struct rec_job *r = &d->r;
    bool body = payload.len > BODY_INLINE_MAX;
    r->flags = body ? r->flags | JOBF_BODY : r->flags & ~(uint32_t)JOBF_BODY;
    r->payload = body ? SLICE_EMPTY : payload;
    if (body)
        put_body(e, &id, payload, true);
    struct job *j = job_new(e, &id, r);
    if (d->limits.n > 0)
        job_names_are(j, &d->limits);
    job_born(e, j, (enum job_state)r->state);
    job_put_row(e, j, true);
    if ((j->flags & (JOBF_EXPIRES | JOBF_DEADLINE)) != 0)
        due_rows_put(e, j, &d->m);
    if (d->m.name.len > 0 || d->m.unique.len > 0)
        put_keys(e, d, j);
    e->stats.jobs_live++;
    e->stats.added++;
    d->queue->totals.added++;
    report(e, EVENT_JOB_ADDED, j, now, 0, SLICE_EMPTY);
    *result = (struct add_result){.id = id,
                                  .created = true,
                                  .state = (enum job_state)r->state,
                                  .start_estimate_ms = -1};
    if (d->delayed)
        result->start_estimate_ms = (int64_t)(r->since_ms - now.wall_ms);
    bool waited = d->queue->waiters_n > 0; /* one will be woken */
    result->state = place(e, j, true, now);
    if (asks && !d->delayed)
        result->start_estimate_ms = estimate(e, d, result, waited, now);
}

/* The waiting job gets the payload and the options of the new one; it keeps its
 * id and its name, if it has one, and a held one stays held. It is new work, so
 * what older executions left behind goes: their records, a checkpoint, effects
 * that they claimed. */
static void replace(struct engine *e, struct gather *g, struct draft *d,
                    struct slice payload, struct now now,
                    struct add_result *result)
{
    struct job *j = d->replaced;
    struct rec_more old;
    struct buf name = {0}, schedule = {0};
    struct id id = j->id;
    job_more(j, &old);
    uint32_t was = j->state;
    if ((j->flags & JOBF_NAMED) != 0) {
        buf_add_slice(&name, old.name);
        d->m.name = buf_slice(&name);
        d->r.flags |= JOBF_NAMED;
    } else if (d->m.name.len > 0) {
        alias_put(e, d->m.name, &id);
    }
    place_none(e, j, now);
    drop_beside(e, g, j, now);
    due_rows_del(e, j);
    if ((j->flags & JOBF_UNIQUE) != 0)
        unique_release(e, j);

    struct rec_job *r = &d->r;
    bool body = payload.len > BODY_INLINE_MAX;
    if ((j->flags & JOBF_SCHEDULE) != 0 && d->m.schedule.len == 0) {
        buf_add_slice(&schedule, old.schedule); /* it counts the job */
        d->m.schedule = buf_slice(&schedule);
        d->m.nominal_ms = old.nominal_ms;
        d->m.occurrence = old.occurrence;
        r->flags |= JOBF_SCHEDULE;
    }
    if (was == JOB_HELD) { /* until UNHOLD, which then puts it where it goes */
        d->m.held_from = r->state;
        r->state = JOB_HELD;
    }
    job_more_encode(&d->m, &d->b.more);
    r->more = buf_slice(&d->b.more);
    r->payload = body ? SLICE_EMPTY : payload;
    r->flags =
        (r->flags & ~(uint32_t)JOBF_BODY) | (body ? JOBF_BODY : 0) | JOBF_MOVED;
    r->deliveries = j->n;
    if (body)
        put_body(e, &id, payload, false);
    struct queue *q = j->queue;
    owner_count(e, j, -1);
    job_free(e, j);
    j = job_new(e, &id, r);
    owner_count(e, j, 1);
    /* Counted as what it was until it is what it becomes. */
    j->state = (uint8_t)was;
    ASSERT(q == j->queue);
    if (was != r->state || job_may_become((enum job_state)was, r->state))
        job_move(e, j, (enum job_state)r->state);
    job_put_row(e, j, false);
    due_rows_put(e, j, &d->m);
    unique_put(e, d->m.unique_scope, j->queue, d->m.unique, &j->id,
               d->for_until_ms);
    report(e, EVENT_JOB_UPDATED, j, now, 0, SLICE_LIT("replaced"));
    *result = (struct add_result){
        .id = id, .state = (enum job_state)r->state, .start_estimate_ms = -1};
    buf_release(&name);
    buf_release(&schedule);
    result->state = place(e, j, false, now);
}

/* --- the operation ------------------------------------------------------- */

static struct slice handler_name(const struct draft *d,
                                 const struct add_params *p)
{
    return option_given(d->o, JOPT_HANDLER) ? d->o->handler : p->queue;
}

/* Most jobs of a queue have the handler of the one before. */
static struct handler *find_handler(struct engine *e, const struct draft *d,
                                    const struct add_params *p)
{
    struct slice name = handler_name(d, p);
    struct handler *h = d->queue == NULL ? NULL : d->queue->default_handler;
    return h != NULL && slice_eq(h->name, name) ? h : handler_find(e, name);
}

static bool owner_is_new(const struct draft *d)
{
    return d->owner == NULL && d->o->owner.len > 0;
}

/* Its lane is there, or may be made. */
static bool has_lane(struct engine *e, const struct draft *d)
{
    if (e->stats.lanes < e->config.lanes_max)
        return true;
    return d->queue != NULL && d->handler != NULL &&
           !(d->queue->set.fair && owner_is_new(d)) &&
           lane_find(e, d->queue, d->handler, d->owner) != NULL;
}

/* Is there room for the names that it would make, and for its lane? */
static enum err examine_room(struct engine *e, const struct draft *d,
                             struct errbuf *err)
{
    uint64_t most = e->config.names_max;
    if ((d->queue == NULL && e->stats.queues >= most) ||
        (d->handler == NULL && e->stats.handlers >= most) ||
        (owner_is_new(d) && e->stats.owners >= most))
        return err_set(err, ERR_LIMIT,
                       "there are %u queues, handlers or owners already "
                       "(max-names)",
                       (unsigned)e->config.names_max);
    if (!has_lane(e, d))
        return err_set(err, ERR_LIMIT,
                       "there are %u lanes already "
                       "(max-lanes)",
                       (unsigned)e->config.lanes_max);
    return ERR_OK;
}

/* Names that do not exist yet are made last, when nothing can refuse. */
static void draft_names(struct engine *e, struct draft *d,
                        const struct add_params *p)
{
    if (d->queue == NULL || !d->queue->stored)
        d->queue = queue_make(e, p->queue, true);
    if (d->handler == NULL)
        d->handler = handler_make(e, handler_name(d, p));
    if (owner_is_new(d))
        d->owner = owner_make(e, d->o->owner);
    ASSERT(d->queue != NULL);
    ASSERT(d->handler != NULL);
    ASSERT(!owner_is_new(d));
}

static void draft_place(struct engine *e, struct draft *d)
{
    struct lane *l = lane_for(e, d->queue, d->handler, d->owner);
    ASSERT(l != NULL);
    lane_place_expect(l);
    d->r.lane = l->id;
    d->r.order = lane_order(l, d->r.priority, d->r.since_ms);
}

static enum err name_taken(const struct id *by, struct errbuf *err)
{
    char text[ID_TEXT_LEN];
    id_text(by, text);
    return err_set(err, ERR_EXISTS, "ID belongs to job %.*s", ID_TEXT_LEN,
                   text);
}

/* A job has one name: who replaces it may say that, or none. */
static enum err examine_name(const struct draft *d, const struct add_params *p,
                             struct errbuf *err)
{
    const struct job *j = d->replaced;
    struct rec_more m;
    if (p->name.len == 0 || j == NULL || (j->flags & JOBF_NAMED) == 0)
        return ERR_OK;
    job_more(j, &m);
    if (slice_eq(m.name, p->name))
        return ERR_OK;
    char text[ID_TEXT_LEN];
    id_text(&j->id, text);
    return err_set(err, ERR_EXISTS,
                   "ID and %s exclude each other: job %.*s has another name",
                   option_given(d->o, JOPT_DEBOUNCE) ? "DEBOUNCE" : "CONFLICT",
                   ID_TEXT_LEN, text);
}

/* Is its name or its unique key taken? ERR_OK: neither, or *theirs is set and
 * results[0] is the reply, or d->replaced is. */
static enum err examine_keys(struct engine *e, struct gather *g,
                             struct draft *d, const struct add_params *p,
                             struct now now, bool *theirs,
                             struct add_result *result, struct errbuf *err)
{
    struct queue *q = d->queue;
    struct id named;
    struct rec_unique holder;
    enum err rc = ERR_NOTFOUND;
    if (p->name.len > 0)
        rc = alias_find(e, g, p->name, &named, err);
    if (rc != ERR_OK && rc != ERR_NOTFOUND)
        return rc;
    bool taken = rc == ERR_OK;
    rc = ERR_NOTFOUND;
    if (option_given(d->o, JOPT_UNIQUE) &&
        (q != NULL || d->o->scope == SCOPE_GLOBAL))
        rc = unique_find(e, g, d->o->scope, q, d->o->unique, now, &holder, err);
    if (rc != ERR_OK && rc != ERR_NOTFOUND)
        return rc;
    /* The name of the very job that it replaces is its own. */
    if (taken && (rc == ERR_NOTFOUND || !id_eq(&named, &holder.job) ||
                  how_to_settle(d->o) != CONFLICT_REPLACE))
        return name_taken(&named, err);
    if (rc == ERR_NOTFOUND)
        return ERR_OK;
    rc = conflict(e, g, d, &holder.job, theirs, result, err);
    if (rc == ERR_OK && taken && d->replaced == NULL)
        return name_taken(&named, err); /* it has ended, and is kept */
    return rc == ERR_OK ? examine_name(d, p, err) : rc;
}

/* May there be so many more? One that is replaced is no more than before, but
 * it may become another owner's. A full queue that drops its oldest does so
 * here, so nothing may refuse them any more. */
static enum err admit(struct engine *e, struct gather *g, const struct draft *d,
                      const struct add_params *p, struct now now,
                      struct errbuf *err)
{
    enum err rc = ERR_OK;
    struct queue *q = d->queue;
    const struct job *j = d->replaced;
    uint32_t all = p->n + p->behind;
    if (d->owner != NULL && p->before == 0)
        rc = owner_admits(e, d->owner, all,
                          j != NULL && j->owner == d->owner->set.id ? 0 : all,
                          now, err);
    if (rc == ERR_OK && j == NULL && q != NULL && q->set.maxlen > 0 &&
        queue_live(q) + all > q->set.maxlen)
        rc = queue_full(e, g, q, p->n, all, bytes_of(p, d->o), now, err);
    /* It was let in with the first part. */
    return rc == ERR_LIMIT && p->before > 0 ? ERR_OK : rc;
}

/* All that the draft says is good, and nothing can refuse it any more. */
static void act(struct engine *e, struct gather *g, struct draft *d,
                const struct add_params *p, struct now now,
                struct add_result *results)
{
    draft_names(e, d, p);
    draft_make(e, d, p, now);
    draft_place(e, d);
    if (d->replaced != NULL) {
        replace(e, g, d, p->payloads[0], now, &results[0]);
        d->replaced = NULL;
    } else {
        for (uint32_t i = 0; i < p->n; i++)
            add_one(e, d, p->payloads[i], p->estimate, now, &results[i]);
    }
    if (d->owner != NULL)
        owner_added(d->owner, p->n, now);
}

enum err engine_add(struct engine *e, struct gather *g,
                    const struct add_params *p, struct now now,
                    struct add_result *results, struct errbuf *err)
{
    struct draft d = {.o = p->options};
    struct job_options inherited;
    bool theirs = false;
    ASSERT(p->n > 0);
    enum err rc = examine(e, p, err);
    if (rc != ERR_OK)
        return rc;
    if (p->idempotency.len > 0) {
        rc = request_again(e, g, p, now, results, err);
        /* The rows of many jobs would have to be read for it. */
        if (rc == ERR_OK && p->estimate)
            rc = state_now(e, g, &results[0], err);
        if (rc == ERR_OK && p->estimate)
            results[0].start_estimate_ms = job_estimate(e, &results[0].id, now);
        if (rc != ERR_NOTFOUND)
            return rc;
    }
    draft_begin(e, &d);
    /* What the handler says about its jobs. */
    d.queue = queue_find(e, p->queue);
    struct handler *h = d.handler = find_handler(e, &d, p);
    if (h != NULL && h->defaults != NULL) {
        inherited = *p->options;
        options_apply(&inherited, h->defaults, now);
        d.o = &inherited;
    }
    rc = examine_options(e, &d, p, now, err);
    if (rc == ERR_OK)
        rc = examine_bytes(e, p, d.o, err);
    if (rc == ERR_OK && all_of(p) > 1 && option_given(d.o, JOPT_UNIQUE))
        rc = err_set(err, ERR_SYNTAX, "UNIQUE names one job, not %u",
                     (unsigned)all_of(p));
    if (rc == ERR_OK && h != NULL)
        rc = handler_examine(h, p->payloads, all_of(p), err);
    if (rc == ERR_OK)
        rc = examine_keys(e, g, &d, p, now, &theirs, &results[0], err);
    if (rc == ERR_OK && !theirs)
        rc = examine_room(e, &d, err);
    if (rc == ERR_OK && !theirs)
        rc = admit(e, g, &d, p, now, err);
    if (rc == ERR_OK && !theirs)
        act(e, g, &d, p, now, results);
    /* That it got a job of somebody else is a reply as well. */
    if (rc == ERR_OK && p->estimate && !results[0].created)
        results[0].start_estimate_ms = job_estimate(e, &results[0].id, now);
    if (rc == ERR_OK && p->idempotency.len > 0)
        request_keep(e, p, results, now);
    job_drop(e, d.replaced);
    draft_end(e, &d);
    return rc;
}
