/* What hangs from jobs, by the rows: keys, times, reserved slots. A row that
 * its job does not know of would stay for ever, and nobody would see it.
 *
 * Rows are copied first: what a scan shows must not be kept while others are
 * read. */
#include "engine/core.h"

struct rows {
    struct engine *e;
    struct errbuf *err;
    enum err rc;
    struct buf kept;     /* lengths of key and value, key, value */
    struct buf reserved; /* struct limit *, once for each slot */
};

struct kept {
    struct slice key, value;
};

static void violated(struct rows *r, const char *what, const struct id *id)
{
    char text[ID_TEXT_LEN] = "";
    if (id != NULL)
        id_text(id, text);
    if (r->rc == ERR_OK)
        r->rc =
            err_set(r->err, ERR_INTERNAL, "%s%s%.*s", what,
                    id == NULL ? "" : ": ", id == NULL ? 0 : ID_TEXT_LEN, text);
}

static bool keep(struct slice key, struct slice value, void *ud)
{
    struct rows *r = ud;
    uint32_t len[] = {(uint32_t)key.len, (uint32_t)value.len};
    buf_add(&r->kept, len, sizeof(len));
    buf_add_slice(&r->kept, key);
    buf_add_slice(&r->kept, value);
    return true;
}

/* Of most jobs nothing hangs. */
static bool keep_job(struct slice key, struct slice value, void *ud)
{
    struct rec_job j;
    if (rec_job_decode(&j, value) &&
        (j.flags & (JOBF_NAMED | JOBF_UNIQUE | JOBF_RESERVED)) != 0)
        return keep(key, value, ud);
    return true;
}

static void each(struct rows *r, enum family f, store_row_fn keep_fn,
                 void (*check)(struct rows *r, const struct kept *row))
{
    buf_clear(&r->kept);
    if (store_scan(r->e->store, NULL, f, SLICE_EMPTY, SLICE_EMPTY, SIZE_MAX,
                   keep_fn, r, r->err) != ERR_OK)
        violated(r, "a family cannot be read", NULL);
    for (size_t at = 0; at < r->kept.len && r->rc == ERR_OK;) {
        uint32_t len[2];
        memcpy(len, r->kept.data + at, sizeof(len));
        const char *bytes = r->kept.data + at + sizeof(len);
        struct kept row = {slice_of(bytes, len[0]),
                           slice_of(bytes + len[0], len[1])};
        at += sizeof(len) + len[0] + len[1];
        check(r, &row);
    }
}

static bool find_row(struct rows *r, enum family f, struct slice key,
                     struct slice *value)
{
    return store_get(r->e->store, NULL, f, key, value, NULL) == ERR_OK;
}

/* Good until the next row is read. */
static bool find_job(struct rows *r, const struct id *id, struct rec_job *j,
                     struct rec_more *m)
{
    struct key k;
    struct slice value;
    memset(m, 0, sizeof(*m));
    return find_row(r, FAMILY_JOBS, key_job(&k, id), &value) &&
           rec_job_decode(j, value) &&
           (j->more.len == 0 || rec_more_decode(m, j->more));
}

/* --- jobs: what they say that they have ---------------------------------- */

static void check_reserved(struct rows *r, const struct id *id,
                           struct slice list)
{
    struct slice name;
    while (word_next(&list, &name)) {
        struct limit *l = limit_find(r->e, name);
        if (l == NULL)
            violated(r, "a job has a slot of a name that nobody knows", id);
        else
            buf_add(&r->reserved, &l, sizeof(l));
    }
}

static void check_job(struct rows *r, const struct kept *row)
{
    struct id id;
    struct rec_job j;
    struct rec_more m = {0};
    struct rec_alias alias;
    struct rec_unique unique;
    struct slice value;
    struct key k;
    if (!key_parse_id(row->key, &id) || !rec_job_decode(&j, row->value) ||
        !rec_more_decode(&m, j.more)) {
        violated(r, "a row of jobs is damaged", NULL);
        return;
    }
    const struct queue *q = r->e->queues[j.queue];
    check_reserved(r, &id, m.reserved);
    if (row_purged(q, j.lane))
        return; /* its keys may be another job's by now */
    if ((j.flags & JOBF_NAMED) != 0 &&
        (!find_row(r, FAMILY_KEYS, key_key(&k, KEY_ALIAS, m.name), &value) ||
         !rec_alias_decode(&alias, value) || !id_eq(&alias.job, &id)))
        violated(r, "a job whose name does not find it", &id);
    if ((j.flags & JOBF_UNIQUE) != 0 &&
        (!find_row(r, FAMILY_KEYS, unique_key(&k, m.unique_scope, q, m.unique),
                   &value) ||
         !rec_unique_decode(&unique, value) || !id_eq(&unique.job, &id) ||
         unique.until_ms != 0))
        violated(r, "a job that does not have its unique key", &id);
}

/* --- keys ---------------------------------------------------------------- */

static void check_unique(struct rows *r, const struct kept *row)
{
    struct rec_unique u;
    struct rec_job j;
    struct rec_more m;
    struct slice value;
    struct key k;
    if (!rec_unique_decode(&u, row->value)) {
        violated(r, "a row of a unique key is damaged", NULL);
        return;
    }
    struct id hash = due_name_id(row->key);
    if (u.until_ms > 0) {
        if (!find_row(r, FAMILY_DUE,
                      key_due(&k, u.until_ms, DUE_UNIQUE, id_slice(&hash)),
                      &value))
            violated(r, "a unique key that nobody will forget", &u.job);
    } else if (!find_job(r, &u.job, &j, &m) || (j.flags & JOBF_UNIQUE) == 0 ||
               !slice_eq(unique_key(&k, m.unique_scope, r->e->queues[j.queue],
                                    m.unique),
                         row->key)) {
        violated(r, "a unique key without its job", &u.job);
    }
}

static void check_key(struct rows *r, const struct kept *row)
{
    uint8_t kind;
    struct slice name;
    struct rec_alias a;
    struct rec_job j;
    struct rec_more m;
    struct id id;
    if (!key_parse_key(row->key, &kind, &name)) {
        violated(r, "a row of keys is damaged", NULL);
        return;
    }
    switch (kind) {
    case KEY_ALIAS:
        if (!rec_alias_decode(&a, row->value))
            violated(r, "a row of a name is damaged", NULL);
        else if (!find_job(r, &a.job, &j, &m) || (j.flags & JOBF_NAMED) == 0 ||
                 !slice_eq(m.name, name))
            violated(r, "a name without its job", &a.job);
        return;
    case KEY_UNIQUE:
        check_unique(r, row);
        return;
    case KEY_EFFECT:
        memcpy(id.bytes, name.data, name.len < ID_LEN ? 0 : ID_LEN);
        if (name.len <= ID_LEN || !find_job(r, &id, &j, &m) ||
            (j.flags & JOBF_EFFECTS) == 0)
            violated(r, "an effect without its job", &id);
        return;
    case KEY_SCHEDULE:
        return; /* schedules_check() */
    default:
        violated(r, "a row of keys is of no kind", NULL);
    }
}

/* --- times --------------------------------------------------------------- */

/* The time of this kind that the job knows of; 0: none. */
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

static const struct handler *handler_of(const struct engine *e,
                                        const struct id *id)
{
    uint64_t number = id_word(id, 8);
    return number < e->handlers_n ? e->handlers[number] : NULL;
}

static void check_due(struct rows *r, const struct kept *row)
{
    struct due_key k;
    struct rec_due d;
    struct rec_job j;
    struct rec_more m;
    struct id id;
    const struct handler *h;
    if (!key_parse_due(row->key, &k) || k.what.len != ID_LEN ||
        !rec_due_decode(&d, row->value)) {
        violated(r, "a row of due is damaged", NULL);
        return;
    }
    memcpy(id.bytes, k.what.data, ID_LEN);
    struct id hash = due_name_id(d.name);
    switch (k.kind) {
    case DUE_READY:
    case DUE_EXPIRES:
    case DUE_DEADLINE:
    case DUE_CANCEL:
        if (!find_job(r, &id, &j, &m) ||
            time_of(&j, &m, (enum due_kind)k.kind) != k.time_ms)
            violated(r, "a time that its job does not know of", &id);
        return;
    case DUE_UNIQUE: /* its key may have been taken for another time since */
        if (!id_eq(&hash, &id) || !key_valid(FAMILY_KEYS, d.name))
            violated(r, "the end of no unique key", &id);
        return;
    case DUE_BREAKER:
        h = handler_of(r->e, &id);
        if (h == NULL || h->breaker.set.state != BREAKER_OPEN ||
            h->breaker.set.until_ms != k.time_ms)
            violated(r, "a time that no breaker waits for", &id);
        return;
    default:
        return; /* limits_check(), schedules_check() */
    }
}

static void check_breakers(struct rows *r)
{
    const struct engine *e = r->e;
    for (uint32_t i = 0; i < e->handlers_n; i++) {
        const struct handler *h = e->handlers[i];
        struct slice value;
        struct key k;
        if (h == NULL || h->breaker.set.state != BREAKER_OPEN)
            continue;
        struct id id = id_make(0, 0, 0, h->set.id);
        if (!find_row(r, FAMILY_DUE,
                      key_due(&k, h->breaker.set.until_ms, DUE_BREAKER,
                              id_slice(&id)),
                      &value))
            violated(r, "an open breaker that nothing will probe", NULL);
    }
}

/* --- reserved slots ------------------------------------------------------ */

static void count_reserved(struct rows *r, const struct limit *l)
{
    uint32_t n = 0;
    for (size_t at = 0; at < r->reserved.len; at += sizeof(l)) {
        const struct limit *of;
        memcpy(&of, r->reserved.data + at, sizeof(of));
        n += of == l;
    }
    if (n != l->reserved && r->rc == ERR_OK)
        r->rc = err_set(r->err, ERR_INTERNAL,
                        "limit %.*s counts %u reserved slots, not %u",
                        SLICE_FMT(l->name), l->reserved, n);
}

enum err rows_check(struct engine *e, struct errbuf *err)
{
    struct rows r = {.e = e, .err = err};
    each(&r, FAMILY_JOBS, keep_job, check_job);
    each(&r, FAMILY_KEYS, keep, check_key);
    each(&r, FAMILY_DUE, keep, check_due);
    check_breakers(&r);
    LIST_FOR (it, &e->limits)
        count_reserved(&r, CONTAINER_OF(it, struct limit, in_all));
    LIST_FOR (it, &e->limits_todo)
        count_reserved(&r, CONTAINER_OF(it, struct limit, in_all));
    buf_release(&r.kept);
    buf_release(&r.reserved);
    return r.rc;
}
