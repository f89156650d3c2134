/* Numbers, times, globs, tokens and JSON: the first byte says which. */
#include <stdint.h>

#include "util/json.h"
#include "util/parse.h"
#include "util/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void numbers(struct slice s)
{
    uint64_t u;
    int64_t i;
    double d;
    struct buf b = {NULL, 0, 0};
    if (parse_u64(s, &u)) {
        buf_add_u64(&b, u);
        ASSERT(slice_eq(buf_slice(&b), s)); /* one text per number */
    }
    buf_clear(&b);
    if (parse_i64(s, &i)) {
        buf_add_i64(&b, i);
        ASSERT(slice_eq(buf_slice(&b), s));
    }
    (void)parse_double(s, &d);
    if (parse_duration_ms(s, &u))
        ASSERT(u <= DURATION_MS_MAX);
    if (parse_time_ms(s, &u))
        ASSERT(u <= TIME_MS_MAX);
    (void)parse_size(s, &u);
    buf_release(&b);
}

static void tokens(struct slice s)
{
    struct tokens t = {NULL, 0, 0, {NULL, 0, 0}}, back = t;
    struct buf line = {NULL, 0, 0};
    if (tokens_split(&t, s)) {
        for (size_t i = 0; i < t.len; i++) {
            tokens_quote(&line, t.at[i]);
            buf_add_char(&line, ' ');
        }
        bool ok = tokens_split(&back, buf_slice(&line));
        ASSERT(ok);
        ASSERT(back.len == t.len);
        for (size_t i = 0; i < t.len; i++)
            ASSERT(slice_eq(t.at[i], back.at[i]));
    }
    buf_release(&line);
    tokens_release(&t);
    tokens_release(&back);
}

static void json(struct slice s)
{
    struct json *j, *again;
    struct errbuf e;
    if (json_parse(s, 65536, &j, &e) != ERR_OK)
        return;
    struct buf b = {NULL, 0, 0};
    json_write(j, &b);
    enum err rc = json_parse(buf_slice(&b), 10 * 65536, &again, &e);
    ASSERT(rc == ERR_OK);
    ASSERT(json_kind(j) == json_kind(again));
    json_free(&again);
    json_free(&j);
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct slice s = slice_of(data + 1, size - 1);
    switch (data[0] % 4) {
    case 0:
        numbers(s);
        break;
    case 1:
        tokens(s);
        break;
    case 2:
        json(s);
        break;
    default: {
        /* Work is bounded by the product of the lengths; keep that small. */
        size_t half = data[1] % s.len;
        if (s.len < 600)
            (void)glob_match_nocase(slice_of(s.data, half),
                                    slice_of(s.data + half, s.len - half));
    }
    }
    return 0;
}
