#include "server/gate.h"

#include "net/conn.h"
#include "server/backend.h"
#include "server/client.h"
#include "server/server.h"
#include "util/alloc.h"
#include "util/logger.h"

enum {
    OUT_FIRST = 1024,           /* bytes of a fresh reply buffer */
    OUT_SPARE_MAX = 128 * 1024, /* larger ones are not kept */
    OUT_COMPACT_MIN = 64 * 1024 /* sent bytes worth moving the rest for */
};

uint64_t client_pos(const struct client *c)
{
    return c->out_base + c->out.len;
}

uint64_t client_sent(const struct client *c)
{
    return c->out_base + c->out_used;
}

size_t client_out_bytes(const struct client *c)
{
    return c->out.len - c->out_used;
}

bool gate_is_piled(const struct client *c)
{
    return c->conn != NULL &&
           client_out_bytes(c) > c->server->cf->client_reply_backlog;
}

void gate_begin(struct client *c)
{
    struct server *s = c->server;
    if (c->out.data != NULL)
        return;
    if (s->spare_out_count > 0)
        c->out = s->spare_out[--s->spare_out_count];
    else
        (void)buf_room(&c->out, OUT_FIRST);
    c->out.soft = true;
}

/* Memory was refused for a reply, so bytes of the stream are missing. Leases
 * in it are taken back, like those of a peer that left. */
static void give_up(struct client *c)
{
    c->out.failed = false;
    c->out.len = c->out_used = 0;
    c->server->stats.no_memory_closed++;
    say(LL_WARNING, "client id=%llu addr=%s closed: no memory for its replies",
        (unsigned long long)c->id, client_addr(c));
    if (!list_linked(&c->closing))
        client_kill(c);
}

/* Everything was sent: the buffer goes back. */
static void give_back(struct client *c)
{
    struct server *s = c->server;
    c->out_base += c->out.len;
    c->out_used = 0;
    buf_clear(&c->out);
    if (c->out.cap <= OUT_SPARE_MAX && s->spare_out_count < SPARE_OUT_MAX) {
        s->spare_out[s->spare_out_count++] = c->out;
        buf_init(&c->out);
    } else {
        buf_release(&c->out);
    }
}

void gate_add(struct client *c, uint64_t from, bool gated)
{
#ifdef BELFRY_SABOTAGE_REPLY_EARLY
    gated = false; /* a cheat that the rigs must catch */
#endif
    if (c->out.failed) {
        give_up(c);
        return;
    }
    if (client_pos(c) == from) {
        if (c->out.len == 0)
            give_back(c); /* a muted reply */
        return;
    }
    if (gated && from < c->gated_from)
        c->gated_from = from;
    client_touch(c);
}

void client_touch(struct client *c)
{
    if (!list_linked(&c->dirty) && !list_linked(&c->closing))
        list_append(&c->server->dirty, &c->dirty);
}

static void add_mark(struct client *c, uint64_t start, uint64_t index)
{
    if (c->mark_count > 0 && c->marks[c->mark_count - 1].index == index)
        return; /* the earlier mark holds these bytes back as well */
    if (c->mark_count == c->mark_cap) {
        c->mark_cap = c->mark_cap == 0 ? 2 : c->mark_cap * 2;
        c->marks = (struct mark *)mem_realloc(c->marks,
                                              c->mark_cap * sizeof(*c->marks));
    }
    ASSERT(c->mark_count == 0 || c->marks[c->mark_count - 1].start <= start);
    c->marks[c->mark_count++] = (struct mark){start, index};
    if (!list_linked(&c->gated)) {
        list_append(&c->server->gated, &c->gated);
        c->server->stats.gate_waits++;
    }
}

static void drop_marks(struct client *c, uint64_t acked)
{
    uint32_t n = 0;
    while (n < c->mark_count && c->marks[n].index <= acked)
        n++;
    if (n == 0)
        return;
    c->mark_count -= n;
    if (c->mark_count > 0) {
        memmove(c->marks, c->marks + n, c->mark_count * sizeof(*c->marks));
    } else {
        list_remove(&c->gated);
        FREE(&c->marks);
        c->mark_cap = 0;
    }
}

/* Leases whose replies have left are the worker's. */
static void drop_undos(struct client *c)
{
    LIST_FOR (it, &c->undos) {
        struct undo *u = CONTAINER_OF(it, struct undo, link);
        if (u->end > client_sent(c))
            break;
        list_remove(it);
        mem_free(u);
    }
}

static void check_limits(struct client *c)
{
    struct server *s = c->server;
    uint64_t bytes = client_out_bytes(c);
    enum client_class class = client_class(c);
    uint64_t hard = s->cf->client_output_buffer_limit.of[class].hard_bytes;
    uint64_t soft = s->cf->client_output_buffer_limit.of[class].soft_bytes;
    if (soft == 0 || bytes <= soft)
        c->soft_since_ms = 0;
    else if (c->soft_since_ms == 0)
        c->soft_since_ms = s->now.mono_ms;
    if (hard != 0 && bytes > hard) {
        say(LL_WARNING,
            "client id=%llu addr=%s closed: %llu bytes of replies unread, "
            "client-output-buffer-limit allows %llu",
            (unsigned long long)c->id, client_addr(c),
            (unsigned long long)bytes, (unsigned long long)hard);
        s->stats.output_limit_closed++;
        client_kill(c);
    }
}

void gate_check_soft(struct client *c)
{
    struct server *s = c->server;
    enum client_class class = client_class(c);
    uint64_t ms = s->cf->client_output_buffer_limit.of[class].soft_s * 1000;
    if (c->soft_since_ms == 0 || s->now.mono_ms - c->soft_since_ms < ms)
        return;
    say(LL_WARNING,
        "client id=%llu addr=%s closed: over the soft "
        "client-output-buffer-limit for too long",
        (unsigned long long)c->id, client_addr(c));
    s->stats.output_limit_closed++;
    client_kill(c);
}

/* One system call, with all that may leave. False: the client is gone. */
static bool send_some(struct client *c)
{
    struct server *s = c->server;
    /* What was gated in the tick that is still open has no mark yet. */
    uint64_t end = c->mark_count > 0             ? c->marks[0].start
                   : c->gated_from != UINT64_MAX ? c->gated_from
                                                 : client_pos(c);
    size_t len = (size_t)(end - client_sent(c)), put = 0;
    enum io io = IO_OK;
    ASSERT(end >= client_sent(c));
    if (len > 0) {
        io = conn_write(c->conn, c->out.data + c->out_used, len, &put);
        c->out_used += put;
        c->out_bytes += put;
        s->stats.out_bytes += put;
    }
    if (io == IO_ERROR) {
        client_kill(c);
        return false;
    }
    conn_want_write(c->conn, put < len);
    return true;
}

void gate_flush(struct client *c)
{
    if (list_linked(&c->closing) || c->conn == NULL)
        return;
    if (c->out.failed) {
        give_up(c);
        return;
    }
    if (!send_some(c))
        return;
    if (!list_empty(&c->undos))
        drop_undos(c);
    if (c->out_used == c->out.len) {
        if (c->out.data != NULL)
            give_back(c);
        c->soft_since_ms = 0;
        if (c->flags & CLIENT_CLOSE_AFTER)
            client_kill(c);
    } else {
        if (c->out_used >= OUT_COMPACT_MIN && c->out_used > c->out.len / 2) {
            c->out_base += c->out_used;
            buf_consume(&c->out, c->out_used);
            c->out_used = 0;
        }
        check_limits(c);
    }
    if (c->flags & CLIENT_HELD)
        client_resume(c);
}

void gate_end_tick(struct server *s, uint64_t index)
{
    uint64_t acked = backend_acked(s);
    struct list *n;
    while ((n = list_pop(&s->dirty)) != NULL) {
        struct client *c = CONTAINER_OF(n, struct client, dirty);
        CHECK_OBJ(c, CLIENT);
        if (c->mark_count > 0)
            drop_marks(c, acked);
        if (c->gated_from != UINT64_MAX) {
            if (index > acked)
                add_mark(c, c->gated_from, index);
            c->gated_from = UINT64_MAX;
        }
        gate_flush(c);
    }
}

void gate_open(struct server *s)
{
    uint64_t acked = backend_acked(s);
    LIST_FOR (it, &s->gated) {
        struct client *c = CONTAINER_OF(it, struct client, gated);
        CHECK_OBJ(c, CLIENT);
        if (c->marks[0].index > acked)
            continue;
        drop_marks(c, acked);
        gate_flush(c);
    }
}

bool gate_all_sent(const struct server *s)
{
    if (!list_empty(&s->gated) || !list_empty(&s->dirty))
        return false;
    LIST_FOR (it, &s->clients) {
        const struct client *c = CONTAINER_OF(it, struct client, all);
        if (c->conn != NULL && client_out_bytes(c) > 0)
            return false;
    }
    return true;
}

void gate_forget(struct client *c)
{
    struct list *n;
    list_remove(&c->dirty);
    list_remove(&c->gated);
    FREE(&c->marks);
    c->mark_count = c->mark_cap = 0;
    while ((n = list_pop(&c->undos)) != NULL) {
        struct undo *u = CONTAINER_OF(n, struct undo, link);
        backend_undo(c->server, slice_of(u->data, u->len));
        c->server->tick_dirty = true;
        c->server->stats.undone_leases++;
        mem_free(u);
    }
    buf_release(&c->out);
}
