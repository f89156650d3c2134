#include "rig.h"

#include "unit.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/waiter.h"
#include "net/addr.h"
#include "net/loop.h"
#include "server/backend.h"
#include "server/commands.h"
#include "server/tick.h"
#include "util/clock.h"
#include "util/logger.h"

struct waiter *rig_waiting[8];
unsigned rig_waiting_count;

struct word_args {
    uint64_t given[2];
    struct slice word;
};
#define CMD_ARGS struct word_args

static const struct arg word_arg[] = {{"word", OPT(BYTES, word)}, {0}};

static enum err free_exec(struct cmd_ctx *c)
{
    reply_simple(c->reply, "FREE");
    return ERR_OK;
}

static enum err put_exec(struct cmd_ctx *c)
{
    const struct word_args *a = c->args;
    struct store *store = ctx_client(c)->server->store;
    memcpy(store_put(store, FAMILY_META, a->word, 3, false), "yes", 3);
    reply_simple(c->reply, "PUT");
    return ERR_OK;
}

static enum err get_exec(struct cmd_ctx *c)
{
    const struct word_args *a = c->args;
    struct slice value;
    enum err rc = store_get(ctx_client(c)->server->store, c->gather,
                            FAMILY_META, a->word, &value, &c->e);
    if (rc != ERR_OK) {
        reply_simple(c->reply, "to be taken back");
        return rc;
    }
    reply_bulk(c->reply, value);
    return ERR_OK;
}

static enum err fill_exec(struct cmd_ctx *c)
{
    const struct word_args *a = c->args;
    struct store *store = ctx_client(c)->server->store;
    struct slice value;
    enum err rc =
        store_get(store, c->gather, FAMILY_META, a->word, &value, &c->e);
    if (rc != ERR_OK)
        return rc;
    memset(store_put(store, FAMILY_META, SLICE_LIT("filled"), 600000, false),
           'x', 600000);
    reply_simple(c->reply, "FULL");
    return ERR_OK;
}

static enum err wait_exec(struct cmd_ctx *c)
{
    const struct word_args *a = c->args;
    if (c->waiter->engine_private == (void *)1) {
        c->waiter->engine_private = NULL;
        reply_simple(c->reply, "WOKEN");
        return ERR_OK;
    }
    if (c->timed_out || !c->may_block) {
        reply_simple(c->reply, "LATE");
        return ERR_OK;
    }
    if (!c->blocked && c->deadline_mono_ms == 0)
        rig_waiting[rig_waiting_count++] = c->waiter;
    uint64_t ms = strtoull(a->word.data, NULL, 10);
    return cmd_block(c, ms == 0 ? UINT64_MAX : c->now.mono_ms + ms);
}

static enum err wake_exec(struct cmd_ctx *c)
{
    if (rig_waiting_count > 0) {
        struct waiter *w = rig_waiting[0];
        rig_waiting_count--;
        memmove(rig_waiting, rig_waiting + 1,
                rig_waiting_count * sizeof(rig_waiting[0]));
        w->engine_private = (void *)1;
        w->wake(w);
    }
    reply_ok(c->reply);
    return ERR_OK;
}

static enum err lease_exec(struct cmd_ctx *c)
{
    const struct word_args *a = c->args;
    buf_add_slice(c->leased, a->word);
    buf_add_char(c->leased, '\n');
    reply_bulk(c->reply, a->word);
    return ERR_OK;
}

static enum err big_exec(struct cmd_ctx *c)
{
    const struct word_args *a = c->args;
    size_t n = strtoull(a->word.data, NULL, 10);
    char *big = calloc(1, n);
    reply_bulk(c->reply, slice_of(big, n));
    free(big);
    return ERR_OK;
}

static enum err busy_exec(struct cmd_ctx *c)
{
    uint64_t until_us = clock_mono_us() + RIG_BUSY_US;
    while (clock_mono_us() < until_us)
        ;
    reply_simple(c->reply, "BUSY");
    return ERR_OK;
}

static enum err list_exec(struct cmd_ctx *c)
{
    struct server *s = ctx_client(c)->server;
    uint64_t begin_us = s->now_us;
    if (c->list.done == 0)
        reply_array(c->reply, 3);
    if (c->list.done == 1) {
        enum err rc = get_exec(c);
        if (rc != ERR_OK)
            return rc;
    } else {
        reply_int(c->reply, c->list.done);
    }
    while (s->now_us - begin_us < 1100)
        server_clock(s);
    c->list.done++;
    return c->list.done < 3 && !c->whole ? cmd_more(c) : ERR_OK;
}

#define RIG_COMMAND(ident, full_name, cmd_flags, arg_table, exec_fn) \
    static const struct command ident = {                            \
        .name = full_name,                                           \
        .group = "test",                                             \
        .summary = "for tests",                                      \
        .since = "0",                                                \
        .reply = "any",                                              \
        .flags = cmd_flags,                                          \
        CMD_PARSED(arg_table, NULL),                                 \
        .exec = exec_fn,                                             \
    }
RIG_COMMAND(t_free, "T.FREE", CMD_FREE, NULL, free_exec);
RIG_COMMAND(t_put, "T.PUT", CMD_WRITE, word_arg, put_exec);
RIG_COMMAND(t_get, "T.GET", CMD_READONLY, word_arg, get_exec);
RIG_COMMAND(t_fill, "T.FILL", CMD_WRITE, word_arg, fill_exec);
RIG_COMMAND(t_wait, "T.WAIT", CMD_READONLY | CMD_BLOCKING, word_arg, wait_exec);
RIG_COMMAND(t_take, "T.TAKE", CMD_WRITE | CMD_BLOCKING, word_arg, wait_exec);
RIG_COMMAND(t_wake, "T.WAKE", CMD_WRITE, NULL, wake_exec);
RIG_COMMAND(t_lease, "T.LEASE", CMD_WRITE, word_arg, lease_exec);
RIG_COMMAND(t_big, "T.BIG", CMD_FREE, word_arg, big_exec);
RIG_COMMAND(t_busy, "T.BUSY", CMD_FREE, NULL, busy_exec);
RIG_COMMAND(t_list, "T.LIST", CMD_WRITE, word_arg, list_exec);

static const struct command *const rig_commands[] = {
    &t_free, &t_put,   &t_get, &t_fill, &t_wait, &t_take,
    &t_wake, &t_lease, &t_big, &t_list, &t_busy, NULL,
};

void rig_begin(struct rig *r, const char *directives,
               const struct mem_knobs *knobs)
{
    struct errbuf e = {""};
    struct mem_knobs perfect = {0};
    bool done = false;
    rig_waiting_count = 0;
    logger_set_level(LL_WARNING);
    r->conf = conf_new();
    if (directives != NULL)
        assert_ok(conf_load_text(r->conf, slice_str(directives), "test", &e));
    r->s = server_bare(r->conf);
    /* The core alone: statistics are kept for the commands of the tables. */
    r->s->hooks = (struct hooks){0};
    registry_add(&r->s->registry, rig_commands);
    r->disk = mem_disk_new(&perfect);
    assert_ok(loop_new(&r->s->loop, &e));
    assert_ok(backend_open_mem(r->s, r->disk, &e));
    while (!done)
        assert_ok(backend_load_step(r->s, &done, &e));
    server_ready(r->s);
    /* Only now: loading waits for its own sync. */
    if (knobs != NULL)
        *mem_knobs(r->disk) = *knobs;
}

void rig_end(struct rig *r)
{
    *mem_knobs(r->disk) = (struct mem_knobs){0};
    server_free(&r->s);
    conf_free(&r->conf);
}

void rig_turn(struct rig *r)
{
    /* Some turns, so that what one turn leaves for the next is done. */
    for (int i = 0; i < 3; i++) {
        loop_wake(r->s->loop);
        server_turn(r->s);
    }
}

int rig_connect(struct rig *r)
{
    int pair[2];
    struct addr unix_addr = {.kind = ADDR_UNIX};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    client_accept(pair[1], &unix_addr, r->s);
    return pair[0];
}

void rig_send(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

const char *rig_read(int fd)
{
    static char got[1 << 20];
    ssize_t n = recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT);
    got[n < 0 ? 0 : n] = '\0';
    return n == 0 ? "(closed)" : got;
}
