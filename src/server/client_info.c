/* Clients as CLIENT LIST shows them, and the names that they give themselves.
 */
#include "server/commands.h"
#include "server/multi.h"
#include "server/pubsub.h"
#include "util/alloc.h"

bool client_word_ok(struct slice word)
{
    for (size_t i = 0; i < word.len; i++)
        if (word.data[i] < '!' || word.data[i] > '~')
            return false;
    return true;
}

enum err client_set_name(struct client *c, struct slice name, struct errbuf *e)
{
    if (!client_word_ok(name))
        return err_set(e, ERR_SYNTAX,
                       "Client names cannot contain spaces, newlines or "
                       "special characters.");
    FREE(&c->name);
    if (name.len > 0)
        c->name = mem_dup(name);
    return ERR_OK;
}

static void add_flags(const struct client *c, struct buf *out)
{
    size_t start = out->len;
    if ((c->flags & CLIENT_MONITOR) != 0)
        buf_add_char(out, 'O');
    if (c->sub_count > 0)
        buf_add_char(out, 'P');
    if (c->multi != NULL)
        buf_add_char(out, 'x');
    if (client_is_parked(c))
        buf_add_char(out, 'b');
    if ((c->flags & CLIENT_TRACKING) != 0)
        buf_add_char(out, 't');
    if ((c->flags & CLIENT_CLOSE_AFTER) != 0)
        buf_add_char(out, 'c');
    if ((c->flags & CLIENT_UNIX) != 0)
        buf_add_char(out, 'U');
    if ((c->flags & CLIENT_NO_EVICT) != 0)
        buf_add_char(out, 'e');
    if ((c->flags & CLIENT_NO_TOUCH) != 0)
        buf_add_char(out, 'T');
    if (out->len == start)
        buf_add_char(out, 'N');
}

static uint64_t seconds_since(const struct client *c, uint64_t mono_ms)
{
    uint64_t now = c->server->now.mono_ms;
    return now > mono_ms ? (now - mono_ms) / 1000 : 0;
}

static const char *or_empty(const char *s)
{
    return s == NULL ? "" : s;
}

size_t client_all_memory(const struct client *c)
{
    return client_memory(c) + multi_memory(c) + pubsub_memory(c);
}

void client_describe(const struct client *c, struct buf *out)
{
    size_t in = client_in_bytes(c), pending = client_out_bytes(c);
    buf_printf(out, "id=%llu addr=%s", (unsigned long long)c->id,
               client_addr(c));
    /* Both addresses come from the same static buffer. */
    buf_printf(out, " laddr=%s fd=%d name=%s age=%llu idle=%llu flags=",
               client_laddr(c), client_fd(c), or_empty(c->name),
               (unsigned long long)seconds_since(c, c->created_mono_ms),
               (unsigned long long)seconds_since(c, c->active_mono_ms));
    add_flags(c, out);
    buf_printf(out,
               " db=0 sub=%u psub=%u ssub=0 multi=%lld watch=0 qbuf=%zu "
               "qbuf-free=0 argv-mem=0 multi-mem=%zu rbs=0 rbp=0 obl=0 "
               "oll=%d omem=%zu tot-mem=%zu events=%s cmd=%s user=default "
               "redir=-1 resp=%d lib-name=%s lib-ver=%s",
               pubsub_channels(c), pubsub_patterns(c),
               (long long)multi_queued(c), in, multi_memory(c), pending > 0,
               pending, client_all_memory(c), pending > 0 ? "rw" : "r",
               c->last_cmd == NULL ? "NULL" : c->last_cmd->name, c->proto,
               or_empty(c->lib_name), or_empty(c->lib_ver));
    buf_printf(out, " tot-net-in=%llu tot-net-out=%llu tot-cmds=%llu",
               (unsigned long long)c->in_bytes,
               (unsigned long long)c->out_bytes,
               (unsigned long long)c->commands);
}
