/* Rows against rows: the inside of engine_audit().
 *
 *   audit.c        the walk; live jobs and their places; counters
 *   audit_done.c   finished jobs and what lists them
 *   audit_keys.c   what hangs from live jobs: names, unique keys, times, slots
 *
 * A pass over each family, a chunk of rows at a time, and single rows looked up
 * beside it: what is held does not grow with the backlog, but for a few bytes
 * for each slot that a job has reserved. Where all jobs have found their rows
 * and as many rows are there, none is left over; only if there are more, or
 * fewer, another pass says which.
 */
#ifndef ENGINE_AUDIT_H
#define ENGINE_AUDIT_H

#include "engine/core.h"

/* How many there are, and a sum of hashes: two of them that are equal were made
 * of the same things, in whatever order. */
struct audit_sum {
    uint64_t n, sum;
};

struct audit {
    struct engine *e;
    engine_finding_fn tell;
    void *ud;
    uint64_t told;
    struct errbuf *err;
    enum err rc; /* of reading; what is found behind an error is not told */

    uint64_t *counts; /* by queue and state */
    uint64_t *owners; /* live jobs by owner */
    uint64_t jobs;
    struct audit_sum has_ready, ready; /* n alone: as jobs say, as rows do */
    struct audit_sum has_body, body;   /* n alone: payloads */
    struct audit_sum index, past;
    struct buf reserved; /* struct limit *, once for each slot */
    struct id body_of;   /* whose bodies were looked at last */
    bool body_lives, body_has_payload;
};

/* A finding: "family F, row K: ..." in so many words. */
void audit_tell(struct audit *a, enum family f, struct slice key,
                const char *fmt, ...) PRINTF_LIKE(4, 5);

/* Every row of a family. The slices are good until `fn` returns. */
typedef void (*audit_fn)(struct audit *a, struct slice key, struct slice value);
void audit_each(struct audit *a, enum family f, audit_fn fn);

bool audit_row(struct audit *a, enum family f, struct slice key,
               struct slice *value);
bool audit_there(struct audit *a, enum family f, struct slice key);
/* A live job's row, if it can be read and its queue is known. */
bool audit_job(struct audit *a, const struct id *id, struct rec_job *r,
               struct rec_more *m);
bool audit_job_row(struct slice value, struct rec_job *r, struct rec_more *m);
/* NULL: there is none of this number. */
struct queue *audit_queue(const struct audit *a, uint32_t id);
bool audit_runs(const struct audit *a, const struct id *id);
bool audit_is_ready(struct audit *a, const struct id *id,
                    const struct rec_job *r);

/* An id as text, for findings: two of them at a time. */
const char *audit_id(const struct id *id);

void audit_done(struct audit *a);
void audit_keys(struct audit *a);
/* A job's names, unique key, deadline and slots. */
void audit_job_keys(struct audit *a, const struct id *id,
                    const struct rec_job *r, const struct rec_more *m);

#endif
