/* The server: everything that one process has, and the tick that drives it.
 *
 *   wait for sockets, timers, threads
 *     -> read what is ready and run its commands   (client.c, dispatch.c)
 *     -> engine: what became due, expired, woken   (tick.c)
 *     -> store_commit(): one entry, held while there is more to read (tick.c)
 *     -> stamp gated replies with its index, send what may go (gate.c)
 *
 * A tick that grows past tick-max-bytes or tick-max-commands is closed between
 * two commands, so that one busy client cannot hold up everybody's commit.
 *
 * The parts of a server that commands bring along (transactions, Pub/Sub,
 * MONITOR, statistics) hang on `struct hooks`: the core calls them and knows
 * nothing else about them.
 *
 * Invariants:
 *  1. A client is freed only between commands, in server_free_closing().
 *  2. Every client with unsent replies is in `dirty`, or has marks at the gate,
 *     or waits for its socket to become writable.
 *  3. store_commit() is called once per tick, after the last command.
 *
 * Threads: all of it belongs to the loop.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "commands/registry.h"
#include "conf/conf.h"
#include "resp/parse.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/map.h"
#include "util/rng.h"
#include "util/slice.h"

#define SERVER_MAGIC 0x5e47e401u
#define SERVER_VERSION "0.1.0"
/* What INFO calls redis_version: clients choose features by it. */
#define SERVER_REDIS_VERSION "7.2.0"
#define RUN_ID_LEN 40

struct client;
struct engine;
struct gather;
struct listener;
struct loop;
struct mem_disk;
struct parked;
struct parts;
struct server;
struct store;

struct server_stats {
    uint64_t connections; /* accepted since the start or CONFIG RESETSTAT */
    uint64_t rejected;    /* over maxclients, or refused by protected mode */
    uint64_t commands;    /* executed, each of an EXEC too */
    uint64_t errors;      /* error replies */
    uint64_t in_bytes, out_bytes;
    uint64_t ticks, ticks_cut;
    uint64_t query_limit_closed, output_limit_closed, timed_out_closed;
    uint64_t no_memory_closed;
    uint64_t parked_rows, parked_blocked; /* callers parked, in total */
    uint64_t lists_cut;     /* parts of long lists that were not the last */
    uint64_t gate_waits;    /* replies that could not leave with their tick */
    uint64_t undone_leases; /* the connection was gone before the reply left */
    uint64_t reaps_delayed; /* leases spared while sockets were drained */
    uint64_t tick_us_max, tick_us_recent; /* ever, and since the last cron */
    uint64_t tick_cpu_us_max;             /* of the processor */
};

/* What the parts add to the core. A NULL member is skipped. */
struct hooks {
    /* The client is inside MULTI. True: the command was kept for EXEC and has
     * its reply; false: it runs now (EXEC, DISCARD ...). Its words have been
     * parsed and are right. */
    bool (*multi_queue)(struct client *c, const struct cmd_entry *entry,
                        const struct slice *argv, uint32_t argc);
    /* A command was refused (`entry` is NULL if it is unknown). Inside MULTI,
     * EXEC must answer EXECABORT. True: it was EXEC itself, so the transaction
     * has ended, and the refusal is to say so. */
    bool (*multi_spoil)(struct client *c, const struct cmd_entry *entry);
    /* Before a command runs, for MONITOR. */
    void (*before)(struct client *c, const struct cmd_entry *entry,
                   const struct slice *argv, uint32_t argc);
    /* After a command ran (not after each start-over), for statistics. `rc` is
     * what exec returned, `us` what it took, all start-overs added up. */
    void (*after)(struct client *c, const struct cmd_entry *entry,
                  const struct slice *argv, uint32_t argc, enum err rc,
                  uint64_t us);
    /* A command was refused before it ran; `entry` is NULL if it is unknown. */
    void (*refused)(struct client *c, const struct cmd_entry *entry,
                    enum err code);
    /* The client is about to be freed, or was RESET: drop what it has. */
    void (*forget)(struct client *c);
    /* About ten times a second. */
    void (*cron)(struct server *s);
    /* Once a tick, after the engine and before the commit. */
    void (*tick)(struct server *s);
};

/* A section of INFO. Sections are printed in the order of registration. */
typedef void (*info_fn)(struct server *s, struct buf *out);
struct info_section {
    const char *name; /* "Server" */
    info_fn print;    /* appends "key:value\r\n" lines */
    bool by_default;  /* shown without `all` or its name */
};
#define INFO_SECTIONS_MAX 32
#define LISTENERS_MAX 17
#define SPARE_OUT_MAX 64
#define LAST_NAME_MAX 24

enum server_state {
    SERVER_LOADING, /* the log is being replayed: -LOADING */
    SERVER_RUNNING,
    SERVER_DRAINING, /* no new leases, no new connections */
    SERVER_STOPPING, /* leave the loop */
};

struct server {
    OBJ_MAGIC;
    enum server_state state;
    struct conf *conf;
    const struct config *cf; /* its values; they may change with CONFIG SET */
    struct loop *loop;
    struct store *store;
    struct mem_disk *disk; /* of a server without files */
    struct engine *engine;
    struct hooks hooks;
    /* All commands: filled before the loop starts, by server_commands_init()
     * (commands.c). dispatch() asks registry_resolve(), which words the errors
     * for unknown names. */
    struct registry registry;
    /* The command that was looked up last: pipelines repeat themselves. */
    const struct cmd_entry *last_entry;
    char last_name[LAST_NAME_MAX];
    size_t last_name_len;
    struct parts *parts; /* what commands keep: see parts.h */

    struct listener *listeners[LISTENERS_MAX];
    uint32_t listener_count;
    int files_max; /* a connection whose descriptor is not below is refused */

    struct list clients; /* struct client.all, oldest first */
    struct map by_id;    /* struct client.id_node */
    uint32_t client_count;
    uint32_t blocked_count; /* parked by cmd_block() */
    uint64_t next_client_id;
    struct list dirty;   /* struct client.dirty: new replies this tick */
    struct list gated;   /* struct client.gated: marks at the gate */
    struct list closing; /* struct client.closing: to be freed */
    struct list resume;  /* struct client.resume: input waits to be run */
    struct list sliced;  /* struct client.resume: it was others' turn */
    struct list held;    /* struct client.held: reading has stopped */

    struct list run;       /* struct parked.run: to be started over */
    struct list more;      /* struct parked.run: lists that go on */
    uint32_t lists;        /* struct parked.cut: so many */
    uint64_t lists_us;     /* what they took of this turn */
    struct heap deadlines; /* struct parked.deadline */

    struct now now;  /* read once per wake-up of the loop */
    uint64_t now_us; /* monotonic, after the last command */
    uint64_t turn_began_us, turn_began_cpu_us,
        turn_synced_us;     /* and so long it synced by itself */
    uint64_t entry_held_us; /* when the turn of the first held entry began */
    uint32_t hold_us;       /* and how long it may be held */
    uint32_t tick_commands;
    uint32_t slice_us;         /* of one client, before the others' turn */
    bool tick_dirty;           /* something ran since the last commit */
    bool input_held;           /* too much is unsynced: nobody is read */
    bool paused_writes_only;   /* CLIENT PAUSE ... WRITE */
    uint64_t paused_until_ms;  /* CLIENT PAUSE; monotonic, 0 = is not */
    bool loaded;               /* engine and store are whole */
    bool more_due;             /* the engine has more to do at once */
    bool running;              /* the run list is being emptied */
    bool fresh;                /* `now` was read in this turn */
    uint32_t reads;            /* sockets that had bytes in this turn */
    uint64_t polled_ms;        /* when the sockets were last looked at */
    uint64_t stalled_until_ms; /* leases are not reaped before */
    uint64_t lists_until_ms;   /* nor before this, with a cut list under way */
    uint64_t wall_minus_mono_us;
    struct stopwatch watch;
    int64_t wall_shift_ms; /* DEBUG SET-CLOCK */
    uint64_t acked;        /* the gate was last opened up to here */

    char *read_buf; /* every plain read goes here first */
    size_t read_cap;
    struct resp_args args;  /* the words of the command at hand */
    struct buf arg_mem;     /* what cmd_parse() fills */
    struct buf inner_mem;   /* the same for commands inside EXEC */
    struct buf leased;      /* tokens of the reply at hand */
    struct parked *spare;   /* the frame of the next command */
    struct parked *current; /* the frame whose exec runs right now */
    struct buf spare_out[SPARE_OUT_MAX]; /* reply buffers between two uses */
    uint32_t spare_out_count;

    uint64_t started_wall_ms, started_mono_ms;
    char run_id[RUN_ID_LEN + 1];
    struct rng rng;
    uint64_t engine_seed;
    struct server_stats stats;
    uint64_t next_cron_ms, cron_count;

    struct info_section info[INFO_SECTIONS_MAX];
    uint32_t info_count;

    int exit_code;
    bool shutdown_now;
    uint64_t drain_until_ms;
    uint64_t linger_until_ms; /* 0: replies are still leaving */
};

/* Build from a configuration (borrowed; it outlives the server): opens the loop
 * and listens. -LOADING is answered until the store is ready. */
MUST_USE enum err server_new(struct server **out, struct conf *conf,
                             struct errbuf *e);
/* The same without loop, listeners and store: for tests and fuzzing. */
struct server *server_bare(struct conf *conf);
int server_run(struct server *s); /* returns the exit code */
void server_free(struct server **s);

/* Read the clocks, once per turn of the loop. */
void server_refresh(struct server *s);

/* Read the monotonic clock: what ran until now took s->now_us - before. */
void server_clock(struct server *s);

/* Close the open tick: engine events, commit, stamp, send. */
void server_end_tick(struct server *s);
/* Hand what is held to the log, if it is time. */
void server_hand_over(struct server *s);

/* Begin to stop: as SIGTERM, or at once with `now`. */
void server_shutdown(struct server *s, bool now);

void server_info_add(struct server *s, const char *name, info_fn print,
                     bool by_default);

#endif
