/* Live jobs: each stands in one place, and all are counted. */
#include "engine/audit.h"

#include <stdarg.h>
#include <stdio.h>

#include "store/entry.h"
#include "store/offline.h"

#define CHUNK 1024
#define CHUNK_LARGE 64 /* of families whose rows may be payloads */

/* --- findings ------------------------------------------------------------ */

void audit_tell(struct audit *a, enum family f, struct slice key,
                const char *fmt, ...)
{
    char text[512];
    va_list args;
    if (a->rc != ERR_OK)
        return;
    int n = snprintf(text, sizeof(text), "family %s%s%s: ", family_name(f),
                     key.len > 0 ? ", row " : "",
                     key.len > 0 ? offline_hex(key) : "");
    va_start(args, fmt);
    vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, args);
    va_end(args);
    for (char *c = text; *c != '\0'; c++) /* clients choose names */
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    a->told++;
    a->tell(a->ud, text);
}

const char *audit_id(const struct id *id)
{
    static char text[2][ID_TEXT_LEN + 1];
    static unsigned turn;
    char *to = text[turn++ % 2];
    id_text(id, to);
    to[ID_TEXT_LEN] = '\0';
    return to;
}

/* --- rows ---------------------------------------------------------------- */

struct walk {
    struct audit *a;
    audit_fn fn;
};

static bool step(struct slice key, struct slice value, void *ud)
{
    const struct walk *w = ud;
    w->fn(w->a, key, value);
    return w->a->rc == ERR_OK;
}

void audit_each(struct audit *a, enum family f, audit_fn fn)
{
    bool large = f == FAMILY_BODIES || f == FAMILY_PAST;
    struct walk w = {a, fn};
    if (a->rc != ERR_OK)
        return;
    enum err rc = store_walk(a->e->store, f, large ? CHUNK_LARGE : CHUNK, step,
                             NULL, &w, a->err);
    a->rc = a->rc == ERR_OK ? rc : a->rc;
}

bool audit_row(struct audit *a, enum family f, struct slice key,
               struct slice *value)
{
    enum err rc = store_get(a->e->store, NULL, f, key, value, a->err);
    if (rc != ERR_OK && rc != ERR_NOTFOUND && a->rc == ERR_OK)
        a->rc = rc;
    return rc == ERR_OK;
}

bool audit_there(struct audit *a, enum family f, struct slice key)
{
    struct slice value;
    return audit_row(a, f, key, &value);
}

struct queue *audit_queue(const struct audit *a, uint32_t id)
{
    return id < a->e->queues_n ? a->e->queues[id] : NULL;
}

bool audit_runs(const struct audit *a, const struct id *id)
{
    const struct job *j = job_get(a->e, id);
    return j != NULL && j->state == JOB_RUNNING;
}

bool audit_job_row(struct slice value, struct rec_job *r, struct rec_more *m)
{
    memset(m, 0, sizeof(*m));
    return rec_job_decode(r, value) && r->state != 0 &&
           r->state <= JOB_RUNNING &&
           (r->more.len == 0 || rec_more_decode(m, r->more));
}

bool audit_job(struct audit *a, const struct id *id, struct rec_job *r,
               struct rec_more *m)
{
    struct slice value;
    struct key k;
    return audit_row(a, FAMILY_JOBS, key_job(&k, id), &value) &&
           audit_job_row(value, r, m) && audit_queue(a, r->queue) != NULL;
}

/* --- a job's place ------------------------------------------------------- */

static bool is_delayed(const struct rec_job *r)
{
    return r->state == JOB_SCHEDULED || r->state == JOB_RETRYING;
}

bool audit_is_ready(struct audit *a, const struct id *id,
                    const struct rec_job *r)
{
    struct key k;
    return audit_there(a, FAMILY_READY,
                       key_ready(&k, r->queue, r->lane, r->order, id));
}

static bool is_due(struct audit *a, const struct id *id,
                   const struct rec_job *r)
{
    struct key k;
    return is_delayed(r) &&
           audit_there(a, FAMILY_DUE,
                       key_due(&k, r->since_ms, DUE_READY, id_slice(id)));
}

/* Under which of its names? */
static bool is_parked(struct audit *a, const struct id *id,
                      const struct rec_job *r, const struct rec_more *m,
                      struct park_name *name)
{
    if ((r->flags & (JOBF_LIMITS | JOBF_OWNED)) == 0)
        return false;
    struct park_place p = {id, r->lane, r->order};
    enum err rc = park_look(a->e, NULL, &p, m, name, a->err);
    if (rc != ERR_OK && rc != ERR_NOTFOUND && a->rc == ERR_OK)
        a->rc = rc;
    return rc == ERR_OK;
}

/* Where it stands if it is not ready; if it does not (*stands), where it
 * should. */
static enum job_state place_of(struct audit *a, const struct id *id,
                               const struct rec_job *r,
                               const struct rec_more *m, bool *stands)
{
    struct park_name name;
    struct key k;
    *stands = true;
    if (audit_runs(a, id)) {
        *stands = audit_there(a, FAMILY_RUNS, key_run(&k, id));
        return JOB_RUNNING;
    }
    if (is_due(a, id, r))
        return (enum job_state)r->state;
    if (is_parked(a, id, r, m, &name))
        return JOB_PARKED;
    *stands = r->state == JOB_BLOCKED || r->state == JOB_HELD;
    return r->state == JOB_PARKED ? JOB_READY : (enum job_state)r->state;
}

/* It stands nowhere. */
static void tell_missing(struct audit *a, const struct id *id,
                         const struct rec_job *r, enum job_state state)
{
    const struct queue *q = audit_queue(a, r->queue);
    struct key k;
    if (state == JOB_READY)
        audit_tell(
            a, FAMILY_READY, key_ready(&k, r->queue, r->lane, r->order, id),
            "is missing: job %s is ready in queue %.*s, and has neither this "
            "place nor another",
            audit_id(id), SLICE_FMT(q->name));
    else if (state == JOB_RUNNING)
        audit_tell(a, FAMILY_RUNS, key_run(&k, id),
                   "is missing: job %s of queue %.*s is running", audit_id(id),
                   SLICE_FMT(q->name));
    else
        audit_tell(a, FAMILY_DUE,
                   key_due(&k, r->since_ms, DUE_READY, id_slice(id)),
                   "is missing: job %s of queue %.*s is %s, and has neither "
                   "this time nor a place",
                   audit_id(id), SLICE_FMT(q->name), job_state_name(state));
}

static void look_at_place(struct audit *a, const struct id *id,
                          const struct rec_job *r, const struct rec_more *m)
{
    const struct job *j = job_get(a->e, id);
    const struct queue *q = audit_queue(a, r->queue);
    const struct lane *l = lane_by_id(a->e, r->lane);
    bool run = audit_runs(a, id);
    struct key k;
    if (!run && row_purged(q, r->lane))
        return; /* its rows wait for the chore */
    a->jobs++;
    bool ready = audit_is_ready(a, id, r), stands = ready && !run;
    a->has_ready.n += ready && !row_purged(q, r->lane);
    enum job_state state = stands ? JOB_READY : place_of(a, id, r, m, &stands);
    a->counts[r->queue * JOB_STATES + state]++;
    if (!stands)
        tell_missing(a, id, r, state);
    if (run && ready)
        audit_tell(a, FAMILY_READY,
                   key_ready(&k, r->queue, r->lane, r->order, id),
                   "job %s of queue %.*s stands in two places: it is leased, "
                   "and ready",
                   audit_id(id), SLICE_FMT(q->name));
    if (!run && (l == NULL || l->queue != q))
        audit_tell(a, FAMILY_JOBS, id_slice(id),
                   "job %s of queue %.*s is in lane %u, which family named "
                   "does not have there",
                   audit_id(id), SLICE_FMT(q->name), (unsigned)r->lane);
    if (j != NULL && j->state != state)
        audit_tell(a, FAMILY_JOBS, id_slice(id),
                   "memory and rows disagree about the state of job %s: %s, %s",
                   audit_id(id), job_state_name((enum job_state)j->state),
                   job_state_name(state));
}

static void count_owner(struct audit *a, const struct id *id,
                        const struct rec_job *r, const struct rec_more *m)
{
    if ((r->flags & JOBF_OWNED) == 0)
        return;
    if (m->owner < a->e->owners_n && a->e->owners[m->owner] != NULL)
        a->owners[m->owner]++;
    else
        audit_tell(a, FAMILY_JOBS, id_slice(id),
                   "job %s is of owner %u, whom family named does not have",
                   audit_id(id), (unsigned)m->owner);
}

static void look_at_job(struct audit *a, struct slice key, struct slice value)
{
    struct id id;
    struct rec_job r;
    struct rec_more m;
    if (!key_parse_id(key, &id) || !audit_job_row(value, &r, &m)) {
        audit_tell(a, FAMILY_JOBS, key, "a job's row that cannot be read");
        return;
    }
    if (audit_queue(a, r.queue) == NULL) {
        audit_tell(a, FAMILY_JOBS, key,
                   "job %s is of queue %u, which family named does not have",
                   audit_id(&id), (unsigned)r.queue);
        return;
    }
    count_owner(a, &id, &r, &m);
    a->has_body.n += (r.flags & JOBF_BODY) != 0;
    audit_job_keys(a, &id, &r, &m);
    look_at_place(a, &id, &r, &m);
}

/* --- places -------------------------------------------------------------- */

static void look_at_ready(struct audit *a, struct slice key, struct slice value)
{
    struct ready_key k;
    struct rec_ready ready;
    if (!key_parse_ready(key, &k) || !rec_ready_decode(&ready, value)) {
        audit_tell(a, FAMILY_READY, key, "a place that cannot be read");
        return;
    }
    const struct queue *q = audit_queue(a, k.queue);
    a->ready.n += q == NULL || !row_purged(q, k.lane);
}

/* There are more places than jobs that know of theirs. */
static void find_lone_ready(struct audit *a, struct slice key,
                            struct slice value)
{
    struct ready_key k;
    struct rec_job r;
    struct rec_more m;
    (void)value;
    if (!key_parse_ready(key, &k))
        return;
    const struct queue *q = audit_queue(a, k.queue);
    if (q != NULL && row_purged(q, k.lane))
        return;
    if (!audit_job(a, &k.id, &r, &m))
        audit_tell(a, FAMILY_READY, key, "a place without its job: %s",
                   audit_id(&k.id));
    else if (r.queue != k.queue || r.lane != k.lane || r.order != k.order)
        audit_tell(a, FAMILY_READY, key,
                   "a place of job %s, whose row says another: queue %u, lane "
                   "%u, order %llu",
                   audit_id(&k.id), (unsigned)r.queue, (unsigned)r.lane,
                   (unsigned long long)r.order);
}

static void look_at_parked(struct audit *a, struct slice key,
                           struct slice value)
{
    struct parked_key k;
    struct rec_parked parked;
    struct park_name name;
    struct rec_job r;
    struct rec_more m;
    if (!key_parse_parked(key, &k) || !rec_parked_decode(&parked, value)) {
        audit_tell(a, FAMILY_PARKED, key, "a place that cannot be read");
        return;
    }
    if (!audit_job(a, &k.id, &r, &m)) {
        audit_tell(a, FAMILY_PARKED, key, "a place without its job: %s",
                   audit_id(&k.id));
        return;
    }
    if (r.lane != k.lane || r.order != k.order)
        audit_tell(a, FAMILY_PARKED, key,
                   "a place of job %s, whose row says another: lane %u, order "
                   "%llu",
                   audit_id(&k.id), (unsigned)r.lane,
                   (unsigned long long)r.order);
    else if (audit_runs(a, &k.id) || audit_is_ready(a, &k.id, &r) ||
             is_due(a, &k.id, &r))
        audit_tell(a, FAMILY_PARKED, key,
                   "job %s stands in two places: parked under %.*s, and %s",
                   audit_id(&k.id), SLICE_FMT(k.limit),
                   audit_runs(a, &k.id)           ? "leased"
                   : audit_is_ready(a, &k.id, &r) ? "ready"
                                                  : "due");
    else if (!is_parked(a, &k.id, &r, &m, &name) ||
             !slice_eq(slice_of(name.text, name.len), k.limit))
        audit_tell(a, FAMILY_PARKED, key,
                   "job %s is parked under %.*s, which is not its name, or "
                   "under another as well",
                   audit_id(&k.id), SLICE_FMT(k.limit));
}

static void look_at_run(struct audit *a, struct slice key, struct slice value)
{
    struct id id;
    struct rec_run r;
    if (!key_parse_id(key, &id) || !rec_run_decode(&r, value))
        audit_tell(a, FAMILY_RUNS, key, "a lease that cannot be read");
    else if (!audit_runs(a, &id))
        audit_tell(a, FAMILY_RUNS, key,
                   "a lease of job %s that the table does not know",
                   audit_id(&id));
}

/* --- bodies -------------------------------------------------------------- */

/* What lies beside a job belongs to one that lives. */
static void look_at_body(struct audit *a, struct slice key, struct slice value)
{
    struct body_key b;
    (void)value;
    if (!key_parse_body(key, &b)) {
        audit_tell(a, FAMILY_BODIES, key, "is no key of a body");
        return;
    }
    if (!id_eq(&b.id, &a->body_of)) {
        struct rec_job r;
        struct rec_more m;
        a->body_of = b.id;
        a->body_lives = audit_job(a, &b.id, &r, &m);
        a->body_has_payload = a->body_lives && (r.flags & JOBF_BODY) != 0;
    }
    if (!a->body_lives)
        audit_tell(a, FAMILY_BODIES, key, "a body without its job: %s",
                   audit_id(&b.id));
    a->body.n += a->body_has_payload && b.part == BODY_PAYLOAD && b.n == 0;
}

/* Fewer payloads than jobs that have one. */
static void find_lost_body(struct audit *a, struct slice key,
                           struct slice value)
{
    struct id id;
    struct rec_job r;
    struct rec_more m;
    struct key k;
    if (!key_parse_id(key, &id) || !audit_job_row(value, &r, &m) ||
        (r.flags & JOBF_BODY) == 0)
        return;
    if (!audit_there(a, FAMILY_BODIES, key_body(&k, &id, BODY_PAYLOAD, 0)))
        audit_tell(a, FAMILY_BODIES, key_slice(&k),
                   "is missing: the payload of job %s", audit_id(&id));
}

/* --- counters ------------------------------------------------------------ */

static void compare_counts(struct audit *a)
{
    struct engine *e = a->e;
    for (uint32_t i = 0; i < e->queues_n; i++) {
        const struct queue *q = e->queues[i];
        for (unsigned s = 1; q != NULL && s < JOB_STATES; s++) {
            uint64_t rows = a->counts[i * JOB_STATES + s];
            if (rows != q->counts[s])
                audit_tell(a, s <= JOB_RUNNING ? FAMILY_NAMED : FAMILY_DONE,
                           SLICE_EMPTY,
                           "queue %.*s counts %llu %s jobs; the rows say %llu",
                           SLICE_FMT(q->name), (unsigned long long)q->counts[s],
                           job_state_name((enum job_state)s),
                           (unsigned long long)rows);
        }
    }
    for (uint32_t i = 0; i < e->owners_n; i++)
        if (e->owners[i] != NULL && owner_live(e, i) != a->owners[i])
            audit_tell(a, FAMILY_NAMED, SLICE_EMPTY,
                       "owner %.*s counts %llu live jobs; the rows say %llu",
                       SLICE_FMT(e->owners[i]->name),
                       (unsigned long long)owner_live(e, i),
                       (unsigned long long)a->owners[i]);
    if (a->jobs != e->stats.jobs_live)
        audit_tell(a, FAMILY_JOBS, SLICE_EMPTY,
                   "%llu jobs live; all queues together count %llu",
                   (unsigned long long)a->jobs,
                   (unsigned long long)e->stats.jobs_live);
}

static void look_at_schedules(struct audit *a)
{
    struct errbuf why;
    enum err rc = a->rc == ERR_OK ? schedules_check(a->e, &why) : ERR_OK;
    if (rc == ERR_INTERNAL)
        audit_tell(a, FAMILY_NAMED, SLICE_EMPTY, "%s", why.text);
    else if (rc != ERR_OK)
        a->rc = err_set(a->err, rc, "%s", why.text);
}

enum err engine_audit(struct engine *e, engine_finding_fn tell, void *ud,
                      struct errbuf *err)
{
    struct audit a = {.e = e, .tell = tell, .ud = ud, .err = err};
    CHECK_OBJ(e, ENGINE);
    index_settle(e);
    a.counts = mem_zalloc((e->queues_n + 1) * JOB_STATES * sizeof(uint64_t));
    a.owners = mem_zalloc((e->owners_n + 1) * sizeof(uint64_t));
    audit_each(&a, FAMILY_JOBS, look_at_job);
    audit_each(&a, FAMILY_READY, look_at_ready);
    if (a.ready.n != a.has_ready.n)
        audit_each(&a, FAMILY_READY, find_lone_ready);
    audit_each(&a, FAMILY_PARKED, look_at_parked);
    audit_each(&a, FAMILY_RUNS, look_at_run);
    audit_each(&a, FAMILY_BODIES, look_at_body);
    if (a.body.n != a.has_body.n)
        audit_each(&a, FAMILY_JOBS, find_lost_body);
    audit_done(&a);
    audit_keys(&a);
    look_at_schedules(&a);
    if (a.rc == ERR_OK)
        compare_counts(&a);
    mem_free(a.counts);
    mem_free(a.owners);
    buf_release(&a.reserved);
    return a.rc;
}
