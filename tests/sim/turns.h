/* Whose turn it is: a model of queues that are fair to owners.
 *
 * What it holds the engine to: of two owners who both have work standing in
 * line neither gets more than its weight says, but for a job of each, however
 * long that lasts. (The order within an owner's line, by priority or by age, is
 * the model's of the jobs: see model_line.c.)
 *
 * It looks when a job is leased. Who stands in line at one of these moments and
 * at the next has stood in between as far as fairness goes: time that nobody is
 * served in does not count.
 *
 * A queue may cease to be fair, and be it again. What came meanwhile is of
 * nobody's share then. Of an owner's jobs that were delayed or ran over such a
 * change the model does not know whether they are of the owner's share or of
 * nobody's: when one is leased both begin anew.
 */
#ifndef SIM_TURNS_H
#define SIM_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "model.h"
#include "undo.h"

#define TURNS_QUEUES 3
#define TURNS_OWNERS                                        \
    5 /* owners from 1 on; 0: of nobody, with a weight of 1 \
       */
#define TURNS_WEIGHT 5
#define TURNS_LARGE 200000 /* times a small weight is a large one */

struct turns;

struct turns *turns_new(struct undo *u);
void turns_free(struct turns **s);
/* After a crash nobody is owed anything. */
void turns_crashed(struct turns *s);

/* The queue is fair from now on, or is not; or it was dropped, and nobody has
 * said so yet. */
void turns_fair(struct turns *s, uint32_t queue, bool fair);
void turns_gone(struct turns *s, uint32_t queue);
bool turns_is_fair(const struct turns *s, uint32_t queue);
bool turns_is_said(const struct turns *s, uint32_t queue);
/* An owner's weight. */
void turns_weigh(struct turns *s, uint32_t owner, uint32_t weight);
bool turns_is_weighed(const struct turns *s, uint32_t owner);

/* A job was leased, as the model of the jobs knows already. */
const char *turns_leased(struct turns *s, const struct model *m, uint32_t k);

#endif
