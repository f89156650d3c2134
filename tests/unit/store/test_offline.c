/* Looking at data without a server: verify, copy, salvage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "log/log.h"
#include "store/offline.h"
#include "store/rocks.h"
#include "store_lib.h"
#include "util/file.h"

#define ROWS 30000

static void fill(struct place *p)
{
    load(p);
    for (unsigned i = 0; i < ROWS; i++) {
        put(p, i, i + 1, true);
        if (i % 100 == 99)
            commit(p);
        if (i % 10000 == 9999) /* several tables */
            wait_applied(p);
    }
    store_close(&p->s);
    load(p);
    for (unsigned i = ROWS; i < ROWS + 100; i++) {
        put(p, i, i + 1, true);
        commit(p);
    }
    wait_durable(p);
    store_abandon(&p->s);
}

/* The largest file of that ending. */
static void find_file(const char *dir, const char *ending, char *path,
                      size_t size)
{
    off_t best = -1;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d)) != NULL;) {
        char name[512];
        struct stat st;
        size_t len = strlen(f->d_name), end = strlen(ending);
        if (len < end || strcmp(f->d_name + len - end, ending) != 0)
            continue;
        snprintf(name, sizeof(name), "%s/%s", dir, f->d_name);
        assert_int_equal(stat(name, &st), 0);
        if (st.st_size > best) {
            best = st.st_size;
            snprintf(path, size, "%s", name);
        }
    }
    closedir(d);
    assert_true(best > 0);
}

static void damage(const char *path, off_t at, size_t len)
{
    char bytes[4096];
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_true(len <= sizeof(bytes));
    assert_int_equal(pread(fd, bytes, len, at), len);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)~bytes[i];
    assert_int_equal(pwrite(fd, bytes, len, at), len);
    close(fd);
}

static void verified(const char *dir, struct offline_count *n)
{
    struct errbuf e;
    if (offline_verify(dir, n, &e) != ERR_OK)
        fail_msg("%s", e.text);
}

static void verify_counts_rows_and_entries(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    fill(p);
    verified(p->dir, &n);
    assert_int_equal(n.rows[FAMILY_JOBS], ROWS);
    assert_int_equal(n.replay, 101); /* the start, too */
    assert_true(n.start_number > 0);
}

static void a_running_server_is_left_alone(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct errbuf e;
    load(p);
    assert_int_equal(offline_verify(p->dir, &n, &e), ERR_BUSY);
    assert_int_equal(offline_verify("/tmp/belfry-no-such", &n, &e),
                     ERR_NOTFOUND);
}

static void a_copy_is_data_and_is_never_written_over(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct errbuf e;
    char to[96];
    snprintf(to, sizeof(to), "%s/copy", p->dir);
    fill(p);
    if (offline_copy(p->dir, to, &e) != ERR_OK)
        fail_msg("%s", e.text);
    verified(to, &n);
    assert_int_equal(n.rows[FAMILY_JOBS], ROWS);
    assert_int_equal(offline_copy(p->dir, to, &e), ERR_EXISTS);
    p->o.dir = to;
    load(p);
    assert_int_equal(count_rows(p), ROWS + 100);
    store_close(&p->s);
}

/* Backups on media that cannot be written. */
static void a_copy_is_read_where_nothing_can_be_written(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct errbuf e;
    char from[96], to[96];
    snprintf(from, sizeof(from), "%s/media", p->dir);
    snprintf(to, sizeof(to), "%s/copy", p->dir);
    assert_int_equal(mkdir(from, 0700), 0);
    fill(p);
    if (geteuid() != 0 || mount("tmpfs", from, "tmpfs", 0, "size=64m") != 0) {
        print_message("skipped: mounting a tmpfs needs root\n");
        skip();
    }
    char medium[128];
    snprintf(medium, sizeof(medium), "%s/monday", from);
    assert_int_equal(offline_copy(p->dir, medium, &e), ERR_OK);
    assert_int_equal(mount("tmpfs", from, "tmpfs", MS_REMOUNT | MS_RDONLY, ""),
                     0);
    enum err read = offline_verify(medium, &n, &e);
    enum err copied = offline_copy(medium, to, &e);
    p->o.dir = medium;
    enum err started = store_open(&p->s, &p->o, NULL);
    p->o.dir = p->dir;
    assert_int_equal(umount(from), 0);
    assert_int_equal(read, ERR_OK);
    assert_int_equal(copied, ERR_OK);
    assert_int_equal(started, ERR_IO);
    verified(to, &n);
    assert_int_equal(n.rows[FAMILY_JOBS], ROWS);
}

static void a_copy_that_fails_leaves_nothing(void **state)
{
    struct place *p = *state;
    struct errbuf e;
    struct rlimit was, few;
    char to[96];
    snprintf(to, sizeof(to), "%s/copy", p->dir);
    fill(p);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    few = was;
    few.rlim_cur = 100 << 10; /* less than a segment of the log */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    enum err rc = offline_copy(p->dir, to, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(rc, ERR_IO);
    assert_int_not_equal(access(to, F_OK), 0);
    assert_int_equal(offline_copy(p->dir, to, &e), ERR_OK);
}

struct told {
    unsigned lines;
    bool lost;
    char text[4096];
};

static void tell(void *ud, const char *line)
{
    struct told *t = ud;
    t->lines++;
    size_t len = strlen(t->text);
    snprintf(t->text + len, sizeof(t->text) - len, "%s\n", line);
    if (strstr(line, "lost") != NULL || strstr(line, "set aside") != NULL)
        t->lost = true;
}

static void salvaged(struct place *p, struct told *t)
{
    struct errbuf e;
    if (offline_salvage(p->dir, tell, t, &e) != ERR_OK)
        fail_msg("%s", e.text);
}

static void a_damaged_table_is_found_and_the_rest_is_saved(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct errbuf e;
    struct told told = {0};
    char base[96], path[512];
    fill(p);
    snprintf(base, sizeof(base), "%s/base", p->dir);
    find_file(base, ".sst", path, sizeof(path));
    damage(path, 5000, 16);
    assert_int_equal(offline_verify(p->dir, &n, &e), ERR_CORRUPT);
    assert_non_null(strstr(e.text, "family jobs"));
    salvaged(p, &told);
    assert_true(told.lost);
    verified(p->dir, &n);
    assert_true(n.rows[FAMILY_JOBS] > 0 && n.rows[FAMILY_JOBS] < ROWS + 100);
    load(p);
    unsigned rows = count_rows(p);
    assert_int_equal(rows, n.rows[FAMILY_JOBS]); /* the log is played in */
    assert_true(get(p, ROWS + 99) == ROWS + 100);
}

/* Zero so many bytes and say what opening says. */
static void opening_fails(struct place *p, const char *path, off_t at,
                          size_t len, struct errbuf *e)
{
    struct offline_count n;
    char *zeroes = test_calloc(1, len);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, zeroes, len, at), len);
    close(fd);
    test_free(zeroes);
    assert_int_equal(offline_verify(p->dir, &n, e), ERR_CORRUPT);
}

static void a_refusal_names_the_damaged_table(void **state)
{
    struct place *p = *state;
    struct errbuf e;
    struct stat st;
    char base[96], path[512];
    fill(p);
    snprintf(base, sizeof(base), "%s/base", p->dir);
    find_file(base, ".sst", path, sizeof(path));
    assert_int_equal(stat(path, &st), 0);
    /* Half of the properties, before the metaindex: RocksDB would speak of
     * their order. */
    opening_fails(p, path, 0, (size_t)st.st_size - 500, &e);
    assert_non_null(strstr(e.text, "damaged: "));
    assert_non_null(strstr(e.text, strrchr(path, '/') + 1));
}

static void no_table_is_accused_of_what_a_missing_one_did(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct errbuf e;
    char base[96], path[512];
    fill(p);
    snprintf(base, sizeof(base), "%s/base", p->dir);
    find_file(base, ".sst", path, sizeof(path));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(offline_verify(p->dir, &n, &e), ERR_CORRUPT);
    if (strstr(e.text, "no table of the base is damaged") == NULL)
        fail_msg("%s", e.text);
}

static void no_table_is_accused_of_what_the_manifest_did(void **state)
{
    struct place *p = *state;
    struct errbuf e;
    char current[96], path[160], name[64] = "";
    fill(p);
    snprintf(current, sizeof(current), "%s/base/CURRENT", p->dir);
    FILE *f = fopen(current, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%63s", name), 1);
    fclose(f);
    snprintf(path, sizeof(path), "%s/base/%s", p->dir, name);
    opening_fails(p, path, 100, 8, &e);
    if (strstr(e.text, name) == NULL || strstr(e.text, "table") != NULL)
        fail_msg("%s", e.text);
}

/* Killed before its first flush, a base has no table. */
static void a_missing_current_is_named_without_tables_too(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct errbuf e;
    char base[96], path[512];
    fill(p);
    snprintf(base, sizeof(base), "%s/base", p->dir);
    snprintf(path, sizeof(path), "%s/CURRENT", base);
    assert_int_equal(unlink(path), 0);
    DIR *d = opendir(base);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d)) != NULL;)
        if (strstr(f->d_name, ".sst") != NULL)
            assert_int_equal(unlinkat(dirfd(d), f->d_name, 0), 0);
    closedir(d);
    assert_int_equal(offline_verify(p->dir, &n, &e), ERR_CORRUPT);
    if (strstr(e.text, "CURRENT is missing") == NULL)
        fail_msg("%s", e.text);
}

static void a_lost_log_is_replaced_on_request_only(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct errbuf e;
    struct told told = {0};
    char log[96];
    fill(p);
    snprintf(log, sizeof(log), "%s/log", p->dir);
    remove_tree(log);
    assert_int_not_equal(offline_verify(p->dir, &n, &e), ERR_OK);
    salvaged(p, &told);
    verified(p->dir, &n);
    assert_int_equal(n.rows[FAMILY_JOBS], ROWS);
    load(p);
    assert_int_equal(count_rows(p), ROWS);
    put(p, ROWS, 1, true);
    commit(p);
    store_close(&p->s);
    load(p);
    assert_int_equal(count_rows(p), ROWS + 1);
}

/* Tables of the family meta: no other has this key. */
static void damage_meta(const char *base)
{
    struct buf content = {0};
    unsigned n = 0;
    DIR *d = opendir(base);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d)) != NULL;) {
        char path[512];
        if (!rocks_is_table(f->d_name))
            continue;
        snprintf(path, sizeof(path), "%s/%s", base, f->d_name);
        buf_clear(&content);
        assert_int_equal(file_read(path, SIZE_MAX - 1, &content, NULL), ERR_OK);
        char *key = memmem(content.data, content.len, "applied", 7);
        if (key != NULL)
            damage(path, key - content.data, 7);
        n += key != NULL;
    }
    closedir(d);
    buf_release(&content);
    assert_true(n > 0);
}

/* Nobody knows then how far it comes. */
static void a_base_without_its_index_keeps_its_rows(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct told told = {0};
    char base[96], log[96];
    fill(p);
    snprintf(log, sizeof(log), "%s/log", p->dir);
    remove_tree(log);
    snprintf(base, sizeof(base), "%s/base", p->dir);
    damage_meta(base);
    salvaged(p, &told);
    verified(p->dir, &n);
    assert_int_equal(n.rows[FAMILY_JOBS], ROWS);
}

/* Before the first flush the base ends at index 0, where such a log begins. */
static void an_empty_log_is_replaced_too(void **state)
{
    struct place *p = *state;
    struct told told = {0};
    char path[96];
    load(p);
    put(p, 1, 1, true);
    commit(p);
    wait_applied(p);
    store_abandon(&p->s);
    snprintf(path, sizeof(path), "%s/log", p->dir);
    remove_tree(path);
    assert_int_equal(mkdir(path, 0700), 0);
    salvaged(p, &told);
    load(p);
    put(p, 2, 2, true);
    commit(p);
    wait_durable(p);
    assert_int_equal(get(p, 2), 2);
}

/* Where the record of an index stands in a segment that begins with 1. */
struct find {
    uint64_t index;
    off_t at;
};

static enum err find_record(const struct log_record *rec, void *ud,
                            struct errbuf *e)
{
    struct find *f = ud;
    (void)e;
    if (rec->index < f->index)
        f->at += (off_t)((40 + rec->entry.len + 7) / 8 * 8);
    return ERR_OK;
}

/* Damage the record `behind` the base's end (0: the last that it has). */
static void damage_record(struct place *p, uint64_t behind)
{
    struct offline_count n;
    struct log_check check;
    struct errbuf e;
    char log[96], path[512];
    fill(p);
    verified(p->dir, &n);
    snprintf(log, sizeof(log), "%s/log", p->dir);
    struct find f = {n.applied + behind, 8192};
    assert_int_equal(log_verify(log, &check, find_record, &f, &e), ERR_OK);
    assert_int_equal(check.segments, 1);
    find_file(log, ".seg", path, sizeof(path));
    damage(path, f.at + 44, 8);
    assert_int_equal(offline_verify(p->dir, &n, &e), ERR_CORRUPT);
}

static void a_damaged_log_keeps_its_good_beginning(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct told told = {0};
    p->o.log_segment_bytes = 8 << 20;
    damage_record(p, 51); /* the start, and 49 rows */
    salvaged(p, &told);
    assert_true(told.lost);
    verified(p->dir, &n);
    load(p);
    assert_int_equal(count_rows(p), ROWS + 49);
}

/* The base has what was damaged, so nothing is lost. */
static void damage_below_the_end_of_the_base_costs_nothing(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct told told = {0};
    p->o.log_segment_bytes = 8 << 20;
    damage_record(p, 0);
    salvaged(p, &told);
    assert_false(told.lost);
    verified(p->dir, &n);
    assert_int_equal(n.rows[FAMILY_JOBS], ROWS + 100);
    load(p);
    assert_int_equal(count_rows(p), ROWS + 100);
    put(p, ROWS + 100, 1, true);
    commit(p);
    store_close(&p->s);
    load(p);
    assert_int_equal(count_rows(p), ROWS + 101);
}

/* Killed after a flush that was RocksDB's own: what that brought to the disk is
 * not sure to be all. */
static void fill_unsure(struct place *p)
{
    struct rec_applied applied;
    load(p);
    for (unsigned i = 0; i < 100; i++) {
        put(p, i, i + 1, true);
        commit(p);
    }
    wait_durable(p);
    wait_applied(p);
    flush_beside(p);
    assert_int_equal(
        rocks_base_applied(&rocks_of(p->s->b)->base, &applied, NULL), ERR_OK);
    assert_true(applied.unsure > 0);
    for (unsigned i = 100; i < 150; i++) {
        put(p, i, i + 1, true);
        commit(p);
    }
    wait_durable(p);
    store_abandon(&p->s);
}

static void an_unsure_base_is_made_up_for_by_the_log(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct told told = {0};
    fill_unsure(p);
    verified(p->dir, &n);
    assert_true(n.replay >= 150);
    salvaged(p, &told); /* nothing is wrong */
    load(p);
    assert_int_equal(count_rows(p), 150);
}

static void damage_first_record(struct place *p)
{
    char log[96], path[512];
    snprintf(log, sizeof(log), "%s/log", p->dir);
    find_file(log, ".seg", path, sizeof(path));
    damage(path, 8192 + 44, 8);
}

static void damage_below_what_is_sure_leaves_the_log_its_say(void **state)
{
    struct place *p = *state;
    struct told told = {0};
    p->o.log_segment_bytes = 8 << 20;
    load(p);
    put(p, 1000, 1, true);
    commit(p);
    store_close(&p->s);
    fill_unsure(p);
    damage_first_record(p);
    salvaged(p, &told);
    assert_null(strstr(told.text, "at its word"));
    load(p);
    assert_int_equal(count_rows(p), 151);
}

/* A record of those that it may lack is damaged: there is no other word. */
static void an_unsure_base_is_believed_without_the_log(void **state)
{
    struct place *p = *state;
    struct told told = {0};
    p->o.log_segment_bytes = 8 << 20;
    fill_unsure(p);
    damage_first_record(p);
    salvaged(p, &told);
    assert_non_null(strstr(told.text, "at its word"));
    load(p);
    assert_int_equal(count_rows(p), 150);
}

static void an_unsure_base_outlives_the_log(void **state)
{
    struct place *p = *state;
    struct told told = {0};
    char log[96];
    fill_unsure(p);
    snprintf(log, sizeof(log), "%s/log", p->dir);
    remove_tree(log);
    salvaged(p, &told);
    assert_non_null(strstr(told.text, "at its word"));
    load(p);
    assert_int_equal(count_rows(p), 100);
}

/* Without the witness, which would see it first. */
static void a_log_that_ends_before_an_unsure_base_is_refused(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct errbuf e;
    char command[512];
    load(p);
    put(p, 1000, 1, true);
    commit(p);
    wait_durable(p);
    snprintf(command, sizeof(command), "cp -r '%s/log' '%s/before'", p->dir,
             p->dir);
    assert_int_equal(system(command), 0);
    store_close(&p->s);
    fill_unsure(p);
    snprintf(command, sizeof(command),
             "cd '%s' && rm -r log watermark && mv before log", p->dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(offline_verify(p->dir, &n, &e), ERR_CORRUPT);
    assert_non_null(strstr(e.text, "rolled back"));
    assert_int_equal(store_open(&p->s, &p->o, &e), ERR_CORRUPT);
    assert_non_null(strstr(e.text, "rolled back"));
}

static void what_was_salvaged_can_be_salvaged_again(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct told told = {0};
    char base[96], log[96], path[512];
    fill(p);
    snprintf(base, sizeof(base), "%s/base", p->dir);
    snprintf(log, sizeof(log), "%s/log", p->dir);
    for (int i = 0; i < 3; i++) {
        find_file(base, ".sst", path, sizeof(path));
        damage(path, 10, 8);
        remove_tree(log);
        salvaged(p, &told);
        verified(p->dir, &n);
    }
}

static void says(const struct errbuf *e, const char *what)
{
    if (strstr(e->text, what) == NULL)
        fail_msg("%s", e->text);
}

static void write_marker(const char *dir, const char *text)
{
    char path[96];
    snprintf(path, sizeof(path), "%s/belfry", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void data_of_another_format_are_not_salvaged(void **state)
{
    struct place *p = *state;
    struct told told = {0};
    struct errbuf e;
    load(p);
    put(p, 1, 1, true);
    store_close(&p->s);
    write_marker(p->dir, "belfry data, format 2\n");
    assert_int_equal(offline_salvage(p->dir, tell, &told, &e), ERR_CORRUPT);
    says(&e, "format 2");
    assert_int_equal(told.lines, 0);
    assert_int_equal(store_open(&p->s, &p->o, &e), ERR_CORRUPT); /* still */
    write_marker(p->dir, "belf");
    salvaged(p, &told);
    load(p);
    assert_int_equal(get(p, 1), 1);
}

/* Whoever goes back to the program before can read what is restored. */
static void a_copy_has_the_format_of_what_was_copied(void **state)
{
    struct place *p = *state;
    struct buf text = {0};
    struct errbuf e;
    char to[128], path[160];
    load(p);
    put(p, 1, 1, true);
    store_close(&p->s);
    write_marker(p->dir, "belfry data, format 3\n");
    snprintf(to, sizeof(to), "%s/copy", p->dir);
    assert_int_equal(offline_copy(p->dir, to, &e), ERR_OK);
    snprintf(path, sizeof(path), "%s/belfry", to);
    assert_int_equal(file_read(path, 100, &text, &e), ERR_OK);
    assert_string_equal(buf_cstr(&text), "belfry data, format 3\n");
    buf_release(&text);
}

/* Its bytes are as they were written, and say nothing. */
static void an_entry_that_cannot_be_read_is_named(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct log *l;
    struct errbuf e;
    char path[96], record[32];
    bool done = false;
    load(p);
    store_close(&p->s);
    snprintf(path, sizeof(path), "%s/log", p->dir);
    struct log_options lo = {.dir = path};
    assert_int_equal(log_open(&l, &lo, NULL, &e), ERR_OK);
    snprintf(record, sizeof(record), "record %llu",
             (unsigned long long)log_append(l, SLICE_LIT("hardly an entry")));
    assert_int_equal(log_drain(l, &e), ERR_OK);
    log_close(&l);
    assert_int_equal(offline_verify(p->dir, &n, &e), ERR_CORRUPT);
    says(&e, ".seg, offset ");
    says(&e, record);
    assert_int_equal(store_open(&p->s, &p->o, &e), ERR_OK);
    enum err rc = ERR_OK;
    while (rc == ERR_OK && !done)
        rc = store_load_step(p->s, clock_now(), &done, &e);
    assert_int_equal(rc, ERR_CORRUPT);
    says(&e, path);
    says(&e, record);
    store_abandon(&p->s);
}

/* Between setting aside the old base and giving the new one its name. */
static void a_salvage_that_was_cut_short_keeps_its_new_base(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct told told = {0};
    char base[96], whole[96], path[512];
    fill(p);
    snprintf(base, sizeof(base), "%s/base", p->dir);
    snprintf(whole, sizeof(whole), "%s/base.whole", p->dir);
    find_file(base, ".sst", path, sizeof(path));
    damage(path, 5000, 16);
    /* Of an earlier salvage: while there is a base this is nobody's. */
    assert_int_equal(mkdir(whole, 0700), 0);
    snprintf(path, sizeof(path), "%s/CURRENT", whole);
    assert_int_equal(close(creat(path, 0600)), 0);
    salvaged(p, &told);
    assert_int_not_equal(access(whole, F_OK), 0);
    verified(p->dir, &n);
    uint64_t rows = n.rows[FAMILY_JOBS];
    assert_true(rows > 0);
    assert_int_equal(rename(base, whole), 0);
    salvaged(p, &told);
    verified(p->dir, &n);
    assert_int_equal(n.rows[FAMILY_JOBS], rows);
    load(p);
    assert_int_equal(count_rows(p), rows);
}

static void a_salvage_that_was_cut_short_keeps_its_new_log(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct told told = {0};
    char log[96], whole[96];
    fill(p);
    snprintf(log, sizeof(log), "%s/log", p->dir);
    snprintf(whole, sizeof(whole), "%s/log.whole", p->dir);
    assert_int_equal(rename(log, whole), 0);
    salvaged(p, &told);
    verified(p->dir, &n);
    load(p);
    assert_int_equal(count_rows(p), ROWS + 100);
}

/* A place in a queue whose job was lost would stop the server. */
static void rows_of_lost_jobs_go_too(void **state)
{
    struct place *p = *state;
    struct told told = {0};
    struct offline_count n;
    struct key k;
    struct id here, gone;
    char name[KEY_MAX - 9];
    load(p);
    assert_true(key_parse_id(key_of(&k, 1), &here));
    assert_true(key_parse_id(key_of(&k, 2), &gone));
    put(p, 1, 1, true);
    *store_put(p->s, FAMILY_RUNS, key_run(&k, &here), 1, true) = 1;
    *store_put(p->s, FAMILY_RUNS, key_run(&k, &gone), 1, true) = 1;
    *store_put(p->s, FAMILY_READY, key_ready(&k, 1, 1, 1, &gone), 1, true) = 1;
    *store_put(p->s, FAMILY_DUE, key_due(&k, 1, 1, id_slice(&gone)), 1, true) =
        1;
    /* Sixteen bytes, but a name. */
    *store_put(p->s, FAMILY_DUE, key_due(&k, 1, 6, id_slice(&gone)), 1, true) =
        1;
    /* The last row of its family, as long as a key can be. */
    memset(name, 'n', sizeof(name));
    *store_put(p->s, FAMILY_DUE,
               key_due(&k, 2, 6, slice_of(name, sizeof(name))), 1, true) = 1;
    assert_int_equal(k.len, KEY_MAX);
    store_close(&p->s);
    salvaged(p, &told);
    assert_true(told.lost);
    verified(p->dir, &n);
    assert_int_equal(n.rows[FAMILY_RUNS], 1);
    assert_int_equal(n.rows[FAMILY_READY], 0);
    assert_int_equal(n.rows[FAMILY_DUE], 2);
}

static void a_base_without_its_manifest_is_repaired(void **state)
{
    struct place *p = *state;
    struct offline_count n;
    struct errbuf e;
    struct told told = {0};
    char path[96];
    fill(p);
    snprintf(path, sizeof(path), "%s/base/CURRENT", p->dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(offline_verify(p->dir, &n, &e), ERR_CORRUPT);
    salvaged(p, &told);
    assert_true(told.lost);
    verified(p->dir, &n);
    load(p);
    assert_int_equal(count_rows(p), ROWS + 100);
}

/* The base is gone, and the log has let go of what was in it. */
static void a_log_that_begins_later_is_not_everything(void **state)
{
    struct place *p = *state;
    struct told told = {0};
    struct log_check check;
    struct errbuf e;
    char base[96], log[96], aside[112], line[256];
    p->o.log_segment_bytes = 256 << 10;
    fill(p);
    snprintf(log, sizeof(log), "%s/log", p->dir);
    assert_int_equal(log_verify(log, &check, NULL, NULL, &e), ERR_OK);
    assert_true(check.first > 1);
    snprintf(base, sizeof(base), "%s/base", p->dir);
    remove_tree(base);
    salvaged(p, &told);
    snprintf(line, sizeof(line),
             "base: there is none, and the log begins at index %llu: all that "
             "was in the base is lost\n",
             (unsigned long long)check.first);
    if (strstr(told.text, line) == NULL || strstr(told.text, "everything"))
        fail_msg("%s", told.text);
    snprintf(aside, sizeof(aside), "%s.damaged", log);
    assert_int_equal(access(aside, F_OK), 0);
    load(p);
    assert_int_equal(count_rows(p), 0);
}

static void a_log_from_the_first_index_on_is_everything(void **state)
{
    struct place *p = *state;
    struct told told = {0};
    char base[96];
    load(p);
    put(p, 1, 1, true);
    commit(p);
    wait_durable(p);
    store_abandon(&p->s);
    snprintf(base, sizeof(base), "%s/base", p->dir);
    remove_tree(base);
    salvaged(p, &told);
    if (told.lost || strstr(told.text, "so the log has everything") == NULL)
        fail_msg("%s", told.text);
    load(p);
    assert_int_equal(count_rows(p), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(verify_counts_rows_and_entries),
        TEST(a_running_server_is_left_alone),
        TEST(a_copy_is_data_and_is_never_written_over),
        TEST(a_copy_is_read_where_nothing_can_be_written),
        TEST(a_copy_that_fails_leaves_nothing),
        TEST(a_damaged_table_is_found_and_the_rest_is_saved),
        TEST(a_refusal_names_the_damaged_table),
        TEST(no_table_is_accused_of_what_a_missing_one_did),
        TEST(no_table_is_accused_of_what_the_manifest_did),
        TEST(a_missing_current_is_named_without_tables_too),
        TEST(a_lost_log_is_replaced_on_request_only),
        TEST(a_base_without_its_index_keeps_its_rows),
        TEST(an_empty_log_is_replaced_too),
        TEST(a_log_that_begins_later_is_not_everything),
        TEST(a_log_from_the_first_index_on_is_everything),
        TEST(a_damaged_log_keeps_its_good_beginning),
        TEST(damage_below_the_end_of_the_base_costs_nothing),
        TEST(an_unsure_base_is_made_up_for_by_the_log),
        TEST(damage_below_what_is_sure_leaves_the_log_its_say),
        TEST(an_unsure_base_is_believed_without_the_log),
        TEST(an_unsure_base_outlives_the_log),
        TEST(a_log_that_ends_before_an_unsure_base_is_refused),
        TEST(what_was_salvaged_can_be_salvaged_again),
        TEST(data_of_another_format_are_not_salvaged),
        TEST(a_copy_has_the_format_of_what_was_copied),
        TEST(an_entry_that_cannot_be_read_is_named),
        TEST(a_salvage_that_was_cut_short_keeps_its_new_base),
        TEST(a_salvage_that_was_cut_short_keeps_its_new_log),
        TEST(rows_of_lost_jobs_go_too),
        TEST(a_base_without_its_manifest_is_repaired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
