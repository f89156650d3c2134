/* What the files about schedules in a world share. */
#ifndef SIM_WORLD_CLOCK_H
#define SIM_WORLD_CLOCK_H

#include "world_impl.h"

#define SECOND_MS ((uint64_t)1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)

static inline uint64_t clock_one_of(struct world *w, const uint64_t *of,
                                    uint32_t n)
{
    return of[rng_below(&w->rng, n)];
}
#define ONE_OF(w, ...)                               \
    clock_one_of(w, (const uint64_t[]){__VA_ARGS__}, \
                 sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* --- world_clock.c ------------------------------------------------------- */

const char *clock_name(uint32_t s);
/* As violate(), about a schedule. */
void clock_object(struct world *w, uint32_t s, const char *what);
/* What GET shows; NULL: there is none. */
const struct schedule_view *clock_view(struct world *w, uint32_t s,
                                       struct schedule_view *v);
/* Let the models know each other's jobs. Returns how many were made. */
uint32_t clock_adopt(struct world *w, struct clock_job *jobs);
/* What the model of the jobs cannot know yet, because nobody was told. */
void clock_resolve(struct world *w, uint32_t s);
/* Jobs may have ended; nothing else may have happened. */
void clock_look_one(struct world *w, uint32_t s);

#endif
