/* When a server that was started counts as ready. The server here is a thread
 * that says what a real one does while it reads its data, and then after. */
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/conn.c"
#include "bench/scanner.c"
#include "bench/spawn.c"
#include "unit.h"

/* Of proto.c, which drags every protocol in. */
void proto_line(struct buf *out, const char *line)
{
    buf_printf(out, "%s\r\n", line);
}

enum { LOADING_ANSWERS = 3 };

struct fake {
    int fd;
    uint32_t port, answers;
    pthread_t thread;
};

static void answer(int fd, bool loading)
{
    char ask[64], text[128], reply[160];
    if (recv(fd, ask, sizeof(ask), 0) <= 0)
        return;
    snprintf(text, sizeof(text),
             "# Persistence\r\nloading:%d\r\nasync_loading:0\r\n", loading);
    int n =
        snprintf(reply, sizeof(reply), "$%zu\r\n%s\r\n", strlen(text), text);
    assert_int_equal(send(fd, reply, (size_t)n, MSG_NOSIGNAL), n);
}

static void *serve(void *ud)
{
    struct fake *f = ud;
    while (f->answers <= LOADING_ANSWERS) {
        int fd = accept(f->fd, NULL, NULL);
        if (fd < 0)
            break;
        answer(fd, f->answers < LOADING_ANSWERS);
        f->answers++;
        close(fd);
    }
    return NULL;
}

static void fake_begin(struct fake *f)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof(at);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *f = (struct fake){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(bind(f->fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(f->fd, 8), 0);
    assert_int_equal(getsockname(f->fd, (struct sockaddr *)&at, &len), 0);
    f->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
}

static void fake_end(struct fake *f)
{
    (void)shutdown(f->fd, SHUT_RDWR);
    pthread_join(f->thread, NULL);
    close(f->fd);
}

static void a_server_is_ready_when_it_has_read_its_data(void **state)
{
    (void)state;
    static const char *const child[] = {"sleep", "60", NULL};
    struct workload w = {.host = "127.0.0.1"};
    struct fake f;
    struct errbuf e;
    pid_t pid = 0;
    fake_begin(&f);
    w.port = f.port;
    assert_ok(spawn_server(&w, child, "/dev/null", &pid, &e));
    spawn_stop(&pid);
    fake_end(&f);
    assert_int_equal(f.answers, LOADING_ANSWERS + 1);
}

static void a_server_that_ends_is_told_of(void **state)
{
    (void)state;
    static const char *const child[] = {"false", NULL};
    struct workload w = {.host = "127.0.0.1", .port = 1};
    struct errbuf e;
    pid_t pid = 0;
    assert_int_equal(spawn_server(&w, child, "/dev/null", &pid, &e), ERR_IO);
    assert_int_equal(pid, 0);
    assert_non_null(strstr(e.text, "false did not start"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_is_ready_when_it_has_read_its_data),
        cmocka_unit_test(a_server_that_ends_is_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
