/* The table of leases: who holds which job, and until when.
 *
 * Ordered by deadline on the monotonic clock, so that a stepped wall clock ends
 * no lease early. The `runs` row is what a restart rebuilds it from; a plain
 * renewal is not written, because a start gives every lease its full length
 * again. A token is good while its n and e are those of the lease in force.
 */
#include "engine/core.h"

static bool reap_less(const struct heap_node *a, const struct heap_node *b)
{
    return CONTAINER_OF(a, struct job, by_deadline.in_heap)->reap_mono_ms <
           CONTAINER_OF(b, struct job, by_deadline.in_heap)->reap_mono_ms;
}

void leases_init(struct engine *e)
{
    line_init(&e->leases, reap_less);
}

void leases_free(struct engine *e)
{
    line_release(&e->leases);
}

/* The lease that ends next, or NULL. */
static struct job *table_first(const struct engine *e)
{
    struct line_node *top = line_top(&e->leases);
    return top == NULL ? NULL : CONTAINER_OF(top, struct job, by_deadline);
}

void leases_each(const struct engine *e, leases_fn fn, void *ud)
{
    struct line_node *n = NULL;
    while ((n = line_next(&e->leases, n)) != NULL)
        fn(CONTAINER_OF(n, struct job, by_deadline), ud);
}

static void leave(const struct job *j, void *ud)
{
    struct job *mine = (struct job *)(uintptr_t)j;
    if (j->queue == ud && j->lane != NULL && lane_dead(j->lane))
        mine->lane = NULL;
}

void leases_leave_dead_lanes(struct engine *e, const struct queue *q)
{
    leases_each(e, leave, (void *)(uintptr_t)q);
}

void leases_check(const struct engine *e)
{
    line_check(&e->leases);
}

/* --- tokens -------------------------------------------------------------- */

static bool read_u32(const char **at, const char *end, uint32_t *out)
{
    const char *p = *at;
    uint64_t n = 0;
    while (p < end && *p >= '0' && *p <= '9' && n <= UINT32_MAX)
        n = n * 10 + (uint64_t)(*p++ - '0');
    if (p == *at || n > UINT32_MAX || (**at == '0' && p - *at > 1))
        return false;
    *at = p;
    *out = (uint32_t)n;
    return true;
}

bool token_parse(struct slice text, struct token *out)
{
    if (text.len < ID_TEXT_LEN + 4 || text.data[ID_TEXT_LEN] != '#' ||
        !id_parse(slice_of(text.data, ID_TEXT_LEN), &out->id))
        return false;
    const char *at = text.data + ID_TEXT_LEN + 1, *end = text.data + text.len;
    if (!read_u32(&at, end, &out->n) || at == end || *at++ != '.' ||
        !read_u32(&at, end, &out->e))
        return false;
    return at == end && out->n > 0;
}

size_t token_print(const struct id *id, uint32_t n, uint32_t e, char *out)
{
    id_text(id, out);
    char *at = out + ID_TEXT_LEN;
    *at++ = '#';
    at = digits_put(at, n);
    *at++ = '.';
    at = digits_put(at, e);
    return (size_t)(at - out);
}

/* Did the execution with this token end by `verb`? Then asking again gets the
 * same answer. */
static enum err ended(bool this_one, uint8_t last, enum verb verb,
                      enum err otherwise, struct errbuf *err)
{
    if (this_one && last == verb)
        return ERR_BUSY;
    if (otherwise == ERR_FINISHED)
        return err_set(err, ERR_FINISHED, "the job has already ended%s",
                       this_one ? ", by this lease" : "");
    return err_set(err, ERR_STALE,
                   this_one ? "this lease has already ended"
                            : "the lease is not the current one");
}

static enum err find_finished(struct engine *e, struct gather *g,
                              const struct token *t, enum verb verb,
                              struct errbuf *err)
{
    const struct recent *r = &e->recent[id_hash(&t->id) % RECENT_SIZE];
    if (r->n > 0 && id_eq(&r->id, &t->id)) /* an unused place is zeros */
        return ended(r->n == t->n && r->e == t->e, r->verb, verb, ERR_FINISHED,
                     err);
    uint32_t bucket;
    struct slice value;
    enum err rc = done_find(e, g, &t->id, &bucket, &value, err);
    if (rc != ERR_OK)
        return rc;
    struct rec_done d;
    struct rec_exec x = {0};
    struct rec_job job;
    struct rec_more m = {0};
    if (!rec_done_decode(&d, value) || !rec_job_decode(&job, d.job) ||
        (d.exec.len > 0 && !rec_exec_decode(&x, d.exec)) ||
        (job.more.len > 0 && !rec_more_decode(&m, job.more)))
        return err_set(err, ERR_CORRUPT, "family past: bad row of a job");
    /* One that ended while it waited remembers its last execution itself. */
    if (d.exec.len == 0)
        return ended(m.last_n == t->n && m.last_e == t->e, m.last_verb, verb,
                     ERR_FINISHED, err);
    return ended(x.n == t->n && d.e == t->e, x.verb, verb, ERR_FINISHED, err);
}

struct job *token_in_force(struct engine *e, const struct token *t)
{
    struct job *j = t->n == 0 ? NULL : job_get(e, &t->id);
    bool good =
        j != NULL && j->state == JOB_RUNNING && j->n == t->n && j->e == t->e;
    return good ? j : NULL;
}

enum err token_job(struct engine *e, struct gather *g, const struct token *t,
                   enum verb verb, struct job **out, struct errbuf *err)
{
    *out = NULL;
    if (t->n == 0)
        return err_set(err, ERR_SYNTAX,
                       "not a lease token: it looks like <id>#<n>.<e>");
    struct job *j = token_in_force(e, t);
    if (j != NULL) {
        *out = j;
        return ERR_OK;
    }
    enum err rc = job_load(e, g, &t->id, &j, err);
    if (rc == ERR_NOTFOUND) {
        rc = find_finished(e, g, t, verb, err);
        if (rc == ERR_NOTFOUND)
            return err_set(err, rc, "no such job");
        return rc;
    }
    if (rc != ERR_OK)
        return rc;
    struct rec_more m;
    job_more(j, &m);
    rc = ended(m.last_n == t->n && m.last_e == t->e, m.last_verb, verb,
               ERR_STALE, err);
    job_drop(e, j);
    return rc;
}

enum err token_find(struct engine *e, struct gather *g, struct slice text,
                    enum verb verb, struct job **out, struct errbuf *err)
{
    struct token t;
    if (!token_parse(text, &t))
        t.n = 0;
    return token_job(e, g, &t, verb, out, err);
}

/* --- begin and end ------------------------------------------------------- */

static void run_store(struct engine *e, const struct job *j, bool fresh)
{
    struct rec_run r = {
        .n = j->n,
        .e = j->e,
        .started_ms = j->started_ms,
        .lease_ms = j->lease_ms,
        .flags = j->run_flags,
        .worker = j->worker == NULL ? SLICE_EMPTY : j->worker->name,
        .session = j->session == NULL ? SLICE_EMPTY : j->session->name,
    };
    struct key k;
    rec_run_encode(&r, store_put(e->store, FAMILY_RUNS, key_run(&k, &j->id),
                                 rec_run_size(&r), fresh));
}

static uint64_t add_ms(uint64_t at, uint64_t ms)
{
    return ms > UINT64_MAX - at ? UINT64_MAX : at + ms;
}

static void set_deadline(struct job *j, struct now now)
{
    j->deadline_mono_ms = add_ms(now.mono_ms, j->lease_ms);
    j->reap_mono_ms = j->deadline_mono_ms < j->timeout_mono_ms
                          ? j->deadline_mono_ms
                          : j->timeout_mono_ms;
}

uint64_t lease_length(const struct engine *e, const struct job *j)
{
    if (j->own_lease_ms > 0)
        return j->own_lease_ms;
    if (j->queue->set.lease_ms > 0)
        return j->queue->set.lease_ms;
    return e->config.lease_ms;
}

void lease_begin(struct engine *e, struct job *j, uint64_t lease_ms,
                 struct slice worker, struct slice session, struct now now)
{
    ASSERT(!j->in_window);
    job_move(e, j, JOB_RUNNING);
    j->n++;
    j->e = e->start;
    j->started_ms = now.wall_ms;
    j->lease_ms = lease_ms;
    j->run_flags = 0;
    j->progress = 0;
    j->timeout_mono_ms = UINT64_MAX;
    if (j->timeout_ms > 0)
        j->timeout_mono_ms = add_ms(now.mono_ms, j->timeout_ms);
    if (worker.len > 0)
        worker_add(e, j, worker, now);
    if (session.len > 0)
        session_add(e, j, session, now);
    limits_hold(e, j, now);
    run_store(e, j, j->n == 1 && (j->flags & JOBF_MOVED) == 0);
    set_deadline(j, now);
    line_add(&e->leases, &j->by_deadline);
}

void lease_end(struct engine *e, struct job *j, struct now now)
{
    ASSERT(j->state == JOB_RUNNING);
    struct key k;
    store_del(e->store, FAMILY_RUNS, key_run(&k, &j->id));
    line_remove(&e->leases, &j->by_deadline);
    if (j->worker != NULL)
        worker_remove(e, j);
    if (j->session != NULL)
        session_remove(e, j);
    j->timeout_mono_ms = UINT64_MAX;
    limits_release(e, j, now);
}

void lease_renew(struct engine *e, struct job *j, uint64_t lease_ms,
                 struct now now)
{
    ASSERT(j->state == JOB_RUNNING);
    if (lease_ms > 0 && lease_ms != j->lease_ms) {
        j->lease_ms = lease_ms;
        run_store(e, j, false);
    }
    line_remove(&e->leases, &j->by_deadline);
    set_deadline(j, now);
    line_add(&e->leases, &j->by_deadline);
}

void lease_hold(struct engine *e, struct job *j, uint64_t ms, struct now now)
{
    ASSERT(j->state == JOB_RUNNING);
    uint64_t until = add_ms(now.mono_ms, ms);
    if (until > j->timeout_mono_ms)
        until = j->timeout_mono_ms;
    if (until <= j->reap_mono_ms)
        return;
    line_remove(&e->leases, &j->by_deadline);
    j->deadline_mono_ms = j->reap_mono_ms = until;
    line_add(&e->leases, &j->by_deadline);
}

void lease_cut(struct engine *e, struct job *j, struct now now)
{
    ASSERT(j->state == JOB_RUNNING);
    line_remove(&e->leases, &j->by_deadline);
    j->reap_mono_ms = now.mono_ms;
    line_add(&e->leases, &j->by_deadline);
}

void lease_store(struct engine *e, const struct job *j)
{
    run_store(e, j, false);
}

/* --- expiry -------------------------------------------------------------- */

/* Most jobs come back when their lease is lost: the rows that only an end needs
 * are not read when a worker with thousands of long payloads dies. */
static bool may_be_last(const struct engine *e, const struct job *j,
                        struct now now)
{
    return now.mono_ms >= j->timeout_mono_ms ||
           (j->run_flags & RUNF_CANCEL) != 0 ||
           j->crashes + 1 >= e->config.crashes_max;
}

bool lease_give_up(struct engine *e, struct job *j, struct now now)
{
    struct errbuf err;
    enum err rc = may_be_last(e, j, now)
                      ? finish_gather(e, e->timer_gather, j, 0, &err)
                      : ERR_OK;
    if (rc == ERR_PENDING) {
        timer_fetch(e);
        return false;
    }
    if (rc != ERR_OK)
        fault(e, now, &err); /* its rows are damaged; the lease ends */
    if (now.mono_ms >= j->timeout_mono_ms) {
        struct outcome o = {.verb = VERB_TIMEOUT,
                            .reason = REASON_ERROR,
                            .error = SLICE_LIT("run-time limit passed"),
                            .type = SLICE_LIT("timeout")};
        if (handler_says_permanent(j, o.type))
            o.reason = REASON_PERMANENT;
        execution_failed(e, e->timer_gather, j, &o, false, 0, now);
    } else {
        execution_lost(e, e->timer_gather, j, now);
    }
    return true;
}

/* Ends what has expired; an end that misses rows waits for them. */
bool lease_reap(struct engine *e, struct now now, uint32_t ops)
{
    struct job *j;
    for (bool any = false; (j = table_first(e)) != NULL; any = true) {
        if (j->reap_mono_ms > now.mono_ms)
            return false;
        if (ops-- == 0 || (any && slice_full(e)))
            return true;
        if (!lease_give_up(e, j, now))
            return false;
    }
    return false;
}

uint64_t lease_next_ms(const struct engine *e)
{
    const struct job *j = table_first(e);
    return j == NULL ? UINT64_MAX : j->reap_mono_ms;
}

/* --- start --------------------------------------------------------------- */

/* Every lease gets its full length again; a time limit has what the wall clock
 * leaves, at least one lease length. */
enum err lease_load_row(struct engine *e, struct slice key, struct slice value,
                        struct now now, struct errbuf *err)
{
    struct id id;
    struct rec_run r;
    struct job *j;
    if (!key_parse_id(key, &id) || !rec_run_decode(&r, value))
        return err_set(err, ERR_CORRUPT, "family runs: bad row of a lease");
    /* The slices of `r` end with the next read. */
    struct buf worker = {0}, session = {0};
    buf_add_slice(&worker, r.worker);
    buf_add_slice(&session, r.session);
    enum err rc = job_load_leased(e, &id, &j, err);
    if (rc == ERR_NOTFOUND)
        rc = err_set(err, ERR_CORRUPT, "family runs: a lease without its job");
    if (rc != ERR_OK)
        goto out;
    j->state = JOB_RUNNING; /* it is counted as running */
    j->n = r.n;
    j->e = r.e;
    j->started_ms = r.started_ms;
    j->lease_ms = r.lease_ms;
    j->run_flags = r.flags;
    struct rec_more m;
    job_more(j, &m);
    if (m.timeout_ms > 0) {
        uint64_t ran =
            now.wall_ms > r.started_ms ? now.wall_ms - r.started_ms : 0;
        uint64_t left = m.timeout_ms > ran ? m.timeout_ms - ran : 0;
        j->timeout_mono_ms =
            add_ms(now.mono_ms, left > r.lease_ms ? left : r.lease_ms);
    }
    if (worker.len > 0)
        worker_add(e, j, buf_slice(&worker), now);
    if (session.len > 0) {
        session_add(e, j, buf_slice(&session), now);
        session_grant(e, j->session, add_ms(now.mono_ms, r.lease_ms));
    }
    breaker_lease_loaded(j);
    set_deadline(j, now);
    line_add(&e->leases, &j->by_deadline);
    limits_held(e, j);
out:
    buf_release(&worker);
    buf_release(&session);
    return rc;
}
