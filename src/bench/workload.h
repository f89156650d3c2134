/* What is asked of a server: the parameters of a run.
 *
 * The table in options.c fills it; every other file of the program only reads
 * it.
 */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"

struct proto;

#define PIPELINE_MAX 10000
#define CONNECTIONS_MAX 15000
#define EXTRA_MAX 16

enum mix {
    MIX_LIFE,      /* add, lease, acknowledge, each `pipeline` at a time */
    MIX_ADD,       /* only add */
    MIX_DRAIN,     /* fill first; measured: lease and acknowledge */
    MIX_PICKUP,    /* blocked workers; jobs arrive at `rate` */
    MIX_DELAYED,   /* blocked workers; jobs arrive at `rate`, due later */
    MIX_SCHEDULES, /* `jobs` schedules fire for blocked workers */
};

struct workload {
    const struct proto *proto;
    enum mix mix;
    const char *host;
    uint32_t port;
    const char *password; /* NULL: none */
    uint32_t connections;
    uint32_t workers; /* blocked ones, for the mixes that have them */
    uint32_t pipeline;
    uint64_t jobs;
    bool by_time;     /* not so many jobs, but what `seconds` take */
    uint64_t backlog; /* added beforehand, unmeasured, and left there */
    uint64_t seconds;
    uint64_t rate; /* jobs a second, for the open-loop mixes */
    uint32_t payload;
    const char *queue;
    /* Variations on an added job; 0 = without. */
    uint32_t priorities; /* so many different ones, at random */
    uint32_t owners;
    uint32_t limits;
    uint32_t handlers;
    uint64_t delay_ms; /* spread evenly over this time */
    uint64_t every_ms; /* of the schedules */
    /* Words behind each JOB.ADD, and commands sent before the run. */
    const char *add_words[EXTRA_MAX];
    uint32_t add_words_n;
    const char *setup[EXTRA_MAX];
    uint32_t setup_n;
    uint64_t seed;
    uint32_t server_pid; /* for its CPU time; 0: ask it, if it is local */
    bool lean;           /* leases tell no more than token and payload */
    bool json;
    bool quiet; /* no progress line */
    /* --compare */
    bool compare;
    const char *start; /* our server's program; NULL: host and port */
    const char *redis;
    const char *dir;
    const char *shapes;
    uint32_t rounds;
};

/* The words that only matter to one mix, in one place. */
const char *mix_name(enum mix mix);

#endif
