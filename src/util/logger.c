#include "util/logger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"

static char log_path[1024];
static atomic_int log_fd = STDOUT_FILENO;
static atomic_int log_least = LL_NOTICE;

static enum err open_file(const char *path, int *fd, struct errbuf *e)
{
    *fd = STDOUT_FILENO;
    if (path[0] == '\0')
        return ERR_OK;
    *fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (*fd < 0)
        return err_sys(e, ERR_IO, errno, "cannot open log file %s", path);
    return ERR_OK;
}

/* A thread may have read the number of the old descriptor and not written yet.
 * If that were closed, a connection could get the number, and the line. */
static void replace(int old, int fd)
{
    (void)dup3(fd, old, O_CLOEXEC);
    (void)close(fd);
}

static void switch_to(int fd)
{
    int old = atomic_load(&log_fd);
    if (old != STDOUT_FILENO && fd != STDOUT_FILENO) {
        replace(old, fd);
        return;
    }
    atomic_store(&log_fd, fd);
    if (old != STDOUT_FILENO)
        (void)close(old);
}

enum err logger_open(const char *path, enum log_level least, struct errbuf *e)
{
    int fd;
    if (strlen(path) >= sizeof(log_path))
        return err_set(e, ERR_SYNTAX, "log file name is too long");
    enum err rc = open_file(path, &fd, e);
    if (rc != ERR_OK)
        return rc;
    (void)snprintf(log_path, sizeof(log_path), "%s", path);
    atomic_store(&log_least, (int)least);
    switch_to(fd);
    return ERR_OK;
}

enum err logger_reopen(struct errbuf *e)
{
    int fd;
    enum err rc = open_file(log_path, &fd, e);
    if (rc == ERR_OK)
        switch_to(fd);
    return rc;
}

void logger_set_level(enum log_level least)
{
    atomic_store(&log_least, (int)least);
}

void logger_close(void)
{
    switch_to(STDOUT_FILENO);
}

int logger_fd(void)
{
    return atomic_load(&log_fd);
}

void say(enum log_level level, const char *fmt, ...)
{
    static const char mark[] = ".-*#";
    if ((int)level < atomic_load(&log_least))
        return;
    char line[1200], date[32];
    uint64_t us = clock_wall_us();
    time_t sec = (time_t)(us / 1000000);
    struct tm tm;
    (void)gmtime_r(&sec, &tm);
    (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
    int n = snprintf(line, sizeof(line), "%d:M %s.%03uZ %c ", (int)getpid(),
                     date, (unsigned)(us / 1000 % 1000), mark[level]);
    va_list ap;
    va_start(ap, fmt);
    int m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
    va_end(ap);
    size_t len = (size_t)n + (m < 0 ? 0 : (size_t)m);
    if (len > sizeof(line) - 2)
        len = sizeof(line) - 2;
    line[len++] = '\n';
    ssize_t w = write(atomic_load(&log_fd), line, len);
    (void)w; /* nowhere to report that the report failed */
}
