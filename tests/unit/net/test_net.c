/* Loop, listeners and connections, on real sockets of this machine. */
#include "unit.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/conn.h"
#include "net/listener.h"
#include "net/loop.h"
#include "util/clock.h"

static struct errbuf e;
static int accepted[64], accepted_count;
static struct addr accepted_from;

static void on_accept(int fd, const struct addr *peer, void *ud)
{
    (void)ud;
    accepted_from = *peer;
    if (accepted_count < 64)
        accepted[accepted_count++] = fd;
}

/* The port that the kernel chose for a listener on port 0 is not told by the
 * listener, so a test tries some. */
static struct listener *listen_somewhere(struct loop *l, const char *host,
                                         uint32_t *port)
{
    for (*port = 21540; *port < 21560; ++*port) {
        struct listener *got;
        if (listener_tcp(&got, l, host, *port, 16, on_accept, NULL, &e) ==
                ERR_OK &&
            got != NULL)
            return got;
    }
    fail_msg("no port: %s", e.text);
    return NULL;
}

static void turn(struct loop *l)
{
    loop_wait(l, 0, 0);
}

static void wait_for(struct loop *l, const int *counter, int n)
{
    uint64_t until = clock_now().mono_ms + 5000;
    while (*counter < n && clock_now().mono_ms < until)
        loop_wait(l, clock_now().mono_ms, clock_now().mono_ms + 50);
    assert_int_equal(*counter, n);
}

static struct loop *begin(void)
{
    struct loop *l = NULL;
    accepted_count = 0;
    assert_ok(loop_new(&l, &e));
    return l;
}

static void *wake_soon(void *ud)
{
    loop_wake((struct loop *)ud);
    return NULL;
}

static void another_thread_ends_the_wait(void **state)
{
    (void)state;
    struct loop *l = begin();
    for (int i = 0; i < 50; i++) {
        pthread_t t;
        assert_int_equal(pthread_create(&t, NULL, wake_soon, l), 0);
        uint64_t now = clock_now().mono_ms;
        loop_wait(l, now, now + 10000);
        assert_true(clock_now().mono_ms - now < 5000);
        (void)pthread_join(t, NULL);
        turn(l); /* a wake behind the wait is taken in */
    }
    loop_free(&l);
    assert_null(l);
}

static void a_wait_ends_at_its_time(void **state)
{
    (void)state;
    struct loop *l = begin();
    uint64_t now = clock_now().mono_ms;
    loop_wait(l, now, now + 30);
    assert_true(clock_now().mono_ms >= now + 29);
    /* A later deadline is not cut short for ever by the earlier one. */
    now = clock_now().mono_ms;
    while (clock_now().mono_ms < now + 60)
        loop_wait(l, clock_now().mono_ms, now + 60);
    loop_free(&l);
}

static int connect_unix(const char *path)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    (void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
    return fd;
}

static void a_unix_socket_has_its_mode_and_is_not_taken_twice(void **state)
{
    (void)state;
    struct loop *l = begin();
    struct listener *a = NULL, *b = NULL;
    struct stat st;
    char dir[] = "/tmp/belfry-net-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/s", dir);
    assert_ok(listener_unix(&a, l, path, 0660, 16, on_accept, NULL, &e));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0660);
    assert_int_equal(listener_unix(&b, l, path, 0660, 16, on_accept, NULL, &e),
                     ERR_IO);
    assert_non_null(strstr(e.text, "a server listens there"));
    int fd[3];
    for (int i = 0; i < 3; i++)
        fd[i] = connect_unix(path);
    /* One more: the second listener asked whether somebody is there. */
    wait_for(l, &accepted_count, 4);
    assert_int_equal(accepted_from.kind, ADDR_UNIX);
    for (int i = 0; i < 3; i++) {
        close(fd[i]);
        close(accepted[i + 1]);
    }
    listener_close(&a);
    assert_int_not_equal(stat(path, &st), 0);
    (void)rmdir(dir);
    loop_free(&l);
}

static void the_socket_file_of_a_crash_is_replaced(void **state)
{
    (void)state;
    struct loop *l = begin();
    struct listener *a = NULL;
    char dir[] = "/tmp/belfry-net-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/s", dir);
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    (void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
    int dead = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(dead, (struct sockaddr *)&sun, sizeof(sun)), 0);
    close(dead);
    assert_ok(listener_unix(&a, l, path, 0600, 16, on_accept, NULL, &e));
    listener_close(&a);
    FILE *f = fopen(path, "w");
    fclose(f);
    assert_int_equal(listener_unix(&a, l, path, 0600, 16, on_accept, NULL, &e),
                     ERR_IO);
    assert_non_null(strstr(e.text, "is not a socket"));
    (void)unlink(path);
    struct stat st;
    mode_t old = umask(027);
    assert_ok(listener_unix(&a, l, path, 0, 16, on_accept, NULL, &e));
    (void)umask(old);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0750);
    listener_close(&a);
    (void)rmdir(dir);
    loop_free(&l);
}

static void a_busy_port_is_named(void **state)
{
    (void)state;
    struct loop *l = begin();
    struct listener *again = NULL;
    uint32_t port;
    struct listener *a = listen_somewhere(l, "127.0.0.1", &port);
    assert_int_equal(
        listener_tcp(&again, l, "127.0.0.1", port, 16, on_accept, NULL, &e),
        ERR_IO);
    assert_non_null(strstr(e.text, "cannot listen on 127.0.0.1 port"));
    assert_null(again);
    listener_close(&a);
    loop_free(&l);
}

static void an_optional_address_may_be_missing(void **state)
{
    (void)state;
    struct loop *l = begin();
    struct listener *a = NULL;
    assert_ok(
        listener_tcp(&a, l, "-192.0.2.1", 21561, 16, on_accept, NULL, &e));
    assert_null(a);
    assert_int_equal(
        listener_tcp(&a, l, "192.0.2.1", 21561, 16, on_accept, NULL, &e),
        ERR_IO);
    assert_null(a);
    loop_free(&l);
}

static void without_descriptors_a_connection_is_closed_not_spun_on(void **state)
{
    (void)state;
    struct loop *l = begin();
    struct rlimit old, tight;
    char dir[] = "/tmp/belfry-net-XXXXXX", path[64];
    struct listener *a = NULL;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/s", dir);
    assert_ok(listener_unix(&a, l, path, 0600, 16, on_accept, NULL, &e));
    int fd = connect_unix(path);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    tight = old;
    tight.rlim_cur = (rlim_t)fd + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    turn(l);
    turn(l);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(accepted_count, 0);
    char byte;
    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0); /* closed */
    close(fd);
    listener_close(&a);
    (void)rmdir(dir);
    loop_free(&l);
}

static int readable, writable, hung_up;

static void on_readable(void *ud)
{
    (void)ud;
    readable++;
}
static void on_writable(void *ud)
{
    (void)ud;
    writable++;
}
static void on_hangup(void *ud)
{
    (void)ud;
    hung_up++;
}
static const struct conn_ops ops = {on_readable, on_writable, on_hangup};

static void a_connection_is_told_what_it_asked_for(void **state)
{
    (void)state;
    struct loop *l = begin();
    struct addr peer = {.kind = ADDR_UNIX};
    int pair[2];
    char got[16];
    size_t n;
    readable = writable = hung_up = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    struct conn *c = conn_new(l, pair[1], &peer, &ops, NULL);
    assert_int_equal(write(pair[0], "abc", 3), 3);
    turn(l);
    assert_int_equal(readable, 0); /* not asked */
    conn_want_read(c, true);
    turn(l);
    assert_int_equal(readable, 1);
    assert_int_equal(conn_read(c, got, sizeof(got), &n), IO_OK);
    assert_int_equal(n, 3);
    assert_int_equal(conn_read(c, got, sizeof(got), &n), IO_AGAIN);
    conn_want_write(c, true);
    turn(l);
    assert_int_equal(writable, 1);
    conn_want_write(c, false);
    conn_want_read(c, false);
    conn_want_hangup(c, true);
    turn(l);
    assert_int_equal(hung_up, 0);
    close(pair[0]);
    turn(l);
    assert_int_equal(hung_up, 1);
    assert_int_equal(conn_read(c, got, sizeof(got), &n), IO_EOF);
    assert_int_equal(conn_write(c, "x", 1, &n), IO_ERROR);
    conn_free(&c);
    assert_null(c);
    loop_free(&l);
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

static void a_silent_peer_is_probed(void **state)
{
    (void)state;
    struct loop *l = begin();
    struct addr peer = {.kind = ADDR_IP4, .ip = {127, 0, 0, 1}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    struct conn *c = conn_new(l, fd, &peer, &ops, NULL);
    conn_keepalive(c, 300);
    conn_no_delay(c);
    assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 300);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 100);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
    assert_true(option(fd, IPPROTO_TCP, TCP_NODELAY) != 0);
    conn_keepalive(c, 0);
    assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
    conn_free(&c);
    loop_free(&l);
}

static void addresses_are_printed_as_redis_does(void **state)
{
    (void)state;
    struct addr a = {.kind = ADDR_IP4, .ip = {127, 0, 0, 1}, .port = 80};
    char text[ADDR_TEXT_SIZE];
    addr_text(&a, text);
    assert_string_equal(text, "127.0.0.1:80");
    assert_true(addr_is_local(&a));
    a.ip[0] = 10;
    assert_false(addr_is_local(&a));
    struct addr six = {.kind = ADDR_IP6, .ip = {[15] = 1}, .port = 4711};
    addr_text(&six, text);
    assert_string_equal(text, "[::1]:4711");
    assert_true(addr_is_local(&six));
    six.ip[0] = 0x20;
    assert_false(addr_is_local(&six));
    struct addr mapped = {.kind = ADDR_IP6,
                          .ip = {[10] = 0xff, [11] = 0xff, [12] = 127}};
    assert_true(addr_is_local(&mapped));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_thread_ends_the_wait),
        cmocka_unit_test(a_wait_ends_at_its_time),
        cmocka_unit_test(a_unix_socket_has_its_mode_and_is_not_taken_twice),
        cmocka_unit_test(the_socket_file_of_a_crash_is_replaced),
        cmocka_unit_test(a_busy_port_is_named),
        cmocka_unit_test(an_optional_address_may_be_missing),
        cmocka_unit_test(
            without_descriptors_a_connection_is_closed_not_spun_on),
        cmocka_unit_test(a_connection_is_told_what_it_asked_for),
        cmocka_unit_test(a_silent_peer_is_probed),
        cmocka_unit_test(addresses_are_printed_as_redis_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
