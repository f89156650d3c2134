/* Looking at the head of a queue without leasing: the heads of its open lanes,
 * merged as leases would take them. Where owners take turns, whose turn it is
 * does not count.
 */
#include "engine/core.h"

#define LANES_MAX 128

static enum err tell(struct engine *e, struct gather *g, const struct id *id,
                     struct now now, job_fn fn, void *ud, struct errbuf *err)
{
    struct job *j;
    struct job_view v;
    enum err rc = job_load(e, g, id, &j, err);
    if (rc == ERR_NOTFOUND)
        return ERR_OK;
    if (rc != ERR_OK)
        return rc;
    job_view_of(e, j, now, &v);
    fn(ud, &v);
    job_drop(e, j);
    return ERR_OK;
}

/* The best of what stands first in each lane. A lane keeps the order that it
 * had; lanes compete by the present one. */
static const struct member *next_of(struct lane *const *lanes, uint32_t *told,
                                    uint32_t n)
{
    const struct member *best = NULL;
    uint64_t best_order = 0;
    uint32_t from = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (told[i] >= lanes[i]->window.len)
            continue;
        const struct member *m = window_at(&lanes[i]->window, told[i]);
        uint64_t order = lane_order_now(lanes[i], m);
        if (best != NULL &&
            (order > best_order ||
             (order == best_order && id_cmp(&m->id, &best->id) > 0)))
            continue;
        best = m;
        best_order = order;
        from = i;
    }
    if (best != NULL)
        told[from]++;
    return best;
}

enum err engine_peek(struct engine *e, struct gather *g, struct slice queue,
                     uint32_t count, struct now now, job_fn fn, void *ud,
                     struct errbuf *err)
{
    struct lane *lanes[LANES_MAX];
    struct queue *q = queue_find(e, queue);
    if (q == NULL || !q->stored)
        return err_set(err, ERR_NOTFOUND, "no such queue");
    uint32_t n = lanes_of(q, true, lanes, LANES_MAX);
    uint32_t told[LANES_MAX] = {0};
    enum err rc = lanes_read(e, g, lanes, n, err);
    if (rc != ERR_OK)
        return rc;
    bool pending = false;
    const struct member *m;
    for (uint32_t i = 0; i < count && rc == ERR_OK; i++) {
        if ((m = next_of(lanes, told, n)) == NULL)
            break;
        rc = tell(e, g, &m->id, now, fn, ud, err);
        if (rc == ERR_PENDING) { /* ask for the others too */
            pending = true;
            rc = ERR_OK;
        }
    }
    return rc == ERR_OK && pending ? ERR_PENDING : rc;
}
