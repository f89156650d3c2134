/* What a run found, as text and as JSON. */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/workload.h"
#include "util/histogram.h"

/* Latencies, in microseconds. Phases of a closed loop count from when the
 * connection sent its `pipeline` requests; those of an open loop from when the
 * job was to be sent (add, pickup, life) or was due (late). */
enum latency {
    LAT_ADD,
    LAT_LEASE,
    LAT_ACK,
    LAT_LIFE,
    LAT_PICKUP,
    LAT_LATE,
    LATENCIES,
};

/* What a process has used so far. */
struct usage {
    double cpu_s, disk_bytes; /* written; < 0: we may not know */
    uint64_t rss;
};

struct result {
    uint64_t done; /* jobs */
    uint64_t run_us;
    uint64_t errors;
    char first_error[120];
    /* The time was up before --jobs were done, or before what was begun was
     * finished. */
    bool timed_out;
    /* Open loop: jobs that were to be sent by then, or were due, and had not
     * been done; they count as if they were done now. */
    uint64_t overdue;
    struct histogram *latency[LATENCIES];
    bool measured; /* what the server used; disk: < 0 if not known */
    struct usage used;
    double tick_ms; /* its longest turn since it started; < 0: not known */
    /* For the progress line. */
    uint64_t shown_us, shown_done;
};

void result_init(struct result *r);
void result_release(struct result *r);

void result_text(const struct result *r, const struct workload *w, FILE *to);
void result_json(const struct result *r, const struct workload *w, FILE *to);

double result_rate(const struct result *r); /* jobs a second */

/* Once a second, on a terminal: how far the run is. */
void result_progress(struct result *r, const struct workload *w,
                     uint64_t start_us, uint64_t now_us);
/* Take that line away again. */
void result_progress_end(struct result *r, const struct workload *w);

/* Of a local process; false if there is none. */
bool process_usage(uint32_t pid, struct usage *u);

#endif
