/* Queues: pausing, looking, bounds. */
#include "engine/core.h"

#include <stdlib.h>

static uint64_t oldest_ready(const struct queue *q)
{
    uint64_t oldest = 0;
    for (size_t i = 0; i < q->shares.len; i++) {
        const struct share *s =
            CONTAINER_OF(q->shares.nodes[i], struct share, in_queue);
        for (size_t k = 0; k < s->lanes.len && k < 16; k++) {
            const struct lane *l =
                CONTAINER_OF(s->lanes.nodes[k], struct lane, in_share);
            const struct member *m = window_head(&l->window);
            if (m != NULL && (oldest == 0 || m->since_ms < oldest))
                oldest = m->since_ms;
        }
        if (i == 64)
            break; /* of many owners: an estimate */
    }
    return oldest;
}

static void view_of(const struct queue *q, struct queue_view *v)
{
    memset(v, 0, sizeof(*v));
    v->name = q->name;
    v->id = q->set.id;
    v->paused = q->set.paused != 0;
    v->exists = q->stored;
    memcpy(v->jobs, q->counts, sizeof(v->jobs));
    v->added = q->totals.added;
    v->leased = q->totals.leased;
    v->completed = q->totals.completed;
    v->failed = q->totals.failed;
    v->cancelled = q->totals.cancelled;
    v->expired = q->totals.expired;
    v->retried = q->totals.retried;
    v->lost = q->totals.lost;
    v->waiters = q->waiters_n;
    v->oldest_ready_ms = oldest_ready(q);
    v->maxlen = q->set.maxlen;
    v->fair = q->set.fair != 0;
    v->aging = q->set.order == SCHEME_AGING;
    v->age_ms = q->set.age_ms;
    v->lease_ms = q->set.lease_ms;
    v->keep_given = q->set.keep > 0;
    v->keep_ms = q->set.keep > 0 ? q->set.keep - 1 : 0;
}

static struct queue *stored_queue(struct engine *e, struct slice name)
{
    struct queue *q = queue_find(e, name);
    return q != NULL && q->stored ? q : NULL;
}

enum err engine_queue(struct engine *e, struct slice queue, struct now now,
                      struct queue_view *v, struct errbuf *err)
{
    (void)now;
    struct queue *q = stored_queue(e, queue);
    if (q == NULL)
        return err_set(err, ERR_NOTFOUND, "no such queue");
    view_of(q, v);
    return ERR_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct queue *const *x = a, *const *y = b;
    return slice_cmp((*x)->name, (*y)->name);
}

void engine_queues(struct engine *e, struct now now, queue_fn fn, void *ud)
{
    (void)now;
    size_t n = 0;
    struct queue **list =
        mem_alloc((e->stats.queues + 1) * sizeof(struct queue *));
    for (uint32_t i = 0; i < e->queues_n; i++)
        if (e->queues[i] != NULL && e->queues[i]->stored)
            list[n++] = e->queues[i];
    qsort(list, n, sizeof(*list), by_name);
    for (size_t i = 0; i < n; i++) {
        struct queue_view v;
        view_of(list[i], &v);
        fn(ud, &v);
    }
    mem_free(list);
}

enum err engine_queue_pause(struct engine *e, struct slice queue, bool paused,
                            struct now now, struct errbuf *err)
{
    enum err rc = name_check(queue, "queue", err);
    if (rc != ERR_OK)
        return rc;
    struct queue *q = queue_make(e, queue, true);
    if (q == NULL)
        return err_set(err, ERR_LIMIT, "there are %u queues already",
                       (unsigned)e->config.names_max);
    if ((q->set.paused != 0) == paused)
        return ERR_OK;
    q->set.paused = paused;
    queue_store(e, q);
    struct event ev = {.type =
                           paused ? EVENT_QUEUE_PAUSED : EVENT_QUEUE_RESUMED,
                       .at_ms = now.wall_ms,
                       .queue = q->name,
                       .queue_id = q->set.id};
    report_event(e, &ev);
    if (!paused)
        wait_wake(e, q, NULL, q->counts[JOB_READY]);
    return ERR_OK;
}

enum err queue_full(struct engine *e, struct gather *g, struct queue *q,
                    uint32_t n, struct now now, struct errbuf *err)
{
    (void)e;
    (void)g;
    (void)n;
    (void)now;
    return err_set(err, ERR_LIMIT,
                   "queue %.*s holds %llu jobs, as many as its MAXLEN allows",
                   SLICE_FMT(q->name), (unsigned long long)q->set.maxlen);
}
