/* Handlers whose executions fail: a model of breakers.
 *
 * It is told how executions end and what the engine says of each breaker.
 *
 * What it holds the engine to:
 *  1. A breaker opens when so many percent of enough outcomes within its window
 *     were bad, or a probe was, or by hand, and then only.
 *  2. Nothing starts while it is open, which is as long as was said.
 *  3. Half open at most one more runs than have ended well; enough of these
 *     close it.
 *  4. What began before it opened tells nothing. A crash forgets what was
 *     counted, but not how a breaker stands.
 *
 * Of a window only the last tenth is blurred: outcomes are counted in tenths.
 */
#ifndef SIM_BREAKERS_H
#define SIM_BREAKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/handlers.h"
#include "model.h"
#include "undo.h"

#define BREAKERS 3 /* handlers, of which 0, a queue's own, has none */

struct breakers;

struct breakers *breakers_new(struct undo *u);
void breakers_free(struct breakers **b);
/* After a crash, as the model of the jobs knows already. */
void breakers_crashed(struct breakers *b, struct model *m);

/* --- by hand ------------------------------------------------------------- */

/* Each returns NULL or what must not be, with what the engine said meanwhile.
 */
const char *breakers_set(struct breakers *b, uint32_t handler, bool on,
                         const struct breaker_settings *s);
const char *breakers_trip(struct breakers *b, uint32_t handler,
                          uint64_t open_ms, struct now now);
const char *breakers_reset(struct breakers *b, uint32_t handler);
bool breakers_on(const struct breakers *b, uint32_t handler);

/* --- what executions tell ------------------------------------------------ */

/* The engine says that it is this now. */
const char *breakers_moved(struct breakers *b, uint32_t handler,
                           enum breaker_state to, struct now now);
enum told { TOLD_NOTHING, TOLD_GOOD, TOLD_BAD, TOLD_LOST };
/* An execution ended; the engine says what comes of it before, or before
 * breakers_judge(). */
void breakers_ended(struct breakers *b, const struct model *m, uint32_t k,
                    enum told told, struct now now);
const char *breakers_judge(struct breakers *b);
/* A job was leased, as the model of the jobs knows already. */
const char *breakers_leased(struct breakers *b, struct model *m, uint32_t k);

/* --- when nothing moves -------------------------------------------------- */

/* Does the breaker let it start? */
bool breakers_fit(const struct breakers *b, const struct model *m, uint32_t k);
/* Is it as the engine shows it, and no longer open than it should? */
const char *breakers_seen(const struct breakers *b, const struct model *m,
                          uint32_t handler, const struct breaker_view *v,
                          struct now now);

#endif
