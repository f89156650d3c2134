#include "store/key.h"

/* --- building ------------------------------------------------------------ */

static void add(struct key *k, const void *data, size_t len)
{
    ASSERT(len <= sizeof(k->bytes) - k->len);
    if (len > 0)
        memcpy(k->bytes + k->len, data, len);
    k->len = (uint16_t)(k->len + len);
}

static void add_u8(struct key *k, uint8_t n)
{
    add(k, &n, 1);
}

static void add_u32(struct key *k, uint32_t n)
{
    n = __builtin_bswap32(n);
    add(k, &n, sizeof(n));
}

static void add_u64(struct key *k, uint64_t n)
{
    n = __builtin_bswap64(n);
    add(k, &n, sizeof(n));
}

static void add_id(struct key *k, const struct id *id)
{
    add(k, id->bytes, ID_LEN);
}

/* The last part of a key. */
static void add_rest(struct key *k, struct slice s)
{
    add(k, s.data, s.len);
}

/* A name that something follows. */
static void add_name(struct key *k, struct slice s)
{
    ASSERT(s.len <= KEY_NAME_MAX);
    add_u8(k, (uint8_t)s.len);
    add(k, s.data, s.len);
}

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "keys are swapped to big-endian without asking"
#endif

struct slice key_meta(struct key *k, struct slice name)
{
    k->len = 0;
    add_rest(k, name);
    return key_slice(k);
}

struct slice key_prefix_named(struct key *k, uint8_t kind)
{
    k->len = 0;
    add_u8(k, kind);
    return key_slice(k);
}

struct slice key_named(struct key *k, uint8_t kind, struct slice name)
{
    key_prefix_named(k, kind);
    add_rest(k, name);
    return key_slice(k);
}

struct slice key_job(struct key *k, const struct id *id)
{
    k->len = 0;
    add_id(k, id);
    return key_slice(k);
}

struct slice key_prefix_body(struct key *k, const struct id *id)
{
    return key_job(k, id);
}

struct slice key_prefix_body_part(struct key *k, const struct id *id,
                                  uint8_t part)
{
    key_job(k, id);
    add_u8(k, part);
    return key_slice(k);
}

struct slice key_body(struct key *k, const struct id *id, uint8_t part,
                      uint32_t n)
{
    key_prefix_body_part(k, id, part);
    add_u32(k, n);
    return key_slice(k);
}

struct slice key_prefix_queue(struct key *k, uint32_t queue)
{
    k->len = 0;
    add_u32(k, queue);
    return key_slice(k);
}

struct slice key_prefix_lane(struct key *k, uint32_t queue, uint32_t lane)
{
    k->len = 0;
    add_u64(k, (uint64_t)queue << 32 | lane);
    return key_slice(k);
}

struct slice key_ready(struct key *k, uint32_t queue, uint32_t lane,
                       uint64_t order, const struct id *id)
{
    key_prefix_lane(k, queue, lane);
    add_u64(k, order);
    add_id(k, id);
    return key_slice(k);
}

struct slice key_prefix_due(struct key *k, uint64_t time_ms)
{
    k->len = 0;
    add_u64(k, time_ms);
    return key_slice(k);
}

struct slice key_due(struct key *k, uint64_t time_ms, uint8_t kind,
                     struct slice what)
{
    key_prefix_due(k, time_ms);
    add_u8(k, kind);
    add_rest(k, what);
    return key_slice(k);
}

struct slice key_run(struct key *k, const struct id *id)
{
    return key_job(k, id);
}

struct slice key_prefix_limit(struct key *k, struct slice limit)
{
    k->len = 0;
    add_name(k, limit);
    return key_slice(k);
}

struct slice key_prefix_limit_lane(struct key *k, struct slice limit,
                                   uint32_t lane)
{
    key_prefix_limit(k, limit);
    add_u32(k, lane);
    return key_slice(k);
}

struct slice key_parked(struct key *k, struct slice limit, uint32_t lane,
                        uint64_t order, const struct id *id)
{
    key_prefix_limit_lane(k, limit, lane);
    add_u64(k, order);
    add_id(k, id);
    return key_slice(k);
}

struct slice key_prefix_keys(struct key *k, uint8_t kind)
{
    return key_prefix_named(k, kind);
}

struct slice key_key(struct key *k, uint8_t kind, struct slice key)
{
    return key_named(k, kind, key);
}

struct slice key_prefix_dep(struct key *k, const struct id *parent)
{
    return key_job(k, parent);
}

struct slice key_dep(struct key *k, const struct id *parent,
                     const struct id *child)
{
    key_job(k, parent);
    add_id(k, child);
    return key_slice(k);
}

struct slice key_prefix_bucket(struct key *k, uint32_t bucket)
{
    return key_prefix_queue(k, bucket);
}

struct slice key_prefix_log(struct key *k, uint32_t bucket, const struct id *id)
{
    key_prefix_bucket(k, bucket);
    add_id(k, id);
    return key_slice(k);
}

struct slice key_log(struct key *k, uint32_t bucket, const struct id *id,
                     uint32_t n, uint32_t seq)
{
    key_prefix_log(k, bucket, id);
    add_u32(k, n);
    add_u32(k, seq);
    return key_slice(k);
}

struct slice key_prefix_stat(struct key *k, struct slice subject)
{
    return key_prefix_limit(k, subject);
}

struct slice key_stat(struct key *k, struct slice subject, uint32_t hour)
{
    key_prefix_stat(k, subject);
    add_u32(k, hour);
    return key_slice(k);
}

struct slice key_audit(struct key *k, uint64_t seq)
{
    return key_prefix_due(k, seq);
}

/* --- what is finished ---------------------------------------------------- */

struct slice key_to_bucket(struct key *k, uint32_t bucket, struct slice key)
{
    key_prefix_bucket(k, bucket);
    ASSERT(key.len >= k->len);
    add_rest(k, slice_of(key.data + k->len, key.len - k->len));
    return key_slice(k);
}

struct slice key_prefix_done(struct key *k, uint32_t bucket,
                             enum done_kind kind)
{
    key_prefix_bucket(k, bucket);
    add_u8(k, (uint8_t)kind);
    return key_slice(k);
}

struct slice key_done_alias(struct key *k, uint32_t bucket, struct slice name)
{
    key_prefix_done(k, bucket, DONE_ALIAS);
    add_rest(k, name);
    return key_slice(k);
}

struct slice key_done_key(struct key *k, uint32_t bucket, uint8_t kind,
                          struct slice key)
{
    key_prefix_done(k, bucket, DONE_KEY);
    add_u8(k, kind);
    add_rest(k, key);
    return key_slice(k);
}

struct slice key_prefix_done_extra(struct key *k, uint32_t bucket, uint8_t kind,
                                   struct slice value)
{
    key_prefix_done(k, bucket, DONE_EXTRA);
    add_u8(k, kind);
    add_name(k, value);
    return key_slice(k);
}

struct slice key_done_extra(struct key *k, uint32_t bucket, uint8_t kind,
                            struct slice value, uint64_t time_ms,
                            const struct id *id)
{
    key_prefix_done_extra(k, bucket, kind, value);
    add_u64(k, time_ms);
    add_id(k, id);
    return key_slice(k);
}

struct slice key_done_count(struct key *k, uint32_t bucket, uint32_t queue,
                            uint8_t state)
{
    key_prefix_done(k, bucket, DONE_COUNT);
    add_u32(k, queue);
    add_u8(k, state);
    return key_slice(k);
}

struct slice key_prefix_past_id(struct key *k, uint32_t bucket,
                                const struct id *id)
{
    key_prefix_bucket(k, bucket);
    add_id(k, id);
    return key_slice(k);
}

struct slice key_prefix_past(struct key *k, uint32_t bucket,
                             const struct id *id, enum past_kind kind)
{
    key_prefix_past_id(k, bucket, id);
    add_u8(k, (uint8_t)kind);
    return key_slice(k);
}

struct slice key_past_job(struct key *k, uint32_t bucket, const struct id *id)
{
    return key_prefix_past(k, bucket, id, PAST_JOB);
}

struct slice key_past_exec(struct key *k, uint32_t bucket, const struct id *id,
                           uint32_t n)
{
    key_prefix_past(k, bucket, id, PAST_EXEC);
    add_u32(k, n);
    return key_slice(k);
}

struct slice key_past_body(struct key *k, uint32_t bucket, const struct id *id,
                           uint8_t part, uint32_t n)
{
    key_prefix_past(k, bucket, id, PAST_BODY);
    add_u8(k, part);
    add_u32(k, n);
    return key_slice(k);
}

struct slice key_past_effect(struct key *k, uint32_t bucket,
                             const struct id *id, struct slice key)
{
    key_prefix_past(k, bucket, id, PAST_EFFECT);
    add_rest(k, key);
    return key_slice(k);
}

struct slice key_prefix_index(struct key *k, uint32_t bucket, uint32_t queue,
                              uint8_t state)
{
    key_prefix_bucket(k, bucket);
    add_u32(k, queue);
    add_u8(k, state);
    return key_slice(k);
}

struct slice key_index(struct key *k, uint32_t bucket, uint32_t queue,
                       uint8_t state, uint64_t time_ms, uint64_t block)
{
    key_prefix_index(k, bucket, queue, state);
    add_u64(k, time_ms);
    add_u64(k, block);
    return key_slice(k);
}

/* --- ranges -------------------------------------------------------------- */

struct slice key_after(struct key *k, struct slice prefix)
{
    k->len = 0;
    add_rest(k, prefix);
    while (k->len > 0 && (unsigned char)k->bytes[k->len - 1] == 0xff)
        k->len--;
    if (k->len > 0)
        k->bytes[k->len - 1]++;
    return key_slice(k);
}

struct slice key_next(struct key *k, struct slice key)
{
    k->len = 0;
    add_rest(k, key);
    add_u8(k, 0);
    return key_slice(k);
}
