#include "net/conn.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/loop.h"
#include "util/alloc.h"

struct conn {
    struct event read, write;
    struct event *hangup; /* rare, so it is allocated when it is wanted */
    const struct conn_ops *ops;
    void *ud;
    int fd;
    bool reads, writes;
    struct addr peer;
};

static void on_readable(evutil_socket_t fd, short what, void *ud)
{
    struct conn *c = (struct conn *)ud;
    (void)fd;
    (void)what;
    c->ops->readable(c->ud);
}

static void on_writable(evutil_socket_t fd, short what, void *ud)
{
    struct conn *c = (struct conn *)ud;
    (void)fd;
    (void)what;
    c->ops->writable(c->ud);
}

static void on_hangup(evutil_socket_t fd, short what, void *ud)
{
    struct conn *c = (struct conn *)ud;
    (void)fd;
    (void)what;
    c->ops->hangup(c->ud);
}

struct conn *conn_new(struct loop *l, int fd, const struct addr *peer,
                      const struct conn_ops *ops, void *ud)
{
    struct conn *c = NEW(struct conn);
    c->fd = fd;
    c->ops = ops;
    c->ud = ud;
    c->peer = *peer;
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && (flags & O_NONBLOCK) == 0)
        (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    (void)event_assign(&c->read, loop_base(l), fd, EV_READ | EV_PERSIST,
                       on_readable, c);
    (void)event_assign(&c->write, loop_base(l), fd, EV_WRITE | EV_PERSIST,
                       on_writable, c);
    return c;
}

void conn_free(struct conn **cp)
{
    struct conn *c = *cp;
    if (c == NULL)
        return;
    conn_want_read(c, false);
    conn_want_write(c, false);
    conn_want_hangup(c, false);
    (void)close(c->fd);
    FREE(cp);
}

static enum io io_failed(int errnum)
{
    if (errnum == EAGAIN || errnum == EWOULDBLOCK || errnum == EINTR)
        return IO_AGAIN;
    return IO_ERROR;
}

enum io conn_read(struct conn *c, void *buf, size_t len, size_t *got)
{
    ssize_t n = recv(c->fd, buf, len, 0);
    *got = n > 0 ? (size_t)n : 0;
    if (n < 0)
        return io_failed(errno);
    return n == 0 ? IO_EOF : IO_OK;
}

enum io conn_write(struct conn *c, const void *buf, size_t len, size_t *put)
{
    ssize_t n = send(c->fd, buf, len, MSG_NOSIGNAL);
    *put = n > 0 ? (size_t)n : 0;
    return n < 0 ? io_failed(errno) : IO_OK;
}

void conn_end_writing(struct conn *c)
{
    (void)shutdown(c->fd, SHUT_WR);
}

static void want(struct event *ev, bool *is_on, bool on)
{
    if (*is_on == on)
        return;
    *is_on = on;
    if (on)
        (void)event_add(ev, NULL);
    else
        (void)event_del(ev);
}

void conn_want_read(struct conn *c, bool on)
{
    want(&c->read, &c->reads, on);
}

void conn_want_write(struct conn *c, bool on)
{
    want(&c->write, &c->writes, on);
}

void conn_want_hangup(struct conn *c, bool on)
{
    if ((c->hangup != NULL) == on)
        return;
    if (on) {
        c->hangup = event_new(event_get_base(&c->read), c->fd,
                              EV_CLOSED | EV_PERSIST, on_hangup, c);
        if (c->hangup != NULL)
            (void)event_add(c->hangup, NULL);
    } else {
        event_free(c->hangup);
        c->hangup = NULL;
    }
}

void conn_keepalive(struct conn *c, uint32_t seconds)
{
    int on = seconds > 0, idle = (int)seconds, count = 3;
    int interval = idle / 3 > 0 ? idle / 3 : 1;
    if (c->peer.kind == ADDR_UNIX)
        return;
    (void)setsockopt(c->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    if (!on)
        return;
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval,
                     sizeof(interval));
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

void conn_no_delay(struct conn *c)
{
    int on = 1;
    if (c->peer.kind != ADDR_UNIX)
        (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int conn_fd(const struct conn *c)
{
    return c->fd;
}

const struct addr *conn_peer(const struct conn *c)
{
    return &c->peer;
}

void conn_local(const struct conn *c, struct addr *out)
{
    struct sockaddr_storage ss = {0};
    socklen_t len = sizeof(ss);
    (void)getsockname(c->fd, (struct sockaddr *)&ss, &len);
    addr_of(out, (const struct sockaddr *)&ss);
}

size_t conn_memory(void)
{
    return sizeof(struct conn);
}
