/* What is shown of a job, and how long it will wait. */
#ifndef ENGINE_VIEW_H
#define ENGINE_VIEW_H

#include "engine/state.h"

/* --- view.c --------------------------------------------------------------- */

struct slice reason_name(uint8_t reason);
struct slice verb_name(uint8_t verb);
void job_view_of(struct engine *e, const struct job *j, struct now now,
                 struct job_view *v);
/* From a row of a finished job, which the view borrows. */
MUST_USE enum err done_view(struct engine *e, const struct id *id,
                            struct slice value, struct job_view *v,
                            struct errbuf *err);
/* The state of a job, live or finished. ERR_NOTFOUND, ERR_PENDING ... */
MUST_USE enum err job_state_of(struct engine *e, struct gather *g,
                               const struct id *id, enum job_state *state,
                               struct errbuf *err);

/* --- why.c ---------------------------------------------------------------- */

/* For estimates: a job of the queue was leased. */
void pace_note(struct queue *q, struct now now);
/* When the job, ready or parked, may start: in so many ms, or -1. `waited`:
 * somebody waits for one, or did until it came. */
int64_t start_estimate(struct engine *e, struct job *j, bool waited,
                       struct now now);
/* The same for a job that was there before, whatever its state; its row was
 * read by this command. */
int64_t job_estimate(struct engine *e, const struct id *id, struct now now);
/* The same for one that stands behind all that are ready. */
int64_t start_estimate_last(const struct queue *q, const struct handler *h,
                            struct now now);

#endif
