#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cron_lib.h"
#include "util/buf.h"

/* Zones from files that the test writes: good ones, broken ones, replaced
 * ones. The system's own files are judged by tests/oracle/zones.py. */

static char dir[64];

static void put32(struct buf *b, uint64_t v)
{
    for (int i = 24; i >= 0; i -= 8)
        buf_add_char(b, (char)(v >> i));
}

/* A version 2 file: an empty first block, `n` changes between the two offsets,
 * the first type before them. */
static void file_make(struct buf *b, const int64_t *at, uint32_t n,
                      const int32_t offset[2], const char *footer)
{
    buf_clear(b);
    for (int block = 0; block < 2; block++) {
        uint32_t times = block == 0 ? 0 : n;
        buf_add(b, "TZif2", 5);
        buf_add(b, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 15);
        const uint32_t counts[] = {0, 0, 0, times, 2, 4};
        for (int i = 0; i < 6; i++)
            put32(b, counts[i]);
        for (uint32_t i = 0; i < times; i++) {
            put32(b, (uint64_t)at[i] >> 32);
            put32(b, (uint64_t)at[i]);
        }
        for (uint32_t i = 0; i < times; i++)
            buf_add_char(b, i % 2 == 0 ? 1 : 0);
        for (int i = 0; i < 2; i++) {
            put32(b, (uint32_t)offset[i]);
            buf_add(b, "\0\0", 2);
        }
        buf_add(b, "AAA", 4);
    }
    buf_printf(b, "\n%s\n", footer);
}

static void path_of(const char *name, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/%s", dir, name);
}

/* As a package upgrade does it: a new file, renamed over the old one. */
static void file_write(const char *name, struct slice bytes)
{
    char path[128], tmp[160];
    path_of(name, path, sizeof(path));
    (void)snprintf(tmp, sizeof(tmp), "%s.new", path);
    FILE *f = fopen(tmp, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.data, 1, bytes.len, f), bytes.len);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(tmp, path), 0);
}

static void file_remove(const char *name)
{
    char path[128];
    path_of(name, path, sizeof(path));
    (void)unlink(path);
}

static const int64_t ats[] = {1000000, 2000000, 3000000};
static const int32_t offsets[] = {3600, 7200};

static void names_that_leave_the_directory_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",         "../etc/passwd", "/etc/passwd", "Europe/../UTC", "A//B",
        "Europe/",  "Europe",        ".hidden",     "a/.b",          "Mars/X",
        "Zone\x1b", "Zone\n",        "A B",         "zone.tab",      "Test\xff",
    };
    const struct zone *z = NULL;
    struct errbuf e;
    char path[128];
    path_of("Europe", path, sizeof(path));
    assert_int_equal(mkdir(path, 0755), 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (zone_get(slice_str(names[i]), &z, &e) != ERR_SYNTAX)
            fail_msg("'%s' must be refused", names[i]);
        assert_non_null(strstr(e.text, "Europe/Zurich"));
        assert_null(z);
    }
    char name[ZONE_NAME_MAX + 2];
    memset(name, 'A', sizeof(name));
    assert_int_equal(zone_get(slice_of(name, sizeof(name)), &z, &e),
                     ERR_SYNTAX);
    assert_int_equal(rmdir(path), 0);
}

static void utc_needs_no_file(void **state)
{
    (void)state;
    const struct zone *z = zone("UTC");
    struct zone_span span;
    assert_ptr_equal(z, zone_utc());
    zone_span_at(z, 12345, &span);
    assert_int_equal(span.offset, 0);
    assert_true(span.begin == INT64_MIN && span.end == INT64_MAX);
    assert_true(zone_check(z));
}

static void changes_are_found_to_the_second(void **state)
{
    (void)state;
    struct buf b = {0};
    file_make(&b, ats, 3, offsets, "AAA-2");
    file_write("Three", buf_slice(&b));
    buf_release(&b);
    const struct zone *z = zone("Three");
    assert_ptr_equal(z, zone("Three"));
    assert_string_equal(zone_name(z), "Three");
    assert_true(zone_check(z));
    assert_int_equal(zone_offset_at(z, INT64_MIN / 4), 3600);
    assert_int_equal(zone_offset_at(z, 999999), 3600);
    assert_int_equal(zone_offset_at(z, 1000000), 7200);
    assert_int_equal(zone_offset_at(z, 1999999), 7200);
    assert_int_equal(zone_offset_at(z, 2000000), 3600);
    assert_int_equal(zone_offset_at(z, 3000000), 7200);
    assert_int_equal(zone_offset_at(z, INT64_MAX / 4), 7200);
    struct zone_local local;
    zone_local_to_utc(z, 1000000 + 3600, &local);
    assert_int_equal(local.when, ZONE_GAP);
    assert_int_equal(local.first, 1000000);
    zone_local_to_utc(z, 2000000 + 3600, &local);
    assert_int_equal(local.when, ZONE_TWICE);
    assert_int_equal(local.first, 2000000 - 3600);
    assert_int_equal(local.last, 2000000);
    zone_local_to_utc(z, 2000000 + 7200, &local);
    assert_int_equal(local.when, ZONE_ONCE);
}

static void the_footer_s_rule_goes_on_for_ever(void **state)
{
    (void)state;
    struct buf b = {0};
    /* Hours beyond a day, negative times and winter time as the exception. */
    file_make(&b, NULL, 0, offsets, "<+01>-1<+03>-3,M3.4.4/50,M10.4.4/-20");
    file_write("Wide", buf_slice(&b));
    const struct zone *z = zone("Wide");
    assert_true(zone_check(z));
    static const struct {
        const char *utc;
        int32_t offset;
    } facts[] = {
        /* Thursday 2024-03-28 + 50 h = Saturday 02:00 at +01 */
        {"2024-03-30 00:59:59", 3600},
        {"2024-03-30 01:00:00", 10800},
        /* Thursday 2024-10-24 - 20 h = Wednesday 04:00 at +03 */
        {"2024-10-23 00:59:59", 10800},
        {"2024-10-23 01:00:00", 3600},
        /* the same 400 years later, where the table has become a cycle */
        {"2424-03-30 00:59:59", 3600},
        {"2424-03-30 01:00:00", 10800},
        {"9624-10-23 00:59:59", 10800},
        {"9624-10-23 01:00:00", 3600},
    };
    for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
        int64_t t = civil(facts[i].utc);
        struct zone_span span;
        zone_span_at(z, t, &span);
        if (span.offset != facts[i].offset)
            fail_msg("%s: %d", facts[i].utc, span.offset);
        assert_true(span.begin <= t && t < span.end);
        assert_int_equal(span.before, span.after);
        assert_int_equal(span.before + span.offset, 14400);
    }
    /* J60 is 1 March in every year, 59 is 29 February if there is one, and the
     * fifth Wednesday of February 2023 is the fourth. */
    file_make(&b, NULL, 0, offsets, "AAA0BBB,J59/0,J60/0");
    file_write("Julian", buf_slice(&b));
    z = zone("Julian");
    assert_int_equal(zone_offset_at(z, civil("2024-02-28 00:00:00")), 3600);
    assert_int_equal(zone_offset_at(z, civil("2024-02-29 22:59:59")), 3600);
    assert_int_equal(zone_offset_at(z, civil("2024-02-29 23:00:00")), 0);
    assert_int_equal(zone_offset_at(z, civil("2023-02-28 22:59:59")), 3600);
    assert_int_equal(zone_offset_at(z, civil("2023-02-28 23:00:00")), 0);
    file_make(&b, NULL, 0, offsets, "AAA0BBB,59/0,M12.5.0");
    file_write("Counted", buf_slice(&b));
    z = zone("Counted");
    assert_int_equal(zone_offset_at(z, civil("2024-02-28 23:59:59")), 0);
    assert_int_equal(zone_offset_at(z, civil("2024-02-29 00:00:00")), 3600);
    assert_int_equal(zone_offset_at(z, civil("2023-03-01 00:00:00")), 3600);
    file_make(&b, NULL, 0, offsets, "AAA0BBB,M2.5.3/0,M12.5.0");
    file_write("Fifth", buf_slice(&b));
    z = zone("Fifth");
    assert_int_equal(zone_offset_at(z, civil("2023-02-21 23:59:59")), 0);
    assert_int_equal(zone_offset_at(z, civil("2023-02-22 00:00:00")), 3600);
    buf_release(&b);
}

/* Two spellings of daylight saving that never ends, one of them negative. */
static void an_end_that_is_the_next_start_is_none(void **state)
{
    (void)state;
    static const struct {
        const char *name, *footer;
        int32_t offset;
    } zones[] = {{"Summer", "EST5EDT,0/0,J365/25", -14400},
                 {"Winter", "XXX3EDT4,0/0,J365/23", -14400}};
    struct buf b = {0};
    for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
        struct zone_span span;
        file_make(&b, NULL, 0, offsets, zones[i].footer);
        file_write(zones[i].name, buf_slice(&b));
        const struct zone *z = zone(zones[i].name);
        zone_span_at(z, civil("2025-01-01 04:59"), &span);
        assert_int_equal(span.offset, zones[i].offset);
        assert_true(span.begin < 0);
        assert_true(span.end > civil("2200-01-02 00:00"));
        assert_true(zone_check(z));
    }
    buf_release(&b);
}

static void broken_files_are_errors_that_say_what_is_wrong(void **state)
{
    (void)state;
    static const int64_t backwards[] = {2000000, 1000000};
    static const int32_t wild[] = {3600, 200000};
    struct buf good = {0}, b = {0};
    const struct zone *z = NULL;
    struct errbuf e;
    file_make(&good, ats, 3, offsets, "AAA-2");
    /* No length of it is a zone, except the whole. */
    for (size_t len = 0; len < good.len; len++) {
        file_write("Bad", slice_of(good.data, len));
        if (zone_get(SLICE_LIT("Bad"), &z, &e) != ERR_CORRUPT)
            fail_msg("%zu of %zu bytes are a zone", len, good.len);
        assert_non_null(strstr(e.text, "'Bad'"));
    }
    struct {
        const char *says;
        const char *footer;
        const int64_t *at;
        const int32_t *offset;
        uint32_t n;
    } cases[] = {
        {"change 1 is not after", "AAA-2", backwards, offsets, 2},
        {"offset of 200000 s", "AAA-2", ats, wild, 1},
        {"rule is wrong near byte 1", "-2", ats, offsets, 1},
        {"rule is wrong near byte", "AAA", ats, offsets, 1},
        {"rule is wrong near byte", "<AAA-2", ats, offsets, 1},
        {"rule is wrong near byte", "AAA-2BBB", ats, offsets, 1},
        {"rule is wrong near byte", "AAA-2BBB,M3.5.0", ats, offsets, 1},
        {"rule is wrong near byte", "AAA-2BBB,M13.5.0,M3.5.0", ats, offsets, 1},
        {"rule is wrong near byte", "AAA-2BBB,M3.6.0,M3.5.0", ats, offsets, 1},
        {"rule is wrong near byte", "AAA-2BBB,M3.5.0,J0", ats, offsets, 1},
        {"rule is wrong near byte", "AAA-2BBB,M3.5.0,J1x", ats, offsets, 1},
        {"rule is wrong near byte", "AAA-2BBB,M3.5.0/168,J1", ats, offsets, 1},
        {"rule is wrong near byte", "AAA-2:99", ats, offsets, 1},
        /* An hour more than 25:30 is more than a zone may have. */
        {"rule is wrong near byte", "AAA-25:30BBB,J1,J2", ats, offsets, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        file_make(&b, cases[i].at, cases[i].n, cases[i].offset,
                  cases[i].footer);
        file_write("Bad", buf_slice(&b));
        assert_int_equal(zone_get(SLICE_LIT("Bad"), &z, &e), ERR_CORRUPT);
        if (strstr(e.text, cases[i].says) == NULL)
            fail_msg("%zu: %s", i, e.text);
    }
    /* The second header's version, and a leap second. */
    buf_clear(&b);
    buf_add_slice(&b, buf_slice(&good));
    b.data[4] = '9';
    file_write("Bad", buf_slice(&b));
    assert_int_equal(zone_get(SLICE_LIT("Bad"), &z, &e), ERR_CORRUPT);
    assert_non_null(strstr(e.text, "version"));
    /* The second header follows the first block: two types, four letters. */
    buf_clear(&b);
    buf_add(&b, good.data, good.len);
    b.data[44 + 2 * 6 + 4 + 31] = 1;
    buf_add(&b, good.data, 12);
    file_write("Bad", buf_slice(&b));
    assert_int_equal(zone_get(SLICE_LIT("Bad"), &z, &e), ERR_CORRUPT);
    assert_non_null(strstr(e.text, "leap seconds"));
    assert_null(z);
    file_remove("Bad");
    buf_release(&b);
    buf_release(&good);
}

static void replaced_files_are_read_again_in_place(void **state)
{
    (void)state;
    struct buf b = {0};
    struct errbuf e;
    file_make(&b, ats, 1, offsets, "AAA-2");
    file_write("Moving", buf_slice(&b));
    const struct zone *z = zone("Moving");
    uint32_t version = zone_version(z);
    assert_int_equal(zone_reload_changed(&e), 0);
    assert_int_equal(zone_offset_at(z, 1500000), 7200);

    /* The same bytes in a new file change nothing. */
    file_write("Moving", buf_slice(&b));
    assert_int_equal(zone_reload_changed(&e), 0);
    assert_int_equal(zone_version(z), version);

    file_make(&b, ats, 2, offsets, "AAA-1");
    file_write("Moving", buf_slice(&b));
    assert_int_equal(zone_reload_changed(&e), 1);
    assert_int_equal(zone_version(z), version + 1);
    assert_int_equal(zone_offset_at(z, 2500000), 3600);
    assert_string_equal(e.text, "");

    /* A broken or missing file leaves the zone as it was, and is told. */
    file_write("Moving", SLICE_LIT("TZif"));
    assert_int_equal(zone_reload_changed(&e), 0);
    assert_non_null(strstr(e.text, "Moving"));
    assert_int_equal(zone_offset_at(z, 2500000), 3600);
    file_remove("Moving");
    assert_int_equal(zone_reload_changed(&e), 0);
    assert_non_null(strstr(e.text, "Moving"));
    assert_int_equal(zone_offset_at(z, 2500000), 3600);

    file_make(&b, ats, 3, offsets, "AAA-2");
    file_write("Moving", buf_slice(&b));
    assert_int_equal(zone_reload_changed(NULL), 1);
    assert_int_equal(zone_offset_at(z, 3500000), 7200);
    buf_release(&b);
}

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/belfry-zones-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    zone_set_dir(dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    static const char *const names[] = {"Three",   "Wide",  "Julian", "Summer",
                                        "Counted", "Fifth", "Moving", "Winter"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        file_remove(names[i]);
    zone_cache_clear();
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_leave_the_directory_are_refused),
        cmocka_unit_test(utc_needs_no_file),
        cmocka_unit_test(changes_are_found_to_the_second),
        cmocka_unit_test(the_footer_s_rule_goes_on_for_ever),
        cmocka_unit_test(an_end_that_is_the_next_start_is_none),
        cmocka_unit_test(broken_files_are_errors_that_say_what_is_wrong),
        cmocka_unit_test(replaced_files_are_read_again_in_place),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
