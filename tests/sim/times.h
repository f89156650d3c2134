/* When the schedules of the simulation fire: lists of instants, found by
 * looking at every minute of a few weeks around a change of the clock. This is
 * the model's own reading of the patterns: of src/cron it uses a zone's offsets
 * (which the table of all transitions proves), and nothing that searches.
 */
#ifndef SIM_TIMES_H
#define SIM_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include "engine/schedule.h"

/* Around each of them some zone changes its clock. */
#define TIMES_REGIONS 6
#define TIMES_BEFORE_MS ((uint64_t)8 * 86400 * 1000)
#define TIMES_AFTER_MS ((uint64_t)60 * 86400 * 1000)
uint64_t times_change_ms(uint32_t region);

/* Some timings by patterns, as SET takes them. */
uint32_t times_kinds(void);
void times_say(uint32_t kind, uint32_t region, struct schedule_timing *t);
/* The longest spread that is the same at each of its times. */
uint64_t times_spread_max(uint32_t kind);

/* The first instant of it later than `after_ms`; 0: beyond the calendar. */
uint64_t times_next(uint32_t kind, uint32_t region, int64_t after_ms);

#endif
