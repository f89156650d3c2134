/* What commands cost: counters and a histogram per command, errors by their
 * first word, the slow log and the latency events.
 *
 * A command's cost is the time in exec, all its start-overs together, without
 * the time at the gate; a turn of the loop is a latency event of its own,
 * `tick`.
 *
 * Memory: a histogram (25 KiB) exists from the first call of its command on;
 * the slow log holds at most slowlog-max-len entries of at most 32 words of at
 * most 128 bytes; at most 128 kinds of errors are told apart, the rest is
 * counted as one.
 */
#ifndef SERVER_STATS_H
#define SERVER_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "commands/registry.h"
#include "util/list.h"
#include "util/slice.h"

struct client;
struct histogram;
struct server;

struct cmd_stats {
    uint64_t calls, us, rejected, failed;
    struct histogram *us_histogram; /* NULL until the first call */
};

#define SLOW_WORDS 32
#define SLOW_WORD_BYTES 128

struct slow_entry {
    struct list link;
    uint64_t id, wall_ms, us;
    char *addr, *name;
    uint32_t argc;
    char *argv[SLOW_WORDS];
    uint32_t lens[SLOW_WORDS];
};

#define LATENCY_SAMPLES 160
enum latency_event {
    LATENCY_COMMAND,      /* "command" */
    LATENCY_FAST_COMMAND, /* "fast-command" */
    LATENCY_TICK,         /* "tick": one turn of the loop */
    LATENCY_EVENTS
};

struct latency_sample {
    uint64_t wall_s, ms;
};

struct latency {
    struct latency_sample ring[LATENCY_SAMPLES];
    uint32_t next, len;
    uint64_t max_ms;
};

struct err_stat {
    char prefix[32];
    uint64_t count;
};
#define ERR_STATS_MAX 128

struct stats {
    struct cmd_stats *cmds; /* by number in the registry */
    uint32_t n_cmds;
    struct err_stat errs[ERR_STATS_MAX];
    uint32_t n_errs;
    uint64_t errs_other;
    struct list slow; /* struct slow_entry.link, newest first */
    uint32_t slow_len;
    uint64_t slow_next_id;
    struct latency latency[LATENCY_EVENTS];
    uint64_t ops_sampled; /* commands at the last sample */
    uint64_t ops_sampled_ms, ops_per_s;
    uint64_t memory, memory_ms, peak_memory;
};

struct stats *stats_new(uint32_t n_cmds);
void stats_free(struct stats **st);
void stats_reset(struct server *s);

/* Hooks of the core. */
void stats_after(struct client *c, const struct cmd_entry *entry,
                 const struct slice *argv, uint32_t argc, enum err rc,
                 uint64_t us);
void stats_refused(struct client *c, const struct cmd_entry *entry,
                   enum err code);
void stats_cron(struct server *s);

/* Bytes in use, as of at most 20 ms ago: the allocator walks all its arenas to
 * count them, which takes as long as 30 additions. */
uint64_t stats_memory(struct server *s);

const char *latency_name(enum latency_event event);
void latency_add(struct server *s, enum latency_event event, uint64_t ms);

void slow_reset(struct stats *st);

#endif
