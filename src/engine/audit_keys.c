/* What hangs from jobs, by the rows: keys, times, reserved slots. A row that
 * its job does not know of would stay for ever, and nobody would see it. */
#include "engine/audit.h"

#include <stdlib.h>

/* --- jobs: what they say that they have ---------------------------------- */

static void look_at_reserved(struct audit *a, const struct id *id,
                             struct slice list)
{
    struct slice name;
    while (word_next(&list, &name)) {
        struct limit *l = limit_find(a->e, name);
        if (l == NULL)
            audit_tell(a, FAMILY_JOBS, id_slice(id),
                       "job %s has a slot of limit %.*s, which family named "
                       "does not have",
                       audit_id(id), SLICE_FMT(name));
        else
            buf_add(&a->reserved, &l, sizeof(l));
    }
}

static void look_at_name(struct audit *a, const struct id *id,
                         struct slice name)
{
    struct rec_alias alias;
    struct slice value;
    struct key k;
    if (name.len > KEY_NAME_MAX)
        audit_tell(a, FAMILY_JOBS, id_slice(id), "a name of %zu bytes",
                   name.len);
    else if (!audit_row(a, FAMILY_KEYS, key_key(&k, KEY_ALIAS, name), &value) ||
             !rec_alias_decode(&alias, value) || !id_eq(&alias.job, id))
        audit_tell(a, FAMILY_KEYS, key_slice(&k),
                   "a job whose name does not find it: %s is named %.*s",
                   audit_id(id), SLICE_FMT(name));
}

static void look_at_its_unique(struct audit *a, const struct id *id,
                               const struct queue *q, const struct rec_more *m)
{
    struct rec_unique unique;
    struct slice value;
    struct key k;
    if (m->unique.len > UNIQUE_MAX)
        audit_tell(a, FAMILY_JOBS, id_slice(id), "a unique key of %zu bytes",
                   m->unique.len);
    else if (!audit_row(a, FAMILY_KEYS,
                        unique_key(&k, m->unique_scope, q, m->unique),
                        &value) ||
             !rec_unique_decode(&unique, value) || !id_eq(&unique.job, id) ||
             unique.until_ms != 0)
        audit_tell(a, FAMILY_KEYS, key_slice(&k),
                   "a job that does not have its unique key: %s of queue %.*s "
                   "should have %.*s",
                   audit_id(id), SLICE_FMT(q->name), SLICE_FMT(m->unique));
}

/* Its timer ends the job, whatever state it is in. That of EXPIRES may have
 * rung while the job ran. */
static void look_at_deadline(struct audit *a, const struct id *id,
                             const struct rec_more *m)
{
    struct key k;
    if (!audit_there(
            a, FAMILY_DUE,
            key_due(&k, m->deadline_at_ms, DUE_DEADLINE, id_slice(id))))
        audit_tell(a, FAMILY_DUE, key_slice(&k),
                   "is missing: job %s would not end at its deadline",
                   audit_id(id));
}

void audit_job_keys(struct audit *a, const struct id *id,
                    const struct rec_job *r, const struct rec_more *m)
{
    const struct queue *q = audit_queue(a, r->queue);
    look_at_reserved(a, id, m->reserved);
    if (row_purged(q, r->lane))
        return; /* its keys may be another job's by now */
    if ((r->flags & JOBF_NAMED) != 0)
        look_at_name(a, id, m->name);
    if ((r->flags & JOBF_UNIQUE) != 0)
        look_at_its_unique(a, id, q, m);
    if ((r->flags & JOBF_DEADLINE) != 0)
        look_at_deadline(a, id, m);
}

/* --- keys ---------------------------------------------------------------- */

static void look_at_unique(struct audit *a, struct slice key,
                           struct slice value)
{
    struct rec_unique u;
    struct rec_job j;
    struct rec_more m;
    struct key k;
    if (!rec_unique_decode(&u, value)) {
        audit_tell(a, FAMILY_KEYS, key, "a unique key that cannot be read");
        return;
    }
    struct id hash = due_name_id(key);
    if (u.until_ms > 0) {
        if (!audit_there(a, FAMILY_DUE,
                         key_due(&k, u.until_ms, DUE_UNIQUE, id_slice(&hash))))
            audit_tell(a, FAMILY_DUE, key_slice(&k),
                       "is missing: a unique key that nobody will forget, of "
                       "job %s",
                       audit_id(&u.job));
    } else if (!audit_job(a, &u.job, &j, &m) || (j.flags & JOBF_UNIQUE) == 0 ||
               m.unique.len > UNIQUE_MAX ||
               !slice_eq(unique_key(&k, m.unique_scope, audit_queue(a, j.queue),
                                    m.unique),
                         key)) {
        audit_tell(a, FAMILY_KEYS, key, "a unique key without its job: %s",
                   audit_id(&u.job));
    }
}

static void look_at_key(struct audit *a, struct slice key, struct slice value)
{
    uint8_t kind;
    struct slice name;
    struct rec_alias alias;
    struct rec_job j;
    struct rec_more m;
    struct id id = {{0}};
    if (!key_parse_key(key, &kind, &name)) {
        audit_tell(a, FAMILY_KEYS, key, "is no key of keys");
        return;
    }
    switch (kind) {
    case KEY_ALIAS:
        if (!rec_alias_decode(&alias, value))
            audit_tell(a, FAMILY_KEYS, key, "a name that cannot be read");
        else if (!audit_job(a, &alias.job, &j, &m) ||
                 (j.flags & JOBF_NAMED) == 0 || !slice_eq(m.name, name))
            audit_tell(a, FAMILY_KEYS, key, "a name without its job: %s",
                       audit_id(&alias.job));
        return;
    case KEY_UNIQUE:
        look_at_unique(a, key, value);
        return;
    case KEY_EFFECT:
        memcpy(id.bytes, name.data, name.len < ID_LEN ? 0 : ID_LEN);
        if (name.len <= ID_LEN || !audit_job(a, &id, &j, &m) ||
            (j.flags & JOBF_EFFECTS) == 0)
            audit_tell(a, FAMILY_KEYS, key, "an effect without its job: %s",
                       audit_id(&id));
        return;
    case KEY_SCHEDULE:
        return; /* schedules_check() */
    default:
        audit_tell(a, FAMILY_KEYS, key, "is of no kind that there is");
    }
}

/* --- times --------------------------------------------------------------- */

/* The time of this kind that the job knows of; 0: none. It may know of one that
 * is over, and has no row any more. */
static uint64_t time_of(const struct rec_job *j, const struct rec_more *m,
                        enum due_kind kind)
{
    bool delayed = j->state == JOB_SCHEDULED || j->state == JOB_RETRYING;
    if (kind == DUE_READY)
        return delayed ? j->since_ms : 0;
    if (kind == DUE_EXPIRES)
        return (j->flags & JOBF_EXPIRES) != 0 ? m->expires_at_ms : 0;
    if (kind == DUE_DEADLINE)
        return (j->flags & JOBF_DEADLINE) != 0 ? m->deadline_at_ms : 0;
    ASSERT(kind == DUE_CANCEL);
    return (j->flags & JOBF_CANCEL) != 0 ? m->cancel_at_ms : 0;
}

static void look_at_time(struct audit *a, struct slice key,
                         const struct due_key *k, const struct id *id)
{
    struct rec_job j;
    struct rec_more m;
    if (!audit_job(a, id, &j, &m) ||
        time_of(&j, &m, (enum due_kind)k->kind) != k->time_ms)
        audit_tell(a, FAMILY_DUE, key,
                   "a time that its job does not know of: %s", audit_id(id));
    else if (k->kind == DUE_READY &&
             (audit_runs(a, id) || audit_is_ready(a, id, &j)))
        audit_tell(a, FAMILY_DUE, key,
                   "job %s stands in two places: it has a time, and is %s",
                   audit_id(id), audit_runs(a, id) ? "leased" : "ready");
}

static const struct handler *handler_of(const struct engine *e,
                                        const struct id *id)
{
    uint64_t number = id_word(id, 8);
    return number < e->handlers_n ? e->handlers[number] : NULL;
}

static void look_at_due(struct audit *a, struct slice key, struct slice value)
{
    struct due_key k;
    struct rec_due d;
    struct id id;
    const struct handler *h;
    if (!key_parse_due(key, &k) || k.what.len != ID_LEN ||
        !rec_due_decode(&d, value)) {
        audit_tell(a, FAMILY_DUE, key, "a time that cannot be read");
        return;
    }
    memcpy(id.bytes, k.what.data, ID_LEN);
    struct id hash = due_name_id(d.name);
    switch (k.kind) {
    case DUE_READY:
    case DUE_EXPIRES:
    case DUE_DEADLINE:
    case DUE_CANCEL:
        look_at_time(a, key, &k, &id);
        return;
    case DUE_UNIQUE: /* its key may have been taken for another time since */
        if (!id_eq(&hash, &id) || !key_valid(FAMILY_KEYS, d.name))
            audit_tell(a, FAMILY_DUE, key, "the end of no unique key");
        return;
    case DUE_BREAKER:
        h = handler_of(a->e, &id);
        if (h == NULL || h->breaker.set.state != BREAKER_OPEN ||
            h->breaker.set.until_ms != k.time_ms)
            audit_tell(a, FAMILY_DUE, key, "a time that no breaker waits for");
        return;
    case DUE_LIMIT:
    case DUE_SCHEDULE:
    case DUE_SCHEDULE_FREE:
    case DUE_SCHEDULE_FILL:
        return; /* limits_check(), schedules_check() */
    default:
        audit_tell(a, FAMILY_DUE, key, "a time of no kind that there is");
    }
}

static void look_at_breakers(struct audit *a)
{
    const struct engine *e = a->e;
    for (uint32_t i = 0; i < e->handlers_n; i++) {
        const struct handler *h = e->handlers[i];
        struct key k;
        if (h == NULL || h->breaker.set.state != BREAKER_OPEN)
            continue;
        struct id id = id_make(0, 0, 0, h->set.id);
        if (!audit_there(a, FAMILY_DUE,
                         key_due(&k, h->breaker.set.until_ms, DUE_BREAKER,
                                 id_slice(&id))))
            audit_tell(a, FAMILY_DUE, key_slice(&k),
                       "is missing: the open breaker of handler %.*s, which "
                       "nothing will probe",
                       SLICE_FMT(h->name));
    }
}

/* --- reserved slots ------------------------------------------------------ */

static int by_address(const void *x, const void *y)
{
    struct limit *const *a = x, *const *b = y;
    return ((uintptr_t)*a > (uintptr_t)*b) - ((uintptr_t)*a < (uintptr_t)*b);
}

/* The first slot, of `n` in their order, that is not before `l`. */
static size_t first_slot(struct limit *const *all, size_t n,
                         const struct limit *l)
{
    size_t from = 0;
    while (n > 0) {
        size_t half = n / 2;
        if ((uintptr_t)all[from + half] < (uintptr_t)l) {
            from += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return from;
}

static void count_reserved(struct audit *a, const struct list *limits)
{
    struct limit *const *all = (struct limit *const *)(void *)a->reserved.data;
    size_t n = a->reserved.len / sizeof(*all);
    LIST_FOR (it, limits) {
        const struct limit *l = CONTAINER_OF(it, struct limit, in_all);
        uint32_t slots = 0;
        for (size_t i = first_slot(all, n, l); i < n && all[i] == l; i++)
            slots++;
        if (slots != l->reserved)
            audit_tell(a, FAMILY_NAMED, SLICE_EMPTY,
                       "limit %.*s counts %u reserved slots, not %u",
                       SLICE_FMT(l->name), (unsigned)l->reserved,
                       (unsigned)slots);
    }
}

void audit_keys(struct audit *a)
{
    audit_each(a, FAMILY_KEYS, look_at_key);
    audit_each(a, FAMILY_DUE, look_at_due);
    look_at_breakers(a);
    if (a->reserved.len > 0)
        qsort(a->reserved.data, a->reserved.len / sizeof(struct limit *),
              sizeof(struct limit *), by_address);
    count_reserved(a, &a->e->limits);
    count_reserved(a, &a->e->limits_todo);
}
