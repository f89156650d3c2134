#include "util/tokens.h"

#include "util/alloc.h"
#include "util/words.h"

void tokens_release(struct tokens *w)
{
    FREE(&w->at);
    buf_release(&w->bytes);
    w->len = w->cap = 0;
}

static bool blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The byte behind a backslash at p[0], inside double quotes; returns how many
 * bytes of the line it took. */
static size_t unescape(const char *p, const char *end, char *out)
{
    if (end - p >= 4 && p[1] == 'x' && hex(p[2]) >= 0 && hex(p[3]) >= 0) {
        *out = (char)(hex(p[2]) * 16 + hex(p[3]));
        return 4;
    }
    switch (p[1]) {
    case 'n':
        *out = '\n';
        break;
    case 'r':
        *out = '\r';
        break;
    case 't':
        *out = '\t';
        break;
    case 'b':
        *out = '\b';
        break;
    case 'a':
        *out = '\a';
        break;
    default:
        *out = p[1];
        break;
    }
    return 2;
}

const char *tokens_unquote(struct buf *out, const char *p, const char *end)
{
    char quote = *p++;
    ASSERT(quote == '"' || quote == '\'');
    while (p < end && *p != quote) {
        char c = *p;
        size_t used = 1;
        if (c == '\\' && quote == '"' && end - p >= 2)
            used = unescape(p, end, &c);
        else if (c == '\\' && quote == '\'' && end - p >= 2 && p[1] == '\'')
            c = p[used++];
        buf_add_char(out, c);
        p += used;
    }
    if (p == end)
        return NULL;
    p++;
    return p == end || blank(*p) ? p : NULL;
}

static void push(struct tokens *w, size_t start)
{
    if (w->len == w->cap) {
        w->cap = w->cap == 0 ? 8 : w->cap * 2;
        w->at =
            (struct slice *)mem_realloc(w->at, w->cap * sizeof(struct slice));
    }
    w->at[w->len++] = slice_of(NULL, w->bytes.len - start);
}

bool tokens_split(struct tokens *w, struct slice line)
{
    w->len = 0;
    buf_clear(&w->bytes);
    if (line.len == 0)
        return true;
    const char *p = line.data, *end = p + line.len;
    for (;;) {
        while (p < end && blank(*p))
            p++;
        if (p == end)
            break;
        size_t start = w->bytes.len;
        while (p < end && !blank(*p)) {
            if (*p == '"' || *p == '\'') {
                p = tokens_unquote(&w->bytes, p, end);
                if (p == NULL) {
                    w->len = 0;
                    return false;
                }
                break;
            }
            buf_add_char(&w->bytes, *p++);
        }
        push(w, start);
    }
    /* The buffer has stopped moving: now the words know where they are. */
    (void)buf_room(&w->bytes, 1);
    size_t offset = 0;
    for (size_t i = 0; i < w->len; i++) {
        w->at[i].data = w->bytes.data + offset;
        offset += w->at[i].len;
    }
    return true;
}

static bool bare(struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if (c <= ' ' || c >= 127 || c == '"' || c == '\'' || c == '\\')
            return false;
    }
    return s.len > 0 && s.data[0] != '#';
}

void tokens_quote(struct buf *out, struct slice s)
{
    if (bare(s)) {
        buf_add_slice(out, s);
        return;
    }
    buf_add_char(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c < ' ' || c >= 127)
            buf_printf(out, "\\x%02x", c);
        else
            buf_add_char(out, (char)c);
    }
    buf_add_char(out, '"');
}

void tokens_consider(struct tokens_nearest *n, struct slice wanted,
                     const char *name)
{
    /* A third of the word may differ; more is another word. */
    unsigned max = (unsigned)(wanted.len < 48 ? wanted.len : 48) / 3 + 1;
    unsigned d = words_distance(wanted, slice_str(name), max);
    if (d > max || d >= strlen(name))
        return;
    if (n->name == NULL || d < n->distance)
        *n = (struct tokens_nearest){name, d};
}
