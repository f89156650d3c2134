/* Full generations in tables: rows, crashes, and what they hide. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <sys/mount.h>

#include <dirent.h>
#include <fcntl.h>

#include "store/offline.h"
#include "store/rocks.h"
#include "store/rocks_block.h"
#include "store_lib.h"
#include "util/rng.h"

#define ROWS 400 /* of 200 bytes: more than a generation of 64 KB */
#define LEN 200

static struct slice past_key(struct key *k, unsigned bucket, unsigned i)
{
    struct id id = {{0}};
    memcpy(id.bytes + 12, &(uint32_t){__builtin_bswap32(i)}, 4);
    return key_past_job(k, bucket, &id);
}

static void put_past(struct place *p, unsigned bucket, unsigned i, char fill)
{
    struct key k;
    memset(store_put(p->s, FAMILY_PAST, past_key(&k, bucket, i), LEN, true),
           fill, LEN);
}

static void del_past(struct place *p, unsigned bucket, unsigned i)
{
    struct key k;
    store_del(p->s, FAMILY_PAST, past_key(&k, bucket, i));
}

/* 0: no such row. */
static char get_past(struct place *p, unsigned bucket, unsigned i)
{
    struct key k;
    struct slice v;
    enum err rc =
        store_get(p->s, NULL, FAMILY_PAST, past_key(&k, bucket, i), &v, NULL);
    if (rc == ERR_NOTFOUND)
        return 0;
    assert_int_equal(rc, ERR_OK);
    assert_int_equal(v.len, LEN);
    return v.data[0];
}

static unsigned count_past(struct place *p)
{
    unsigned n = 0;
    assert_int_equal(store_scan(p->s, NULL, FAMILY_PAST, SLICE_EMPTY,
                                SLICE_EMPTY, SIZE_MAX, count, &n, NULL),
                     ERR_OK);
    return n;
}

/* Rows by reads from memory, and from the disk where they ask for that. */
static unsigned scan(struct place *p, enum family f, size_t max)
{
    struct gather *g = gather_new(p->s);
    enum err rc = ERR_PENDING;
    unsigned n = 0;
    while (rc == ERR_PENDING) {
        n = 0;
        rc = store_scan(p->s, g, f, SLICE_EMPTY, SLICE_EMPTY, max, count, &n,
                        NULL);
        if (rc == ERR_PENDING)
            fetch_all(p, g);
    }
    gather_free(&g);
    return rc == ERR_OK ? n : 0;
}

/* In one entry, so that one generation has them all, and is full. */
static void fill(struct place *p, unsigned bucket, unsigned from, char with)
{
    for (unsigned i = from; i < from + ROWS; i++)
        put_past(p, bucket, i, with);
    commit(p);
}

static uint64_t filed(struct place *p)
{
    struct store_stats st;
    store_get_stats(p->s, &st);
    return st.filed_changes;
}

/* The real options, but for a crash that no flush comes before. */
static void crash(struct place *p, size_t generation_bytes)
{
    store_abandon(&p->s);
    p->o.generation_bytes = generation_bytes;
    load(p);
}

static void a_full_generation_files_its_finished_jobs(void **state)
{
    struct place *p = *state;
    load(p);
    fill(p, 7, 0, 'a');
    fill(p, 7, ROWS, 'b');
    wait_applied(p);
    assert_int_equal(filed(p), 2 * ROWS);
    assert_int_equal(count_past(p), 2 * ROWS);
    assert_int_equal(get_past(p, 7, 0), 'a');
    assert_int_equal(get_past(p, 7, 2 * ROWS - 1), 'b');
    crash(p, p->o.generation_bytes);
    assert_int_equal(count_past(p), 2 * ROWS);
    store_close(&p->s);
    load(p);
    assert_int_equal(count_past(p), 2 * ROWS);
}

static void a_small_or_old_generation_goes_by_way_of_the_batch(void **state)
{
    struct place *p = *state;
    load(p);
    for (unsigned i = 0; i < 20; i++)
        put_past(p, 7, i, 'a');
    commit(p);
    wait_applied(p);
    assert_int_equal(filed(p), 0);
    assert_int_equal(count_past(p), 20);
}

/* The puts are in tables, the deletions in a memtable that is lost. Replayed as
 * one generation, puts and deletions must not vanish together, or the tables
 * would show the rows again. */
static void what_was_deleted_since_stays_so_after_a_crash(void **state)
{
    struct place *p = *state;
    load(p);
    fill(p, 7, 0, 'a');
    wait_applied(p);
    assert_int_equal(filed(p), ROWS);
    for (unsigned i = 0; i < ROWS; i += 2)
        del_past(p, 7, i);
    commit(p);
    wait_applied(p);
    assert_int_equal(count_past(p), ROWS / 2);
    crash(p, 16 << 20);
    assert_int_equal(count_past(p), ROWS / 2);
    wait_applied(p);
    assert_int_equal(count_past(p), ROWS / 2);
    assert_int_equal(get_past(p, 7, 0), 0);
    assert_int_equal(get_past(p, 7, 1), 'a');
}

static void what_was_changed_since_stays_so_after_a_crash(void **state)
{
    struct place *p = *state;
    load(p);
    fill(p, 7, 0, 'a');
    wait_applied(p);
    fill(p, 7, 0, 'b'); /* over them: the base must say b */
    wait_applied(p);
    assert_int_equal(filed(p), 2 * ROWS);
    for (unsigned i = 0; i < ROWS; i++)
        assert_int_equal(get_past(p, 7, i), 'b');
    crash(p, 16 << 20);
    for (unsigned i = 0; i < ROWS; i++)
        assert_int_equal(get_past(p, 7, i), 'b');
}

static uint64_t flushed(struct place *p)
{
    struct store_stats st;
    store_get_stats(p->s, &st);
    return st.flushed_index;
}

/* Rule c. */
static void rows_in_a_memtable_are_flushed_before_a_table_is_made(void **state)
{
    struct place *p = *state;
    load(p);
    put_past(p, 7, 5, 'x');
    put_past(p, 8, 5, 'x');
    commit(p);
    wait_applied(p);
    uint64_t before = store_last(p->s);
    assert_true(flushed(p) < before);
    fill(p, 7, 0, 'a');
    wait_applied(p);
    assert_int_equal(flushed(p), before);
    assert_int_equal(filed(p), ROWS);
    assert_int_equal(get_past(p, 7, 5), 'a');
    assert_int_equal(get_past(p, 8, 5), 'x');
    assert_int_equal(count_past(p), ROWS + 1);
}

/* Memtables that hold next to nothing do not fill, while the log grows. */
static void on_a_small_disk_the_log_of_rows_in_tables_goes(void **state)
{
    struct place *p = *state;
    uint64_t end = deadline();
    if (geteuid() != 0 || mount("tmpfs", p->dir, "tmpfs", 0, "size=48m") != 0) {
        print_message("skipped: mounting a tmpfs needs root\n");
        skip();
    }
    p->o.disk_reserve_bytes = 1 << 20;
    load(p);
    for (unsigned i = 0; i < 45; i++) { /* more than three megabytes */
        fill(p, 7, i * ROWS, 'a');
        wait_applied(p);
    }
    while (flushed(p) == 0) {
        assert_true(clock_mono_us() < end);
        turn(p);
    }
    assert_int_equal(filed(p), 45 * ROWS);
    store_close(&p->s);
    assert_int_equal(umount(p->dir), 0);
}

static void deletions_go_into_tables_too(void **state)
{
    struct place *p = *state;
    load(p);
    fill(p, 7, 0, 'a');
    wait_applied(p);
    for (unsigned i = ROWS; i < 2 * ROWS; i++)
        put_past(p, 7, i, 'b');
    for (unsigned i = 0; i < 2 * ROWS; i += 2)
        del_past(p, 7, i);
    commit(p);
    wait_applied(p);
    /* Of the new rows half were never there. */
    assert_int_equal(filed(p), 2 * ROWS);
    assert_int_equal(count_past(p), ROWS);
    assert_int_equal(get_past(p, 7, 0), 0);
    fill(p, 7, 0, 'c');
    wait_applied(p);
    assert_int_equal(filed(p), 3 * ROWS);
    assert_int_equal(count_past(p), ROWS + ROWS / 2);
    assert_int_equal(get_past(p, 7, 0), 'c');
}

static unsigned tables(const struct place *p)
{
    char command[160];
    unsigned n = 0;
    snprintf(command, sizeof(command), "ls '%s'/base/*.sst | wc -l", p->dir);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%u", &n), 1);
    pclose(f);
    return n;
}

static void large_put(struct place *p, enum family f, unsigned i, char with,
                      bool fresh)
{
    struct key k;
    struct slice key =
        f == FAMILY_PAST ? past_key(&k, 7 + i % 2, i / 2) : key_of(&k, i);
    memset(store_put(p->s, f, key, LEN, fresh), with, LEN);
}

static void large_del(struct place *p, enum family f, unsigned i)
{
    struct key k;
    store_del(p->s, f,
              f == FAMILY_PAST ? past_key(&k, 7 + i % 2, i / 2)
                               : key_of(&k, i));
}

static char large_get(struct place *p, enum family f, unsigned i)
{
    struct key k;
    struct slice v;
    enum err rc = store_get(p->s, NULL, f,
                            f == FAMILY_PAST ? past_key(&k, 7 + i % 2, i / 2)
                                             : key_of(&k, i),
                            &v, NULL);
    return rc == ERR_NOTFOUND ? 0 : v.data[0];
}

/* A table of both would be merged with all that is between them. */
static void the_head_and_the_end_of_a_backlog_get_a_table_each(void **state)
{
    struct place *p = *state;
    load(p);
    for (unsigned i = 0; i < 2 * ROWS; i++)
        large_put(p, FAMILY_JOBS, i, 'a', true);
    commit(p);
    wait_applied(p);
    assert_int_equal(tables(p), 1);
    for (unsigned i = 0; i < ROWS; i++) {
        large_del(p, FAMILY_JOBS, i);
        large_put(p, FAMILY_JOBS, 2 * ROWS + i, 'b', true);
    }
    large_put(p, FAMILY_JOBS, 7, 'c', true); /* one among many */
    commit(p);
    wait_applied(p);
    assert_int_equal(tables(p), 3);
    assert_int_equal(filed(p), 4 * ROWS);
    assert_int_equal(count_rows(p), 2 * ROWS + 1);
    assert_int_equal(large_get(p, FAMILY_JOBS, 7), 'c');
    assert_int_equal(large_get(p, FAMILY_JOBS, 6), 0);
}

/* A model of live rows and of finished ones: 0 is no row. */
#define MODEL_ROWS 1500
static const enum family model_families[] = {FAMILY_JOBS, FAMILY_PAST};

struct model {
    struct rng rng;
    char rows[2][MODEL_ROWS];
};

static void model_begin(struct model *m)
{
    const char *seed = getenv("TABLES_SEED");
    uint64_t number = seed == NULL ? 1 : strtoull(seed, NULL, 10);
    print_message("seed %llu\n", (unsigned long long)number);
    memset(m, 0, sizeof(*m));
    rng_seed(&m->rng, number);
}

/* Put or delete a run of rows, in an entry. */
static void model_change(struct model *m, struct place *p, unsigned step)
{
    size_t f = (size_t)rng_below(&m->rng, 2);
    unsigned from = (unsigned)rng_below(&m->rng, MODEL_ROWS);
    unsigned to = from + 1 + (unsigned)rng_below(&m->rng, 300);
    char with = rng_below(&m->rng, 2) == 0 ? 0 : (char)('a' + step % 26);
    for (unsigned i = from; i < to && i < MODEL_ROWS; i++) {
        char *row = &m->rows[f][i];
        if (with != 0)
            large_put(p, model_families[f], i, with, *row == 0);
        else if (*row != 0)
            large_del(p, model_families[f], i);
        *row = with;
    }
    commit(p);
}

static void model_check(const struct model *m, struct place *p, unsigned step)
{
    for (size_t f = 0; f < 2; f++) {
        unsigned n = 0;
        for (unsigned i = 0; i < MODEL_ROWS; i++)
            n += m->rows[f][i] != 0;
        unsigned found = scan(p, model_families[f], SIZE_MAX / 4);
        if (found != n)
            fail_msg("step %u, family %zu: %u rows, not %u", step, f, found, n);
    }
    for (unsigned i = 0; i < 2 * MODEL_ROWS; i++)
        if (large_get(p, model_families[i % 2], i / 2) != m->rows[i % 2][i / 2])
            fail_msg("step %u, family %u, row %u", step, i % 2, i / 2);
}

/* Small and full generations, puts and deletions in runs, crashes before and
 * after flushes. */
static void crashes_anywhere_leave_what_was_written(void **state)
{
    static struct model m;
    struct place *p = *state;
    uint64_t in_tables = 0;
    model_begin(&m);
    load(p);
    for (unsigned step = 0; step < 300; step++) {
        model_change(&m, p, step);
        if (rng_below(&m.rng, 8) == 0)
            wait_applied(p);
        if (rng_below(&m.rng, 20) != 0)
            continue;
        wait_durable(p);
        in_tables += filed(p);
        if (rng_below(&m.rng, 4) == 0)
            store_close(&p->s);
        else
            store_abandon(&p->s);
        p->o.generation_bytes = (size_t)32 << 10 << rng_below(&m.rng, 5);
        load(p);
        model_check(&m, p, step);
    }
    assert_true(in_tables > 0);
}

/* As if all dead letters were taken back: full by what they become. */
static void a_generation_may_only_delete(void **state)
{
    struct place *p = *state;
    struct key k;
    load(p);
    fill(p, 7, 0, 'a');
    wait_applied(p);
    for (unsigned i = 0; i < ROWS; i++) {
        del_past(p, 7, i);
        memset(store_put(p->s, FAMILY_BODIES, past_key(&k, 7, i), LEN, true),
               'x', LEN);
    }
    commit(p);
    wait_applied(p);
    assert_int_equal(filed(p), 3 * ROWS);
    assert_int_equal(count_past(p), 0);
}

static void a_forgotten_bucket_stays_forgotten(void **state)
{
    struct place *p = *state;
    struct key a, b;
    load(p);
    fill(p, 7, 0, 'a');
    fill(p, 8, 0, 'a');
    wait_applied(p);
    key_prefix_bucket(&a, 7);
    key_prefix_bucket(&b, 8);
    store_del_range(p->s, FAMILY_PAST, key_slice(&a), key_slice(&b));
    fill(p, 9, 0, 'b'); /* in the same generation: no table */
    wait_applied(p);
    assert_int_equal(filed(p), 2 * ROWS);
    assert_int_equal(count_past(p), 2 * ROWS);
    crash(p, 16 << 20);
    assert_int_equal(count_past(p), 2 * ROWS);
    assert_int_equal(get_past(p, 7, 3), 0);
}

/* The store fetches so many rows more than were asked for. */
#define AHEAD 16

/* Six tables. In the cache are all blocks of the first, and no other. */
static void cold_tables(struct place *p)
{
    load(p);
    for (unsigned i = 0; i < 6; i++)
        fill(p, 7, i * ROWS, 'a');
    wait_applied(p);
    assert_int_equal(filed(p), 6 * ROWS);
    store_close(&p->s);
    load(p);
    unsigned n = ROWS - AHEAD - 1;
    assert_int_equal(scan(p, FAMILY_PAST, n), n);
}

static void a_read_from_memory_misses_no_table(void **state)
{
    struct place *p = *state;
    cold_tables(p);
    assert_int_equal(scan(p, FAMILY_PAST, SIZE_MAX / 4), 6 * ROWS);
}

/* Rows [ROWS / 4, ROWS / 2) go. */
static void erase_some(struct place *p)
{
    struct key a, b;
    past_key(&a, 7, ROWS / 4);
    past_key(&b, 7, ROWS / 2);
    store_del_range(p->s, FAMILY_PAST, key_slice(&a), key_slice(&b));
    commit(p);
    wait_applied(p);
}

static void a_read_from_memory_misses_no_table_behind_a_range(void **state)
{
    struct place *p = *state;
    cold_tables(p);
    erase_some(p);
    assert_int_equal(scan(p, FAMILY_PAST, SIZE_MAX / 4), 6 * ROWS - ROWS / 4);
    store_close(&p->s);
    load(p);
    unsigned n = ROWS - ROWS / 4 - AHEAD - 1;
    assert_int_equal(scan(p, FAMILY_PAST, n), n);
    assert_int_equal(scan(p, FAMILY_PAST, SIZE_MAX / 4), 6 * ROWS - ROWS / 4);
}

/* The first block of the third table. */
static void a_damaged_table_behind_a_range_is_noticed(void **state)
{
    struct place *p = *state;
    char command[300];
    cold_tables(p);
    erase_some(p);
    store_close(&p->s);
    snprintf(command, sizeof(command),
             "f=$(ls '%s'/base/*.sst | sed -n 3p); "
             "printf X | dd of=\"$f\" bs=1 seek=99 conv=notrunc status=none",
             p->dir);
    assert_int_equal(system(command), 0);
    load(p);
    assert_int_equal(scan(p, FAMILY_PAST, ROWS), ROWS);
    assert_int_equal(scan(p, FAMILY_PAST, SIZE_MAX / 4), 0);
}

/* A crash between taking a table in and deleting its own name leaves two names
 * of one file: neither the start nor the next table may write into it. */
static void a_second_name_of_a_table_does_no_harm(void **state)
{
    struct place *p = *state;
    char command[300];
    load(p);
    fill(p, 7, 0, 'a');
    wait_applied(p);
    snprintf(command, sizeof(command),
             "for f in '%s'/base/*.sst; do ln \"$f\" '%s'/base.table-0; "
             "break; done",
             p->dir, p->dir);
    assert_int_equal(system(command), 0);
    fill(p, 7, ROWS, 'b');
    wait_applied(p);
    assert_int_equal(filed(p), 2 * ROWS);
    assert_int_equal(system(command), 0);
    crash(p, p->o.generation_bytes);
    assert_int_equal(count_past(p), 2 * ROWS);
    wait_applied(p);
    assert_int_equal(count_past(p), 2 * ROWS);
    snprintf(command, sizeof(command), "! ls '%s'/base.table-* 2>/dev/null",
             p->dir);
    assert_int_equal(system(command), 0);
}

/* RocksDB deletes a table that it could not note, but the note may be read all
 * the same after a crash. */
static void a_note_of_a_table_that_is_not_there_is_cut_off(void **state)
{
    struct place *p = *state;
    struct store_stats st;
    struct offline_count n;
    struct errbuf e;
    char command[200];
    load(p);
    fill(p, 7, 0, 'a');
    wait_applied(p);
    fill(p, 7, ROWS, 'b');
    wait_applied(p);
    assert_int_equal(filed(p), 2 * ROWS);
    store_abandon(&p->s);
    snprintf(command, sizeof(command), "rm $(ls '%s'/base/*.sst | tail -n 1)",
             p->dir);
    assert_int_equal(system(command), 0);
    if (offline_verify(p->dir, &n, &e) != ERR_OK)
        fail_msg("%s", e.text);
    assert_true(n.cut.bytes > 0 && n.cut.table > 0);
    load(p);
    store_get_stats(p->s, &st);
    assert_true(st.cut_manifest_bytes > 0);
    assert_int_equal(count_past(p), 2 * ROWS);
    wait_applied(p);
    store_close(&p->s);
    load(p);
    store_get_stats(p->s, &st);
    assert_int_equal(st.cut_manifest_bytes, 0);
    assert_int_equal(count_past(p), 2 * ROWS);
}

/* Its rows are between those of the table before: it gets a sequence number,
 * and is found whole by whoever looks for damage. */
static void a_table_across_another_is_whole(void **state)
{
    struct place *p = *state;
    char path[128], command[300];
    struct errbuf e;
    load(p);
    fill(p, 7, 0, 'a');
    wait_applied(p);
    fill(p, 7, ROWS / 2, 'b');
    wait_applied(p);
    assert_int_equal(filed(p), 2 * ROWS);
    assert_int_equal(count_past(p), ROWS + ROWS / 2);
    assert_int_equal(get_past(p, 7, ROWS / 2), 'b');
    store_close(&p->s);
    snprintf(path, sizeof(path), "%s/base", p->dir);
    err_set(&e, ERR_CORRUPT, "what RocksDB said");
    rocks_blame_tables(path, &e);
    assert_non_null(strstr(e.text, "no table of the base is damaged"));
    snprintf(command, sizeof(command),
             "f=$(ls '%s'/*.sst | tail -n 1); n=$(stat -c %%s \"$f\"); "
             "printf X | dd of=\"$f\" bs=1 seek=$((n - 300)) conv=notrunc "
             "status=none",
             path);
    assert_int_equal(system(command), 0);
    rocks_blame_tables(path, &e);
    assert_non_null(strstr(e.text, "wrong checksum"));
}

/* --- without a MANIFEST ----------------------------------------------------
 */

/* What a table's properties say of this, and where in the file; 0: nothing. */
static off_t property(struct table *t, const char *name, struct buf *out)
{
    struct table_handle at;
    struct slice rest, value;
    struct buf key = {0};
    off_t found = 0;
    const char *wrong = table_properties(t, &at);
    if (wrong != NULL)
        fail_msg("%s", wrong);
    assert_true(table_entries(buf_slice(&t->block), &rest));
    buf_clear(out);
    while (found == 0 && rest.len > 0) {
        assert_true(table_entry(&rest, &key, &value));
        if (!slice_eq(buf_slice(&key), slice_str(name)))
            continue;
        found = (off_t)at.at + (value.data - t->block.data);
        buf_add_slice(out, value);
    }
    buf_release(&key);
    return found;
}

static void a_table_says_whose_it_is(void **state)
{
    struct place *p = *state;
    char path[96];
    struct buf value = {0};
    struct errbuf e;
    unsigned seen = 0;
    load(p);
    fill(p, 7, 0, 'a');
    wait_applied(p);
    store_abandon(&p->s); /* no flush, which would make tables of its own */
    snprintf(path, sizeof(path), "%s/base", p->dir);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d)) != NULL;) {
        if (!rocks_is_table(f->d_name))
            continue;
        struct table t = {.fd = openat(dirfd(d), f->d_name, O_RDONLY)};
        assert_true(t.fd >= 0);
        assert_true(property(&t, "rocksdb.column.family.name", &value) > 0);
        assert_string_equal(buf_cstr(&value), "past");
        assert_true(property(&t, "rocksdb.column.family.id", &value) > 0);
        assert_int_equal(value.len, 1);
        assert_int_equal(value.data[0], FAMILY_PAST + 1);
        assert_true(property(&t, TABLE_SEQUENCE, &value) > 0);
        assert_int_equal(value.len, 8);
        buf_release(&t.block);
        close(t.fd);
        seen++;
    }
    closedir(d);
    buf_release(&value);
    assert_int_equal(seen, 1);
    err_set(&e, ERR_CORRUPT, "what RocksDB said");
    rocks_blame_tables(path, &e);
    assert_non_null(strstr(e.text, "no table of the base is damaged"));
    load(p);
}

static void another_file_is_not_written_into(void **state)
{
    struct place *p = *state;
    char path[96];
    struct errbuf e;
    snprintf(path, sizeof(path), "%s/table", p->dir);
    assert_int_equal(rocks_stamp(path, 3, "jobs", &e), ERR_IO);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 1000; i++)
        fputc(i, f);
    fclose(f);
    assert_int_equal(rocks_stamp(path, 3, "jobs", &e), ERR_IO);
    assert_non_null(strstr(e.text, path));
}

static void lose_manifest(const struct place *p)
{
    char command[200];
    snprintf(command, sizeof(command), "cd '%s'/base && rm CURRENT MANIFEST-*",
             p->dir);
    assert_int_equal(system(command), 0);
}

static void tell(void *ud, const char *line)
{
    (void)ud;
    (void)line;
}

static void salvage(const struct place *p)
{
    struct errbuf e;
    if (offline_salvage(p->dir, tell, NULL, &e) != ERR_OK)
        fail_msg("%s", e.text);
}

/* Jobs and runs of the same ids: some runs deleted, some jobs written over. */
static void make_families(struct place *p)
{
    load(p);
    for (unsigned i = 0; i < ROWS; i++) {
        large_put(p, FAMILY_JOBS, i, 'j', true);
        large_put(p, FAMILY_RUNS, i, 'r', true);
    }
    commit(p);
    wait_applied(p);
    for (unsigned i = 0; i < ROWS; i += 2) {
        large_del(p, FAMILY_RUNS, i);
        large_put(p, FAMILY_JOBS, i + 1, 'k', false);
    }
    for (unsigned i = ROWS; i < 2 * ROWS; i++)
        large_put(p, FAMILY_JOBS, i, 'l', true);
    commit(p);
    wait_applied(p);
    assert_int_equal(filed(p), 4 * ROWS);
    store_close(&p->s);
}

static void check_families(struct place *p)
{
    load(p);
    for (unsigned i = 0; i < 2 * ROWS; i++) {
        char run = 0, job = 'l';
        if (i < ROWS) {
            run = i % 2 == 0 ? 0 : 'r';
            job = i % 2 == 0 ? 'j' : 'k';
        }
        if (large_get(p, FAMILY_RUNS, i) != run)
            fail_msg("run %u", i);
        if (large_get(p, FAMILY_JOBS, i) != job)
            fail_msg("job %u", i);
    }
    store_close(&p->s);
}

static void without_its_manifest_each_row_is_in_its_family(void **state)
{
    struct place *p = *state;
    make_families(p);
    for (int i = 0; i < 2; i++) { /* what is repaired can be repaired */
        lose_manifest(p);
        salvage(p);
        check_families(p);
    }
}

/* Take the numbers of all tables into the note, as a repair does first. */
static unsigned note_numbers(const char *base)
{
    char path[128];
    struct buf value = {0};
    unsigned n = 0;
    snprintf(path, sizeof(path), "%s/REPAIR", base);
    FILE *note = fopen(path, "w");
    DIR *d = opendir(base);
    assert_non_null(d);
    assert_non_null(note);
    for (struct dirent *f; (f = readdir(d)) != NULL;) {
        char number[8];
        if (!rocks_is_table(f->d_name))
            continue;
        struct table t = {.fd = openat(dirfd(d), f->d_name, O_RDWR)};
        off_t at = property(&t, TABLE_SEQUENCE, &value);
        if (at > 0) {
            assert_int_equal(pread(t.fd, number, 8, at), 8);
            if (rocks_little(number, 8) != 0)
                n++;
            fprintf(note, "%llu %llu\n", strtoull(f->d_name, NULL, 10),
                    (unsigned long long)rocks_little(number, 8));
            assert_int_equal(pwrite(t.fd, "\0\0\0\0\0\0\0", 8, at), 8);
        }
        buf_release(&t.block);
        close(t.fd);
    }
    closedir(d);
    fclose(note);
    buf_release(&value);
    return n;
}

/* Stopped at the worst place: RocksDB's repair is done, but what it wrote has
 * no numbers, and the tables have none either. */
static void a_repair_that_was_cut_short_goes_on(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct errbuf e;
    char base[96], *message = NULL;
    make_families(p);
    lose_manifest(p);
    snprintf(base, sizeof(base), "%s/base", p->dir);
    assert_int_equal(note_numbers(base), 2);
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_options_set_info_log_level(o, 4);
    rocksdb_repair_db(o, base, &message);
    rocksdb_options_destroy(o);
    assert_null(message);
    assert_int_equal(offline_verify(p->dir, &n, &e), ERR_CORRUPT);
    assert_non_null(strstr(e.text, "was cut short"));
    salvage(p);
    check_families(p);
    lose_manifest(p); /* the tables have their numbers again */
    salvage(p);
    check_families(p);
}

/* Rows in tables of ours and in flushed and merged ones. */
static void without_its_manifest_all_is_as_it_was(void **state)
{
    static struct model m;
    struct place *p = *state;
    uint64_t in_tables = 0;
    model_begin(&m);
    for (unsigned round = 0; round < 8; round++) {
        p->o.generation_bytes = (size_t)32 << 10 << rng_below(&m.rng, 3);
        load(p);
        for (unsigned step = 0; step < 30; step++)
            model_change(&m, p, step);
        wait_applied(p);
        in_tables += filed(p);
        store_close(&p->s);
        lose_manifest(p);
        salvage(p);
        load(p);
        model_check(&m, p, round);
        store_close(&p->s);
    }
    assert_true(in_tables > 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_full_generation_files_its_finished_jobs),
        TEST(a_small_or_old_generation_goes_by_way_of_the_batch),
        TEST(what_was_deleted_since_stays_so_after_a_crash),
        TEST(what_was_changed_since_stays_so_after_a_crash),
        TEST(rows_in_a_memtable_are_flushed_before_a_table_is_made),
        TEST(on_a_small_disk_the_log_of_rows_in_tables_goes),
        TEST(deletions_go_into_tables_too),
        TEST(the_head_and_the_end_of_a_backlog_get_a_table_each),
        TEST(crashes_anywhere_leave_what_was_written),
        TEST(a_generation_may_only_delete),
        TEST(a_forgotten_bucket_stays_forgotten),
        TEST(a_note_of_a_table_that_is_not_there_is_cut_off),
        TEST(a_table_across_another_is_whole),
        TEST(a_table_says_whose_it_is),
        TEST(another_file_is_not_written_into),
        TEST(without_its_manifest_each_row_is_in_its_family),
        TEST(a_repair_that_was_cut_short_goes_on),
        TEST(without_its_manifest_all_is_as_it_was),
        TEST(a_second_name_of_a_table_does_no_harm),
        TEST(a_read_from_memory_misses_no_table),
        TEST(a_read_from_memory_misses_no_table_behind_a_range),
        TEST(a_damaged_table_behind_a_range_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
