#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/assert.h"

#define CORRECTED_MS 60000 /* a clock goes back by less: it is corrected */
#define LINE_MAX 256       /* so many jobs back the order is looked at */

struct undo {
    uint64_t index; /* 0: the open entry */
    uint32_t k;
    struct mjob was;
};

struct model {
    struct mjob *jobs;
    uint32_t jobs_n, live;
    /* A bit for each job that may stand in line; those that do not any more are
     * cleared when somebody looks. */
    uint64_t *line;
    /* Numbers of jobs by the hash of their ids, and 1. Those of jobs that were
     * never born stay until the table grows: an id is never given again. */
    uint32_t *by_id;
    uint32_t by_id_n, by_id_used; /* size: a power of two */
    uint64_t keep_ms, crash_window_ms, set_ms, slack_ms, wall_max_ms;
    uint32_t crashes_max;
    uint64_t arrivals;
    uint32_t clock; /* grows when arrivals begin to be ordered anew */
    uint64_t clock_ms;
    struct undo *undo; /* a ring would do; a queue with a head is simpler */
    size_t head, tail, cap;
};

static uint64_t *line_new(uint32_t jobs)
{
    return mem_zalloc((jobs / 64 + 1) * sizeof(uint64_t));
}

static void line_add(struct model *m, uint32_t k)
{
    m->line[k / 64] |= (uint64_t)1 << k % 64;
}

struct model *model_new(uint32_t jobs, uint64_t keep_ms, uint32_t crashes_max,
                        uint64_t crash_window_ms, uint64_t set_ms,
                        uint64_t slack_ms)
{
    struct model *m = NEW(struct model);
    m->jobs = mem_zalloc(jobs * sizeof(*m->jobs));
    m->line = line_new(jobs);
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

static bool live(const struct mjob *j)
{
    return j->state == M_WAITING || j->state == M_RUNNING;
}

bool model_is_none(const struct model *m, uint32_t k)
{
    return k >= m->jobs_n || m->jobs[k].state == M_NONE;
}

bool model_is_live(const struct model *m, uint32_t k)
{
    return live(model_job(m, k));
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
    uint64_t *line = line_new(2 * m->jobs_n);
    memcpy(line, m->line, (m->jobs_n / 64 + 1) * sizeof(*line));
    mem_free(m->line);
    m->line = line;
    m->jobs_n *= 2;
}

/* --- changes that can be taken back -------------------------------------- */

static struct mjob *change(struct model *m, uint32_t k)
{
    ASSERT(k < m->jobs_n);
    if (m->tail == m->cap) {
        size_t used = m->tail - m->head;
        if (m->head > 0 && used < m->cap / 2) {
            memmove(m->undo, m->undo + m->head, used * sizeof(*m->undo));
        } else {
            size_t cap = m->cap == 0 ? 256 : m->cap * 2;
            struct undo *grown = mem_alloc(cap * sizeof(*grown));
            if (used > 0)
                memcpy(grown, m->undo + m->head, used * sizeof(*grown));
            mem_free(m->undo);
            m->undo = grown;
            m->cap = cap;
        }
        m->head = 0;
        m->tail = used;
    }
    m->undo[m->tail++] = (struct undo){0, k, m->jobs[k]};
    return &m->jobs[k];
}

static void become(struct model *m, struct mjob *j, enum mstate state)
{
    m->live -= live(j);
    j->state = state;
    m->live += live(j);
    j->completed += state == M_COMPLETED;
    j->failed += state == M_FAILED;
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

void model_crashed(struct model *m, uint64_t index, uint64_t crash_mono_ms,
                   struct now now)
{
    while (m->tail > m->head && (m->undo[m->tail - 1].index == 0 ||
                                 m->undo[m->tail - 1].index > index)) {
        const struct undo *u = &m->undo[--m->tail];
        m->live -= live(&m->jobs[u->k]);
        m->jobs[u->k] = u->was;
        m->live += live(&m->jobs[u->k]);
        if (u->was.in_line)
            line_add(m, u->k);
    }
    m->head = m->tail;
    m->clock++;
    m->clock_ms = now.wall_ms;
    for (uint32_t k = 0; k < m->jobs_n; k++)
        if (m->jobs[k].state == M_RUNNING &&
            m->jobs[k].lease_end_ms > crash_mono_ms)
            m->jobs[k].lease_end_ms = now.mono_ms + m->jobs[k].lease_ms;
}

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
    struct mjob *j = change(m, k);
    *j = (struct mjob){.id = *id,
                       .queue = queue,
                       .retries = retries,
                       .payload = payload,
                       .not_before_ms = not_before_ms,
                       .stands_ms = not_before_ms};
    become(m, j, M_WAITING);
    index_add(m, k);
    return NULL;
}

void model_arrived(struct model *m, uint32_t k, uint32_t priority,
                   struct now now)
{
    m->jobs[k].arrived_ms = now.wall_ms;
    m->jobs[k].arrival = ++m->arrivals;
    m->jobs[k].priority = priority;
    m->jobs[k].clock = m->clock;
    m->jobs[k].in_line = true;
    line_add(m, k);
}

void model_described(struct model *m, uint32_t k, uint8_t handler,
                     uint32_t gates, uint32_t cost)
{
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
    change(m, k)->holds = holds;
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
    j = change(m, k);
    j->payload = payload;
    j->retries = retries;
    j->failures = 0;
    j->checkpoint = j->progress = 0;
    j->effects = 0;
    j->ended = 0;
    j->in_line = j->tried = false;
    j->expires_ms = j->deadline_ms = j->expires_at_ms = j->deadline_at_ms = 0;
    j->not_before_ms = j->stands_ms = not_before_ms;
    memset(j->crashed_ms, 0, sizeof(j->crashed_ms));
    return NULL;
}

bool model_stands(const struct model *m, uint32_t k, struct now now)
{
    const struct mjob *j = model_job(m, k);
    return j->state == M_WAITING && !j->held && j->stands_ms <= now.wall_ms;
}

/* Beside that of its queue: then others may pass it. */
static bool has_limits(const struct mjob *j)
{
    return (j->gates & (j->gates - 1)) != 0;
}

/* Does this one wait in the same line, is older, and of no lower priority? One
 * that comes from under a name stands in a line of its own: of those that
 * arrived in the same moment either may be the first then. */
static bool is_before(const struct mjob *older, const struct mjob *j)
{
    return !older->held && older->state == M_WAITING &&
           older->arrival < j->arrival && older->queue == j->queue &&
           older->clock == j->clock && older->handler == j->handler &&
           !has_limits(older) &&
           (!has_limits(j) || older->arrived_ms < j->arrived_ms) &&
           older->priority >= j->priority;
}

static bool passes_another(struct model *m, uint32_t k)
{
    const struct mjob *j = &m->jobs[k];
    uint32_t from = k > LINE_MAX ? k - LINE_MAX : 0;
    uint32_t to = k + LINE_MAX < m->jobs_n ? k + LINE_MAX : m->jobs_n;
    if (!j->in_line)
        return false;
    for (uint32_t at = from / 64; at <= (to - 1) / 64; at++) {
        for (uint64_t left = m->line[at]; left != 0; left &= left - 1) {
            uint32_t i = at * 64 + (uint32_t)__builtin_ctzll(left);
            if (!m->jobs[i].in_line)
                m->line[at] &= ~(left & -left);
            else if (i >= from && i < to && is_before(&m->jobs[i], j))
                return true;
        }
    }
    return false;
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

static uint32_t crashes_since(const struct mjob *j, uint64_t wall_ms)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < M_CRASHES; i++)
        n += j->crashed_ms[i] > wall_ms;
    return n;
}

/* The wall time at which its lease ran out, as far as clocks can be trusted. */
static uint64_t lost_at(const struct mjob *j, struct now now)
{
    return now.wall_ms - (now.mono_ms - j->lease_end_ms);
}

/* The engine noticed the loss at some time from then on: might it have found
 * enough crashes within the window? Clocks that were set blur its edge, and
 * crashes that it noticed late. */
static bool maybe_poison(const struct model *m, const struct mjob *j,
                         struct now now)
{
    return j->state == M_RUNNING && now.mono_ms >= j->lease_end_ms &&
           crashes_since(j,
                         lost_at(j, now) - m->crash_window_ms - m->slack_ms) +
                   1 >=
               m->crashes_max;
}

/* Its lease ended at lease_end_ms without a word. When exactly the engine
 * noticed is its own business; that it did is what the model infers. */
static void crashed(struct mjob *j, struct now now)
{
    j->tried = true;
    memmove(j->crashed_ms + 1, j->crashed_ms,
            (M_CRASHES - 1) * sizeof(j->crashed_ms[0]));
    j->crashed_ms[0] = lost_at(j, now);
}

static bool expired(const struct mjob *j, struct now now)
{
    return now.mono_ms >= j->lease_end_ms;
}

const char *model_leased(struct model *m, uint32_t k,
                         const struct lease_view *v, struct now now)
{
    if (k >= m->jobs_n || m->jobs[k].state == M_NONE)
        return "a job was leased that nobody added";
    const struct mjob *was = &m->jobs[k];
    if (!id_eq(&was->id, &v->id))
        return "a job was leased under another id";
    if (!live(was))
        return "a finished job was leased";
    if (was->state == M_RUNNING && !expired(was, now))
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
    if (passes_another(m, k))
        return "a job was leased before an older one";
    struct mjob *j = change(m, k);
    j->in_line = false;
    j->let_go = j->holds && j->use.waiting;
    if (j->use.waiting)
        j->holds = false;
    if (j->state == M_RUNNING) {
        crashed(j, now);
        if (crashes_since(j, now.wall_ms - m->crash_window_ms + m->set_ms) >=
            m->crashes_max)
            return "a poisonous job was leased again";
    }
    if (v->failures != j->failures)
        return "the number of failures is wrong";
    become(m, j, M_RUNNING);
    j->session = 0;
    j->again = false;
    j->delivery = v->delivery;
    j->lease_ms = v->lease_ms;
    j->leased_at_ms = now.mono_ms;
    j->lease_end_ms = now.mono_ms + v->lease_ms;
    return NULL;
}

void model_under(struct model *m, uint32_t k, uint8_t session)
{
    m->jobs[k].session = session;
}

void model_leased_again(struct model *m, uint32_t k)
{
    change(m, k)->again = true;
}

/* Its execution may have ended without a word to its holder. */
static bool overdue(const struct model *m, const struct mjob *j, struct now now)
{
    return expired(j, now) || (j->cancelling && m->wall_max_ms >= j->force_ms);
}

/* Is this the token in force? Then a verb must succeed, unless the lease has
 * run out, when it may. */
enum standing { CURRENT, OVERDUE, ENDED, OLD, GONE };

static enum standing standing(const struct model *m, const struct mjob *j,
                              uint32_t delivery, struct now now)
{
    if (j->state == M_NONE || j->state == M_ERASED)
        return GONE;
    if (!live(j))
        return m->wall_max_ms >= j->finished_ms + m->keep_ms ? GONE : ENDED;
    if (j->state == M_RUNNING && j->delivery == delivery)
        return overdue(m, j, now) ? OVERDUE : CURRENT;
    return OLD;
}

static bool refusal_fits(const struct model *m, const struct mjob *j,
                         enum standing s, enum err rc, struct now now)
{
    bool poison =
        maybe_poison(m, j, now) ||
        (j->state == M_RUNNING && j->cancelling && overdue(m, j, now));
    switch (s) {
    case CURRENT:
        return false;
    case OVERDUE:
        return rc == ERR_STALE ||
               (poison && (rc == ERR_FINISHED || rc == ERR_NOTFOUND));
    case ENDED:
        return rc == ERR_FINISHED || rc == ERR_STALE || rc == ERR_NOTFOUND;
    case OLD:
        return rc == ERR_STALE ||
               (poison && (rc == ERR_FINISHED || rc == ERR_NOTFOUND));
    case GONE:
        return rc == ERR_NOTFOUND || rc == ERR_FINISHED;
    }
    return false;
}

/* A verb that is repeated with the token whose execution it ended is answered
 * as the first time, as long as no later execution has ended. */
static bool repeats(const struct mjob *j, uint32_t delivery, uint8_t verb)
{
    return j->ended == delivery && j->ended_by == verb;
}

static void end(struct model *m, struct mjob *j, enum mstate state,
                uint8_t verb, struct now now)
{
    become(m, j, state);
    j->cancelling = false;
    j->tried = true;
    j->ended = j->delivery;
    j->ended_by = verb;
    j->finished_ms = now.wall_ms;
}

const char *model_acked(struct model *m, uint32_t k, uint32_t delivery,
                        uint32_t epoch, enum err rc, struct now now)
{
    (void)epoch;
    const struct mjob *was = &m->jobs[k];
    enum standing s = standing(m, was, delivery, now);
    if (rc != ERR_OK)
        return refusal_fits(m, was, s, rc, now) ? NULL
                                                : "an ACK was refused wrongly";
    if (repeats(was, delivery, 'a'))
        return NULL;
    if (s != CURRENT && s != OVERDUE)
        return "an ACK without the lease was accepted";
    end(m, change(m, k), M_COMPLETED, 'a', now);
    return NULL;
}

const char *model_nacked(struct model *m, uint32_t k, uint32_t delivery,
                         uint32_t epoch, bool permanent, uint64_t delay_ms,
                         enum err rc, struct now now)
{
    (void)epoch;
    const struct mjob *was = &m->jobs[k];
    enum standing s = standing(m, was, delivery, now);
    if (rc != ERR_OK)
        return refusal_fits(m, was, s, rc, now) ? NULL
                                                : "a NACK was refused wrongly";
    if (repeats(was, delivery, 'n'))
        return NULL;
    if (s != CURRENT && s != OVERDUE)
        return "a NACK without the lease was accepted";
    struct mjob *j = change(m, k);
    if (j->cancelling) {
        end(m, j, M_CANCELLED, 'n', now);
        return NULL;
    }
    j->failures++;
    bool last = permanent || j->failures > j->retries;
    end(m, j, last ? M_FAILED : M_WAITING, 'n', now);
    j->not_before_ms = j->stands_ms = now.wall_ms + delay_ms;
    return NULL;
}

const char *model_released(struct model *m, uint32_t k, uint32_t delivery,
                           uint32_t epoch, enum err rc, struct now now)
{
    (void)epoch;
    const struct mjob *was = &m->jobs[k];
    enum standing s = standing(m, was, delivery, now);
    if (rc != ERR_OK)
        return refusal_fits(m, was, s, rc, now)
                   ? NULL
                   : "a RELEASE was refused wrongly";
    if (repeats(was, delivery, 'r'))
        return NULL;
    if (s != CURRENT && s != OVERDUE)
        return "a RELEASE without the lease was accepted";
    struct mjob *j = change(m, k);
    end(m, j, j->cancelling ? M_CANCELLED : M_WAITING, 'r', now);
    j->not_before_ms = j->stands_ms = 0;
    return NULL;
}

const char *model_token(const struct model *m, uint32_t k, uint32_t delivery,
                        enum err rc, struct now now)
{
    enum standing s = standing(m, &m->jobs[k], delivery, now);
    if (rc != ERR_OK)
        return refusal_fits(m, &m->jobs[k], s, rc, now)
                   ? NULL
                   : "a verb with a token was refused wrongly";
    return s == CURRENT || s == OVERDUE
               ? NULL
               : "a verb without the lease was accepted";
}

struct mjob *model_change(struct model *m, uint32_t k)
{
    return change(m, k);
}

const char *model_extended(struct model *m, uint32_t k, uint32_t delivery,
                           uint32_t epoch, enum lease_order order,
                           struct now now)
{
    (void)epoch;
    const struct mjob *was = &m->jobs[k];
    enum standing s = standing(m, was, delivery, now);
    if (order == ORDER_LOST)
        return s == CURRENT ? "a lease in force was called lost" : NULL;
    if (s != CURRENT && s != OVERDUE)
        return "a lease that had ended was extended";
    if ((order == ORDER_CANCEL) != was->cancelling)
        return "the order that came with a renewal is wrong";
    struct mjob *j = change(m, k);
    j->lease_end_ms = now.mono_ms + j->lease_ms;
    return NULL;
}

bool model_undone(struct model *m, uint32_t k, uint32_t delivery,
                  struct now now)
{
    struct mjob *j = &m->jobs[k];
    if (j->state != M_RUNNING || j->delivery != delivery || j->again)
        return false;
    j = change(m, k);
    if (j->cancelling) {
        end(m, j, M_CANCELLED, 'r', now);
        return false;
    }
    become(m, j, M_WAITING);
    j->not_before_ms = j->stands_ms = 0;
    return true;
}

const char *model_given_back(struct model *m, uint32_t k, struct now now)
{
    struct mjob *j = &m->jobs[k];
    if (j->state != M_RUNNING)
        return "a job was given back that did not run";
    j = change(m, k);
    end(m, j, j->cancelling ? M_CANCELLED : M_WAITING, 'r', now);
    j->not_before_ms = j->stands_ms = 0;
    return NULL;
}

bool model_sure(const struct model *m, uint32_t k, struct now now)
{
    const struct mjob *j = &m->jobs[k];
    if (j->state == M_NONE)
        return false;
    if (j->state == M_RUNNING)
        return !overdue(m, j, now);
    return j->state == M_WAITING || j->state == M_ERASED ||
           m->wall_max_ms < j->finished_ms + m->keep_ms;
}

static enum err verb_answer(const struct mjob *j, enum manage_verb verb)
{
    bool waiting = j->state == M_WAITING;
    if (j->state == M_ERASED)
        return ERR_NOTFOUND;
    if (live(j)) {
        switch (verb) {
        case MANAGE_CANCEL:
            return ERR_OK;
        case MANAGE_HOLD:
        case MANAGE_DELETE:
            return waiting ? ERR_OK : ERR_STATE;
        case MANAGE_RUNNOW:
            return waiting && !j->held ? ERR_OK : ERR_STATE;
        case MANAGE_UNHOLD:
            return waiting && j->held ? ERR_OK : ERR_STATE;
        case MANAGE_RETRY:
            return ERR_STATE;
        }
    }
    if (verb == MANAGE_RETRY || verb == MANAGE_DELETE ||
        (verb == MANAGE_CANCEL && j->state == M_CANCELLED))
        return ERR_OK;
    return ERR_FINISHED;
}

const char *model_managed(struct model *m, uint32_t k, enum manage_verb verb,
                          uint64_t force_ms, enum err rc, struct now now)
{
    if (rc != verb_answer(&m->jobs[k], verb))
        return "a verb from outside got the wrong answer";
    if (rc != ERR_OK)
        return NULL;
    struct mjob *j = change(m, k);
    switch (verb) {
    case MANAGE_CANCEL:
        if (j->state == M_RUNNING && force_ms > 0) {
            j->cancelling = true;
            j->told_ms = now.wall_ms;
            j->force_ms = now.wall_ms + force_ms;
        } else if (live(j)) {
            if (j->state == M_RUNNING)
                end(m, j, M_CANCELLED, 'c', now);
            become(m, j, M_CANCELLED);
            j->held = false;
            j->finished_ms = now.wall_ms;
        }
        break;
    case MANAGE_HOLD:
        j->held = true;
        break;
    case MANAGE_UNHOLD:
        j->held = false;
        break;
    case MANAGE_RUNNOW:
        j->not_before_ms = j->stands_ms = 0;
        break;
    case MANAGE_DELETE:
        become(m, j, M_ERASED);
        break;
    case MANAGE_RETRY:
        become(m, j, M_WAITING);
        j->in_line = false;
        j->revived_ms = now.mono_ms;
        j->failures = 0;
        j->progress = 0;
        j->not_before_ms = j->stands_ms = 0;
        memset(j->crashed_ms, 0, sizeof(j->crashed_ms));
        if (j->expires_ms > 0)
            j->expires_at_ms = now.wall_ms + j->expires_ms;
        if (j->deadline_ms > 0)
            j->deadline_at_ms = now.wall_ms + j->deadline_ms;
        break;
    }
    return NULL;
}

/* What became of a lease that ran out, since somebody saw more than a lease. */
static void settle(struct model *m, uint32_t k, struct now now)
{
    struct mjob *j = &m->jobs[k];
    if (j->state != M_RUNNING || !overdue(m, j, now))
        return;
    j = change(m, k);
    if (j->cancelling) {
        end(m, j, M_CANCELLED, 'c', now);
    } else if (expired(j, now)) {
        crashed(j, now);
        become(m, j, M_WAITING);
        j->not_before_ms = 0;
        j->stands_ms = UINT64_MAX; /* when that was noticed is unknown */
    }
}

const char *model_chored(struct model *m, uint32_t k, enum manage_verb verb,
                         uint64_t force_ms, struct now now)
{
    struct mjob *j = &m->jobs[k];
    if (j->state == M_ERASED && verb == MANAGE_DELETE)
        return NULL; /* purged: its rows go now */
    if (j->state == M_RUNNING && j->cancelling && verb == MANAGE_CANCEL &&
        force_ms == 0) {
        if (!overdue(m, j, now))
            return "a job was stopped before its time";
        end(m, change(m, k), M_CANCELLED, 'c', now);
        return NULL;
    }
    if (force_ms > 0) /* only who runs is told, also if its lease is over */
        return j->state == M_RUNNING
                   ? model_managed(m, k, verb, force_ms, ERR_OK, now)
                   : "a job was told to stop that does not run";
    settle(m, k, now);
    return model_managed(m, k, verb, 0, ERR_OK, now);
}

const char *model_lost(struct model *m, uint32_t k, uint64_t delay_ms,
                       struct now now)
{
    struct mjob *j = &m->jobs[k];
    if (j->state != M_RUNNING || !expired(j, now))
        return "a lease was lost before its time";
    if (j->cancelling)
        return "a job that was told to stop goes on when its lease is lost";
    j = change(m, k);
    crashed(j, now);
    if (crashes_since(j, now.wall_ms - m->crash_window_ms + m->set_ms) >=
        m->crashes_max)
        return "a poisonous job goes on";
    become(m, j, M_WAITING);
    j->not_before_ms = 0;
    j->stands_ms = now.wall_ms + delay_ms;
    return NULL;
}

const char *model_poisoned(struct model *m, uint32_t k, struct now now)
{
    if (!maybe_poison(m, &m->jobs[k], now))
        return "a job failed by crashes that it did not have";
    end(m, change(m, k), M_FAILED, 'p', now);
    return NULL;
}

static bool is_over(uint64_t at_ms, struct now now)
{
    return at_ms > 0 && at_ms <= now.wall_ms;
}

bool model_is_late(const struct model *m, uint32_t k, struct now now)
{
    const struct mjob *j = &m->jobs[k];
    return live(j) && (is_over(j->deadline_at_ms, now) ||
                       (j->state == M_WAITING && !j->tried &&
                        is_over(j->expires_at_ms, now)));
}

const char *model_expired(struct model *m, uint32_t k, struct now now)
{
    if (!model_is_late(m, k, now))
        return "a job expired before its time";
    struct mjob *j = change(m, k);
    if (j->state == M_RUNNING)
        end(m, j, M_EXPIRED, 'x', now);
    become(m, j, M_EXPIRED);
    j->held = false;
    j->finished_ms = now.wall_ms;
    return NULL;
}

void model_purged(struct model *m, uint8_t queue)
{
    for (uint32_t k = 0; k < m->jobs_n; k++)
        if (m->jobs[k].state == M_WAITING && m->jobs[k].queue == queue)
            become(m, change(m, k), M_ERASED);
}

const char *model_seen(struct model *m, uint32_t k, enum err rc,
                       const struct job_view *v, struct now now)
{
    const struct mjob *j = &m->jobs[k];
    if (rc == ERR_NOTFOUND) {
        if (j->state == M_NONE || j->state == M_ERASED)
            return NULL;
        if (j->cancelling && m->wall_max_ms >= j->told_ms + m->keep_ms) {
            end(m, change(m, k), M_CANCELLED, 'c', now);
            return NULL;
        }
        /* What ends by poison keeps its own, longer retention. */
        if (!live(j) && m->wall_max_ms >= j->finished_ms + m->keep_ms)
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
        if (j->cancelling && overdue(m, j, now) && v->state == JOB_CANCELLED) {
            struct mjob *c = change(m, k);
            end(m, c, M_CANCELLED, 'c', now);
            c->finished_ms = v->finished_ms;
            return NULL;
        }
        if (!overdue(m, j, now))
            return v->state == JOB_RUNNING ? NULL : "a leased job is not";
        if (v->state == JOB_FAILED && maybe_poison(m, j, now)) {
            end(m, change(m, k), M_FAILED, 'p', now);
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
