#include <stdio.h>

#include "cron/pattern.h"
#include "util/alloc.h"
#include "util/hash.h"
#include "util/parse.h"

/* The parser. A pattern is cut into words; each word is a field, a comma list
 * of items:
 *
 *     item = value | value - value [/ step] | * [/ step]
 *          | H [( value - value )] [/ step]
 *          | day of month: L | nW | LW      | day of week: d#n | d#L | dL
 *
 * The first thing that is wrong ends it, with the column (from 1) and what the
 * field allows. */

enum field_kind { SECOND, MINUTE, HOUR, DOM, MONTH, DOW, YEAR, FIELDS };

static const struct field {
    const char *name;
    unsigned min, max;
    unsigned hash_max; /* H stays within every month */
    const char *const *words;
    unsigned first_word; /* the value of words[0] */
    const char *allowed;
} fields[FIELDS] = {
    [SECOND] = {"second", 0, 59, 59, NULL, 0, "0-59"},
    [MINUTE] = {"minute", 0, 59, 59, NULL, 0, "0-59"},
    [HOUR] = {"hour", 0, 23, 23, NULL, 0, "0-23"},
    [DOM] = {"day of month", 1, 31, 28, NULL, 0, "1-31, L, LW or a day with W"},
    [MONTH] = {"month", 1, 12, 12,
               (const char *const[]){"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                     "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
                                     NULL},
               1, "1-12 or JAN-DEC"},
    [DOW] = {"day of week", 0, 7, 6,
             (const char *const[]){"SUN", "MON", "TUE", "WED", "THU", "FRI",
                                   "SAT", NULL},
             0, "0-7 or SUN-SAT, with L, #1 to #5 or #L behind"},
    [YEAR] = {"year", CRON_YEAR_MIN, CRON_YEAR_MAX, 0, NULL, 0, "1970-2199"},
};

struct parser {
    const char *start, *p, *end; /* of the text; `end` of the word in hand */
    enum field_kind kind;
    struct slice hash_name;
    struct cron *c;
    struct errbuf *e;
};

static int column(const struct parser *ps, const char *at)
{
    return (int)(at - ps->start) + 1;
}

/* "column 3: <the complaint> in the minute field, which takes 0-59 ...". */
static enum err wrong(const struct parser *ps, const char *at, const char *what)
{
    const struct field *f = &fields[ps->kind];
    return err_set(ps->e, ERR_SYNTAX,
                   "pattern, column %d: %s in the %s field, which takes %s%s",
                   column(ps, at), what, f->name, f->allowed,
                   ps->kind == YEAR ? ", lists, ranges and steps"
                                    : ", lists, ranges, steps, * and H");
}

static bool at(const struct parser *ps, char c)
{
    return ps->p < ps->end && *ps->p == c;
}

static bool at_nocase(const struct parser *ps, char upper)
{
    return ps->p < ps->end && (*ps->p == upper || *ps->p == upper + 32);
}

static bool eat(struct parser *ps, char c)
{
    if (!at(ps, c))
        return false;
    ps->p++;
    return true;
}

static bool is_digit(const struct parser *ps)
{
    return ps->p < ps->end && *ps->p >= '0' && *ps->p <= '9';
}

static enum err number(struct parser *ps, unsigned *out)
{
    const char *from = ps->p;
    unsigned n = 0;
    for (; is_digit(ps); ps->p++)
        if (n < 100000)
            n = n * 10 + (unsigned)(*ps->p - '0');
    if (ps->p == from)
        return wrong(ps, from,
                     from == ps->end ? "a number is missing"
                                     : "a number is expected");
    *out = n;
    return ERR_OK;
}

/* A number or a name, within the field's bounds; `first` is that of the range
 * which it ends, or 0. */
static enum err value(struct parser *ps, unsigned first, unsigned *out)
{
    const struct field *f = &fields[ps->kind];
    const char *from = ps->p;
    if (f->words != NULL && ps->end - ps->p >= 3) {
        struct slice word = slice_of(ps->p, 3);
        for (unsigned i = 0; f->words[i] != NULL; i++)
            if (slice_is(word, f->words[i])) {
                ps->p += 3;
                *out = f->first_word + i;
                /* FRI-SUN is meant as it is said, and so is SUN-SUN. */
                if (ps->kind == DOW && first > 0 && i == 0)
                    *out = 7;
                return ERR_OK;
            }
    }
    if (!is_digit(ps))
        return wrong(ps, from,
                     from == ps->end ? "a value is missing"
                                     : "this is not a value");
    enum err rc = number(ps, out);
    if (rc != ERR_OK)
        return rc;
    if (*out < f->min || *out > f->max) {
        char what[48];
        (void)snprintf(what, sizeof(what), "%.*s is out of range",
                       (int)(ps->p - from < 8 ? ps->p - from : 8), from);
        return wrong(ps, from, what);
    }
    return ERR_OK;
}

static enum err step(struct parser *ps, unsigned *out)
{
    const struct field *f = &fields[ps->kind];
    const char *from = ps->p;
    enum err rc = number(ps, out);
    if (rc != ERR_OK)
        return rc;
    unsigned most = f->max - f->min + 1;
    if (*out == 0 || *out > most) {
        char what[64];
        (void)snprintf(what, sizeof(what), "a step of %u (1 to %u are allowed)",
                       *out, most);
        return wrong(ps, from, what);
    }
    return ERR_OK;
}

static void put(struct cron *c, enum field_kind kind, unsigned v)
{
    switch (kind) {
    case SECOND:
        c->second |= UINT64_C(1) << v;
        break;
    case MINUTE:
        c->minute |= UINT64_C(1) << v;
        break;
    case HOUR:
        c->hour |= UINT32_C(1) << v;
        break;
    case DOM:
        c->dom |= UINT32_C(1) << v;
        break;
    case MONTH:
        c->month |= (uint16_t)(1u << v);
        break;
    case DOW:
        c->dow |= (uint8_t)(1u << v % 7);
        break;
    case YEAR:
        v -= CRON_YEAR_MIN;
        c->years[v / 64] |= UINT64_C(1) << v % 64;
        break;
    case FIELDS:
        ASSERT(false);
    }
}

static void put_range(struct cron *c, enum field_kind kind, unsigned from,
                      unsigned to, unsigned by)
{
    for (unsigned v = from; v <= to; v += by)
        put(c, kind, v);
}

/* Seconds, minutes and hours that come "every so often". */
static void note_interval(struct parser *ps)
{
    if (ps->kind <= HOUR)
        ps->c->elapsed = true;
}

/* Behind a range: "/ step" if there is one. */
static enum err range_end(struct parser *ps, unsigned from, unsigned to)
{
    unsigned by = 1;
    if (eat(ps, '/')) {
        enum err rc = step(ps, &by);
        if (rc != ERR_OK)
            return rc;
        note_interval(ps);
    }
    put_range(ps->c, ps->kind, from, to, by);
    return ERR_OK;
}

static enum err item_star(struct parser *ps)
{
    const struct field *f = &fields[ps->kind];
    ps->p++;
    note_interval(ps);
    return range_end(ps, f->min, f->max);
}

/* H, H/step, H(a-b), H(a-b)/step: the hash picks the value, or where the steps
 * begin. */
static enum err item_hash(struct parser *ps)
{
    const struct field *f = &fields[ps->kind];
    const char *begin = ps->p++;
    unsigned from = f->min, to = f->hash_max, by = 0;
    enum err rc;
    if (ps->kind == YEAR)
        return wrong(ps, begin, "H is not possible");
    if (eat(ps, '(')) {
        const char *range = ps->p;
        rc = value(ps, 0, &from);
        if (rc != ERR_OK)
            return rc;
        if (!eat(ps, '-'))
            return wrong(ps, ps->p, "H( needs a range such as H(0-29)");
        rc = value(ps, from, &to);
        if (rc != ERR_OK)
            return rc;
        if (from > to)
            return wrong(ps, range, "the range runs backwards");
        if (!eat(ps, ')'))
            return wrong(ps, ps->p, "a ) is missing");
    }
    if (eat(ps, '/')) {
        const char *number_at = ps->p;
        rc = step(ps, &by);
        if (rc != ERR_OK)
            return rc;
        if (by > to - from + 1)
            return wrong(ps, number_at, "the step is longer than H's range");
        note_interval(ps);
    }
    uint64_t hash = hash64_seed(ps->hash_name, (uint64_t)ps->kind + 1);
    if (by == 0)
        put(ps->c, ps->kind, from + (unsigned)(hash % (to - from + 1)));
    else
        put_range(ps->c, ps->kind, from + (unsigned)(hash % by), to, by);
    return ERR_OK;
}

/* L, LW and nW. W stands alone: the specification has it in no list. */
static enum err item_dom_special(struct parser *ps, unsigned day, bool alone)
{
    const char *from = ps->p;
    bool last = day == 0;
    if (last)
        ps->p++;
    if (!at_nocase(ps, 'W')) {
        ps->c->dom_last = true;
        return ERR_OK;
    }
    from = ps->p++;
    if (!alone)
        return wrong(ps, from, "W cannot stand in a list or range");
    if (last)
        ps->c->dom_last_workday = true;
    else
        ps->c->dom_workday = (uint8_t)day;
    return ERR_OK;
}

/* Behind a weekday: #n, #L or L. */
static enum err item_dow_special(struct parser *ps, unsigned day)
{
    uint8_t bit = (uint8_t)(1u << day % 7);
    bool hash = eat(ps, '#');
    if (at_nocase(ps, 'L')) {
        ps->p++;
        ps->c->dow_last |= bit;
        return ERR_OK;
    }
    ASSERT(hash);
    const char *from = ps->p;
    unsigned n;
    enum err rc = number(ps, &n);
    if (rc != ERR_OK)
        return rc;
    if (n < 1 || n > 5)
        return wrong(ps, from, "# takes 1 to 5 or L");
    ps->c->nth[n - 1] |= bit;
    return ERR_OK;
}

static enum err item(struct parser *ps, bool alone)
{
    const char *begin = ps->p;
    if (at(ps, '*'))
        return item_star(ps);
    if (at(ps, '?')) {
        if (ps->kind != DOM && ps->kind != DOW)
            return wrong(ps, begin, "? is for the two day fields only, not");
        if (!alone)
            return wrong(ps, begin, "? cannot stand in a list");
        ps->p++;
        put_range(ps->c, ps->kind, ps->kind == DOM ? 1 : 0,
                  ps->kind == DOM ? 31 : 6, 1);
        return ERR_OK;
    }
    if (at_nocase(ps, 'H'))
        return item_hash(ps);
    if (ps->kind == DOM && at_nocase(ps, 'L'))
        return item_dom_special(ps, 0, alone);
    if (at(ps, '/'))
        return wrong(ps, begin, "a step needs * or a range before it");
    if (at(ps, '+'))
        return wrong(ps, begin,
                     "+ is allowed only as the first character of the day of "
                     "week, not");

    unsigned from, to;
    enum err rc = value(ps, 0, &from);
    if (rc != ERR_OK)
        return rc;
    if (ps->kind == DOM && at_nocase(ps, 'W'))
        return item_dom_special(ps, from, alone);
    if (ps->kind == DOW && (at(ps, '#') || at_nocase(ps, 'L')))
        return item_dow_special(ps, from);
    if (eat(ps, '-')) {
        rc = value(ps, from, &to);
        if (rc != ERR_OK)
            return rc;
        if (from > to)
            return wrong(ps, begin, "the range runs backwards");
        return range_end(ps, from, to);
    }
    if (at(ps, '/'))
        return wrong(ps, ps->p, "a step needs * or a range before it");
    put(ps->c, ps->kind, from);
    return ERR_OK;
}

static enum err field(struct parser *ps)
{
    const char *begin = ps->p;
    if (ps->kind == DOW)
        ps->c->both = eat(ps, '+');
    /* Only the first character says that a day field is unrestricted. */
    bool star = at(ps, '*') || at(ps, '?');
    if (ps->kind == DOM)
        ps->c->dom_star = star;
    if (ps->kind == DOW)
        ps->c->dow_star = star;
    bool list = memchr(begin, ',', (size_t)(ps->end - begin)) != NULL;
    do {
        enum err rc = item(ps, !list);
        if (rc != ERR_OK)
            return rc;
    } while (eat(ps, ','));
    if (ps->p != ps->end)
        return wrong(ps, ps->p, "something unexpected");
    return ERR_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The next word, or an empty one at the end. */
static struct slice next_word(const char **p, const char *end)
{
    while (*p < end && is_blank(**p))
        (*p)++;
    const char *from = *p;
    while (*p < end && !is_blank(**p))
        (*p)++;
    return slice_of(from, (size_t)(*p - from));
}

static enum err fields_parse(struct parser *ps, struct slice text)
{
    const char *p = text.data, *end = text.data + text.len;
    struct slice words[FIELDS + 1];
    unsigned n = 0;
    for (; n < FIELDS + 1; n++) {
        words[n] = next_word(&p, end);
        if (words[n].len == 0)
            break;
    }
    if (n < 5 || n > FIELDS) {
        char found[24];
        (void)snprintf(found, sizeof(found), n > FIELDS ? "more" : "%u", n);
        return err_set(ps->e, ERR_SYNTAX,
                       "a pattern has 5 fields (minute hour day-of-month month "
                       "day-of-week), 6 (second first) or 7 (year last), or "
                       "is a nickname such as @daily; here are %s",
                       found);
    }
    struct cron *c = ps->c;
    enum field_kind kind = n == 5 ? MINUTE : SECOND;
    c->minutes = n == 5;
    if (c->minutes)
        put(c, SECOND, 0);
    if (n < 7)
        put_range(c, YEAR, CRON_YEAR_MIN, CRON_YEAR_MAX, 1);
    for (unsigned i = 0; i < n; i++, kind++) {
        ps->kind = kind;
        ps->p = words[i].data;
        ps->end = words[i].data + words[i].len;
        enum err rc = field(ps);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

static enum err nickname_parse(struct parser *ps, struct slice text)
{
    static const struct {
        const char *name, *pattern;
    } nicknames[] = {
        {"@yearly", "0 0 1 1 *"},  {"@annually", "0 0 1 1 *"},
        {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
        {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"},  {"@reboot", NULL},
    };
    const char *p = text.data, *end = text.data + text.len;
    struct slice name = next_word(&p, end), arg = next_word(&p, end);
    if (slice_eq(name, SLICE_LIT("@every"))) {
        if (next_word(&p, end).len > 0)
            arg = SLICE_EMPTY;
        if (!parse_duration_ms(arg, &ps->c->every_ms) || ps->c->every_ms == 0)
            return err_set(ps->e, ERR_SYNTAX,
                           "pattern, column %d: @every takes one duration such "
                           "as 90s, 5m or 2h",
                           column(ps, name.data + name.len) + 1);
        ps->c->every = true;
        return ERR_OK;
    }
    for (size_t i = 0; i < ARRAY_LEN(nicknames); i++) {
        if (!slice_eq(name, slice_str(nicknames[i].name)))
            continue;
        if (arg.len > 0)
            return err_set(ps->e, ERR_SYNTAX,
                           "pattern, column %d: nothing may follow %s",
                           column(ps, arg.data), nicknames[i].name);
        ps->c->reboot = nicknames[i].pattern == NULL;
        if (ps->c->reboot)
            return ERR_OK;
        struct slice pattern = slice_str(nicknames[i].pattern);
        ps->start = pattern.data;
        return fields_parse(ps, pattern);
    }
    return err_set(ps->e, ERR_SYNTAX,
                   "pattern, column %d: no such nickname; @yearly, @annually, "
                   "@monthly, @weekly, @daily, @midnight, @hourly, @reboot "
                   "(lower case) and @every <duration> exist",
                   column(ps, name.data));
}

enum err cron_parse(struct slice text, struct slice hash_name,
                    struct cron **out, struct errbuf *e)
{
    if (text.len > CRON_TEXT_MAX)
        return err_set(e, ERR_LIMIT, "a pattern has at most %d bytes",
                       CRON_TEXT_MAX);
    struct cron *c = NEW(struct cron);
    INIT_OBJ(c, CRON);
    struct parser ps = {
        .start = text.data, .hash_name = hash_name, .c = c, .e = e};
    const char *p = text.data;
    struct slice first = next_word(&p, text.data + text.len);
    enum err rc = first.len > 0 && first.data[0] == '@'
                      ? nickname_parse(&ps, text)
                      : fields_parse(&ps, text);
    if (rc != ERR_OK) {
        cron_free(&c);
        return rc;
    }
    if (!c->every && !c->reboot)
        pattern_finish(c);
    *out = c;
    return ERR_OK;
}
