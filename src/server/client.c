#include "server/client.h"

#include <stdio.h>

#include "net/conn.h"
#include "server/backend.h"
#include "server/gate.h"
#include "server/input.h"
#include "server/park.h"
#include "server/server.h"
#include "util/alloc.h"
#include "util/hash.h"
#include "util/logger.h"

static uint64_t client_hash(uint64_t id)
{
    return hash_number(id);
}

static void on_readable(void *ud)
{
    struct client *c = (struct client *)ud;
    CHECK_OBJ(c, CLIENT);
    server_refresh(c->server);
    if (!list_linked(&c->closing))
        input_read(c);
}

static void on_writable(void *ud)
{
    struct client *c = (struct client *)ud;
    CHECK_OBJ(c, CLIENT);
    server_refresh(c->server);
    gate_flush(c);
}

static void on_hangup(void *ud)
{
    struct client *c = (struct client *)ud;
    CHECK_OBJ(c, CLIENT);
    server_refresh(c->server);
    input_hang_up(c);
}

static const struct conn_ops conn_ops = {on_readable, on_writable, on_hangup};

struct client *client_new(struct server *s)
{
    struct client *c = NEW(struct client);
    INIT_OBJ(c, CLIENT);
    c->server = s;
    c->id = ++s->next_client_id;
    c->flags = CLIENT_INTERNAL;
    c->proto = 2;
    c->gated_from = UINT64_MAX;
    c->created_mono_ms = c->active_mono_ms = s->now.mono_ms;
    list_init(&c->undos);
    list_append(&s->clients, &c->all);
    map_add(&s->by_id, &c->id_node, client_hash(c->id));
    s->client_count++;
    return c;
}

/* Tell and close, without a client: the kernel's buffer takes these few bytes,
 * and if not, nobody waits for it. */
static void turn_away(struct server *s, struct conn *conn, const char *line)
{
    size_t put;
    (void)!conn_write(conn, line, strlen(line), &put);
    conn_free(&conn);
    s->stats.rejected++;
}

void client_accept(int fd, const struct addr *peer, void *ud)
{
    struct server *s = (struct server *)ud;
    CHECK_OBJ(s, SERVER);
    server_refresh(s);
    struct client *c = NULL;
    struct conn *conn;
    if (s->client_count >= s->cf->maxclients || fd >= s->files_max) {
        conn = conn_new(s->loop, fd, peer, &conn_ops, NULL);
        turn_away(s, conn, "-ERR max number of clients reached\r\n");
        return;
    }
    if (s->cf->protected_mode && s->cf->requirepass[0] == '\0' &&
        !addr_is_local(peer)) {
        conn = conn_new(s->loop, fd, peer, &conn_ops, NULL);
        turn_away(s, conn,
                  "-DENIED Belfry is running in protected mode because no "
                  "password is set, and serves clients of its own machine "
                  "only. Set requirepass and connect again, or set "
                  "protected-mode no if the network is trusted.\r\n");
        return;
    }
    c = client_new(s);
    c->flags = peer->kind == ADDR_UNIX ? CLIENT_UNIX : 0;
    /* As Redis: a password that is set later does not lock out those who came
     * before it. */
    if (s->cf->requirepass[0] == '\0')
        c->flags |= CLIENT_AUTHENTICATED;
    c->conn = conn_new(s->loop, fd, peer, &conn_ops, c);
    conn_no_delay(c->conn);
    conn_keepalive(c->conn, (uint32_t)s->cf->tcp_keepalive_s);
    conn_want_read(c->conn, true);
    s->stats.connections++;
}

bool client_id_eq(const struct map_node *n, const void *key)
{
    return CONTAINER_OF(n, struct client, id_node)->id ==
           *(const uint64_t *)key;
}

struct client *client_by_id(struct server *s, uint64_t id)
{
    struct map_node *n = map_get(&s->by_id, client_hash(id), &id);
    return n == NULL ? NULL : CONTAINER_OF(n, struct client, id_node);
}

void client_kill(struct client *c)
{
    CHECK_OBJ(c, CLIENT);
    if (list_linked(&c->closing))
        return;
    list_append(&c->server->closing, &c->closing);
    list_remove(&c->dirty);
    list_remove(&c->resume);
    list_remove(&c->held);
    if (c->parked != NULL && c->parked != c->server->current)
        park_cancel(c);
    if (c->conn != NULL) {
        conn_want_read(c->conn, false);
        conn_want_write(c->conn, false);
        conn_want_hangup(c->conn, false);
    }
}

void client_close_after_reply(struct client *c)
{
    c->flags |= CLIENT_CLOSE_AFTER;
    client_touch(c);
}

static void client_free(struct client *c)
{
    struct server *s = c->server;
    if (s->hooks.forget != NULL)
        s->hooks.forget(c);
    park_cancel(c);
    gate_forget(c);
    backend_client_gone(s, c->id);
    resp_parser_release(&c->parser);
    buf_release(&c->in);
    conn_free(&c->conn);
    list_remove(&c->all);
    list_remove(&c->resume);
    list_remove(&c->held);
    map_remove(&s->by_id, &c->id_node);
    s->client_count--;
    mem_free(c->name);
    mem_free(c->lib_name);
    mem_free(c->lib_ver);
    c->magic = 0;
    mem_free(c);
}

void server_free_closing(struct server *s)
{
    struct list *n;
    while ((n = list_pop(&s->closing)) != NULL) {
        struct client *c = CONTAINER_OF(n, struct client, closing);
        CHECK_OBJ(c, CLIENT);
        client_free(c);
    }
}

struct reply client_push_begin(struct client *c, bool gated)
{
    if (list_linked(&c->closing))
        return (struct reply){&c->out, c->proto, true};
    gate_begin(c);
    if (gated && c->gated_from == UINT64_MAX)
        c->gated_from = client_pos(c);
    return (struct reply){&c->out, c->proto, false};
}

void client_push_end(struct client *c)
{
    client_touch(c);
}

/* --- looking ---------------------------------------------------------------*/

static const char *addr_or_path(const struct client *c, const struct addr *a)
{
    static char text[ADDR_TEXT_SIZE + 256];
    if (c->flags & CLIENT_UNIX)
        (void)snprintf(text, sizeof(text), "%s:0", c->server->cf->unixsocket);
    else
        addr_text(a, text);
    return text;
}

const char *client_addr(const struct client *c)
{
    static const struct addr none;
    return addr_or_path(c, c->conn == NULL ? &none : conn_peer(c->conn));
}

const char *client_laddr(const struct client *c)
{
    struct addr local = {0};
    if (c->conn != NULL)
        conn_local(c->conn, &local);
    return addr_or_path(c, &local);
}

int client_fd(const struct client *c)
{
    return c->conn == NULL ? -1 : conn_fd(c->conn);
}

enum client_class client_class(const struct client *c)
{
    return c->sub_count > 0 || (c->flags & CLIENT_MONITOR) ? CLASS_PUBSUB
                                                           : CLASS_NORMAL;
}

size_t client_in_bytes(const struct client *c)
{
    return c->in.len - c->in_used;
}

size_t client_memory(const struct client *c)
{
    size_t names = (c->name == NULL ? 0 : strlen(c->name) + 1) +
                   (c->lib_name == NULL ? 0 : strlen(c->lib_name) + 1) +
                   (c->lib_ver == NULL ? 0 : strlen(c->lib_ver) + 1);
    return sizeof(*c) + (c->conn == NULL ? 0 : conn_memory()) + c->in.cap +
           c->out.cap + resp_parser_memory(&c->parser) +
           c->mark_cap * sizeof(*c->marks) + names;
}

bool client_is_parked(const struct client *c)
{
    return c->parked != NULL && c->parked->why == PARK_BLOCKED;
}

bool client_needs_auth(const struct client *c)
{
    return (c->flags & CLIENT_AUTHENTICATED) == 0 &&
           c->server->cf->requirepass[0] != '\0';
}
