/* Records, keys and entries: what they look like, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden.h"
#include "store/entry.h"
#include "store/key.h"
#include "store/records.h"
#include "util/rng.h"

/* Every kind, in a record that got a second version. */
#define REC_SAMPLE_V1(X) \
    X(u8, small)         \
    X(u32, medium)       \
    X(bytes, name)

#define REC_SAMPLE_V2(X) \
    X(u8, small)         \
    X(u32, medium)       \
    X(bytes, name)       \
    X(u64, large)        \
    X(i64, sign)         \
    X(fix64, random)     \
    X(id, id)            \
    X(bytes, payload)

RECORD2(rec_sample, REC_SAMPLE_V1, REC_SAMPLE_V2)

static struct id id_of(unsigned char from)
{
    struct id id;
    for (unsigned i = 0; i < ID_LEN; i++)
        id.bytes[i] = (unsigned char)(from + i);
    return id;
}

static struct rec_sample sample(void)
{
    return (struct rec_sample){.small = 200,
                               .medium = 300,
                               .name = SLICE_LIT("emails"),
                               .large = UINT64_MAX,
                               .sign = -2,
                               .random = 0x0123456789abcdef,
                               .id = id_of(0xa0),
                               .payload = SLICE_LIT("{}")};
}

static struct slice encoded(const struct rec_sample *r, char *to)
{
    char *end = rec_sample_encode(r, to);
    assert_int_equal((size_t)(end - to), rec_sample_size(r));
    return slice_of(to, (size_t)(end - to));
}

static void a_record_reads_back_what_was_written(void **state)
{
    char bytes[256];
    struct rec_sample r = sample(), back;
    (void)state;
    struct slice s = encoded(&r, bytes);
    assert_true(rec_sample_decode(&back, s));
    assert_int_equal(back.small, 200);
    assert_int_equal(back.medium, 300);
    assert_true(slice_eq(back.name, r.name));
    assert_true(back.large == UINT64_MAX);
    assert_true(back.sign == -2);
    assert_true(back.random == 0x0123456789abcdef);
    assert_true(id_eq(&back.id, &r.id));
    assert_true(slice_eq(back.payload, r.payload));
    /* Bytes are borrowed from the encoded record. */
    assert_true(back.payload.data > s.data &&
                back.payload.data < s.data + s.len);
}

static void every_truncation_and_every_longer_record_is_refused(void **state)
{
    char bytes[256];
    struct rec_sample r = sample(), back;
    (void)state;
    struct slice s = encoded(&r, bytes);
    for (size_t len = 0; len < s.len; len++)
        assert_false(rec_sample_decode(&back, slice_of(bytes, len)));
    bytes[s.len] = 0;
    assert_false(rec_sample_decode(&back, slice_of(bytes, s.len + 1)));
}

static void numbers_have_one_form_only(void **state)
{
    static const struct {
        struct slice bytes;
        bool good;
    } cases[] = {
        {SLICE_LIT("\x00"), true},
        {SLICE_LIT("\x7f"), true},
        {SLICE_LIT("\x80\x01"), true},
        {SLICE_LIT("\x80\x00"), false}, /* zero, but longer */
        {SLICE_LIT("\xff\x00"), false},
        {SLICE_LIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), true},
        {SLICE_LIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), false},
        {SLICE_LIT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), false},
        {SLICE_LIT("\x80"), false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct record_reader in = record_reader(cases[i].bytes);
        (void)record_get_u64(&in);
        assert_int_equal(record_done(&in), cases[i].good);
    }
    struct record_reader in = record_reader(SLICE_LIT("\xff\xff\xff\xff\x1f"));
    (void)record_get_u32(&in); /* does not fit */
    assert_true(in.bad);
}

/* In front of other fields, which may be loaded with them. */
static void numbers_end_where_the_next_field_begins(void **state)
{
    static const int others[] = {0, 1, 0x7f, 0x80, 0xff};
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++)
        for (size_t i = 0; i < ARRAY_LEN(others); i++) {
            uint64_t n = ((uint64_t)1 << bit) + i;
            char bytes[32];
            memset(bytes, others[i], sizeof(bytes));
            char *end = record_put_u64(bytes, n);
            struct record_reader in =
                record_reader(slice_of(bytes, sizeof(bytes)));
            assert_true(record_get_u64(&in) == n);
            assert_false(in.bad);
            assert_ptr_equal(in.at, end);
        }
    char long_zero[16] = "\xff\xff\x80\x00";
    struct record_reader in = record_reader(slice_of(long_zero, 16));
    (void)record_get_u64(&in);
    assert_true(in.bad);
}

static void sizes_of_numbers_are_exact(void **state)
{
    char bytes[16];
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++)
        for (int d = -1; d <= 1; d++) {
            uint64_t n = ((uint64_t)1 << bit) + (uint64_t)(int64_t)d;
            char *end = record_put_u64(bytes, n);
            assert_int_equal(varint_size(n), (size_t)(end - bytes));
            struct record_reader in =
                record_reader(slice_of(bytes, (size_t)(end - bytes)));
            assert_true(record_get_u64(&in) == n);
            assert_true(record_done(&in));
            int64_t i = (int64_t)n;
            end = record_put_i64(bytes, i);
            in = record_reader(slice_of(bytes, (size_t)(end - bytes)));
            assert_true(record_get_i64(&in) == i);
        }
}

static void an_older_version_is_read_with_zeroes(void **state)
{
    struct rec_sample back;
    (void)state;
    assert_true(rec_sample_decode(&back, SLICE_LIT("\x01\xc8\xac\x02\x06"
                                                   "emails")));
    assert_int_equal(back.medium, 300);
    assert_true(slice_eq(back.name, SLICE_LIT("emails")));
    assert_true(back.large == 0);
    assert_int_equal(back.payload.len, 0);
    assert_false(rec_sample_decode(&back, SLICE_LIT("\x03\x00")));
    assert_false(rec_sample_decode(&back, SLICE_EMPTY));
}

static void stored_bytes_are_those_that_were_released(void **state)
{
    char bytes[256];
    struct rec_sample r = sample();
    struct rec_applied applied = {123456789, 300};
    struct rec_format format = {SLICE_LIT("belfry"), 1};
    struct rec_start start = {1700000000, 1700000000123};
    (void)state;
    golden_check("records.txt", "rec_sample_v2", encoded(&r, bytes));
    golden_check(
        "records.txt", "rec_applied_v2",
        slice_of(bytes, (size_t)(rec_applied_encode(&applied, bytes) - bytes)));
    golden_check(
        "records.txt", "rec_format_v1",
        slice_of(bytes, (size_t)(rec_format_encode(&format, bytes) - bytes)));
    golden_check(
        "records.txt", "rec_start_v1",
        slice_of(bytes, (size_t)(rec_start_encode(&start, bytes) - bytes)));
    /* And they are read. */
    struct slice s =
        golden_read("records.txt", "rec_start_v1", bytes, sizeof(bytes));
    assert_true(rec_start_decode(&start, s));
    assert_int_equal(start.number, 1700000000);
    s = golden_read("records.txt", "rec_applied_v1", bytes, sizeof(bytes));
    assert_true(rec_applied_decode(&applied, s));
    assert_true(applied.index == 123456789 && applied.unsure == 0);
    s = golden_read("records.txt", "rec_format_v1", bytes, sizeof(bytes));
    assert_true(rec_format_decode(&format, s));
    assert_true(slice_eq(format.owner, SLICE_LIT("belfry")));
}

/* --- keys ---------------------------------------------------------------- */

static void keys_are_those_that_were_released(void **state)
{
    struct id a = id_of(0x10), b = id_of(0x40);
    struct slice api = SLICE_LIT("api:acme");
    struct key k;
    (void)state;
#define KEY(name, family, ...)                         \
    do {                                               \
        golden_check("keys.txt", name, __VA_ARGS__);   \
        assert_true(key_valid(family, key_slice(&k))); \
    } while (0)
    KEY("meta", FAMILY_META, key_meta(&k, SLICE_LIT("applied")));
    KEY("named", FAMILY_NAMED, key_named(&k, 3, SLICE_LIT("emails")));
    KEY("job", FAMILY_JOBS, key_job(&k, &a));
    KEY("body", FAMILY_BODIES, key_body(&k, &a, 2, 77));
    KEY("ready", FAMILY_READY, key_ready(&k, 1, 2, 0x1122334455667788, &a));
    KEY("due", FAMILY_DUE, key_due(&k, 1700000000123, 4, id_slice(&a)));
    KEY("run", FAMILY_RUNS, key_run(&k, &a));
    KEY("parked", FAMILY_PARKED, key_parked(&k, api, 2, 3, &a));
    KEY("key", FAMILY_KEYS, key_key(&k, 1, SLICE_LIT("user:7")));
    KEY("dep", FAMILY_DEPS, key_dep(&k, &a, &b));
    KEY("log", FAMILY_LOGS, key_log(&k, 472222, &a, 5, 6));
    KEY("stat", FAMILY_STATS, key_stat(&k, SLICE_LIT("emails"), 472222));
    KEY("audit", FAMILY_AUDIT, key_audit(&k, 99));
    KEY("past_job", FAMILY_PAST, key_past_job(&k, 472222, &a));
    KEY("past_exec", FAMILY_PAST, key_past_exec(&k, 472222, &a, 3));
    KEY("past_body", FAMILY_PAST, key_past_body(&k, 472222, &a, 1, 0));
    KEY("done_alias", FAMILY_DONE,
        key_done_alias(&k, 472222, SLICE_LIT("order-7")));
    KEY("past_effect", FAMILY_PAST,
        key_past_effect(&k, 472222, &a, SLICE_LIT("mail")));
    KEY("done_key", FAMILY_DONE,
        key_done_key(&k, 472222, 2, SLICE_LIT("user:7")));
    KEY("index", FAMILY_INDEX,
        key_index(&k, 472222, 1, 4, 1700000000123, (uint64_t)7 << 32 | 8));
    KEY("done_extra", FAMILY_DONE,
        key_done_extra(&k, 472222, 2, api, 1700000000123, &a));
    KEY("done_count", FAMILY_DONE, key_done_count(&k, 472222, 1, 4));
#undef KEY
}

static void keys_read_back_their_parts(void **state)
{
    struct id a = id_of(0x10);
    struct key k;
    struct ready_key ready;
    struct parked_key parked;
    struct done_key done;
    struct due_key due;
    (void)state;
    assert_true(
        key_parse_ready(key_ready(&k, 1, UINT32_MAX, UINT64_MAX, &a), &ready));
    assert_int_equal(ready.lane, UINT32_MAX);
    assert_true(ready.order == UINT64_MAX);
    assert_true(id_eq(&ready.id, &a));
    assert_true(
        key_parse_parked(key_parked(&k, SLICE_LIT("api"), 7, 8, &a), &parked));
    assert_true(slice_eq(parked.limit, SLICE_LIT("api")));
    assert_int_equal(parked.lane, 7);
    assert_true(key_parse_due(key_due(&k, 5, 6, SLICE_LIT("nightly")), &due));
    assert_true(slice_eq(due.what, SLICE_LIT("nightly")));
    assert_true(
        key_parse_done(key_done_extra(&k, 1, 2, SLICE_LIT("v"), 3, &a), &done));
    assert_int_equal(done.kind, DONE_EXTRA);
    assert_int_equal(done.key_kind, 2);
    assert_true(slice_eq(done.name, SLICE_LIT("v")));
    /* One byte less is another key, or none. */
    key_ready(&k, 1, 2, 3, &a);
    assert_false(key_parse_ready(slice_of(k.bytes, k.len - 1u), &ready));
}

static void byte_order_is_the_order_of_numbers(void **state)
{
    struct id a = id_of(0), b = id_of(1);
    struct key x, y;
    struct rng rng;
    (void)state;
    rng_seed(&rng, 4);
    for (int i = 0; i < 10000; i++) {
        uint64_t m = rng_next(&rng) >> rng_below(&rng, 64);
        uint64_t n = rng_next(&rng) >> rng_below(&rng, 64);
        int c =
            slice_cmp(key_ready(&x, 1, 1, m, &b), key_ready(&y, 1, 1, n, &a));
        if (m != n)
            assert_int_equal(c < 0, m < n);
        c = slice_cmp(key_due(&x, m, 1, SLICE_EMPTY),
                      key_due(&y, n, 1, SLICE_EMPTY));
        assert_int_equal(c < 0, m < n);
    }
}

static void a_prefix_and_its_end_enclose_just_its_keys(void **state)
{
    struct id a = id_of(0xf0);
    struct key k, from, to;
    (void)state;
    key_prefix_lane(&from, 7, UINT32_MAX);
    key_after(&to, key_slice(&from));
    struct slice in = key_ready(&k, 7, UINT32_MAX, UINT64_MAX, &a);
    assert_true(slice_cmp(key_slice(&from), in) <= 0);
    assert_true(slice_cmp(in, key_slice(&to)) < 0);
    struct slice out = key_ready(&k, 8, 0, 0, &a);
    assert_true(slice_cmp(out, key_slice(&to)) >= 0);
    /* Nothing sorts behind this one. */
    assert_int_equal(key_after(&to, SLICE_LIT("\xff\xff")).len, 0);
    /* A name does not run into the next one. */
    key_prefix_limit(&from, SLICE_LIT("api"));
    in = key_parked(&k, SLICE_LIT("apis"), 0, 0, &a);
    assert_false(slice_has_prefix(in, key_slice(&from)));
}

/* --- entries ------------------------------------------------------------- */

static struct slice sample_entry(char *to)
{
    char *at = to + ENTRY_HEAD;
    at = change_write(at, CHANGE_PUT_FRESH, FAMILY_JOBS, SLICE_LIT("k1"), 3);
    memcpy(at, "one", 3);
    at = change_write(at + 3, CHANGE_PUT, FAMILY_READY, SLICE_LIT("k2"), 1);
    *at++ = '2';
    at = change_write(at, CHANGE_DEL, FAMILY_RUNS, SLICE_LIT("k3"), 0);
    at = change_write(at, CHANGE_RANGE, FAMILY_DONE, SLICE_LIT("a"), 1);
    *at++ = 'b';
    at = change_write(at, CHANGE_EVENT, 0, SLICE_EMPTY, 2);
    memcpy(at, "ev", 2);
    at += 2;
    entry_write_head(to, 5, 1700000000123);
    return slice_of(to, (size_t)(at - to));
}

static void an_entry_is_what_was_released(void **state)
{
    char bytes[256];
    struct entry_reader r;
    struct change c;
    (void)state;
    golden_check("records.txt", "entry_v1", sample_entry(bytes));
    struct slice s =
        golden_read("records.txt", "entry_v1", bytes, sizeof(bytes));
    assert_int_equal(entry_open(&r, s, NULL), ERR_OK);
    assert_true(r.wall_ms == 1700000000123);
    assert_int_equal(entry_next(&r, &c, NULL), ERR_OK);
    assert_int_equal(c.op, CHANGE_PUT_FRESH);
    assert_int_equal(c.family, FAMILY_JOBS);
    assert_true(slice_eq(c.key, SLICE_LIT("k1")));
    assert_true(slice_eq(c.value, SLICE_LIT("one")));
    for (int i = 0; i < 4; i++)
        assert_int_equal(entry_next(&r, &c, NULL), ERR_OK);
    assert_true(slice_eq(c.value, SLICE_LIT("ev")));
    assert_int_equal(entry_next(&r, &c, NULL), ERR_EMPTY);
}

static void a_truncated_entry_is_refused(void **state)
{
    char bytes[256];
    struct errbuf e;
    (void)state;
    struct slice s = sample_entry(bytes);
    for (size_t len = 0; len < s.len; len++)
        assert_int_equal(entry_check(slice_of(bytes, len), &e), ERR_CORRUPT);
    bytes[s.len] = 0;
    assert_int_equal(entry_check(slice_of(bytes, s.len + 1), &e), ERR_CORRUPT);
}

static void a_change_that_makes_no_sense_is_refused(void **state)
{
    static const struct {
        uint8_t op, family;
        uint16_t key_len;
        uint32_t value_len;
        const char *why;
    } cases[] = {
        {0, 0, 1, 1, "unknown kind"},
        {6, 0, 1, 1, "unknown kind"},
        {CHANGE_PUT, FAMILIES, 1, 1, "unknown family"},
        {CHANGE_PUT, 0, 0, 1, "empty key"},
        {CHANGE_PUT, 0, 1, 0, "empty value"},
        {CHANGE_DEL, 0, 1, 1, "delete with a value"},
        {CHANGE_RANGE, 0, 1, 1, "ends before it begins"},
        {CHANGE_EVENT, 1, 0, 1, "event with a key"},
        {CHANGE_EVENT, 0, 1, 1, "event with a key"},
        {CHANGE_PUT, 0, 2, 1, "where 2 are left"},
        {CHANGE_PUT, 0, 1, UINT32_MAX, "where 2 are left"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char bytes[64];
        struct errbuf e;
        struct change_head h = {cases[i].op, cases[i].family, cases[i].key_len,
                                cases[i].value_len};
        size_t body = (size_t)cases[i].key_len + cases[i].value_len;
        entry_write_head(bytes, 1, 0);
        memcpy(bytes + ENTRY_HEAD, &h, sizeof(h));
        memset(bytes + ENTRY_HEAD + CHANGE_HEAD, 'x', 8);
        size_t len = ENTRY_HEAD + CHANGE_HEAD + (body <= 2 ? body : 2);
        assert_int_equal(entry_check(slice_of(bytes, len), &e), ERR_CORRUPT);
        if (strstr(e.text, cases[i].why) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", e.text, cases[i].why);
        assert_non_null(strstr(e.text, "byte 16"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_reads_back_what_was_written),
        cmocka_unit_test(every_truncation_and_every_longer_record_is_refused),
        cmocka_unit_test(numbers_have_one_form_only),
        cmocka_unit_test(numbers_end_where_the_next_field_begins),
        cmocka_unit_test(sizes_of_numbers_are_exact),
        cmocka_unit_test(an_older_version_is_read_with_zeroes),
        cmocka_unit_test(stored_bytes_are_those_that_were_released),
        cmocka_unit_test(keys_are_those_that_were_released),
        cmocka_unit_test(keys_read_back_their_parts),
        cmocka_unit_test(byte_order_is_the_order_of_numbers),
        cmocka_unit_test(a_prefix_and_its_end_enclose_just_its_keys),
        cmocka_unit_test(an_entry_is_what_was_released),
        cmocka_unit_test(a_truncated_entry_is_refused),
        cmocka_unit_test(a_change_that_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
