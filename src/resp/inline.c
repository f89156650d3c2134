#include "resp/inline.h"

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool parse_resp_int(struct slice s, int64_t *out)
{
    bool negative = s.len > 0 && s.data[0] == '-';
    size_t i = negative ? 1 : 0;
    uint64_t v = 0;
    uint64_t max = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    if (i == s.len || s.len - i > 19)
        return false;
    if (s.data[i] == '0' && s.len > 1)
        return false;
    for (; i < s.len; i++) {
        if (s.data[i] < '0' || s.data[i] > '9')
            return false;
        v = v * 10 + (uint64_t)(s.data[i] - '0');
    }
    if (v > max)
        return false;
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The escape behind a backslash at p, inside double quotes. */
static const char *add_escape(struct buf *text, const char *p, const char *end)
{
    if (end - p >= 4 && p[1] == 'x' && hex_digit(p[2]) >= 0 &&
        hex_digit(p[3]) >= 0) {
        buf_add_char(text, (char)(hex_digit(p[2]) * 16 + hex_digit(p[3])));
        return p + 4;
    }
    char c = p[1];
    switch (c) {
    case 'n':
        c = '\n';
        break;
    case 'r':
        c = '\r';
        break;
    case 't':
        c = '\t';
        break;
    case 'b':
        c = '\b';
        break;
    case 'a':
        c = '\a';
        break;
    default:
        break;
    }
    buf_add_char(text, c);
    return p + 2;
}

/* A quoted run that begins at p; returns the byte behind the closing quote, or
 * NULL if it has none, or if a word goes on right behind it. */
static const char *add_quoted(struct buf *text, const char *p, const char *end)
{
    char quote = *p++;
    while (p < end && *p != quote) {
        if (quote == '"' && *p == '\\' && p + 1 < end) {
            p = add_escape(text, p, end);
        } else if (quote == '\'' && end - p >= 2 && p[0] == '\\' &&
                   p[1] == '\'') {
            buf_add_char(text, '\'');
            p += 2;
        } else {
            buf_add_char(text, *p++);
        }
    }
    if (p == end)
        return NULL;
    p++;
    return p == end || is_space(*p) ? p : NULL;
}

/* A word that has quotes somewhere. Its offset stands in `data` until the text
 * is complete, because the text may move while it grows. */
static const char *add_quoted_word(struct resp_args *args, const char *p,
                                   const char *end)
{
    size_t at = args->text.len;
    while (p < end && !is_space(*p)) {
        if (*p == '"' || *p == '\'') {
            p = add_quoted(&args->text, p, end);
            if (p == NULL)
                return NULL;
            break; /* a closing quote ends the word */
        }
        buf_add_char(&args->text, *p++);
    }
    resp_args_add(args, (struct slice){NULL, args->text.len - at});
    return p;
}

bool split_words(struct slice line, struct resp_args *args)
{
    const char *p = line.data, *end = line.data + line.len;
    args->argc = 0;
    buf_clear(&args->text);
    for (;;) {
        while (p < end && is_space(*p))
            p++;
        if (p == end)
            break;
        const char *word = p;
        while (p < end && !is_space(*p) && *p != '"' && *p != '\'')
            p++;
        if (p == end || is_space(*p)) {
            resp_args_add(args, slice_of(word, (size_t)(p - word)));
            continue;
        }
        p = add_quoted_word(args, word, end);
        if (p == NULL)
            return false;
    }
    const char *text = args->text.data == NULL ? "" : args->text.data;
    for (uint32_t i = 0; i < args->argc; i++) {
        if (args->argv[i].data == NULL) {
            args->argv[i].data = text;
            text += args->argv[i].len;
        }
    }
    return true;
}

enum resp_status parse_inline(struct slice in, struct resp_args *args,
                              size_t *used, struct errbuf *e)
{
    const char *nl = (const char *)memchr(in.data, '\n', in.len);
    /* As Redis: a NUL hides what is behind it. */
    if (nl != NULL && memchr(in.data, '\0', (size_t)(nl - in.data)) != NULL)
        nl = NULL;
    if (nl == NULL) {
        if (in.len <= RESP_INLINE_MAX)
            return RESP_MORE;
        (void)err_set(e, ERR_SYNTAX, "Protocol error: too big inline request");
        return RESP_ERROR;
    }
    size_t len = (size_t)(nl - in.data);
    *used = len + 1;
    if (len > 0 && in.data[len - 1] == '\r')
        len--;
    if (!split_words(slice_of(in.data, len), args)) {
        (void)err_set(e, ERR_SYNTAX,
                      "Protocol error: unbalanced quotes in request");
        return RESP_ERROR;
    }
    return args->argc == 0 ? RESP_NOTHING : RESP_COMMAND;
}
