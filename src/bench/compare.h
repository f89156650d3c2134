/* Whole lives here and in Redis Streams with appendfsync always, one after the
 * other within each round, so that both meet the same minute of the machine.
 * Prints medians, ranges, and their ratio for each shape. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include "bench/workload.h"
#include "util/err.h"

/* Redis is started on w->port + 1, and ours, if w->start names a program, on
 * w->port. Both are stopped at the end. */
MUST_USE enum err compare_run(const struct workload *w, struct errbuf *e);

#endif
