#include "net/listener.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/loop.h"
#include "util/alloc.h"

/* As Redis: a storm of connections must not starve those that are there. */
#define ACCEPTS_PER_TURN 1000

struct listener {
    struct event event;
    int fd;
    int spare_fd; /* given up when descriptors run out */
    accept_fn fn;
    void *ud;
    char *path; /* of a Unix socket, else NULL */
};

/* Out of descriptors: take the connection with the spare one and close it. */
static void turn_away(struct listener *l)
{
    if (l->spare_fd < 0)
        return;
    (void)close(l->spare_fd);
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        (void)close(fd);
    l->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void on_accept(evutil_socket_t fd, short what, void *ud)
{
    struct listener *l = (struct listener *)ud;
    (void)fd;
    (void)what;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        struct sockaddr_storage ss = {0};
        socklen_t len = sizeof(ss);
        int got = accept4(l->fd, (struct sockaddr *)&ss, &len,
                          SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (got < 0) {
            if (errno == EMFILE || errno == ENFILE)
                turn_away(l);
            if (errno == EINTR || errno == ECONNABORTED)
                continue;
            return;
        }
        struct addr peer;
        addr_of(&peer, (const struct sockaddr *)&ss);
        if (l->path != NULL)
            peer.kind = ADDR_UNIX;
        l->fn(got, &peer, l->ud);
    }
}

static struct listener *listener_new(struct loop *loop, int fd, accept_fn fn,
                                     void *ud)
{
    struct listener *l = NEW(struct listener);
    l->fd = fd;
    l->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    l->fn = fn;
    l->ud = ud;
    (void)event_assign(&l->event, loop_base(loop), fd, EV_READ | EV_PERSIST,
                       on_accept, l);
    (void)event_add(&l->event, NULL);
    return l;
}

/* A bound and listening socket for one address, or -1 with errno. */
static int listen_on(const struct addrinfo *ai, uint32_t backlog)
{
    int on = 1;
    int fd =
        socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    /* IPv4 has its own listener. */
    if (ai->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 &&
        listen(fd, (int)backlog) == 0)
        return fd;
    int saved = errno;
    (void)close(fd);
    errno = saved;
    return -1;
}

static bool address_missing(int errnum)
{
    return errnum == EADDRNOTAVAIL || errnum == EAFNOSUPPORT ||
           errnum == ENOPROTOOPT || errnum == EPROTONOSUPPORT ||
           errnum == ESOCKTNOSUPPORT || errnum == EPFNOSUPPORT;
}

enum err listener_tcp(struct listener **out, struct loop *loop,
                      const char *host, uint32_t port, uint32_t backlog,
                      accept_fn fn, void *ud, struct errbuf *e)
{
    *out = NULL;
    bool optional = host[0] == '-';
    if (optional)
        host++;
    bool any4 = strcmp(host, "*") == 0, any6 = strcmp(host, "::*") == 0;
    struct addrinfo hints = {0}, *list = NULL;
    char service[16];
    hints.ai_family = any4 ? AF_INET : any6 ? AF_INET6 : AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    (void)snprintf(service, sizeof(service), "%u", port);
    int rc = getaddrinfo(any4 || any6 ? NULL : host, service, &hints, &list);
    if (rc != 0)
        return err_set(e, ERR_IO, "cannot listen on %s: %s", host,
                       gai_strerror(rc));
    int fd = listen_on(list, backlog);
    int errnum = errno;
    freeaddrinfo(list);
    if (fd < 0 && optional && address_missing(errnum))
        return ERR_OK;
    if (fd < 0)
        return err_sys(e, ERR_IO, errnum, "cannot listen on %s port %u", host,
                       port);
    *out = listener_new(loop, fd, fn, ud);
    return ERR_OK;
}

/* Does a server answer on this socket file? */
static bool somebody_listens(const struct sockaddr_un *sun)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool yes = connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) == 0 ||
               errno == EAGAIN;
    (void)close(fd);
    return yes;
}

enum err listener_unix(struct listener **out, struct loop *loop,
                       const char *path, uint32_t perm, uint32_t backlog,
                       accept_fn fn, void *ud, struct errbuf *e)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    struct stat st;
    *out = NULL;
    if (strlen(path) >= sizeof(sun.sun_path))
        return err_set(e, ERR_SYNTAX,
                       "unixsocket %s: longer than the %zu bytes that the "
                       "system allows",
                       path, sizeof(sun.sun_path) - 1);
    (void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
    if (lstat(path, &st) == 0) {
        if (!S_ISSOCK(st.st_mode))
            return err_set(e, ERR_IO, "unixsocket %s: is not a socket", path);
        if (somebody_listens(&sun))
            return err_set(e, ERR_IO, "unixsocket %s: a server listens there",
                           path);
        (void)unlink(path);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_sys(e, ERR_IO, errno, "unixsocket %s", path);
    /* The file gets the mode of the socket, less the umask: it is never open to
     * more people than `perm` says. chmod() then gives what umask took. */
    if (perm != 0)
        (void)fchmod(fd, (mode_t)perm);
    if (bind(fd, (const struct sockaddr *)&sun, sizeof(sun)) != 0 ||
        (perm != 0 && chmod(path, (mode_t)perm) != 0) ||
        listen(fd, (int)backlog) != 0) {
        int errnum = errno;
        (void)close(fd);
        return err_sys(e, ERR_IO, errnum, "cannot listen on unixsocket %s",
                       path);
    }
    *out = listener_new(loop, fd, fn, ud);
    (*out)->path = mem_dup(slice_str(path));
    return ERR_OK;
}

void listener_close(struct listener **lp)
{
    struct listener *l = *lp;
    if (l == NULL)
        return;
    (void)event_del(&l->event);
    (void)close(l->fd);
    if (l->spare_fd >= 0)
        (void)close(l->spare_fd);
    if (l->path != NULL)
        (void)unlink(l->path);
    mem_free(l->path);
    FREE(lp);
}
