/* Who works: a model of sessions, draining workers, requests for leases that
 * are repeated.
 *
 * What it holds the engine to:
 *  1. The leases of a session end when its last connection has been gone for
 *     the grace, not before, and none is kept. That counts as a crash, unless
 *     their worker drains or nobody of the session came back after a start.
 *  2. A worker that drains gets nothing new, also after a crash, and also if
 *     it only says its session.
 *  3. The same request for leases with the same key gets those that live, and
 *     new ones only if none does. Another one with that key is refused
 *     meanwhile, and while anybody waits in line with it.
 */
#ifndef SIM_CREW_H
#define SIM_CREW_H

#include <stdbool.h>
#include <stdint.h>

#include "model.h"
#include "undo.h"

#define CREW_WORKERS 5
#define CREW_SESSIONS 3
#define CREW_LINES 16 /* connections */
#define CREW_REQUESTS 256
#define CREW_GOT 8

struct crew;

struct crew *crew_new(struct undo *u, uint64_t grace_ms, uint64_t forget_ms);
void crew_free(struct crew **c);
/* After a crash, as the model of the jobs knows already. */
void crew_crashed(struct crew *c, const struct model *m, struct now now);

/* --- sessions: 0 to CREW_SESSIONS - 1 ------------------------------------ */

void crew_attached(struct crew *c, uint32_t session, uint32_t line);
void crew_gone(struct crew *c, uint32_t line, struct now now);
/* A lease began under it. */
void crew_leased(struct crew *c, uint32_t session, struct now now);
/* Have its leases ended? */
bool crew_over(const struct crew *c, uint32_t session, struct now now);
/* Was anybody of it there since the start? */
bool crew_back(const struct crew *c, uint32_t session);

/* --- workers ------------------------------------------------------------- */

/* Each worker registers with its session, crew_session(). */
static inline uint32_t crew_session(uint32_t worker)
{
    return worker % CREW_SESSIONS;
}
/* Which worker has this session, and 1; 0: none. */
#define CREW_UNKNOWN UINT8_MAX
uint8_t crew_named(const struct crew *c, uint32_t session, struct now now);
void crew_drain(struct crew *c, uint32_t worker, bool drain, struct now now);
/* It asked for jobs, which is a sign of life. */
void crew_asked(struct crew *c, uint32_t worker, struct now now);
/* It was told whether it drains. */
void crew_beat(struct crew *c, uint32_t worker, bool drains, struct now now);
void crew_forget(struct crew *c, uint32_t worker);
enum crew_drains { DRAINS_NOT, DRAINS_MAYBE, DRAINS };
enum crew_drains crew_drains(const struct crew *c, uint32_t worker,
                             struct now now);
/* Of one, and 1, that has this session, and 1; or that is not known. */
enum crew_drains crew_drains_as(const struct crew *c, uint8_t worker,
                                uint8_t session, struct now now);

/* --- requests ------------------------------------------------------------ */

/* `number` is one of a request that has a key. Those of its leases that live:
 * so many. */
uint32_t crew_alive(const struct crew *c, const struct model *m,
                    uint32_t number);
/* Is this one of them? */
bool crew_is_again(const struct crew *c, const struct model *m, uint32_t number,
                   uint32_t k, uint32_t delivery);
struct crew_got {
    uint32_t k, delivery;
};
/* It got these, asked in this variant. */
void crew_got(struct crew *c, uint32_t number, uint8_t variant,
              const struct crew_got *got, uint32_t n);
/* Does another variant of it have leases that live? */
bool crew_differs(const struct crew *c, const struct model *m, uint32_t number,
                  uint8_t variant);

#endif
