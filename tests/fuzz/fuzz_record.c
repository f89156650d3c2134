/* Records and keys from the disk: whatever is accepted is exactly what would be
 * written (invariant 1 of store/record.h). */
#include <stdint.h>

#include "store/key.h"
#include "store/records.h"
#include "util/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REC_EVERY_V1(X) \
    X(u8, a)            \
    X(u32, b)           \
    X(bytes, c)

#define REC_EVERY_V2(X) \
    X(u8, a)            \
    X(u32, b)           \
    X(bytes, c)         \
    X(u64, d)           \
    X(i64, e)           \
    X(fix64, f)         \
    X(id, g)            \
    X(bytes, h)

RECORD2(rec_every, REC_EVERY_V1, REC_EVERY_V2)

/* Only the version that is written comes back byte by byte. */
#define CHECK(name, version)                                       \
    do {                                                           \
        struct name r;                                             \
        if (name##_decode(&r, s)) {                                \
            char *to = mem_alloc(name##_size(&r));                 \
            char *end = name##_encode(&r, to);                     \
            ASSERT((size_t)(end - to) == name##_size(&r));         \
            ASSERT(s.data[0] != (version) ||                       \
                   slice_eq(s, slice_of(to, (size_t)(end - to)))); \
            mem_free(to);                                          \
        }                                                          \
    } while (0);
#define CHECK_V1(name, LIST) CHECK(name, 1)

static void keys(struct slice s)
{
    struct key k;
    struct ready_key ready;
    struct parked_key parked;
    struct due_key due;
    struct done_key done;
    for (int f = 0; f < FAMILIES; f++)
        (void)!key_valid((enum family)f, s);
    if (key_parse_ready(s, &ready))
        ASSERT(slice_eq(
            s, key_ready(&k, ready.queue, ready.lane, ready.order, &ready.id)));
    if (key_parse_parked(s, &parked))
        ASSERT(slice_eq(s, key_parked(&k, parked.limit, parked.lane,
                                      parked.order, &parked.id)));
    if (s.len <= KEY_MAX && key_parse_due(s, &due))
        ASSERT(slice_eq(s, key_due(&k, due.time_ms, due.kind, due.what)));
    if (key_parse_done(s, &done) && done.kind == DONE_EXTRA)
        ASSERT(slice_eq(s, key_done_extra(&k, done.bucket, done.key_kind,
                                          done.name, done.time_ms, &done.id)));
    if (s.len < KEY_MAX) {
        struct slice end = key_after(&k, s);
        ASSERT(end.len == 0 || slice_cmp(s, end) < 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice s = slice_of(data, size);
    STORE_RECORDS(CHECK_V1)
    CHECK(rec_every, 2)
    keys(s);
    return 0;
}
