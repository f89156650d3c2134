/* Things with a name: queues, handlers, owners. One comes to be when its name
 * is first used, gets a number, and is a row in `named`, with its settings and
 * counters. */
#ifndef ENGINE_NAMES_H
#define ENGINE_NAMES_H

#include "engine/state.h"

struct outcome;

/* --- names.c: all three --------------------------------------------------- */

void names_init(struct engine *e);
void names_commit(struct engine *e); /* counters of touched queues */
/* Room for index `id` in an array of *n pointers; new ones are NULL. */
void *names_array(void *array, uint32_t *n, uint32_t id);
/* A name that may become a row: 1 to NAME_MAX_LEN bytes without control
 * characters and blanks. `what` is for the sentence: "queue". */
MUST_USE enum err name_check(struct slice name, const char *what,
                             struct errbuf *err);
struct queue *queue_find(struct engine *e, struct slice name);
struct handler *handler_find(struct engine *e, struct slice name);
struct owner *owner_find(struct engine *e, struct slice name);
/* Find or create. NULL if there are names_max of them already. `store`: also
 * as a row. */
struct queue *queue_make(struct engine *e, struct slice name, bool store);
/* A waiter left it: forget it if that was all that it was for. */
void queue_unwanted(struct engine *e, struct queue *q);
struct handler *handler_make(struct engine *e, struct slice name);
struct owner *owner_make(struct engine *e, struct slice name);
void queue_store(struct engine *e, struct queue *q); /* settings */
void handler_store(struct engine *e, struct handler *h);
void owner_store(struct engine *e, struct owner *o);
void queue_touch(struct engine *e, struct queue *q); /* counters changed */
/* Forget that there was a queue of this name: until somebody uses it. */
void queue_hide(struct engine *e, struct queue *q);
MUST_USE enum err queue_load_dropped(struct engine *e, struct slice key,
                                     struct errbuf *err);
struct slice name_u32(uint32_t n, char out[4]); /* numbered names */

MUST_USE enum err names_load_row(struct engine *e, struct slice key,
                                 struct slice value, struct errbuf *err);
void names_free(struct engine *e);

/* --- queue.c, handler.c --------------------------------------------------- */

uint64_t queue_live(const struct queue *q); /* jobs */
/* MAXLEN is reached: ERR_OK if room was made for `n` jobs of so many bytes, and
 * could be for `all`, those that come behind them included. */
MUST_USE enum err queue_full(struct engine *e, struct gather *g,
                             struct queue *q, uint32_t n, uint32_t all,
                             size_t bytes, struct now now, struct errbuf *err);
/* The handler's check of payloads. Errors: ERR_LIMIT, ERR_SYNTAX. */
MUST_USE enum err handler_examine(const struct handler *h,
                                  const struct slice *payloads, uint32_t n,
                                  struct errbuf *err);

bool handler_says_permanent(const struct job *j, struct slice type);
/* Opens or closes its lanes as pause and breaker say now. */
void handler_refresh(struct engine *e, struct handler *h, struct now now);
/* False: the row is damaged, nothing changed. */
bool handler_take_row(struct handler *h, struct slice row);
/* `set` or the breaker changed: the row, in memory and in the store. */
void handler_keep(struct engine *e, struct handler *h);

/* --- owner.c -------------------------------------------------------------- */

/* A job of an owner is born or ends. */
void owner_count(struct engine *e, const struct job *j, int by);
uint64_t owner_live(const struct engine *e, uint32_t id);
void owner_recount(struct engine *e, const struct owner *o, uint64_t live);
/* Room for its count. */
void owner_born(struct engine *e, const struct owner *o);
/* Its quota of running jobs: its gate has come or gone, or it was set. */
void owner_quota_changed(struct engine *e, const struct owner *o);
bool owner_has_quota(const struct engine *e, const struct job *j);
/* How many of its jobs are leased; one more, or (by < 0) fewer. */
uint32_t owner_running(const struct engine *e, const struct owner *o);
void owner_runs(struct engine *e, const struct job *j, int by);
void lives_free(struct engine *e);
void owners_commit(struct engine *e);
/* False: the row of live jobs is damaged. */
MUST_USE bool owner_load_live(struct engine *e, uint32_t first,
                              struct slice value);
/* May this owner add `n` jobs now, and have `more` than before? owner_added()
 * when they are. */
MUST_USE enum err owner_admits(struct engine *e, struct owner *o, uint32_t n,
                               uint32_t more, struct now now,
                               struct errbuf *err);
void owner_added(struct owner *o, uint32_t n, struct now now);

/* --- breaker.c: handlers that fail too often ------------------------------ */

void breaker_defaults(struct rec_breaker *b);
bool breaker_allows(const struct handler *h);
/* How many more executions may begin. */
uint64_t breaker_room(const struct handler *h);
/* False: its jobs may run. *until_ms: when that may change, 0: unknown. */
bool breaker_why(const struct handler *h, enum breaker_state *state,
                 uint64_t *until_ms);
void breaker_set(struct engine *e, struct handler *h, bool on,
                 const struct breaker_settings *s, struct now now);
void breaker_view_of(const struct handler *h, struct now now,
                     struct breaker_view *v);
/* A lease of a job began, was undone, ended; a lease was loaded. */
void breaker_taken(struct engine *e, struct job *j, struct now now);
void breaker_untaken(struct engine *e, struct job *j, struct now now);
void breaker_settle(struct engine *e, struct job *j, const struct outcome *o,
                    struct now now);
void breaker_lease_loaded(struct job *j);
void breaker_due(struct engine *e, const struct id *id, uint64_t at_ms,
                 struct now now);

#endif
