#include "net/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/assert.h"

struct loop {
    struct event_base *base;
    struct event timer, wake;
    uint64_t armed_ms; /* when the timer fires; 0 = not armed */
    int wake_fd, timer_fd;
    atomic_bool woken;
};

static void on_timer(evutil_socket_t fd, short what, void *ud)
{
    struct loop *l = (struct loop *)ud;
    uint64_t n;
    (void)what;
    /* It may have been set anew since it fired, and has nothing to read then.
     */
    if (read(fd, &n, sizeof(n)) == (ssize_t)sizeof(n))
        l->armed_ms = 0;
}

/* Libevent's own timers go by the kernel's coarse clock, which stands still for
 * 4 ms at a time, and round up to the next millisecond: a delayed job would be
 * that late. This one takes the time of clock_mono_us() and fires at it. */
static void arm(struct loop *l, uint64_t at_ms)
{
    struct itimerspec at = {
        .it_value = {(time_t)(at_ms / 1000), (long)(at_ms % 1000) * 1000000}};
    l->armed_ms = at_ms;
    ASSERT(timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &at, NULL) == 0);
}

static void on_wake(evutil_socket_t fd, short what, void *ud)
{
    struct loop *l = (struct loop *)ud;
    uint64_t n;
    (void)what;
    (void)!read(fd, &n, sizeof(n));
    /* Behind the read: a wake that comes between the two is not lost, at worst
     * it wakes the loop once more. */
    atomic_store(&l->woken, false);
}

enum err loop_new(struct loop **out, struct errbuf *e)
{
    struct event_config *config = event_config_new();
    struct loop *l = NEW(struct loop);
    l->wake_fd = l->timer_fd = -1;
    if (config == NULL)
        goto fail;
    (void)event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    /* Reading stops and starts without a system call each. */
    (void)event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
    l->base = event_base_new_with_config(config);
    if (l->base == NULL)
        goto fail;
    l->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (l->wake_fd < 0 || l->timer_fd < 0)
        goto fail;
    (void)event_assign(&l->wake, l->base, l->wake_fd, EV_READ | EV_PERSIST,
                       on_wake, l);
    (void)event_assign(&l->timer, l->base, l->timer_fd, EV_READ | EV_PERSIST,
                       on_timer, l);
    if (event_add(&l->wake, NULL) != 0 || event_add(&l->timer, NULL) != 0)
        goto fail;
    event_config_free(config);
    *out = l;
    return ERR_OK;

fail:
    if (config != NULL)
        event_config_free(config);
    loop_free(&l);
    return err_sys(e, ERR_IO, errno, "cannot set up the event loop");
}

void loop_free(struct loop **lp)
{
    struct loop *l = *lp;
    if (l == NULL)
        return;
    if (l->base != NULL) {
        if (l->wake_fd >= 0 && l->timer_fd >= 0) {
            (void)event_del(&l->wake);
            (void)event_del(&l->timer);
        }
        event_base_free(l->base);
    }
    if (l->wake_fd >= 0)
        (void)close(l->wake_fd);
    if (l->timer_fd >= 0)
        (void)close(l->timer_fd);
    FREE(lp);
}

void loop_wait(struct loop *l, uint64_t now_ms, uint64_t until_ms)
{
    if (until_ms <= now_ms) {
        /* NONBLOCK alone would go on until nothing is ready, which under load
         * is never. */
        (void)event_base_loop(l->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
        return;
    }
    /* A timer that fires too early costs one empty turn, which is cheaper than
     * moving it with each wait. */
    if (until_ms - now_ms > 60000)
        until_ms = now_ms + 60000;
    if (l->armed_ms == 0 || until_ms < l->armed_ms || l->armed_ms <= now_ms)
        arm(l, until_ms);
    (void)event_base_loop(l->base, EVLOOP_ONCE);
}

void loop_wake(struct loop *l)
{
    uint64_t one = 1;
    if (!atomic_exchange(&l->woken, true)) {
        int saved = errno; /* we may be in a signal handler */
        (void)!write(l->wake_fd, &one, sizeof(one));
        errno = saved;
    }
}

struct event_base *loop_base(struct loop *l)
{
    return l->base;
}
