/* What commands keep on the server's side, one pointer in struct server. */
#ifndef SERVER_PARTS_H
#define SERVER_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/list.h"

struct pubsub;
struct stats;

struct parts {
    struct pubsub *pubsub;
    struct stats *stats;
    struct list monitors; /* struct monitor.link */

    bool events_attached; /* the engine knows where its events go */
    uint64_t events_mask;

    /* BACKUP */
    bool backup_running;
    uint64_t backup_started_ms, backup_ended_ms; /* wall; 0 = never */
    char backup_error[256];                      /* empty = the last was well */
};

#endif
