/* A failing world with fewer operations: cut behind the violation, and without
 * those that it does not need.
 */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include <stdbool.h>

#include "world.h"

/* Smaller numbers of operations, and ranges of them to be skipped, with which
 * it still fails. */
void shrink(struct world_options *o);

/* The line that repeats it. */
void shrink_print(const struct world_options *o);
/* `--skip 3,7-12` as it is printed; false: it says something else. */
bool shrink_parse(struct world_options *o, const char *text);

#endif
