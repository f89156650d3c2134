/* Bytes from a connection, through parser, dispatch and commands, on a store in
 * memory. Nothing may crash, leak, or leave the reply stream broken. */
#include <stdint.h>

#include "server/backend.h"
#include "server/client.h"
#include "server/server.h"
#include "server/tick.h"
#include "store/mem.h"
#include "util/logger.h"
#include "util/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The line at `p` without its type and CRLF; `*next` is behind it. */
static struct slice line_at(const char *p, const char *end, const char **next)
{
    ASSERT(p < end);
    const char *nl = (const char *)memchr(p, '\n', (size_t)(end - p));
    ASSERT(nl != NULL && nl - p >= 2 && nl[-1] == '\r');
    *next = nl + 1;
    struct slice line = slice_of(p + 1, (size_t)(nl - 1 - (p + 1)));
    ASSERT(memchr(line.data, '\r', line.len) == NULL);
    return line;
}

/* Walk one value; returns what is behind it. */
static const char *walk(const char *p, const char *end)
{
    const char *next;
    struct slice line = line_at(p, end, &next);
    int64_t n = 0;
    switch (*p) {
    case '+':
    case '-':
        return next;
    case ':':
        ASSERT(parse_i64(line, &n));
        return next;
    case '_':
        ASSERT(line.len == 0);
        return next;
    case '$':
    case '=':
        ASSERT(parse_i64(line, &n) && n >= -1);
        if (n < 0)
            return next;
        ASSERT(end - next >= n + 2);
        ASSERT(next[n] == '\r' && next[n + 1] == '\n');
        return next + n + 2;
    case '%':
    case '*':
    case '~':
    case '>':
        ASSERT(parse_i64(line, &n) && n >= -1);
        n *= *p == '%' ? 2 : 1;
        break;
    default:
        ASSERT(false);
    }
    for (int64_t i = 0; i < n; i++)
        next = walk(next, end);
    return next;
}

/* Nothing but whole values. */
static void check_replies(struct slice out)
{
    while (out.len > 0) {
        const char *end = out.data + out.len;
        const char *next = walk(out.data, end);
        out = slice_of(next, (size_t)(end - next));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct errbuf e;
    struct mem_knobs knobs = {0};
    bool done = false;
    logger_set_level(LL_WARNING);
    struct conf *conf = conf_new();
    struct server *s = server_bare(conf);
    enum err rc = backend_open_mem(s, mem_disk_new(&knobs), &e);
    while (rc == ERR_OK && !done)
        rc = backend_load_step(s, &done, &e);
    ASSERT(rc == ERR_OK);
    server_ready(s);
    struct client *c = client_new(s);
    /* Commands may be cut anywhere: where is in the bytes themselves. */
    size_t cut = size == 0 ? 0 : data[size / 2] * size / 255;
    client_feed(c, slice_of(data, cut));
    if (!list_linked(&c->closing))
        client_feed(c, slice_of(data + cut, size - cut));
    for (int i = 0; i < 8; i++) {
        s->fresh = false;
        server_refresh(s);
        backend_poll(s);
        clients_continue(s);
        server_end_tick(s);
    }
    check_replies(buf_slice(&c->out));
    server_free(&s);
    conf_free(&conf);
    return 0;
}
