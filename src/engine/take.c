/* Leasing: the best job of the queues asked for, again and again.
 *
 *      pick a lane -> its head (refill, if it is only on disk)
 *                  -> the job (from its row, if only the key is in memory)
 *                  -> the gate (limits): may it run? If not it is moved
 *                  -> lease
 *
 * Each job is taken by itself, so what has been leased stands when the next one
 * misses rows: the caller then gets fewer than it asked for.
 */
#include "engine/core.h"

#define PREFETCH 64
#define MOVES_MAX 256 /* jobs that one call moves under names */

/* Rows are missing: ask for those of the next members too, so that one fetch
 * brings them all. */
static void prefetch(struct engine *e, struct gather *g, const struct lane *l)
{
    uint32_t n = l->window.len < PREFETCH ? l->window.len : PREFETCH;
    for (uint32_t i = 1; i < n; i++) {
        const struct member *m = window_at(&l->window, i);
        struct key k;
        struct slice row;
        if (m->job != NULL)
            continue;
        enum err rc = store_get(e->store, g, FAMILY_JOBS, key_job(&k, &m->id),
                                &row, NULL);
        (void)rc;
    }
}

/* The job of the lane's head. ERR_NOTFOUND: a ready row without a job. */
static enum err head_job(struct engine *e, struct gather *g, struct lane *l,
                         struct member *m, struct job **out, struct errbuf *err)
{
    if (m->job != NULL) {
        *out = m->job;
        return ERR_OK;
    }
    struct key k;
    struct slice row;
    struct job *j = job_get(e, &m->id);
    if (j == NULL) {
        enum err rc;
        key_job(&k, &m->id);
        if (g != NULL && ahead_comes(e, l)) {
            /* It comes with many others: nothing is gained by a look. */
            rc = store_get_later(e->store, g, FAMILY_JOBS, key_slice(&k), &row,
                                 err);
        } else {
            rc = store_get(e->store, g, FAMILY_JOBS, key_slice(&k), &row, err);
            if (rc == ERR_PENDING)
                prefetch(e, g, l);
        }
        if (rc != ERR_OK)
            return rc;
        j = job_from_row(e, &m->id, row);
        if (j == NULL)
            return err_set(err, ERR_CORRUPT, "family jobs: bad row of a job");
        if (g != NULL) /* what prefetch() asked for has come, too */
            ahead_take(e, g, l, 1, PREFETCH);
    }
    /* It stands in `ready` or `parked`. */
    lane_has_job(l, m, j);
    *out = j;
    return ERR_OK;
}

/* Long payload and checkpoint, as far as the job has them. */
struct bodies {
    struct slice payload, checkpoint;
};

/* They must be at hand before anything changes, and are kept from then on: the
 * base's cache may have let go of them a moment later. */
static enum err bodies_at_hand(struct engine *e, struct gather *g,
                               const struct job *j, struct bodies *b,
                               struct errbuf *err)
{
    enum err rc = ERR_OK;
    *b = (struct bodies){SLICE_EMPTY, SLICE_EMPTY};
    if ((j->flags & JOBF_BODY) != 0)
        rc = job_body(e, g, &j->id, BODY_PAYLOAD, &b->payload, err);
    if (rc == ERR_OK && (j->flags & JOBF_CHECKPOINT) != 0)
        rc = job_body(e, g, &j->id, BODY_CHECKPOINT, &b->checkpoint, err);
    return rc;
}

/* Tell the caller of a lease. */
static void show(struct engine *e, struct job *j, const struct bodies *b,
                 lease_fn fn, void *ud)
{
    char token[TOKEN_MAX];
    struct rec_more m;
    struct lease_view v = {
        .id = j->id,
        .queue = j->queue->name,
        .handler = j->handler->name,
        .payload = job_payload(j),
        .attempt = job_attempt(j),
        .delivery = j->n,
        .failures = j->failures,
        .crashes = j->crashes,
        .retries = j->retries,
        .priority = j->priority,
        .created_ms = id_ms(&j->id),
        .lease_ms = j->lease_ms,
    };
    v.token = slice_of(token, token_print(&j->id, j->n, j->e, token));
    if (j->owner != 0)
        v.owner = e->owners[j->owner]->name;
    if (j->more_shown) {
        job_more(j, &m);
        v.name = m.name;
        v.timeout_ms = m.timeout_ms;
        v.deadline_ms = m.deadline_at_ms;
        v.checkpoint = m.checkpoint;
        v.trace = m.trace;
        v.meta = m.meta;
        v.tags = m.tags;
        v.schedule = m.schedule;
        v.nominal_ms = m.nominal_ms;
        v.occurrence = m.occurrence;
    }
    if ((j->flags & JOBF_CHECKPOINT) != 0)
        v.checkpoint = b->checkpoint;
    if ((j->flags & JOBF_BODY) != 0)
        v.payload = b->payload;
    fn(ud, &v);
}

/* Too late to start, and the timer has not come round yet. */
static enum err too_late(struct engine *e, struct gather *g, struct job *j,
                         struct now now, bool *gone, struct errbuf *err)
{
    struct rec_more m;
    *gone = false;
    if ((j->flags & (JOBF_EXPIRES | JOBF_DEADLINE)) == 0)
        return ERR_OK;
    job_more(j, &m);
    bool started = (j->flags & JOBF_EXPIRES) != 0 && !job_tried(j) &&
                   m.expires_at_ms <= now.wall_ms;
    bool total =
        (j->flags & JOBF_DEADLINE) != 0 && m.deadline_at_ms <= now.wall_ms;
    if (!started && !total)
        return ERR_OK;
    enum err rc = finish_gather(e, g, j, 0, err);
    if (rc != ERR_OK)
        return rc;
    *gone = true;
    struct outcome o = {.verb = VERB_CANCEL,
                        .reason = total ? REASON_DEADLINE : REASON_EXPIRES,
                        .error = total ? SLICE_LIT("deadline passed")
                                       : SLICE_LIT("not started in time")};
    job_finish(e, g, j, JOB_EXPIRED, &o, now);
    return ERR_OK;
}

/* What the handlers' and queues' names stand for. */
struct wanted {
    struct handler *handlers[WAITER_HANDLERS_MAX];
    uint32_t handlers_n;
    bool none; /* none of the named handlers exists */
};

/* Damage took its payload or its checkpoint. It must not stand in the way of
 * the others: somebody gives it another, or deletes it. */
static void hold_back(struct engine *e, struct job *j, struct now now,
                      struct errbuf *err)
{
    char text[ID_TEXT_LEN];
    id_text(&j->id, text);
    err_set(err, ERR_CORRUPT,
            "family bodies: what job %.*s is to be leased with is lost; it is "
            "held",
            ID_TEXT_LEN, text);
    fault(e, now, err);
    job_hold(e, j, now);
}

/* One job from the lane: *j is leased, or NULL if the lane's head turned out to
 * be none (try again). */
static enum err take_one(struct engine *e, struct gather *g, struct lane *l,
                         const struct lease_params *p, struct now now,
                         struct job **out, struct bodies *bodies,
                         struct errbuf *err)
{
    *out = NULL;
    if (window_unread(&l->window))
        return lane_refill(e, g, l, LANE_REFILL_ROWS, err);
    struct member *m = window_head(&l->window);
    struct job *j = NULL;
    bool gone = false;
    enum err rc = head_job(e, g, l, m, &j, err);
    if (rc == ERR_NOTFOUND || rc == ERR_CORRUPT) {
        if (rc == ERR_NOTFOUND)
            err_set(err, ERR_CORRUPT, "family ready: a row without its job");
        fault(e, now, err);
        lane_take(e, l, m);
        return ERR_OK;
    }
    if (rc == ERR_OK) {
        rc = bodies_at_hand(e, g, j, bodies, err);
        if (rc == ERR_NOTFOUND) {
            hold_back(e, j, now, err);
            return ERR_OK;
        }
    }
    if (rc == ERR_OK)
        rc = too_late(e, g, j, now, &gone, err);
    if (rc != ERR_OK || gone)
        return rc;
    if (!park_gate(e, l, j, now))
        return ERR_OK;
    j->charged = share_charge(l->part, j->cost);
    lane_take(e, l, window_head(&l->window));
    ahead_look(e, l);
    strand_expect(l->part->strand);
    pace_note(j->queue, now);
    uint64_t waited = now.wall_ms > j->since_ms ? now.wall_ms - j->since_ms : 0;
    lease_begin(e, j, p->lease_ms > 0 ? p->lease_ms : lease_length(e, j),
                p->worker, p->session, now);
    if ((j->flags & JOBF_UNIQUE) != 0) {
        struct rec_more more;
        job_more(j, &more);
        if (more.unique_while == WHILE_WAITING) {
            unique_release(e, j);
            j->run_flags |= RUNF_UNIQUE;
            job_store(e, j, NULL);
        }
    }
    lease_taken(e, j, now);
    j->queue->totals.leased++;
    e->stats.leased++;
    report(e, EVENT_JOB_LEASED, j, now, waited, SLICE_EMPTY);
    *out = j;
    return ERR_OK;
}

/* --- the same request again ---------------------------------------------- */

uint64_t lease_request(const struct lease_params *p)
{
    const uint64_t numbers[] = {p->count, p->lease_ms, p->queues_n,
                                p->handlers_n};
    uint64_t h = hash64_seed(p->worker, sizeof(numbers));
    h = hash64_seed(slice_of(numbers, sizeof(numbers)), h);
    h = hash64_seed(p->session, h);
    for (uint32_t i = 0; i < p->queues_n; i++) {
        h = hash64_seed(p->queues[i], h);
        if (p->weights != NULL)
            h = hash64_seed(slice_of(&p->weights[i], sizeof(p->weights[i])), h);
    }
    for (uint32_t i = 0; i < p->handlers_n; i++)
        h = hash64_seed(p->handlers[i], h);
    return h;
}

static enum err another_request(struct errbuf *err)
{
    return err_set(err, ERR_MISMATCH,
                   "IDEMPOTENCY key was used with another request");
}

/* The leases that an earlier request with this key got, if any lives. */
static enum err same_again(struct engine *e, struct gather *g,
                           const struct lease_params *p, struct now now,
                           lease_fn fn, void *ud, struct errbuf *err)
{
    struct slice value;
    struct rec_lease_reply r;
    enum err rc = idem_find(e, g, KEY_LEASE, p->idempotency, now, &value, err);
    if (rc != ERR_OK)
        return rc;
    if (!rec_lease_reply_decode(&r, value))
        return err_set(err, ERR_CORRUPT, "family done: bad row of a request");
    struct buf tokens = {0};
    buf_add_slice(&tokens, r.tokens);
    uint32_t alive = 0;
    /* First see that nothing is missing, then show. */
    for (int pass = 0; pass < 2 && rc == ERR_OK; pass++) {
        for (size_t at = 0; at + 1 < tokens.len && rc == ERR_OK;) {
            size_t len = (unsigned char)tokens.data[at];
            struct token t;
            struct slice text = slice_of(tokens.data + at + 1, len);
            at += 1 + len;
            if (at > tokens.len || !token_parse(text, &t))
                break;
            struct job *j = job_get(e, &t.id);
            if (j == NULL || j->state != JOB_RUNNING || j->n != t.n ||
                j->e != t.e)
                continue;
            alive += pass == 0;
            struct bodies b;
            rc = bodies_at_hand(e, g, j, &b, err);
            if (rc == ERR_PENDING && pass == 1) /* gone since the first pass */
                rc = bodies_at_hand(e, NULL, j, &b, err);
            if (pass == 1 && rc == ERR_OK) {
                j->run_flags |= RUNF_AGAIN;
                show(e, j, &b, fn, ud);
            }
        }
        if (pass == 0 && rc == ERR_OK && alive > 0 &&
            r.request != lease_request(p))
            rc = another_request(err);
    }
    buf_release(&tokens);
    if (rc == ERR_OK && alive == 0)
        return ERR_NOTFOUND;
    return rc;
}

static void remember_request(struct engine *e, const struct lease_params *p,
                             struct slice tokens, struct now now)
{
    struct rec_lease_reply r = {lease_request(p), tokens};
    rec_lease_reply_encode(&r, idem_put(e, KEY_LEASE, p->idempotency,
                                        idem_until(e, now),
                                        rec_lease_reply_size(&r)));
    wait_served(e, p->idempotency);
}

/* --- the operation ------------------------------------------------------- */

static enum err examine(struct engine *e, const struct lease_params *p,
                        struct wanted *w, struct errbuf *err)
{
    enum err rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < p->queues_n; i++)
        rc = name_check(p->queues[i], "queue", err);
    if (rc == ERR_OK && p->worker.len > 0)
        rc = name_check(p->worker, "worker", err);
    if (rc == ERR_OK && p->session.len > 0)
        rc = name_check(p->session, "session", err);
    if (rc == ERR_OK && p->lease_ms > e->config.lease_ms_max)
        rc =
            err_set(err, ERR_LIMIT, "FOR %llu ms is above the limit of %llu ms",
                    (unsigned long long)p->lease_ms,
                    (unsigned long long)e->config.lease_ms_max);
    if (rc == ERR_OK && p->idempotency.len > UNIQUE_MAX)
        rc = err_set(err, ERR_LIMIT,
                     "IDEMPOTENCY has %zu bytes; at most %d are allowed",
                     p->idempotency.len, UNIQUE_MAX);
    if (rc == ERR_OK && p->handlers_n > ARRAY_LEN(w->handlers))
        rc = err_set(err, ERR_LIMIT,
                     "HANDLERS names %u; at most %zu are "
                     "allowed",
                     (unsigned)p->handlers_n, ARRAY_LEN(w->handlers));
    if (rc != ERR_OK)
        return rc;
    w->handlers_n = 0;
    for (uint32_t i = 0; i < p->handlers_n; i++) {
        struct handler *h = handler_find(e, p->handlers[i]);
        if (h != NULL)
            w->handlers[w->handlers_n++] = h;
        else
            rc = name_check(p->handlers[i], "handler", err);
        if (rc != ERR_OK)
            return rc;
    }
    w->none = p->handlers_n > 0 && w->handlers_n == 0;
    return ERR_OK;
}

/* What one call has got so far. */
struct taking {
    const struct lease_params *p;
    const struct wanted *want;
    struct buf tokens; /* for the idempotency key */
    uint32_t got;
    bool full; /* the entry, by jobs that it found but did not get */
    lease_fn fn;
    void *ud;
};

/* Up to `most` jobs of one queue. */
static enum err take_from(struct engine *e, struct gather *g, struct taking *t,
                          struct slice name, uint32_t most, struct now now,
                          struct errbuf *err)
{
    const struct wanted *want = t->want;
    struct queue *q = queue_find(e, name);
    uint32_t moved = 0;
    if (q == NULL || q->set.paused != 0)
        return ERR_OK;
    while (most > 0 && queue_admits(e, q, now)) {
        struct lane *l = lane_pick(e, q, want->handlers, want->handlers_n);
        struct job *j;
        if (l == NULL)
            return ERR_OK;
        struct bodies b;
        enum err rc = entry_has_room(e, STEP_BYTES + t->tokens.len, err);
        if (rc == ERR_OK)
            rc = take_one(e, g, l, t->p, now, &j, &b, err);
        if (rc == ERR_LIMIT && moved > 0) {
            t->full = true;
            park_sift(e, q); /* more of it in the next entry */
        }
        if (rc == ERR_LIMIT && t->full)
            return ERR_OK;
        if (rc != ERR_OK)
            return rc;
        if (j == NULL) {
            if (++moved < MOVES_MAX)
                continue;
            park_sift(e, q); /* others have their turn in between */
            return ERR_OK;
        }
        t->got++;
        most--;
        if (t->p->idempotency.len > 0) {
            char text[TOKEN_MAX];
            size_t len = token_print(&j->id, j->n, j->e, text);
            buf_add_char(&t->tokens, (char)(unsigned char)len);
            buf_add(&t->tokens, text, len);
        }
        show(e, j, &b, t->fn, t->ud);
    }
    return ERR_OK;
}

/* Queues take turns, each as often as its weight says; one that has nothing is
 * left out. */
static enum err take_weighted(struct engine *e, struct gather *g,
                              struct taking *t, struct now now,
                              struct errbuf *err)
{
    const struct lease_params *p = t->p;
    uint64_t weights[WAITER_QUEUES_MAX], sum = 0;
    ASSERT(p->queues_n <= WAITER_QUEUES_MAX);
    for (uint32_t i = 0; i < p->queues_n; i++)
        sum += weights[i] = p->weights[i];
    while (t->got < p->count && sum > 0) {
        uint64_t at = rng_below(&e->rng, sum);
        uint32_t i = 0, before = t->got;
        while (at >= weights[i])
            at -= weights[i++];
        enum err rc = take_from(e, g, t, p->queues[i], 1, now, err);
        if (rc != ERR_OK)
            return rc;
        if (t->got == before) {
            sum -= weights[i];
            weights[i] = 0;
        }
    }
    return ERR_OK;
}

enum err engine_lease(struct engine *e, struct gather *g,
                      const struct lease_params *p, struct now now, lease_fn fn,
                      void *ud, struct errbuf *err)
{
    struct wanted want;
    enum err rc = examine(e, p, &want, err);
    if (rc != ERR_OK)
        return rc;
    struct lease_params as = *p; /* who it is, beside what was said */
    as.worker = worker_named(e, p->worker, p->session);
    worker_asks(e, as.worker, now);
    if (p->idempotency.len > 0) {
        rc = wait_differs(e, p) ? another_request(err)
                                : same_again(e, g, p, now, fn, ud, err);
        if (rc != ERR_NOTFOUND)
            return rc;
    }
    if (worker_draining(e, p->worker, p->session) || want.none)
        return ERR_EMPTY;
    struct taking t = {.p = &as, .want = &want, .fn = fn, .ud = ud};
    rc = ERR_OK;
    if (p->weights != NULL)
        rc = take_weighted(e, g, &t, now, err);
    for (uint32_t i = 0; p->weights == NULL && i < p->queues_n && rc == ERR_OK;
         i++)
        rc = take_from(e, g, &t, p->queues[i], p->count - t.got, now, err);
    if (t.got > 0) {
        if (p->idempotency.len > 0)
            remember_request(e, p, buf_slice(&t.tokens), now);
        rc = ERR_OK;
    } else if (rc == ERR_OK) {
        rc = ERR_EMPTY;
    }
    buf_release(&t.tokens);
    return rc;
}

/* As if it had never been, but for the number: were it given again, a request
 * with the IDEMPOTENCY key of this lease would find the next holder's. A lease
 * that such a request has got by now may be in a worker's hands. A job that was
 * told to stop meanwhile ends as if its holder had died, with the next reap:
 * its rows may have to be read. */
void engine_lease_undo(struct engine *e, const struct slice *tokens, uint32_t n,
                       struct now now)
{
    for (uint32_t i = n; i > 0; i--) {
        struct token t;
        if (!token_parse(tokens[i - 1], &t))
            continue;
        struct job *j = job_get(e, &t.id);
        if (j == NULL || j->state != JOB_RUNNING || j->n != t.n || j->e != t.e)
            continue;
        entry_cut(e, now);
        if ((j->run_flags & RUNF_AGAIN) != 0)
            continue;
        if ((j->run_flags & RUNF_CANCEL) != 0) {
            lease_cut(e, j, now);
            continue;
        }
        lease_untaken(e, j, now);
        limits_refund(e, j);
        j->queue->totals.leased--;
        lease_end(e, j, now);
        /* Its rows are no longer first ones. */
        j->flags |= JOBF_MOVED;
        place_outlived(e, j);
        if (j->charged)
            share_refund(j->lane->part, j->cost);
        unique_retake(e, j, now);
        job_move(e, j, JOB_READY);
        job_store(e, j, NULL);
        expiry_again(e, j);
        report(e, EVENT_JOB_RELEASED, j, now, 0, SLICE_LIT("undone"));
        (void)place_ready(e, j, false, now);
    }
}
