/* Start: what is in memory is rebuilt from rows.
 *
 *     queues, handlers, owners -> counters -> rules, limits -> lanes
 *     -> finished work's buckets -> leases; parked lanes follow in slices while
 *     the server runs (park_scan())
 *
 * in slices, each a bounded scan that goes on where the last one stopped. The
 * length depends on names, lanes and leases, never on the backlog: windows of
 * lanes and of the near future are read when they are first looked at.
 */
#include "engine/core.h"
#include "store/offline.h"

#define SLICE_ROWS 4096

enum load_step {
    LOAD_BEGIN,
    LOAD_QUEUES,
    LOAD_PURGED,
    LOAD_DROPPED,
    LOAD_HANDLERS,
    LOAD_OWNERS,
    LOAD_LIVE,
    LOAD_COUNTS,
    LOAD_RULES,
    LOAD_LIMITS,
    LOAD_CHORES,
    LOAD_WORKERS,
    LOAD_LANES,
    LOAD_ENGINE,
    LOAD_DONE_BUCKETS,
    LOAD_RUNS,
    LOAD_READY,
};

static const uint8_t kinds[] = {
    [LOAD_QUEUES] = NAMED_QUEUE,       [LOAD_PURGED] = NAMED_PURGED,
    [LOAD_DROPPED] = NAMED_DROPPED,    [LOAD_HANDLERS] = NAMED_HANDLER,
    [LOAD_OWNERS] = NAMED_OWNER,       [LOAD_LIVE] = NAMED_LIVE,
    [LOAD_COUNTS] = NAMED_COUNTS,      [LOAD_LANES] = NAMED_LANE,
    [LOAD_ENGINE] = NAMED_ENGINE,      [LOAD_RULES] = NAMED_LIMIT,
    [LOAD_LIMITS] = NAMED_LIMIT_STATE, [LOAD_CHORES] = NAMED_CHORE,
    [LOAD_WORKERS] = NAMED_WORKER,
};

struct slice_of_rows {
    struct engine *e;
    enum load_step step;
    struct buf rows; /* key length, value length, key, value */
    uint32_t n;
};

/* Rows are copied first: taking them in reads and may change the store. */
static bool copy_row(struct slice key, struct slice value, void *ud)
{
    struct slice_of_rows *s = ud;
    uint32_t len[2] = {(uint32_t)key.len, (uint32_t)value.len};
    buf_add(&s->rows, len, sizeof(len));
    buf_add_slice(&s->rows, key);
    buf_add_slice(&s->rows, value);
    s->n++;
    return true;
}

static enum err take_row(struct engine *e, enum load_step step,
                         struct slice key, struct slice value, struct now now,
                         struct errbuf *err)
{
    uint8_t kind;
    struct slice name;
    switch (step) {
    case LOAD_PURGED:
        return purge_load_row(e, key, value, err);
    case LOAD_DROPPED:
        return queue_load_dropped(e, key, err);
    case LOAD_RULES:
        return rule_load_row(e, key, value, err);
    case LOAD_LIMITS:
        return limit_load_row(e, key, value, err);
    case LOAD_LANES:
        return lane_load_row(e, key, value, err);
    case LOAD_CHORES:
        return chore_load_row(e, key, value, err);
    case LOAD_WORKERS:
        return worker_load_row(e, key, value, now, err);
    case LOAD_RUNS:
        return lease_load_row(e, key, value, now, err);
    case LOAD_ENGINE:
        if (key_parse_named(key, &kind, &name))
            due_load(e, name, value);
        return ERR_OK;
    default:
        return names_load_row(e, key, value, err);
    }
}

static enum err load_rows(struct engine *e, struct now now, bool *more,
                          struct errbuf *err)
{
    struct slice_of_rows s = {.e = e, .step = (enum load_step)e->load_step};
    struct key from, to, next;
    enum family f = s.step == LOAD_RUNS ? FAMILY_RUNS : FAMILY_NAMED;
    from.len = to.len = 0;
    if (f == FAMILY_NAMED) {
        key_prefix_named(&from, kinds[s.step]);
        key_after(&to, key_slice(&from));
    }
    struct slice begin =
        e->load_from.len > 0 ? buf_slice(&e->load_from) : key_slice(&from);
    enum err rc = store_scan(e->store, NULL, f, begin, key_slice(&to),
                             SLICE_ROWS, copy_row, &s, err);
    struct slice last = SLICE_EMPTY;
    for (size_t at = 0; rc == ERR_OK && at < s.rows.len;) {
        uint32_t len[2];
        memcpy(len, s.rows.data + at, sizeof(len));
        at += sizeof(len);
        last = slice_of(s.rows.data + at, len[0]);
        at += len[0];
        rc = take_row(e, s.step, last, slice_of(s.rows.data + at, len[1]), now,
                      err);
        if (rc != ERR_OK)
            err_wrap(err, "row %s", offline_hex(last));
        at += len[1];
    }
    *more = s.n == SLICE_ROWS;
    buf_clear(&e->load_from);
    if (*more)
        buf_add_slice(&e->load_from, key_next(&next, last));
    buf_release(&s.rows);
    return rc;
}

static void loaded(struct engine *e, struct now now)
{
    e->loaded_mono_ms = now.mono_ms;
    e->forget_from = now.wall_ms / (3600 * 1000);
    /* What is late by more than a day waits for the first hour: starts that
     * follow each other would forget a day each. */
    if (e->buckets_n > 0 && e->buckets[0].hour + 24 < e->forget_from)
        e->forget_from = e->buckets[0].hour - 25;
    for (uint32_t i = 0; i < e->queues_n; i++)
        for (unsigned s = JOB_BLOCKED; e->queues[i] != NULL && s <= JOB_RUNNING;
             s++)
            e->stats.jobs_live += e->queues[i]->counts[s];
    for (uint32_t i = 0; i < e->queues_n; i++) {
        struct queue *q = e->queues[i];
        if (q != NULL && (q->set.concurrency > 0 || q->set.rate > 0))
            (void)queue_gate(e, q);
    }
    buf_release(&e->load_from);
}

enum err engine_load(struct engine *e, struct now now, bool *done,
                     struct errbuf *err)
{
    enum err rc = ERR_OK;
    bool more = false;
    *done = false;
    switch ((enum load_step)e->load_step) {
    case LOAD_BEGIN:
        e->start = store_start_number(e->store);
        e->scan_on = true;
        break;
    case LOAD_DONE_BUCKETS:
        /* Everything may be due: read on from the stored head. */
        window_init_unread(&e->due, e->due_head_stored);
        rc = done_load(e, err);
        break;
    case LOAD_READY:
        *done = true;
        return ERR_OK;
    default:
        rc = load_rows(e, now, &more, err);
    }
    if (rc != ERR_OK || more)
        return rc;
    e->load_step++;
    if (e->load_step == LOAD_READY) {
        loaded(e, now);
        *done = true;
    }
    return ERR_OK;
}
