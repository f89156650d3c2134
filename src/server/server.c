#include "server/server.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/listener.h"
#include "net/loop.h"
#include "server/backend.h"
#include "server/client.h"
#include "server/commands.h"
#include "server/daemon.h"
#include "server/park.h"
#include "server/signals.h"
#include "server/tick.h"
#include "util/alloc.h"
#include "util/logger.h"

enum {
    READ_CAP = 64 * 1024,
    HOLD_US = 200,      /* see docs/log.md */
    SLICE_US = 150,     /* shorter ones cost deep pipelines their rate */
    OTHER_FILES = 1024, /* the log, RocksDB, listeners */
    FILES_KEPT = 256    /* of those, never given to a connection */
};

static void make_run_id(struct server *s)
{
    static const char hex[] = "0123456789abcdef";
    rng_seed(&s->rng, clock_wall_us() * 2654435761u ^ (uint64_t)getpid() << 40 ^
                          clock_mono_us());
    for (int i = 0; i < RUN_ID_LEN; i++)
        s->run_id[i] = hex[rng_below(&s->rng, 16)];
}

static enum err listen_tcp(struct server *s, struct slice host,
                           struct errbuf *e)
{
    char text[256];
    if (host.len >= sizeof(text) || s->listener_count == LISTENERS_MAX - 1)
        return err_set(e, ERR_SYNTAX,
                       "bind: at most %d addresses of at most %zu bytes",
                       LISTENERS_MAX - 1, sizeof(text) - 1);
    memcpy(text, host.data, host.len);
    text[host.len] = '\0';
    struct listener *l;
    enum err rc =
        listener_tcp(&l, s->loop, text, (uint32_t)s->cf->port,
                     (uint32_t)s->cf->tcp_backlog, client_accept, s, e);
    if (rc == ERR_OK && l != NULL)
        s->listeners[s->listener_count++] = l;
    return rc;
}

static enum err listen_all(struct server *s, struct errbuf *e)
{
    const char *p = s->cf->bind;
    while (s->cf->port != 0 && *p != '\0') {
        size_t n = strcspn(p, " ");
        enum err rc = n == 0 ? ERR_OK : listen_tcp(s, slice_of(p, n), e);
        if (rc != ERR_OK)
            return rc;
        p += n + (p[n] == ' ');
    }
    if (s->cf->unixsocket[0] != '\0') {
        struct listener *l;
        enum err rc = listener_unix(
            &l, s->loop, s->cf->unixsocket, (uint32_t)s->cf->unixsocketperm,
            (uint32_t)s->cf->tcp_backlog, client_accept, s, e);
        if (rc != ERR_OK)
            return rc;
        s->listeners[s->listener_count++] = l;
    }
    if (s->listener_count == 0)
        return err_set(e, ERR_SYNTAX,
                       "nothing to listen on: port is 0 or no address of "
                       "`bind` is there, and unixsocket is empty");
    return ERR_OK;
}

struct server *server_bare(struct conf *conf)
{
    struct server *s = NEW(struct server);
    INIT_OBJ(s, SERVER);
    s->state = SERVER_LOADING;
    s->conf = conf;
    s->cf = conf_values(conf);
    list_init(&s->clients);
    list_init(&s->dirty);
    list_init(&s->gated);
    list_init(&s->closing);
    list_init(&s->resume);
    list_init(&s->sliced);
    list_init(&s->held);
    list_init(&s->run);
    list_init(&s->more);
    heap_init(&s->deadlines, park_less);
    map_init(&s->by_id, client_id_eq);
    make_run_id(s);
    s->fresh = false;
    server_refresh(s);
    s->started_wall_ms = s->now.wall_ms;
    s->started_mono_ms = s->polled_ms = s->now.mono_ms;
    s->files_max = INT_MAX;
    s->slice_us = s->hold_us = UINT32_MAX; /* tests do not depend on time */
    s->read_cap = READ_CAP;
    s->read_buf = (char *)mem_alloc(s->read_cap);
    server_commands_init(s);
    return s;
}

static enum err on_config(void *ud, const struct config *now, struct errbuf *e)
{
    struct server *s = (struct server *)ud;
    (void)now;
    (void)e;
    CHECK_OBJ(s, SERVER);
    logger_set_level((enum log_level)s->cf->loglevel);
    if (s->loaded)
        backend_configure(s);
    return ERR_OK;
}

/* Room for maxclients, and all else that the system gives: the base keeps its
 * tables open. If that is less than the clients need, connections are turned
 * away earlier: the log and the base must be able to open a file. The system
 * gives the lowest descriptor that is free, so one above the bound says that
 * all below are in use. */
static void raise_file_limit(struct server *s)
{
    const struct config *cf = s->cf;
    struct rlimit lim;
    rlim_t want = (rlim_t)cf->maxclients + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &lim) != 0)
        return;
    lim.rlim_cur = lim.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &lim) != 0)
        say(LL_WARNING, "cannot raise the number of open files: %s",
            strerror(errno));
    else if (lim.rlim_cur < want)
        say(LL_WARNING,
            "maxclients %llu wants %llu open files, the system allows %llu",
            (unsigned long long)cf->maxclients, (unsigned long long)want,
            (unsigned long long)lim.rlim_cur);
    if (getrlimit(RLIMIT_NOFILE, &lim) != 0 || lim.rlim_cur > INT_MAX)
        return;
    rlim_t kept = lim.rlim_cur / 4;
    s->files_max =
        (int)(lim.rlim_cur - (kept < FILES_KEPT ? kept : FILES_KEPT));
}

enum err server_new(struct server **out, struct conf *conf, struct errbuf *e)
{
    struct server *s = server_bare(conf);
    s->slice_us = SLICE_US;
    s->hold_us = HOLD_US;
    raise_file_limit(s);
    enum err rc = loop_new(&s->loop, e);
    if (rc == ERR_OK)
        rc = listen_all(s, e);
    if (rc == ERR_OK)
        rc = backend_open(s, e);
    if (rc != ERR_OK) {
        server_free(&s);
        return rc;
    }
    conf_on_set(conf, NULL, on_config, s);
    *out = s;
    return ERR_OK;
}

static void stop_listening(struct server *s)
{
    while (s->listener_count > 0)
        listener_close(&s->listeners[--s->listener_count]);
}

void server_ready(struct server *s)
{
    s->state = SERVER_RUNNING;
    s->loaded = true;
    backend_configure(s); /* CONFIG SET may have come while it loaded */
    s->fresh = false;
    server_refresh(s);
    say(LL_NOTICE, "Ready to accept connections (port %llu, %llu ms)",
        (unsigned long long)s->cf->port,
        (unsigned long long)(s->now.mono_ms - s->started_mono_ms));
    daemon_ready();
    daemon_notify("READY=1\nSTATUS=Ready to accept connections");
}

void server_shutdown(struct server *s, bool now)
{
    if (now)
        s->shutdown_now = true;
    if (s->state == SERVER_DRAINING || s->state == SERVER_STOPPING)
        return;
    say(LL_NOTICE, "%s", now ? "Stopping now" : "Draining before the stop");
    daemon_notify("STOPPING=1\nSTATUS=Draining");
    stop_listening(s);
    if (s->state == SERVER_LOADING) {
        s->state = SERVER_STOPPING;
        return;
    }
    s->state = SERVER_DRAINING;
    s->drain_until_ms = s->now.mono_ms + s->cf->shutdown_timeout_s * 1000;
    /* Callers that wait for work get their empty reply. */
    LIST_FOR (it, &s->clients)
        (void)park_time_out(CONTAINER_OF(it, struct client, all));
}

int server_run(struct server *s)
{
    signals_begin(s);
    while (s->state != SERVER_STOPPING)
        server_turn(s);
    /* The last entry is closed and synced by the store's own end. */
    say(LL_NOTICE, "Closing the store");
    signals_end();
    return s->exit_code;
}

void server_free(struct server **sp)
{
    struct server *s = *sp;
    if (s == NULL)
        return;
    CHECK_OBJ(s, SERVER);
    stop_listening(s);
    LIST_FOR (it, &s->clients)
        client_kill(CONTAINER_OF(it, struct client, all));
    server_free_closing(s);
    if (s->loaded)
        (void)backend_commit(s);
    park_release(s);
    server_commands_release(s);
    backend_close(s);
    loop_free(&s->loop);
    map_release(&s->by_id);
    heap_release(&s->deadlines);
    resp_args_release(&s->args);
    buf_release(&s->arg_mem);
    buf_release(&s->inner_mem);
    buf_release(&s->leased);
    for (uint32_t i = 0; i < s->spare_out_count; i++)
        buf_release(&s->spare_out[i]);
    mem_free(s->read_buf);
    FREE(sp);
}

void server_info_add(struct server *s, const char *name, info_fn print,
                     bool by_default)
{
    ASSERT(s->info_count < INFO_SECTIONS_MAX);
    s->info[s->info_count++] = (struct info_section){name, print, by_default};
}
