#include "bench/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/conn.h"
#include "util/clock.h"

#define START_TIMEOUT_US 30000000
#define STOP_TIMEOUT_US 10000000
#define POLL_MS 20

/* Is it that process which answers there, and has it read its data? Another
 * server may have the port: what we started ends then, but later. */
static bool answers(const struct workload *w, pid_t pid)
{
    struct conn c;
    struct errbuf e;
    struct buf info = {0};
    char id[40];
    snprintf(id, sizeof(id), "\nprocess_id:%d\r", (int)pid);
    /* The start of the line belongs to it: `async_loading` is always 0. */
    bool ok = conn_open(&c, w, 0, &e) == ERR_OK &&
              conn_ask(&c, "INFO", &info, &e) == ERR_OK &&
              strstr(buf_cstr(&info), id) != NULL &&
              strstr(buf_cstr(&info), "\nloading:0") != NULL;
    buf_release(&info);
    conn_close(&c);
    return ok;
}

enum err spawn_server(const struct workload *w, const char *const *argv,
                      const char *log, pid_t *pid, struct errbuf *e)
{
    *pid = fork();
    if (*pid < 0)
        return err_sys(e, ERR_IO, errno, "fork");
    if (*pid == 0) {
        /* Who is ended without a chance to stop it leaves none behind. */
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        int fd = open(log, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
        if (fd >= 0) {
            dup2(fd, STDOUT_FILENO);
            dup2(fd, STDERR_FILENO);
        }
        /* execvp() does not write to them. */
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        perror(argv[0]);
        _exit(127);
    }
    uint64_t end = clock_mono_us() + START_TIMEOUT_US;
    while (!answers(w, *pid)) {
        int status;
        if (waitpid(*pid, &status, WNOHANG) == *pid) {
            *pid = 0;
            return err_set(e, ERR_IO, "%s did not start; see %s", argv[0], log);
        }
        if (clock_mono_us() > end) {
            spawn_stop(pid);
            return err_set(e, ERR_IO, "%s does not answer; see %s", argv[0],
                           log);
        }
        poll(NULL, 0, POLL_MS);
    }
    return ERR_OK;
}

void spawn_stop(pid_t *pid)
{
    if (*pid <= 0)
        return;
    uint64_t end = clock_mono_us() + STOP_TIMEOUT_US;
    int status;
    kill(*pid, SIGTERM);
    while (waitpid(*pid, &status, WNOHANG) == 0) {
        if (clock_mono_us() > end)
            kill(*pid, SIGKILL);
        poll(NULL, 0, POLL_MS);
    }
    *pid = 0;
}
