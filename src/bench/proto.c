#include "bench/proto.h"

#include <strings.h>

#include "util/assert.h"

static const struct proto *const protos[] = {
    &proto_belfry,
    &proto_redis_stream,
    &proto_redis_list,
    &proto_beanstalkd,
};

const struct proto *proto_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(protos); i++)
        if (strcasecmp(protos[i]->name, name) == 0)
            return protos[i];
    return NULL;
}

void proto_array(struct buf *out, size_t words)
{
    buf_add_char(out, '*');
    buf_add_u64(out, words);
    buf_add(out, "\r\n", 2);
}

void proto_bulk(struct buf *out, struct slice s)
{
    buf_add_char(out, '$');
    buf_add_u64(out, s.len);
    buf_add(out, "\r\n", 2);
    buf_add_slice(out, s);
    buf_add(out, "\r\n", 2);
}

void proto_bulk_u64(struct buf *out, uint64_t n)
{
    char digits[24];
    size_t i = sizeof(digits);
    do {
        digits[--i] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    proto_bulk(out, slice_of(digits + i, sizeof(digits) - i));
}

/* The next word at *line, which moves behind it; empty at the end. */
static struct slice next_word(const char **line)
{
    const char *s = *line + strspn(*line, " ");
    size_t n = strcspn(s, " ");
    *line = s + n;
    return slice_of(s, n);
}

size_t proto_words(const char *line)
{
    size_t n = 0;
    while (next_word(&line).len > 0)
        n++;
    return n;
}

void proto_add_words(struct buf *out, const char *line)
{
    struct slice word;
    while ((word = next_word(&line)).len > 0)
        proto_bulk(out, word);
}

void proto_line(struct buf *out, const char *line)
{
    proto_array(out, proto_words(line));
    proto_add_words(out, line);
}
