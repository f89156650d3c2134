/* Leases: which jobs run, for whom, until when; the tokens that name them. */
#ifndef ENGINE_LEASES_H
#define ENGINE_LEASES_H

#include "engine/state.h"

/* --- lease.c: the table of leases ----------------------------------------- */

/* What a token names. */
struct token {
    struct id id;
    uint32_t n, e;
};
#define TOKEN_MAX 64
bool token_parse(struct slice text, struct token *out);
size_t token_print(const struct id *id, uint32_t n, uint32_t e, char *out);

/* If the worker says nothing: the job's own, the queue's or the server's. */
uint64_t lease_length(const struct engine *e, const struct job *j);
void lease_begin(struct engine *e, struct job *j, uint64_t lease_ms,
                 struct slice worker, struct slice session, struct now now);
/* Out of the table; deletes the row; its names have room again. */
void lease_end(struct engine *e, struct job *j, struct now now);
/* `lease_ms` 0 keeps the length; another one is written. */
void lease_renew(struct engine *e, struct job *j, uint64_t lease_ms,
                 struct now now);
/* It lives for that long at least; its length stays. */
void lease_hold(struct engine *e, struct job *j, uint64_t ms, struct now now);
/* It is over at once: lease_reap() ends the execution. */
void lease_cut(struct engine *e, struct job *j, struct now now);
/* Something else of the lease changed: write its row. */
void lease_store(struct engine *e, const struct job *j);
/* The running job whose lease this token is. `verb` is what the caller wants
 * to do: ERR_BUSY says that exactly that was done before with this token.
 *
 * Errors: ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED, ERR_STALE, ERR_PENDING,
 * ERR_BUSY. */
MUST_USE enum err token_find(struct engine *e, struct gather *g,
                             struct slice text, enum verb verb, struct job **j,
                             struct errbuf *err);
/* The same for one that was parsed; n = 0: it was none. */
MUST_USE enum err token_job(struct engine *e, struct gather *g,
                            const struct token *t, enum verb verb,
                            struct job **j, struct errbuf *err);
/* What memory alone knows of it; NULL: it is lost. */
struct job *token_in_force(struct engine *e, const struct token *t);
/* Its holder said nothing: the execution is lost, or took too long. False: the
 * end misses rows, which are being fetched. */
bool lease_give_up(struct engine *e, struct job *j, struct now now);
bool lease_reap(struct engine *e, struct now now, uint32_t ops);
uint64_t lease_next_ms(const struct engine *e);
MUST_USE enum err lease_load_row(struct engine *e, struct slice key,
                                 struct slice value, struct now now,
                                 struct errbuf *err);
void leases_init(struct engine *e);
void leases_free(struct engine *e);
typedef void (*leases_fn)(const struct job *j, void *ud);
void leases_each(const struct engine *e, leases_fn fn, void *ud);
/* Lanes that are about to be freed: leased jobs let go of them. */
void leases_leave_dead_lanes(struct engine *e, const struct queue *q);
void leases_check(const struct engine *e);

/* --- session.c: who holds them -------------------------------------------- */

/* Found or made; dropped when it has no leases and is not registered. */
struct worker *worker_make(struct engine *e, struct slice name);
void worker_drop(struct engine *e, struct worker *w);
void session_add(struct engine *e, struct job *j, struct slice name,
                 struct now now);
void session_remove(struct engine *e, struct job *j);
void worker_add(struct engine *e, struct job *j, struct slice name,
                struct now now);
void worker_remove(struct engine *e, struct job *j);
bool session_reap(struct engine *e, struct now now, uint32_t ops);
uint64_t session_next_ms(const struct engine *e);
/* After a start: time to come back. */
void session_grant(struct engine *e, struct session *s, uint64_t until_mono_ms);
void sessions_init(struct engine *e);
void sessions_free(struct engine *e);

/* --- worker.c: registered workers ----------------------------------------- */

void worker_seen(struct engine *e, struct worker *w, struct now now);
/* For jobs, by this name: that is a sign of life. */
void worker_asks(struct engine *e, struct slice name, struct now now);
void worker_release(struct engine *e, struct worker *w);
/* Who asks under this name and session: without a name it is the worker that
 * registered with the session; empty: nobody did. */
struct slice worker_named(const struct engine *e, struct slice name,
                          struct slice session);
bool worker_draining(const struct engine *e, struct slice name,
                     struct slice session);
/* NULL: all is well. */
const char *workers_check(struct engine *e);
bool worker_step(struct engine *e, struct now now, uint32_t ops);
uint64_t worker_next_ms(const struct engine *e);
MUST_USE enum err worker_load_row(struct engine *e, struct slice key,
                                  struct slice value, struct now now,
                                  struct errbuf *err);

/* --- retry.c: after a failure --------------------------------------------- */

/* How long to wait after the n-th failure, with jitter. */
uint64_t retry_delay_ms(struct engine *e, const struct job *j, uint32_t n);

#endif
