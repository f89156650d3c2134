/* Queues that are fair to owners, or are not for a while, in order of priority
 * or of age. */
#include "world_impl.h"

#include <stdio.h>

/* What a point of priority is worth. */
static uint64_t draw_age(struct world *w)
{
    static const uint64_t ages[] = {1, 100, 1000, 60000};
    return ages[rng_below(&w->rng, 4)];
}

void turns_begin(struct world *w, bool alone)
{
    w->turns = turns_new(w->undo);
    w->turns_alone = alone;
    if (alone)
        w->owners = TURNS_OWNERS - 1;
    w->large = chance(w, 200);
    for (uint32_t q = 0; q < TURNS_QUEUES; q++) {
        w->flat[q] = chance(w, 500);
        w->ages[q] = w->flat[q] && chance(w, 500) ? 0 : draw_age(w);
    }
}

static enum err set_queue(struct world *w, uint32_t q,
                          const struct queue_settings *s)
{
    return engine_queue_set(w->engine, slice_str(world_queue(w, q)), s, w->now,
                            &w->e);
}

static enum err order_queue(struct world *w, uint32_t q)
{
    struct queue_settings s = {.has_order = true,
                               .order = w->ages[q] > 0,
                               .has_age = w->ages[q] > 0,
                               .age_ms = w->ages[q]};
    trace(w, "queue %s has age %llu", world_queue(w, q),
          (unsigned long long)w->ages[q]);
    enum err rc = set_queue(w, q, &s);
    if (rc == ERR_OK)
        model_ordered(w->model, q, w->ages[q]);
    return rc;
}

static enum err make_fair(struct world *w, uint32_t q, bool fair)
{
    struct queue_settings s = {.has_fair = true, .fair = fair};
    trace(w, "queue %s is %s", world_queue(w, q), fair ? "fair" : "not fair");
    enum err rc = set_queue(w, q, &s);
    if (rc == ERR_OK) {
        turns_fair(w->turns, q, fair);
        model_fair(w->model, q, fair);
    }
    return rc;
}

static enum err weigh(struct world *w, uint32_t owner)
{
    char name[16];
    uint32_t weight = 1 + (uint32_t)rng_below(&w->rng, TURNS_WEIGHT);
    if (w->large)
        weight *= TURNS_LARGE;
    struct owner_settings s = {.has_weight = true, .weight = weight};
    (void)snprintf(name, sizeof(name), "owner-%u", owner);
    trace(w, "%s has a weight of %u", name, weight);
    enum err rc =
        engine_owner_set(w->engine, slice_str(name), &s, w->now, &w->e);
    if (rc == ERR_OK)
        turns_weigh(w->turns, owner, weight);
    return rc;
}

void turns_say(struct world *w)
{
    enum err rc = ERR_OK;
    for (uint32_t q = 0; q < TURNS_QUEUES && rc == ERR_OK; q++)
        if (!turns_is_said(w->turns, q)) {
            rc = order_queue(w, q);
            if (rc == ERR_OK)
                rc = make_fair(w, q, true);
        }
    for (uint32_t i = 1; i < TURNS_OWNERS && rc == ERR_OK; i++)
        if (!turns_is_weighed(w->turns, i))
            rc = weigh(w, i);
    if (rc != ERR_OK)
        violate(w, NULL, w->e.text);
}

void turns_crash(struct world *w)
{
    turns_crashed(w->turns);
    for (uint32_t q = 0; q < TURNS_QUEUES; q++) {
        model_ordered(w->model, q, w->ages[q]);
        model_fair(w->model, q, turns_is_fair(w->turns, q));
    }
    turns_say(w);
}

/* All the same where it may come first: then owners would not take turns. */
uint32_t turns_priority(const struct world *w, uint32_t queue,
                        uint32_t priority)
{
    return w->turns_alone && queue < TURNS_QUEUES && w->flat[queue]
               ? PRIORITY_DEFAULT
               : priority;
}

enum err turns_run(struct world *w)
{
    uint32_t q = (uint32_t)rng_below(&w->rng, TURNS_QUEUES);
    if (chance(w, 500))
        return make_fair(w, q, !turns_is_fair(w->turns, q));
    if (chance(w, 500))
        return weigh(w, 1 + (uint32_t)rng_below(&w->rng, TURNS_OWNERS - 1));
    UNDO_SAVE(w->undo, &w->ages[q]);
    w->ages[q] = w->flat[q] && chance(w, 500) ? 0 : draw_age(w);
    return order_queue(w, q);
}
