/* How a command is read:
 *  1. "*n": n words follow (resp_parse).
 *  2. For each: "$len", len bytes, two bytes skipped (read_words).
 *  3. Complete: the words are in args.
 *
 * How it stops in the middle: the words so far go to a `struct resp_pending`
 * (their array changes hands, it is not copied again). When the command goes
 * on, pointers are moved if the input lies elsewhere now; input grows by half
 * at a time, so that happens rarely.
 */
#include "resp/parse.h"

#include <limits.h>

#include "resp/inline.h"
#include "util/alloc.h"

struct resp_pending {
    uint32_t want;    /* words announced */
    int64_t bulk_len; /* of the word at hand; -1 = its length is not read */
    size_t pos;       /* input bytes understood */
    const char *base; /* where the input was */
    struct slice *argv;
    uint32_t argc, cap;
};

/* The command at hand, wherever its words are kept. */
struct cursor {
    const char *base, *end;
    size_t pos;
    uint32_t want;
    int64_t bulk_len;
};

enum line { LINE_OK, LINE_MORE, LINE_LONG, LINE_BAD };

static void more_args(struct resp_args *a)
{
    a->cap = a->cap == 0 ? 16 : a->cap + a->cap / 2;
    a->argv = (struct slice *)mem_realloc(a->argv, a->cap * sizeof(*a->argv));
}

void resp_args_add(struct resp_args *a, struct slice word)
{
    if (a->argc == a->cap)
        more_args(a);
    a->argv[a->argc++] = word;
}

void resp_args_release(struct resp_args *a)
{
    FREE(&a->argv);
    a->argc = a->cap = 0;
    buf_release(&a->text);
}

/* "<number>\r\n" at p: the slow way, for all that is unusual. */
static enum line read_number_slow(const char *p, const char *end, int64_t *n,
                                  size_t *len)
{
    size_t have = (size_t)(end - p);
    const char *cr = (const char *)memchr(p, '\r', have);
    /* Redis looks with strchr(), so that a NUL hides what is behind it. */
    if (cr == NULL || memchr(p, '\0', (size_t)(cr - p)) != NULL)
        return have > RESP_INLINE_MAX ? LINE_LONG : LINE_MORE;
    if (cr + 1 >= end)
        return LINE_MORE;
    *len = (size_t)(cr - p) + 2;
    return parse_resp_int(slice_of(p + 1, (size_t)(cr - p) - 1), n) ? LINE_OK
                                                                    : LINE_BAD;
}

/* The number behind the type byte at p; *len: the whole line. */
static inline enum line read_number(const char *p, const char *end, int64_t *n,
                                    size_t *len)
{
    const char *d = p + 1;
    int64_t v = 0;
    while (d < end && d - p < 17 && *d >= '0' && *d <= '9')
        v = v * 10 + (*d++ - '0');
    if (d + 1 < end && *d == '\r' && d - p > 1 && (p[1] != '0' || d - p == 2)) {
        *n = v;
        *len = (size_t)(d - p) + 2;
        return LINE_OK;
    }
    return read_number_slow(p, end, n, len);
}

static enum resp_status bad(struct errbuf *e, const char *what)
{
    (void)err_set(e, ERR_SYNTAX, "Protocol error: %s", what);
    return RESP_ERROR;
}

static enum resp_status bad_length(enum line line, char got, struct errbuf *e)
{
    if (line == LINE_MORE)
        return RESP_MORE;
    if (line == LINE_LONG)
        return bad(e, "too big bulk count string");
    if (got != '$') {
        (void)err_set(e, ERR_SYNTAX, "Protocol error: expected '$', got '%c'",
                      got);
        return RESP_ERROR;
    }
    return bad(e, "invalid bulk length");
}

static enum resp_status read_words(struct cursor *c,
                                   const struct resp_limits *limits,
                                   struct resp_args *args, struct errbuf *e)
{
    while (args->argc < c->want) {
        const char *p = c->base + c->pos;
        if (c->bulk_len < 0) {
            size_t len;
            int64_t n;
            enum line line =
                p == c->end ? LINE_MORE : read_number(p, c->end, &n, &len);
            if (line != LINE_OK || *p != '$')
                return bad_length(line, p == c->end ? '$' : *p, e);
            if (n < 0 || (uint64_t)n > limits->bulk_max)
                return bad(e, "invalid bulk length");
            if (n > RESP_UNAUTH_BULK_MAX && limits->unauthenticated)
                return bad(e, "unauthenticated bulk length");
            c->bulk_len = n;
            c->pos += len;
            p += len;
        }
        size_t n = (size_t)c->bulk_len;
        if ((size_t)(c->end - p) < n + 2)
            return RESP_MORE;
        resp_args_add(args, slice_of(p, n));
        c->pos += n + 2;
        c->bulk_len = -1;
    }
    return RESP_COMMAND;
}

static enum resp_status
read_count(struct cursor *c, const struct resp_limits *limits, struct errbuf *e)
{
    size_t len;
    int64_t n;
    enum line line = read_number(c->base, c->end, &n, &len);
    if (line == LINE_MORE)
        return RESP_MORE;
    if (line == LINE_LONG)
        return bad(e, "too big mbulk count string");
    if (line == LINE_BAD || n > INT_MAX)
        return bad(e, "invalid multibulk length");
    c->pos = len;
    if (n <= 0)
        return RESP_NOTHING;
    if (n > RESP_UNAUTH_ARGS_MAX && limits->unauthenticated)
        return bad(e, "unauthenticated multibulk length");
    c->want = (uint32_t)n;
    return RESP_COMMAND;
}

static void resume(struct resp_pending *q, struct cursor *c,
                   struct resp_args *args)
{
    if (q->base != c->base) {
        for (uint32_t i = 0; i < q->argc; i++)
            q->argv[i].data =
                c->base + ((uintptr_t)q->argv[i].data - (uintptr_t)q->base);
    }
    struct slice *argv = args->argv;
    uint32_t cap = args->cap;
    args->argv = q->argv;
    args->argc = q->argc;
    args->cap = q->cap;
    q->argv = argv; /* lent while this command is read */
    q->cap = cap;
    c->pos = q->pos;
    c->want = q->want;
    c->bulk_len = q->bulk_len;
}

/* Keep the words; the shared array stays with `args`. */
static void suspend(struct resp_parser *p, const struct cursor *c,
                    struct resp_args *args)
{
    struct resp_pending *q = p->pending;
    if (q == NULL) {
        q = p->pending = NEW(struct resp_pending);
        q->cap = args->argc < 4 ? 4 : args->argc;
        q->argv = (struct slice *)mem_alloc(q->cap * sizeof(*q->argv));
        if (args->argc > 0)
            memcpy(q->argv, args->argv, args->argc * sizeof(*q->argv));
        q->argc = args->argc;
    } else {
        struct slice *argv = args->argv;
        uint32_t cap = args->cap;
        args->argv = q->argv;
        args->cap = q->cap;
        q->argv = argv;
        q->argc = args->argc;
        q->cap = cap;
    }
    args->argc = 0;
    q->want = c->want;
    q->bulk_len = c->bulk_len;
    q->pos = c->pos;
    q->base = c->base;
}

static enum resp_status parse_array(struct resp_parser *p,
                                    const struct resp_limits *limits,
                                    struct slice in, struct resp_args *args,
                                    size_t *used, struct errbuf *e)
{
    struct cursor c = {in.data, in.data + in.len, 0, 0, -1};
    args->argc = 0;
    if (p->pending != NULL) {
        resume(p->pending, &c, args);
    } else {
        enum resp_status s = read_count(&c, limits, e);
        if (s != RESP_COMMAND) {
            *used = c.pos;
            return s;
        }
    }
    enum resp_status s = read_words(&c, limits, args, e);
    if (s == RESP_MORE) {
        suspend(p, &c, args);
        return s;
    }
    *used = c.pos;
    resp_parser_release(p);
    return s;
}

enum resp_status resp_parse(struct resp_parser *p,
                            const struct resp_limits *limits, struct slice in,
                            struct resp_args *args, size_t *used,
                            struct errbuf *e)
{
    *used = 0;
    if (in.len == 0)
        return RESP_MORE;
    if (in.data[0] == '*')
        return parse_array(p, limits, in, args, used, e);
    ASSERT(p->pending == NULL);
    return parse_inline(in, args, used, e);
}

void resp_parser_release(struct resp_parser *p)
{
    if (p->pending != NULL) {
        mem_free(p->pending->argv);
        FREE(&p->pending);
    }
}

size_t resp_parser_memory(const struct resp_parser *p)
{
    const struct resp_pending *q = p->pending;
    return q == NULL ? 0 : sizeof(*q) + q->cap * sizeof(*q->argv);
}

size_t resp_parser_wants(const struct resp_parser *p, size_t have)
{
    const struct resp_pending *q = p->pending;
    if (q == NULL || q->bulk_len < 0)
        return 0;
    size_t whole = q->pos + (size_t)q->bulk_len + 2;
    return whole > have ? whole - have : 0;
}
