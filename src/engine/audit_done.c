/* Finished jobs: what the index names is there, and the other way round. */
#include "engine/audit.h"

static void add(struct audit_sum *s, struct slice block, const struct id *id)
{
    s->n++;
    s->sum += hash64_seed(id_slice(id), hash64(block));
}

static void look_at_index(struct audit *a, struct slice key, struct slice value)
{
    struct index_key k;
    struct slice ids;
    struct id id;
    if (!key_parse_index(key, &k) || !index_ids(value, &ids) ||
        k.state <= JOB_RUNNING || k.state >= JOB_STATES) {
        audit_tell(a, FAMILY_INDEX, key, "ids that cannot be read");
        return;
    }
    if (audit_queue(a, k.queue) == NULL) {
        audit_tell(a, FAMILY_INDEX, key,
                   "jobs of queue %u, which family named does not have",
                   (unsigned)k.queue);
        return;
    }
    for (size_t at = 0; index_next(ids, &at, &id);) {
        add(&a->index, key, &id);
        a->counts[k.queue * JOB_STATES + k.state]++;
    }
}

static void look_at_past(struct audit *a, struct slice key, struct slice value)
{
    struct past_key k;
    struct key block;
    if (!key_parse_past(key, &k))
        audit_tell(a, FAMILY_PAST, key, "is no key of a finished job");
    else if (index_key_of(&k, value, &block))
        add(&a->past, key_slice(&block), &k.id);
    else if (k.kind == PAST_JOB)
        audit_tell(a, FAMILY_PAST, key, "a finished job that cannot be read");
}

/* --- which of them? ------------------------------------------------------ */

static void find_lost_job(struct audit *a, struct slice key, struct slice value)
{
    struct index_key k;
    struct slice ids, row;
    struct id id;
    struct key job;
    if (!key_parse_index(key, &k) || !index_ids(value, &ids))
        return;
    for (size_t at = 0; index_next(ids, &at, &id);) {
        if (!audit_row(a, FAMILY_PAST, key_past_job(&job, k.bucket, &id), &row))
            audit_tell(a, FAMILY_PAST, key_slice(&job),
                       "is missing: family index names job %s", audit_id(&id));
        else if (!index_names(&k, &id, row))
            audit_tell(a, FAMILY_INDEX, key,
                       "names job %s, whose row says another", audit_id(&id));
    }
}

static void find_unlisted(struct audit *a, struct slice key, struct slice value)
{
    struct past_key k;
    struct key block;
    struct slice row, ids;
    if (!key_parse_past(key, &k) || !index_key_of(&k, value, &block))
        return;
    if (audit_row(a, FAMILY_INDEX, key_slice(&block), &row) &&
        index_ids(row, &ids) && index_has(ids, &k.id))
        return;
    audit_tell(a, FAMILY_INDEX, key_slice(&block),
               "does not name the finished job %s, or is missing",
               audit_id(&k.id));
}

void audit_done(struct audit *a)
{
    audit_each(a, FAMILY_INDEX, look_at_index);
    audit_each(a, FAMILY_PAST, look_at_past);
    if (a->index.n == a->past.n && a->index.sum == a->past.sum)
        return;
    uint64_t told = a->told;
    audit_each(a, FAMILY_INDEX, find_lost_job);
    audit_each(a, FAMILY_PAST, find_unlisted);
    if (a->told == told) /* twice in one row, say */
        audit_tell(a, FAMILY_INDEX, SLICE_EMPTY,
                   "names %llu finished jobs; family past has %llu, each of "
                   "them named",
                   (unsigned long long)a->index.n,
                   (unsigned long long)a->past.n);
}
