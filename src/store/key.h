/* Keys: every byte of every key is put together here.
 *
 * Numbers are big-endian, so that byte order is the order of numbers; an id
 * is its 16 bytes. A name that is not the last part has its length in front (1
 * byte), so that no name can run into what follows it.
 *
 *     family   key
 *     meta     name
 *     named    kind u8, name
 *     jobs     id
 *     bodies   id, part u8, n u32
 *     ready    queue u32, lane u32, order u64, id
 *     due      time u64, kind u8, id or name
 *     runs     id
 *     parked   len u8, limit name, lane u32, order u64, id
 *     keys     kind u8, key
 *     deps     parent id, child id
 *     done     bucket u32, kind u8, then by kind:
 *                alias   name
 *                key     kind u8, key
 *                extra   kind u8, len u8, value, time u64, id
 *                count   queue u32, state u8
 *     past     bucket u32, id, kind u8, then by kind:
 *                job     nothing
 *                exec    n u32
 *                body    part u8, n u32
 *                effect  key
 *     index    bucket u32, queue u32, state u8, time u64, block u64
 *     logs     bucket u32, id, n u32, sequence u32
 *     stats    len u8, subject, hour u32
 *     audit    sequence u64
 *
 * Kinds, parts and states are numbered by hand by those who own them (the
 * engine); here they are bytes. A bucket is the hour of expiry since 1970.
 *
 * A struct key lives on the stack and holds its bytes. The constructors assert
 * that names fit (clients' names are checked against KEY_NAME_MAX before);
 * the parsers take bytes from the disk and say false to anything else.
 */
#ifndef STORE_KEY_H
#define STORE_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"
#include "util/id.h"
#include "util/slice.h"

#define KEY_NAME_MAX 255 /* of a name that is a part of a key */
#define KEY_MAX 512

/* The kinds of due rows (bits by number) that name a job by its id; the others
 * have names. The engine numbers them (enum due_kind). */
#define KEY_DUE_OF_JOBS (1u << 1 | 1u << 2 | 1u << 3 | 1u << 7)

struct key {
    uint16_t len;
    char bytes[KEY_MAX];
};

static inline struct slice key_slice(const struct key *k)
{
    return slice_of(k->bytes, k->len);
}

/* --- constructors: fill *k and return its bytes -------------------------- */

struct slice key_meta(struct key *k, struct slice name);
struct slice key_named(struct key *k, uint8_t kind, struct slice name);
struct slice key_job(struct key *k, const struct id *id);
struct slice key_body(struct key *k, const struct id *id, uint8_t part,
                      uint32_t n);
struct slice key_ready(struct key *k, uint32_t queue, uint32_t lane,
                       uint64_t order, const struct id *id);
struct slice key_due(struct key *k, uint64_t time_ms, uint8_t kind,
                     struct slice what);
struct slice key_run(struct key *k, const struct id *id);
struct slice key_parked(struct key *k, struct slice limit, uint32_t lane,
                        uint64_t order, const struct id *id);
struct slice key_key(struct key *k, uint8_t kind, struct slice key);
struct slice key_dep(struct key *k, const struct id *parent,
                     const struct id *child);
struct slice key_log(struct key *k, uint32_t bucket, const struct id *id,
                     uint32_t n, uint32_t seq);
struct slice key_stat(struct key *k, struct slice subject, uint32_t hour);
struct slice key_audit(struct key *k, uint64_t seq);

/* Stored numbers of what stands in a bucket of `done`, and behind an id in one
 * of `past`. */
enum done_kind {
    DONE_ALIAS = 4,
    DONE_KEY = 6,
    DONE_EXTRA = 8,
    DONE_COUNT = 9,
};
enum past_kind {
    PAST_JOB = 1,
    PAST_EXEC = 2,
    PAST_BODY = 3,
    PAST_EFFECT = 5,
};

struct slice key_past_job(struct key *k, uint32_t bucket, const struct id *id);
struct slice key_past_exec(struct key *k, uint32_t bucket, const struct id *id,
                           uint32_t n);
struct slice key_past_body(struct key *k, uint32_t bucket, const struct id *id,
                           uint8_t part, uint32_t n);
struct slice key_done_alias(struct key *k, uint32_t bucket, struct slice name);
struct slice key_past_effect(struct key *k, uint32_t bucket,
                             const struct id *id, struct slice key);
struct slice key_done_key(struct key *k, uint32_t bucket, uint8_t kind,
                          struct slice key);
struct slice key_index(struct key *k, uint32_t bucket, uint32_t queue,
                       uint8_t state, uint64_t time_ms, uint64_t block);
struct slice key_done_extra(struct key *k, uint32_t bucket, uint8_t kind,
                            struct slice value, uint64_t time_ms,
                            const struct id *id);
struct slice key_done_count(struct key *k, uint32_t bucket, uint32_t queue,
                            uint8_t state);

/* --- parsers: false if these bytes are not such a key --------------------
 * Slices point into `from`. */

struct ready_key {
    uint32_t queue, lane;
    uint64_t order;
    struct id id;
};
struct due_key {
    uint64_t time_ms;
    uint8_t kind;
    struct slice what;
};
struct parked_key {
    struct slice limit;
    uint32_t lane;
    uint64_t order;
    struct id id;
};
struct log_key {
    uint32_t bucket;
    struct id id;
    uint32_t n, seq;
};
struct body_key {
    struct id id;
    uint8_t part;
    uint32_t n;
};
/* Which fields are set depends on `kind`, as in the table above. */
struct done_key {
    uint32_t bucket;
    uint8_t kind; /* enum done_kind */
    uint8_t state, key_kind;
    uint32_t queue;
    struct slice name; /* alias, key, extra's value */
    uint64_t time_ms;
    struct id id;
};
struct past_key {
    uint32_t bucket;
    struct id id;
    uint8_t kind; /* enum past_kind */
    uint8_t part;
    uint32_t n;
    struct slice name; /* of an effect */
};
struct index_key {
    uint32_t bucket, queue;
    uint8_t state;
    uint64_t time_ms, block;
};

MUST_USE bool key_parse_named(struct slice from, uint8_t *kind,
                              struct slice *name);
MUST_USE bool key_parse_id(struct slice from, struct id *id); /* jobs, runs */
MUST_USE bool key_parse_body(struct slice from, struct body_key *out);
MUST_USE bool key_parse_ready(struct slice from, struct ready_key *out);
MUST_USE bool key_parse_due(struct slice from, struct due_key *out);
MUST_USE bool key_parse_parked(struct slice from, struct parked_key *out);
MUST_USE bool key_parse_key(struct slice from, uint8_t *kind,
                            struct slice *key);
MUST_USE bool key_parse_dep(struct slice from, struct id *parent,
                            struct id *child);
MUST_USE bool key_parse_log(struct slice from, struct log_key *out);
MUST_USE bool key_parse_stat(struct slice from, struct slice *subject,
                             uint32_t *hour);
MUST_USE bool key_parse_audit(struct slice from, uint64_t *seq);
MUST_USE bool key_parse_done(struct slice from, struct done_key *out);
MUST_USE bool key_parse_past(struct slice from, struct past_key *out);
MUST_USE bool key_parse_index(struct slice from, struct index_key *out);

/* Are these bytes a key of that family? For verification. */
MUST_USE bool key_valid(enum family f, struct slice from);

/* --- prefixes and ranges ------------------------------------------------- */

/* The beginnings that scans use. */
struct slice key_prefix_named(struct key *k, uint8_t kind);
struct slice key_prefix_queue(struct key *k, uint32_t queue); /* ready */
struct slice key_prefix_lane(struct key *k, uint32_t queue, uint32_t lane);
struct slice key_prefix_limit(struct key *k, struct slice limit); /* parked */
struct slice key_prefix_limit_lane(struct key *k, struct slice limit,
                                   uint32_t lane);
struct slice key_prefix_due(struct key *k, uint64_t time_ms);
struct slice key_prefix_keys(struct key *k, uint8_t kind);
struct slice key_prefix_body(struct key *k, const struct id *id);
struct slice key_prefix_body_part(struct key *k, const struct id *id,
                                  uint8_t part);
struct slice key_prefix_dep(struct key *k, const struct id *parent);
/* done, past, index, logs */
struct slice key_prefix_bucket(struct key *k, uint32_t bucket);
/* The key of the same row in another bucket. */
struct slice key_to_bucket(struct key *k, uint32_t bucket, struct slice key);
struct slice key_prefix_done(struct key *k, uint32_t bucket,
                             enum done_kind kind);
struct slice key_prefix_past_id(struct key *k, uint32_t bucket,
                                const struct id *id);
struct slice key_prefix_past(struct key *k, uint32_t bucket,
                             const struct id *id, enum past_kind kind);
struct slice key_prefix_index(struct key *k, uint32_t bucket, uint32_t queue,
                              uint8_t state);
struct slice key_prefix_done_extra(struct key *k, uint32_t bucket, uint8_t kind,
                                   struct slice value);
struct slice key_prefix_log(struct key *k, uint32_t bucket,
                            const struct id *id);
struct slice key_prefix_stat(struct key *k, struct slice subject);

/* The first key behind all that begin with `prefix` (the `to` of a range);
 * empty if there is none, which scans take as "to the end". */
struct slice key_after(struct key *k, struct slice prefix);

/* The first key behind this one: to go on from where a scan stopped. */
struct slice key_next(struct key *k, struct slice key);

#endif
