/* Jobs arrive by the clock on `connections`; `workers` wait for them in
 * blocking leases, acknowledge, and ask again in the same write.
 *
 *   clock --> ADD on the next producer ... server ... LEASE returns at a worker
 *   |<------------------- pickup -------------------->|
 *   |<-- add -->|                                     |<-- ACK + LEASE -->|
 *   |<------------------------------ life ------------------------------->|
 *
 * The payload carries the time at which its job was to be sent (monotonic), or
 * at which it is due (wall clock, MIX_DELAYED). A schedule's job says itself
 * which time it stands for.
 *
 * What is not done at the end counts as if it were done then. So it must be
 * known when each job was due: by the rate; of delayed jobs each time is kept;
 * schedules start one after the other, evenly within `every`.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bench/load.h"
#include "bench/payload.h"
#include "bench/proto.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/rng.h"

#define EVENTS 256
#define BLOCK_MS 1000
/* Not more at a time, so that replies are read while the loop catches up. */
#define BURST 2000
#define SET_CHUNK 200
/* For schedules: until the jobs of the last moment are here. */
#define GRACE_US ((uint64_t)5 * 1000000)

/* When the jobs whose replies are still to come were to be sent. */
struct fifo {
    uint64_t *at;
    size_t head, len, cap;
};

struct peer {
    struct conn conn; /* first: epoll hands the connection back */
    bool worker;
    struct fifo sent;    /* producer: one per ADD */
    struct tokens acked; /* worker: what the ACK under way names */
    bool acking;
};

struct loop {
    const struct workload *w;
    struct result *r;
    struct peer *peers;
    uint32_t opened, producers, next;
    int epfd;
    struct rng rng;
    struct payload payload;
    uint64_t start_us, now_us;
    /* What was there before has an earlier stamp, or none. */
    uint64_t first_stamp, last_stamp;
    uint64_t sent, failed;
    uint64_t wanted;         /* jobs that are to be done */
    struct fifo due;         /* MIX_DELAYED: wall times of all jobs */
    uint64_t base_ms, first; /* MIX_SCHEDULES: see fire_us() */
};

static void fifo_push(struct fifo *f, uint64_t at)
{
    if (f->head + f->len == f->cap && f->head > 0) {
        memmove(f->at, f->at + f->head, f->len * sizeof(*f->at));
        f->head = 0;
    }
    if (f->len == f->cap) {
        f->cap = f->cap == 0 ? 64 : f->cap * 2;
        f->at = mem_realloc(f->at, f->cap * sizeof(*f->at));
    }
    f->at[f->head + f->len++] = at;
}

static uint64_t fifo_pop(struct fifo *f)
{
    ASSERT(f->len > 0);
    f->len--;
    return f->at[f->head++];
}

static enum err push(struct loop *l, struct peer *p, struct errbuf *e)
{
    return conn_push(&p->conn, l->epfd, p, e);
}

static uint64_t due_us(const struct loop *l, uint64_t n)
{
    return l->start_us + n * 1000000 / l->w->rate;
}

/* When the n-th of all jobs of all schedules is due, by the wall clock. */
static uint64_t fire_us(const struct loop *l, uint64_t n)
{
    const struct workload *w = l->w;
    uint64_t round = n / w->jobs, i = n % w->jobs;
    return (l->base_ms + round * w->every_ms + i * w->every_ms / w->jobs) *
           1000;
}

/* Draw when the job that is to be sent at `at_us` is due. */
static uint64_t delayed_ms(struct loop *l, uint64_t at_us)
{
    uint64_t ms = (clock_wall_us() - (l->now_us - at_us)) / 1000 +
                  rng_below(&l->rng, l->w->delay_ms + 1);
    fifo_push(&l->due, ms * 1000);
    return ms;
}

static void send_one(struct loop *l, struct peer *p, uint64_t at_us)
{
    struct new_job job = {.seq = l->sent, .rng = &l->rng};
    uint64_t stamp = at_us;
    if (l->w->mix == MIX_DELAYED) {
        job.at_ms = delayed_ms(l, at_us);
        stamp = job.at_ms * 1000;
    }
    job.payload = payload_next(&l->payload, stamp);
    l->w->proto->add(&p->conn, &job);
    fifo_push(&p->sent, at_us);
    l->sent++;
}

/* Send what was to be sent by now. */
static enum err send_due(struct loop *l, struct errbuf *e)
{
    uint64_t first = l->sent;
    enum err rc = ERR_OK;
    if (l->w->mix == MIX_SCHEDULES)
        return ERR_OK;
    while (l->sent < l->w->jobs && l->sent - first < BURST &&
           due_us(l, l->sent) <= l->now_us) {
        send_one(l, &l->peers[l->next], due_us(l, l->sent));
        l->next = (l->next + 1) % l->producers;
    }
    uint64_t n = l->sent - first;
    if (n > l->producers)
        n = l->producers;
    for (uint64_t i = 1; i <= n && rc == ERR_OK; i++)
        rc = push(l, &l->peers[(l->next + l->producers - i) % l->producers], e);
    return rc;
}

static void record(struct loop *l, enum latency what, uint64_t now,
                   uint64_t since)
{
    histogram_record_n(l->r->latency[what], now > since ? now - since : 0, 1);
}

/* A backlog, and what an earlier run has left, is worked off and not counted.
 */
static bool is_ours(const struct loop *l, const struct token *t)
{
    return t->stamp >= l->first_stamp && t->stamp <= l->last_stamp;
}

static void leased(struct loop *l, struct peer *p)
{
    struct conn *c = &p->conn;
    struct tokens came = c->held;
    uint64_t wall_us = clock_wall_us();
    c->held = p->acked;
    p->acked = came;
    tokens_clear(&c->held);
    for (uint32_t i = 0; i < came.n; i++) {
        if (!is_ours(l, &came.list[i]))
            continue;
        if (l->w->mix == MIX_PICKUP)
            record(l, LAT_PICKUP, l->now_us, came.list[i].stamp);
        else
            record(l, LAT_LATE, wall_us, came.list[i].stamp);
    }
    if (came.n > 0) {
        /* ack() takes the tokens out of `held`. */
        struct tokens empty = c->held;
        c->held = p->acked;
        l->w->proto->ack(c);
        p->acked = c->held;
        c->held = empty;
        p->acking = true;
        c->phase_us = l->now_us;
    }
    l->w->proto->lease(c, l->w->pipeline, BLOCK_MS);
}

static void acked(struct loop *l, struct peer *p)
{
    record(l, LAT_ACK, l->now_us, p->conn.phase_us);
    for (uint32_t i = 0; i < p->acked.n; i++) {
        if (!is_ours(l, &p->acked.list[i]))
            continue;
        if (l->w->mix == MIX_PICKUP)
            record(l, LAT_LIFE, l->now_us, p->acked.list[i].stamp);
        l->r->done++;
    }
    p->acking = false;
}

static enum err take(struct loop *l, struct peer *p, struct errbuf *e)
{
    struct conn *c = &p->conn;
    enum err rc = conn_read(c, e);
    l->now_us = clock_mono_us();
    while (rc == ERR_OK) {
        bool complete = false;
        uint64_t errors = c->errors;
        rc = conn_reply(c, &complete, e);
        if (rc != ERR_OK || !complete)
            break;
        if (p->worker && p->acking) {
            acked(l, p);
        } else if (p->worker) {
            /* A lease that is refused would be asked for without end. */
            if (c->errors > errors)
                return err_set(e, ERR_STATE, "%s", c->first_error);
            leased(l, p);
        } else if (p->sent.len > 0) {
            record(l, LAT_ADD, l->now_us, fifo_pop(&p->sent));
            l->failed += c->errors > errors;
        }
    }
    return rc == ERR_OK ? push(l, p, e) : rc;
}

static enum err wait(struct loop *l, struct errbuf *e)
{
    struct epoll_event ev[EVENTS];
    uint64_t sleep_us = 100000;
    if (l->w->mix != MIX_SCHEDULES && l->sent < l->w->jobs) {
        uint64_t due = due_us(l, l->sent), now = clock_mono_us();
        sleep_us = due > now ? due - now : 0;
        if (sleep_us > 100000)
            sleep_us = 100000;
    }
    struct timespec ts = {0, (long)sleep_us * 1000};
    int n = epoll_pwait2(l->epfd, ev, EVENTS, &ts, NULL);
    if (n < 0 && errno != EINTR)
        return err_sys(e, ERR_IO, errno, "epoll_pwait2");
    enum err rc = ERR_OK;
    for (int i = 0; i < n && rc == ERR_OK; i++)
        rc = take(l, ev[i].data.ptr, e);
    return rc;
}

static bool finished(const struct loop *l)
{
    return l->r->done + l->failed >= l->wanted;
}

static uint64_t late_at(const struct loop *l, uint64_t n)
{
    return l->w->mix == MIX_DELAYED ? l->due.at[l->due.head + n]
                                    : fire_us(l, l->first + n);
}

/* Up to how many of `due` jobs a latency is missing: the newest ones, since
 * the others were to be served before them, and not less than until now. */
static void record_missing(struct loop *l, enum latency what, uint64_t refused,
                           uint64_t due)
{
    uint64_t n = histogram_count(l->r->latency[what]) + refused;
    uint64_t wall_us = clock_wall_us();
    for (; n < due; n++)
        if (what == LAT_LATE)
            record(l, what, wall_us, late_at(l, n));
        else
            record(l, what, l->now_us, due_us(l, n));
}

static int earlier(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* How many jobs are late if they are not here: a delayed one is not before its
 * time. */
static uint64_t count_due(struct loop *l, uint64_t to_be_sent)
{
    uint64_t n = 0, wall_us = clock_wall_us();
    if (l->w->mix == MIX_PICKUP)
        return to_be_sent;
    if (l->w->mix == MIX_DELAYED) {
        while (l->due.len < to_be_sent)
            (void)delayed_ms(l, due_us(l, l->due.len));
        qsort(l->due.at + l->due.head, l->due.len, sizeof(*l->due.at), earlier);
    }
    uint64_t most = l->w->mix == MIX_DELAYED ? l->due.len : l->wanted;
    while (n < most && late_at(l, n) <= wall_us)
        n++;
    return n;
}

/* The run ends before all jobs were done. To leave out those that a stalled
 * server owes would make its figures better the longer it stalls. */
static void count_overdue(struct loop *l)
{
    uint64_t sent = (l->now_us - l->start_us) * l->w->rate / 1000000 + 1;
    if (sent > l->w->jobs)
        sent = l->w->jobs;
    uint64_t due = count_due(l, sent);
    if (l->w->mix != MIX_SCHEDULES)
        record_missing(l, LAT_ADD, 0, sent);
    if (l->w->mix == MIX_PICKUP) {
        record_missing(l, LAT_PICKUP, l->failed, due);
        record_missing(l, LAT_LIFE, l->failed, due);
    } else {
        record_missing(l, LAT_LATE, l->failed, due);
    }
    if (due > l->r->done + l->failed)
        l->r->overdue = due - l->r->done - l->failed;
}

/* Which jobs are to be done, and until when (monotonic). */
static uint64_t set_out(struct loop *l)
{
    const struct workload *w = l->w;
    uint64_t wall_us = clock_wall_us(),
             end = l->start_us + w->seconds * 1000000;
    l->wanted = w->jobs;
    l->last_stamp = UINT64_MAX;
    if (w->mix == MIX_PICKUP)
        l->first_stamp = l->start_us;
    if (w->mix == MIX_DELAYED)
        l->first_stamp = wall_us / 1000 * 1000;
    if (w->mix != MIX_SCHEDULES)
        return end;
    while (fire_us(l, l->first) <= wall_us)
        l->first++;
    l->wanted = 0;
    while (fire_us(l, l->first + l->wanted) <= wall_us + w->seconds * 1000000)
        l->wanted++;
    l->first_stamp = fire_us(l, l->first);
    l->last_stamp = wall_us + w->seconds * 1000000;
    return end + GRACE_US;
}

static enum err loop(struct loop *l, struct errbuf *e)
{
    enum err rc = ERR_OK;
    for (uint32_t i = 0; i < l->opened && rc == ERR_OK; i++)
        if (l->peers[i].worker) {
            l->w->proto->lease(&l->peers[i].conn, l->w->pipeline, BLOCK_MS);
            rc = push(l, &l->peers[i], e);
        }
    l->start_us = l->now_us = clock_mono_us();
    uint64_t end = set_out(l);
    while (rc == ERR_OK && !finished(l)) {
        rc = send_due(l, e);
        if (rc == ERR_OK)
            rc = wait(l, e);
        l->now_us = clock_mono_us();
        result_progress(l->r, l->w, l->start_us, l->now_us);
        if (l->now_us >= end || load_interrupted) {
            l->r->timed_out = true;
            count_overdue(l);
            break;
        }
    }
    l->r->run_us = clock_mono_us() - l->start_us;
    return rc;
}

/* SCHEDULE.SET or .DEL for all of them, SET_CHUNK in flight. They start a
 * round ago, so that none has its first time yet to come. */
static enum err schedules(struct loop *l, bool set, struct errbuf *e)
{
    const struct workload *w = l->w;
    struct conn *c = &l->peers[0].conn;
    struct buf line = {0};
    enum err rc = ERR_OK;
    uint64_t start = clock_mono_us();
    if (set)
        l->base_ms = clock_wall_us() / 1000 - w->every_ms;
    for (uint64_t i = 0; i < w->jobs && rc == ERR_OK; i++) {
        buf_clear(&line);
        if (set)
            buf_printf(&line,
                       "SCHEDULE.SET bench-%llu EVERY %llu START %llu QUEUE %s "
                       "PAYLOAD x",
                       (unsigned long long)i, (unsigned long long)w->every_ms,
                       (unsigned long long)(fire_us(l, i) / 1000), w->queue);
        else
            buf_printf(&line, "SCHEDULE.DEL bench-%llu", (unsigned long long)i);
        /* The last of a chunk is waited for, and its reply is behind those of
         * the others, which conn_ask() would take for its own. */
        if (i % SET_CHUNK != SET_CHUNK - 1 && i + 1 < w->jobs) {
            proto_line(&c->out, buf_cstr(&line));
            c->expect++;
            continue;
        }
        proto_line(&c->out, buf_cstr(&line));
        rc = conn_await(c, c->expect + 1, e);
        c->expect = 0;
    }
    if (rc == ERR_OK && set && !w->json)
        printf("%llu schedules set: %.0f/s\n", (unsigned long long)w->jobs,
               (double)w->jobs * 1e6 / (double)(clock_mono_us() - start));
    buf_release(&line);
    return rc;
}

static enum err open_peers(struct loop *l, struct errbuf *e)
{
    uint32_t n = l->w->connections + l->w->workers;
    l->peers = mem_zalloc(n * sizeof(*l->peers));
    l->producers = l->w->connections;
    while (l->opened < n) {
        struct peer *p = &l->peers[l->opened];
        enum err rc = conn_open(&p->conn, l->w, l->opened, e);
        if (rc != ERR_OK)
            return rc;
        p->worker = l->opened++ >= l->producers;
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = p};
        if (epoll_ctl(l->epfd, EPOLL_CTL_ADD, p->conn.fd, &ev) != 0)
            return err_sys(e, ERR_IO, errno, "epoll_ctl");
    }
    return ERR_OK;
}

enum err open_run(const struct workload *w, struct result *r, struct errbuf *e)
{
    struct loop l = {.w = w, .r = r};
    rng_seed(&l.rng, w->seed);
    payload_init(&l.payload, w->payload, w->seed);
    l.epfd = epoll_create1(EPOLL_CLOEXEC);
    enum err rc = l.epfd < 0 ? err_sys(e, ERR_IO, errno, "epoll_create1")
                             : open_peers(&l, e);
    if (rc == ERR_OK && w->mix == MIX_SCHEDULES)
        rc = schedules(&l, true, e);
    if (rc == ERR_OK)
        rc = loop(&l, e);
    if (rc == ERR_OK && w->mix == MIX_SCHEDULES)
        rc = schedules(&l, false, e);
    for (uint32_t i = 0; i < l.opened; i++) {
        struct peer *p = &l.peers[i];
        if (p->conn.errors > 0 && r->errors == 0)
            memcpy(r->first_error, p->conn.first_error, sizeof(r->first_error));
        r->errors += p->conn.errors;
        conn_close(&p->conn);
        mem_free(p->sent.at);
        mem_free(p->acked.list);
        buf_release(&p->acked.bytes);
    }
    mem_free(l.peers);
    mem_free(l.due.at);
    payload_release(&l.payload);
    if (l.epfd >= 0)
        close(l.epfd);
    return rc;
}
