/* Clients: one connection, its input, its replies, what it is waiting for.
 *
 *   socket -> read_buf (shared) -> parser -> dispatch -> out -> gate -> socket
 *                  |                                      ^
 *                  '-- a command cut in two: `in` --------'
 *
 * An idle client owns no buffer: input is read into one buffer of the server,
 * only the unfinished rest of a command is kept in `in`, and `out` goes back to
 * a small pool when it has been sent.
 *
 * Replies leave in order. Positions count all bytes ever replied:
 *
 *   sent          first mark's start                        queued
 *    |--- may leave ----|--- waits for mark[0].index ... -----|
 *
 * A reply that shows or changes state is gated: it may leave when the index of
 * its tick is acknowledged (store_acked()). Free replies behind it wait, too.
 *
 * Invariants:
 *  1. sent <= marks[0].start <= marks[1].start ... <= queued.
 *  2. marks' indexes grow.
 *  3. While `parked` is set no further command of this client starts.
 *  4. A client with `closing` linked is not read, written or pushed to.
 */
#ifndef SERVER_CLIENT_H
#define SERVER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "resp/parse.h"
#include "resp/reply.h"
#include "server/server.h"
#include "util/buf.h"
#include "util/list.h"
#include "util/map.h"

#define CLIENT_MAGIC 0xc11e4701u

struct addr;
struct conn;
struct monitor;
struct multi;
struct parked;
struct subs;

enum client_flag {
    CLIENT_AUTHENTICATED = 1 << 0,
    CLIENT_UNIX = 1 << 1,        /* came through the Unix socket */
    CLIENT_MONITOR = 1 << 2,     /* counts as class `pubsub` */
    CLIENT_CLOSE_AFTER = 1 << 3, /* close when `out` has left */
    CLIENT_EOF = 1 << 4,         /* the peer sends no more */
    CLIENT_NO_EVICT = 1 << 5,
    CLIENT_NO_TOUCH = 1 << 6,
    CLIENT_TRACKING = 1 << 7, /* asked for; nothing is ever invalidated */
    CLIENT_INTERNAL = 1 << 8, /* no socket: tests, fuzzing */
    CLIENT_HELD = 1 << 9,     /* nothing more is read */
    CLIENT_KILLED = 1 << 10,
    CLIENT_HUNG_UP = 1 << 11, /* CLIENT_EOF once all that it sent is read */
    CLIENT_LINGERS = 1 << 12, /* a stop waits for its end: see drain() */
};

enum client_class { CLASS_NORMAL = OBUF_NORMAL, CLASS_PUBSUB = OBUF_PUBSUB };

/* CLIENT REPLY: SKIP is said by a command and becomes SKIPPING for the next. */
enum reply_mode { REPLY_ON, REPLY_OFF, REPLY_SKIP, REPLY_SKIPPING };

struct mark {
    uint64_t start; /* position of the first byte that waits */
    uint64_t index; /* for this index */
};

/* Told to the engine if bytes up to `end` never left. */
struct undo {
    struct list link;
    uint64_t end;
    size_t len;
    char data[];
};

struct client {
    OBJ_MAGIC;
    struct server *server;
    struct conn *conn; /* NULL for CLIENT_INTERNAL */
    uint64_t id;
    unsigned flags;
    int proto; /* 2 or 3 */
    enum reply_mode reply_mode;

    /* input */
    struct resp_parser parser;
    struct buf in;
    size_t in_used; /* bytes at the front of `in` whose commands have run */

    /* output */
    struct buf out;
    uint64_t out_base;   /* position of out.data[0] */
    size_t out_used;     /* bytes at the front of out that were sent */
    uint64_t gated_from; /* first gated byte of this tick, or UINT64_MAX */
    struct mark *marks;
    uint32_t mark_count, mark_cap;
    struct list undos; /* struct undo.link: leases in replies not yet sent */
    uint64_t soft_since_ms; /* over the soft limit since; 0 = is not */

    struct parked *parked; /* the one command that waits, or NULL */

    struct list all, dirty, gated, closing, resume, held;
    struct map_node id_node;

    /* for CLIENT LIST and INFO */
    char *name; /* NULL = none */
    char *lib_name, *lib_ver;
    uint64_t created_mono_ms, active_mono_ms;
    const struct cmd_entry *last_cmd;
    uint64_t in_bytes, out_bytes, commands;

    /* owned by the parts (see struct hooks.forget) */
    struct multi *multi; /* set between MULTI and EXEC */
    struct subs *subs;
    uint32_t sub_count; /* channels and patterns: > 0 = subscriber mode */
    struct monitor *monitor;
};

/* A client without a connection: tests, fuzzing. */
struct client *client_new(struct server *s);
/* A connection was accepted: an accept_fn. */
void client_accept(int fd, const struct addr *peer, void *server);
struct client *client_by_id(struct server *s, uint64_t id);

/* Close soon, between two commands; unsent replies are dropped. Safe at any
 * time, also for the client whose command is running. */
void client_kill(struct client *c);
/* Close when everything that was replied so far has left. */
void client_close_after_reply(struct client *c);
/* Free the clients that were killed. */
void server_free_closing(struct server *s);

/* Write to a client whose command is not the one that runs: a message, a line
 * of MONITOR. `gated` = it tells of changes of this tick. Returns a reply to
 * fill; then call client_push_end(). */
struct reply client_push_begin(struct client *c, bool gated);
void client_push_end(struct client *c);

/* "127.0.0.1:41234", "[::1]:4711", "/run/x.sock:0". In a static buffer. */
const char *client_addr(const struct client *c);
const char *client_laddr(const struct client *c);
int client_fd(const struct client *c);
enum client_class client_class(const struct client *c);
/* Unsent reply bytes; kept input bytes; all memory of the client. */
size_t client_out_bytes(const struct client *c);
size_t client_in_bytes(const struct client *c);
size_t client_memory(const struct client *c);
bool client_is_parked(const struct client *c);
/* Must it authenticate before anything else? */
bool client_needs_auth(const struct client *c);

/* --- between the files of the core ---------------------------------------- */

bool client_id_eq(const struct map_node *n, const void *key);
/* Feed bytes as if they had come from the socket; runs their commands. */
void client_feed(struct client *c, struct slice bytes);
/* The reason why its input waited may be gone: later in this turn, run what is
 * in `in` and read again. */
void client_resume(struct client *c);
/* Run the input of those that were resumed, and of those that were held because
 * too much was unsynced. */
void clients_continue(struct server *s);
/* One more slice for each whose commands took long; behind the end of the tick,
 * so that the others have their replies. */
void clients_slice(struct server *s);
/* The client has new bytes in `out`: send them when the tick ends. */
void client_touch(struct client *c);

#endif
