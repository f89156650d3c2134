#include "commands/value.h"

#include <stdio.h>

#include "util/parse.h"

enum { SHOWN_MAX = 64 };

/* Length of the UTF-8 sequence at p, or 0 if it is none. */
static size_t utf8_len(const unsigned char *p, size_t left)
{
    size_t n = p[0] < 0x80   ? 1
               : p[0] < 0xc2 ? 0
               : p[0] < 0xe0 ? 2
               : p[0] < 0xf0 ? 3
               : p[0] < 0xf5 ? 4
                             : 0;
    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

const char *value_shown(struct slice word, char *out, size_t size)
{
    size_t at = 0, i = 0;
    ASSERT(size >= SHOWN_MAX + 8);
    while (i < word.len && at < SHOWN_MAX) {
        const unsigned char *p = (const unsigned char *)word.data + i;
        size_t n = utf8_len(p, word.len - i);
        if (n == 0 || *p < ' ' || *p == 127) {
            out[at++] = '?';
            i++;
            continue;
        }
        memcpy(out + at, p, n);
        at += n;
        i += n;
    }
    memcpy(out + at, i < word.len ? "..." : "", i < word.len ? 4 : 1);
    return out;
}

static bool bounded(const struct value_spec *spec)
{
    return spec->min != 0 || spec->max != 0;
}

static bool has_max(const struct value_spec *spec)
{
    return spec->max != 0 || spec->min < 0;
}

static void add_duration(struct buf *out, uint64_t ms)
{
    static const struct {
        uint64_t ms;
        const char *suffix;
    } units[] = {
        {86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"},
    };
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if ((ms > 0 && ms % units[i].ms == 0) || units[i].ms == 1) {
            buf_add_u64(out, ms / units[i].ms);
            buf_add_str(out, units[i].suffix);
            return;
        }
    }
}

static void add_range(const struct value_spec *spec, struct buf *out)
{
    void (*add)(struct buf *, uint64_t) =
        spec->type == OPT_MS ? add_duration : NULL;
    if (!bounded(spec))
        return;
    bool closed = has_max(spec) && spec->max != INT64_MAX;
    buf_add_str(out, closed ? " from " : " of at least ");
    if (add != NULL)
        add(out, (uint64_t)spec->min);
    else
        buf_add_i64(out, spec->min);
    if (!closed)
        return;
    buf_add_str(out, " to ");
    if (add != NULL)
        add(out, (uint64_t)spec->max);
    else
        buf_add_i64(out, spec->max);
}

void value_wants(const struct value_spec *spec, struct buf *out)
{
    switch (spec->type) {
    case OPT_FLAG:
        buf_add_str(out, "no value");
        return;
    case OPT_BYTES:
        if (has_max(spec))
            buf_printf(out, "at most %lld bytes", (long long)spec->max);
        else
            buf_add_str(out, "a string");
        return;
    case OPT_NAME:
        buf_printf(out, "a name of 1 to %lld bytes without blanks",
                   (long long)(has_max(spec) ? spec->max : VALUE_NAME_MAX));
        return;
    case OPT_I64:
    case OPT_U64:
    case OPT_U32:
        buf_add_str(out, "a whole number");
        add_range(spec, out);
        return;
    case OPT_F64:
        buf_add_str(out, "a number");
        add_range(spec, out);
        return;
    case OPT_MS:
        buf_add_str(out, "a duration");
        add_range(spec, out);
        buf_add_str(out, " such as 250ms, 30s, 5m, 2h or 7d");
        if (!has_max(spec))
            buf_printf(out, " (up to %llud)",
                       (unsigned long long)(DURATION_MS_MAX / 86400000));
        return;
    case OPT_TIME:
        buf_add_str(out, "a time in unix milliseconds or RFC 3339, such as "
                         "2026-01-31T09:30:00Z, before the year 10000");
        return;
    case OPT_SIZE:
        buf_add_str(out, "a size such as 512, 64kb or 10mb");
        add_range(spec, out);
        return;
    case OPT_ENUM:
        for (size_t i = 0; spec->words[i] != NULL; i++) {
            if (i > 0)
                buf_add_str(out, spec->words[i + 1] == NULL ? " or " : ", ");
            buf_add_str(out, spec->words[i]);
        }
        return;
    case OPT_PAIR:
        buf_add_str(out, "name=value");
        return;
    case OPT_LIST:
        buf_add_str(out, "a count and as many words");
        return;
    case OPT_REST:
        buf_add_str(out, "at least one word");
        return;
    case OPT_TWO:
        buf_add_str(out, "two words");
        return;
    }
}

static enum err wrong(const struct value_spec *spec, struct slice word,
                      struct errbuf *e)
{
    char shown[SHOWN_MAX + 16];
    struct buf wants = {0};
    value_wants(spec, &wants);
    (void)err_set(e, ERR_SYNTAX, "%s: %s wants %.*s, not '%s'", spec->command,
                  spec->name, SLICE_FMT(buf_slice(&wants)),
                  value_shown(word, shown, sizeof(shown)));
    buf_release(&wants);
    return ERR_SYNTAX;
}

/* An empty word where one is wanted is refused: as a filter it would mean all
 * jobs, as a key none. */
static enum err parse_bytes(const struct value_spec *spec, struct slice word,
                            struct errbuf *e)
{
    bool few = spec->min > 0 && word.len < (uint64_t)spec->min;
    if (!few && (!has_max(spec) || word.len <= (uint64_t)spec->max))
        return ERR_OK;
    char least[32] = "";
    if (spec->min > 0 && spec->min < spec->max)
        snprintf(least, sizeof(least), "%lld to ", (long long)spec->min);
    return err_set(e, ERR_LIMIT, "%s: %s has %zu bytes, %s%lld are allowed",
                   spec->command, spec->name, word.len, least,
                   (long long)spec->max);
}

/* Blanks and control characters would make names unreadable in lists, logs and
 * metrics; everything else, UTF-8 included, is the user's affair. */
static bool parse_name(const struct value_spec *spec, struct slice word)
{
    size_t max = has_max(spec) ? (size_t)spec->max : VALUE_NAME_MAX;
    return word.len > 0 && word.len <= max && slice_blank(word) == word.len;
}

static bool within(const struct value_spec *spec, uint64_t n)
{
    return (spec->min <= 0 || n >= (uint64_t)spec->min) &&
           (!has_max(spec) || n <= (uint64_t)spec->max);
}

static bool parse_pair(struct slice word, struct opt_pair *to)
{
    const char *eq = word.len == 0 ? NULL : memchr(word.data, '=', word.len);
    if (eq == NULL || eq == word.data)
        return false;
    size_t key_len = (size_t)(eq - word.data);
    to->key = slice_of(word.data, key_len);
    to->value = slice_of(eq + 1, word.len - key_len - 1);
    return true;
}

static bool parse_enum(const struct value_spec *spec, struct slice word,
                       uint32_t *to)
{
    for (uint32_t i = 0; spec->words[i] != NULL; i++) {
        if (slice_is(word, spec->words[i])) {
            *to = i;
            return true;
        }
    }
    return false;
}

static bool parse_unsigned(const struct value_spec *spec, struct slice word,
                           uint64_t *n)
{
    bool ok = spec->type == OPT_MS     ? parse_duration_ms(word, n)
              : spec->type == OPT_TIME ? parse_time_ms(word, n)
              : spec->type == OPT_SIZE ? parse_size(word, n)
                                       : parse_u64(word, n);
    return ok && within(spec, *n) &&
           (spec->type != OPT_U32 || *n <= UINT32_MAX);
}

enum err value_parse(const struct value_spec *spec, struct slice word, void *to,
                     struct errbuf *e)
{
    uint64_t n;
    bool ok = false;
    switch (spec->type) {
    case OPT_BYTES:
        *(struct slice *)to = word;
        return parse_bytes(spec, word, e);
    case OPT_NAME:
        ok = parse_name(spec, word);
        *(struct slice *)to = word;
        break;
    case OPT_I64:
        ok = parse_i64(word, to) &&
             (!bounded(spec) ||
              (*(int64_t *)to >= spec->min &&
               (!has_max(spec) || *(int64_t *)to <= spec->max)));
        break;
    case OPT_U32:
        ok = parse_unsigned(spec, word, &n);
        if (ok)
            *(uint32_t *)to = (uint32_t)n;
        break;
    case OPT_U64:
    case OPT_MS:
    case OPT_TIME:
    case OPT_SIZE:
        ok = parse_unsigned(spec, word, to);
        break;
    case OPT_F64:
        ok = parse_double(word, to) &&
             (!bounded(spec) ||
              (*(double *)to >= (double)spec->min &&
               (!has_max(spec) || *(double *)to <= (double)spec->max)));
        break;
    case OPT_ENUM:
        ok = parse_enum(spec, word, to);
        break;
    case OPT_PAIR:
        ok = parse_pair(word, to);
        break;
    case OPT_FLAG:
    case OPT_LIST:
    case OPT_REST:
    case OPT_TWO:
        assert_fail("a type without a single word", __FILE__, __LINE__,
                    __func__);
    }
    return ok ? ERR_OK : wrong(spec, word, e);
}
