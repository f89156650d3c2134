/* When a server that was started counts as ready. The server here is a thread
 * that says what a real one does while it reads its data, and then after. */
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
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

void proto_array(struct buf *out, size_t words)
{
    (void)out;
    (void)words;
    fail_msg("nothing here has a password");
}

void proto_bulk(struct buf *out, struct slice s)
{
    proto_array(out, s.len);
}

enum { LOADING_ANSWERS = 3 };

struct fake {
    int fd;
    uint32_t port, answers;
    char pid_file[32]; /* what the child said of itself; empty: a stranger */
    pthread_t thread;
};

static int pid_of_child(const struct fake *f)
{
    char text[16] = "1";
    FILE *file = f->pid_file[0] != '\0' ? fopen(f->pid_file, "re") : NULL;
    if (file != NULL) {
        if (fgets(text, sizeof(text), file) == NULL)
            text[0] = '0';
        fclose(file);
    }
    return (int)strtol(text, NULL, 10);
}

static void answer(const struct fake *f, int fd, bool loading)
{
    char ask[64], text[160], reply[192];
    if (recv(fd, ask, sizeof(ask), 0) <= 0)
        return;
    snprintf(text, sizeof(text),
             "# Server\r\nprocess_id:%d\r\n# Persistence\r\nloading:%d\r\n"
             "async_loading:0\r\n",
             pid_of_child(f), loading);
    int n =
        snprintf(reply, sizeof(reply), "$%zu\r\n%s\r\n", strlen(text), text);
    assert_int_equal(send(fd, reply, (size_t)n, MSG_NOSIGNAL), n);
}

static void *serve(void *ud)
{
    struct fake *f = ud;
    for (;;) {
        int fd = accept(f->fd, NULL, NULL);
        if (fd < 0)
            return NULL;
        answer(f, fd, f->answers < LOADING_ANSWERS);
        f->answers += pid_of_child(f) > 1;
        close(fd);
    }
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

static const struct proto any = {.resp = true};

static void a_server_is_ready_when_it_has_read_its_data(void **state)
{
    (void)state;
    struct workload w = {.proto = &any, .host = "127.0.0.1"};
    struct fake f;
    struct errbuf e;
    char script[80];
    pid_t pid = 0;
    fake_begin(&f);
    snprintf(f.pid_file, sizeof(f.pid_file), "/tmp/belfry-spawn.%d", getpid());
    snprintf(script, sizeof(script), "echo $$ >%s; exec sleep 60", f.pid_file);
    const char *const child[] = {"sh", "-c", script, NULL};
    w.port = f.port;
    assert_ok(spawn_server(&w, child, "/dev/null", &pid, &e));
    spawn_stop(&pid);
    fake_end(&f);
    assert_int_equal(f.answers, LOADING_ANSWERS + 1);
    assert_int_equal(unlink(f.pid_file), 0);
}

static void a_server_that_has_the_port_already_is_not_loaded(void **state)
{
    (void)state;
    static const char *const child[] = {"false", NULL};
    struct workload w = {.proto = &any, .host = "127.0.0.1"};
    struct fake f;
    struct errbuf e;
    pid_t pid = 0;
    fake_begin(&f);
    f.answers = LOADING_ANSWERS;
    w.port = f.port;
    assert_int_equal(spawn_server(&w, child, "/dev/null", &pid, &e), ERR_IO);
    fake_end(&f);
    assert_int_equal(pid, 0);
    assert_non_null(strstr(e.text, "false did not start"));
}

static void a_server_that_ends_is_told_of(void **state)
{
    (void)state;
    static const char *const child[] = {"false", NULL};
    struct workload w = {.proto = &any, .host = "127.0.0.1", .port = 1};
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
        cmocka_unit_test(a_server_that_has_the_port_already_is_not_loaded),
        cmocka_unit_test(a_server_that_ends_is_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
