/* One turn of the loop:
 *  1. wait; callbacks read sockets and run commands (input.c, dispatch.c);
 *     what was held is handed to the log, if they found nothing;
 *  2. the store's news: rows that were fetched, how far it is durable;
 *  3. deadlines of callers; callers to be started over; input that waited;
 *  4. the engine: due jobs, expired leases;
 *  5. end the tick: one commit, stamp, send.
 *
 * After a stall (a stopped process, a slow disk on the loop, a suspended
 * machine) leases seem to have expired whose acknowledgements wait in the
 * sockets. They are not reaped until a turn found nothing to read, or
 * STALL_MAX_MS have passed. Nor are they while a list that was cut goes on,
 * whose last tokens may be theirs, or not for longer than that.
 */
#include "server/tick.h"

#include "net/conn.h"
#include "net/loop.h"
#include "server/backend.h"
#include "server/client.h"
#include "server/daemon.h"
#include "server/gate.h"
#include "server/park.h"
#include "server/server.h"
#include "server/signals.h"
#include "util/logger.h"

enum {
    CRON_MS = 100,
    STALL_MS = 200,
    STALL_MAX_MS = 2000,
    LINGER_MS = 60000,
    SENT_LATELY_MS = 1000, /* before a stop, ... */
    LINGER_QUIET_MS = 200, /* ... which waits while they go on sending, */
    LINGER_MAX_MS = 2000,  /* but not for ever */
    ARGS_KEPT = 4096
};

static void set_now(struct server *s, uint64_t us)
{
    s->now_us = us;
    s->now.mono_ms = us / 1000;
    s->now.wall_ms = (us + s->wall_minus_mono_us) / 1000;
}

void server_clock(struct server *s)
{
    uint64_t us = stopwatch_us(&s->watch);
    if (us > s->now_us)
        set_now(s, us);
}

void server_refresh(struct server *s)
{
    if (s->fresh)
        return;
    s->fresh = true;
    uint64_t us = clock_mono_us();
    stopwatch_set(&s->watch, us);
    /* To the microsecond: a difference of milliseconds is off by one at times,
     * and time would step back between two turns. */
    s->wall_minus_mono_us =
        clock_wall_us() + (uint64_t)s->wall_shift_ms * 1000 - us;
    /* The stopwatch may have been a little ahead: time does not go back. */
    set_now(s, us > s->now_us ? us : s->now_us);
    s->turn_began_us = s->now_us;
    s->turn_began_cpu_us = clock_thread_us();
    s->turn_synced_us = 0;
}

/* With few writers the sync is quicker here than by way of the log's thread and
 * back. It is the disk's time, not the turn's. */
static void sync_if_idle(struct server *s)
{
    uint64_t before = stopwatch_us(&s->watch);
    backend_sync_if_idle(s);
    s->turn_synced_us += stopwatch_us(&s->watch) - before;
}

/* How long the loop worked since it woke, commands that were run while sockets
 * were read included. What it had of a processor meanwhile tells a long turn
 * from one in which others ran. */
static void time_turn(struct server *s)
{
    server_clock(s);
    uint64_t us = s->now_us - s->turn_began_us;
    us -= us < s->turn_synced_us ? us : s->turn_synced_us;
    if (us > s->stats.tick_us_max)
        s->stats.tick_us_max = us;
    if (us > s->stats.tick_us_recent)
        s->stats.tick_us_recent = us;
    if (us <= s->stats.tick_cpu_us_max)
        return; /* it cannot be more of a processor */
    uint64_t cpu_us = clock_thread_us() - s->turn_began_cpu_us;
    cpu_us = cpu_us < us ? cpu_us : us; /* that of its own syncs is theirs */
    if (cpu_us > s->stats.tick_cpu_us_max)
        s->stats.tick_cpu_us_max = cpu_us;
}

/* The log's thread begins when a look at the sockets has found nothing: then
 * those who sent while the disk worked share a sync, and nobody is interrupted
 * by the thread that writes for them. But it does not wait for a loop that is
 * busy for long. (docs/log.md) */
void server_hand_over(struct server *s)
{
    if (!backend_holds(s))
        return;
    server_clock(s);
    if (s->reads == 0 || s->now_us - s->entry_held_us >= s->hold_us)
        backend_submit(s);
}

void server_end_tick(struct server *s)
{
    uint64_t index = backend_last(s);
    if (s->tick_dirty) {
        if (!backend_holds(s))
            s->entry_held_us = s->turn_began_us;
        uint64_t before = stopwatch_us(&s->watch);
        backend_set_callers(s, s->reads);
        index = backend_commit(s);
        if (backend_acked(s) >= index) /* most of that was the sync */
            s->turn_synced_us += stopwatch_us(&s->watch) - before;
        s->tick_dirty = false;
        s->stats.ticks++;
        sync_if_idle(s);
        server_hand_over(s);
    }
    s->tick_commands = 0;
    gate_end_tick(s, index);
    uint64_t acked = backend_acked(s);
    if (acked != s->acked) {
        s->acked = acked;
        if (!list_empty(&s->gated))
            gate_open(s);
    }
    s->input_held = backend_is_behind(s);
}

static uint64_t wait_until(struct server *s)
{
    uint64_t until = s->next_cron_ms;
    struct heap_node *n = heap_top(&s->deadlines);
    if (s->state == SERVER_LOADING || s->more_due || s->tick_dirty ||
        backend_holds(s) || !list_empty(&s->resume) ||
        !list_empty(&s->sliced) || !list_empty(&s->run) ||
        (!list_empty(&s->more) && !s->input_held) || !list_empty(&s->dirty) ||
        !list_empty(&s->closing))
        return 0;
    if (n != NULL) {
        uint64_t ms =
            CONTAINER_OF(n, struct parked, deadline)->deadline_mono_ms;
        until = ms < until ? ms : until;
    }
    uint64_t backend = backend_next_ms(s);
    return backend < until ? backend : until;
}

static void cron(struct server *s)
{
    s->cron_count++;
    s->next_cron_ms = s->now.mono_ms + CRON_MS;
    daemon_watchdog(s->now.mono_ms);
    if (s->hooks.cron != NULL)
        s->hooks.cron(s);
    if (s->cron_count % 10 != 0)
        return;
    /* One command of a million words need not be remembered for ever. */
    if (s->args.cap > ARGS_KEPT)
        resp_args_release(&s->args);
    uint64_t timeout_ms = s->cf->timeout_s * 1000;
    LIST_FOR (it, &s->clients) {
        struct client *c = CONTAINER_OF(it, struct client, all);
        gate_check_soft(c);
        if ((c->flags & CLIENT_CLOSE_AFTER) && c->conn != NULL &&
            s->now.mono_ms - c->active_mono_ms > LINGER_MS)
            client_kill(c); /* its last reply is never read */
        if (timeout_ms == 0 || c->conn == NULL || c->parked != NULL ||
            client_class(c) == CLASS_PUBSUB ||
            s->now.mono_ms - c->active_mono_ms <= timeout_ms)
            continue;
        say(LL_VERBOSE, "Closing idle client");
        s->stats.timed_out_closed++;
        client_kill(c);
    }
}

/* Is it sure that nobody's acknowledgement waits in a socket? */
static bool may_reap(struct server *s, uint64_t absent_ms)
{
    uint64_t now = s->now.mono_ms;
    if (absent_ms > STALL_MS)
        s->stalled_until_ms = now + STALL_MAX_MS;
    if (s->stalled_until_ms == 0)
        return true;
    if ((s->reads == 0 && list_empty(&s->sliced)) ||
        now >= s->stalled_until_ms) {
        s->stalled_until_ms = 0;
        return true;
    }
    s->stats.reaps_delayed++;
    return false;
}

/* A list was accepted as a whole: it must not lose leases between its parts. If
 * there is always another one, leases expire all the same. */
static bool lists_hold_leases(struct server *s)
{
    uint64_t now = s->now.mono_ms;
    if (s->lists == 0) {
        s->lists_until_ms = 0;
        return false;
    }
    if (s->lists_until_ms == 0)
        s->lists_until_ms = now + STALL_MAX_MS;
    if (now >= s->lists_until_ms)
        return false;
    s->stats.reaps_delayed++;
    return true;
}

static void run_engine(struct server *s, bool reap)
{
    if (s->state == SERVER_LOADING)
        return;
    if (s->more_due || s->tick_dirty || backend_next_ms(s) <= s->now.mono_ms) {
        s->more_due = backend_tick(s, reap);
        s->tick_dirty = true;
    }
}

static void load(struct server *s)
{
    bool done = false;
    struct errbuf e;
    enum err rc = backend_load_step(s, &done, &e);
    if (rc != ERR_OK) {
        say(LL_WARNING, "cannot load: %s", e.text);
        s->exit_code = 1;
        s->state = SERVER_STOPPING;
    } else if (done) {
        server_ready(s);
    }
}

/* What a drain waits for: every reply of work that was accepted has left.
 * Callers that wait for rows, or have a part of a list to come, are among it;
 * those that wait for others were told to go. */
static bool any_parked(const struct server *s)
{
    LIST_FOR (it, &s->clients)
        if (CONTAINER_OF(it, struct client, all)->parked != NULL)
            return true;
    return false;
}

/* A connection with bytes that were not read is reset when it is closed, and
 * the peer may lose the replies that it has not read either. Those who sent a
 * moment ago may be sending now. */
static bool may_be_sending(const struct server *s, const struct client *c)
{
    return c->conn != NULL && !(c->flags & CLIENT_EOF) &&
           ((c->flags & CLIENT_HELD) || client_in_bytes(c) > 0 ||
            s->now.mono_ms - c->active_mono_ms < SENT_LATELY_MS);
}

static void linger_begin(struct server *s)
{
    s->linger_until_ms = s->now.mono_ms + LINGER_MAX_MS;
    LIST_FOR (it, &s->clients) {
        struct client *c = CONTAINER_OF(it, struct client, all);
        if (!may_be_sending(s, c))
            continue;
        c->flags |= CLIENT_LINGERS;
        c->active_mono_ms = s->now.mono_ms;
        conn_end_writing(c->conn);
        conn_want_hangup(c->conn, false);
        conn_want_read(c->conn, true);
    }
}

static bool any_lingers(const struct server *s)
{
    LIST_FOR (it, &s->clients) {
        const struct client *c = CONTAINER_OF(it, struct client, all);
        if ((c->flags & CLIENT_LINGERS) &&
            s->now.mono_ms - c->active_mono_ms < LINGER_QUIET_MS)
            return true;
    }
    return false;
}

static void drain(struct server *s)
{
    if (s->linger_until_ms > 0) {
        if (!any_lingers(s) || s->shutdown_now ||
            s->now.mono_ms >= s->linger_until_ms)
            s->state = SERVER_STOPPING;
        return;
    }
    bool all = backend_acked(s) >= backend_last(s) && gate_all_sent(s) &&
               !any_parked(s);
    if (!all && !s->shutdown_now && s->now.mono_ms < s->drain_until_ms)
        return;
    if (!all)
        say(LL_WARNING, "stopping although replies are still unread");
    if (all && !s->shutdown_now)
        linger_begin(s);
    if (!any_lingers(s))
        s->state = SERVER_STOPPING;
}

void server_turn(struct server *s)
{
    uint64_t until = wait_until(s), before = s->now.mono_ms;
    s->fresh = false;
    s->reads = 0;
    loop_wait(s->loop, before, until);
    server_refresh(s);
    server_hand_over(s);
    /* How long nobody looked at the sockets, but for the wait itself. */
    uint64_t gap = s->now.mono_ms - s->polled_ms;
    uint64_t waited = until > before ? until - before : 0;
    bool reap = may_reap(s, gap > waited ? gap - waited : 0);
    s->polled_ms = s->now.mono_ms;

    signals_take(s);
    if (s->state == SERVER_LOADING)
        load(s);
    backend_poll(s);
    park_deadlines(s);
    park_run(s);
    clients_continue(s);
    run_engine(s, reap && !lists_hold_leases(s));
    park_run(s);
    park_more(s);
    server_free_closing(s);
    if (s->hooks.tick != NULL)
        s->hooks.tick(s);
    server_end_tick(s);
    clients_continue(s);
    clients_slice(s);
    if (s->now.mono_ms >= s->next_cron_ms)
        cron(s);
    if (s->state == SERVER_DRAINING)
        drain(s);
    time_turn(s);
}
