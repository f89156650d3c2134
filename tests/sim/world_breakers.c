/* Breakers of a world's handlers. */
#include "world_impl.h"

void breakers_begin(struct world *w)
{
    w->breakers = breakers_new(w->undo);
}

static struct slice name_of(const struct world *w, uint32_t handler)
{
    return gates_handler_name(w, 0, handler);
}

/* --- settings ------------------------------------------------------------ */

static enum err set(struct world *w, uint32_t handler, bool on)
{
    struct handler_params p = {.given = HSET_BREAKER, .breaker = on};
    struct breaker_settings *s = &p.breaker_set;
    if (chance(w, 700)) {
        s->percent = 10 + (uint32_t)rng_below(&w->rng, 50);
        s->least = 1 + (uint32_t)rng_below(&w->rng, 4);
    }
    if (chance(w, 300))
        s->window_ms = 10000 + rng_below(&w->rng, 600000);
    if (chance(w, 500)) {
        s->open_ms = 1 + rng_below(&w->rng, chance(w, 500) ? 3000 : 60000);
        s->probes = 1 + (uint32_t)rng_below(&w->rng, 3);
    }
    trace(w, "  breaker %u is on: %d, %u%% of %u in %llu, open %llu, probes %u",
          handler, on, s->percent, s->least, (unsigned long long)s->window_ms,
          (unsigned long long)s->open_ms, s->probes);
    enum err rc =
        engine_handler_set(w->engine, name_of(w, handler), &p, w->now, &w->e);
    if (rc == ERR_OK)
        violate(w, NULL, breakers_set(w->breakers, handler, on, s));
    return rc;
}

static enum err by_hand(struct world *w, uint32_t handler, bool trip)
{
    uint64_t open_ms = chance(w, 500) ? 0 : 1 + rng_below(&w->rng, 60000);
    struct slice name = name_of(w, handler);
    trace(w, "  breaker %u by hand: open %d for %llu", handler, trip,
          (unsigned long long)open_ms);
    enum err rc =
        trip ? engine_breaker_trip(w->engine, name, open_ms, w->now, &w->e)
             : engine_breaker_reset(w->engine, name, w->now, &w->e);
    if ((rc == ERR_OK) != breakers_on(w->breakers, handler))
        violate(w, NULL, "a breaker is on, or is not, against what was said");
    else if (rc == ERR_OK)
        violate(w, NULL,
                trip ? breakers_trip(w->breakers, handler, open_ms, w->now)
                     : breakers_reset(w->breakers, handler));
    return rc == ERR_STATE || rc == ERR_NOTFOUND ? ERR_OK : rc;
}

enum err breakers_run(struct world *w)
{
    uint32_t handler = 1 + (uint32_t)rng_below(&w->rng, BREAKERS - 1);
    if (chance(w, 700))
        return set(w, handler, chance(w, 850));
    return by_hand(w, handler, chance(w, 600));
}

/* --- what the engine says ------------------------------------------------ */

bool breakers_event(struct world *w, const struct event *ev)
{
    enum breaker_state to = ev->type == EVENT_BREAKER_OPENED ? BREAKER_OPEN
                            : ev->type == EVENT_BREAKER_CLOSED
                                ? BREAKER_CLOSED
                                : BREAKER_HALF_OPEN;
    if (ev->type != EVENT_BREAKER_OPENED && ev->type != EVENT_BREAKER_CLOSED &&
        ev->type != EVENT_BREAKER_HALF_OPEN)
        return false;
    trace(w, "  breaker of %.*s is %s: %.*s", SLICE_FMT(ev->handler),
          breaker_state_name(to), SLICE_FMT(ev->text));
    for (uint32_t i = 1; i < BREAKERS; i++)
        if (slice_eq(name_of(w, i), ev->handler))
            violate(w, NULL, breakers_moved(w->breakers, i, to, w->now));
    return true;
}

void breakers_flush(struct world *w)
{
    if (w->breakers != NULL)
        violate(w, NULL, breakers_judge(w->breakers));
}

void breakers_tell(struct world *w, uint32_t k, enum told told)
{
    if (w->breakers != NULL)
        breakers_ended(w->breakers, w->model, k, told, w->now);
}

void breakers_idle(struct world *w)
{
    struct handler_view v;
    for (uint32_t i = 1; w->breakers != NULL && i < BREAKERS; i++)
        if (engine_handler(w->engine, name_of(w, i), w->now, &v, &w->e) ==
            ERR_OK)
            violate(
                w, NULL,
                breakers_seen(w->breakers, w->model, i, &v.breaker, w->now));
        else if (breakers_on(w->breakers, i))
            violate(w, NULL, "a handler with a breaker is not there");
}
