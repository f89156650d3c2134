/* Changing a job that waits: what it says of itself, when and where it runs.
 *
 * The job leaves its place, is written anew and goes back: to its old place,
 * unless priority, time or handler say otherwise. A parked job goes back to its
 * lane, where its names are asked again. Held and blocked jobs stay so. Of a
 * finished job only KEEP is changed (revive.c).
 */
#include "engine/core.h"

#define BIT(NAME) ((uint64_t)1 << JOPT_##NAME)
#define ALLOWED                                                           \
    (BIT(HANDLER) | BIT(DELAY) | BIT(AT) | BIT(PRIORITY) | BIT(RETRIES) | \
     BIT(BACKOFF) | BIT(BASE) | BIT(FACTOR) | BIT(CAP) | BIT(JITTER) |    \
     BIT(LEASE) | BIT(TIMEOUT) | BIT(EXPECT) | BIT(SLA) | BIT(EXPIRES) |  \
     BIT(DEADLINE) | BIT(KEEP) | BIT(LIMIT) | BIT(COST) | BIT(TAG) |      \
     BIT(TRACE) | BIT(META))
#define RETRYING \
    (BIT(BACKOFF) | BIT(BASE) | BIT(FACTOR) | BIT(CAP) | BIT(JITTER))
#define TIMED (BIT(DELAY) | BIT(AT))

struct change {
    const struct update_params *p;
    struct rec_job r;
    struct rec_more m;
    struct lane *lane;
    enum job_state was, to;
    bool tried;
    struct buf row, more, limits, tags; /* slices of r and m point in here */
};

static void release(struct change *c)
{
    buf_release(&c->row);
    buf_release(&c->more);
    buf_release(&c->limits);
    buf_release(&c->tags);
}

static enum err examine(const struct engine *e, const struct update_params *p,
                        struct errbuf *err)
{
    const struct job_options *o = p->options;
    if ((o->given & ~ALLOWED) != 0)
        return err_set(err, ERR_SYNTAX, "%s cannot be changed",
                       job_option_name((enum job_option)__builtin_ctzll(
                           o->given & ~ALLOWED)));
    if (o->given == 0 && !p->has_payload)
        return err_set(err, ERR_SYNTAX, "nothing is to be changed");
    enum err rc = ERR_OK;
    if (option_given(o, JOPT_HANDLER))
        rc = name_check(o->handler, "handler", err);
    for (uint32_t i = 0; rc == ERR_OK && i < o->limits_n; i++)
        rc = limit_name_check(o->limits[i], err);
    if (rc == ERR_OK && option_given(o, JOPT_LEASE) &&
        o->lease_ms > e->config.lease_ms_max)
        rc = err_set(err, ERR_LIMIT,
                     "LEASE %llu ms is above the limit of %llu ms",
                     (unsigned long long)o->lease_ms,
                     (unsigned long long)e->config.lease_ms_max);
    if (rc == ERR_OK && p->payload.len > e->config.payload_max)
        rc = err_set(err, ERR_LIMIT,
                     "payload has %zu bytes; at most %llu are allowed",
                     p->payload.len, (unsigned long long)e->config.payload_max);
    return rc;
}

static void put_word(struct buf *b, struct slice word)
{
    buf_add_char(b, (char)(unsigned char)word.len);
    buf_add_slice(b, word);
}

/* Nobody said it, as far as the row tells. */
static bool has_default_cap(const struct engine *e, const struct rec_more *m)
{
    uint64_t cap_ms = e->config.cap_ms;
    return m->retry_given == 0 || m->cap_ms == cap_ms ||
           (m->cap_ms == m->base_ms && m->base_ms > cap_ms);
}

static void change_retry(const struct engine *e, struct rec_more *m,
                         const struct job_options *o)
{
    const struct engine_config *d = &e->config;
    bool follows = has_default_cap(e, m);
    if ((o->given & RETRYING) == 0)
        return;
    if (m->retry_given == 0) {
        m->retry_given = 1;
        m->backoff = (uint8_t)d->backoff;
        m->base_ms = d->base_ms;
        m->cap_ms = d->cap_ms;
        m->jitter = d->jitter;
        memcpy(&m->factor, &d->factor, sizeof(d->factor));
    }
    if (option_given(o, JOPT_BACKOFF))
        m->backoff = (uint8_t)o->backoff;
    if (option_given(o, JOPT_BASE))
        m->base_ms = o->base_ms;
    if (option_given(o, JOPT_FACTOR))
        memcpy(&m->factor, &o->factor, sizeof(o->factor));
    if (option_given(o, JOPT_CAP))
        m->cap_ms = o->cap_ms;
    else if (follows) /* as of a new job */
        m->cap_ms = m->base_ms > d->cap_ms ? m->base_ms : d->cap_ms;
    if (option_given(o, JOPT_JITTER))
        m->jitter = o->jitter;
}

static void change_more(const struct engine *e, struct change *c,
                        struct now now)
{
    const struct job_options *o = c->p->options;
    struct rec_more *m = &c->m;
    change_retry(e, m, o);
    if (option_given(o, JOPT_TIMEOUT))
        m->timeout_ms = o->timeout_ms;
    if (option_given(o, JOPT_EXPECT))
        m->expect_ms = o->expect_ms;
    if (option_given(o, JOPT_SLA))
        m->sla = (uint8_t)o->sla;
    if (option_given(o, JOPT_COST))
        m->cost = o->cost;
    if (option_given(o, JOPT_TRACE))
        m->trace = o->trace;
    if (option_given(o, JOPT_META))
        m->meta = o->meta;
    if (option_given(o, JOPT_EXPIRES)) {
        m->expires_ms = o->expires_ms;
        m->expires_at_ms = now.wall_ms + o->expires_ms;
        c->r.flags = (c->r.flags | JOBF_EXPIRES) & ~(uint32_t)JOBF_BEGUN;
    }
    if (option_given(o, JOPT_DEADLINE)) {
        m->deadline_ms = o->deadline_ms;
        m->deadline_at_ms = now.wall_ms + o->deadline_ms;
        c->r.flags |= JOBF_DEADLINE;
    }
    if (option_given(o, JOPT_LIMIT)) {
        for (uint32_t i = 0; i < o->limits_n; i++)
            put_word(&c->limits, o->limits[i]);
        m->limits = buf_slice(&c->limits);
        c->r.flags |= JOBF_LIMITS;
    }
    if (option_given(o, JOPT_TAG)) {
        for (uint32_t i = 0; i < o->tags_n; i++) {
            put_word(&c->tags, o->tags[i].key);
            put_word(&c->tags, o->tags[i].value);
        }
        m->tags = buf_slice(&c->tags);
    }
}

/* Its state and its time. */
static void change_time(struct engine *e, struct change *c, struct now now)
{
    const struct job_options *o = c->p->options;
    bool timed = (o->given & TIMED) != 0;
    uint64_t at =
        option_given(o, JOPT_AT) ? o->at_ms : now.wall_ms + o->delay_ms;
    bool delayed = at > now.wall_ms;
    c->to = c->was == JOB_PARKED ? JOB_READY : c->was;
    if (!timed)
        return;
    if (c->was == JOB_BLOCKED) { /* a delay counts from the settlement */
        c->m.blocked_delay_ms = delayed ? at - now.wall_ms : 0;
        return;
    }
    c->r.since_ms = delayed ? at : arrival_ms(e, now);
    if (c->was == JOB_HELD)
        c->m.held_from = delayed ? JOB_SCHEDULED : JOB_READY;
    else
        c->to = delayed ? JOB_SCHEDULED : JOB_READY;
}

static uint64_t left_ms(uint64_t at_ms, struct now now)
{
    return at_ms > now.wall_ms ? at_ms - now.wall_ms : 0;
}

/* What the job has of what the change does not say. A word that says what the
 * server does anyway counts as none: its default takes a word back. */
static void add_stored(const struct engine *e, const struct change *c,
                       struct job_options *all, struct now now)
{
    const struct engine_config *d = &e->config;
    const struct rec_more *m = &c->m;
    struct job_options has = {.at_ms = c->r.since_ms,
                              .retries = c->r.retries,
                              .backoff = m->backoff,
                              .base_ms = m->base_ms,
                              .cap_ms = m->cap_ms,
                              .timeout_ms = m->timeout_ms,
                              .expect_ms = m->expect_ms,
                              .expires_ms = left_ms(m->expires_at_ms, now),
                              .deadline_ms = left_ms(m->deadline_at_ms, now)};
    const struct {
        uint64_t bit;
        bool is;
    } words[] = {
        {BIT(AT), (all->given & TIMED) == 0 && c->was == JOB_SCHEDULED},
        {BIT(RETRIES), c->r.retries != d->retries},
        {BIT(BACKOFF), m->retry_given != 0 && m->backoff != d->backoff},
        {BIT(BASE), m->retry_given != 0 && m->base_ms != d->base_ms},
        {BIT(FACTOR), m->retry_given != 0 &&
                          memcmp(&m->factor, &d->factor, sizeof(d->factor))},
        {BIT(CAP), !has_default_cap(e, m)},
        {BIT(JITTER), m->retry_given != 0 && m->jitter != d->jitter},
        {BIT(TIMEOUT), m->timeout_ms > 0},
        {BIT(EXPECT), m->expect_ms > 0},
        /* What has been tried once does not expire unstarted. */
        {BIT(EXPIRES), (c->r.flags & JOBF_EXPIRES) != 0 && !c->tried},
        {BIT(DEADLINE), (c->r.flags & JOBF_DEADLINE) != 0},
        {BIT(LIMIT), m->limits.len > 0},
        {BIT(OWNER), m->owner != 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (words[i].is)
            has.given |= words[i].bit;
    options_inherit(all, &has);
}

/* The rules of a new job, of what it has and what is said together. */
static enum err examine_words(const struct engine *e, const struct change *c,
                              struct now now, struct errbuf *err)
{
    struct job_options all = *c->p->options;
    add_stored(e, c, &all, now);
    return options_check(&all, c->p->options->given, now, err);
}

/* What its handler says of payloads holds for a new payload, and for a new
 * handler; one that is yet to be made (NULL) says nothing. */
static enum err examine_payload(struct engine *e, struct gather *g,
                                const struct change *c, const struct job *j,
                                const struct handler *h, struct errbuf *err)
{
    struct slice payload = c->p->has_payload ? c->p->payload : c->r.payload;
    struct key k;
    if (h == NULL || (!c->p->has_payload && h == j->handler))
        return ERR_OK;
    if (!c->p->has_payload && (j->flags & JOBF_BODY) != 0) {
        enum err rc =
            store_get(e->store, g, FAMILY_BODIES,
                      key_body(&k, &j->id, BODY_PAYLOAD, 0), &payload, err);
        if (rc != ERR_OK)
            return rc;
    }
    return handler_examine(h, &payload, 1, err);
}

/* Everything that can refuse; the names it needs are made. */
static enum err prepare(struct engine *e, struct gather *g, struct change *c,
                        struct job *j, struct now now, struct errbuf *err)
{
    const struct job_options *o = c->p->options;
    struct rec_job *r = &c->r;
    struct handler *h = j->handler;
    buf_add_slice(&c->row, job_row(j));
    if (!rec_job_decode(r, buf_slice(&c->row)) ||
        (r->more.len > 0 && !rec_more_decode(&c->m, r->more)))
        return err_set(err, ERR_CORRUPT, "family jobs: bad row of a job");
    enum err rc = examine_words(e, c, now, err);
    if (rc != ERR_OK)
        return rc;
    /* What memory knows better than the row. */
    r->flags = (j->flags | JOBF_MOVED) & ~(uint32_t)JOBF_RESERVED;
    r->since_ms = j->since_ms;
    r->order = j->order;
    r->failures = j->failures;
    r->crashes = j->crashes;
    r->deliveries = j->n;
    c->m.reserved = SLICE_EMPTY;
    if (option_given(o, JOPT_HANDLER))
        h = handler_find(e, o->handler);
    rc = examine_payload(e, g, c, j, h, err);
    if (rc != ERR_OK)
        return rc;
    /* Only now: nothing has changed if rows were missing. */
    if (h == NULL)
        h = handler_make(e, o->handler);
    if (h == NULL)
        return err_set(err, ERR_LIMIT, "there are %u handlers already",
                       (unsigned)e->config.names_max);
    r->handler = h->set.id;
    if (option_given(o, JOPT_PRIORITY))
        r->priority = o->priority;
    if (option_given(o, JOPT_RETRIES))
        r->retries = o->retries;
    if (option_given(o, JOPT_LEASE))
        r->lease_ms = o->lease_ms;
    if (option_given(o, JOPT_KEEP))
        r->keep = o->keep_ms + 1;
    change_time(e, c, now);
    c->lane = j->lane;
    if ((o->given & (TIMED | BIT(HANDLER) | BIT(PRIORITY))) != 0) {
        struct owner *owner = c->m.owner == 0 ? NULL : e->owners[c->m.owner];
        c->lane = lane_for(e, j->queue, h, owner);
        if (c->lane == NULL)
            return err_set(err, ERR_LIMIT,
                           "there are %u lanes already (max-lanes)",
                           (unsigned)e->config.lanes_max);
        r->order = lane_order(c->lane, r->priority, r->since_ms);
    }
    r->lane = c->lane == NULL ? 0 : c->lane->id;
    change_more(e, c, now);
    return ERR_OK;
}

static void change_payload(struct engine *e, struct change *c,
                           const struct id *id)
{
    struct slice payload = c->p->payload;
    struct key k;
    struct slice key = key_body(&k, id, BODY_PAYLOAD, 0);
    if (payload.len > BODY_INLINE_MAX) {
        memcpy(store_put(e->store, FAMILY_BODIES, key, payload.len, false),
               payload.data, payload.len);
        c->r.flags |= JOBF_BODY;
        c->r.payload = SLICE_EMPTY;
        return;
    }
    if ((c->r.flags & JOBF_BODY) != 0)
        store_del(e->store, FAMILY_BODIES, key);
    c->r.flags &= ~(uint32_t)JOBF_BODY;
    c->r.payload = payload;
}

static void place_again(struct engine *e, struct job *j, struct now now)
{
    switch ((enum job_state)j->state) {
    case JOB_READY:
        place_ready(e, j, false, now);
        return;
    case JOB_SCHEDULED:
        place_due(e, j, j->since_ms, DUEF_OLD_PLACE, false);
        return;
    case JOB_RETRYING:
        place_due(e, j, j->since_ms, DUEF_RETRYING | DUEF_OLD_PLACE, false);
        return;
    default: /* held, blocked: nowhere */
        job_drop(e, j);
    }
}

static void apply(struct engine *e, struct change *c, struct job *j,
                  struct now now)
{
    struct id id = j->id;
    place_none(e, j, now);
    due_rows_del(e, j);
    if (c->p->has_payload)
        change_payload(e, c, &id);
    job_more_encode(&c->m, &c->more);
    c->r.more = buf_slice(&c->more);
    c->r.state = (uint8_t)c->to;
    job_free(e, j);
    j = job_new(e, &id, &c->r);
    /* Counted as what it was until it is what it becomes. */
    j->state = (uint8_t)c->was;
    if (c->was != c->to)
        job_move(e, j, c->to);
    job_put_row(e, j, false);
    due_rows_put(e, j, &c->m);
    report(e, EVENT_JOB_UPDATED, j, now, 0, SLICE_LIT("updated"));
    place_again(e, j, now);
}

enum err engine_update(struct engine *e, struct gather *g,
                       const struct update_params *p, struct now now,
                       struct errbuf *err)
{
    struct change c = {.p = p};
    struct id id;
    struct job *j;
    enum job_state state;
    enum err rc = examine(e, p, err);
    if (rc == ERR_OK)
        rc = engine_find(e, g, p->job, &id, err);
    if (rc != ERR_OK)
        return rc;
    rc = job_load(e, g, &id, &j, err);
    if (rc == ERR_NOTFOUND && p->options->given == BIT(KEEP) &&
        !p->has_payload) {
        rc = done_keep(e, g, &id, p->options->keep_ms, now, err);
        return rc == ERR_NOTFOUND ? err_set(err, rc, "no such job") : rc;
    }
    if (rc == ERR_NOTFOUND) {
        rc = job_state_of(e, g, &id, &state, err);
        return rc == ERR_OK
                   ? err_set(err, ERR_FINISHED,
                             "the job has already ended: only KEEP is changed")
               : rc == ERR_NOTFOUND ? err_set(err, rc, "no such job")
                                    : rc;
    }
    if (rc != ERR_OK)
        return rc;
    c.was = (enum job_state)j->state;
    c.tried = job_tried(j);
    if (c.was == JOB_RUNNING)
        rc = err_set(err, ERR_STATE,
                     "the job is running: only waiting jobs are changed");
    if (rc == ERR_OK)
        rc = prepare(e, g, &c, j, now, err);
    if (rc == ERR_OK)
        apply(e, &c, j, now);
    else
        job_drop(e, j);
    release(&c);
    return rc;
}
