#include "model_impl.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/assert.h"

struct model *model_new(uint32_t jobs, uint64_t keep_ms, uint32_t crashes_max,
                        uint64_t crash_window_ms, uint64_t set_ms,
                        uint64_t slack_ms)
{
    struct model *m = NEW(struct model);
    m->jobs = mem_zalloc(jobs * sizeof(*m->jobs));
    m->line = model_line_new(jobs);
    m->jobs_n = jobs;
    m->set_ms = set_ms;
    m->slack_ms = slack_ms;
    m->keep_ms = keep_ms;
    m->crashes_max = crashes_max;
    m->crash_window_ms = crash_window_ms;
    return m;
}

void model_free(struct model **m)
{
    mem_free((*m)->jobs);
    mem_free((*m)->line);
    mem_free((*m)->by_id);
    mem_free((*m)->undo);
    FREE(m);
}

uint32_t model_jobs(const struct model *m)
{
    return m->jobs_n;
}

const struct mjob *model_job(const struct model *m, uint32_t k)
{
    ASSERT(k < m->jobs_n);
    return &m->jobs[k];
}

bool model_is_none(const struct model *m, uint32_t k)
{
    return k >= m->jobs_n || m->jobs[k].state == M_NONE;
}

bool model_is_live(const struct model *m, uint32_t k)
{
    return model_lives(model_job(m, k));
}

static void index_put(struct model *m, uint32_t k)
{
    uint64_t at = id_hash(&m->jobs[k].id);
    while (m->by_id[at & (m->by_id_n - 1)] != 0)
        at++;
    m->by_id[at & (m->by_id_n - 1)] = k + 1;
    m->by_id_used++;
}

static void index_add(struct model *m, uint32_t k)
{
    if (2 * (m->by_id_used + 1) > m->by_id_n) {
        m->by_id_n = m->by_id_n == 0 ? 1024 : m->by_id_n * 2;
        mem_free(m->by_id);
        m->by_id = mem_zalloc(m->by_id_n * sizeof(*m->by_id));
        m->by_id_used = 0;
        for (uint32_t i = 0; i < m->jobs_n; i++)
            if (m->jobs[i].state != M_NONE && i != k)
                index_put(m, i);
    }
    index_put(m, k);
}

bool model_find(const struct model *m, const struct id *id, uint32_t *k)
{
    uint32_t number;
    for (uint64_t at = id_hash(id);
         m->by_id_n > 0 && (number = m->by_id[at & (m->by_id_n - 1)]) != 0;
         at++) {
        const struct mjob *j = &m->jobs[number - 1];
        if (j->state != M_NONE && id_eq(&j->id, id)) {
            *k = number - 1;
            return true;
        }
    }
    return false;
}

void model_clock(struct model *m, struct now now)
{
    if (m->wall_max_ms < now.wall_ms)
        m->wall_max_ms = now.wall_ms;
    if (now.wall_ms + CORRECTED_MS < m->clock_ms)
        m->clock++; /* it was set: until it is there again, all may be */
    if (m->clock_ms < now.wall_ms)
        m->clock_ms = now.wall_ms;
}

static void grow(struct model *m)
{
    struct mjob *jobs = mem_zalloc(2 * m->jobs_n * sizeof(*jobs));
    memcpy(jobs, m->jobs, m->jobs_n * sizeof(*jobs));
    mem_free(m->jobs);
    m->jobs = jobs;
    uint64_t *line = model_line_new(2 * m->jobs_n);
    memcpy(line, m->line, (m->jobs_n / 64 + 1) * sizeof(*line));
    mem_free(m->line);
    m->line = line;
    m->jobs_n *= 2;
}

/* --- changes that can be taken back -------------------------------------- */

struct mjob *model_change(struct model *m, uint32_t k)
{
    ASSERT(k < m->jobs_n);
    if (m->tail == m->cap) {
        size_t used = m->tail - m->head;
        if (m->head > 0 && used < m->cap / 2) {
            memmove(m->undo, m->undo + m->head, used * sizeof(*m->undo));
        } else {
            size_t cap = m->cap == 0 ? 256 : m->cap * 2;
            struct was *grown = mem_alloc(cap * sizeof(*grown));
            if (used > 0)
                memcpy(grown, m->undo + m->head, used * sizeof(*grown));
            mem_free(m->undo);
            m->undo = grown;
            m->cap = cap;
        }
        m->head = 0;
        m->tail = used;
    }
    m->undo[m->tail++] = (struct was){0, k, m->jobs[k]};
    return &m->jobs[k];
}

void model_become(struct model *m, struct mjob *j, enum mstate state)
{
    bool lived = model_lives(j);
    m->live -= lived;
    j->state = state;
    m->live += model_lives(j);
    if (lived && !model_lives(j)) {
        j->ends++;
        j->over = state;
    }
    j->completed += state == M_COMPLETED;
    j->failed += state == M_FAILED;
}

void model_end(struct model *m, struct mjob *j, enum mstate state, uint8_t verb,
               struct now now)
{
    model_become(m, j, state);
    j->cancelling = false;
    j->tried |= verb != 'r';
    if (j->expires_at_ms <= now.wall_ms)
        j->expires_at_ms = 0; /* it ran by then: it is in time for good */
    j->ended = j->delivery;
    j->ended_by = verb;
    j->finished_ms = now.wall_ms;
}

void model_committed(struct model *m, uint64_t index)
{
    for (size_t i = m->tail; i > m->head && m->undo[i - 1].index == 0; i--)
        m->undo[i - 1].index = index;
}

void model_durable(struct model *m, uint64_t index)
{
    while (m->head < m->tail && m->undo[m->head].index != 0 &&
           m->undo[m->head].index <= index)
        m->head++;
}

/* What the wall clock leaves of it, but a lease's length at least. */
static void timeout_again(struct mjob *j, struct now now)
{
    uint64_t ran =
        now.wall_ms > j->started_ms ? now.wall_ms - j->started_ms : 0;
    uint64_t left = j->timeout_ms > ran ? j->timeout_ms - ran : 0;
    j->timeout_at_ms = now.mono_ms + (left > j->lease_ms ? left : j->lease_ms);
}

void model_crashed(struct model *m, uint64_t index, uint64_t crash_mono_ms,
                   struct now now)
{
    while (m->tail > m->head && (m->undo[m->tail - 1].index == 0 ||
                                 m->undo[m->tail - 1].index > index)) {
        const struct was *u = &m->undo[--m->tail];
        m->live -= model_lives(&m->jobs[u->k]);
        m->jobs[u->k] = u->job;
        m->live += model_lives(&m->jobs[u->k]);
        if (u->job.in_line)
            model_line_add(m, u->k);
    }
    m->head = m->tail;
    m->clock++;
    m->clock_ms = now.wall_ms;
    for (uint32_t k = 0; k < m->jobs_n; k++) {
        struct mjob *j = &m->jobs[k];
        if (j->state == M_RUNNING && j->lease_end_ms > crash_mono_ms)
            j->lease_end_ms = now.mono_ms + j->lease_ms;
        if (j->state == M_RUNNING && j->timeout_ms > 0)
            timeout_again(j, now);
    }
}

/* --- rules --------------------------------------------------------------- */

/* --- rules --------------------------------------------------------------- */

const char *model_added(struct model *m, uint32_t k, const struct id *id,
                        uint8_t queue, uint32_t payload, uint32_t retries,
                        uint64_t not_before_ms, enum job_state state,
                        struct now now)
{
    if (k == m->jobs_n)
        grow(m);
    if (m->jobs[k].state != M_NONE)
        return "a job was added twice";
    bool later = not_before_ms > now.wall_ms;
    if (state != (later ? JOB_SCHEDULED : JOB_READY))
        return "a new job is in the wrong state";
    struct mjob *j = model_change(m, k);
    *j = (struct mjob){.id = *id,
                       .queue = queue,
                       .era = m->eras[queue],
                       .retries = retries,
                       .payload = payload,
                       .not_before_ms = not_before_ms,
                       .stands_ms = not_before_ms};
    model_become(m, j, M_WAITING);
    index_add(m, k);
    return NULL;
}

void model_described(struct model *m, uint32_t k, uint8_t owner,
                     uint8_t handler, uint32_t gates, uint32_t cost)
{
    m->jobs[k].owner = owner;
    m->jobs[k].handler = handler;
    m->jobs[k].gates = gates;
    m->jobs[k].cost = cost;
}

void model_keyed(struct model *m, uint32_t k, const struct key_use *use)
{
    m->jobs[k].use = *use;
    m->jobs[k].holds = use->unique > 0 && use->for_ms == 0;
}

void model_holds(struct model *m, uint32_t k, bool holds)
{
    model_change(m, k)->holds = holds;
}

bool model_maybe_forgotten(const struct model *m, uint32_t k)
{
    return m->wall_max_ms >= m->jobs[k].finished_ms + m->keep_ms;
}

uint64_t model_wall_max(const struct model *m)
{
    return m->wall_max_ms;
}

/* It is new work, but keeps its id, its deliveries, and that it is held. */
const char *model_replaced(struct model *m, uint32_t k, uint32_t payload,
                           uint32_t retries, uint64_t not_before_ms,
                           enum job_state state, struct now now)
{
    struct mjob *j = &m->jobs[k];
    bool later = not_before_ms > now.wall_ms;
    if (j->state != M_WAITING)
        return "a job was replaced that does not wait";
    if (state != (j->held ? JOB_HELD : later ? JOB_SCHEDULED : JOB_READY))
        return "a replaced job is in the wrong state";
    j = model_change(m, k);
    j->payload = payload;
    j->retries = retries;
    j->failures = 0;
    j->checkpoint = j->progress = 0;
    j->effects = 0;
    j->ended = 0;
    j->in_line = j->tried = false;
    j->expires_ms = j->deadline_ms = j->expires_at_ms = j->deadline_at_ms = 0;
    j->timeout_ms = 0;
    j->not_before_ms = j->stands_ms = not_before_ms;
    memset(j->crashed_ms, 0, sizeof(j->crashed_ms));
    return NULL;
}

void model_scheduled(struct model *m, uint32_t k, uint32_t schedule)
{
    m->jobs[k].schedule = (uint8_t)(schedule + 1);
}

void model_ended(const struct model *m, uint32_t schedule, uint64_t *completed,
                 uint64_t *failed)
{
    *completed = *failed = 0;
    for (uint32_t k = 0; k < m->jobs_n; k++)
        if (m->jobs[k].schedule == schedule + 1) {
            *completed += m->jobs[k].completed;
            *failed += m->jobs[k].failed;
        }
}

const char *model_leased(struct model *m, uint32_t k,
                         const struct lease_view *v, struct now now)
{
    if (k >= m->jobs_n || m->jobs[k].state == M_NONE)
        return "a job was leased that nobody added";
    const struct mjob *was = &m->jobs[k];
    if (!id_eq(&was->id, &v->id))
        return "a job was leased under another id";
    if (!model_lives(was))
        return "a finished job was leased";
    if (was->state == M_RUNNING && !model_lease_over(was, now))
        return "a job was leased while its lease was in force";
    if (was->held)
        return "a held job was leased";
    if (was->cancelling)
        return "a job that was told to stop was leased again";
    if (was->state == M_WAITING && was->not_before_ms > m->wall_max_ms)
        return "a job was leased before its time";
    if (model_is_late(m, k, now))
        return "a job was leased whose time is over";
    if (v->delivery <= was->delivery)
        return "the delivery number did not grow";
    if (model_passes(m, k, true))
        return "a job was leased before an older one";
    struct mjob *j = model_change(m, k);
    j->share = model_share(m, j);
    j->in_line = false;
    j->let_go = j->holds && j->use.waiting;
    if (j->use.waiting)
        j->holds = false;
    if (j->state == M_RUNNING) {
        model_crash_of(j, now);
        if (model_crashes_since(j, now.wall_ms - m->crash_window_ms +
                                       m->set_ms) >= m->crashes_max)
            return "a poisonous job was leased again";
    }
    if (v->failures != j->failures)
        return "the number of failures is wrong";
    model_become(m, j, M_RUNNING);
    j->session = j->worker = 0;
    j->again = false;
    j->delivery = v->delivery;
    j->lease_ms = v->lease_ms;
    j->leased_at_ms = now.mono_ms;
    j->started_ms = now.wall_ms;
    j->timeout_at_ms = j->timeout_ms == 0 ? 0 : now.mono_ms + j->timeout_ms;
    j->lease_end_ms = now.mono_ms + v->lease_ms;
    return NULL;
}

void model_under(struct model *m, uint32_t k, uint8_t session, uint8_t worker)
{
    m->jobs[k].session = session;
    m->jobs[k].worker = worker;
}

void model_under_breaker(struct model *m, uint32_t k, uint32_t trips,
                         bool probe)
{
    m->jobs[k].trips = trips;
    m->jobs[k].probe = probe;
}

void model_leased_again(struct model *m, uint32_t k)
{
    model_change(m, k)->again = true;
}

const char *model_seen(struct model *m, uint32_t k, enum err rc,
                       const struct job_view *v, struct now now)
{
    const struct mjob *j = &m->jobs[k];
    if (rc == ERR_NOTFOUND) {
        if (j->state == M_NONE || j->state == M_ERASED)
            return NULL;
        if (j->cancelling && m->wall_max_ms >= j->told_ms + m->keep_ms) {
            model_end(m, model_change(m, k), M_CANCELLED, 'c', now);
            return NULL;
        }
        /* What ends by poison keeps its own, longer retention. */
        if (!model_lives(j) && m->wall_max_ms >= j->finished_ms + m->keep_ms)
            return NULL;
        return "a job is missing";
    }
    if (rc != ERR_OK)
        return "a job cannot be read";
    if (j->state == M_NONE)
        return "a job is there that nobody added";
    if (j->state == M_ERASED)
        return "a job is there that was deleted";
    bool over = v->state == JOB_COMPLETED || v->state == JOB_FAILED ||
                v->state == JOB_CANCELLED || v->state == JOB_EXPIRED;
    switch (j->state) {
    case M_COMPLETED:
        return v->state == JOB_COMPLETED ? NULL : "a completed job is not";
    case M_FAILED:
        return v->state == JOB_FAILED ? NULL : "a failed job is not";
    case M_CANCELLED:
        return v->state == JOB_CANCELLED ? NULL : "a cancelled job is not";
    case M_EXPIRED:
        return v->state == JOB_EXPIRED ? NULL : "an expired job is not";
    case M_WAITING:
        if (j->held != (v->state == JOB_HELD))
            return "a job is held, or is not, against what was said";
        return over || v->state == JOB_RUNNING ? "a waiting job is not" : NULL;
    case M_RUNNING:
        if (j->cancelling && model_overdue(m, j, now) &&
            v->state == JOB_CANCELLED) {
            struct mjob *c = model_change(m, k);
            model_end(m, c, M_CANCELLED, 'c', now);
            c->finished_ms = v->finished_ms;
            return NULL;
        }
        if (!model_overdue(m, j, now))
            return v->state == JOB_RUNNING ? NULL : "a leased job is not";
        if (v->state == JOB_FAILED && model_maybe_poison(m, j, now)) {
            model_end(m, model_change(m, k), M_FAILED, 'p', now);
            return NULL;
        }
        return over ? "a job that was lost has ended" : NULL;
    case M_NONE:
    case M_ERASED:
        break;
    }
    return NULL;
}

uint32_t model_live(const struct model *m)
{
    return m->live;
}
