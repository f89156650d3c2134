/* Names that a client gives to find a job again, or to make it but once:
 * aliases, unique keys, idempotency keys (keys.c); and what the latter keep of
 * ADD (request.c). */
#ifndef ENGINE_KEYS_H
#define ENGINE_KEYS_H

#include "engine/state.h"
#include "store/key.h"

MUST_USE enum err alias_find(struct engine *e, struct gather *g,
                             struct slice name, struct id *id,
                             struct errbuf *err);
MUST_USE enum err unique_forget(struct engine *e, struct gather *g,
                                uint64_t at_ms, const struct id *hash,
                                struct errbuf *err);
/* Is the name, or the unique key, (still) this job's? While a purge is under
 * way another one may have it. */
MUST_USE enum err alias_is(struct engine *e, struct gather *g,
                           struct slice name, const struct id *id, bool *is,
                           struct errbuf *err);
MUST_USE enum err unique_is(struct engine *e, struct gather *g,
                            const struct job *j, const struct rec_more *m,
                            bool *is, struct errbuf *err);
/* The job lets go of its unique key, if it holds it. */
void unique_release(struct engine *e, struct job *j);
void unique_retake(struct engine *e, struct job *j, struct now now);

#define UNIQUE_MAX 200
struct slice unique_key(struct key *k, uint32_t scope, const struct queue *q,
                        struct slice unique);
MUST_USE enum err unique_find(struct engine *e, struct gather *g,
                              uint32_t scope, const struct queue *q,
                              struct slice unique, struct now now,
                              struct rec_unique *r, struct errbuf *err);
void unique_put(struct engine *e, uint32_t scope, const struct queue *q,
                struct slice unique, const struct id *id, uint64_t until_ms);
MUST_USE enum err alias_check(struct slice name, struct errbuf *err);
void alias_put(struct engine *e, struct slice name, const struct id *id);
/* Replies of requests with an idempotency key, filed until `until_ms`: a
 * request that comes now, until idem_until(). */
uint64_t idem_until(struct engine *e, struct now now);
MUST_USE enum err idem_find(struct engine *e, struct gather *g,
                            enum key_kind kind, struct slice name,
                            struct now now, struct slice *value,
                            struct errbuf *err);
char *idem_put(struct engine *e, enum key_kind kind, struct slice name,
               uint64_t until_ms, size_t len);

/* What the same call, or part of one, was told before. Errors: ERR_NOTFOUND:
 * nothing; ERR_MISMATCH: another call has the key. */
MUST_USE enum err request_again(struct engine *e, struct gather *g,
                                const struct add_params *p, struct now now,
                                struct add_result *results, struct errbuf *err);
void request_keep(struct engine *e, const struct add_params *p,
                  const struct add_result *results, struct now now);

#endif
