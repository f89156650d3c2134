/* Servers that the program starts for a comparison, and stops again. */
#ifndef BENCH_SPAWN_H
#define BENCH_SPAWN_H

#include <stdint.h>
#include <sys/types.h>

#include "bench/workload.h"
#include "util/err.h"

/* Start `argv` (ends with NULL) with its output in `log` and wait until that
 * process, and no other server, answers on `w`'s host and port and has read
 * its data. */
MUST_USE enum err spawn_server(const struct workload *w,
                               const char *const *argv, const char *log,
                               pid_t *pid, struct errbuf *e);

/* SIGTERM, and SIGKILL after 10 s. */
void spawn_stop(pid_t *pid);

#endif
