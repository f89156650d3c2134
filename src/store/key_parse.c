/* Keys back into their parts: bytes from the disk, so nothing is asserted. */
#include "store/key.h"

struct reader {
    const char *at;
    size_t left;
    bool bad;
};

static struct reader reader(struct slice from)
{
    return (struct reader){from.data, from.len, false};
}

static bool done(const struct reader *r)
{
    return !r->bad && r->left == 0;
}

static struct slice get(struct reader *r, size_t len)
{
    if (r->bad || len > r->left) {
        r->bad = true;
        return SLICE_EMPTY;
    }
    struct slice s = slice_of(r->at, len);
    r->at += len;
    r->left -= len;
    return s;
}

static uint8_t get_u8(struct reader *r)
{
    struct slice s = get(r, 1);
    return s.len == 0 ? 0 : (uint8_t)s.data[0];
}

static uint32_t get_u32(struct reader *r)
{
    struct slice s = get(r, sizeof(uint32_t));
    uint32_t n = 0;
    if (s.len == sizeof(n))
        memcpy(&n, s.data, sizeof(n));
    return __builtin_bswap32(n);
}

static uint64_t get_u64(struct reader *r)
{
    struct slice s = get(r, sizeof(uint64_t));
    uint64_t n = 0;
    if (s.len == sizeof(n))
        memcpy(&n, s.data, sizeof(n));
    return __builtin_bswap64(n);
}

static struct id get_id(struct reader *r)
{
    struct id id = {{0}};
    struct slice s = get(r, ID_LEN);
    if (s.len == ID_LEN)
        memcpy(id.bytes, s.data, ID_LEN);
    return id;
}

static struct slice get_name(struct reader *r)
{
    return get(r, get_u8(r));
}

static struct slice get_rest(struct reader *r)
{
    return get(r, r->left);
}

bool key_parse_named(struct slice from, uint8_t *kind, struct slice *name)
{
    struct reader r = reader(from);
    *kind = get_u8(&r);
    *name = get_rest(&r);
    return done(&r);
}

bool key_parse_key(struct slice from, uint8_t *kind, struct slice *key)
{
    return key_parse_named(from, kind, key);
}

bool key_parse_id(struct slice from, struct id *id)
{
    struct reader r = reader(from);
    *id = get_id(&r);
    return done(&r);
}

bool key_parse_body(struct slice from, struct body_key *out)
{
    struct reader r = reader(from);
    out->id = get_id(&r);
    out->part = get_u8(&r);
    out->n = get_u32(&r);
    return done(&r);
}

bool key_parse_ready(struct slice from, struct ready_key *out)
{
    struct reader r = reader(from);
    out->queue = get_u32(&r);
    out->lane = get_u32(&r);
    out->order = get_u64(&r);
    out->id = get_id(&r);
    return done(&r);
}

bool key_parse_due(struct slice from, struct due_key *out)
{
    struct reader r = reader(from);
    out->time_ms = get_u64(&r);
    out->kind = get_u8(&r);
    out->what = get_rest(&r);
    return done(&r);
}

bool key_parse_parked(struct slice from, struct parked_key *out)
{
    struct reader r = reader(from);
    out->limit = get_name(&r);
    out->lane = get_u32(&r);
    out->order = get_u64(&r);
    out->id = get_id(&r);
    return done(&r);
}

bool key_parse_dep(struct slice from, struct id *parent, struct id *child)
{
    struct reader r = reader(from);
    *parent = get_id(&r);
    *child = get_id(&r);
    return done(&r);
}

bool key_parse_log(struct slice from, struct log_key *out)
{
    struct reader r = reader(from);
    out->bucket = get_u32(&r);
    out->id = get_id(&r);
    out->n = get_u32(&r);
    out->seq = get_u32(&r);
    return done(&r);
}

bool key_parse_stat(struct slice from, struct slice *subject, uint32_t *hour)
{
    struct reader r = reader(from);
    *subject = get_name(&r);
    *hour = get_u32(&r);
    return done(&r);
}

bool key_parse_audit(struct slice from, uint64_t *seq)
{
    struct reader r = reader(from);
    *seq = get_u64(&r);
    return done(&r);
}

bool key_parse_done(struct slice from, struct done_key *out)
{
    struct reader r = reader(from);
    memset(out, 0, sizeof(*out));
    out->bucket = get_u32(&r);
    out->kind = get_u8(&r);
    switch (out->kind) {
    case DONE_ALIAS:
        out->name = get_rest(&r);
        break;
    case DONE_KEY:
        out->key_kind = get_u8(&r);
        out->name = get_rest(&r);
        break;
    case DONE_EXTRA:
        out->key_kind = get_u8(&r);
        out->name = get_name(&r);
        out->time_ms = get_u64(&r);
        out->id = get_id(&r);
        break;
    case DONE_COUNT:
        out->queue = get_u32(&r);
        out->state = get_u8(&r);
        break;
    default:
        return false;
    }
    return done(&r);
}

bool key_parse_past(struct slice from, struct past_key *out)
{
    struct reader r = reader(from);
    memset(out, 0, sizeof(*out));
    out->bucket = get_u32(&r);
    out->id = get_id(&r);
    out->kind = get_u8(&r);
    switch (out->kind) {
    case PAST_JOB:
        break;
    case PAST_EXEC:
        out->n = get_u32(&r);
        break;
    case PAST_BODY:
        out->part = get_u8(&r);
        out->n = get_u32(&r);
        break;
    case PAST_EFFECT:
        out->name = get_rest(&r);
        break;
    default:
        return false;
    }
    return done(&r);
}

bool key_parse_index(struct slice from, struct index_key *out)
{
    struct reader r = reader(from);
    out->bucket = get_u32(&r);
    out->queue = get_u32(&r);
    out->state = get_u8(&r);
    out->time_ms = get_u64(&r);
    out->block = get_u64(&r);
    return done(&r);
}

bool key_valid(enum family f, struct slice from)
{
    union {
        struct id ids[2];
        struct ready_key ready;
        struct due_key due;
        struct parked_key parked;
        struct log_key log;
        struct body_key body;
        struct done_key done;
        struct past_key past;
        struct index_key index;
    } u;
    struct slice name;
    uint64_t seq;
    uint32_t hour;
    uint8_t kind;

    switch (f) {
    case FAMILY_META:
        return from.len > 0;
    case FAMILY_NAMED:
        return key_parse_named(from, &kind, &name);
    case FAMILY_JOBS:
    case FAMILY_RUNS:
        return key_parse_id(from, u.ids);
    case FAMILY_BODIES:
        return key_parse_body(from, &u.body);
    case FAMILY_READY:
        return key_parse_ready(from, &u.ready);
    case FAMILY_DUE:
        return key_parse_due(from, &u.due);
    case FAMILY_PARKED:
        return key_parse_parked(from, &u.parked);
    case FAMILY_KEYS:
        return key_parse_key(from, &kind, &name);
    case FAMILY_DEPS:
        return key_parse_dep(from, &u.ids[0], &u.ids[1]);
    case FAMILY_DONE:
        return key_parse_done(from, &u.done);
    case FAMILY_PAST:
        return key_parse_past(from, &u.past);
    case FAMILY_INDEX:
        return key_parse_index(from, &u.index);
    case FAMILY_LOGS:
        return key_parse_log(from, &u.log);
    case FAMILY_STATS:
        return key_parse_stat(from, &name, &hour);
    case FAMILY_AUDIT:
        return key_parse_audit(from, &seq);
    case FAMILIES:
        break;
    }
    return false;
}
