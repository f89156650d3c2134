#include "server/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/parse.h"

static bool notify_off;

static int ready_fd = -1;

/* The parent waits for a byte; the end of the pipe without one means that the
 * child died, and why is in its log. */
static void wait_for_child(int fd)
{
    char byte;
    ssize_t n;
    do
        n = read(fd, &byte, 1);
    while (n < 0 && errno == EINTR);
    exit(n == 1 ? 0 : 1);
}

void daemon_begin(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        exit(1);
    pid_t pid = fork();
    if (pid < 0)
        exit(1);
    if (pid > 0) {
        (void)close(ends[1]);
        wait_for_child(ends[0]);
    }
    (void)close(ends[0]);
    ready_fd = ends[1];
    (void)setsid();
    int fd = open("/dev/null", O_RDWR);
    if (fd >= 0) {
        (void)dup2(fd, STDIN_FILENO);
        (void)dup2(fd, STDOUT_FILENO);
        (void)dup2(fd, STDERR_FILENO);
        if (fd > STDERR_FILENO)
            (void)close(fd);
    }
}

void daemon_ready(void)
{
    if (ready_fd < 0)
        return;
    (void)!write(ready_fd, "", 1);
    (void)close(ready_fd);
    ready_fd = -1;
}

enum err daemon_pidfile(const char *path, struct errbuf *e)
{
    FILE *f = fopen(path, "we");
    if (f == NULL)
        return err_sys(e, ERR_IO, errno, "pidfile %s", path);
    bool ok = fprintf(f, "%d\n", (int)getpid()) > 0;
    if (fclose(f) != 0 || !ok)
        return err_sys(e, ERR_IO, errno, "pidfile %s", path);
    return ERR_OK;
}

void daemon_pidfile_remove(const char *path)
{
    (void)unlink(path);
}

void daemon_notify_off(void)
{
    notify_off = true;
}

void daemon_notify(const char *lines)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    const char *path = notify_off ? NULL : getenv("NOTIFY_SOCKET");
    if (path == NULL || (path[0] != '/' && path[0] != '@') ||
        strlen(path) >= sizeof(sun.sun_path))
        return;
    size_t len = strlen(path);
    memcpy(sun.sun_path, path, len);
    if (path[0] == '@') /* an abstract name */
        sun.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)!sendto(fd, lines, strlen(lines), MSG_NOSIGNAL | MSG_DONTWAIT,
                  (const struct sockaddr *)&sun,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    (void)close(fd);
}

void daemon_notify_reload(uint64_t now_mono_ms)
{
    char lines[64];
    /* By the time systemd tells this reload from an earlier one. */
    (void)snprintf(lines, sizeof(lines), "RELOADING=1\nMONOTONIC_USEC=%llu",
                   (unsigned long long)(now_mono_ms * 1000));
    daemon_notify(lines);
}

void daemon_watchdog(uint64_t now_mono_ms)
{
    static uint64_t every_ms = UINT64_MAX, next_ms;
    if (every_ms == UINT64_MAX) {
        const char *text = getenv("WATCHDOG_USEC");
        uint64_t us = 0;
        if (text == NULL || !parse_u64(slice_str(text), &us))
            us = 0;
        every_ms = us / 2000;
    }
    if (every_ms == 0 || now_mono_ms < next_ms)
        return;
    next_ms = now_mono_ms + every_ms;
    daemon_notify("WATCHDOG=1");
}
