/* Looking at the head of a queue without leasing: the heads of its open lanes,
 * merged by order. Where owners take turns, whose turn it is does not count.
 */
#include <stdlib.h>

#include "engine/core.h"

#define LANES_MAX 128

struct head {
    uint64_t order;
    struct id id;
};

static int earlier(const void *a, const void *b)
{
    const struct head *x = a, *y = b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return id_cmp(&x->id, &y->id);
}

/* Lanes are noted first: a refill moves them in their heaps. */
static enum err refill(struct engine *e, struct gather *g, struct lane **lanes,
                       uint32_t n, struct errbuf *err)
{
    enum err all = ERR_OK;
    for (uint32_t i = 0; i < n; i++) {
        if (!window_unread(&lanes[i]->window))
            continue;
        enum err rc = lane_refill(e, g, lanes[i], err);
        if (rc == ERR_PENDING)
            all = rc;
        else if (rc != ERR_OK)
            return rc;
    }
    return all;
}

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

enum err engine_peek(struct engine *e, struct gather *g, struct slice queue,
                     uint32_t count, struct now now, job_fn fn, void *ud,
                     struct errbuf *err)
{
    struct lane *lanes[LANES_MAX];
    struct queue *q = queue_find(e, queue);
    if (q == NULL || !q->stored)
        return err_set(err, ERR_NOTFOUND, "no such queue");
    uint32_t n = lanes_of(q, lanes, LANES_MAX), found = 0;
    enum err rc = refill(e, g, lanes, n, err);
    if (rc != ERR_OK)
        return rc;
    struct head *heads = mem_alloc(((size_t)n * count + 1) * sizeof(*heads));
    for (uint32_t i = 0; i < n; i++) {
        const struct window *w = &lanes[i]->window;
        for (uint32_t k = 0; k < w->len && k < count; k++)
            heads[found++] =
                (struct head){window_at(w, k)->order, window_at(w, k)->id};
    }
    qsort(heads, found, sizeof(*heads), earlier);
    bool pending = false;
    for (uint32_t i = 0; i < found && i < count && rc == ERR_OK; i++) {
        rc = tell(e, g, &heads[i].id, now, fn, ud, err);
        if (rc == ERR_PENDING) { /* ask for the others too */
            pending = true;
            rc = ERR_OK;
        }
    }
    mem_free(heads);
    return rc == ERR_OK && pending ? ERR_PENDING : rc;
}
