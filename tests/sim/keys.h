/* Who holds which key: a model of UNIQUE, ID and IDEMPOTENCY.
 *
 * Like that of the jobs it knows nothing of the engine's data. Of each request
 * it says, by what was answered before, whose job must come of it.
 *
 * What it holds the engine to:
 *  1. A unique key has one job at a time, as long as it is said to, and is free
 *     as soon as that job ends, or the time FOR which it is held, and no
 *     earlier; a crash neither leaks a key nor doubles it.
 *  2. The same request with the same idempotency key gets the same jobs,
 *     whatever became of them, and is told again whether it made them; another
 *     request with it is refused.
 *  3. What replaces a waiting job changes that job and makes none.
 *  4. A name is one job's while that is live or kept.
 */
#ifndef SIM_KEYS_H
#define SIM_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "model.h"
#include "undo.h"

#define KEYS_UNIQUE 3
#define KEYS_NAMES 4
#define KEYS_REQUESTS 40
#define KEYS_JOBS 4 /* of one request */

struct keys;

struct keys *keys_new(struct undo *u, uint64_t repeat_ms);
void keys_free(struct keys **k);

/* What a request must be answered. */
enum key_outcome {
    KEY_MADE,     /* new jobs */
    KEY_THEIRS,   /* those that are named */
    KEY_REPLACED, /* the one that is named is changed */
    KEY_REFUSED   /* `rc` */
};
struct key_answer {
    enum key_outcome outcome;
    enum err rc;
    uint32_t jobs[KEYS_JOBS], n;
    bool created; /* so it says */
    bool unsure;  /* or KEY_MADE: a time is over, by a clock that went back */
};
void keys_expect(const struct keys *keys, const struct model *m, uint8_t queue,
                 const struct key_use *use, struct now now,
                 struct key_answer *a);
/* It was answered before, and that is remembered. */
bool keys_again(const struct keys *keys, const struct key_use *use,
                struct now now);
/* It came behind a clock that was set back: is it remembered still? Either is
 * right. */
bool keys_maybe_again(const struct keys *keys, const struct key_use *use,
                      struct now now);
/* It was answered so; these are the jobs. */
void keys_answered(struct keys *keys, struct model *m, uint8_t queue,
                   const struct key_use *use, enum key_outcome outcome,
                   const uint32_t *jobs, uint32_t n, struct now now);

/* A finished job is to live again: does another one have its key? */
bool keys_bar(const struct keys *keys, const struct model *m, uint32_t k,
              struct now now);
void keys_revived(struct keys *keys, struct model *m, uint32_t k);

/* Its lease was undone: a key that it let go with it is its own again, if it is
 * free. */
void keys_undone(struct keys *keys, struct model *m, uint32_t k,
                 struct now now);

#endif
