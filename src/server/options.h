/* What the configuration says, in the shape in which the core reads it. The
 * table of directives fills it (see conf/), CONFIG SET changes it in place. */
#ifndef SERVER_OPTIONS_H
#define SERVER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define BIND_MAX 16
#define LISTENERS_MAX (BIND_MAX + 1) /* and the Unix socket */

enum client_class { CLASS_NORMAL, CLASS_REPLICA, CLASS_PUBSUB, CLASSES };

struct output_limit {
    uint64_t hard_bytes; /* 0 = none */
    uint64_t soft_bytes, soft_ms;
};

struct options {
    char *bind[BIND_MAX];
    uint32_t bind_count;
    uint32_t port; /* 0 = no TCP */
    uint32_t tcp_backlog;
    char *unixsocket; /* NULL = none */
    uint32_t unixsocketperm;
    uint32_t maxclients;
    uint64_t timeout_ms;      /* idle clients are closed; 0 = never */
    uint32_t tcp_keepalive_s; /* 0 = off */
    bool protected_mode;
    char *requirepass; /* NULL or "" = none */
    uint64_t query_buffer_limit;
    uint64_t proto_max_bulk_len;
    struct output_limit output[CLASSES];
    uint64_t reply_pile_bytes; /* unsent replies that stop reading */
    uint32_t tick_max_commands;
    uint64_t tick_max_bytes;
    uint64_t unsynced_max_bytes;
    uint64_t shutdown_timeout_ms;
    bool debug_commands; /* enable-debug-command */
    char *dir;
};

void options_default(struct options *o);
void options_release(struct options *o);

#endif
