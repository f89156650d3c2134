/* One command:
 *  1. its entry (registry_resolve);
 *  2. may it run now (check): arity, AUTH, subscriber mode, loading, disk;
 *  3. its arguments (cmd_parse), into memory that all commands share;
 *  4. MULTI keeps it, or exec runs it in the server's spare frame;
 *  5. the reply is at the end of the client's buffer; gate_add() sends it, or
 *     has it wait for this tick's entry.
 *
 * How it ends otherwise: refused (an error, nothing ran); failed (what exec
 * wrote is cut off, an error instead); ERR_PENDING (cut off too; parked).
 */
#include "server/dispatch.h"

#include <stdio.h>

#include "server/backend.h"
#include "server/client.h"
#include "server/gate.h"
#include "server/park.h"
#include "server/server.h"
#include "util/alloc.h"
#include "util/logger.h"

static bool is_muted(const struct client *c)
{
    return c->reply_mode == REPLY_OFF || c->reply_mode == REPLY_SKIPPING;
}

/* CLIENT REPLY SKIP mutes the next command, not itself and not the one after.
 */
static void step_reply_mode(struct client *c, enum reply_mode before)
{
    if (c->reply_mode == REPLY_SKIP)
        c->reply_mode = REPLY_SKIPPING;
    else if (before == REPLY_SKIPPING && c->reply_mode == REPLY_SKIPPING)
        c->reply_mode = REPLY_ON;
}

static void refuse(struct client *c, const struct cmd_entry *entry,
                   enum err code, const char *text)
{
    struct server *s = c->server;
    enum reply_mode mode = c->reply_mode;
    struct errbuf e;
    if (s->hooks.multi_spoil != NULL && s->hooks.multi_spoil(c, entry)) {
        const char *prefix = code == ERR_SYNTAX ? "" : err_prefix(code);
        code = err_set(&e, ERR_EXECABORT,
                       "Transaction discarded because of: %s%s%s", prefix,
                       prefix[0] == '\0' ? "" : " ", text);
        text = e.text;
    }
    gate_begin(c);
    uint64_t from = client_pos(c);
    struct reply r = {&c->out, c->proto, is_muted(c)};
    reply_error(&r, code, text);
    gate_add(c, from, false);
    step_reply_mode(c, mode);
    s->stats.errors++;
    if (s->hooks.refused != NULL)
        s->hooks.refused(c, entry, code);
}

void dispatch_refuse(struct client *c, enum err code, const char *text)
{
    refuse(c, NULL, code, text);
}

static enum err check_room(struct server *s, const struct cmd_entry *entry,
                           struct errbuf *e)
{
    unsigned flags = entry->cmd->flags;
    if (flags & (CMD_WRITE | CMD_NEW_WORK))
        return backend_may_write(s, (flags & CMD_NEW_WORK) != 0, e);
    return ERR_OK;
}

static enum err check_mode(struct client *c, const struct cmd_entry *entry,
                           struct errbuf *e)
{
    struct server *s = c->server;
    unsigned flags = entry->cmd->flags;
    if (client_needs_auth(c) && !(flags & CMD_NOAUTH))
        return err_set(e, ERR_NOAUTH, "Authentication required.");
    if (c->sub_count > 0 && c->proto == 2 && !(flags & CMD_PUBSUB))
        return err_set(e, ERR_SYNTAX,
                       "Can't execute '%s': only (P|S)SUBSCRIBE / "
                       "(P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in "
                       "this context",
                       entry->name);
    if (s->state == SERVER_LOADING && !(flags & CMD_LOADING))
        return err_set(e, ERR_LOADING,
                       "Belfry is loading the dataset in memory");
    if ((flags & CMD_DEBUG) && !s->cf->enable_debug_command)
        return err_set(e, ERR_SYNTAX,
                       "DEBUG command not allowed. If the "
                       "enable-debug-command option is set to \"yes\", you "
                       "can run it.");
    return check_room(s, entry, e);
}

static inline enum err check(struct client *c, const struct cmd_entry *entry,
                             uint32_t argc, struct errbuf *e)
{
    struct server *s = c->server;
    int64_t words = argc, arity = entry->arity;
    if (arity > 0 ? words != arity : words < -arity)
        return cmd_wrong_arity(entry->cmd, e);
    /* Nothing can refuse a plain free command of a ready server. */
    if ((entry->cmd->flags & CMD_FREE) && s->state == SERVER_RUNNING &&
        c->sub_count == 0 && !(entry->cmd->flags & CMD_DEBUG) &&
        !client_needs_auth(c))
        return ERR_OK;
    return check_mode(c, entry, e);
}

static enum err parse_args(struct cmd_ctx *ctx, struct buf *mem)
{
    buf_clear(mem);
    ctx->args = buf_room(mem, ctx->cmd->args_size + 16);
    return cmd_parse(ctx);
}

static void fill(struct cmd_ctx *ctx, struct parked *p, struct client *c,
                 const struct cmd_entry *entry, const struct slice *argv,
                 uint32_t argc)
{
    struct server *s = c->server;
    ctx->cmd = entry->cmd;
    ctx->argv = argv;
    ctx->argc = argc;
    ctx->engine = s->engine;
    ctx->gather = p->gather;
    ctx->now = s->now;
    ctx->e.text[0] = '\0';
    ctx->waiter = &p->waiter;
    ctx->timed_out = p->timed_out;
    ctx->may_block =
        s->state == SERVER_RUNNING && (c->flags & CLIENT_HUNG_UP) == 0;
    ctx->blocked = false;
    ctx->deadline_mono_ms = p->deadline_mono_ms;
    ctx->client_name = c->name == NULL ? SLICE_EMPTY : slice_str(c->name);
    ctx->client_id = c->id;
    ctx->leased = &s->leased;
    ctx->list = p->list;
    ctx->whole = ctx->more = false;
    ctx->host = c;
    buf_clear(&s->leased);
}

/* If this reply never leaves, the leases in it are taken back. */
static void keep_undo(struct client *c)
{
    struct buf *leased = &c->server->leased;
    struct undo *u = (struct undo *)mem_alloc(sizeof(*u) + leased->len);
    u->link = (struct list){NULL, NULL};
    u->end = client_pos(c);
    u->len = leased->len;
    memcpy(u->data, leased->data, leased->len);
    list_append(&c->undos, &u->link);
}

/* A server that drains gives out no jobs: "nothing there" is the true answer
 * for a worker, which will ask another server or again. */
static enum err exec_command(struct cmd_ctx *ctx)
{
    struct server *s = ctx_client(ctx)->server;
    if ((ctx->cmd->flags & CMD_LEASES) && s->state != SERVER_RUNNING) {
        reply_array(ctx->reply, 0);
        return ERR_OK;
    }
    return ctx->cmd->exec(ctx);
}

/* A list goes on later: what it has answered so far must not leave before, for
 * other things are written to the client meanwhile. */
static void keep_reply(struct parked *p, const struct cmd_ctx *ctx, size_t at)
{
    const struct buf *out = &ctx_client(ctx)->out;
    p->list = ctx->list;
    if (!ctx->more)
        return;
    ctx_client(ctx)->server->tick_dirty = true;
    if (!out->failed)
        buf_add(&p->reply, out->data + at, out->len - at);
}

static void join_reply(struct parked *p, size_t at)
{
    struct buf *out = &p->client->out;
    if (out->failed)
        return; /* the gate gives the client up */
    buf_add(&p->reply, out->data + at, out->len - at);
    out->len = at;
    buf_add_slice(out, buf_slice(&p->reply));
}

/* Run in the frame `p`. The client may be in `closing` afterwards. */
static void run(struct parked *p, struct cmd_ctx *ctx,
                const struct cmd_entry *entry)
{
    struct client *c = ctx_client(ctx);
    struct server *s = c->server;
    enum reply_mode mode = c->reply_mode;
    gate_begin(c);
    uint64_t from = client_pos(c);
    size_t at = c->out.len;
    struct reply r = {&c->out, c->proto, is_muted(c)};
    ctx->reply = &r;
    uint64_t start_us = s->now_us;
    c->last_cmd = entry; /* CLIENT LIST tells what a caller waits in */
    s->current = p;
    enum err rc = p->unblocked_error
                      ? err_set(&ctx->e, ERR_UNBLOCKED,
                                "client unblocked via CLIENT UNBLOCK")
                      : exec_command(ctx);
    s->current = NULL;
    server_clock(s);
    p->us += s->now_us - start_us;
    if (p->cut || ctx->more)
        s->lists_us += s->now_us - start_us;

    if (rc == ERR_PENDING)
        keep_reply(p, ctx, at);
    if (rc != ERR_OK)
        c->out.len = at;
    else if (p->reply.len > 0)
        join_reply(p, at);
    if (rc == ERR_PENDING) {
        if (c->out.failed)
            client_touch(c); /* the gate gives it up, and the caller with it */
        else
            gate_add(c, from, false);
        park(p, c, entry, ctx->argv, ctx->argc,
             ctx->blocked ? PARK_BLOCKED
             : ctx->more  ? PARK_MORE
                          : PARK_ROWS,
             ctx->deadline_mono_ms);
        return;
    }
    if (rc != ERR_OK) {
        reply_error(&r, rc, ctx->e.text);
        s->stats.errors++;
    }
    bool is_free = (entry->cmd->flags & CMD_FREE) != 0;
    if (!is_free) {
        s->tick_dirty = true;
        if (s->leased.len > 0)
            keep_undo(c);
    }
    gate_add(c, from, !is_free);
    step_reply_mode(c, mode);
    c->commands++;
    s->stats.commands++;
    if (s->hooks.after != NULL)
        s->hooks.after(c, entry, ctx->argv, ctx->argc, rc, p->us);
    p->us = 0;
    if (p->client != NULL || !is_free)
        park_end(p);
}

#define CUT_BYTES_MAX ((size_t)1 << 20)

/* Every command begins in an entry of less than a megabyte, so that it has room
 * for the largest job (docs/decisions/0022). */
static void cut_tick(struct server *s)
{
    size_t most = s->cf->tick_max_bytes < CUT_BYTES_MAX ? s->cf->tick_max_bytes
                                                        : CUT_BYTES_MAX;
    /* Also by one that is parked: what a full queue dropped stays dropped. */
    bool full = s->loaded && backend_entry_bytes(s) >= most;
    s->tick_commands++;
    s->tick_dirty |= full;
    if (full || s->tick_commands >= s->cf->tick_max_commands) {
        s->stats.ticks_cut++;
        server_end_tick(s);
    } else {
        server_hand_over(s);
    }
}

static void after_command(struct server *s)
{
    cut_tick(s);
    if (!list_empty(&s->run) && !s->running) {
        s->running = true;
        park_run(s);
        s->running = false;
    }
}

/* As Redis: a browser that was tricked into sending its request here must not
 * have its body run as commands. */
static bool is_web_request(struct slice word)
{
    return slice_is(word, "post") || slice_is(word, "host:");
}

static enum err resolve(struct server *s, const struct slice *argv,
                        uint32_t argc, const struct cmd_entry **entry,
                        struct errbuf *e)
{
    struct slice name = argv[0];
    if (s->last_entry != NULL && name.len == s->last_name_len &&
        memcmp(name.data, s->last_name, name.len) == 0) {
        *entry = s->last_entry;
        return ERR_OK;
    }
    enum err rc = registry_resolve(&s->registry, argv, argc, entry, e);
    /* A container's name alone does not say which command it is. */
    if (rc == ERR_OK && (*entry)->parent == NULL &&
        (*entry)->cmd->subs == NULL && name.len <= LAST_NAME_MAX) {
        memcpy(s->last_name, name.data, name.len);
        s->last_name_len = name.len;
        s->last_entry = *entry;
    }
    return rc;
}

void dispatch(struct client *c, const struct slice *argv, uint32_t argc)
{
    struct server *s = c->server;
    const struct cmd_entry *entry = NULL;
    struct cmd_ctx ctx;
    ctx.e.text[0] = '\0';
    enum err rc = resolve(s, argv, argc, &entry, &ctx.e);
    if (rc != ERR_OK && is_web_request(argv[0])) {
        say(LL_WARNING,
            "Possible SECURITY ATTACK detected. It looks like somebody is "
            "sending POST or Host: commands to Belfry. This is likely due to "
            "an attacker attempting to use Cross Protocol Scripting. "
            "Connection from %s aborted.",
            client_addr(c));
        client_kill(c);
        return;
    }
    if (rc == ERR_OK)
        rc = check(c, entry, argc, &ctx.e);
    if (rc != ERR_OK) {
        refuse(c, entry, rc, ctx.e.text);
        after_command(s);
        return;
    }
    struct parked *p = park_frame(s);
    fill(&ctx, p, c, entry, argv, argc);
    rc = parse_args(&ctx, &s->arg_mem);
    if (rc != ERR_OK) {
        refuse(c, entry, rc, ctx.e.text);
        after_command(s);
        return;
    }
    if (s->hooks.before != NULL)
        s->hooks.before(c, entry, argv, argc);
    if (c->multi != NULL && s->hooks.multi_queue != NULL &&
        s->hooks.multi_queue(c, entry, argv, argc))
        return;
    run(p, &ctx, entry);
    after_command(s);
}

void dispatch_again(struct parked *p)
{
    struct client *c = p->client;
    struct server *s = p->server;
    struct cmd_ctx ctx;
    CHECK_OBJ(c, CLIENT);
    fill(&ctx, p, c, p->entry, p->argv, p->argc);
    s->tick_commands++;
    /* The disk may have become full since. A list that has begun is done, or
     * nobody could tell how far it came. */
    enum err rc = p->list.done > 0 || p->unblocked_error
                      ? ERR_OK
                      : check_room(s, p->entry, &ctx.e);
    if (rc != ERR_OK) {
        refuse(c, p->entry, rc, ctx.e.text);
        park_end(p);
        return;
    }
    /* The same words parsed before. */
    rc = parse_args(&ctx, &s->arg_mem);
    ASSERT(rc == ERR_OK);
    server_clock(s);
    run(p, &ctx, p->entry);
    cut_tick(s);
}

/* What an inner command sees; it never blocks. */
static enum err inner_exec(struct cmd_ctx *ctx, const struct cmd_ctx *outer,
                           const struct cmd_entry *entry,
                           const struct slice *argv, uint32_t argc,
                           struct gather *gather)
{
    struct client *c = ctx_client(outer);
    size_t at = c->out.len, leased = c->server->leased.len;
    *ctx = *outer;
    ctx->cmd = entry->cmd;
    ctx->argv = argv;
    ctx->argc = argc;
    ctx->may_block = false;
    ctx->whole = true;
    ctx->gather = gather;
    enum err rc = check(c, entry, argc, &ctx->e);
    /* The others began in an entry that was cut before it was full. */
    if (rc == ERR_OK && (entry->cmd->flags & CMD_WRITE))
        rc = backend_has_room(c->server, argv, argc, &ctx->e);
    if (rc == ERR_OK)
        rc = parse_args(ctx, &c->server->inner_mem);
    if (rc == ERR_OK)
        rc = exec_command(ctx);
    if (rc != ERR_OK) {
        c->out.len = at;
        c->server->leased.len = leased;
    }
    return rc;
}

enum err dispatch_gather(struct cmd_ctx *outer, const struct cmd_entry *entry,
                         const struct slice *argv, uint32_t argc)
{
    struct client *c = ctx_client(outer);
    struct cmd_ctx ctx;
    size_t at = c->out.len;
    if (!(entry->cmd->flags & CMD_READONLY))
        return ERR_OK;
    enum err rc = inner_exec(&ctx, outer, entry, argv, argc, outer->gather);
    c->out.len = at;
    return rc == ERR_PENDING ? rc : ERR_OK;
}

enum err dispatch_inner(struct cmd_ctx *outer, const struct cmd_entry *entry,
                        const struct slice *argv, uint32_t argc, bool first)
{
    struct client *c = ctx_client(outer);
    struct server *s = c->server;
    struct cmd_ctx ctx;
    uint64_t start_us = s->now_us;
    enum err rc = inner_exec(&ctx, outer, entry, argv, argc, outer->gather);
    if (rc == ERR_PENDING && first)
        return rc;
    /* A row that is missed behind a change is read at once: an EXEC is never
     * done by half. */
    if (rc == ERR_PENDING)
        rc = inner_exec(&ctx, outer, entry, argv, argc, NULL);
    ASSERT(rc != ERR_PENDING);
    if (rc != ERR_OK) {
        reply_error(outer->reply, rc, ctx.e.text);
        s->stats.errors++;
    }
    server_clock(s);
    s->stats.commands++;
    if (s->hooks.after != NULL)
        s->hooks.after(c, entry, argv, argc, rc, s->now_us - start_us);
    return ERR_OK;
}

unsigned dispatch_flags(const struct server *s, const struct slice *argv,
                        uint32_t argc)
{
    const struct cmd_entry *entry;
    if (registry_resolve(&s->registry, argv, argc, &entry, NULL) != ERR_OK)
        return CMD_FREE; /* it is refused, which may be told at any time */
    return entry->cmd->flags;
}
