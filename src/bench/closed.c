/* A connection's round:
 *
 *   ADD x pipeline --> LEASE COUNT owed --> ACK what came --> owed left?
 *        ^                   ^  | nothing came                | yes | no
 *        |                   |  v                             |     |
 *        |                   PAUSE 1 ms, or LEASE that waits  |     |
 *        |                   '--------------------------------'     |
 *        '----------------------------------------------------------'
 *
 * Each connection adds before it leases as many, so without delays and limits
 * a lease never comes short and nothing waits. With limits it matters that what
 * came is acknowledged before more is asked for: a full limit opens only so. A
 * server with leases that wait is asked for one then: to ask again and again
 * would measure how often we ask.
 *
 * A run by time begins no more rounds when the time is up; those that are under
 * way are finished and count.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bench/load.h"
#include "bench/payload.h"
#include "bench/proto.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/rng.h"

enum phase { PHASE_ADD, PHASE_LEASE, PHASE_ACK, PHASE_PAUSE, PHASE_END };

#define EVENTS 256
#define PAUSE_US 1000
#define BLOCK_MS 1000
/* For what is under way when the time is up. */
#define FINISH_US ((uint64_t)60 * 1000000)

struct loop {
    const struct workload *w;
    struct result *r;
    struct conn *conns;
    uint32_t opened, live, paused;
    int epfd;
    struct rng rng;
    struct payload payload;
    uint64_t started;
    bool ending; /* no more rounds */
    uint64_t now_us;
};

static enum err push(struct loop *l, struct conn *c, struct errbuf *e)
{
    return conn_push(c, l->epfd, c, e);
}

static void begin(struct loop *l, struct conn *c, enum phase phase,
                  uint32_t expect)
{
    c->phase = (int)phase;
    c->expect = expect;
    c->got = 0;
    c->phase_us = l->now_us;
}

static void begin_lease(struct loop *l, struct conn *c)
{
    begin(l, c, PHASE_LEASE, l->w->proto->lease(c, c->owed, 0));
}

static void begin_round(struct loop *l, struct conn *c)
{
    uint64_t left =
        l->w->by_time ? (l->ending ? 0 : UINT64_MAX) : l->w->jobs - l->started;
    uint32_t n = left < l->w->pipeline ? (uint32_t)left : l->w->pipeline;
    if (n == 0) {
        c->phase = PHASE_END;
        l->live--;
        return;
    }
    l->started += n;
    c->round_us = l->now_us;
    c->owed = n;
    if (l->w->mix == MIX_DRAIN) {
        begin_lease(l, c);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t seq = l->started - n + i;
        l->w->proto->add(c, &(struct new_job){
                                .payload = payload_next(&l->payload, seq),
                                .seq = seq,
                                .rng = &l->rng,
                            });
    }
    begin(l, c, PHASE_ADD, n);
}

static void record(struct loop *l, enum latency what, uint64_t since_us,
                   uint64_t times)
{
    histogram_record_n(l->r->latency[what], l->now_us - since_us, times);
}

/* All replies of the phase are here. */
static void advance(struct loop *l, struct conn *c)
{
    switch ((enum phase)c->phase) {
    case PHASE_ADD:
        if (l->w->mix == MIX_ADD) {
            l->r->done += c->owed;
            begin_round(l, c);
        } else if (c->owed == 0) {
            begin_round(l, c);
        } else {
            begin_lease(l, c);
        }
        break;
    case PHASE_LEASE:
        if (c->held.n == 0 && l->w->proto->blocking) {
            begin(l, c, PHASE_LEASE, l->w->proto->lease(c, c->owed, BLOCK_MS));
            break;
        }
        if (c->held.n == 0) {
            c->phase = PHASE_PAUSE;
            l->paused++;
            break;
        }
        record(l, LAT_LEASE, c->phase_us, c->held.n);
        begin(l, c, PHASE_ACK, l->w->proto->ack(c));
        break;
    case PHASE_ACK:
        record(l, LAT_ACK, c->phase_us, c->held.n);
        if (l->w->mix == MIX_LIFE)
            record(l, LAT_LIFE, c->round_us, c->held.n);
        l->r->done += c->held.n;
        c->owed -= c->held.n < c->owed ? c->held.n : c->owed;
        tokens_clear(&c->held);
        if (c->owed > 0)
            begin_lease(l, c);
        else
            begin_round(l, c);
        break;
    case PHASE_PAUSE:
    case PHASE_END:
        break;
    }
}

static enum err take(struct loop *l, struct conn *c, struct errbuf *e)
{
    conn_borrow(c);
    enum err rc = conn_read(c, e);
    l->now_us = clock_mono_us();
    while (rc == ERR_OK && c->phase <= PHASE_ACK && c->got < c->expect) {
        bool complete = false;
        uint64_t errors = c->errors;
        rc = conn_reply(c, &complete, e);
        if (rc != ERR_OK || !complete)
            break;
        c->got++;
        if (c->phase == PHASE_ADD) {
            record(l, LAT_ADD, c->phase_us, 1);
            /* What was refused cannot be leased. */
            c->owed -= c->errors > errors;
        }
        if (c->got == c->expect)
            advance(l, c);
    }
    if (rc == ERR_OK)
        rc = push(l, c, e);
    conn_give_back(c);
    return rc;
}

static enum err wake_paused(struct loop *l, struct errbuf *e)
{
    enum err rc = ERR_OK;
    for (uint32_t i = 0; i < l->opened && rc == ERR_OK; i++)
        if (l->conns[i].phase == PHASE_PAUSE) {
            begin_lease(l, &l->conns[i]);
            rc = push(l, &l->conns[i], e);
        }
    l->paused = 0;
    return rc;
}

static enum err loop(struct loop *l, struct errbuf *e)
{
    const struct workload *w = l->w;
    uint64_t start = clock_mono_us(), end = start + w->seconds * 1000000;
    uint64_t woken = start;
    enum err rc = ERR_OK;
    l->now_us = start;
    for (uint32_t i = 0; i < l->opened && rc == ERR_OK; i++) {
        l->live++;
        begin_round(l, &l->conns[i]);
        rc = push(l, &l->conns[i], e);
    }
    struct epoll_event ev[EVENTS];
    while (rc == ERR_OK && l->live > 0) {
        int n = epoll_wait(l->epfd, ev, EVENTS, l->paused > 0 ? 1 : 1000);
        if (n < 0 && errno != EINTR)
            return err_sys(e, ERR_IO, errno, "epoll_wait");
        for (int i = 0; i < n && rc == ERR_OK; i++)
            rc = take(l, ev[i].data.ptr, e);
        l->now_us = clock_mono_us();
        if (rc == ERR_OK && l->paused > 0 && l->now_us >= woken + PAUSE_US) {
            woken = l->now_us;
            rc = wake_paused(l, e);
        }
        result_progress(l->r, w, start, l->now_us);
        if (w->by_time && !l->ending && l->now_us >= end) {
            l->ending = true;
            end += FINISH_US;
        }
        if (l->now_us >= end || load_interrupted) {
            l->r->timed_out = true;
            break;
        }
    }
    l->r->run_us = clock_mono_us() - start;
    return rc;
}

enum err closed_run(const struct workload *w, struct result *r,
                    struct errbuf *e)
{
    struct loop l = {.w = w, .r = r};
    enum err rc = ERR_OK;
    rng_seed(&l.rng, w->seed);
    payload_init(&l.payload, w->payload, w->seed);
    l.epfd = epoll_create1(EPOLL_CLOEXEC);
    if (l.epfd < 0)
        rc = err_sys(e, ERR_IO, errno, "epoll_create1");
    l.conns = mem_zalloc(w->connections * sizeof(*l.conns));
    while (rc == ERR_OK && l.opened < w->connections) {
        struct conn *c = &l.conns[l.opened];
        rc = conn_open(c, w, l.opened, e);
        if (rc != ERR_OK)
            break;
        l.opened++;
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
        if (epoll_ctl(l.epfd, EPOLL_CTL_ADD, c->fd, &ev) != 0)
            rc = err_sys(e, ERR_IO, errno, "epoll_ctl");
    }
    if (rc == ERR_OK)
        rc = loop(&l, e);
    for (uint32_t i = 0; i < l.opened; i++) {
        struct conn *c = &l.conns[i];
        if (c->errors > 0 && r->errors == 0)
            memcpy(r->first_error, c->first_error, sizeof(r->first_error));
        r->errors += c->errors;
        conn_close(c);
    }
    mem_free(l.conns);
    payload_release(&l.payload);
    if (l.epfd >= 0)
        close(l.epfd);
    return rc;
}
