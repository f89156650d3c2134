#include "gates.h"

#include "owed.h"
#include "util/alloc.h"
#include "util/assert.h"

#define BIT(n) ((uint32_t)1 << (n))

/* Which names each pattern applies to, the most specific one first. */
static const char *const names[GATE_NAMES] = {"api:a", "api:b", "db:x", "db:y"};
static const struct {
    const char *text;
    uint32_t names; /* a bit each */
} patterns[GATE_PATTERNS] = {
    {"api:a", BIT(0)},
    {"api:*", BIT(0) | BIT(1)},
    {"db:?", BIT(2) | BIT(3)},
    {"*", BIT(0) | BIT(1) | BIT(2) | BIT(3)},
};

struct settings {
    bool exists;
    uint32_t concurrency;
    struct rate rate;
};

struct gate {
    uint64_t closed_ms;
    struct owed owed; /* for what has started */
    /* What a unit took by the rate that it was reckoned with, at least and at
     * most: see changed() and gates_idle(). */
    uint64_t least_unit_us, most_unit_us;
};

struct gates {
    struct undo *undo;
    bool many;
    uint64_t wall_max_ms;
    struct owed_clock clock;
    struct settings rules[GATE_PATTERNS];
    struct settings bounds[GATES]; /* of queues and owners */
    struct gate at[GATES];
    bool queue_paused[GATE_QUEUES], handler_paused[GATE_HANDLERS];
};

struct gates *gates_new(struct undo *u, bool many)
{
    struct gates *g = NEW(struct gates);
    g->undo = u;
    g->many = many;
    return g;
}

void gates_free(struct gates **g)
{
    FREE(g);
}

bool gates_many(const struct gates *g)
{
    return g->many;
}

const char *gates_name(uint32_t gate)
{
    ASSERT(gate < GATE_NAMES);
    return names[gate];
}

const char *gates_pattern(uint32_t pattern)
{
    ASSERT(pattern < GATE_PATTERNS);
    return patterns[pattern].text;
}

static const struct settings *settings_of(const struct gates *g, uint32_t gate)
{
    static const struct settings none;
    if (gate >= GATE_NAMES)
        return &g->bounds[gate];
    for (uint32_t i = 0; i < GATE_PATTERNS; i++)
        if (g->rules[i].exists && (patterns[i].names & BIT(gate)) != 0)
            return &g->rules[i];
    return &none;
}

/* Units that may start at once if nothing is owed. */
static uint64_t burst_of(const struct rate *r)
{
    return r->burst > 0 ? r->burst : r->n <= 10 ? 1 : r->n / 10;
}

/* --- what was said ------------------------------------------------------- */

/* Rates may be others. The engine looks later, or at once: then the least is
 * owed. */
static void changed(struct gates *g)
{
    for (uint32_t i = 0; i < GATES; i++) {
        const struct rate *r = &settings_of(g, i)->rate;
        struct gate *at = &g->at[i];
        if (at->least_unit_us == owed_unit_us(r))
            continue;
        UNDO_SAVE(g->undo, at);
        at->owed = owed_now(&g->clock, &at->owed);
        at->owed.least_us =
            owed_by(r, burst_of(r), at->least_unit_us, at->owed.least_us, 0);
        at->least_unit_us = owed_unit_us(r);
    }
}

/* By now the engine has looked. It rounds up, and if it did so long ago, by
 * another unit. */
static void looked(struct gates *g, uint32_t gate)
{
    const struct rate *r = &settings_of(g, gate)->rate;
    struct gate *at = &g->at[gate];
    if (at->most_unit_us == owed_unit_us(r))
        return;
    UNDO_SAVE(g->undo, at);
    at->owed = owed_now(&g->clock, &at->owed);
    at->owed.most_us =
        owed_by(r, burst_of(r), at->most_unit_us, at->owed.most_us, 2);
    at->most_unit_us = owed_unit_us(r);
}

void gates_idle(struct gates *g)
{
    for (uint32_t i = 0; i < GATES; i++)
        looked(g, i);
}

static void take(struct gates *g, struct settings *s,
                 const struct gate_set *set)
{
    UNDO_SAVE(g->undo, s);
    s->exists = true;
    if (set->has_concurrency)
        s->concurrency = set->concurrency;
    if (set->has_rate)
        s->rate = set->rate;
    changed(g);
}

void gates_rule(struct gates *g, uint32_t pattern, const struct gate_set *set)
{
    take(g, &g->rules[pattern], set);
}

bool gates_has_rule(const struct gates *g, uint32_t pattern)
{
    return g->rules[pattern].exists;
}

void gates_rule_gone(struct gates *g, uint32_t pattern)
{
    UNDO_SAVE(g->undo, &g->rules[pattern]);
    g->rules[pattern] = (struct settings){.exists = false};
    changed(g);
}

void gates_bound(struct gates *g, uint32_t gate, const struct gate_set *set)
{
    take(g, &g->bounds[gate], set);
}

void gates_close(struct gates *g, uint32_t gate, uint64_t until_ms)
{
    UNDO_SAVE(g->undo, &g->at[gate].closed_ms);
    if (g->at[gate].closed_ms < until_ms)
        g->at[gate].closed_ms = until_ms;
}

void gates_open(struct gates *g, uint32_t gate)
{
    UNDO_SAVE(g->undo, &g->at[gate].closed_ms);
    g->at[gate].closed_ms = 0;
}

void gates_pause_queue(struct gates *g, uint32_t queue, bool paused)
{
    UNDO_SAVE(g->undo, &g->queue_paused[queue]);
    g->queue_paused[queue] = paused;
}

void gates_pause_handler(struct gates *g, uint32_t handler, bool paused)
{
    UNDO_SAVE(g->undo, &g->handler_paused[handler]);
    g->handler_paused[handler] = paused;
}

void gates_queue_gone(struct gates *g, uint32_t queue)
{
    gates_pause_queue(g, queue, false);
    UNDO_SAVE(g->undo, &g->bounds[GATE_QUEUE(queue)]);
    g->bounds[GATE_QUEUE(queue)] = (struct settings){.exists = false};
    UNDO_SAVE(g->undo, &g->at[GATE_QUEUE(queue)]);
    g->at[GATE_QUEUE(queue)] = (struct gate){.closed_ms = 0};
}

bool gates_queue_paused(const struct gates *g, uint32_t queue)
{
    return g->queue_paused[queue];
}

bool gates_handler_paused(const struct gates *g, uint32_t handler)
{
    return g->handler_paused[handler];
}

/* --- rates --------------------------------------------------------------- */

void gates_clock(struct gates *g, struct now now)
{
    if (g->wall_max_ms < now.wall_ms)
        g->wall_max_ms = now.wall_ms;
    owed_clock(&g->clock, now);
}

/* A queue counts starts, whatever they cost. */
static uint64_t cost_of(const struct mjob *j, uint32_t gate)
{
    bool queue = gate >= GATE_NAMES && gate < GATE_NAMES + GATE_QUEUES;
    return queue || j->cost == 0 ? 1 : j->cost;
}

static void pay(struct gates *g, uint32_t gate, const struct mjob *j)
{
    const struct rate *r = &settings_of(g, gate)->rate;
    struct gate *at = &g->at[gate];
    if (r->n == 0)
        return;
    looked(g, gate);
    UNDO_SAVE(g->undo, at);
    owed_take(&g->clock, &at->owed, cost_of(j, gate) * owed_unit_us(r));
}

/* --- what starts --------------------------------------------------------- */

static bool has(const struct mjob *j, uint32_t gate)
{
    return (j->gates & BIT(gate)) != 0;
}

/* How many run under it for certain, or at most: a lease that has run out may
 * have been noticed, or not. */
static uint32_t running(const struct model *m, uint32_t gate, bool at_most,
                        struct now now)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < model_jobs(m); k++) {
        const struct mjob *j = model_job(m, k);
        if (j->state == M_RUNNING && has(j, gate))
            n += at_most || model_sure(m, k, now);
    }
    return n;
}

/* Jobs that wait for another name may hold a slot of this one. */
static uint32_t reserving(const struct gates *g, const struct model *m,
                          uint32_t gate, uint32_t but)
{
    uint32_t n = 0;
    for (uint32_t k = 0; g->many && k < model_jobs(m); k++) {
        const struct mjob *j = model_job(m, k);
        if (k != but && has(j, gate) && model_is_live(m, k) &&
            j->state != M_RUNNING)
            n++;
    }
    return n;
}

const char *gates_leased(struct gates *g, const struct model *m, uint32_t k,
                         struct now now)
{
    const struct mjob *j = model_job(m, k);
    if (j->queue < GATE_QUEUES && g->queue_paused[j->queue])
        return "a job was leased from a paused queue";
    if (g->handler_paused[j->handler])
        return "a job of a paused handler was leased";
    for (uint32_t i = 0; i < GATES; i++) {
        const struct settings *s = settings_of(g, i);
        if (!has(j, i))
            continue;
        if (g->wall_max_ms < g->at[i].closed_ms)
            return "a job was leased under a name that is closed";
        if (s->concurrency > 0 && running(m, i, false, now) > s->concurrency)
            return "more run under a name than may";
        if (!g->many && s->rate.n > 0 &&
            !owed_allows(&s->rate, burst_of(&s->rate),
                         owed_now(&g->clock, &g->at[i].owed).least_us,
                         cost_of(j, i)))
            return "more start under a name than its rate allows";
        pay(g, i, j);
    }
    return NULL;
}

void gates_undone(struct gates *g, const struct model *m, uint32_t k)
{
    const struct mjob *j = model_job(m, k);
    for (uint32_t i = 0; i < GATES; i++) {
        const struct rate *r = &settings_of(g, i)->rate;
        struct gate *at = &g->at[i];
        if (!has(j, i) || r->n == 0)
            continue;
        UNDO_SAVE(g->undo, at);
        owed_give(&at->owed, cost_of(j, i) * owed_unit_us(r));
    }
}

bool gates_fit(const struct gates *g, const struct model *m, uint32_t k,
               struct now now)
{
    const struct mjob *j = model_job(m, k);
    if ((j->queue < GATE_QUEUES && g->queue_paused[j->queue]) ||
        g->handler_paused[j->handler])
        return false;
    for (uint32_t i = 0; i < GATES; i++) {
        const struct settings *s = settings_of(g, i);
        if (!has(j, i))
            continue;
        if (now.wall_ms < g->at[i].closed_ms)
            return false;
        if (s->concurrency > 0 &&
            running(m, i, true, now) + reserving(g, m, i, k) >= s->concurrency)
            return false;
        if (s->rate.n > 0 &&
            (g->many || owed_now(&g->clock, &g->at[i].owed).most_us > 0 ||
             now.wall_ms < g->wall_max_ms))
            return false;
    }
    return true;
}
