/* The end of RocksDB's MANIFEST may be torn. Bytes first, then real bases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "store/offline.h"
#include "store/rocks.h"
#include "store_lib.h"
#include "util/buf.h"
#include "util/file.h"
#include "util/hash.h"

#define BLOCK 32768u
#define HEAD 7u
#define NO_GROUP (-1)

/* --- bytes --------------------------------------------------------------- */

static void add_little(struct buf *to, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_add_char(to, (char)(v >> (8 * i)));
}

static void add_piece(struct buf *to, int type, struct slice bytes)
{
    char t = (char)type;
    uint32_t sum = crc32c(crc32c(0, slice_of(&t, 1)), bytes);
    add_little(to, (uint32_t)((sum >> 15 | sum << 17) + 0xa282ead8u), 4);
    add_little(to, bytes.len, 2);
    buf_add_char(to, t);
    buf_add_slice(to, bytes);
}

/* As RocksDB writes a record of `len` bytes; with how many of its group are
 * still to come. */
static void add_record(struct buf *to, size_t len, int rest)
{
    struct buf bytes = {0};
    assert_true(len >= 3);
    for (size_t i = 0; i < len; i++)
        buf_add_char(&bytes, (char)('a' + (i + len) % 26));
    if (rest != NO_GROUP)
        memcpy(bytes.data + len - 3, (char[]){(char)0xac, 2, (char)rest}, 3);
    struct slice left = buf_slice(&bytes);
    bool first = true, last = false;
    while (!last) {
        size_t room = BLOCK - to->len % BLOCK;
        if (room < HEAD) {
            add_little(to, 0, room);
            room = BLOCK;
        }
        size_t n = left.len < room - HEAD ? left.len : room - HEAD;
        last = n == left.len;
        add_piece(to,
                  first  ? last ? 1 : 2
                  : last ? 4
                         : 3,
                  slice_of(left.data, n));
        left = slice_of(left.data + n, left.len - n);
        first = false;
    }
    buf_release(&bytes);
}

static struct manifest_scan scan(const struct buf *b)
{
    struct manifest_scan s;
    manifest_scan(buf_slice(b), &s);
    return s;
}

/* Whatever happens to one byte at or behind `from`: the end is found there. */
static void check_each_byte(const struct buf *whole, size_t from,
                            uint64_t records)
{
    for (size_t at = from; at < whole->len; at++) {
        struct buf b = {0};
        buf_add(&b, whole->data, whole->len);
        b.data[at] = (char)(b.data[at] ^ 0x10);
        struct manifest_scan s = scan(&b);
        assert_false(s.whole);
        assert_int_equal(s.end, from);
        assert_int_equal(s.records, records);
        assert_int_equal(s.other, 0);
        assert_true(s.bad >= from && s.bad <= at);
        b.len = at; /* cut off there */
        s = scan(&b);
        assert_int_equal(s.end, from);
        assert_int_equal(s.records, records);
        assert_true(at == from || !s.whole || BLOCK - from % BLOCK < HEAD);
        memcpy(b.data, whole->data, at); /* zeroes from there */
        b.len = whole->len;
        memset(b.data + at, 0, b.len - at);
        s = scan(&b);
        assert_false(s.whole);
        assert_int_equal(s.end, from);
        assert_int_equal(s.other, 0);
        buf_release(&b);
    }
}

static void the_last_record_may_be_torn_at_any_byte(void **state)
{
    (void)state;
    struct buf b = {0};
    add_record(&b, 100, NO_GROUP);
    add_record(&b, 50, NO_GROUP);
    size_t from = b.len;
    add_record(&b, 80, NO_GROUP);
    struct manifest_scan s = scan(&b);
    assert_true(s.whole);
    assert_int_equal(s.records, 3);
    assert_int_equal(s.end, b.len);
    check_each_byte(&b, from, 2);
    buf_release(&b);
}

/* `left` bytes before the end of a block begins the last record: it is in two
 * pieces, or stands behind a filling of less than seven bytes. */
static void the_last_record_may_be_torn_at_the_end_of_a_block(void **state)
{
    (void)state;
    for (size_t left = 0; left <= 20; left++) {
        struct buf b = {0};
        add_record(&b, 40, NO_GROUP);
        add_record(&b, BLOCK - b.len - HEAD - left, NO_GROUP);
        size_t from = b.len;
        assert_int_equal(from, BLOCK - left);
        add_record(&b, 60, NO_GROUP);
        struct manifest_scan s = scan(&b);
        assert_true(s.whole);
        assert_int_equal(s.records, 3);
        for (size_t at = from; at < b.len; at++) {
            bool filling = left < HEAD && at < BLOCK;
            char before = b.data[at];
            b.data[at] = (char)(before ^ 1);
            s = scan(&b);
            b.data[at] = before;
            assert_int_equal(s.whole, filling);
            assert_int_equal(s.end, filling ? b.len : from);
            assert_int_equal(s.other, 0);
        }
        buf_release(&b);
    }
}

static void a_torn_record_may_be_longer_than_a_block(void **state)
{
    (void)state;
    struct buf b = {0};
    add_record(&b, 40, NO_GROUP);
    size_t from = b.len;
    add_record(&b, 3 * BLOCK, NO_GROUP); /* first, middle, middle, last */
    assert_true(scan(&b).whole);
    for (size_t at = from; at < b.len; at += 512) {
        char before = b.data[at];
        b.data[at] = (char)(before ^ 1);
        struct manifest_scan s = scan(&b);
        b.data[at] = before;
        assert_false(s.whole);
        assert_int_equal(s.end, from);
        assert_int_equal(s.other, 0);
    }
    buf_release(&b);
}

/* The disk may have later sectors of a write and lack earlier ones. */
static void
the_rest_of_a_group_behind_the_bad_record_is_of_its_write(void **state)
{
    (void)state;
    struct buf b = {0};
    add_record(&b, 40, NO_GROUP);
    size_t from = b.len;
    for (int rest = 5; rest >= 0; rest--)
        add_record(&b, 90, rest);
    assert_true(scan(&b).whole);
    for (size_t at = from; at < b.len; at++) {
        char before = b.data[at];
        b.data[at] = (char)(before ^ 4);
        struct manifest_scan s = scan(&b);
        b.data[at] = before;
        assert_false(s.whole);
        assert_int_equal(s.other, 0);
        assert_int_equal(s.end, at - (at - from) % 97);
    }
    buf_release(&b);
}

static void a_record_of_a_later_write_behind_the_bad_one_is_told(void **state)
{
    (void)state;
    struct buf b = {0};
    add_record(&b, 40, NO_GROUP);
    size_t bad = b.len;
    add_record(&b, 50, NO_GROUP);
    size_t later = b.len;
    add_record(&b, 60, NO_GROUP);
    b.data[bad + 20] ^= 1;
    assert_int_equal(scan(&b).other, later);
    b.len = later;
    for (int rest = 2; rest >= 0; rest--)
        add_record(&b, 60, rest);
    assert_int_equal(scan(&b).other, 0); /* cannot be told from its write */
    later = b.len;
    add_record(&b, 60, 1); /* another group */
    assert_int_equal(scan(&b).other, later);
    b.len = later;
    add_record(&b, BLOCK, NO_GROUP); /* in two pieces */
    assert_int_not_equal(scan(&b).other, 0);
    buf_release(&b);
}

/* --- real bases ---------------------------------------------------------- */

#define FLUSHED 40 /* rows of the first flush; as many of the second */
#define ROWS 100

struct base {
    struct place *p;
    char dir[96], path[200], name[64];
    struct buf before; /* the MANIFEST as it was */
    size_t last_write; /* where it begins */
    uint64_t applied;  /* without it */
};

static void path_in(const struct base *b, char *to, size_t size,
                    const char *name)
{
    snprintf(to, size, "%s/%s", b->dir, name);
}

static void read_manifest(struct base *b, struct buf *to)
{
    char current[128];
    struct buf text = {0};
    buf_clear(to);
    path_in(b, current, sizeof(current), "CURRENT");
    assert_int_equal(file_read(current, 64, &text, NULL), ERR_OK);
    snprintf(b->name, sizeof(b->name), "%.*s", (int)text.len - 1, text.data);
    buf_release(&text);
    path_in(b, b->path, sizeof(b->path), b->name);
    assert_int_equal(file_read(b->path, SIZE_MAX - 1, to, NULL), ERR_OK);
}

static const struct rocks_base *base_of(const struct place *p)
{
    return &rocks_of(store_backend(p->s))->base;
}

static void no_message(char *message)
{
    if (message != NULL)
        fail_msg("%s", message);
}

static struct rec_applied flush(struct place *p)
{
    struct rec_applied applied;
    wait_durable(p);
    wait_applied(p);
    flush_beside(p);
    assert_int_equal(rocks_base_applied(base_of(p), &applied, NULL), ERR_OK);
    return applied;
}

static void put_rows(struct place *p, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        put(p, i, i + 1, true);
        commit(p);
    }
}

/* Two flushes in the MANIFEST and more in the log, all of which it still has;
 * then killed. */
static void make_base(struct base *b, struct place *p)
{
    *b = (struct base){.p = p};
    snprintf(b->dir, sizeof(b->dir), "%s/base", p->dir);
    load(p);
    put_rows(p, 0, 1);
    (void)flush(p);
    store_close(&p->s); /* another start, another MANIFEST */
    load(p);
    put_rows(p, 1, FLUSHED);
    struct rec_applied first = flush(p);
    b->applied = applied_sure(&first);
    read_manifest(b, &b->before);
    b->last_write = b->before.len;
    put_rows(p, FLUSHED, 2 * FLUSHED);
    assert_true(flush(p).index > first.index);
    put_rows(p, 2 * FLUSHED, ROWS);
    wait_durable(p);
    store_abandon(&p->s);
    read_manifest(b, &b->before);
    assert_true(b->before.len > b->last_write + 100);
}

static void write_file(const char *path, struct slice content)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content.data, content.len), content.len);
    close(fd);
}

static void set_manifest(const struct base *b, struct slice content)
{
    write_file(b->path, content);
}

/* One bit of the last write, or whatever byte. */
static void flip(const struct base *b, size_t at)
{
    struct buf bad = {0};
    buf_add_slice(&bad, buf_slice(&b->before));
    bad.data[at] = (char)(bad.data[at] ^ 2);
    set_manifest(b, buf_slice(&bad));
    buf_release(&bad);
}

static void zero_from(const struct base *b, size_t at)
{
    struct buf bad = {0};
    buf_add_slice(&bad, buf_slice(&b->before));
    memset(bad.data + at, 0, bad.len - at);
    set_manifest(b, buf_slice(&bad));
    buf_release(&bad);
}

/* Names and contents of what is in a folder, whatever their order. */
static uint64_t digest(const char *dir)
{
    uint64_t sum = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d)) != NULL;) {
        char path[512];
        struct buf text = {0};
        snprintf(path, sizeof(path), "%s/%s", dir, f->d_name);
        if (f->d_name[0] == '.' || strcmp(f->d_name, "lock") == 0)
            continue;
        if (f->d_type == DT_DIR) {
            sum += digest(path) ^ hash64(slice_str(f->d_name));
            continue;
        }
        assert_int_equal(file_read(path, SIZE_MAX - 1, &text, NULL), ERR_OK);
        sum += hash64_seed(buf_slice(&text), hash64(slice_str(f->d_name)));
        buf_release(&text);
    }
    closedir(d);
    return sum;
}

static void all_rows_are_there(struct place *p)
{
    for (unsigned i = 0; i < ROWS; i++)
        assert_int_equal(get(p, i), i + 1);
    assert_int_equal(count_rows(p), ROWS);
}

static void is_refused(struct base *b, const char *why)
{
    struct errbuf e;
    struct offline_count n;
    uint64_t before = digest(b->p->dir);
    assert_int_equal(offline_verify(b->p->dir, &n, &e), ERR_CORRUPT);
    assert_true(digest(b->p->dir) == before);
    /* The ballast, as always, may go. */
    before = digest(b->dir);
    assert_int_equal(store_open(&b->p->s, &b->p->o, &e), ERR_CORRUPT);
    if (strstr(e.text, b->name) == NULL || strstr(e.text, "offset") == NULL ||
        strstr(e.text, why) == NULL)
        fail_msg("%s", e.text);
    assert_true(digest(b->dir) == before);
    char look[128];
    snprintf(look, sizeof(look), "%s/base.look", b->p->dir);
    assert_int_not_equal(access(look, F_OK), 0);
}

static void any_byte_of_the_last_write_can_be_done_without(void **state)
{
    struct place *p = *state;
    struct base b;
    struct errbuf e;
    make_base(&b, p);
    for (size_t at = b.last_write; at < b.before.len; at++) {
        b.before.data[at] ^= 2;
        struct manifest_scan s = scan(&b.before);
        b.before.data[at] ^= 2;
        assert_false(s.whole);
        assert_int_equal(s.other, 0);
        assert_true(s.end >= b.last_write && s.end <= at);
    }
    for (size_t at = b.last_write; at < b.before.len; at += 7) {
        struct manifest_cut cut;
        struct rocks_base base;
        flip(&b, at);
        uint64_t before = digest(b.dir);
        if (rocks_manifest_look(p->dir, &base, &cut, &e) != ERR_OK)
            fail_msg("%s", e.text);
        assert_true(cut.bytes > 0);
        assert_true(cut.at >= b.last_write && cut.at <= at);
        assert_int_equal(cut.at + cut.bytes, b.before.len);
        assert_string_equal(cut.name, b.name);
        assert_int_equal(cut.applied, b.applied);
        rocks_base_close(&base);
        rocks_manifest_forget(p->dir);
        assert_true(digest(b.dir) == before);
    }
    buf_release(&b.before);
}

static void in_place(const struct place *p, const char *command)
{
    char all[256];
    snprintf(all, sizeof(all), "cd '%s' && %s", p->dir, command);
    assert_int_equal(system(all), 0);
}

static void check_start(struct base *b)
{
    struct place *p = b->p;
    struct store_stats st;
    char torn[224];
    struct buf kept = {0}, bad = {0};
    assert_int_equal(file_read(b->path, SIZE_MAX - 1, &bad, NULL), ERR_OK);
    load(p);
    all_rows_are_there(p);
    store_get_stats(p->s, &st);
    assert_true(st.cut_manifest_bytes > 0);
    snprintf(torn, sizeof(torn), "%s.torn", b->path);
    assert_int_equal(file_read(torn, SIZE_MAX - 1, &kept, NULL), ERR_OK);
    assert_true(slice_eq(buf_slice(&kept), buf_slice(&bad)));
    store_close(&p->s);
    load(p); /* and once more, from what that start left */
    all_rows_are_there(p);
    store_get_stats(p->s, &st);
    assert_int_equal(st.cut_manifest_bytes, 0);
    store_close(&p->s);
    buf_release(&kept);
    buf_release(&bad);
    in_place(p, "rm -rf base log watermark && cp -r saved/* .");
}

static void a_start_cuts_it_off_and_loses_nothing(void **state)
{
    struct place *p = *state;
    struct base b;
    make_base(&b, p);
    in_place(p, "mkdir saved && cp -r base log saved");
    const size_t first = b.last_write, last = b.before.len - 1;
    const size_t at[] = {first, first + 6, (first + last) / 2, last};
    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        flip(&b, at[i]);
        check_start(&b);
    }
    zero_from(&b, first);
    check_start(&b);
    zero_from(&b, last - 2); /* the last byte is a zero */
    check_start(&b);
    set_manifest(&b, slice_of(b.before.data, last));
    check_start(&b);
    buf_release(&b.before);
}

static void no_compactions(const struct place *p)
{
    const char *name = "disable_auto_compactions", *value = "true";
    for (int f = 0; f < FAMILIES; f++) {
        char *message = NULL;
        rocksdb_set_options_cf(base_of(p)->db, base_of(p)->cfs[f], 1, &name,
                               &value, &message);
        no_message(message);
    }
}

/* A list of tables names their first and last keys. */
static void put_long_keys(struct place *p, unsigned n)
{
    char key[200];
    memset(key, 'k', sizeof(key));
    for (int f = FAMILY_NAMED; f < FAMILIES; f++)
        for (int i = 0; i < 2; i++) {
            snprintf(key, 16, "%u %d", n, i);
            *store_put(p->s, (enum family)f, slice_of(key, sizeof(key)), 1,
                       true) = 1;
        }
    commit(p);
}

/* Flushes, until one of them crosses the end of a block. */
static void a_write_across_the_end_of_a_block_is_cut_as_well(void **state)
{
    struct place *p = *state;
    struct base b = {.p = p};
    struct errbuf e;
    snprintf(b.dir, sizeof(b.dir), "%s/base", p->dir);
    load(p);
    for (unsigned i = 0; b.before.len < BLOCK; i++) {
        b.last_write = b.before.len;
        put_long_keys(p, i);
        b.applied = flush(p).index;
        if (i == 0)
            no_compactions(p);
        read_manifest(&b, &b.before);
        assert_true(i < 1000);
    }
    store_abandon(&p->s);
    size_t step = (b.before.len - b.last_write) / 40;
    for (size_t at = b.last_write; at < b.before.len; at += step) {
        struct manifest_cut cut;
        struct rocks_base base;
        flip(&b, at);
        if (rocks_manifest_look(p->dir, &base, &cut, &e) != ERR_OK)
            fail_msg("%s", e.text);
        struct rec_applied applied = {.index = 0};
        if (cut.bytes > 0)
            assert_int_equal(rocks_base_applied(&base, &applied, NULL), ERR_OK);
        rocks_base_close(&base);
        rocks_manifest_forget(p->dir);
        /* Zeroes that fill a block are read by nobody. */
        bool filling = cut.bytes == 0 && at < BLOCK && at >= BLOCK - HEAD;
        assert_true(filling || (cut.at >= b.last_write && cut.at <= at));
        assert_true(filling || applied.index < b.applied);
    }
    buf_release(&b.before);
}

static void damage_before_the_last_write_is_refused(void **state)
{
    struct place *p = *state;
    struct base b;
    make_base(&b, p);
    flip(&b, b.last_write / 2);
    is_refused(&b, "written later");
    flip(&b, 100);
    is_refused(&b, "written later");
    set_manifest(&b, buf_slice(&b.before));
    load(p);
    all_rows_are_there(p);
    buf_release(&b.before);
}

/* Whatever is missing from there on: the list RocksDB began the file with was
 * on the disk before the file was used. */
static void a_manifest_without_its_first_list_is_refused(void **state)
{
    struct place *p = *state;
    struct base b;
    make_base(&b, p);
    zero_from(&b, 0);
    is_refused(&b, "synced before");
    size_t end = 0;
    for (unsigned records = 0; records < 2 * (FAMILIES + 1); records++) {
        unsigned len = (unsigned char)b.before.data[end + 4] |
                       (unsigned)(unsigned char)b.before.data[end + 5] << 8;
        zero_from(&b, end);
        is_refused(&b, "synced before");
        end += HEAD + len;
    }
    set_manifest(&b, SLICE_EMPTY);
    struct errbuf e;
    assert_int_equal(store_open(&p->s, &p->o, &e), ERR_CORRUPT);
    set_manifest(&b, buf_slice(&b.before));
    load(p);
    all_rows_are_there(p);
    buf_release(&b.before);
}

static void a_log_that_does_not_reach_back_refuses_the_cut(void **state)
{
    struct place *p = *state;
    struct base b;
    struct errbuf e;
    make_base(&b, p);
    char log[96];
    snprintf(log, sizeof(log), "%s/log", p->dir);
    in_place(p, "mv log aside");
    struct log_options lo = {.dir = log, .first_index = b.applied + 2};
    struct log_found found;
    struct log *l = NULL;
    assert_int_equal(log_open(&l, &lo, &found, &e), ERR_OK);
    log_close(&l);
    flip(&b, b.before.len - 20);
    is_refused(&b, "does not go on there");
    uint64_t before = digest(b.dir);
    remove_tree(log);
    assert_int_not_equal(store_open(&p->s, &p->o, &e), ERR_OK);
    assert_true(digest(b.dir) == before);
    in_place(p, "rm -rf log && mv aside log");
    load(p); /* it was no more than the log */
    all_rows_are_there(p);
    buf_release(&b.before);
}

static void a_damaged_log_refuses_the_cut(void **state)
{
    struct place *p = *state;
    struct base b;
    make_base(&b, p);
    char path[128];
    snprintf(path, sizeof(path), "%s/log/00000000000000000001.seg", p->dir);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "damage", 6, 8192 + 1000), 6);
    close(fd);
    flip(&b, b.before.len - 20);
    is_refused(&b, ".seg");
    buf_release(&b.before);
}

/* Which of two writes a bad record belongs to cannot be told, if the later one
 * could be the rest of the other. It does not matter. */
static void a_write_too_many_may_go_and_nothing_is_lost(void **state)
{
    struct place *p = *state;
    struct base b;
    struct store_stats st;
    make_base(&b, p);
    flip(&b, b.last_write - 10);
    load(p);
    all_rows_are_there(p);
    store_get_stats(p->s, &st);
    assert_true(st.cut_manifest_bytes > b.before.len - b.last_write);
    buf_release(&b.before);
}

/* As after a compaction: what the shorter list names is gone. */
static void a_table_that_is_gone_refuses_the_cut(void **state)
{
    struct place *p = *state;
    struct base b;
    make_base(&b, p);
    DIR *d = opendir(b.dir);
    assert_non_null(d);
    char first[64] = "", path[200];
    for (struct dirent *f; (f = readdir(d)) != NULL;)
        if (rocks_is_table(f->d_name) &&
            (first[0] == '\0' || strcmp(f->d_name, first) < 0))
            snprintf(first, sizeof(first), "%.63s", f->d_name);
    closedir(d);
    path_in(&b, path, sizeof(path), first);
    assert_int_equal(unlink(path), 0);
    flip(&b, b.before.len - 20);
    is_refused(&b, "cannot do without");
    buf_release(&b.before);
}

static void verify_shows_the_base_as_the_next_start_will(void **state)
{
    struct place *p = *state;
    struct base b;
    struct errbuf e;
    struct offline_count n;
    make_base(&b, p);
    flip(&b, b.before.len - 20);
    uint64_t before = digest(p->dir);
    if (offline_verify(p->dir, &n, &e) != ERR_OK)
        fail_msg("%s", e.text);
    assert_true(n.cut.bytes > 0);
    assert_string_equal(n.cut.name, b.name);
    assert_int_equal(n.applied, b.applied);
    assert_int_equal(n.rows[FAMILY_JOBS], FLUSHED);
    assert_true(digest(p->dir) == before);
    set_manifest(&b, buf_slice(&b.before));
    assert_int_equal(offline_verify(p->dir, &n, &e), ERR_OK);
    assert_int_equal(n.cut.bytes, 0);
    assert_int_equal(n.rows[FAMILY_JOBS], 2 * FLUSHED);
    buf_release(&b.before);
}

static void tell(void *ud, const char *line)
{
    if (strstr(line, "repair") != NULL)
        *(bool *)ud = true;
}

static void salvage_does_not_repair_what_a_cut_mends(void **state)
{
    struct place *p = *state;
    struct base b;
    struct errbuf e;
    bool repaired = false;
    make_base(&b, p);
    flip(&b, b.before.len - 20);
    if (offline_salvage(p->dir, tell, &repaired, &e) != ERR_OK)
        fail_msg("%s", e.text);
    assert_false(repaired);
    load(p);
    all_rows_are_there(p);
    buf_release(&b.before);
}

/* What a crash in a look leaves does not stand in the way of the next. */
static void a_look_may_have_been_cut_short(void **state)
{
    struct place *p = *state;
    struct base b;
    char look[128], path[160];
    make_base(&b, p);
    snprintf(look, sizeof(look), "%s/base.look", p->dir);
    assert_int_equal(mkdir(look, 0750), 0);
    snprintf(path, sizeof(path), "%s/CURRENT", look);
    write_file(path, SLICE_LIT("MANIFEST-9\n"));
    flip(&b, b.before.len - 20);
    load(p);
    all_rows_are_there(p);
    assert_int_not_equal(access(look, F_OK), 0);
    buf_release(&b.before);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_record_may_be_torn_at_any_byte),
        cmocka_unit_test(the_last_record_may_be_torn_at_the_end_of_a_block),
        cmocka_unit_test(a_torn_record_may_be_longer_than_a_block),
        cmocka_unit_test(
            the_rest_of_a_group_behind_the_bad_record_is_of_its_write),
        cmocka_unit_test(a_record_of_a_later_write_behind_the_bad_one_is_told),
        TEST(any_byte_of_the_last_write_can_be_done_without),
        TEST(a_start_cuts_it_off_and_loses_nothing),
        TEST(a_write_across_the_end_of_a_block_is_cut_as_well),
        TEST(damage_before_the_last_write_is_refused),
        TEST(a_manifest_without_its_first_list_is_refused),
        TEST(a_log_that_does_not_reach_back_refuses_the_cut),
        TEST(a_damaged_log_refuses_the_cut),
        TEST(a_write_too_many_may_go_and_nothing_is_lost),
        TEST(a_table_that_is_gone_refuses_the_cut),
        TEST(verify_shows_the_base_as_the_next_start_will),
        TEST(salvage_does_not_repair_what_a_cut_mends),
        TEST(a_look_may_have_been_cut_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
