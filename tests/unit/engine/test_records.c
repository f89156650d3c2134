/* The engine's records: what their bytes look like, and that nothing else is
 * accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/options.h"
#include "engine/records.h"
#include "golden.h"

/* A value of each kind that differs from field to field. */
static void fill_u8(uint8_t *to, unsigned *n)
{
    *to = (uint8_t)(++*n);
}

static void fill_u32(uint32_t *to, unsigned *n)
{
    *to = ++*n * 1000;
}

static void fill_u64(uint64_t *to, unsigned *n)
{
    *to = (uint64_t)(++*n) << 33;
}

static void fill_i64(int64_t *to, unsigned *n)
{
    *to = -(int64_t)(++*n) * 1000;
}

static void fill_fix64(uint64_t *to, unsigned *n)
{
    *to = 0x0102030405060700 + ++*n;
}

static void fill_id(struct id *to, unsigned *n)
{
    *to = id_make(++*n, 2, 3, 4);
}

static void fill_bytes(struct slice *to, unsigned *n)
{
    static const char text[] = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
    *to = slice_of(text + ++*n % 32, 3);
}

#define FILL(kind, field) fill_##kind(&r.field, &n);

/* What was encoded comes back, and no other length does. */
#define CHECK(name, LIST)                                                 \
    {                                                                     \
        struct name r = {0}, back;                                        \
        char bytes[1024], again[1024];                                    \
        unsigned n = 0;                                                   \
        LIST(FILL)                                                        \
        size_t len = name##_size(&r);                                     \
        assert_true(len < sizeof(bytes));                                 \
        assert_ptr_equal(name##_encode(&r, bytes), bytes + len);          \
        golden_check("engine.txt", #name "_v1", slice_of(bytes, len));    \
        struct slice stored =                                             \
            golden_read("engine.txt", #name "_v1", bytes, sizeof(bytes)); \
        assert_true(name##_decode(&back, stored));                        \
        assert_int_equal(name##_size(&back), len);                        \
        name##_encode(&back, again);                                      \
        assert_memory_equal(again, bytes, len);                           \
        for (size_t cut = 0; cut < len; cut++)                            \
            assert_false(name##_decode(&back, slice_of(bytes, cut)));     \
        bytes[len] = 0;                                                   \
        assert_false(name##_decode(&back, slice_of(bytes, len + 1)));     \
    }

/* The newest version likewise. */
#define CHECK_NEW(name, version, NEW)                                    \
    {                                                                    \
        struct name r = {0}, back;                                       \
        char bytes[1024], again[1024];                                   \
        unsigned n = 0;                                                  \
        NEW(FILL)                                                        \
        size_t len = name##_size(&r);                                    \
        assert_ptr_equal(name##_encode(&r, bytes), bytes + len);         \
        golden_check("engine.txt", #name version, slice_of(bytes, len)); \
        assert_true(name##_decode(&back, slice_of(bytes, len)));         \
        name##_encode(&back, again);                                     \
        assert_memory_equal(again, bytes, len);                          \
        for (size_t cut = 0; cut < len; cut++)                           \
            assert_false(name##_decode(&back, slice_of(bytes, cut)));    \
    }

/* The bytes of an older one still say the same. */
#define CHECK_OLD(name, version, OLD)                                       \
    {                                                                       \
        struct name r = {0}, back;                                          \
        char bytes[1024], again[1024];                                      \
        unsigned n = 0;                                                     \
        OLD(FILL)                                                           \
        size_t len = name##_size(&r);                                       \
        name##_encode(&r, bytes);                                           \
        struct slice stored =                                               \
            golden_read("engine.txt", #name version, again, sizeof(again)); \
        assert_true(name##_decode(&back, stored));                          \
        assert_int_equal(name##_size(&back), len);                          \
        name##_encode(&back, again);                                        \
        assert_memory_equal(again, bytes, len);                             \
    }
#define CHECK2(name, OLD, NEW)  \
    CHECK_NEW(name, "_v2", NEW) \
    CHECK_OLD(name, "_v1", OLD)

/* One whose zeros at the end are left out: what is left of it when it is cut
 * says as much, or nothing. */
#define CHECK_CUT(name, version, NEW)                                    \
    {                                                                    \
        struct name r = {0}, back;                                       \
        char bytes[1024], again[1024];                                   \
        unsigned n = 0, good = 0;                                        \
        assert_int_equal(name##_size(&r), 1);                            \
        NEW(FILL)                                                        \
        size_t len = name##_size(&r);                                    \
        assert_ptr_equal(name##_encode(&r, bytes), bytes + len);         \
        golden_check("engine.txt", #name version, slice_of(bytes, len)); \
        for (size_t cut = 0; cut <= len; cut++) {                        \
            if (!name##_decode(&back, slice_of(bytes, cut)))             \
                continue;                                                \
            good++;                                                      \
            assert_ptr_equal(name##_encode(&back, again), again + cut);  \
            assert_memory_equal(again, bytes, cut);                      \
        }                                                                \
        assert_int_equal(good, 1 NEW(PLUS_ONE));                         \
        bytes[1] = 0;                                                    \
        assert_true(name##_decode(&back, slice_of(bytes, 1)));           \
        assert_false(name##_decode(&back, slice_of(bytes, 2)));          \
    }
#define PLUS_ONE(kind, field) +1
#define CHECK4(name, OLDEST, OLD, NEW) \
    CHECK_CUT(name, "_v4", NEW)        \
    CHECK_OLD(name, "_v3", NEW)        \
    CHECK_OLD(name, "_v2", OLD)        \
    CHECK_OLD(name, "_v1", OLDEST)

static void records_look_on_disk_as_they_always_did(void **state)
{
    (void)state;
    ENGINE_RECORDS(CHECK)
    ENGINE_RECORDS2(CHECK2)
    ENGINE_RECORDS4(CHECK4)
}

static void options_look_on_disk_as_they_always_did(void **state)
{
    (void)state;
    struct job_options back,
        o = {.given = (uint64_t)1 << JOPT_DELAY | (uint64_t)1 << JOPT_FACTOR |
                      (uint64_t)1 << JOPT_HANDLER | (uint64_t)1 << JOPT_LIMIT |
                      (uint64_t)1 << JOPT_TAG,
             .delay_ms = 300000,
             .factor = 1.5,
             .handler = SLICE_LIT("h"),
             .limits = {SLICE_LIT("api")},
             .limits_n = 1,
             .tags = {{SLICE_LIT("k"), SLICE_LIT("v")}},
             .tags_n = 1};
    char bytes[512], again[512];
    size_t len = options_size(&o);
    assert_ptr_equal(options_encode(&o, bytes), bytes + len);
    golden_check("engine.txt", "job_options_v1", slice_of(bytes, len));
    assert_true(options_decode(&back, slice_of(bytes, len)));
    assert_int_equal(options_size(&back), len);
    options_encode(&back, again);
    assert_memory_equal(again, bytes, len);
    for (size_t cut = 0; cut < len; cut++)
        assert_false(options_decode(&back, slice_of(bytes, cut)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_look_on_disk_as_they_always_did),
        cmocka_unit_test(options_look_on_disk_as_they_always_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
