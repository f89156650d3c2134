/* Limits, bounds, quotas, pauses and breakers of a world. */
#include "world_impl.h"

#include <stdio.h>
#include <string.h>

#include "engine/handlers.h"
#include "util/assert.h"

static const char *const handlers[GATE_HANDLERS] = {"", "send", "render"};

struct slice gates_handler_name(const struct world *w, uint32_t queue,
                                uint32_t handler)
{
    ASSERT(handler < GATE_HANDLERS);
    return slice_str(handler == 0 ? world_queue(w, queue) : handlers[handler]);
}

void gates_begin(struct world *w)
{
    w->gates = gates_new(w->undo, chance(w, 400));
}

/* --- jobs ---------------------------------------------------------------- */

void gates_draw(struct world *w, struct op *op)
{
    uint32_t most =
        gates_many(w->gates) ? 1 + (uint32_t)rng_below(&w->rng, 3) : 1;
    op->handler = (uint8_t)rng_below(&w->rng, GATE_HANDLERS);
    op->cost = 0;
    op->gates = (uint32_t)1 << GATE_QUEUE(op->queue);
    if (chance(w, 300))
        most = 0;
    for (uint32_t i = 0; i < most; i++)
        op->gates |= (uint32_t)1 << rng_below(&w->rng, GATE_NAMES);
    if (most > 0 && chance(w, 200))
        op->cost = 1 + (uint32_t)rng_below(&w->rng, 3);
    /* A quota is one more name. */
    if (op->owner > 0 && op->owner <= GATE_OWNERS && gates_many(w->gates))
        op->gates |= (uint32_t)1 << GATE_OWNER(op->owner - 1);
    trace(w, "  handler %u gates %x cost %u", op->handler, op->gates, op->cost);
}

void gates_options(const struct op *op, struct job_options *o)
{
    if (op->handler > 0) {
        o->given |= (uint64_t)1 << JOPT_HANDLER;
        o->handler = slice_str(handlers[op->handler]);
    }
    for (uint32_t i = 0; i < GATE_NAMES; i++)
        if ((op->gates >> i & 1) != 0)
            o->limits[o->limits_n++] = slice_str(gates_name(i));
    if (o->limits_n > 0)
        o->given |= (uint64_t)1 << JOPT_LIMIT;
    if (op->cost > 0 && o->limits_n > 0) {
        o->given |= (uint64_t)1 << JOPT_COST;
        o->cost = op->cost;
    }
}

/* --- settings ------------------------------------------------------------ */

static void draw_set(struct world *w, bool rates, struct gate_set *set)
{
    *set = (struct gate_set){.has_concurrency = chance(w, 800)};
    set->concurrency = (uint32_t)rng_below(&w->rng, 5);
    set->has_rate = rates && (!set->has_concurrency || chance(w, 300));
    if (set->has_rate && chance(w, 700)) {
        static const uint64_t periods[] = {1000, 1000, 10000, 60000};
        set->rate.n = 1 + rng_below(&w->rng, 15);
        set->rate.per_ms = periods[rng_below(&w->rng, 4)];
        set->rate.burst = chance(w, 500) ? 0 : 1 + rng_below(&w->rng, 4);
    }
    trace(w, "  concurrency %d/%u rate %d/%llu per %llu burst %llu",
          set->has_concurrency, set->concurrency, set->has_rate,
          (unsigned long long)set->rate.n, (unsigned long long)set->rate.per_ms,
          (unsigned long long)set->rate.burst);
}

static enum err set_rule(struct world *w)
{
    struct gate_set set;
    uint32_t p = (uint32_t)rng_below(&w->rng, GATE_PATTERNS);
    draw_set(w, true, &set);
    trace(w, "  rule %s", gates_pattern(p));
    struct limit_rule r = {.has_concurrency = set.has_concurrency,
                           .concurrency = set.concurrency,
                           .has_rate = set.has_rate,
                           .has_burst = set.has_rate && set.rate.n > 0,
                           .rate = set.rate};
    enum err rc = engine_limit_set(w->engine, slice_str(gates_pattern(p)), &r,
                                   w->now, &w->e);
    if (rc == ERR_OK)
        gates_rule(w->gates, p, &set);
    return rc;
}

static enum err del_rule(struct world *w, uint32_t p)
{
    trace(w, "  no rule %s", gates_pattern(p));
    enum err rc =
        engine_limit_del(w->engine, slice_str(gates_pattern(p)), w->now, &w->e);
    if ((rc == ERR_OK) != gates_has_rule(w->gates, p))
        violate(w, NULL, "a rule is there, or is not, against what was said");
    if (rc == ERR_OK)
        gates_rule_gone(w->gates, p);
    for (uint32_t i = 0; i < GATE_NAMES; i++)
        if (strcmp(gates_name(i), gates_pattern(p)) == 0)
            gates_open(w->gates, i);
    return rc == ERR_NOTFOUND ? ERR_OK : rc;
}

static enum err bound_queue(struct world *w, uint32_t q,
                            const struct gate_set *set)
{
    struct queue_settings s = {.has_concurrency = set->has_concurrency,
                               .concurrency = set->concurrency,
                               .has_rate = set->has_rate,
                               .has_burst = set->has_rate && set->rate.n > 0,
                               .rate = set->rate};
    trace(w, "  queue %s", world_queue(w, q));
    enum err rc = engine_queue_set(w->engine, slice_str(world_queue(w, q)), &s,
                                   w->now, &w->e);
    if (rc == ERR_OK)
        gates_bound(w->gates, GATE_QUEUE(q), set);
    return rc;
}

static enum err bound_owner(struct world *w, uint32_t o, uint32_t concurrency)
{
    char name[16];
    struct owner_settings s = {.has_running = true, .running_max = concurrency};
    struct gate_set set = {.has_concurrency = true, .concurrency = concurrency};
    (void)snprintf(name, sizeof(name), "owner-%u", o + 1);
    trace(w, "  %s may run %u", name, concurrency);
    enum err rc =
        engine_owner_set(w->engine, slice_str(name), &s, w->now, &w->e);
    if (rc == ERR_OK)
        gates_bound(w->gates, GATE_OWNER(o), &set);
    return rc;
}

static enum err close_name(struct world *w)
{
    uint32_t i = (uint32_t)rng_below(&w->rng, GATE_NAMES);
    uint64_t until = w->now.wall_ms + rng_below(&w->rng, 60000);
    trace(w, "  %s is closed until %llu", gates_name(i),
          (unsigned long long)until);
    enum err rc = engine_limit_close(w->engine, slice_str(gates_name(i)), until,
                                     w->now, &w->e);
    if (rc == ERR_OK)
        gates_close(w->gates, i, until);
    return rc;
}

static enum err open_name(struct world *w)
{
    uint32_t i = (uint32_t)rng_below(&w->rng, GATE_NAMES);
    struct limit_rule r = {.open = true};
    trace(w, "  %s is opened", gates_name(i));
    enum err rc = engine_limit_set(w->engine, slice_str(gates_name(i)), &r,
                                   w->now, &w->e);
    if (rc == ERR_OK)
        gates_open(w->gates, i);
    return rc;
}

static enum err pause_queue(struct world *w, uint32_t q, bool paused)
{
    trace(w, "  queue %s paused: %d", world_queue(w, q), paused);
    enum err rc = engine_queue_pause(w->engine, slice_str(world_queue(w, q)),
                                     paused, w->now, &w->e);
    if (rc == ERR_OK)
        gates_pause_queue(w->gates, q, paused);
    return rc;
}

static enum err pause_handler(struct world *w, uint32_t h, bool paused)
{
    trace(w, "  handler %s paused: %d", handlers[h], paused);
    enum err rc = engine_handler_pause(w->engine, slice_str(handlers[h]),
                                       paused, w->now, &w->e);
    if (rc == ERR_OK)
        gates_pause_handler(w->gates, h, paused);
    return rc;
}

enum err gates_run(struct world *w)
{
    uint64_t r = rng_below(&w->rng, 100);
    uint32_t q = (uint32_t)rng_below(&w->rng, GATE_QUEUES);
    struct gate_set set;
    if (w->breakers != NULL && chance(w, 250))
        return breakers_run(w);
    if (r < 35)
        return set_rule(w);
    if (r < 45)
        return del_rule(w, (uint32_t)rng_below(&w->rng, GATE_PATTERNS));
    if (r < 55)
        return chance(w, 700) ? close_name(w) : open_name(w);
    if (r < 65) {
        draw_set(w, true, &set);
        return bound_queue(w, q, &set);
    }
    if (r < 75 && gates_many(w->gates))
        return bound_owner(w, (uint32_t)rng_below(&w->rng, GATE_OWNERS),
                           (uint32_t)rng_below(&w->rng, 4));
    bool pause = chance(w, 350);
    if (chance(w, 500))
        return pause_queue(w, q, pause);
    return pause_handler(w, 1 + (uint32_t)rng_below(&w->rng, GATE_HANDLERS - 1),
                         pause);
}

/* Whatever only somebody's word would open opens; what time opens stays, but
 * for rates, which would take days of it. */
void gates_drain(struct world *w)
{
    enum err rc = ERR_OK;
    struct gate_set no_rate = {.has_rate = true};
    for (uint32_t i = 0; i < GATE_QUEUES && rc == ERR_OK; i++) {
        rc = pause_queue(w, i, false);
        if (rc == ERR_OK)
            rc = bound_queue(w, i, &no_rate);
    }
    for (uint32_t i = 1; i < GATE_HANDLERS && rc == ERR_OK; i++)
        rc = pause_handler(w, i, false);
    for (uint32_t i = 0; i < GATE_PATTERNS && rc == ERR_OK; i++)
        if (gates_has_rule(w->gates, i)) {
            struct limit_rule r = {.has_rate = true};
            rc = engine_limit_set(w->engine, slice_str(gates_pattern(i)), &r,
                                  w->now, &w->e);
            if (rc == ERR_OK)
                gates_rule(w->gates, i, &no_rate);
        }
    if (rc != ERR_OK)
        violate(w, NULL, w->e.text);
}
