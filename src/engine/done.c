/* Finished work, filed under the time at which it will be forgotten.
 *
 * A bucket is that time rounded up (to the hour, day, week or month, the
 * further away the coarser), so that forgetting is one range deletion and some
 * 250 buckets exist at most. All rows of a finished job lie in one bucket.
 *
 * Invariants:
 *  1. Counters (bucket, queue, state) equal the ids in the index, always.
 *  2. A bucket holds rows if and only if it is in engine.buckets.
 *  3. No job in a bucket was created outside of the bucket's span.
 */
#include "engine/core.h"

#define HOUR_MS ((uint64_t)3600 * 1000)

uint32_t done_bucket(uint64_t finished_ms, uint64_t keep_ms)
{
    uint64_t ends = finished_ms + keep_ms;
    uint64_t hours = (ends + HOUR_MS - 1) / HOUR_MS;
    uint64_t ahead = keep_ms / HOUR_MS;
    uint64_t step = ahead <= 48         ? 1
                    : ahead <= 24 * 60  ? 24
                    : ahead <= 24 * 366 ? 24 * 7
                                        : 24 * 30;
    hours = (hours + step - 1) / step * step;
    return hours > UINT32_MAX ? UINT32_MAX : (uint32_t)hours;
}

/* Dead letters are kept for a while even if nothing else is. */
uint64_t done_keep_ms(const struct engine *e, const struct job *j,
                      enum job_state state)
{
    uint64_t keep = e->config.keep_ms;
    if (j->keep > 0)
        keep = j->keep - 1;
    else if (j->queue->set.keep > 0)
        keep = j->queue->set.keep - 1;
    if (state == JOB_FAILED && keep < e->config.keep_failed_ms)
        keep = e->config.keep_failed_ms;
    return keep;
}

/* --- buckets ------------------------------------------------------------- */

/* Index of the first bucket that is not below `bucket`. */
static uint32_t bucket_at(const struct engine *e, uint32_t bucket)
{
    uint32_t i = e->buckets_n;
    while (i > 0 && e->buckets[i - 1].hour >= bucket)
        i--;
    return i;
}

static struct bucket *bucket_make(struct engine *e, uint32_t bucket)
{
    uint32_t i = bucket_at(e, bucket);
    if (i < e->buckets_n && e->buckets[i].hour == bucket)
        return &e->buckets[i];
    if (e->buckets_n == e->buckets_cap) {
        e->buckets_cap = e->buckets_cap == 0 ? 64 : e->buckets_cap * 2;
        e->buckets =
            mem_realloc(e->buckets, e->buckets_cap * sizeof(*e->buckets));
    }
    memmove(e->buckets + i + 1, e->buckets + i,
            (e->buckets_n - i) * sizeof(*e->buckets));
    e->buckets[i] = (struct bucket){.hour = bucket, .oldest_ms = UINT64_MAX};
    e->buckets_n++;
    return &e->buckets[i];
}

void done_note(struct engine *e, uint32_t bucket)
{
    (void)bucket_make(e, bucket);
}

void done_file(struct engine *e, uint32_t bucket, const struct id *id)
{
    struct bucket *b = bucket_make(e, bucket);
    uint64_t ms = id_ms(id);
    b->oldest_ms = ms < b->oldest_ms ? ms : b->oldest_ms;
    b->newest_ms = ms > b->newest_ms ? ms : b->newest_ms;
}

static bool may_hold(const struct bucket *b, const struct id *id)
{
    uint64_t ms = id_ms(id);
    return ms >= b->oldest_ms && ms <= b->newest_ms;
}

/* --- counters ------------------------------------------------------------ */

struct count_key {
    uint32_t bucket, queue;
    uint8_t state;
};

static bool count_is(const struct map_node *n, const void *key)
{
    const struct done_count *c = CONTAINER_OF(n, struct done_count, by_what);
    const struct count_key *k = key;
    return c->bucket == k->bucket && c->queue == k->queue &&
           c->state == k->state;
}

void done_init(struct engine *e)
{
    map_init(&e->done_counts, count_is);
}

static struct done_count *count_make(struct engine *e, struct count_key k)
{
    uint64_t h =
        hash_number(((uint64_t)k.bucket << 32 | k.queue) * 16 + k.state);
    struct map_node *n = map_get(&e->done_counts, h, &k);
    if (n != NULL)
        return CONTAINER_OF(n, struct done_count, by_what);
    struct done_count *c = NEW(struct done_count);
    c->bucket = k.bucket;
    c->queue = k.queue;
    c->state = k.state;
    map_add(&e->done_counts, &c->by_what, h);
    return c;
}

struct done_count *done_count(struct engine *e, uint32_t bucket, uint32_t queue,
                              enum job_state state, int64_t by)
{
    ASSERT(!job_state_live(state));
    struct count_key k = {bucket, queue, (uint8_t)state};
    struct done_count *c = e->last_count;
    if (c == NULL || c->bucket != bucket || c->queue != queue ||
        c->state != state)
        c = e->last_count = count_make(e, k);
    ASSERT(by >= 0 || c->count >= (uint64_t)-by);
    c->count += (uint64_t)by;
    struct queue *q = e->queues[queue];
    q->counts[state] += (uint64_t)by;
    e->stats.jobs_finished += (uint64_t)by;
    if (!list_linked(&c->touched)) {
        list_append(&e->touched_counts, &c->touched);
        e->owed_bytes += ROW_BYTES;
    }
    return c;
}

void done_commit(struct engine *e)
{
    struct list *it;
    index_settle(e);
    while ((it = list_pop(&e->touched_counts)) != NULL) {
        struct done_count *c = CONTAINER_OF(it, struct done_count, touched);
        struct rec_count r = {c->count};
        struct key k;
        rec_count_encode(
            &r, store_put(e->store, FAMILY_DONE,
                          key_done_count(&k, c->bucket, c->queue, c->state),
                          rec_count_size(&r), false));
    }
}

uint64_t done_total(const struct engine *e, uint32_t queue,
                    enum job_state state)
{
    return e->queues[queue]->counts[state];
}

/* --- looking up ---------------------------------------------------------- */

static enum err look(struct engine *e, struct gather *g, const struct id *id,
                     uint32_t bucket, struct slice *value, struct errbuf *err)
{
    struct key k;
    return store_find(e->store, g, FAMILY_PAST, key_past_job(&k, bucket, id),
                      value, err);
}

/* The likely buckets first, then all others: there are none before the job's
 * creation, unless the clock was set back since. Jobs live for a short while
 * only, most of them, so that the spans of invariant 3 leave few buckets to be
 * looked into. All rows that are missing are asked for at once, so that one
 * fetch brings them. */
enum err done_find(struct engine *e, struct gather *g, const struct id *id,
                   uint32_t *bucket, struct slice *value, struct errbuf *err)
{
    uint32_t likely = done_bucket(id_ms(id), e->config.keep_ms);
    bool pending = false;
    for (int pass = 0; pass < 2 && !pending; pass++) {
        for (uint32_t i = 0; i < e->buckets_n; i++) {
            const struct bucket *b = &e->buckets[i];
            bool others = b->hour < likely || b->hour > likely + 24;
            if (others != (pass == 1) || !may_hold(b, id))
                continue;
            *bucket = b->hour;
            enum err rc = look(e, g, id, *bucket, value, err);
            if (rc == ERR_PENDING)
                pending = true;
            else if (rc != ERR_NOTFOUND)
                return rc;
        }
    }
    return pending ? ERR_PENDING : ERR_NOTFOUND;
}

/* --- forgetting ---------------------------------------------------------- */

/* A clock that jumps a year ahead must not erase a year: a day of forgetting
 * per hour of uptime. */
static uint32_t forget_until(const struct engine *e, struct now now)
{
    uint64_t hour = now.wall_ms / HOUR_MS;
    uint64_t up = (now.mono_ms - e->loaded_mono_ms) / HOUR_MS;
    uint64_t most = e->forget_from + 24 * (up + 1);
    return (uint32_t)(hour < most ? hour : most);
}

static void count_free(struct map_node *n, void *ud)
{
    struct engine *e = ud;
    struct done_count *c = CONTAINER_OF(n, struct done_count, by_what);
    map_remove(&e->done_counts, n);
    list_remove(&c->touched);
    buf_release(&c->ids);
    mem_free(c);
}

static void count_forget(struct map_node *n, void *ud)
{
    struct engine *e = ud;
    struct done_count *c = CONTAINER_OF(n, struct done_count, by_what);
    if (c->bucket != e->buckets[0].hour)
        return;
    struct queue *q = e->queues[c->queue];
    ASSERT(q->counts[c->state] >= c->count);
    q->counts[c->state] -= c->count;
    e->stats.jobs_finished -= c->count;
    if (e->last_count == c)
        e->last_count = NULL;
    count_free(n, e);
}

bool done_forget(struct engine *e, struct now now)
{
    if (e->buckets_n == 0 || e->buckets[0].hour > forget_until(e, now))
        return false;
    static const enum family families[] = {FAMILY_DONE, FAMILY_PAST,
                                           FAMILY_INDEX, FAMILY_LOGS};
    uint32_t bucket = e->buckets[0].hour;
    struct key from, to;
    key_prefix_bucket(&from, bucket);
    key_after(&to, key_slice(&from));
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        store_del_range(e->store, families[i], key_slice(&from),
                        key_slice(&to));
    map_each(&e->done_counts, count_forget, e);
    memmove(e->buckets, e->buckets + 1,
            (e->buckets_n - 1) * sizeof(*e->buckets));
    e->buckets_n--;
    return true;
}

uint64_t done_next_ms(const struct engine *e)
{
    return e->buckets_n == 0 ? UINT64_MAX : e->buckets[0].hour * HOUR_MS;
}

/* --- start: one seek and the counters of each bucket --------------------- */

struct loading {
    struct engine *e;
    uint32_t bucket;
    bool found, bad;
};

static bool load_first(struct slice key, struct slice value, void *ud)
{
    struct loading *l = ud;
    struct done_key k;
    (void)value;
    l->found = key_parse_done(key, &k);
    l->bad = !l->found;
    l->bucket = k.bucket;
    return false;
}

static bool load_count(struct slice key, struct slice value, void *ud)
{
    struct loading *l = ud;
    struct engine *e = l->e;
    struct done_key k;
    struct rec_count r;
    if (!key_parse_done(key, &k) || !rec_count_decode(&r, value) ||
        k.queue >= e->queues_n || e->queues[k.queue] == NULL ||
        k.state < JOB_COMPLETED || k.state > JOB_EXPIRED) {
        l->bad = true;
        return false;
    }
    struct count_key ck = {k.bucket, k.queue, k.state};
    count_make(e, ck)->count = r.count;
    e->queues[k.queue]->counts[k.state] += r.count;
    e->stats.jobs_finished += r.count;
    return true;
}

enum err done_load(struct engine *e, struct errbuf *err)
{
    struct loading l = {.e = e};
    struct key from, to;
    from.len = 0;
    to.len = 0;
    for (;;) {
        l.found = false;
        enum err rc = store_scan(e->store, NULL, FAMILY_DONE, key_slice(&from),
                                 SLICE_EMPTY, 1, load_first, &l, err);
        if (rc != ERR_OK)
            return rc;
        if (l.bad)
            break;
        if (!l.found)
            return ERR_OK;
        struct bucket *b = bucket_make(e, l.bucket);
        b->oldest_ms = 0; /* to read all ids would take too long */
        b->newest_ms = UINT64_MAX;
        key_prefix_done(&from, l.bucket, DONE_COUNT);
        key_after(&to, key_slice(&from));
        rc = store_scan(e->store, NULL, FAMILY_DONE, key_slice(&from),
                        key_slice(&to), SIZE_MAX, load_count, &l, err);
        if (rc != ERR_OK)
            return rc;
        if (l.bad)
            break;
        struct key all;
        key_prefix_bucket(&all, l.bucket);
        key_after(&from, key_slice(&all));
    }
    return err_set(err, ERR_CORRUPT, "family done: bad row");
}

void done_free(struct engine *e)
{
    map_each(&e->done_counts, count_free, e);
    map_release(&e->done_counts);
    FREE(&e->buckets);
}
