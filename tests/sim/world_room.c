/* Queues that hold so many jobs and no more. */
#include "world_impl.h"

/* Few, so that they are full at times. */
#define MOST 16

void room_begin(struct world *w)
{
    w->room = room_new(w->undo);
}

enum err room_run(struct world *w)
{
    uint8_t queue = (uint8_t)rng_below(&w->rng, ROOM_QUEUES);
    struct room_set set = {.has_most = chance(w, 800),
                           .most = 1 + rng_below(&w->rng, MOST),
                           .drop = chance(w, 500)};
    set.has_drop = !set.has_most || chance(w, 500);
    if (chance(w, 200))
        set.most = 0;
    struct queue_settings s = {.has_maxlen = set.has_most,
                               .maxlen = set.most,
                               .has_overflow = set.has_drop,
                               .overflow = set.drop};
    trace(w, "  queue %s holds %d/%llu drops %d/%d", world_queue(w, queue),
          set.has_most, (unsigned long long)set.most, set.has_drop, set.drop);
    enum err rc = engine_queue_set(w->engine, slice_str(world_queue(w, queue)),
                                   &s, w->now, &w->e);
    if (!room_may_say(w->room, queue, &set)) {
        if (rc != ERR_SYNTAX)
            violate(w, NULL, "a queue without a bound drops the oldest");
        return ERR_OK;
    }
    if (rc == ERR_OK)
        room_said(w->room, queue, &set);
    return rc;
}

bool room_judge(struct world *w, const struct op *op, enum err rc)
{
    if (w->room == NULL || rc != ERR_LIMIT)
        return true;
    if (w->keys != NULL && !keys_make(w, op))
        violate(w, op, "a full queue refuses what would be no new job");
    violate(w, op, room_refused(w->room, w->model, op->queue, op->n));
    return false;
}

void room_drop(struct world *w, const struct id *id)
{
    uint32_t k;
    if (!model_find(w->model, id, &k)) {
        violate(w, w->adds, "a job was dropped that nobody added");
        return;
    }
    trace(w, "  job %u: dropped", k);
    if (w->room == NULL || model_job(w->model, k)->queue != w->adds->queue)
        violate_job(w, k, "a job of another queue was dropped");
    else
        violate_job(w, k, room_dropped(w->room, w->model, k, w->adds->n));
    violate_job(w, k, model_dropped(w->model, k, w->now));
}
