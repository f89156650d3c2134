#include "resp/inline.h"

#include "util/tokens.h"

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* As Redis: fewer bytes end a word than are skipped in front of one. */
static bool ends_word(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
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

/* A word that has quotes somewhere. Its offset stands in `data` until the text
 * is complete, because the text may move while it grows. */
static const char *add_quoted_word(struct resp_args *args, const char *p,
                                   const char *end)
{
    size_t at = args->text.len;
    while (p < end && !ends_word(*p)) {
        if (*p == '"' || *p == '\'') {
            p = tokens_unquote(&args->text, p, end);
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
        while (p < end && !ends_word(*p) && *p != '"' && *p != '\'')
            p++;
        if (p == end || ends_word(*p)) {
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
