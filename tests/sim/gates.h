/* What may start: a model of limits, bounds of queues, quotas of owners,
 * pauses. Like that of the jobs it knows nothing of the engine's data; it is
 * told what was asked and what was leased, and counts by itself.
 *
 * A gate is a limit's name, a queue or an owner: a job is told with a bit for
 * each that it must pass.
 *
 * What it holds the engine to:
 *  1. Nothing starts under a gate beside as many as the settings in force
 *     allow, whatever crashes.
 *  2. Never do more units start than the burst and the time that has passed
 *     since allow.
 *  3. Nothing starts that is closed or paused, or whose breaker is open.
 *  4. What could start does (gates_fit(), see idle.c).
 */
#ifndef SIM_GATES_H
#define SIM_GATES_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/rate.h"
#include "model.h"
#include "undo.h"

#define GATE_NAMES 4
#define GATE_QUEUES 3
#define GATE_OWNERS 2
#define GATES (GATE_NAMES + GATE_QUEUES + GATE_OWNERS)
#define GATE_QUEUE(q) (GATE_NAMES + (q))
#define GATE_OWNER(o) (GATE_NAMES + GATE_QUEUES + (o))
#define GATE_PATTERNS 4
#define GATE_HANDLERS 3 /* 0: the queue's own */

struct gate_set {
    bool has_concurrency, has_rate;
    uint32_t concurrency; /* 0: unlimited */
    struct rate rate;     /* n = 0: unlimited */
};

struct gates;

/* `many`: jobs have several names. Then one that waits for the second may have
 * reserved the first, which nobody can see from outside. */
struct gates *gates_new(struct undo *u, bool many);
void gates_free(struct gates **g);
bool gates_many(const struct gates *g);

const char *gates_name(uint32_t gate);       /* 0 to GATE_NAMES - 1 */
const char *gates_pattern(uint32_t pattern); /* 0 to GATE_PATTERNS - 1 */

/* What is given replaces what was said before. */
void gates_rule(struct gates *g, uint32_t pattern, const struct gate_set *set);
bool gates_has_rule(const struct gates *g, uint32_t pattern);
void gates_rule_gone(struct gates *g, uint32_t pattern);
/* Of a queue or an owner. */
void gates_bound(struct gates *g, uint32_t gate, const struct gate_set *set);
void gates_close(struct gates *g, uint32_t gate, uint64_t until_ms);
void gates_open(struct gates *g, uint32_t gate);
void gates_pause_queue(struct gates *g, uint32_t queue, bool paused);
void gates_pause_handler(struct gates *g, uint32_t handler, bool paused);
/* The queue was dropped, with all that was said about it. */
void gates_queue_gone(struct gates *g, uint32_t queue);
bool gates_queue_paused(const struct gates *g, uint32_t queue);
bool gates_handler_paused(const struct gates *g, uint32_t handler);

/* The time is this. The wall clock may have been put back: what a rate is owed
 * is a length of time. */
void gates_clock(struct gates *g, struct now now);

/* Nothing moves: the engine has seen all that was said. */
void gates_idle(struct gates *g);

/* A job was leased, as the model of the jobs knows already. */
const char *gates_leased(struct gates *g, const struct model *m, uint32_t k,
                         struct now now);
/* Its lease was undone: it was none. */
void gates_undone(struct gates *g, const struct model *m, uint32_t k);
/* Is it certain that all gates let it pass? */
bool gates_fit(const struct gates *g, const struct model *m, uint32_t k,
               struct now now);

#endif
