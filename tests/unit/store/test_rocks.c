/* The store on RocksDB and the log: start, replay, reads, full disks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "store/offline.h"
#include "store/rocks.h"
#include "store_lib.h"

static void what_is_durable_survives_a_crash(void **state)
{
    struct place *p = *state;
    struct store_stats st;
    load(p);
    for (unsigned i = 1; i <= 100; i++) {
        put(p, i, i, true);
        commit(p);
    }
    del(p, 50);
    commit(p);
    wait_durable(p);
    store_abandon(&p->s);
    load(p);
    for (unsigned i = 1; i <= 100; i++)
        assert_int_equal(get(p, i), i == 50 ? 0 : i);
    assert_int_equal(count_rows(p), 99);
    store_get_stats(p->s, &st);
    assert_true(st.replayed_entries >= 101);
}

static void a_clean_stop_leaves_nothing_to_replay(void **state)
{
    struct place *p = *state;
    struct store_stats st;
    load(p);
    for (unsigned i = 1; i <= 100; i++)
        put(p, i, i, true);
    commit(p);
    store_close(&p->s);
    load(p);
    store_get_stats(p->s, &st);
    assert_int_equal(st.replayed_entries, 0);
    assert_int_equal(count_rows(p), 100);
}

static void start_numbers_only_grow(void **state)
{
    struct place *p = *state;
    load(p);
    uint32_t first = store_start_number(p->s);
    store_abandon(&p->s);
    load(p);
    assert_true(store_start_number(p->s) > first);
}

/* Many generations, some applied, a few flushed; the rest comes from the log.
 */
static void replay_goes_on_where_the_base_was_flushed(void **state)
{
    struct place *p = *state;
    load(p);
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < 4000; i++) {
            unsigned n = round * 4000 + i;
            put(p, n, n + 1, true);
            if (n >= 1000)
                del(p, n - 1000);
            if (i % 10 == 9)
                commit(p);
        }
        wait_durable(p);
        if (round % 2 == 0)
            wait_applied(p);
        store_abandon(&p->s);
        load(p);
        unsigned last = round * 4000 + 3999;
        assert_int_equal(count_rows(p), 1000);
        assert_int_equal(get(p, last), last + 1);
        assert_int_equal(get(p, last - 1000), 0);
        assert_int_equal(get(p, last - 999), last - 998);
    }
}

static void a_range_deletion_reaches_the_base(void **state)
{
    struct place *p = *state;
    struct key a, b;
    load(p);
    for (unsigned i = 0; i < 100; i++)
        put(p, i, i + 1, true);
    commit(p);
    wait_applied(p);
    store_del_range(p->s, FAMILY_JOBS, key_of(&a, 10), key_of(&b, 20));
    put(p, 15, 77, true);
    commit(p);
    assert_int_equal(count_rows(p), 91);
    wait_applied(p);
    assert_int_equal(count_rows(p), 91);
    assert_int_equal(get(p, 15), 77);
    store_del_range(p->s, FAMILY_JOBS, key_of(&a, 50), SLICE_EMPTY);
    commit(p);
    wait_applied(p);
    assert_int_equal(count_rows(p), 41);
    store_close(&p->s);
    load(p);
    assert_int_equal(count_rows(p), 41);
}

static void a_life_within_a_generation_leaves_the_base_nothing(void **state)
{
    struct place *p = *state;
    struct store_stats st;
    load(p);
    wait_applied(p);
    store_get_stats(p->s, &st);
    uint64_t before = st.applied_changes;
    for (unsigned i = 0; i < 500; i++) {
        put(p, i, 1, true);
        commit(p);
        put(p, i, 2, false);
        commit(p);
        del(p, i);
        commit(p);
    }
    wait_applied(p);
    store_get_stats(p->s, &st);
    assert_int_equal(st.applied_changes - before, 0);
}

static void a_second_process_is_refused(void **state)
{
    struct place *p = *state;
    struct store *other = NULL;
    struct errbuf e;
    load(p);
    assert_int_equal(store_open(&other, &p->o, &e), ERR_BUSY);
    assert_non_null(strstr(e.text, "another process uses"));
    assert_null(other);
}

struct outcome {
    bool done;
    enum err rc;
    char why[256];
};

static void backed_up(void *ud, enum err rc, const char *why)
{
    struct outcome *o = ud;
    o->done = true;
    o->rc = rc;
    snprintf(o->why, sizeof(o->why), "%s", why == NULL ? "" : why);
}

static void back_up(struct place *p, const char *path, struct outcome *o)
{
    struct errbuf e;
    uint64_t end = deadline();
    *o = (struct outcome){0};
    if (store_backup(p->s, path, backed_up, o, &e) != ERR_OK)
        fail_msg("%s", e.text);
    while (!o->done) {
        assert_true(clock_mono_us() < end);
        turn(p);
    }
}

static void add_rows(struct place *p, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        put(p, i, i + 1, true);
        if (i % 10 == 9)
            commit(p);
    }
    commit(p);
    wait_durable(p);
}

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void another_format_is_refused(void **state)
{
    struct place *p = *state;
    struct errbuf e;
    load(p);
    store_close(&p->s);
    write_file(p->dir, "belfry", "belfry data, format 99\n");
    assert_int_equal(store_open(&p->s, &p->o, &e), ERR_CORRUPT);
    assert_non_null(strstr(e.text, "format 99"));
    write_file(p->dir, "belfry", "somebody's\n");
    assert_int_equal(store_open(&p->s, &p->o, &e), ERR_CORRUPT);
}

static bool marker_is(const char *dir, const char *text)
{
    char path[128], is[64];
    snprintf(path, sizeof(path), "%s/belfry", dir);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    is[fread(is, 1, sizeof(is) - 1, f)] = '\0';
    fclose(f);
    return strcmp(is, text) == 0;
}

/* An older program must not read what is written from now on; one that only
 * looks changes nothing. */
static void data_of_the_format_before_are_raised(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct errbuf e;
    load(p);
    put(p, 1, 1, true);
    store_close(&p->s);
    write_file(p->dir, "belfry", "belfry data, format 3\n");
    assert_int_equal(offline_verify(p->dir, &n, &e), ERR_OK);
    assert_true(marker_is(p->dir, "belfry data, format 3\n"));
    load(p);
    assert_int_equal(get(p, 1), 1);
    assert_true(marker_is(p->dir, "belfry data, format 4\n"));
}

/* Calls of fsync() for this directory, and which of them fails. */
static const char *_Atomic watched;
static _Atomic unsigned watched_syncs, watched_fails;

/* In place of the system's. */
int fsync(int fd)
{
    char link[64], path[512] = "";
    const char *dir = watched;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (dir != NULL && readlink(link, path, sizeof(path) - 1) > 0 &&
        strcmp(path, dir) == 0) {
        if (++watched_syncs == watched_fails) {
            errno = EIO;
            return -1;
        }
    }
    return (int)syscall(SYS_fsync, fd);
}

static void the_names_of_new_directories_are_synced(void **state)
{
    struct place *p = *state;
    struct outcome o;
    char dir[96], backups[96], copy[160];
    watched = p->dir;
    snprintf(dir, sizeof(dir), "%s/data/", p->dir);
    p->o.dir = dir;
    watched_syncs = 0;
    load(p);
    assert_true(watched_syncs > 0);
    snprintf(backups, sizeof(backups), "%s/backups", p->dir);
    watched = backups;
    assert_int_equal(mkdir(backups, 0700), 0);
    snprintf(copy, sizeof(copy), "%s/monday", backups);
    watched_syncs = 0;
    back_up(p, copy, &o);
    assert_int_equal(o.rc, ERR_OK);
    assert_true(watched_syncs > 0);
    watched = NULL;
    store_close(&p->s);
    p->o.dir = p->dir;
}

/* A start that ended before it had synced a name leaves that to the next one,
 * which finds the name and cannot tell. */
static void names_that_a_start_did_not_sync_are_synced_by_the_next(void **state)
{
    struct place *p = *state;
    struct errbuf e;
    char dir[96];
    snprintf(dir, sizeof(dir), "%s/data", p->dir);
    p->o.dir = dir;
    for (unsigned i = 0; i < 2; i++) { /* data; behind data/belfry, data/log */
        watched = i == 0 ? p->dir : dir;
        watched_syncs = 0;
        watched_fails = 1 + i;
        assert_int_equal(store_open(&p->s, &p->o, &e), ERR_IO);
        watched_fails = watched_syncs = 0;
        load(p);
        assert_true(watched_syncs > 0);
        store_abandon(&p->s);
        remove_tree(dir);
    }
    watched = NULL;
    p->o.dir = p->dir;
}

static void a_start_that_was_cut_short_leaves_no_half_marker(void **state)
{
    struct place *p = *state;
    struct errbuf e;
    struct rlimit was, none;
    char path[96];
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    none = was;
    none.rlim_cur = 0; /* no file may have a byte */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    enum err rc = store_open(&p->s, &p->o, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(rc, ERR_IO);
    snprintf(path, sizeof(path), "%s/belfry", p->dir);
    assert_int_equal(access(path, F_OK), -1);
    load(p);
}

/* Without its marker: what is there of it would pass for all. */
static void half_a_backup_is_refused(void **state)
{
    static const char *const parts[] = {"log", "base.tmp"};
    struct place *p = *state;
    struct errbuf e;
    char dir[96], part[128];
    snprintf(dir, sizeof(dir), "%s/copy", p->dir);
    p->o.dir = dir;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        assert_int_equal(mkdir(dir, 0700), 0);
        snprintf(part, sizeof(part), "%s/%s", dir, parts[i]);
        assert_int_equal(mkdir(part, 0700), 0);
        assert_int_equal(store_open(&p->s, &p->o, &e), ERR_CORRUPT);
        assert_non_null(strstr(e.text, "cut short"));
        assert_null(p->s);
        remove_tree(dir);
    }
    p->o.dir = p->dir;
}

static void a_deleted_log_is_noticed(void **state)
{
    struct place *p = *state;
    struct errbuf e;
    char log[96], put_away[96];
    load(p);
    put(p, 1, 1, true);
    commit(p);
    store_close(&p->s);
    snprintf(log, sizeof(log), "%s/log", p->dir);
    snprintf(put_away, sizeof(put_away), "%s/put-away", p->dir);
    assert_int_equal(rename(log, put_away), 0);
    assert_int_equal(store_open(&p->s, &p->o, &e), ERR_CORRUPT);
    assert_non_null(strstr(e.text, "deleted or rolled back"));
    assert_null(p->s);
    /* Nothing was put into its place. */
    assert_int_not_equal(access(log, F_OK), 0);
    assert_int_equal(rename(put_away, log), 0);
    load(p);
    assert_int_equal(get(p, 1), 1);
}

static void refused(struct place *p)
{
    struct errbuf e;
    assert_int_equal(store_open(&p->s, &p->o, &e), ERR_CORRUPT);
    if (strstr(e.text, "deleted") == NULL)
        fail_msg("%s", e.text);
    assert_null(p->s);
}

static void is_there(const char *dir, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_true(wait_until(access(path, F_OK) == 0));
}

/* Nothing has been flushed: the base does not say how far the log had come. */
static void a_deleted_log_is_noticed_before_the_first_flush(void **state)
{
    struct place *p = *state;
    char path[96];
    load(p);
    put(p, 1, 1, true);
    commit(p);
    is_there(p->dir, "watermark");
    store_abandon(&p->s);
    snprintf(path, sizeof(path), "%s/log", p->dir);
    remove_tree(path);
    refused(p);
    remove_place(state);
    make_place(state);
    p = *state;
    load(p);
    put(p, 1, 1, true);
    commit(p);
    wait_applied(p);
    store_abandon(&p->s);
    snprintf(path, sizeof(path), "%s/log", p->dir);
    remove_tree(path);
    snprintf(path, sizeof(path), "%s/watermark", p->dir);
    remove_tree(path); /* the base alone says that there was one */
    refused(p);
}

/* Put back whole, with its own watermark, to what the base has flushed. */
static void a_log_that_was_put_back_is_noticed(void **state)
{
    struct place *p = *state;
    char command[256];
    load(p);
    add_rows(p, 0, 100);
    store_close(&p->s);
    snprintf(command, sizeof(command), "cp -r %s/log %s/old", p->dir, p->dir);
    assert_int_equal(system(command), 0);
    load(p);
    add_rows(p, 100, 200);
    uint64_t last = store_last(p->s);
    struct mark m;
    assert_true(wait_until(rocks_witness_read(p->dir, &m, NULL) == ERR_OK &&
                           rocks_witness_check(p->dir, &m, last - 1, NULL) ==
                               ERR_CORRUPT));
    store_abandon(&p->s);
    snprintf(command, sizeof(command), "cd %s && rm -r log && mv old log",
             p->dir);
    assert_int_equal(system(command), 0);
    refused(p);
}

/* What the loop must never do: wait for a disk. */
static void a_read_that_needs_the_disk_is_fetched(void **state)
{
    struct place *p = *state;
    struct store_stats st;
    struct key k;
    struct slice v = SLICE_EMPTY;
    struct gather *g;
    bool done = false;
    unsigned value, fetches = 0;
    load(p);
    for (unsigned i = 0; i < 20000; i++) {
        put(p, i, i + 1, true);
        if (i % 100 == 99)
            commit(p);
    }
    store_close(&p->s);
    load(p); /* with a cold cache */
    g = gather_new(p->s);
    for (unsigned i = 0; i < 20000; i += 1999) {
        uint64_t end = deadline();
        enum err rc;
        while ((rc = store_get(p->s, g, FAMILY_JOBS, key_of(&k, i), &v,
                               NULL)) == ERR_PENDING) {
            fetches++;
            done = false;
            store_fetch(p->s, g, set_flag, &done);
            while (!done) {
                assert_true(clock_mono_us() < end);
                turn(p);
            }
        }
        assert_int_equal(rc, ERR_OK);
        memcpy(&value, v.data, sizeof(value));
        assert_int_equal(value, i + 1);
    }
    assert_true(fetches > 0);
    gather_free(&g);
    store_get_stats(p->s, &st);
    assert_int_equal(st.loop_disk_reads, 0);
}

#define MANY 6000

static bool is_erased(unsigned i)
{
    return i % 10 == 7 || (i >= 12000 && i < 14000);
}

/* The reader walks over neighbours, and finds the rows of a thin selection one
 * by one. */
static void check_these(struct place *p, const unsigned *these, unsigned n)
{
    struct gather *g = gather_new(p->s);
    struct key k;
    struct slice v;
    for (unsigned i = n; i-- > 0;)
        assert_int_equal(store_get_later(p->s, g, FAMILY_JOBS,
                                         key_of(&k, these[i]), &v, NULL),
                         ERR_PENDING);
    fetch_all(p, g);
    for (unsigned i = 0; i < n; i++) {
        unsigned at = these[i], value = 0;
        enum err rc =
            store_get_later(p->s, g, FAMILY_JOBS, key_of(&k, at), &v, NULL);
        if (is_erased(at) || at >= 20000) {
            assert_int_equal(rc, ERR_NOTFOUND);
            continue;
        }
        assert_int_equal(rc, ERR_OK);
        memcpy(&value, v.data, sizeof(value));
        assert_int_equal(value, at + 1);
    }
    gather_free(&g);
}

static void check_many(struct place *p, unsigned from, unsigned step,
                       unsigned n)
{
    unsigned these[MANY];
    assert_true(n <= MANY);
    for (unsigned i = 0; i < n; i++)
        these[i] = from + i * step;
    check_these(p, these, n);
}

/* Two backlogs of one trip, and what lies far apart. */
static void check_mixed(struct place *p)
{
    unsigned these[1000];
    for (unsigned i = 0; i < 1000; i++)
        these[i] = i < 400 ? i : i < 700 ? 9000 + i : 13000 + 7 * i;
    check_these(p, these, 1000);
}

static void many_rows_are_fetched_whatever_lies_between(void **state)
{
    struct place *p = *state;
    load(p);
    for (unsigned i = 0; i < 20000; i++)
        put(p, i, i + 1, true);
    commit(p);
    wait_applied(p);
    for (unsigned i = 0; i < 20000; i++)
        if (is_erased(i))
            del(p, i);
    commit(p);
    store_close(&p->s);
    load(p);
    check_many(p, 0, 1, 1000);    /* neighbours, some erased */
    check_many(p, 5000, 2, 500);  /* as many between them */
    check_many(p, 100, 37, 500);  /* far apart */
    check_many(p, 19900, 1, 300); /* beyond the last */
    check_many(p, 30000, 1, 50);  /* none is there */
    check_many(p, 7, 10, 700);    /* all erased */
    check_many(p, 11800, 9, 256); /* many erased in a row among them */
    check_many(p, 0, 1, MANY);    /* more than are read in one go */
    check_mixed(p);
}

/* The row was fetched; then it is changed, and the change is applied while the
 * gather is held. The gather must see the change, not what it fetched. */
static void a_gather_sees_the_present_not_what_it_fetched(void **state)
{
    struct place *p = *state;
    struct key k;
    struct slice v;
    unsigned value = 0;
    bool done = false;
    struct store_stats st;
    uint64_t end = deadline();
    load(p);
    for (unsigned i = 0; i < 20000; i++)
        put(p, i, 1, true);
    commit(p);
    store_close(&p->s);
    load(p);
    struct gather *g = gather_new(p->s);
    assert_int_equal(
        store_get(p->s, g, FAMILY_JOBS, key_of(&k, 10000), &v, NULL),
        ERR_PENDING);
    store_fetch(p->s, g, set_flag, &done);
    while (!done) {
        assert_true(clock_mono_us() < end);
        turn(p);
    }
    put(p, 10000, 2, false);
    commit(p);
    store_seal(p->s);
    do {
        assert_true(clock_mono_us() < end);
        turn(p);
        store_get_stats(p->s, &st);
    } while (st.applied_index < store_last(p->s));
    store_poll(p->s, clock_now());
    assert_int_equal(
        store_get(p->s, g, FAMILY_JOBS, key_of(&k, 10000), &v, NULL), ERR_OK);
    memcpy(&value, v.data, sizeof(value));
    assert_int_equal(value, 2);
    gather_free(&g);
    wait_applied(p);
    assert_int_equal(get(p, 10000), 2);
}

/* A bucket of finished work is forgotten: its rows and files go, and nothing
 * else. */
static void a_forgotten_bucket_takes_its_rows_and_no_others(void **state)
{
    struct place *p = *state;
    struct key k, a, b;
    load(p);
    for (uint32_t bucket = 10; bucket < 13; bucket++) {
        for (unsigned i = 0; i < 20000; i++) {
            struct id id = {{0}};
            memcpy(id.bytes, &(uint32_t){i * 2654435761u}, 4);
            memset(store_put(p->s, FAMILY_PAST, key_past_job(&k, bucket, &id),
                             64, true),
                   (int)(i % 251 + 1), 64);
        }
        commit(p);
    }
    store_close(&p->s);
    load(p);
    store_del_range(p->s, FAMILY_PAST, key_prefix_bucket(&a, 10),
                    key_prefix_bucket(&b, 12));
    commit(p);
    wait_applied(p);
    store_close(&p->s);
    load(p);
    unsigned n = 0;
    assert_int_equal(store_scan(p->s, NULL, FAMILY_PAST, SLICE_EMPTY,
                                SLICE_EMPTY, SIZE_MAX, count, &n, NULL),
                     ERR_OK);
    assert_int_equal(n, 20000);
}

static void a_backup_is_a_data_directory(void **state)
{
    struct place *p = *state;
    struct outcome o = {0};
    struct errbuf e;
    char path[96];
    unsigned n = 0;
    uint64_t end = deadline();
    snprintf(path, sizeof(path), "%s/copy", p->dir);
    load(p);
    for (; n < 5000; n++) {
        put(p, n, n + 1, true);
        commit(p);
    }
    wait_durable(p);
    if (store_backup(p->s, path, backed_up, &o, &e) != ERR_OK)
        fail_msg("%s", e.text);
    assert_int_equal(store_backup(p->s, path, backed_up, &o, &e), ERR_BUSY);
    while (!o.done) { /* work goes on */
        assert_true(clock_mono_us() < end);
        put(p, n, n + 1, true);
        n++;
        commit(p);
        store_poll(p->s, clock_now());
    }
    if (o.rc != ERR_OK)
        fail_msg("%s", o.why);
    assert_int_equal(store_backup(p->s, path, backed_up, &o, &e), ERR_EXISTS);
    store_close(&p->s);
    p->o.dir = path;
    load(p);
    assert_true(count_rows(p) >= 5000);
    for (unsigned i = 0; i < 5000; i++)
        assert_int_equal(get(p, i), i + 1);
    store_close(&p->s);
    p->o.dir = p->dir;
}

/* The applier is in a call of this. */
static _Atomic bool in_write;

/* In place of RocksDB's. */
void rocksdb_write(rocksdb_t *db, const rocksdb_writeoptions_t *options,
                   rocksdb_writebatch_t *batch, char **message)
{
    typedef void write_fn(rocksdb_t *, const rocksdb_writeoptions_t *,
                          rocksdb_writebatch_t *, char **);
    write_fn *real = (write_fn *)dlsym(RTLD_NEXT, "rocksdb_write");
    atomic_store(&in_write, true);
    real(db, options, batch, message);
    atomic_store(&in_write, false);
}

static void begin_to_apply(struct place *p)
{
    uint64_t end = deadline();
    store_seal(p->s);
    while (!atomic_load(&in_write)) {
        assert_true(clock_mono_us() < end);
        store_poll(p->s, clock_now());
    }
}

/* A batch that is long in coming to its last row, and is being written. */
static struct slice begin_long_batch(struct place *p, struct key *last)
{
    struct slice key = key_named(last, 1, SLICE_LIT("last"));
    p->o.generation_bytes = 64 << 20;
    p->o.generation_age_ms = 1000000;
    load(p);
    put(p, 0, 1, true);
    commit(p);
    wait_applied(p); /* now there is a base */
    for (unsigned i = 1; i <= 100000; i++)
        put(p, i, i, true);
    memcpy(store_put(p->s, FAMILY_INDEX, key, 4, true), "here", 4);
    commit(p);
    wait_durable(p);
    begin_to_apply(p);
    return key;
}

static void assert_survived(struct place *p, struct slice last)
{
    struct slice value;
    store_abandon(&p->s);
    load(p);
    assert_int_equal(get(p, 100000), 100000);
    assert_int_equal(store_get(p->s, NULL, FAMILY_INDEX, last, &value, NULL),
                     ERR_OK);
}

static void a_backup_beside_a_batch_flushes_all_families(void **state)
{
    struct place *p = *state;
    struct outcome o;
    struct key k;
    char path[96];
    snprintf(path, sizeof(path), "%s/copy", p->dir);
    struct slice last = begin_long_batch(p, &k);
    back_up(p, path, &o);
    if (o.rc != ERR_OK)
        fail_msg("%s", o.why);
    assert_survived(p, last);
    store_close(&p->s);
    p->o.dir = path;
    load(p);
    assert_survived(p, last);
    store_close(&p->s);
    p->o.dir = p->dir;
}

/* As RocksDB does to recover from an error of its own. */
static void a_flush_that_we_did_not_begin_does_not_count(void **state)
{
    struct place *p = *state;
    struct key k;
    struct slice last = begin_long_batch(p, &k);
    flush_beside(p);
    assert_survived(p, last);
}

/* Also if it was not synced yet. */
static void a_backup_has_what_was_acknowledged_before(void **state)
{
    struct place *p = *state;
    struct outcome o;
    char path[96];
    snprintf(path, sizeof(path), "%s/copy", p->dir);
    p->o.log_sync = LOG_NO;
    p->o.generation_age_ms = 1000000;
    load(p);
    for (unsigned i = 0; i < 100; i++) {
        put(p, i, i + 1, true);
        commit(p);
    }
    assert_true(wait_until(store_acked(p->s) == store_last(p->s)));
    assert_true(store_durable(p->s) < store_last(p->s));
    back_up(p, path, &o);
    if (o.rc != ERR_OK)
        fail_msg("%s", o.why);
    store_close(&p->s);
    p->o.dir = path;
    load(p);
    assert_int_equal(count_rows(p), 100);
    store_close(&p->s);
    p->o.dir = p->dir;
}

/* Of files whose path has this in it no byte can be written; NULL: of none. */
static const char *volatile broken;

/* In place of the system's, for the log. */
ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
    char link[64], path[512] = "";
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (broken != NULL && readlink(link, path, sizeof(path) - 1) > 0 &&
        strstr(path, broken) != NULL) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pwritev, fd, iov, n, off, 0);
}

/* The next disk, a broken network: nothing of that is the server's end. */
static void a_backup_that_cannot_be_written_has_failed_and_is_gone(void **state)
{
    struct place *p = *state;
    struct outcome o;
    char path[96];
    snprintf(path, sizeof(path), "%s/copy", p->dir);
    load(p);
    add_rows(p, 0, 100);
    wait_applied(p);
    add_rows(p, 100, 200);
    broken = "/copy/log/00000000000000000";
    back_up(p, path, &o);
    broken = NULL;
    assert_int_equal(o.rc, ERR_IO);
    assert_non_null(strstr(o.why, "Input/output error"));
    assert_int_equal(access(path, F_OK), -1);
    back_up(p, path, &o);
    if (o.rc != ERR_OK)
        fail_msg("%s", o.why);
}

static void a_backup_on_a_full_disk_has_failed_and_is_gone(void **state)
{
    struct place *p = *state;
    struct outcome o;
    char disk[80], path[96];
    snprintf(disk, sizeof(disk), "%s/disk", p->dir);
    snprintf(path, sizeof(path), "%s/copy", disk);
    assert_int_equal(mkdir(disk, 0700), 0);
    if (geteuid() != 0 || mount("tmpfs", disk, "tmpfs", 0, "size=3m") != 0) {
        print_message("skipped: mounting a tmpfs needs root\n");
        skip();
    }
    p->o.generation_bytes = 32 << 20; /* all of it stays in the log */
    load(p);
    add_rows(p, 0, 100000);
    back_up(p, path, &o);
    assert_int_equal(o.rc, ERR_NOSPACE);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(umount(disk), 0);
    back_up(p, path, &o);
    if (o.rc != ERR_OK)
        fail_msg("%s", o.why);
}

/* The disk of the data is not to be filled by a copy of them, and its base may
 * not flush on a full one. */
static void a_backup_leaves_what_finishing_work_needs(void **state)
{
    struct place *p = *state;
    struct outcome o;
    struct statvfs v;
    char other[96], path[96];
    if (geteuid() != 0 || mount("tmpfs", p->dir, "tmpfs", 0, "size=64m") != 0) {
        print_message("skipped: mounting a tmpfs needs root\n");
        skip();
    }
    snprintf(path, sizeof(path), "%s/copy", p->dir);
    snprintf(other, sizeof(other), "%s/other", p->dir);
    p->o.disk_reserve_bytes = 16 << 20;
    load(p);
    add_rows(p, 0, 100);
    wait_applied(p);
    add_rows(p, 100, 200);
    assert_int_equal(statvfs(p->dir, &v), 0);
    off_t more = (off_t)(v.f_bavail * v.f_frsize) - (12 << 20);
    int fd = creat(other, 0600);
    assert_int_equal(posix_fallocate(fd, 0, more), 0);
    close(fd);
    back_up(p, path, &o);
    assert_int_equal(o.rc, ERR_NOSPACE);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(unlink(other), 0);
    back_up(p, path, &o);
    if (o.rc != ERR_OK)
        fail_msg("%s", o.why);
    store_close(&p->s);
    assert_int_equal(umount(p->dir), 0);
}

typedef void *(*thread_fn)(void *);

/* A thread that cannot be had; one that begins here, or any. */
static thread_fn no_thread;
static bool no_threads;

/* In place of the system's. */
int pthread_create(pthread_t *t, const pthread_attr_t *attr, thread_fn fn,
                   void *ud)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, thread_fn, void *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return no_threads || fn == no_thread ? EAGAIN : real(t, attr, fn, ud);
}

static uint64_t commit_rows(struct place *p, unsigned rows, uint32_t callers)
{
    struct store_stats before, after;
    store_get_stats(p->s, &before);
    store_set_callers(p->s, callers);
    for (unsigned i = 1; i <= rows; i++)
        put(p, i, i, false);
    commit(p);
    store_get_stats(p->s, &after);
    uint64_t end = deadline();
    while (store_acked(p->s) < store_last(p->s)) {
        assert_true(clock_mono_us() < end);
        turn(p);
    }
    return after.inline_syncs - before.inline_syncs;
}

/* The log's thread may still be at work behind the last wait. */
static void commit_rows_inline(struct place *p, unsigned rows, uint32_t callers)
{
    uint64_t end = deadline();
    while (commit_rows(p, rows, callers) == 0)
        assert_true(clock_mono_us() < end);
}

static void
little_is_synced_by_the_committer_and_a_little_of_each_caller(void **state)
{
    struct place *p = *state;
    p->o.log_sync = LOG_NO; /* or it were a matter of how quick the disk is */
    load(p);
    commit_rows_inline(p, 24, 0);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(commit_rows(p, 60, 14), 0);
    commit_rows_inline(p, 60, 15);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(commit_rows(p, 60, 0), 0);
}

static void what_is_held_waits_for_its_submission(void **state)
{
    struct place *p = *state;
    p->o.log_sync = LOG_NO;
    p->o.hold = true;
    p->o.generation_age_ms = 3600 * 1000; /* which would ask for a sync */
    load(p);
    for (unsigned i = 1; i <= 60; i++) /* too many for the committer */
        put(p, i, i, false);
    commit(p);
    uint64_t index = store_last(p->s);
    assert_true(store_holds(p->s));
    for (unsigned i = 0; i < 5; i++) {
        turn(p);
        assert_true(store_acked(p->s) < index);
    }
    store_submit(p->s);
    assert_false(store_holds(p->s));
    uint64_t end = deadline();
    while (store_acked(p->s) < index) {
        assert_true(clock_mono_us() < end);
        turn(p);
    }
}

static void threads_that_cannot_be_had_are_told(void **state)
{
    static const thread_fn threads[] = {rocks_applier, rocks_reader};
    struct place *p = *state;
    struct outcome o;
    struct errbuf e;
    char path[96];
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        no_thread = threads[i];
        enum err rc = store_open(&p->s, &p->o, &e);
        no_thread = NULL;
        assert_int_equal(rc, ERR_IO);
        assert_null(p->s);
    }
    load(p);
    snprintf(path, sizeof(path), "%s/copy", p->dir);
    no_threads = true;
    enum err rc = store_backup(p->s, path, backed_up, &o, &e);
    no_threads = false;
    assert_int_equal(rc, ERR_IO);
    back_up(p, path, &o); /* nothing is in its way */
    assert_int_equal(o.rc, ERR_OK);
}

/* To the last byte of the disk. */
static void fill_up(const char *path)
{
    static char block[4096];
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    memset(block, 'x', sizeof(block));
    while (fwrite(block, 1, sizeof(block), f) == sizeof(block) &&
           fflush(f) == 0)
        continue;
    (void)fclose(f);
}

/* The disk fills: new work is refused, nothing is lost, nothing aborts; and
 * when space returns, so does the work. */
static void a_full_disk_is_survived_without_a_restart(void **state)
{
    struct place *p = *state;
    struct store_stats st;
    char other[96], last[96];
    uint64_t end = deadline();
    unsigned n = 0;
    if (geteuid() != 0 || mount("tmpfs", p->dir, "tmpfs", 0, "size=48m") != 0) {
        print_message("skipped: mounting a tmpfs needs root\n");
        skip();
    }
    p->o.disk_reserve_bytes = 4 << 20;
    p->o.write_buffer_bytes = 1 << 20;
    p->o.overlay_bytes_max = 8 << 20;
    load(p);
    assert_int_equal(store_room(p->s), STORE_ROOM);
    snprintf(other, sizeof(other), "%s/other", p->dir);
    fill_up(other);
    /* What finishes work goes on, in the segments that are there. */
    for (; n < 10000 && store_room(p->s) != STORE_FULL; n++) {
        put(p, n, n + 1, true);
        if (n % 50 == 49) {
            commit(p);
            store_poll(p->s, clock_now());
        }
    }
    commit(p);
    while (store_room(p->s) == STORE_ROOM) { /* it is looked at now and then */
        assert_true(clock_mono_us() < end);
        turn(p);
    }
    store_get_stats(p->s, &st);
    assert_non_null(st.fault);
    assert_int_equal(count_rows(p), n);
    /* Also across a crash: what was durable, on a disk that is still full. */
    wait_durable(p);
    store_abandon(&p->s);
    snprintf(last, sizeof(last), "%s/last", p->dir);
    fill_up(last);
    load(p);
    assert_int_equal(count_rows(p), n);
    assert_int_equal(unlink(last), 0);
    assert_int_equal(unlink(other), 0);
    end = deadline();
    while (store_room(p->s) != STORE_ROOM) {
        assert_true(clock_mono_us() < end);
        turn(p);
    }
    wait_durable(p);
    wait_applied(p);
    assert_int_equal(count_rows(p), n);
    store_close(&p->s);
    load(p);
    assert_int_equal(count_rows(p), n);
    store_close(&p->s);
    assert_int_equal(umount(p->dir), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_durable_survives_a_crash),
        TEST(a_clean_stop_leaves_nothing_to_replay),
        TEST(start_numbers_only_grow),
        TEST(replay_goes_on_where_the_base_was_flushed),
        TEST(a_range_deletion_reaches_the_base),
        TEST(a_life_within_a_generation_leaves_the_base_nothing),
        TEST(a_second_process_is_refused),
        TEST(another_format_is_refused),
        TEST(data_of_the_format_before_are_raised),
        TEST(the_names_of_new_directories_are_synced),
        TEST(names_that_a_start_did_not_sync_are_synced_by_the_next),
        TEST(a_start_that_was_cut_short_leaves_no_half_marker),
        TEST(half_a_backup_is_refused),
        TEST(a_deleted_log_is_noticed),
        TEST(a_deleted_log_is_noticed_before_the_first_flush),
        TEST(a_log_that_was_put_back_is_noticed),
        TEST(a_read_that_needs_the_disk_is_fetched),
        TEST(many_rows_are_fetched_whatever_lies_between),
        TEST(a_gather_sees_the_present_not_what_it_fetched),
        TEST(a_forgotten_bucket_takes_its_rows_and_no_others),
        TEST(a_backup_is_a_data_directory),
        TEST(a_backup_beside_a_batch_flushes_all_families),
        TEST(a_flush_that_we_did_not_begin_does_not_count),
        TEST(a_backup_has_what_was_acknowledged_before),
        TEST(a_backup_that_cannot_be_written_has_failed_and_is_gone),
        TEST(a_backup_on_a_full_disk_has_failed_and_is_gone),
        TEST(a_backup_leaves_what_finishing_work_needs),
        TEST(little_is_synced_by_the_committer_and_a_little_of_each_caller),
        TEST(what_is_held_waits_for_its_submission),
        TEST(threads_that_cannot_be_had_are_told),
        TEST(a_full_disk_is_survived_without_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
