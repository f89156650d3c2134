/* Workers: named processes that lease. A worker is known while it has leases;
 * WORKER.BEAT registers it, with what it says about itself, until it has been
 * silent for config.worker_forget_ms: no beat, and no request for jobs. Its
 * leases are no matter of that: those of a silent worker expire by themselves.
 *
 * A draining worker gets no new leases; it learns of it by the reply to its
 * next beat. It is not forgotten while it has leases or stands in line. What it
 * said and the drain survive a restart, in its row (`named`, written when
 * something changes, not with each beat).
 */
#ifndef ENGINE_WORKERS_H
#define ENGINE_WORKERS_H

#include "engine/engine.h"

#define WORKER_LABELS_MAX 16
#define WORKER_QUEUES_MAX 64

struct beat_params {
    struct slice name;
    struct slice session; /* empty: as before */
    bool concurrency_given;
    uint32_t concurrency;       /* how many jobs it runs at a time */
    const struct slice *queues; /* n = 0: as before */
    uint32_t queues_n;
    const struct job_tag *labels; /* n = 0: as before */
    uint32_t labels_n;
};

struct worker_view {
    struct slice name, session;
    bool registered, draining, silent;
    uint32_t concurrency, leases;
    struct slice queues, labels; /* lists of words: see word_next() */
    uint64_t registered_ms;      /* wall; 0: never */
    uint64_t seen_ago_ms;        /* since its last beat or lease */
};

/* Errors: ERR_SYNTAX, ERR_LIMIT. */
MUST_USE enum err engine_worker_beat(struct engine *e,
                                     const struct beat_params *p,
                                     struct now now, struct worker_view *v,
                                     struct errbuf *err);
/* Errors: ERR_NOTFOUND. */
MUST_USE enum err engine_worker(struct engine *e, struct slice name,
                                struct now now, struct worker_view *v,
                                struct errbuf *err);
typedef void (*worker_fn)(void *ud, const struct worker_view *v);
/* By name. */
void engine_workers(struct engine *e, const struct page *page, struct now now,
                    worker_fn fn, void *ud);

struct running_view {
    struct id id;
    struct slice queue, handler;
    uint32_t n; /* delivery */
    uint64_t started_ms, lease_left_ms;
};
typedef void (*running_fn)(void *ud, const struct running_view *v);
/* What it runs, the oldest lease first, at most `most`. */
void engine_worker_running(struct engine *e, struct slice name, uint32_t most,
                           struct now now, running_fn fn, void *ud);

/* Errors: ERR_NOTFOUND. */
MUST_USE enum err engine_worker_drain(struct engine *e, struct slice name,
                                      bool drain, struct now now,
                                      struct errbuf *err);
/* Its leases stay until they end. Errors: ERR_NOTFOUND. */
MUST_USE enum err engine_worker_forget(struct engine *e, struct slice name,
                                       struct now now, struct errbuf *err);

#endif
