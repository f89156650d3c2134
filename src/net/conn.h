/* A connected socket and what its owner wants to know about it.
 *
 * Bytes go in and out by conn_read() and conn_write(): TLS will stand behind
 * these two. The owner is called when the socket is ready, and asks for that
 * with the three switches; all are off at first.
 *
 * Ownership: conn_new() takes the descriptor. A callback may free its conn.
 */
#ifndef NET_CONN_H
#define NET_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/addr.h"
#include "util/err.h"

struct conn;
struct loop;

struct conn_ops {
    void (*readable)(void *ud);
    void (*writable)(void *ud);
    void (*hangup)(void *ud); /* the peer sends no more */
};

enum io { IO_OK, IO_AGAIN, IO_EOF, IO_ERROR };

/* Never fails but by memory; `fd` is made non-blocking. */
struct conn *conn_new(struct loop *l, int fd, const struct addr *peer,
                      const struct conn_ops *ops, void *ud);
void conn_free(struct conn **c); /* closes; drops what the kernel holds */

MUST_USE enum io conn_read(struct conn *c, void *buf, size_t len, size_t *got);
MUST_USE enum io conn_write(struct conn *c, const void *buf, size_t len,
                            size_t *put);

/* Send nothing more: the peer sees the end behind what was written. */
void conn_end_writing(struct conn *c);

void conn_want_read(struct conn *c, bool on);
void conn_want_write(struct conn *c, bool on);
void conn_want_hangup(struct conn *c, bool on);

/* Probe a silent peer after `seconds`; 0 = off. */
void conn_keepalive(struct conn *c, uint32_t seconds);
void conn_no_delay(struct conn *c);

int conn_fd(const struct conn *c);
const struct addr *conn_peer(const struct conn *c);
void conn_local(const struct conn *c, struct addr *out);
size_t conn_memory(void);

#endif
