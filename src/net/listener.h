/* Sockets that accept connections: TCP on an address, or a Unix socket.
 *
 * All that wait are accepted at once, up to a bound per turn of the loop. When
 * descriptors run out, a reserved one is given up for a moment, so that the
 * connection is closed instead of waking the loop for ever.
 */
#ifndef NET_LISTENER_H
#define NET_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/addr.h"
#include "util/err.h"

struct listener;
struct loop;

/* `fd` is the callee's. */
typedef void (*accept_fn)(int fd, const struct addr *peer, void *ud);

/* `host` may be "*" (all IPv4), "::*" (all IPv6) or a name or address; with a
 * '-' in front an address that this machine does not have is skipped: ERR_OK
 * with *out == NULL. */
MUST_USE enum err listener_tcp(struct listener **out, struct loop *l,
                               const char *host, uint32_t port,
                               uint32_t backlog, accept_fn fn, void *ud,
                               struct errbuf *e);

/* A socket file with mode `perm` from its first moment; 0 is what the umask
 * leaves. What a crash left is
 * replaced, what somebody listens on is not. */
MUST_USE enum err listener_unix(struct listener **out, struct loop *l,
                                const char *path, uint32_t perm,
                                uint32_t backlog, accept_fn fn, void *ud,
                                struct errbuf *e);

/* Removes the socket file too. */
void listener_close(struct listener **l);

#endif
