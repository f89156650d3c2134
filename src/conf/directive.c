#include "conf/directive.h"

#include <string.h>

#include "util/alloc.h"
#include "util/tokens.h"

static const char *const supervised_words[] = {"no", "auto", "systemd", NULL};
static const char *const loglevel_words[] = {"debug", "verbose", "notice",
                                             "warning", NULL};
static const char *const appendfsync_words[] = {"always", "everysec", "no",
                                                NULL};
/* Behind the classes that there are: one that every redis.conf names. */
static const char *const obuf_words[] = {"normal", "pubsub", "replica", "slave",
                                         NULL};

/* Sections stand in the table as rows without a field, so that the order of
 * config.def is kept; they are taken out on first use. */
static const struct directive rows[] = {
#define CONF(ctype, cfield, cname, cdef, cmin, cmax, cflags, csince, chelp) \
    {.name = cname,                                                         \
     .def = cdef,                                                           \
     .type = CT_##ctype,                                                    \
     .offset = offsetof(struct config, cfield),                             \
     .min = cmin,                                                           \
     .max = cmax,                                                           \
     .flags = cflags,                                                       \
     .since = csince,                                                       \
     .help = chelp},
#define CONF_ENUM(cwords, cfield, cname, cdef, cflags, csince, chelp) \
    {.name = cname,                                                   \
     .def = cdef,                                                     \
     .type = CT_ENUM,                                                 \
     .offset = offsetof(struct config, cfield),                       \
     .words = cwords##_words,                                         \
     .flags = cflags,                                                 \
     .since = csince,                                                 \
     .help = chelp},
#define CONF_SECTION(title) {.section = title},
#include "conf/config.def"
#undef CONF
#undef CONF_ENUM
#undef CONF_SECTION
};

static struct directive table[DIRECTIVES_MAX];
static size_t table_len;

const struct directive *directives(size_t *n)
{
    if (table_len == 0) {
        const char *section = "";
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            if (rows[i].name == NULL) {
                section = rows[i].section;
                continue;
            }
            ASSERT(table_len < DIRECTIVES_MAX);
            table[table_len] = rows[i];
            table[table_len++].section = section;
        }
    }
    *n = table_len;
    return table;
}

const struct directive *directive_find(struct slice name, const char **near)
{
    size_t n;
    const struct directive *d = directives(&n);
    struct tokens_nearest nearest = {NULL, 0};
    for (size_t i = 0; i < n; i++) {
        if (slice_is(name, d[i].name))
            return &d[i];
        if ((d[i].flags & CF_FIXED) == 0)
            tokens_consider(&nearest, name, d[i].name);
    }
    if (near != NULL)
        *near = nearest.name;
    return NULL;
}

static void *field(const struct directive *d, struct config *c)
{
    return (char *)c + d->offset;
}

static const void *cfield(const struct directive *d, const struct config *c)
{
    return (const char *)c + d->offset;
}

/* One row for each type: the C type of the field says which. */
static uint64_t get_u64(const struct directive *d, const struct config *c)
{
    uint64_t v;
    memcpy(&v, cfield(d, c), sizeof(v));
    return v;
}

static int get_enum(const struct directive *d, const struct config *c)
{
    int v;
    memcpy(&v, cfield(d, c), sizeof(v));
    return v;
}

static char *get_str(const struct directive *d, const struct config *c)
{
    char *v;
    memcpy(&v, cfield(d, c), sizeof(v));
    return v;
}

static bool is_text(const struct directive *d)
{
    return d->type == CT_STR || d->type == CT_WORDS;
}

/* The largest unit that leaves an integer, for bounds in messages. */
static void add_size(struct buf *out, uint64_t v)
{
    static const struct {
        const char *suffix;
        uint64_t bytes;
    } units[] = {{"gb", 1u << 30}, {"mb", 1u << 20}, {"kb", 1u << 10}};
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (v != 0 && v % units[i].bytes == 0) {
            buf_add_u64(out, v / units[i].bytes);
            buf_add_str(out, units[i].suffix);
            return;
        }
    buf_add_u64(out, v);
}

static void add_ms(struct buf *out, uint64_t v)
{
    static const struct {
        const char *suffix;
        uint64_t ms;
    } units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}};
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (v != 0 && v % units[i].ms == 0) {
            buf_add_u64(out, v / units[i].ms);
            buf_add_str(out, units[i].suffix);
            return;
        }
    buf_add_u64(out, v);
    buf_add_str(out, "ms");
}

void directive_allowed(const struct directive *d, struct buf *out)
{
    switch (d->type) {
    case CT_BOOL:
        buf_add_str(out, "yes or no");
        break;
    case CT_ENUM:
        for (size_t i = 0; d->words[i] != NULL; i++) {
            if (i > 0)
                buf_add_str(out, d->words[i + 1] != NULL ? ", " : " or ");
            buf_add_str(out, d->words[i]);
        }
        break;
    case CT_U64:
    case CT_I64:
        buf_printf(out, "an integer from %lld to %llu", (long long)d->min,
                   (unsigned long long)d->max);
        break;
    case CT_SIZE:
        buf_add_str(out, "a size (bytes, or with kb mb gb)");
        if (d->max == CONF_SIZE_MAX && d->min <= 0)
            break;
        buf_add_str(out, d->max == CONF_SIZE_MAX ? " of at least " : " from ");
        add_size(out, (uint64_t)d->min);
        if (d->max != CONF_SIZE_MAX) {
            buf_add_str(out, " to ");
            add_size(out, d->max);
        }
        break;
    case CT_MS:
        buf_add_str(out, "a duration (ms, or with ms s m h d) from ");
        add_ms(out, (uint64_t)d->min);
        buf_add_str(out, " to ");
        add_ms(out, d->max);
        break;
    case CT_MODE:
        buf_printf(out, "octal permissions from 0 to %llo",
                   (unsigned long long)d->max);
        break;
    case CT_STR:
        buf_add_str(out, d->min > 0 ? "one word, not empty" : "one word");
        break;
    case CT_WORDS:
        buf_add_str(out, "one or more words");
        break;
    case CT_OBUF:
        buf_add_str(out,
                    "class (normal, pubsub, or replica, which is ignored), "
                    "hard and soft size, seconds; again for each class");
        break;
    }
}

static enum err refuse(const struct directive *d, struct slice word,
                       struct errbuf *e)
{
    struct buf allowed = {NULL, 0, 0};
    directive_allowed(d, &allowed);
    enum err rc;
    if ((d->flags & CF_SECRET) != 0)
        rc = err_set(e, ERR_SYNTAX, "%s must be %s", d->name,
                     buf_cstr(&allowed));
    else
        rc = err_set(e, ERR_SYNTAX, "%s must be %s, not '%.*s'", d->name,
                     buf_cstr(&allowed), (int)(word.len < 64 ? word.len : 64),
                     word.len > 0 ? word.data : "");
    buf_release(&allowed);
    return rc;
}

static int find_word(const char *const *words, struct slice word)
{
    for (int i = 0; words[i] != NULL; i++)
        if (slice_is(word, words[i]))
            return i;
    return -1;
}

static bool parse_mode(struct slice s, uint64_t *out)
{
    uint64_t v = 0;
    if (s.len == 0 || s.len > 6)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] < '0' || s.data[i] > '7')
            return false;
        v = v * 8 + (uint64_t)(s.data[i] - '0');
    }
    *out = v;
    return true;
}

/* Unsigned kinds: how to read them; the range is the caller's. */
static bool parse_unsigned(const struct directive *d, struct slice word,
                           uint64_t *v)
{
    switch (d->type) {
    case CT_U64:
        return parse_u64(word, v);
    case CT_SIZE:
        return parse_size(word, v);
    case CT_MS:
        return parse_duration_ms(word, v);
    case CT_MODE:
        return parse_mode(word, v);
    default:
        return false;
    }
}

/* Classes that are not named keep their bounds. No connection is of those that
 * we do not have, so theirs are checked and forgotten. */
static enum err parse_obuf(const struct directive *d, struct config *c,
                           const struct slice *words, size_t n,
                           struct errbuf *e)
{
    struct conf_obuf v;
    memcpy(&v, cfield(d, c), sizeof(v));
    if (n == 0 || n % 4 != 0)
        return refuse(d, n == 0 ? SLICE_EMPTY : words[n - 1], e);
    for (size_t i = 0; i < n; i += 4) {
        uint64_t hard, soft, seconds;
        int class = find_word(obuf_words, words[i]);
        if (class < 0)
            return refuse(d, words[i], e);
        if (!parse_size(words[i + 1], &hard))
            return refuse(d, words[i + 1], e);
        if (!parse_size(words[i + 2], &soft))
            return refuse(d, words[i + 2], e);
        if (!parse_u64(words[i + 3], &seconds))
            return refuse(d, words[i + 3], e);
        if (class >= OBUF_CLASSES)
            continue;
        v.of[class].hard_bytes = hard;
        v.of[class].soft_bytes = soft;
        v.of[class].soft_s = seconds;
    }
    memcpy(field(d, c), &v, sizeof(v));
    return ERR_OK;
}

static enum err parse_text(const struct directive *d, struct config *c,
                           const struct slice *words, size_t n,
                           struct errbuf *e)
{
    struct buf text = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_add_char(&text, ' ');
        buf_add_slice(&text, words[i]);
    }
    enum err rc = ERR_OK;
    /* A NUL would cut the value where nobody sees it. */
    if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL)
        rc = err_set(e, ERR_SYNTAX, "%s may not contain a NUL byte", d->name);
    else if (text.len < (size_t)d->min)
        rc = refuse(d, SLICE_EMPTY, e);
    if (rc == ERR_OK) {
        char *old = get_str(d, c), *new = mem_dup(buf_slice(&text));
        mem_free(old);
        memcpy(field(d, c), &new, sizeof(new));
    }
    buf_release(&text);
    return rc;
}

enum err directive_parse(const struct directive *d, struct config *c,
                         const struct slice *words, size_t n, struct errbuf *e)
{
    ASSERT(d != NULL && c != NULL);
    if (d->type == CT_OBUF)
        return parse_obuf(d, c, words, n, e);
    if (d->type == CT_WORDS)
        return parse_text(d, c, words, n, e);
    if (n != 1)
        return err_set(e, ERR_SYNTAX, "%s takes one value, not %zu", d->name,
                       n);
    if (d->type == CT_STR)
        return parse_text(d, c, words, n, e);
    if (d->type == CT_BOOL) {
        bool v = slice_is(words[0], "yes");
        if (!v && !slice_is(words[0], "no"))
            return refuse(d, words[0], e);
        memcpy(field(d, c), &v, sizeof(v));
        return ERR_OK;
    }
    if (d->type == CT_ENUM) {
        int v = find_word(d->words, words[0]);
        if (v < 0)
            return refuse(d, words[0], e);
        memcpy(field(d, c), &v, sizeof(v));
        return ERR_OK;
    }
    if (d->type == CT_I64) {
        int64_t v;
        if (!parse_i64(words[0], &v) || v < d->min || v > (int64_t)d->max)
            return refuse(d, words[0], e);
        memcpy(field(d, c), &v, sizeof(v));
        return ERR_OK;
    }
    uint64_t v;
    if (!parse_unsigned(d, words[0], &v) || v < (uint64_t)d->min || v > d->max)
        return refuse(d, words[0], e);
    memcpy(field(d, c), &v, sizeof(v));
    return ERR_OK;
}

static void print_obuf(const struct conf_obuf *v, struct buf *out)
{
    for (int i = 0; i < OBUF_CLASSES; i++)
        buf_printf(out, "%s%s %llu %llu %llu", i > 0 ? " " : "", obuf_words[i],
                   (unsigned long long)v->of[i].hard_bytes,
                   (unsigned long long)v->of[i].soft_bytes,
                   (unsigned long long)v->of[i].soft_s);
}

void directive_print(const struct directive *d, const struct config *c,
                     struct buf *out)
{
    struct conf_obuf obuf;
    bool yes;
    switch (d->type) {
    case CT_BOOL:
        memcpy(&yes, cfield(d, c), sizeof(yes));
        buf_add_str(out, yes ? "yes" : "no");
        break;
    case CT_ENUM:
        buf_add_str(out, d->words[get_enum(d, c)]);
        break;
    case CT_I64:
        buf_add_i64(out, (int64_t)get_u64(d, c));
        break;
    case CT_U64:
    case CT_SIZE:
    case CT_MS:
        buf_add_u64(out, get_u64(d, c));
        break;
    case CT_MODE:
        buf_printf(out, "%llo", (unsigned long long)get_u64(d, c));
        break;
    case CT_STR:
    case CT_WORDS:
        buf_add_str(out, get_str(d, c));
        break;
    case CT_OBUF:
        memcpy(&obuf, cfield(d, c), sizeof(obuf));
        print_obuf(&obuf, out);
        break;
    }
}

/* Are these words, with a blank between two, as they would be read again? */
static bool reads_back(struct slice text)
{
    struct tokens w = {NULL, 0, 0, {NULL, 0, 0}};
    struct buf again = {NULL, 0, 0};
    bool split = tokens_split(&w, text);
    for (size_t i = 0; i < w.len; i++) {
        if (i > 0)
            buf_add_char(&again, ' ');
        buf_add_slice(&again, w.at[i]);
    }
    bool same = split && text.len > 0 && slice_eq(buf_slice(&again), text);
    buf_release(&again);
    tokens_release(&w);
    return same;
}

void directive_print_words(const struct directive *d, const struct config *c,
                           struct buf *out)
{
    struct buf value = {NULL, 0, 0};
    directive_print(d, c, &value);
    bool plain = d->type == CT_OBUF || d->type == CT_WORDS;
    if (plain && reads_back(buf_slice(&value)))
        buf_add_slice(out, buf_slice(&value));
    else
        tokens_quote(out, buf_slice(&value));
    buf_release(&value);
}

bool directive_equal(const struct directive *d, const struct config *a,
                     const struct config *b)
{
    struct buf x = {NULL, 0, 0}, y = {NULL, 0, 0};
    directive_print(d, a, &x);
    directive_print(d, b, &y);
    bool same = slice_eq(buf_slice(&x), buf_slice(&y));
    buf_release(&x);
    buf_release(&y);
    return same;
}

void config_init(struct config *c)
{
    size_t n;
    const struct directive *d = directives(&n);
    struct tokens words = {NULL, 0, 0, {NULL, 0, 0}};
    memset(c, 0, sizeof(*c));
    for (size_t i = 0; i < n; i++) {
        struct slice empty = SLICE_LIT("");
        bool ok = tokens_split(&words, slice_str(d[i].def));
        ASSERT(ok);
        bool none = words.len == 0;
        struct errbuf e = {""};
        enum err rc = directive_parse(&d[i], c, none ? &empty : words.at,
                                      none ? 1 : words.len, &e);
        ASSERT(rc == ERR_OK); /* a default that its own rule refuses */
    }
    tokens_release(&words);
}

void config_copy(struct config *to, const struct config *from)
{
    size_t n;
    const struct directive *d = directives(&n);
    ASSERT(to != from);
    *to = *from;
    for (size_t i = 0; i < n; i++)
        if (is_text(&d[i])) {
            char *copy = mem_dup(slice_str(get_str(&d[i], from)));
            memcpy(field(&d[i], to), &copy, sizeof(copy));
        }
}

void config_release(struct config *c)
{
    size_t n;
    const struct directive *d = directives(&n);
    for (size_t i = 0; i < n; i++)
        if (is_text(&d[i]))
            mem_free(get_str(&d[i], c));
    memset(c, 0, sizeof(*c));
}
