/* The two ways to load a server.
 *
 * closed: each connection waits for its replies before it goes on. It says how
 * much a server can do; its latencies are those of a client that waits.
 *
 * open: jobs come at a rate, whether or not the server keeps up, and latency
 * counts from when a job was to be sent. So a stall of a second shows as what
 * it was to everybody who wanted something in that second (no coordinated
 * omission).
 *
 * One thread and one epoll set in either.
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <signal.h>

#include "bench/result.h"
#include "bench/workload.h"
#include "util/err.h"

/* Set by a signal: a run ends as if its time was up, and tells what it found.
 */
extern volatile sig_atomic_t load_interrupted;

/* MIX_LIFE, MIX_ADD, MIX_DRAIN. */
MUST_USE enum err closed_run(const struct workload *w, struct result *r,
                             struct errbuf *e);

/* MIX_PICKUP, MIX_DELAYED, MIX_SCHEDULES. */
MUST_USE enum err open_run(const struct workload *w, struct result *r,
                           struct errbuf *e);

/* Whichever fits, with setup, backlog and the server's CPU time. */
MUST_USE enum err load_run(const struct workload *w, struct result *r,
                           struct errbuf *e);

#endif
