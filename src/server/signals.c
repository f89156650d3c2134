#include "server/signals.h"

#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "net/loop.h"
#include "server/daemon.h"
#include "server/server.h"
#include "util/build_id.h"
#include "util/logger.h"

enum { STACK_BYTES = 64 * 1024, FRAMES_MAX = 64 };

static _Atomic(struct loop *) loop;
static atomic_uint stops, reopens;
static char crash_stack[STACK_BYTES];

static void on_signal(int sig)
{
    if (sig == SIGHUP)
        atomic_fetch_add(&reopens, 1);
    else
        atomic_fetch_add(&stops, 1);
    struct loop *l = atomic_load(&loop);
    if (l != NULL)
        loop_wake(l);
}

static void put(const char *text)
{
    (void)!write(logger_fd(), text, strlen(text));
}

static void put_number(uint64_t n, unsigned base)
{
    char digits[24];
    size_t at = sizeof(digits) - 1;
    digits[at] = '\0';
    do {
        digits[--at] = "0123456789abcdef"[n % base];
        n /= base;
    } while (n > 0);
    put(digits + at);
}

/* Only calls that are safe in a signal handler; nothing is allocated. */
static void on_crash(int sig, siginfo_t *info, void *context)
{
    void *frames[FRAMES_MAX];
    (void)context;
    put("\n=== BELFRY CRASH REPORT: version " SERVER_VERSION ", build ");
    put(build_id()); /* known since the start */
    put(", signal ");
    put_number((uint64_t)sig, 10);
    put(", address 0x");
    put_number((uint64_t)(uintptr_t)info->si_addr, 16);
    put(", pid ");
    put_number((uint64_t)getpid(), 10);
    put(" ===\n--- backtrace (addr2line -e belfry-server ...) ---\n");
    int n = backtrace(frames, FRAMES_MAX);
    backtrace_symbols_fd(frames, n, logger_fd());
    put("=== END OF REPORT ===\n");
    /* SA_RESETHAND: the second time it is deadly. */
    (void)raise(sig);
}

void signals_catch_crashes(void)
{
    (void)build_id();
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    void *frame;
    /* The first call loads a library, which a handler must not. */
    (void)backtrace(&frame, 1);
    stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof(crash_stack)};
    (void)sigaltstack(&stack, NULL);
    struct sigaction sa;
    memset(&sa, 0, sizeof(sa));
    sa.sa_sigaction = on_crash;
    sa.sa_flags = (int)(SA_SIGINFO | SA_RESETHAND | SA_ONSTACK | SA_NODEFER);
    (void)sigemptyset(&sa.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(deadly); i++)
        (void)sigaction(deadly[i], &sa, NULL);
}

void signals_begin(struct server *s)
{
    struct sigaction sa;
    memset(&sa, 0, sizeof(sa));
    (void)sigemptyset(&sa.sa_mask);
    sa.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &sa, NULL);
    sa.sa_handler = on_signal;
    sa.sa_flags = SA_RESTART;
    atomic_store(&loop, s->loop);
    (void)sigaction(SIGTERM, &sa, NULL);
    (void)sigaction(SIGINT, &sa, NULL);
    (void)sigaction(SIGHUP, &sa, NULL);
}

void signals_end(void)
{
    atomic_store(&loop, NULL);
}

void signals_take(struct server *s)
{
    static unsigned stops_seen, reopens_seen;
    unsigned n = atomic_load(&stops);
    if (n != stops_seen) {
        say(LL_WARNING, "Received a signal to stop");
        bool again = s->state == SERVER_DRAINING || n - stops_seen > 1;
        stops_seen = n;
        server_shutdown(s, again);
    }
    n = atomic_load(&reopens);
    if (n != reopens_seen) {
        struct errbuf e;
        reopens_seen = n;
        /* READY=1 closes it, so a server that is not ready says nothing. */
        bool ready = s->state == SERVER_RUNNING;
        if (ready)
            daemon_notify_reload(s->now.mono_ms);
        if (logger_reopen(&e) == ERR_OK)
            say(LL_NOTICE, "Log file opened again");
        else
            say(LL_WARNING, "%s", e.text);
        if (ready)
            daemon_notify("READY=1");
    }
}
