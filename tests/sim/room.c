#include "room.h"

#include "util/alloc.h"
#include "util/assert.h"

struct bound {
    uint64_t most;
    bool drop;
};

struct room {
    struct undo *undo;
    struct bound bounds[ROOM_QUEUES];
};

struct room *room_new(struct undo *u)
{
    struct room *r = NEW(struct room);
    r->undo = u;
    return r;
}

void room_free(struct room **r)
{
    FREE(r);
}

bool room_may_say(const struct room *r, uint8_t queue,
                  const struct room_set *set)
{
    uint64_t most = set->has_most ? set->most : r->bounds[queue].most;
    return !set->has_drop || !set->drop || most > 0;
}

void room_said(struct room *r, uint8_t queue, const struct room_set *set)
{
    ASSERT(queue < ROOM_QUEUES);
    struct bound *b = &r->bounds[queue];
    UNDO_SAVE(r->undo, b);
    if (set->has_most)
        b->most = set->most;
    if (set->has_drop)
        b->drop = set->drop;
}

void room_queue_gone(struct room *r, uint8_t queue)
{
    if (queue >= ROOM_QUEUES)
        return;
    UNDO_SAVE(r->undo, &r->bounds[queue]);
    r->bounds[queue] = (struct bound){.most = 0};
}

/* Those that live for certain. What has run too long may have ended. */
static uint64_t sure(const struct model *m, uint8_t queue, struct now now)
{
    uint64_t n = 0;
    for (uint32_t k = 0; k < model_jobs(m); k++)
        n += model_job(m, k)->queue == queue && model_is_live(m, k) &&
             model_sure(m, k, now);
    return n;
}

/* Those that may live, or only those of them that do not stand in line for
 * certain. */
static uint64_t at_most(const struct model *m, uint8_t queue, bool but_in_line)
{
    uint64_t n = 0;
    for (uint32_t k = 0; k < model_jobs(m); k++) {
        const struct mjob *j = model_job(m, k);
        bool stands = j->state == M_WAITING && j->in_line && !j->held;
        if (j->queue == queue && model_is_live(m, k))
            n += !but_in_line || !stands;
    }
    return n;
}

const char *room_added(const struct room *r, const struct model *m,
                       uint8_t queue, struct now now)
{
    const struct bound *b = &r->bounds[queue];
    return b->most > 0 && sure(m, queue, now) > b->most
               ? "a queue holds more jobs than it may"
               : NULL;
}

const char *room_refused(const struct room *r, const struct model *m,
                         uint8_t queue, uint32_t n)
{
    const struct bound *b = &r->bounds[queue];
    if (b->most == 0)
        return "a queue without a bound is full";
    if (at_most(m, queue, b->drop) + n > b->most)
        return NULL;
    return b->drop ? "a full queue drops nothing" : "a queue with room is full";
}

const char *room_dropped(const struct room *r, const struct model *m,
                         uint32_t k, uint32_t n)
{
    uint8_t queue = model_job(m, k)->queue;
    const struct bound *b = &r->bounds[queue];
    if (b->most == 0 || !b->drop)
        return "a queue drops a job, though nobody said so";
    return at_most(m, queue, false) + n > b->most
               ? NULL
               : "a queue with room drops a job";
}
