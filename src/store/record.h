/* Records: the values of rows, as lists of fields.
 *
 * A list is written once and makes the struct, its size, encode and decode:
 *
 *     #define REC_START_V1(X) \
 *         X(u32, number)      \
 *         X(u64, started_ms)
 *     RECORD(rec_start, REC_START_V1)
 *
 *     struct rec_start            { uint32_t number; uint64_t started_ms; };
 *     size_t rec_start_size(const struct rec_start *r);
 *     char  *rec_start_encode(const struct rec_start *r, char *to);
 *     bool   rec_start_decode(struct rec_start *r, struct slice from);
 *
 * On disk: one byte of version, then the fields in the order of the list.
 *
 *     kind   in C             on disk
 *     u8     uint8_t          1 byte
 *     u32    uint32_t         varint: 7 bits a byte, low first, high bit = more
 *     u64    uint64_t         varint
 *     i64    int64_t          varint of the zigzag (0, -1, 1, -2 ...)
 *     fix64  uint64_t         8 bytes, little-endian: for random numbers
 *     id     struct id        16 bytes
 *     bytes  struct slice     varint length, then the bytes
 *
 * Rules for ever: a released list never changes; a new field makes the next
 * version, which RECORD2() declares with the list of its predecessor. We write
 * the newest version and read all. A field that the old list lacks is zero. Of
 * RECORD4_CUT() the zero fields at the end are left out from version 4 on.
 *
 * Invariants:
 *  1. decode() accepts exactly what encode() writes: every byte is used,
 *     numbers fit their kind and are in their shortest form.
 *  2. decode() never reads outside `from`; `bytes` fields point into it.
 */
#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "util/assert.h"
#include "util/id.h"
#include "util/slice.h"

/* What is left to read. `bad` stays set once a read failed, and reads then
 * return zero, so a decoder checks once, at its end. */
struct record_reader {
    const char *at, *end;
    bool bad;
};

static inline struct record_reader record_reader(struct slice from)
{
    return (struct record_reader){from.data, from.data + from.len, false};
}

/* All was read and all was well. */
static inline bool record_done(const struct record_reader *in)
{
    return !in->bad && in->at == in->end;
}

/* --- sizes --------------------------------------------------------------- */

static inline size_t varint_size(uint64_t n)
{
    if (n < 0x80) /* as most are */
        return 1;
    return ((size_t)(63 - __builtin_clzll(n | 1)) * 9 + 73) / 64;
}

static inline uint64_t zigzag(int64_t n)
{
    return ((uint64_t)n << 1) ^ (uint64_t)(n >> 63);
}

static inline size_t record_size_u8(uint8_t n)
{
    (void)n;
    return 1;
}

static inline size_t record_size_u32(uint32_t n)
{
    return varint_size(n);
}

static inline size_t record_size_u64(uint64_t n)
{
    return varint_size(n);
}

static inline size_t record_size_i64(int64_t n)
{
    return varint_size(zigzag(n));
}

static inline size_t record_size_fix64(uint64_t n)
{
    (void)n;
    return 8;
}

static inline size_t record_size_id(struct id id)
{
    (void)id;
    return ID_LEN;
}

static inline size_t record_size_bytes(struct slice s)
{
    return varint_size(s.len) + s.len;
}

/* --- writing: each returns where the next field goes --------------------- */

static inline char *record_put_u8(char *to, uint8_t n)
{
    *to = (char)n;
    return to + 1;
}

static inline char *record_put_u64(char *to, uint64_t n)
{
    while (n >= 0x80) {
        *to++ = (char)(n | 0x80);
        n >>= 7;
    }
    *to++ = (char)n;
    return to;
}

static inline char *record_put_u32(char *to, uint32_t n)
{
    return record_put_u64(to, n);
}

static inline char *record_put_i64(char *to, int64_t n)
{
    return record_put_u64(to, zigzag(n));
}

static inline char *record_put_fix64(char *to, uint64_t n)
{
    for (int i = 0; i < 8; i++)
        to[i] = (char)(n >> (8 * i));
    return to + 8;
}

static inline char *record_put_id(char *to, struct id id)
{
    memcpy(to, id.bytes, ID_LEN);
    return to + ID_LEN;
}

static inline char *record_put_bytes(char *to, struct slice s)
{
    to = record_put_u64(to, s.len);
    if (s.len > 0)
        memcpy(to, s.data, s.len);
    return to + s.len;
}

/* --- reading ------------------------------------------------------------- */

static inline bool record_has(struct record_reader *in, size_t len)
{
    if (in->bad || (size_t)(in->end - in->at) < len) {
        in->bad = true;
        return false;
    }
    return true;
}

static inline uint8_t record_get_u8(struct record_reader *in)
{
    return record_has(in, 1) ? (uint8_t)*in->at++ : 0;
}

uint64_t record_get_u64_long(struct record_reader *in);

static inline uint64_t record_get_u64(struct record_reader *in)
{
    if (!in->bad && in->at < in->end && (unsigned char)*in->at < 0x80)
        return (unsigned char)*in->at++;
    return record_get_u64_long(in);
}

static inline uint32_t record_get_u32(struct record_reader *in)
{
    uint64_t n = record_get_u64(in);
    if (n > UINT32_MAX) {
        in->bad = true;
        return 0;
    }
    return (uint32_t)n;
}

static inline int64_t record_get_i64(struct record_reader *in)
{
    uint64_t n = record_get_u64(in);
    return (int64_t)(n >> 1) ^ -(int64_t)(n & 1);
}

static inline uint64_t record_get_fix64(struct record_reader *in)
{
    uint64_t n = 0;
    if (!record_has(in, 8))
        return 0;
    for (int i = 0; i < 8; i++)
        n |= (uint64_t)(unsigned char)in->at[i] << (8 * i);
    in->at += 8;
    return n;
}

static inline struct id record_get_id(struct record_reader *in)
{
    struct id id = {{0}};
    if (record_has(in, ID_LEN)) {
        memcpy(id.bytes, in->at, ID_LEN);
        in->at += ID_LEN;
    }
    return id;
}

static inline struct slice record_get_bytes(struct record_reader *in)
{
    uint64_t len = record_get_u64(in);
    if (in->bad || len > (size_t)(in->end - in->at)) {
        in->bad = true;
        return SLICE_EMPTY;
    }
    struct slice s = slice_of(in->at, (size_t)len);
    in->at += len;
    return s;
}

/* --- what a list makes --------------------------------------------------- */

#define RECORD_C_u8 uint8_t
#define RECORD_C_u32 uint32_t
#define RECORD_C_u64 uint64_t
#define RECORD_C_i64 int64_t
#define RECORD_C_fix64 uint64_t
#define RECORD_C_id struct id
#define RECORD_C_bytes struct slice

#define RECORD_FIELD(kind, field) RECORD_C_##kind field;
#define RECORD_SIZE(kind, field) len += record_size_##kind(r->field);
#define RECORD_PUT(kind, field) to = record_put_##kind(to, r->field);
#define RECORD_GET(kind, field) r->field = record_get_##kind(&in);

/* The same for a list whose last fields may be left out, if they are zero. */
#define RECORD_ANY_u8(n) ((n) != 0)
#define RECORD_ANY_u32(n) ((n) != 0)
#define RECORD_ANY_u64(n) ((n) != 0)
#define RECORD_ANY_fix64(n) ((n) != 0)
#define RECORD_ANY_bytes(s) ((s).len > 0)
#define RECORD_SIZE_CUT(kind, field)       \
    whole += record_size_##kind(r->field); \
    len = RECORD_ANY_##kind(r->field) ? whole : len;
#define RECORD_PUT_CUT(kind, field) \
    if (to < end)                   \
        to = record_put_##kind(to, r->field);
#define RECORD_GET_CUT(kind, field) \
    r->field = in.at < in.end ? record_get_##kind(&in) : (RECORD_C_##kind){0};

/* A list and a number make a decoder of that version alone. */
#define RECORD_READER_BY(name, version, LIST, GET, shortest)       \
    static inline bool name##_decode_v##version(struct name *r,    \
                                                struct slice from) \
    {                                                              \
        struct record_reader in = record_reader(from);             \
        memset(r, 0, sizeof(*r));                                  \
        if (record_get_u8(&in) != (version))                       \
            return false;                                          \
        LIST(GET)                                                  \
        return record_done(&in) && (shortest);                     \
    }
#define RECORD_READER(name, version, LIST) \
    RECORD_READER_BY(name, version, LIST, RECORD_GET, true)

#define RECORD_WRITER(name, version, LIST)                            \
    struct name {                                                     \
        LIST(RECORD_FIELD)                                            \
    };                                                                \
    static inline size_t name##_size(const struct name *r)            \
    {                                                                 \
        size_t len = 1;                                               \
        LIST(RECORD_SIZE)                                             \
        return len;                                                   \
    }                                                                 \
    static inline char *name##_encode(const struct name *r, char *to) \
    {                                                                 \
        to = record_put_u8(to, (version));                            \
        LIST(RECORD_PUT)                                              \
        return to;                                                    \
    }

/* From this version on without the zero fields at its end. */
#define RECORD_READER_CUT(name, version, LIST)            \
    RECORD_READER_BY(name, version, LIST, RECORD_GET_CUT, \
                     name##_size(r) == from.len)

#define RECORD_WRITER_CUT(name, version, LIST)                        \
    struct name {                                                     \
        LIST(RECORD_FIELD)                                            \
    };                                                                \
    static inline size_t name##_size(const struct name *r)            \
    {                                                                 \
        size_t len = 1, whole = 1;                                    \
        LIST(RECORD_SIZE_CUT)                                         \
        return len;                                                   \
    }                                                                 \
    static inline char *name##_encode(const struct name *r, char *to) \
    {                                                                 \
        const char *end = to + name##_size(r);                        \
        to = record_put_u8(to, (version));                            \
        LIST(RECORD_PUT_CUT)                                          \
        return to;                                                    \
    }

/* A record that has only ever had one list. */
#define RECORD(name, LIST)                                           \
    RECORD_WRITER(name, 1, LIST)                                     \
    RECORD_READER(name, 1, LIST)                                     \
    static inline bool name##_decode(struct name *r, struct slice v) \
    {                                                                \
        return name##_decode_v1(r, v);                               \
    }

/* The second version of a record; OLD is read, NEW is read and written. */
#define RECORD2(name, OLD, NEW)                                      \
    RECORD_WRITER(name, 2, NEW)                                      \
    RECORD_READER(name, 1, OLD)                                      \
    RECORD_READER(name, 2, NEW)                                      \
    static inline bool name##_decode(struct name *r, struct slice v) \
    {                                                                \
        return v.len > 0 && v.data[0] == 1 ? name##_decode_v1(r, v)  \
                                           : name##_decode_v2(r, v); \
    }

/* The third version, of which OLDEST and OLD are read, and the fourth: the
 * third one's list without the zero fields at its end. */
#define RECORD4_CUT(name, OLDEST, OLD, NEW)                          \
    RECORD_WRITER_CUT(name, 4, NEW)                                  \
    RECORD_READER(name, 1, OLDEST)                                   \
    RECORD_READER(name, 2, OLD)                                      \
    RECORD_READER(name, 3, NEW)                                      \
    RECORD_READER_CUT(name, 4, NEW)                                  \
    static inline bool name##_decode(struct name *r, struct slice v) \
    {                                                                \
        switch (v.len > 0 ? v.data[0] : 0) {                         \
        case 1:                                                      \
            return name##_decode_v1(r, v);                           \
        case 2:                                                      \
            return name##_decode_v2(r, v);                           \
        case 3:                                                      \
            return name##_decode_v3(r, v);                           \
        default:                                                     \
            return name##_decode_v4(r, v);                           \
        }                                                            \
    }

#endif
