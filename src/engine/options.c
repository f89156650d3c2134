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

/* Two words that cannot stand together. */
static const struct rule {
    enum job_option a, b;
} rules[] = {
    {JOPT_DELAY, JOPT_AT},          {JOPT_DEBOUNCE, JOPT_DELAY},
    {JOPT_DEBOUNCE, JOPT_AT},       {JOPT_WHILE, JOPT_FOR},
    {JOPT_DEBOUNCE, JOPT_CONFLICT}, {JOPT_DEBOUNCE, JOPT_FOR},
};

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

/* A job that would have to end before it may begin. */
static enum err check_start(const struct job_options *o, struct now now,
                            struct errbuf *e)
{
    enum job_option start = option_given(o, JOPT_DELAY)      ? JOPT_DELAY
                            : option_given(o, JOPT_DEBOUNCE) ? JOPT_DEBOUNCE
                                                             : JOPT_AT;
    uint64_t after_ms = start == JOPT_DELAY       ? o->delay_ms
                        : start == JOPT_DEBOUNCE  ? o->debounce_ms
                        : o->at_ms <= now.wall_ms ? 0
                                                  : o->at_ms - now.wall_ms;
    bool expires = option_given(o, JOPT_EXPIRES) && o->expires_ms <= after_ms;
    bool deadline =
        option_given(o, JOPT_DEADLINE) && o->deadline_ms <= after_ms;
    if (!option_given(o, start) || (!expires && !deadline))
        return ERR_OK;
    return err_set(e, ERR_SYNTAX,
                   "%s and %s exclude each other: it would expire before it "
                   "may start",
                   names[start], names[expires ? JOPT_EXPIRES : JOPT_DEADLINE]);
}

enum err options_check_lengths(const struct job_options *o, struct errbuf *e)
{
    if ((o->given & (BIT(EXPECT) | BIT(TIMEOUT) | BIT(BASE) | BIT(EXPIRES))) ==
        0)
        return ERR_OK; /* the first of each pair */
    const struct {
        enum job_option a, b;
        uint64_t a_ms, b_ms;
        const char *why;
    } lengths[] = {
        {JOPT_EXPECT, JOPT_TIMEOUT, o->expect_ms, o->timeout_ms,
         "it would be ended before it is reported"},
        {JOPT_EXPECT, JOPT_DEADLINE, o->expect_ms, o->deadline_ms,
         "it would have ended before it is reported"},
        {JOPT_TIMEOUT, JOPT_DEADLINE, o->timeout_ms, o->deadline_ms,
         "it would have ended before its time is up"},
        {JOPT_BASE, JOPT_CAP, o->base_ms, o->cap_ms,
         "the first delay would be longer than the longest"},
        {JOPT_EXPIRES, JOPT_DEADLINE, o->expires_ms, o->deadline_ms,
         "it would have ended before it could expire unstarted"},
    };
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++)
        if (option_given(o, lengths[i].a) && option_given(o, lengths[i].b) &&
            lengths[i].a_ms > lengths[i].b_ms)
            return err_set(e, ERR_SYNTAX, "%s and %s exclude each other: %s",
                           names[lengths[i].a], names[lengths[i].b],
                           lengths[i].why);
    return ERR_OK;
}

/* How long it waits for a retry that there is none of. */
static enum err check_retries(const struct job_options *o, struct errbuf *e)
{
    static const enum job_option delays[] = {
        JOPT_BACKOFF, JOPT_BASE, JOPT_FACTOR, JOPT_CAP, JOPT_JITTER};
    if (!option_given(o, JOPT_RETRIES) || o->retries > 0)
        return ERR_OK;
    for (size_t i = 0; i < ARRAY_LEN(delays); i++)
        if (option_given(o, delays[i]))
            return err_set(e, ERR_SYNTAX,
                           "RETRIES 0 and %s exclude each other: it never "
                           "runs again",
                           names[delays[i]]);
    return ERR_OK;
}

enum err options_check_values(const struct job_options *o, struct errbuf *e)
{
    static const enum job_option delays[] = {JOPT_FACTOR, JOPT_BASE, JOPT_CAP,
                                             JOPT_JITTER};
    enum err rc = check_retries(o, e);
    if (rc != ERR_OK)
        return rc;
    if (!option_given(o, JOPT_BACKOFF) || o->backoff == BACKOFF_EXPONENTIAL)
        return options_check_lengths(o, e);
    bool none = o->backoff == BACKOFF_NONE;
    for (size_t i = 0; i < (none ? ARRAY_LEN(delays) : 1); i++)
        if (option_given(o, delays[i]))
            return err_set(e, ERR_SYNTAX,
                           "BACKOFF %s and %s exclude each "
                           "other: %s",
                           backoff_list[o->backoff], names[delays[i]],
                           none ? "it runs again at once"
                                : "only exponential delays grow by a factor");
    return options_check_lengths(o, e);
}

enum err options_check_defaults(const struct job_options *o, struct now now,
                                struct errbuf *e)
{
    static uint64_t ruled; /* options that are the first of a rule */
    if (ruled == 0)
        for (size_t i = 0; i < ARRAY_LEN(rules); i++)
            ruled |= (uint64_t)1 << rules[i].a;
    for (size_t i = 0; (o->given & ruled) != 0 && i < ARRAY_LEN(rules); i++) {
        const struct rule *r = &rules[i];
        if (!option_given(o, r->a))
            continue;
        if (option_given(o, r->b))
            return err_set(e, ERR_SYNTAX, "%s and %s exclude each other",
                           names[r->a], names[r->b]);
    }
    enum err rc = check_start(o, now, e);
    if (rc != ERR_OK)
        return rc;
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

enum err options_check(const struct job_options *o, struct now now,
                       struct errbuf *e)
{
    enum err rc = options_check_defaults(o, now, e);
    const struct need *n = lacks(o, o->given);
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
    /* What the job says pushes out a default that it excludes. */
    uint64_t blocked = 0;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        const struct rule *r = &rules[i];
        if (option_given(o, r->a))
            blocked |= (uint64_t)1 << r->b;
        if (option_given(o, r->b))
            blocked |= (uint64_t)1 << r->a;
    }
    uint64_t take = defaults->given & ~o->given & ~blocked;
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

void options_apply(struct job_options *o, const struct job_options *defaults)
{
    uint64_t own = o->given;
    const struct need *n;
    options_inherit(o, defaults);
    while ((n = lacks(o, o->given & ~own)) != NULL)
        o->given &= ~((uint64_t)1 << n->a);
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
