/* How many bytes a job takes: its rows and, while it is in memory, its object.
 *
 * Rows are counted as key and value, before compression. The values of the
 * small rows that only say where a job stands are not read but taken as
 * SMALL_VALUE; shared rows (counters, lanes) are nobody's. */
#include "engine/core.h"

#define SMALL_VALUE 8

static bool add_row(struct slice key, struct slice value, void *ud)
{
    *(uint64_t *)ud += key.len + value.len;
    return true;
}

static enum err add_rows(struct engine *e, struct gather *g, enum family f,
                         const struct key *prefix, uint64_t *bytes,
                         struct errbuf *err)
{
    struct key to;
    return store_scan(e->store, g, f, key_slice(prefix),
                      key_after(&to, key_slice(prefix)), SIZE_MAX, add_row,
                      bytes, err);
}

/* The row that says where it stands. */
static uint64_t place_bytes(const struct job *j)
{
    struct key k;
    switch ((enum job_state)j->state) {
    case JOB_SCHEDULED:
    case JOB_RETRYING:
        return key_due(&k, 0, DUE_READY, id_slice(&j->id)).len + SMALL_VALUE;
    case JOB_READY:
        return key_ready(&k, 0, 0, 0, &j->id).len + SMALL_VALUE;
    case JOB_PARKED: {
        struct slice limits = job_limits(j), name = SLICE_EMPTY;
        (void)word_next(&limits, &name);
        return key_parked(&k, name, 0, 0, &j->id).len + SMALL_VALUE;
    }
    case JOB_RUNNING:
        return key_run(&k, &j->id).len + sizeof(struct rec_run);
    default:
        return 0;
    }
}

/* Its name, its unique key, its times. */
static uint64_t index_bytes(const struct job *j)
{
    static const uint32_t due_flags[] = {JOBF_EXPIRES, JOBF_DEADLINE,
                                         JOBF_CANCEL};
    struct rec_more m;
    struct key k;
    uint64_t bytes = 0;
    job_more(j, &m);
    if ((j->flags & JOBF_NAMED) != 0)
        bytes += key_key(&k, KEY_ALIAS, m.name).len + ID_LEN;
    if ((j->flags & JOBF_UNIQUE) != 0)
        bytes += unique_key(&k, m.unique_scope, j->queue, m.unique).len +
                 ID_LEN + SMALL_VALUE;
    for (size_t i = 0; i < ARRAY_LEN(due_flags); i++)
        if ((j->flags & due_flags[i]) != 0)
            bytes +=
                key_due(&k, 0, DUE_EXPIRES, id_slice(&j->id)).len + SMALL_VALUE;
    return bytes;
}

static enum err live_bytes(struct engine *e, struct gather *g,
                           const struct job *j, uint64_t *bytes,
                           struct errbuf *err)
{
    struct key prefix;
    *bytes = ID_LEN + job_row(j).len + place_bytes(j) + index_bytes(j);
    if (j->in_window || j->state == JOB_RUNNING)
        *bytes += j->size + j->row_cap;
    key_prefix_body(&prefix, &j->id);
    enum err rc = add_rows(e, g, FAMILY_BODIES, &prefix, bytes, err);
    if (rc == ERR_OK && (j->flags & JOBF_EFFECTS) != 0) {
        key_key(&prefix, KEY_EFFECT, id_slice(&j->id));
        rc = add_rows(e, g, FAMILY_KEYS, &prefix, bytes, err);
    }
    return rc;
}

static enum err done_bytes(struct engine *e, struct gather *g,
                           const struct id *id, uint64_t *bytes,
                           struct errbuf *err)
{
    struct job_view v;
    struct slice value;
    uint32_t bucket;
    struct key k;
    enum err rc = done_find(e, g, id, &bucket, &value, err);
    if (rc == ERR_OK)
        rc = done_view(e, id, value, &v, err);
    if (rc != ERR_OK)
        return rc;
    *bytes = ID_LEN; /* in the index */
    if (v.name.len > 0)
        *bytes += key_done_alias(&k, bucket, v.name).len + ID_LEN;
    key_prefix_past_id(&k, bucket, id);
    return add_rows(e, g, FAMILY_PAST, &k, bytes, err);
}

enum err engine_job_bytes(struct engine *e, struct gather *g, struct slice ref,
                          uint64_t *bytes, struct errbuf *err)
{
    struct id id;
    struct job *j;
    enum err rc = engine_find(e, g, ref, &id, err);
    if (rc != ERR_OK)
        return rc;
    rc = job_load(e, g, &id, &j, err);
    if (rc == ERR_NOTFOUND)
        return done_bytes(e, g, &id, bytes, err);
    if (rc != ERR_OK)
        return rc;
    rc = live_bytes(e, g, j, bytes, err);
    job_drop(e, j);
    return rc;
}
