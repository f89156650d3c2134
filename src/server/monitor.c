#include "server/monitor.h"

#include "server/client.h"
#include "server/parts.h"
#include "util/alloc.h"

struct monitor {
    struct list link;
    struct client *client;
};

void monitor_start(struct client *c)
{
    if (c->monitor != NULL)
        return;
    c->monitor = NEW(struct monitor);
    c->monitor->client = c;
    c->flags |= CLIENT_MONITOR;
    list_append(&c->server->parts->monitors, &c->monitor->link);
}

void monitor_forget(struct client *c)
{
    if (c->monitor == NULL)
        return;
    list_remove(&c->monitor->link);
    c->flags &= ~(unsigned)CLIENT_MONITOR;
    FREE(&c->monitor);
}

/* As Redis prints words: quoted, what is not printable as \xHH. */
static void add_quoted(struct buf *out, struct slice word)
{
    buf_add_char(out, '"');
    for (size_t i = 0; i < word.len; i++) {
        unsigned char ch = (unsigned char)word.data[i];
        if (ch == '"' || ch == '\\')
            buf_printf(out, "\\%c", ch);
        else if (ch == '\n')
            buf_add_str(out, "\\n");
        else if (ch == '\r')
            buf_add_str(out, "\\r");
        else if (ch == '\t')
            buf_add_str(out, "\\t");
        else if (ch < ' ' || ch > '~')
            buf_printf(out, "\\x%02x", ch);
        else
            buf_add_char(out, (char)ch);
    }
    buf_add_char(out, '"');
}

void monitor_before(struct client *c, const struct cmd_entry *entry,
                    const struct slice *argv, uint32_t argc)
{
    struct server *s = c->server;
    if (list_empty(&s->parts->monitors) || (entry->cmd->flags & CMD_ADMIN) != 0)
        return;
    struct buf line = {0};
    uint64_t us = clock_wall_us();
    buf_printf(&line, "%llu.%06llu [0 %s]", (unsigned long long)(us / 1000000),
               (unsigned long long)(us % 1000000), client_addr(c));
    for (uint32_t i = 0; i < argc; i++) {
        buf_add_char(&line, ' ');
        add_quoted(&line, cmd_shown_word(entry->cmd, argv, i));
    }
    LIST_FOR (it, &s->parts->monitors) {
        struct monitor *m = CONTAINER_OF(it, struct monitor, link);
        if (m->client == c) /* it can say RESET and QUIT only */
            continue;
        struct reply r = client_push_begin(m->client, false);
        reply_simple(&r, buf_cstr(&line));
        client_push_end(m->client);
    }
    buf_release(&line);
}
