/* What owners may add: a model of LIVE and ADDS.
 *
 * What it holds the engine to:
 *  1. An owner has no more live jobs than it may when it adds some, and is not
 *     refused what it may have, whatever became of the others, also after a
 *     crash. Purged jobs may count until their rows are gone.
 *  2. So many as ADDS says may come at once, and one more each part of its
 *     time; none of them is refused. What came before ADDS was said, or before
 *     a crash, is not owed.
 *  3. What is not said again stays, and what was lost by a crash is gone.
 */
#ifndef SIM_QUOTAS_H
#define SIM_QUOTAS_H

#include <stdbool.h>
#include <stdint.h>

#include "model.h"
#include "undo.h"

#define QUOTAS_OWNERS 7 /* owners from 1 on */

struct quota_set {
    bool has_live, has_adds;
    uint64_t live; /* 0: unlimited */
    struct rate adds;
};

struct quotas;

struct quotas *quotas_new(struct undo *u);
void quotas_free(struct quotas **q);
void quotas_clock(struct quotas *q, struct now now);
/* After a crash, as undo knows already. */
void quotas_crashed(struct quotas *q);

/* What is given replaces what was said before. */
void quotas_said(struct quotas *q, uint8_t owner, const struct quota_set *set);

/* May the owner add so many, and have `more` than before? Nobody can tell while
 * it may have lost a lease unnoticed, or after the clock has gone back. */
enum quota_word { QUOTA_PASS, QUOTA_MAYBE, QUOTA_REFUSE };
enum quota_word quotas_ask(const struct quotas *q, const struct model *m,
                           uint8_t owner, uint32_t n, uint32_t more,
                           struct now now);
/* It did. */
void quotas_added(struct quotas *q, uint8_t owner, uint32_t n);

/* The owner is shown so; NULL: there is none. */
const char *quotas_seen(const struct quotas *q, const struct model *m,
                        uint8_t owner, const struct owner_view *v,
                        struct now now);

#endif
