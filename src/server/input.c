#include "server/input.h"

#include "net/conn.h"
#include "server/backend.h"
#include "server/client.h"
#include "server/dispatch.h"
#include "server/gate.h"
#include "server/park.h"
#include "server/server.h"
#include "util/alloc.h"
#include "util/logger.h"

enum {
    READ_MIN = 16 * 1024,    /* room for a read into a client's own buffer */
    READ_MAX = 1024 * 1024,  /* the same inside a long argument */
    WAITING_MAX = 64 * 1024, /* input kept behind a command that waits */
};

static void hold(struct client *c)
{
    if (c->conn != NULL)
        c->flags |= CLIENT_HELD;
}

/* Something came from a client that is held. Only now reading stops: most wait
 * for replies and send nothing meanwhile, which saves two system calls each. */
static void stop_reading(struct client *c)
{
    conn_want_read(c->conn, false);
    /* A parked caller must not wait for a peer that left. */
    if (c->parked != NULL)
        conn_want_hangup(c->conn, true);
}

/* CLIENT PAUSE holds everything, or what writes; those who may unpause are
 * never held. */
static bool is_paused(const struct server *s)
{
    return s->paused_until_ms > s->now.mono_ms;
}

/* A server that stops answers what it has begun and begins nothing more, or
 * those who go on sending would keep it up, and lose replies at last. */
static bool is_draining(const struct server *s)
{
    return s->state >= SERVER_DRAINING;
}

/* Free commands run even while the disk is behind: health checks need them. */
static bool must_wait(struct client *c)
{
    struct server *s = c->server;
    if (!s->input_held && s->paused_until_ms == 0 && !is_draining(s))
        return false;
    unsigned flags = dispatch_flags(s, s->args.argv, s->args.argc);
    if (is_draining(s) || (is_paused(s) && !s->paused_writes_only))
        return !(flags & CMD_ADMIN);
    if (s->input_held && !(flags & CMD_FREE))
        return true;
    return is_paused(s) && (flags & CMD_WRITE);
}

static void protocol_error(struct client *c, const char *text)
{
    say(LL_VERBOSE, "client id=%llu addr=%s: %s", (unsigned long long)c->id,
        client_addr(c), text);
    dispatch_refuse(c, ERR_SYNTAX, text);
    client_close_after_reply(c);
}

/* A pipeline of thousands must not make everybody wait for its end: those who
 * came meanwhile are read and answered before it goes on. */
static bool slice_is_over(struct client *c, uint64_t begin_us)
{
    struct server *s = c->server;
    if (s->now_us - begin_us < s->slice_us || c->conn == NULL ||
        list_linked(&c->closing))
        return false;
    if (!list_linked(&c->resume))
        list_append(&s->sliced, &c->resume);
    return true;
}

/* Run the commands that `in` begins with; returns the bytes that are done. */
static size_t run_commands(struct client *c, struct slice in)
{
    struct server *s = c->server;
    uint64_t begin_us = s->now_us;
    size_t done = 0;
    while (done < in.len) {
        size_t used;
        struct errbuf e;
        if (c->parked != NULL || (c->flags & CLIENT_CLOSE_AFTER) ||
            list_linked(&c->closing) || gate_is_piled(c))
            break;
        struct resp_limits limits = {s->cf->proto_max_bulk_len,
                                     client_needs_auth(c)};
        enum resp_status status = resp_parse(
            &c->parser, &limits, slice_of(in.data + done, in.len - done),
            &s->args, &used, &e);
        if (status == RESP_MORE)
            break;
        if (status == RESP_ERROR) {
            protocol_error(c, e.text);
            return in.len;
        }
        if (status == RESP_COMMAND) {
            if (must_wait(c)) {
                list_remove(&c->held);
                list_append(&s->held, &c->held);
                hold(c);
                break;
            }
            dispatch(c, s->args.argv, s->args.argc);
        }
        done += used;
        if (done < in.len && slice_is_over(c, begin_us))
            break;
    }
    return done;
}

/* Drop what has run at the front of `in`. */
static void compact(struct client *c)
{
    if (c->in_used == c->in.len)
        buf_release(&c->in);
    else if (c->in_used >= c->in.len / 2) /* or each slice would move it all */
        buf_consume(&c->in, c->in_used);
    else
        return;
    c->in_used = 0;
}

static void run_own(struct client *c)
{
    c->in_used += run_commands(
        c, slice_of(c->in.data + c->in_used, c->in.len - c->in_used));
    compact(c);
}

/* After commands ran: may we go on reading? */
static void check_input(struct client *c)
{
    struct server *s = c->server;
    if (list_linked(&c->closing))
        return;
    size_t have = client_in_bytes(c);
    uint64_t bytes = have + resp_parser_memory(&c->parser) +
                     resp_parser_wants(&c->parser, have);
    if (bytes > s->cf->client_query_buffer_limit) {
        say(LL_WARNING,
            "client id=%llu addr=%s closed: its command needs %llu bytes, "
            "client-query-buffer-limit allows %llu",
            (unsigned long long)c->id, client_addr(c),
            (unsigned long long)bytes,
            (unsigned long long)s->cf->client_query_buffer_limit);
        s->stats.query_limit_closed++;
        client_kill(c);
        return;
    }
    if (gate_is_piled(c) || (c->flags & CLIENT_CLOSE_AFTER) ||
        (c->parked != NULL && have > WAITING_MAX))
        hold(c);
}

/* Memory may be refused for input, whose length clients choose. */
static bool make_room(struct client *c, size_t bytes)
{
    if (buf_reserve(&c->in, bytes))
        return true;
    say(LL_WARNING,
        "client id=%llu addr=%s closed: no memory for %zu more bytes of its "
        "command",
        (unsigned long long)c->id, client_addr(c), bytes);
    c->server->stats.no_memory_closed++;
    client_kill(c);
    return false;
}

static void took(struct client *c, size_t n)
{
    struct server *s = c->server;
    s->stats.in_bytes += n;
    s->reads++;
    c->in_bytes += n;
    c->active_mono_ms = s->now.mono_ms;
    /* What the system call took is not the first command's. */
    server_clock(s);
}

void client_feed(struct client *c, struct slice bytes)
{
    took(c, bytes.len);
    if (c->in.len > 0 || c->parked != NULL) {
        if (!make_room(c, bytes.len))
            return;
        buf_add_slice(&c->in, bytes);
        run_own(c);
    } else {
        size_t n = run_commands(c, bytes);
        if (list_linked(&c->closing) || !make_room(c, bytes.len - n))
            return;
        buf_add(&c->in, bytes.data + n, bytes.len - n);
    }
    check_input(c);
}

/* What it sends into the stop is thrown away, until it has seen the end. */
static void discard(struct client *c)
{
    struct server *s = c->server;
    size_t n;
    enum io io = conn_read(c->conn, s->read_buf, s->read_cap, &n);
    if (io == IO_OK)
        c->active_mono_ms = s->now.mono_ms;
    else if (io != IO_AGAIN)
        client_kill(c);
}

void input_read(struct client *c)
{
    struct server *s = c->server;
    size_t n = 0;
    enum io io;
    if (c->flags & CLIENT_LINGERS) {
        discard(c);
        return;
    }
    if (c->flags & CLIENT_HELD) {
        stop_reading(c);
        return;
    }
    if (list_linked(&c->resume))
        return; /* what it has sent before is not done */
    if (c->in.len == 0) {
        io = conn_read(c->conn, s->read_buf, s->read_cap, &n);
        if (io == IO_OK) {
            client_feed(c, slice_of(s->read_buf, n));
            return;
        }
    } else {
        size_t want = resp_parser_wants(&c->parser, client_in_bytes(c));
        want = want < READ_MIN ? READ_MIN : want > READ_MAX ? READ_MAX : want;
        if (!make_room(c, want))
            return;
        io = conn_read(c->conn, c->in.data + c->in.len, want, &n);
        if (io == IO_OK) {
            c->in.len += n;
            took(c, n);
            run_own(c);
            check_input(c);
            return;
        }
    }
    if (io == IO_EOF)
        input_end(c);
    else if (io == IO_ERROR)
        client_kill(c);
}

/* Leases for a peer that is gone are taken back, and it does not wait for any.
 * Other replies are still sent: `printf ... | nc` closes its half first. */
static bool is_for_who_stays(const struct client *c)
{
    return !list_empty(&c->undos) ||
           (c->parked != NULL && c->parked->why == PARK_BLOCKED);
}

void input_hang_up(struct client *c)
{
    if (list_linked(&c->closing))
        return;
    if (is_for_who_stays(c)) {
        client_kill(c);
        return;
    }
    c->flags |= CLIENT_HUNG_UP;
    conn_want_hangup(c->conn, false);
}

void input_end(struct client *c)
{
    if (list_linked(&c->closing))
        return;
    c->flags |= CLIENT_EOF | CLIENT_HUNG_UP;
    if (is_for_who_stays(c) || (client_out_bytes(c) == 0 && c->parked == NULL &&
                                client_in_bytes(c) == 0)) {
        client_kill(c);
        return;
    }
    conn_want_read(c->conn, false);
    conn_want_hangup(c->conn, false);
    if (c->parked == NULL && (c->flags & CLIENT_HELD) == 0)
        client_close_after_reply(c);
}

void client_resume(struct client *c)
{
    if (list_linked(&c->closing) || list_linked(&c->resume))
        return;
    list_append(&c->server->resume, &c->resume);
}

static void go_on(struct client *c)
{
    server_clock(c->server); /* what ran before is not of its slice */
    run_own(c);
    check_input(c);
    if (list_linked(&c->closing) || c->conn == NULL)
        return;
    bool waits = gate_is_piled(c) || c->parked != NULL ||
                 list_linked(&c->held) || list_linked(&c->resume) ||
                 (c->flags & CLIENT_CLOSE_AFTER);
    if (c->flags & CLIENT_EOF) {
        if (!waits)
            client_close_after_reply(c);
    } else if (c->flags & CLIENT_HELD && !waits) {
        c->flags &= ~(unsigned)CLIENT_HELD;
        conn_want_hangup(c->conn, false);
        conn_want_read(c->conn, true);
    }
}

/* Half of the backlog must be read before a client goes on, or it would stop
 * and start with each write. */
static bool still_piled(const struct client *c)
{
    return c->conn != NULL &&
           client_out_bytes(c) > c->server->cf->client_reply_backlog / 2;
}

void clients_continue(struct server *s)
{
    struct list *n;
    if (!s->input_held && !is_paused(s) && !is_draining(s)) {
        s->paused_until_ms = 0;
        while ((n = list_pop(&s->held)) != NULL)
            client_resume(CONTAINER_OF(n, struct client, held));
    }
    while ((n = list_pop(&s->resume)) != NULL) {
        struct client *c = CONTAINER_OF(n, struct client, resume);
        CHECK_OBJ(c, CLIENT);
        /* gate_flush() resumes it when more was read. */
        if (!((c->flags & CLIENT_HELD) && still_piled(c)))
            go_on(c);
    }
}

void clients_slice(struct server *s)
{
    struct list *n, now = {0};
    list_take(&now, &s->sliced);
    while ((n = list_pop(&now)) != NULL)
        go_on(CONTAINER_OF(n, struct client, resume));
}
