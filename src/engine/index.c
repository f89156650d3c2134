/* The index of finished jobs, by queue, state and time.
 *
 *     index    bucket, queue, state, time, block  ->  ids
 *
 * What ends in one tick ends in blocks: a row of the index names up to
 * INDEX_BLOCK jobs of one queue that ended in one state at one time, and each
 * job's record names its block. So a job that was added, leased and finished
 * within a generation leaves one row of its own in the base, not two.
 *
 * Invariants:
 *  1. A job's id stands in the block that its record names, and in no other.
 *  2. The blocks of a tick are written when it ends, or when somebody is about
 *     to read the index: whoever does calls index_settle() before.
 *  3. Numbers of blocks are never used again: they begin with the number of the
 *     start.
 */
#include "engine/core.h"

#define INDEX_BLOCK 64

static void put(struct engine *e, const struct key *k, struct slice ids,
                bool fresh)
{
    struct rec_index r = {ids};
    rec_index_encode(&r, store_put(e->store, FAMILY_INDEX, key_slice(k),
                                   rec_index_size(&r), fresh));
}

static void settle(struct engine *e, struct done_count *c)
{
    struct key k;
    if (c->ids.len == 0)
        return;
    key_index(&k, c->bucket, c->queue, c->state, c->ids_ms, c->block);
    put(e, &k, buf_slice(&c->ids), true);
    buf_clear(&c->ids);
}

uint64_t index_add(struct engine *e, struct done_count *c, uint64_t finished_ms,
                   const struct id *id)
{
    if (c->ids_ms != finished_ms || c->ids.len == INDEX_BLOCK * ID_LEN)
        settle(e, c);
    if (c->ids.len == 0) {
        e->owed_bytes += ROW_BYTES;
        c->ids_ms = finished_ms;
        c->block = (uint64_t)e->start << 32 | e->blocks++;
    }
    buf_add(&c->ids, id->bytes, ID_LEN);
    e->owed_bytes += ID_LEN;
    return c->block;
}

void index_settle(struct engine *e)
{
    struct list *head = &e->touched_counts;
    for (struct list *it = head->next; it != head; it = it->next)
        settle(e, CONTAINER_OF(it, struct done_count, touched));
}

bool index_key_of(const struct past_key *k, struct slice value,
                  struct key *block)
{
    struct rec_done d;
    struct rec_job r;
    if (k->kind != PAST_JOB || !rec_done_decode(&d, value) ||
        !rec_job_decode(&r, d.job))
        return false;
    key_index(block, k->bucket, r.queue, d.state, d.finished_ms, d.block);
    return true;
}

bool index_names(const struct index_key *at, const struct id *id,
                 struct slice value)
{
    struct past_key k = {.bucket = at->bucket, .id = *id, .kind = PAST_JOB};
    struct key block, says;
    key_index(&block, at->bucket, at->queue, at->state, at->time_ms, at->block);
    return index_key_of(&k, value, &says) &&
           slice_eq(key_slice(&says), key_slice(&block));
}

bool index_ids(struct slice value, struct slice *ids)
{
    struct rec_index r;
    if (!rec_index_decode(&r, value) || r.ids.len == 0 ||
        r.ids.len % ID_LEN != 0)
        return false;
    *ids = r.ids;
    return true;
}

enum err index_get(struct engine *e, struct gather *g, const struct key *k,
                   struct slice *ids, struct errbuf *err)
{
    struct slice value;
    index_settle(e);
    enum err rc =
        store_get(e->store, g, FAMILY_INDEX, key_slice(k), &value, err);
    if (rc == ERR_NOTFOUND || (rc == ERR_OK && !index_ids(value, ids)))
        return err_set(err, ERR_CORRUPT, "family index: a job without its row");
    return rc;
}

bool index_next(struct slice ids, size_t *at, struct id *id)
{
    static const struct id hole;
    while (*at < ids.len) {
        memcpy(id->bytes, ids.data + *at, ID_LEN);
        *at += ID_LEN;
        if (!id_eq(id, &hole))
            return true;
    }
    return false;
}

bool index_has(struct slice ids, const struct id *id)
{
    struct id other;
    for (size_t at = 0; index_next(ids, &at, &other);)
        if (id_eq(&other, id))
            return true;
    return false;
}

void index_put_back(struct engine *e, const struct key *k, struct slice ids,
                    const struct id *id)
{
    struct buf all = {0};
    buf_add_slice(&all, ids);
    buf_add(&all, id->bytes, ID_LEN);
    put(e, k, buf_slice(&all), false);
    buf_release(&all);
}

/* A hole stays where the id was, so that cursors know their place. */
void index_del(struct engine *e, const struct key *k, struct slice ids,
               const struct id *gone, size_t n)
{
    struct buf rest = {0};
    struct id other;
    buf_add_slice(&rest, ids);
    for (size_t at = 0; at < rest.len; at += ID_LEN)
        for (size_t i = 0; i < n; i++)
            if (memcmp(rest.data + at, gone[i].bytes, ID_LEN) == 0)
                memset(rest.data + at, 0, ID_LEN);
    if (index_next(buf_slice(&rest), &(size_t){0}, &other))
        put(e, k, buf_slice(&rest), false);
    else
        store_del(e->store, FAMILY_INDEX, key_slice(k));
    buf_release(&rest);
}
