/* Looking at jobs, live and finished. */
#include "engine/core.h"

static const char *const reasons[] = {
    [REASON_NONE] = "",
    [REASON_ERROR] = "error",
    [REASON_PERMANENT] = "permanent",
    [REASON_POISON] = "poison",
    [REASON_EXPIRES] = "expires",
    [REASON_DEADLINE] = "deadline",
    [REASON_CANCELLED] = "cancelled",
    [REASON_PARENT] = "parent",
    [REASON_DROPPED] = "dropped",
};

static const char *const verbs[] = {
    [VERB_NONE] = "",           [VERB_ACK] = "completed",
    [VERB_FAIL] = "failed",     [VERB_RELEASE] = "released",
    [VERB_SNOOZE] = "snoozed",  [VERB_LOST] = "lost",
    [VERB_TIMEOUT] = "timeout", [VERB_CANCEL] = "cancelled",
};

struct slice reason_name(uint8_t reason)
{
    return slice_str(reason < ARRAY_LEN(reasons) ? reasons[reason] : "");
}

struct slice verb_name(uint8_t verb)
{
    return slice_str(verb < ARRAY_LEN(verbs) ? verbs[verb] : "");
}

bool word_next(struct slice *list, struct slice *word)
{
    if (list->len == 0)
        return false;
    size_t len = (unsigned char)list->data[0];
    if (len > list->len - 1)
        return false;
    *word = slice_of(list->data + 1, len);
    *list = slice_of(list->data + 1 + len, list->len - 1 - len);
    return true;
}

bool word_among(struct slice list, struct slice word)
{
    struct slice w;
    while (word_next(&list, &w))
        if (slice_eq(w, word))
            return true;
    return false;
}

static enum err bad_done(struct errbuf *err)
{
    return err_set(err, ERR_CORRUPT, "family past: bad row of a job");
}

enum err job_state_of(struct engine *e, struct gather *g, const struct id *id,
                      enum job_state *state, struct errbuf *err)
{
    struct job *j;
    enum err rc = job_load(e, g, id, &j, err);
    if (rc == ERR_OK) {
        *state = (enum job_state)j->state;
        job_drop(e, j);
        return ERR_OK;
    }
    if (rc != ERR_NOTFOUND)
        return rc;
    uint32_t bucket;
    struct slice value;
    struct rec_done d;
    rc = done_find(e, g, id, &bucket, &value, err);
    if (rc != ERR_OK)
        return rc;
    if (!rec_done_decode(&d, value) || d.state >= JOB_STATES)
        return bad_done(err);
    *state = (enum job_state)d.state;
    return ERR_OK;
}

enum err engine_state(struct engine *e, struct gather *g, struct slice ref,
                      struct now now, enum job_state *state, struct errbuf *err)
{
    struct id id;
    (void)now;
    enum err rc = engine_find(e, g, ref, &id, err);
    if (rc == ERR_OK)
        rc = job_state_of(e, g, &id, state, err);
    if (rc == ERR_NOTFOUND)
        return err_set(err, rc, "no such job");
    return rc;
}

enum err engine_states(struct engine *e, struct gather *g,
                       const struct slice *refs, uint32_t n, uint32_t *cut,
                       struct now now, state_fn fn, void *ud,
                       struct errbuf *err)
{
    enum err all = ERR_OK;
    if (cut != NULL)
        cut_begin(e, g);
    for (uint32_t i = 0; i < n; i++) {
        enum job_state state = (enum job_state)0;
        enum err rc = engine_state(e, g, refs[i], now, &state, err);
        if (rc == ERR_PENDING)
            all = rc; /* ask for the others too: one fetch for all */
        else if (rc != ERR_OK && rc != ERR_NOTFOUND)
            return rc;
        fn(ud, state);
        if (cut != NULL && cut_here(e, i))
            n = i + 1;
    }
    if (cut != NULL)
        *cut = n;
    return all;
}

/* --- one job ------------------------------------------------------------- */

static void view_more(const struct engine *e, struct job_view *v,
                      const struct rec_more *m)
{
    v->name = m->name;
    if (m->owner != 0 && m->owner < e->owners_n && e->owners[m->owner] != NULL)
        v->owner = e->owners[m->owner]->name;
    v->timeout_ms = m->timeout_ms;
    v->expect_ms = m->expect_ms;
    v->sla = (enum sla)m->sla;
    if (m->retry_given) {
        v->backoff = (enum backoff)m->backoff;
        v->base_ms = m->base_ms;
        memcpy(&v->factor, &m->factor, sizeof(v->factor));
        v->cap_ms = m->cap_ms;
        v->jitter = m->jitter;
    }
    if (m->cost > 0)
        v->cost = m->cost;
    v->scope = (enum unique_scope)m->unique_scope;
    v->unique_while = (enum unique_while)m->unique_while;
    v->for_ms = m->unique_for_ms;
    v->expires_at_ms = m->expires_at_ms;
    v->deadline_at_ms = m->deadline_at_ms;
    v->unique = m->unique;
    v->batch = m->batch;
    v->trace = m->trace;
    v->meta = m->meta;
    v->tags = m->tags;
    v->limits = m->limits;
    v->progress = m->progress;
    v->progress_text = m->progress_text;
    v->checkpoint = m->checkpoint;
    v->error = m->error;
    v->error_type = m->error_type;
    v->schedule = m->schedule;
    v->nominal_ms = m->nominal_ms;
    v->occurrence = m->occurrence;
}

/* What holds where the job says nothing. */
static void view_defaults(const struct engine *e, struct job_view *v)
{
    const struct engine_config *d = &e->config;
    *v = (struct job_view){.backoff = (enum backoff)d->backoff,
                           .base_ms = d->base_ms,
                           .factor = d->factor,
                           .cap_ms = d->cap_ms,
                           .jitter = d->jitter,
                           .cost = 1};
}

/* What its row says that it has. */
static enum err body(struct engine *e, struct gather *g, const struct id *id,
                     enum body_part part, struct slice *out, struct errbuf *err)
{
    enum err rc = job_body(e, g, id, part, out, err);
    if (rc != ERR_NOTFOUND)
        return rc;
    return err_set(err, ERR_CORRUPT, "family bodies: the job's %s is lost",
                   part == BODY_PAYLOAD ? "payload" : "checkpoint");
}

void job_view_of(struct engine *e, const struct job *j, struct now now,
                 struct job_view *v)
{
    view_defaults(e, v);
    v->id = j->id;
    v->queue = j->queue->name;
    v->handler = j->handler->name;
    v->state = (enum job_state)j->state;
    v->priority = j->priority;
    v->retries = j->retries;
    v->failures = j->failures;
    v->crashes = j->crashes;
    v->deliveries = j->n;
    v->created_ms = id_ms(&j->id);
    v->run_at_ms = j->since_ms;
    v->lease_ms = j->own_lease_ms;
    v->keep_given = j->keep > 0;
    v->keep_ms = j->keep > 0 ? j->keep - 1 : 0;
    v->payload = job_payload(j);
    if (j->more_len > 0) {
        struct rec_more m;
        job_more(j, &m);
        view_more(e, v, &m);
    }
    if (j->state != JOB_RUNNING)
        return;
    v->worker = j->worker == NULL ? SLICE_EMPTY : j->worker->name;
    v->session = j->session == NULL ? SLICE_EMPTY : j->session->name;
    v->started_ms = j->started_ms;
    v->lease_ms = j->lease_ms;
    v->lease_left_ms =
        j->reap_mono_ms > now.mono_ms ? j->reap_mono_ms - now.mono_ms : 0;
    v->cancelling = (j->run_flags & RUNF_CANCEL) != 0;
}

/* The row must outlive the view: it is a copy in engine.shown. */
static enum err view_row(struct engine *e, const struct id *id,
                         struct slice row, struct job_view *v,
                         struct errbuf *err)
{
    struct rec_job r;
    struct rec_more m;
    if (!rec_job_decode(&r, row) || r.queue >= e->queues_n ||
        e->queues[r.queue] == NULL || r.handler >= e->handlers_n ||
        e->handlers[r.handler] == NULL)
        return err_set(err, ERR_CORRUPT, "bad row of a job");
    view_defaults(e, v);
    v->id = *id;
    v->queue = e->queues[r.queue]->name;
    v->handler = e->handlers[r.handler]->name;
    v->state = (enum job_state)r.state;
    v->priority = r.priority;
    v->retries = r.retries;
    v->failures = r.failures;
    v->crashes = r.crashes;
    v->deliveries = r.deliveries;
    v->created_ms = id_ms(id);
    v->run_at_ms = r.since_ms;
    v->lease_ms = r.lease_ms;
    v->keep_given = r.keep > 0;
    v->keep_ms = r.keep > 0 ? r.keep - 1 : 0;
    v->payload = r.payload;
    if (r.more.len > 0) {
        if (!rec_more_decode(&m, r.more))
            return err_set(err, ERR_CORRUPT, "bad row of a job");
        view_more(e, v, &m);
    }
    return ERR_OK;
}

enum err done_view(struct engine *e, const struct id *id, struct slice value,
                   struct job_view *v, struct errbuf *err)
{
    struct rec_done d;
    struct rec_exec x;
    if (!rec_done_decode(&d, value) || d.state < JOB_COMPLETED ||
        d.state >= JOB_STATES)
        return bad_done(err);
    enum err rc = view_row(e, id, d.job, v, err);
    if (rc != ERR_OK)
        return rc;
    v->state = (enum job_state)d.state;
    v->finished_ms = d.finished_ms;
    v->reason = reason_name(d.reason);
    v->has_result = d.has_result != 0;
    v->result = d.result;
    if (d.exec.len == 0)
        return ERR_OK;
    if (!rec_exec_decode(&x, d.exec))
        return bad_done(err);
    v->deliveries = x.n;
    v->worker = x.worker;
    v->started_ms = x.started_ms;
    if (x.error.len > 0 || x.error_type.len > 0) {
        v->error = x.error;
        v->error_type = x.error_type;
    }
    /* The budget of a job that failed is counted to the end. */
    if (d.reason == REASON_ERROR || d.reason == REASON_PERMANENT)
        v->failures++;
    return ERR_OK;
}

/* Bodies of a finished job: asked for together. */
static enum err done_bodies(struct engine *e, struct gather *g, uint32_t bucket,
                            const struct id *id, struct slice value,
                            struct job_view *v, struct errbuf *err)
{
    struct rec_done d;
    struct rec_job r;
    struct key k;
    enum err rc = ERR_OK;
    if (!rec_done_decode(&d, value) || !rec_job_decode(&r, d.job))
        return bad_done(err);
    const struct {
        bool there;
        enum body_part part;
        struct slice *to;
    } bodies[] = {
        {(r.flags & JOBF_BODY) != 0, BODY_PAYLOAD, &v->payload},
        {(r.flags & JOBF_CHECKPOINT) != 0, BODY_CHECKPOINT, &v->checkpoint},
        {d.has_result == 2, BODY_RESULT, &v->result},
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        if (!bodies[i].there)
            continue;
        enum err rc2 =
            store_get(e->store, g, FAMILY_PAST,
                      key_past_body(&k, bucket, id, (uint8_t)bodies[i].part, 0),
                      bodies[i].to, err);
        if (rc == ERR_OK)
            rc = rc2;
    }
    return rc;
}

enum err engine_get(struct engine *e, struct gather *g, struct slice ref,
                    struct now now, struct job_view *v, struct errbuf *err)
{
    struct id id;
    struct job *j;
    enum err rc = engine_find(e, g, ref, &id, err);
    if (rc != ERR_OK)
        return rc;
    rc = job_load(e, g, &id, &j, err);
    if (rc == ERR_OK) {
        buf_clear(&e->shown);
        job_view_of(e, j, now, v);
        if (!j->in_window && j->state != JOB_RUNNING) {
            /* It is dropped below: show a copy of its row. */
            enum job_state state = v->state;
            buf_add_slice(&e->shown, job_row(j));
            rc = view_row(e, &id, buf_slice(&e->shown), v, err);
            v->state = state;
        }
        if (v->lease_ms == 0)
            v->lease_ms = lease_length(e, j);
        uint32_t flags = j->flags;
        job_drop(e, j);
        if (rc == ERR_OK && (flags & JOBF_CHECKPOINT) != 0)
            rc = body(e, g, &id, BODY_CHECKPOINT, &v->checkpoint, err);
        if (rc == ERR_OK && (flags & JOBF_BODY) != 0)
            rc = body(e, g, &id, BODY_PAYLOAD, &v->payload, err);
        return rc == ERR_NOTFOUND
                   ? err_set(err, ERR_CORRUPT, "family bodies: row is missing")
                   : rc;
    }
    if (rc != ERR_NOTFOUND)
        return rc;
    uint32_t bucket;
    struct slice value;
    rc = done_find(e, g, &id, &bucket, &value, err);
    if (rc == ERR_NOTFOUND)
        return err_set(err, rc, "no such job");
    if (rc != ERR_OK)
        return rc;
    buf_clear(&e->shown);
    buf_add_slice(&e->shown, value);
    rc = done_view(e, &id, buf_slice(&e->shown), v, err);
    if (rc == ERR_OK)
        rc = done_bodies(e, g, bucket, &id, buf_slice(&e->shown), v, err);
    return rc;
}

/* --- executions ---------------------------------------------------------- */

struct walk {
    execution_fn fn;
    void *ud;
    bool bad;
    uint32_t rows;
};

static void tell(const struct rec_exec *x, struct walk *w)
{
    struct execution_view v = {.n = x->n,
                               .outcome = verb_name(x->verb),
                               .started_ms = x->started_ms,
                               .ended_ms = x->ended_ms,
                               .worker = x->worker,
                               .error = x->error,
                               .error_type = x->error_type,
                               .stack = x->stack,
                               .code = x->code,
                               .usage = x->usage};
    w->fn(w->ud, &v);
}

static bool tell_row(struct slice key, struct slice value, void *ud)
{
    struct walk *w = ud;
    struct rec_exec x;
    (void)key;
    if (!rec_exec_decode(&x, value)) {
        w->bad = true;
        return false;
    }
    w->rows++;
    tell(&x, w);
    return true;
}

static void tell_running(const struct job *j, struct walk *w)
{
    struct execution_view v = {.n = j->n,
                               .outcome = SLICE_LIT("running"),
                               .started_ms = j->started_ms,
                               .worker = j->worker == NULL ? SLICE_EMPTY
                                                           : j->worker->name};
    w->fn(w->ud, &v);
}

static enum err live_executions(struct engine *e, struct gather *g,
                                struct job *j, struct walk *w,
                                struct errbuf *err)
{
    struct key from, to;
    enum err rc = ERR_OK;
    if ((j->flags & JOBF_EXECUTIONS) != 0) {
        key_prefix_body_part(&from, &j->id, BODY_EXECUTION);
        rc = store_scan(e->store, g, FAMILY_BODIES, key_slice(&from),
                        key_after(&to, key_slice(&from)), SIZE_MAX, tell_row, w,
                        err);
    }
    if (rc == ERR_OK && j->state == JOB_RUNNING)
        tell_running(j, w);
    return rc;
}

static enum err done_executions(struct engine *e, struct gather *g,
                                const struct id *id, struct walk *w,
                                struct errbuf *err)
{
    uint32_t bucket;
    struct slice value;
    struct rec_done d;
    struct rec_exec x;
    struct key from, to;
    enum err rc = done_find(e, g, id, &bucket, &value, err);
    if (rc == ERR_NOTFOUND)
        return err_set(err, rc, "no such job");
    if (rc != ERR_OK)
        return rc;
    buf_clear(&e->shown);
    buf_add_slice(&e->shown, value);
    if (!rec_done_decode(&d, buf_slice(&e->shown)) ||
        (d.exec.len > 0 && !rec_exec_decode(&x, d.exec)))
        return bad_done(err);
    key_prefix_past(&from, bucket, id, PAST_EXEC);
    rc = store_scan(e->store, g, FAMILY_PAST, key_slice(&from),
                    key_after(&to, key_slice(&from)), SIZE_MAX, tell_row, w,
                    err);
    if (rc == ERR_OK && d.exec.len > 0)
        tell(&x, w);
    return rc;
}

enum err engine_executions(struct engine *e, struct gather *g, struct slice ref,
                           struct now now, execution_fn fn, void *ud,
                           struct errbuf *err)
{
    struct id id;
    struct job *j;
    struct walk w = {.fn = fn, .ud = ud};
    (void)now;
    enum err rc = engine_find(e, g, ref, &id, err);
    if (rc != ERR_OK)
        return rc;
    rc = job_load(e, g, &id, &j, err);
    if (rc == ERR_OK) {
        rc = live_executions(e, g, j, &w, err);
        job_drop(e, j);
    } else if (rc == ERR_NOTFOUND) {
        rc = done_executions(e, g, &id, &w, err);
    }
    if (rc == ERR_OK && w.bad)
        rc = err_set(err, ERR_CORRUPT, "bad row of an execution");
    return rc;
}
