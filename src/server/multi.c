#include "server/multi.h"

#include "server/commands.h"
#include "util/alloc.h"

void multi_forget(struct client *c)
{
    struct multi *m = c->multi;
    if (m == NULL)
        return;
    for (uint32_t i = 0; i < m->len; i++)
        mem_free(m->cmds[i].argv);
    mem_free(m->cmds);
    FREE(&c->multi);
}

bool multi_spoil(struct client *c, const struct cmd_entry *entry)
{
    /* A client that was told EXECABORT goes on outside of the transaction. */
    if (entry != NULL && strcmp(entry->cmd->name, "EXEC") == 0) {
        multi_forget(c);
        return true;
    }
    if (c->multi != NULL)
        c->multi->spoiled = true;
    return false;
}

int64_t multi_queued(const struct client *c)
{
    return c->multi == NULL ? -1 : (int64_t)c->multi->len;
}

size_t multi_memory(const struct client *c)
{
    return c->multi == NULL
               ? 0
               : c->multi->bytes + c->multi->cap * sizeof(struct multi_cmd);
}

/* These act on the transaction, or on the connection itself. */
static bool runs_at_once(const struct command *cmd)
{
    static const char *const names[] = {"EXEC",  "DISCARD", "MULTI",
                                        "WATCH", "QUIT",    "RESET"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(cmd->name, names[i]) == 0)
            return true;
    return false;
}

static void keep(struct multi *m, const struct cmd_entry *entry,
                 const struct slice *argv, uint32_t argc, size_t bytes)
{
    if (m->len == m->cap) {
        m->cap = m->cap == 0 ? 8 : m->cap * 2;
        m->cmds = mem_realloc(m->cmds, m->cap * sizeof(m->cmds[0]));
    }
    struct multi_cmd *q = &m->cmds[m->len++];
    q->entry = entry;
    q->argc = argc;
    q->argv = mem_alloc(argc * sizeof(q->argv[0]) + bytes);
    char *p = (char *)(q->argv + argc);
    for (uint32_t i = 0; i < argc; i++) {
        if (argv[i].len > 0)
            memcpy(p, argv[i].data, argv[i].len);
        q->argv[i] = slice_of(p, argv[i].len);
        p += argv[i].len;
    }
    m->bytes += bytes + argc * sizeof(q->argv[0]);
}

bool multi_queue(struct client *c, const struct cmd_entry *entry,
                 const struct slice *argv, uint32_t argc)
{
    struct multi *m = c->multi;
    size_t bytes = 0;
    if (runs_at_once(entry->cmd))
        return false;
    if ((entry->cmd->flags & CMD_NO_MULTI) != 0) {
        dispatch_refuse(c, ERR_SYNTAX,
                        "Command not allowed inside a transaction");
        return true;
    }
    for (uint32_t i = 0; i < argc; i++)
        bytes += argv[i].len;
    if (m->bytes + bytes > MULTI_BYTES_MAX || m->len == MULTI_COMMANDS_MAX) {
        dispatch_refuse(c, ERR_LIMIT,
                        "a transaction holds at most 8mb of words and 100000 "
                        "commands");
        return true;
    }
    keep(m, entry, argv, argc, bytes);
    /* Between commands nothing else writes to this client. */
    struct reply r = client_push_begin(c, false);
    r.muted |= c->reply_mode == REPLY_OFF;
    reply_simple(&r, "QUEUED");
    client_push_end(c);
    return true;
}
