/* The server's figures, by the table metrics.def: taken at once, read one by
 * one. */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include <stdint.h>

#include "engine/engine.h"
#include "store/store.h"
#include "util/buf.h"

struct server;
struct stats;

enum metric_section {
    SECTION_CLIENTS,
    SECTION_MEMORY,
    SECTION_PERSISTENCE,
    SECTION_STATS,
    SECTION_JOBS,
    SECTION_ROCKSDB,
};
enum metric_kind { METRIC_COUNTER, METRIC_GAUGE };

/* What the expressions of the table read. */
struct metrics {
    const struct server *s;
    const struct stats *stats;
    struct store_stats store;   /* zero before there is a store */
    struct engine_stats engine; /* zero while loading */
    uint64_t memory, resident;
    uint64_t client_in_max, client_out_max, subscribers, tracking;
};

struct metric {
    enum metric_section section;
    enum metric_kind kind;
    const char *section_name; /* "STATS" */
    const char *key;          /* in INFO */
    const char *name;         /* without belfry_; "" if not exported */
    const char *help;
    uint64_t (*value)(const struct metrics *m);
};

/* The table, `metrics_count` rows. */
extern const struct metric metrics_table[];
extern const unsigned metrics_count;

/* Walks all connections; not for every second of a busy server. */
void metrics_take(struct server *s, struct metrics *m);

/* "key:value" lines of a section, in the table's order. */
void metrics_info(const struct metrics *m, enum metric_section section,
                  struct buf *out);

#endif
