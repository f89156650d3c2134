#include "bench/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/proto.h"
#include "bench/workload.h"
#include "util/alloc.h"

#define READ_ROOM ((size_t)64 << 10)
#define ASK_TIMEOUT_MS 30000

static struct buf spare_in, spare_out;

static void borrow(struct buf *b, struct buf *spare)
{
    if (b->data == NULL) {
        *b = *spare;
        buf_init(spare);
    }
}

static void give_back(struct buf *b, struct buf *spare)
{
    if (spare->data == NULL) {
        *spare = *b;
        buf_init(b);
        buf_clear(spare);
    }
}

void conn_borrow(struct conn *c)
{
    borrow(&c->in, &spare_in);
    borrow(&c->out, &spare_out);
}

void conn_give_back(struct conn *c)
{
    if (c->taken == c->in.len) {
        c->taken = 0;
        buf_clear(&c->in);
        give_back(&c->in, &spare_in);
    }
    if (c->out.len == 0)
        give_back(&c->out, &spare_out);
}

void tokens_add(struct tokens *t, struct slice token)
{
    if (t->n == t->cap) {
        t->cap = t->cap == 0 ? 16 : t->cap * 2;
        t->list = mem_realloc(t->list, t->cap * sizeof(*t->list));
    }
    t->list[t->n++] = (struct token){
        .start = (uint32_t)t->bytes.len,
        .len = (uint32_t)token.len,
    };
    buf_add_slice(&t->bytes, token);
}

void tokens_clear(struct tokens *t)
{
    t->n = 0;
    buf_clear(&t->bytes);
}

void conn_error(struct conn *c, struct slice text)
{
    if (c->errors++ == 0)
        snprintf(c->first_error, sizeof(c->first_error), "%.*s",
                 SLICE_FMT(text));
}

/* Of a server that speaks Redis' protocol and wants a password. */
static enum err give_password(struct conn *c, struct errbuf *e)
{
    const char *password = c->w->password;
    if (password == NULL || !c->w->proto->resp)
        return ERR_OK;
    proto_array(&c->out, 2);
    proto_bulk(&c->out, SLICE_LIT("AUTH"));
    proto_bulk(&c->out, slice_str(password));
    if (conn_await(c, 1, e) == ERR_OK)
        return ERR_OK;
    err_wrap(e, "AUTH");
    conn_close(c);
    return ERR_STATE;
}

enum err conn_open(struct conn *c, const struct workload *w, uint32_t number,
                   struct errbuf *e)
{
    *c = (struct conn){.fd = -1, .number = number, .w = w};
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    char port[8];
    snprintf(port, sizeof(port), "%u", w->port);
    int rc = getaddrinfo(w->host, port, &hints, &list);
    if (rc != 0)
        return err_set(e, ERR_IO, "%s: %s", w->host, gai_strerror(rc));
    int saved = 0;
    for (struct addrinfo *a = list; a != NULL && c->fd < 0; a = a->ai_next) {
        c->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (c->fd >= 0 && connect(c->fd, a->ai_addr, a->ai_addrlen) == 0)
            break;
        saved = errno;
        if (c->fd >= 0)
            close(c->fd);
        c->fd = -1;
    }
    freeaddrinfo(list);
    if (c->fd < 0)
        return err_sys(e, ERR_IO, saved, "connect to %s:%u", w->host, w->port);
    int on = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    return give_password(c, e);
}

bool conn_is_local(const struct conn *c)
{
    struct sockaddr_storage own = {0}, peer = {0};
    socklen_t own_len = sizeof(own), peer_len = sizeof(peer);
    if (getsockname(c->fd, (struct sockaddr *)&own, &own_len) != 0 ||
        getpeername(c->fd, (struct sockaddr *)&peer, &peer_len) != 0 ||
        own.ss_family != peer.ss_family)
        return false;
    if (own.ss_family == AF_INET6)
        return memcmp(&((struct sockaddr_in6 *)&own)->sin6_addr,
                      &((struct sockaddr_in6 *)&peer)->sin6_addr,
                      sizeof(struct in6_addr)) == 0;
    return own.ss_family == AF_INET &&
           ((struct sockaddr_in *)&own)->sin_addr.s_addr ==
               ((struct sockaddr_in *)&peer)->sin_addr.s_addr;
}

void conn_close(struct conn *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    buf_release(&c->out);
    buf_release(&c->in);
    buf_release(&c->held.bytes);
    FREE(&c->held.list);
}

/* The server has hung up: with its last words, if it had any. */
static enum err gone(const struct conn *c, const char *how, struct errbuf *e)
{
    return err_set(e, ERR_IO, "%s:%u: %s%s%s", c->w->host, c->w->port, how,
                   c->errors > 0 ? "; it said: " : "", c->first_error);
}

enum err conn_write(struct conn *c, bool *left, struct errbuf *e)
{
    while (c->sent < c->out.len) {
        ssize_t n = send(c->fd, c->out.data + c->sent, c->out.len - c->sent,
                         MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0)
            return gone(c, strerror(errno), e);
        c->sent += (size_t)n;
    }
    *left = c->sent < c->out.len;
    if (!*left) {
        buf_clear(&c->out);
        c->sent = 0;
    }
    return ERR_OK;
}

enum err conn_push(struct conn *c, int fd, void *tag, struct errbuf *e)
{
    bool left = false;
    enum err rc = conn_write(c, &left, e);
    if (rc != ERR_OK || left == c->polls_out)
        return rc;
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = tag};
    if (left)
        ev.events |= EPOLLOUT;
    c->polls_out = left;
    if (epoll_ctl(fd, EPOLL_CTL_MOD, c->fd, &ev) != 0)
        return err_sys(e, ERR_IO, errno, "epoll_ctl");
    return ERR_OK;
}

enum err conn_read(struct conn *c, struct errbuf *e)
{
    if (c->taken > 0) {
        buf_consume(&c->in, c->taken);
        c->taken = 0;
    }
    for (;;) {
        size_t room = READ_ROOM;
        ssize_t n = recv(c->fd, buf_room(&c->in, room), room, 0);
        if (n > 0) {
            c->in.len += (size_t)n;
            if ((size_t)n == room)
                continue;
            return ERR_OK;
        }
        if (n == 0)
            return gone(c, "the server closed the connection", e);
        if (errno == EAGAIN)
            return ERR_OK;
        if (errno != EINTR)
            return gone(c, strerror(errno), e);
    }
}

enum err conn_reply(struct conn *c, bool *complete, struct errbuf *e)
{
    size_t used = 0;
    struct slice in = slice_of(c->in.data + c->taken, c->in.len - c->taken);
    enum scan_state state = c->w->proto->read(c, in, &used);
    c->taken += used;
    *complete = state == SCAN_DONE;
    if (state == SCAN_BAD)
        return err_set(e, ERR_IO, "not a reply of %s: '%.*s'",
                       c->w->proto->name, (int)(in.len < 40 ? in.len : 40),
                       in.data);
    return ERR_OK;
}

struct answer {
    struct buf *reply;
    bool error;
    struct errbuf *e;
};

static void answer_item(void *ud, const struct scan_item *item)
{
    struct answer *a = ud;
    if (item->kind == SCAN_ERROR && !a->error) {
        a->error = true;
        err_set(a->e, ERR_SYNTAX, "%.*s", SLICE_FMT(item->text));
    }
    if (item->kind == SCAN_BULK && a->reply != NULL)
        buf_add_slice(a->reply, item->text);
}

static enum err await(struct conn *c, uint32_t replies, struct buf *reply,
                      struct errbuf *e)
{
    struct answer answer = {.reply = reply, .e = e};
    struct scanner scan = {0};
    for (;;) {
        bool left = false;
        if (conn_write(c, &left, e) != ERR_OK || conn_read(c, e) != ERR_OK)
            return ERR_IO;
        enum scan_state state = SCAN_DONE;
        while (replies > 0 && state == SCAN_DONE) {
            size_t used = 0;
            state = scanner_step(
                &scan, slice_of(c->in.data + c->taken, c->in.len - c->taken),
                &used, answer_item, &answer);
            c->taken += used;
            replies -= state == SCAN_DONE;
        }
        if (replies == 0)
            return answer.error ? ERR_SYNTAX : ERR_OK;
        struct pollfd p = {c->fd, POLLIN, 0};
        if (left)
            p.events |= POLLOUT;
        if (state == SCAN_BAD || poll(&p, 1, ASK_TIMEOUT_MS) == 0)
            return err_set(e, ERR_IO, "no reply from the server");
    }
}

enum err conn_await(struct conn *c, uint32_t replies, struct errbuf *e)
{
    return await(c, replies, NULL, e);
}

enum err conn_ask(struct conn *c, const char *line, struct buf *reply,
                  struct errbuf *e)
{
    proto_line(&c->out, line);
    enum err rc = await(c, 1, reply, e);
    if (rc != ERR_OK)
        err_wrap(e, "%s", line);
    return rc;
}
