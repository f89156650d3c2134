/* Options of jobs: combinations that make no sense, defaults, bytes. */
#include "engine/options.h"

#include "store/record.h"
#include "util/assert.h"

#define BIT(NAME) ((uint64_t)1 << JOPT_##NAME)

const char *const backoff_list[] = {"exponential", "linear", "fixed", "none",
                                    NULL};
const char *const sla_list[] = {"warn", "flexible", "strict", NULL};
const char *const scope_list[] = {"queue", "global", NULL};
const char *const while_list[] = {"live", "waiting", NULL};
const char *const conflict_list[] = {"return", "reject", "replace", NULL};
const char *const on_list[] = {"success", "failure", "completion", NULL};
const char *const else_list[] = {"cancel", "run", "hold", NULL};

static const char *const names[JOB_OPTIONS] = {
#define JOB_OPTION(NAME) [JOPT_##NAME] = #NAME,
#include "engine/options.def"
#undef JOB_OPTION
};

const char *job_option_name(enum job_option o)
{
    ASSERT(o < JOB_OPTIONS);
    return names[o];
}

/* Two words that cannot stand together, whatever they say or by what they say.
 * This is all that excludes: of what is said together, of what a change or a
 * HANDLER.SET adds to what was said before, and of a job and its handler. */
enum when {
    ALWAYS,
    TOO_LATE,  /* b is over before a, when it may start */
    NO_RETRY,  /* a is RETRIES 0 */
    NO_DELAY,  /* a is BACKOFF none */
    NO_GROWTH, /* a is a BACKOFF that is not exponential */
    LONGER     /* a is longer than b */
};

static const struct rule {
    enum job_option a, b;
    enum when when;
    const char *why;
} rules[] = {
#define LATE "it would expire before it may start"
#define ONCE "it never runs again"
#define AGAIN "it runs again at once"
    {JOPT_DELAY, JOPT_AT, ALWAYS, NULL},
    {JOPT_DEBOUNCE, JOPT_DELAY, ALWAYS, NULL},
    {JOPT_DEBOUNCE, JOPT_AT, ALWAYS, NULL},
    {JOPT_WHILE, JOPT_FOR, ALWAYS, NULL},
    {JOPT_DEBOUNCE, JOPT_CONFLICT, ALWAYS, NULL},
    {JOPT_DEBOUNCE, JOPT_FOR, ALWAYS, NULL},
    {JOPT_DELAY, JOPT_EXPIRES, TOO_LATE, LATE},
    {JOPT_DELAY, JOPT_DEADLINE, TOO_LATE, LATE},
    {JOPT_DEBOUNCE, JOPT_EXPIRES, TOO_LATE, LATE},
    {JOPT_DEBOUNCE, JOPT_DEADLINE, TOO_LATE, LATE},
    {JOPT_AT, JOPT_EXPIRES, TOO_LATE, LATE},
    {JOPT_AT, JOPT_DEADLINE, TOO_LATE, LATE},
    {JOPT_RETRIES, JOPT_BACKOFF, NO_RETRY, ONCE},
    {JOPT_RETRIES, JOPT_BASE, NO_RETRY, ONCE},
    {JOPT_RETRIES, JOPT_FACTOR, NO_RETRY, ONCE},
    {JOPT_RETRIES, JOPT_CAP, NO_RETRY, ONCE},
    {JOPT_RETRIES, JOPT_JITTER, NO_RETRY, ONCE},
    {JOPT_BACKOFF, JOPT_BASE, NO_DELAY, AGAIN},
    {JOPT_BACKOFF, JOPT_CAP, NO_DELAY, AGAIN},
    {JOPT_BACKOFF, JOPT_JITTER, NO_DELAY, AGAIN},
    {JOPT_BACKOFF, JOPT_FACTOR, NO_GROWTH,
     "only exponential delays grow by a factor"},
    {JOPT_EXPECT, JOPT_TIMEOUT, LONGER,
     "it would be ended before it is reported"},
    {JOPT_EXPECT, JOPT_DEADLINE, LONGER,
     "it would have ended before it is reported"},
    {JOPT_TIMEOUT, JOPT_DEADLINE, LONGER,
     "it would have ended before its time is up"},
    {JOPT_BASE, JOPT_CAP, LONGER,
     "the first delay would be longer than the longest"},
    {JOPT_EXPIRES, JOPT_DEADLINE, LONGER,
     "it would have ended before it could expire unstarted"},
#undef LATE
#undef ONCE
#undef AGAIN
};
/* Every a: most jobs have none of them. */
#define RULED                                                           \
    (BIT(DELAY) | BIT(DEBOUNCE) | BIT(WHILE) | BIT(AT) | BIT(RETRIES) | \
     BIT(BACKOFF) | BIT(EXPECT) | BIT(TIMEOUT) | BIT(BASE) | BIT(EXPIRES))

static uint64_t length_ms(const struct job_options *o, enum job_option which,
                          struct now now)
{
    switch (which) {
    case JOPT_DELAY:
        return o->delay_ms;
    case JOPT_DEBOUNCE:
        return o->debounce_ms;
    case JOPT_AT:
        return o->at_ms <= now.wall_ms ? 0 : o->at_ms - now.wall_ms;
    case JOPT_EXPECT:
        return o->expect_ms;
    case JOPT_TIMEOUT:
        return o->timeout_ms;
    case JOPT_BASE:
        return o->base_ms;
    case JOPT_CAP:
        return o->cap_ms;
    case JOPT_EXPIRES:
        return o->expires_ms;
    default:
        ASSERT(which == JOPT_DEADLINE);
        return o->deadline_ms;
    }
}

static bool collides(const struct rule *r, const struct job_options *o,
                     struct now now)
{
    switch (r->when) {
    case TOO_LATE:
        return length_ms(o, r->b, now) <= length_ms(o, r->a, now);
    case NO_RETRY:
        return o->retries == 0;
    case NO_DELAY:
        return o->backoff == BACKOFF_NONE;
    case NO_GROWTH:
        return o->backoff > BACKOFF_EXPONENTIAL && o->backoff <= BACKOFF_NONE;
    case LONGER:
        return length_ms(o, r->a, now) > length_ms(o, r->b, now);
    case ALWAYS:
        break;
    }
    return true;
}

/* With one of `words`. */
static bool breaks(const struct job_options *o, const struct rule *r,
                   uint64_t words, struct now now)
{
    return option_given(o, r->a) && option_given(o, r->b) &&
           (words >> r->a & 1 || words >> r->b & 1) && collides(r, o, now);
}

/* The first rule that `o` breaks with one of `words`, or NULL. */
static const struct rule *broken(const struct job_options *o, uint64_t words,
                                 struct now now)
{
    for (size_t i = 0; (o->given & RULED) != 0 && i < ARRAY_LEN(rules); i++)
        if (breaks(o, &rules[i], words, now))
            return &rules[i];
    return NULL;
}

/* Both words; and which of them was not said now, but before. */
static enum err refuse(const struct rule *r, const struct job_options *o,
                       uint64_t said, struct errbuf *e)
{
    bool kind = r->when == NO_DELAY || r->when == NO_GROWTH;
    const char *value = r->when == NO_RETRY ? " 0" : kind ? " " : "";
    struct errbuf both;
    (void)err_set(&both, ERR_SYNTAX, "%s%s%s and %s exclude each other%s%s",
                  names[r->a], value, kind ? backoff_list[o->backoff] : "",
                  names[r->b], r->why == NULL ? "" : ": ",
                  r->why == NULL ? "" : r->why);
    if (said >> r->a & said >> r->b & 1)
        return err_set(e, ERR_SYNTAX, "%s", both.text);
    return err_set(e, ERR_SYNTAX, "%s (%s stands already)", both.text,
                   names[said >> r->a & 1 ? r->b : r->a]);
}

/* A word that means nothing without another one, or without one of two. */
static const struct need {
    enum job_option a, b, or_b;
} needs[] = {
    {JOPT_SCOPE, JOPT_UNIQUE, JOPT_UNIQUE},
    {JOPT_WHILE, JOPT_UNIQUE, JOPT_UNIQUE},
    {JOPT_FOR, JOPT_UNIQUE, JOPT_UNIQUE},
    {JOPT_CONFLICT, JOPT_UNIQUE, JOPT_UNIQUE},
    {JOPT_DEBOUNCE, JOPT_UNIQUE, JOPT_UNIQUE},
    {JOPT_SLA, JOPT_EXPECT, JOPT_EXPECT},
    {JOPT_COST, JOPT_LIMIT, JOPT_OWNER},
};

/* The first of `words` that lacks what it needs, or NULL. */
static const struct need *lacks(const struct job_options *o, uint64_t words)
{
    static uint64_t needy;
    if (needy == 0)
        for (size_t i = 0; i < ARRAY_LEN(needs); i++)
            needy |= (uint64_t)1 << needs[i].a;
    for (size_t i = 0; (words & needy) != 0 && i < ARRAY_LEN(needs); i++)
        if (words >> needs[i].a & 1 && !option_given(o, needs[i].b) &&
            !option_given(o, needs[i].or_b))
            return &needs[i];
    return NULL;
}

enum err options_check_defaults(const struct job_options *o, uint64_t said,
                                struct now now, struct errbuf *e)
{
    const struct rule *r = broken(o, said, now);
    if (r != NULL)
        return refuse(r, o, said, e);
    if (option_given(o, JOPT_PRIORITY) && o->priority > PRIORITY_MAX)
        return err_set(e, ERR_SYNTAX, "PRIORITY is 0 to %d", PRIORITY_MAX);
    if (option_given(o, JOPT_UNIQUE) &&
        (o->unique.len == 0 || o->unique.len > 200))
        return err_set(e, ERR_LIMIT,
                       "UNIQUE has %zu bytes; 1 to 200 are allowed",
                       o->unique.len);
    if (option_given(o, JOPT_META) && o->meta.len > 4096)
        return err_set(e, ERR_LIMIT,
                       "META has %zu bytes; at most 4096 are "
                       "allowed",
                       o->meta.len);
    if (option_given(o, JOPT_TRACE) && o->trace.len > 256)
        return err_set(e, ERR_LIMIT,
                       "TRACE has %zu bytes; at most 256 are "
                       "allowed",
                       o->trace.len);
    for (uint32_t i = 0; i < o->tags_n; i++)
        if (o->tags[i].key.len == 0 || o->tags[i].key.len > 64 ||
            o->tags[i].value.len > 255)
            return err_set(e, ERR_LIMIT,
                           "TAG: a key has 1 to 64 bytes, a "
                           "value at most 255");
    for (uint32_t i = 0; i < o->limits_n; i++)
        if (o->limits[i].len == 0 || o->limits[i].len > 128)
            return err_set(e, ERR_LIMIT, "LIMIT: a name has 1 to 128 bytes");
    return ERR_OK;
}

enum err options_check(const struct job_options *o, uint64_t said,
                       struct now now, struct errbuf *e)
{
    enum err rc = options_check_defaults(o, said, now, e);
    const struct need *n = lacks(o, said & o->given);
    if (rc != ERR_OK || n == NULL)
        return rc;
    return err_set(e, ERR_SYNTAX, "%s needs %s%s%s", names[n->a], names[n->b],
                   n->or_b == n->b ? "" : " or ",
                   n->or_b == n->b ? "" : names[n->or_b]);
}

#define SCALARS(X)                \
    X(DELAY, u64, delay_ms)       \
    X(AT, u64, at_ms)             \
    X(PRIORITY, u32, priority)    \
    X(RETRIES, u32, retries)      \
    X(BACKOFF, u32, backoff)      \
    X(BASE, u64, base_ms)         \
    X(FACTOR, f64, factor)        \
    X(CAP, u64, cap_ms)           \
    X(JITTER, u32, jitter)        \
    X(LEASE, u64, lease_ms)       \
    X(TIMEOUT, u64, timeout_ms)   \
    X(EXPECT, u64, expect_ms)     \
    X(SLA, u32, sla)              \
    X(EXPIRES, u64, expires_ms)   \
    X(DEADLINE, u64, deadline_ms) \
    X(KEEP, u64, keep_ms)         \
    X(SCOPE, u32, scope)          \
    X(WHILE, u32, unique_while)   \
    X(FOR, u64, for_ms)           \
    X(CONFLICT, u32, conflict)    \
    X(DEBOUNCE, u64, debounce_ms) \
    X(COST, u32, cost)            \
    X(HANDLER, bytes, handler)    \
    X(UNIQUE, bytes, unique)      \
    X(OWNER, bytes, owner)        \
    X(BATCH, bytes, batch)        \
    X(TRACE, bytes, trace)        \
    X(META, bytes, meta)

/* Times of day and identities are not inherited: a default is for all jobs. */
void options_inherit(struct job_options *o, const struct job_options *defaults)
{
    if (defaults == NULL)
        return;
    uint64_t take = defaults->given & ~o->given;
#define INHERIT(NAME, kind, field)              \
    if (take >> JOPT_##NAME & 1) {              \
        o->field = defaults->field;             \
        o->given |= (uint64_t)1 << JOPT_##NAME; \
    }
    SCALARS(INHERIT)
#undef INHERIT
    if (take >> JOPT_LIMIT & 1) {
        memcpy(o->limits, defaults->limits, sizeof(o->limits));
        o->limits_n = defaults->limits_n;
        o->given |= (uint64_t)1 << JOPT_LIMIT;
    }
    if (take >> JOPT_TAG & 1) {
        memcpy(o->tags, defaults->tags, sizeof(o->tags));
        o->tags_n = defaults->tags_n;
        o->given |= (uint64_t)1 << JOPT_TAG;
    }
}

/* As if it had not been said. */
static void drop(struct job_options *o, enum job_option which)
{
    o->given &= ~((uint64_t)1 << which);
    switch (which) {
#define DROP(NAME, kind, field)                 \
    case JOPT_##NAME:                           \
        memset(&o->field, 0, sizeof(o->field)); \
        return;
        SCALARS(DROP)
#undef DROP
    default:
        ASSERT(which < JOB_OPTIONS);
    }
}

/* And what would need it. */
static void leave_out(struct job_options *o, enum job_option which)
{
    drop(o, which);
    for (size_t i = 0; i < ARRAY_LEN(needs); i++)
        if (needs[i].b == which && option_given(o, needs[i].a) &&
            lacks(o, (uint64_t)1 << needs[i].a) != NULL)
            drop(o, needs[i].a);
}

/* A job's word and a default collide, or two defaults of an earlier version. A
 * bound stays, and what has no effect beside it is left out, whoever said that;
 * otherwise the job's own word stays. That it would expire before it may start
 * is left to options_check(), which refuses it. */
static void settle(struct job_options *o, const struct rule *r, uint64_t own)
{
    bool own_a = own >> r->a & 1, own_b = own >> r->b & 1;
    if (r->when == NO_RETRY)
        leave_out(o, r->b);
    else if (r->when == LONGER && r->b != JOPT_CAP)
        leave_out(o, r->a);
    else if (r->when != TOO_LATE)
        leave_out(o, own_b ? r->a : r->b);
    else if (!own_a)
        leave_out(o, r->a);
}

void options_apply(struct job_options *o, const struct job_options *defaults,
                   struct now now)
{
    uint64_t own = o->given;
    const struct need *n;
    options_inherit(o, defaults);
    for (size_t i = 0; (o->given & RULED) != 0 && i < ARRAY_LEN(rules); i++)
        if (breaks(o, &rules[i], o->given & ~own, now))
            settle(o, &rules[i], own);
    while ((n = lacks(o, o->given & ~own)) != NULL)
        drop(o, n->a);
}

/* --- as bytes: `given`, then what was given, in the order of SCALARS ----- */

static size_t record_size_f64(double f)
{
    (void)f;
    return 8;
}

static char *record_put_f64(char *to, double f)
{
    uint64_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return record_put_fix64(to, bits);
}

static double record_get_f64(struct record_reader *in)
{
    uint64_t bits = record_get_fix64(in);
    double f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

size_t options_size(const struct job_options *o)
{
    size_t len = 1 + varint_size(o->given);
#define SIZE(NAME, kind, field)       \
    if (option_given(o, JOPT_##NAME)) \
        len += record_size_##kind(o->field);
    SCALARS(SIZE)
#undef SIZE
    len += varint_size(o->limits_n);
    for (uint32_t i = 0; i < o->limits_n; i++)
        len += record_size_bytes(o->limits[i]);
    len += varint_size(o->tags_n);
    for (uint32_t i = 0; i < o->tags_n; i++)
        len += record_size_bytes(o->tags[i].key) +
               record_size_bytes(o->tags[i].value);
    len += varint_size(o->parents_n);
    for (uint32_t i = 0; i < o->parents_n; i++)
        len += record_size_bytes(o->parents[i].id) + 2;
    return len;
}

char *options_encode(const struct job_options *o, char *to)
{
    to = record_put_u8(to, 1);
    to = record_put_u64(to, o->given);
#define PUT(NAME, kind, field)        \
    if (option_given(o, JOPT_##NAME)) \
        to = record_put_##kind(to, o->field);
    SCALARS(PUT)
#undef PUT
    to = record_put_u32(to, o->limits_n);
    for (uint32_t i = 0; i < o->limits_n; i++)
        to = record_put_bytes(to, o->limits[i]);
    to = record_put_u32(to, o->tags_n);
    for (uint32_t i = 0; i < o->tags_n; i++) {
        to = record_put_bytes(to, o->tags[i].key);
        to = record_put_bytes(to, o->tags[i].value);
    }
    to = record_put_u32(to, o->parents_n);
    for (uint32_t i = 0; i < o->parents_n; i++) {
        to = record_put_bytes(to, o->parents[i].id);
        to = record_put_u8(to, (uint8_t)o->parents[i].on);
        to = record_put_u8(to, (uint8_t)o->parents[i].otherwise);
    }
    return to;
}

bool options_decode(struct job_options *o, struct slice bytes)
{
    struct record_reader in = record_reader(bytes);
    memset(o, 0, sizeof(*o));
    if (record_get_u8(&in) != 1)
        return false;
    o->given = record_get_u64(&in);
    if (o->given >> JOB_OPTIONS != 0)
        return false;
#define GET(NAME, kind, field)        \
    if (option_given(o, JOPT_##NAME)) \
        o->field = record_get_##kind(&in);
    SCALARS(GET)
#undef GET
    o->limits_n = record_get_u32(&in);
    if (o->limits_n > JOB_LIMITS_MAX)
        return false;
    for (uint32_t i = 0; i < o->limits_n; i++)
        o->limits[i] = record_get_bytes(&in);
    o->tags_n = record_get_u32(&in);
    if (o->tags_n > JOB_TAGS_MAX)
        return false;
    for (uint32_t i = 0; i < o->tags_n; i++) {
        o->tags[i].key = record_get_bytes(&in);
        o->tags[i].value = record_get_bytes(&in);
    }
    o->parents_n = record_get_u32(&in);
    if (o->parents_n > JOB_PARENTS_MAX)
        return false;
    for (uint32_t i = 0; i < o->parents_n; i++) {
        o->parents[i].id = record_get_bytes(&in);
        o->parents[i].on = record_get_u8(&in);
        o->parents[i].otherwise = record_get_u8(&in);
    }
    return record_done(&in);
}
