/* Opening RocksDB: every option that we set, with the reason. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/key.h"
#include "store/records.h"
#include "store/rocks.h"
#include "util/alloc.h"
#include "util/file.h"

#define INFO_LOG_FATAL 4
#define TIER_BLOCK_CACHE 1
#define TIER_PERSISTED 2

enum err rocks_err(struct errbuf *e, char *message, const char *what)
{
    enum err rc = ERR_IO;
    if (strncmp(message, "Result incomplete", 17) == 0)
        rc = ERR_PENDING;
    else if (strncmp(message, "Corruption", 10) == 0)
        rc = ERR_CORRUPT;
    else if (strstr(message, "No space left") != NULL)
        rc = ERR_NOSPACE;
    if (rc != ERR_PENDING)
        err_set(e, rc, "%s: %s", what, message);
    rocksdb_free(message);
    return rc;
}

/* What the C setters lack. RocksDB would flush at close what we want to be
 * lost or not lost by our own rules, and fill a full disk at recovery. */
static const char db_text[] = "avoid_flush_during_recovery=true;"
                              "avoid_flush_during_shutdown=true;"
                              "max_bgerror_resume_count=2147483647;"
                              "bgerror_resume_retry_interval=500000;"
                              "flush_verify_memtable_count=true;"
                              /* A sync of the log waits for what the disk
                               * was given before: little at a time. */
                              "writable_file_max_buffer_size=131072;"
                              "strict_bytes_per_sync=true";
/* Without it, 286 of 286 probes after a flush asked the disk; with it none. */
static const char table_text[] =
    "block_based_table_factory={prepopulate_block_cache=kFlushOnly;"
    "checksum=kXXH3}"; /* rocks_tables.c knows it */
/* What is kept of finished jobs is most of what is flushed, and little of it is
 * ever read: larger blocks take less work to make (a flush costs a third less),
 * and the cache is for the rows of live jobs. */
static const char past_text[] = "block_based_table_factory={block_size=16384;"
                                "prepopulate_block_cache=kDisable};"
                                "max_bytes_for_level_base=268435456;"
                                "target_file_size_base=67108864";
/* A flush holds rows from the head and from the end of a backlog, so what level
 * 0 is merged into is the whole next level: that must have a bound. With one
 * level of 10 million rows, each eight flushes took four seconds of a
 * processor. With 64 MB each table of deletions at the head, of which RocksDB
 * counts every one as two rows of bytes, was merged with what it deletes by
 * itself. */
static const char live_text[] = "block_based_table_factory={block_size=8192};"
                                "max_bytes_for_level_base=268435456;"
                                "target_file_size_base=16777216";
/* These rows take eight bytes each in a table. */
static const char order_text[] = "max_bytes_for_level_base=8388608;"
                                 "target_file_size_base=2097152";

static enum err with_text(const rocksdb_options_t *options, const char *text,
                          rocksdb_options_t **out, struct errbuf *e)
{
    char *message = NULL;
    rocksdb_options_t *new = rocksdb_options_create();
    rocksdb_get_options_from_string(options, text, new, &message);
    if (message != NULL) {
        rocksdb_options_destroy(new);
        return rocks_err(e, message, "options of the base");
    }
    *out = new;
    return ERR_OK;
}

static enum err add_text(rocksdb_options_t **options, const char *text,
                         struct errbuf *e)
{
    rocksdb_options_t *old = *options;
    enum err rc = with_text(old, text, options, e);
    if (rc == ERR_OK)
        rocksdb_options_destroy(old);
    return rc;
}

static enum err set_options(struct rocks_base *b,
                            const struct rocks_base_options *o,
                            struct errbuf *e)
{
    rocksdb_options_t *opt = b->options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(opt, !o->read_only);
    rocksdb_options_set_create_missing_column_families(opt, !o->read_only);
    rocksdb_options_set_atomic_flush(opt, 1);
    rocksdb_options_set_info_log_level(opt, INFO_LOG_FATAL); /* fact 3 */
    rocksdb_options_set_max_open_files(opt, -1);             /* fact 4 */
    rocksdb_options_set_max_background_jobs(opt, 2);
    /* For each family anew, and few have more than a handful of tables. */
    rocksdb_options_set_max_file_opening_threads(opt, 2);
    /* One applier writes sorted batches: no concurrency to pay for. */
    rocksdb_options_set_allow_concurrent_memtable_write(opt, 0);
    rocksdb_options_set_write_buffer_size(opt, o->write_buffer_bytes);
    rocksdb_options_set_db_write_buffer_size(opt, 3 * o->write_buffer_bytes);
    rocksdb_options_set_max_write_buffer_number(opt, 4);
    /* Only the applier can stall, and a stall there is what the overlay is
     * for; stopping is left to the hard limits. */
    rocksdb_options_set_level0_slowdown_writes_trigger(opt, 40);
    rocksdb_options_set_level0_stop_writes_trigger(opt, 80);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(opt, 1);
    /* The same on all levels: files of rows in order of time, as finished jobs
     * are, then sink to the last level by name alone, never rewritten. */
    rocksdb_options_set_compression(opt, rocksdb_lz4_compression);
    rocksdb_options_set_level0_file_num_compaction_trigger(opt, 8);
    rocksdb_options_set_bytes_per_sync(opt, (uint64_t)128 << 10);

    b->cache = rocksdb_cache_create_lru(o->block_cache_bytes);
    b->table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_cache(b->table, b->cache);
    rocksdb_block_based_options_set_filter_policy(
        b->table, rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_format_version(b->table, 5);
    rocksdb_options_set_block_based_table_factory(opt, b->table);

    enum err rc = add_text(&b->options, db_text, e);
    if (rc == ERR_OK)
        rc = add_text(&b->options, table_text, e);
    if (rc == ERR_OK)
        rc = add_text(&b->options, live_text, e);
    if (rc == ERR_OK)
        rc = with_text(b->options, order_text, &b->order_options, e);
    if (rc == ERR_OK)
        rc = with_text(b->options, past_text, &b->past_options, e);
    return rc;
}

const rocksdb_options_t *rocks_base_options_of(const struct rocks_base *b,
                                               enum family f)
{
    switch (f) {
    case FAMILY_PAST:
    case FAMILY_LOGS:
        return b->past_options;
    case FAMILY_READY:
    case FAMILY_DUE:
    case FAMILY_PARKED:
        return b->order_options;
    default:
        return b->options;
    }
}

static void find_tables(struct rocks_base *b, const char *path)
{
    rocksdb_dbpath_t *where = rocksdb_dbpath_create(path, UINT64_MAX);
    const rocksdb_dbpath_t *all[] = {where};
    rocksdb_options_set_db_paths(b->options, all, 1);
    rocksdb_dbpath_destroy(where);
}

static void set_read_options(struct rocks_base *b)
{
    b->read_memory = rocksdb_readoptions_create();
    rocksdb_readoptions_set_read_tier(b->read_memory, TIER_BLOCK_CACHE);
    b->read_disk = rocksdb_readoptions_create();
    b->read_all = rocksdb_readoptions_create();
    rocksdb_readoptions_set_ignore_range_deletions(b->read_all, 1);
    b->read_persisted = rocksdb_readoptions_create();
    rocksdb_readoptions_set_read_tier(b->read_persisted, TIER_PERSISTED);
}

/* A newer program may have added families that we would not know to keep. */
static enum err families_known(struct rocks_base *b, const char *path,
                               struct errbuf *e)
{
    size_t n = 0;
    char *message = NULL;
    enum err rc = ERR_OK;
    char **names = rocksdb_list_column_families(b->options, path, &n, &message);
    if (message != NULL) { /* there is none yet; opening says what is wrong */
        rocksdb_free(message);
        rocksdb_list_column_families_destroy(names, 0);
        return ERR_OK;
    }
    for (size_t i = 0; i < n && rc == ERR_OK; i++) {
        bool known = strcmp(names[i], "default") == 0;
        for (int f = 0; f < FAMILIES; f++)
            known |= strcmp(names[i], family_name((enum family)f)) == 0;
        if (!known)
            rc = err_set(e, ERR_CORRUPT,
                         "%s has a family \"%s\" that this program does not "
                         "know: a newer one wrote it",
                         path, names[i]);
    }
    rocksdb_list_column_families_destroy(names, n);
    return rc;
}

/* RocksDB would complain of the file that a damaged CURRENT names, and not of
 * CURRENT. */
static enum err current_names_one(int dir, const char *path, struct errbuf *e)
{
    enum err rc = ERR_OK;
    char name[64];
    int fd = openat(dir, "CURRENT", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, name, sizeof(name) - 1);
    if (n > 0) {
        name[n] = '\0';
        name[strcspn(name, "\n")] = '\0';
        if (strchr(name, '/') != NULL ||
            (faccessat(dir, name, F_OK, 0) != 0 && errno == ENOENT))
            rc = err_set(e, ERR_CORRUPT,
                         "%s/CURRENT names \"%s\", which does not exist: one "
                         "of the two is damaged",
                         path, name);
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

/* A creation that was cut short, before there is CURRENT, has neither. */
static bool is_of_a_base(const char *name)
{
    size_t n = strlen(name);
    return rocks_is_table(name) ||
           (n > 4 && strcmp(name + n - 4, ".log") == 0); /* RocksDB's own */
}

/* Without CURRENT RocksDB would begin a new, empty base beside what is left of
 * the old one. */
static enum err current_is_there(const char *path, struct errbuf *e)
{
    enum err rc = ERR_OK;
    DIR *d = opendir(path);
    if (d == NULL)
        return ERR_OK; /* opening says what is wrong */
    rc = current_names_one(dirfd(d), path, e);
    if (rc == ERR_OK && faccessat(dirfd(d), "CURRENT", F_OK, 0) != 0 &&
        errno == ENOENT) {
        struct dirent *entry;
        while (rc == ERR_OK && (entry = readdir(d)) != NULL)
            if (is_of_a_base(entry->d_name))
                rc = err_set(e, ERR_CORRUPT,
                             "%s/CURRENT is missing, but other files of a base "
                             "are there (%s): the base is damaged",
                             path, entry->d_name);
    }
    closedir(d);
    return rc;
}

enum err rocks_base_open(struct rocks_base *b, const char *path,
                         const struct rocks_base_options *o, struct errbuf *e)
{
    /* The family "default" must be opened and stays empty. */
    const char *names[FAMILIES + 1];
    const rocksdb_options_t *options[FAMILIES + 1];
    rocksdb_column_family_handle_t *handles[FAMILIES + 1];
    char *message = NULL;
    enum err rc;

    memset(b, 0, sizeof(*b));
    rc = current_is_there(path, e);
    if (rc == ERR_OK && rocks_repair_begun(path))
        rc = err_set(e, ERR_CORRUPT,
                     "the repair of %s was cut short: it has to be done "
                     "again",
                     path);
    if (rc == ERR_OK)
        rc = set_options(b, o, e);
    if (rc == ERR_OK)
        rc = families_known(b, path, e);
    if (rc != ERR_OK)
        goto fail;
    if (o->tables != NULL)
        find_tables(b, o->tables);
    set_read_options(b);
    for (int f = 0; f <= FAMILIES; f++) {
        names[f] = f < FAMILIES ? family_name((enum family)f) : "default";
        options[f] = f < FAMILIES ? rocks_base_options_of(b, (enum family)f)
                                  : b->options;
    }
    b->db =
        o->read_only
            ? rocksdb_open_for_read_only_column_families(
                  b->options, path, FAMILIES + 1, names, options, handles, 0,
                  &message)
            : rocksdb_open_column_families(b->options, path, FAMILIES + 1,
                                           names, options, handles, &message);
    if (message != NULL) {
        rc = rocks_err(e, message, path);
        if (rc == ERR_CORRUPT)
            rocks_blame_tables(o->tables != NULL ? o->tables : path, e);
        goto fail;
    }
    memcpy(b->cfs, handles, sizeof(b->cfs));
    rocksdb_column_family_handle_destroy(handles[FAMILIES]);
    rocks_ranges_find(b);
    return ERR_OK;

fail:
    rocks_base_close(b);
    return rc;
}

void rocks_thread_begin(void)
{
    rocksdb_set_perf_level(rocksdb_disable);
}

enum err rocks_base_begin(struct rocks *r, struct errbuf *e)
{
    const struct rocks_base_options o = {r->o.block_cache_bytes,
                                         r->o.write_buffer_bytes, false};
    char path[ROCKS_PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/base", r->dir);
    enum err rc = rocks_base_open(&r->base, path, &o, e);
    if (rc == ERR_OK)
        atomic_store_explicit(&r->has_base, true, memory_order_release);
    return rc;
}

void rocks_base_close(struct rocks_base *b)
{
    if (b->db != NULL) {
        for (int f = 0; f < FAMILIES; f++) /* fact 5 */
            rocksdb_column_family_handle_destroy(b->cfs[f]);
        rocksdb_close(b->db);
    }
    if (b->read_memory != NULL) {
        rocksdb_readoptions_destroy(b->read_memory);
        rocksdb_readoptions_destroy(b->read_disk);
        rocksdb_readoptions_destroy(b->read_all);
        rocksdb_readoptions_destroy(b->read_persisted);
    }
    if (b->options != NULL)
        rocksdb_options_destroy(b->options);
    if (b->order_options != NULL)
        rocksdb_options_destroy(b->order_options);
    if (b->past_options != NULL)
        rocksdb_options_destroy(b->past_options);
    if (b->table != NULL)
        rocksdb_block_based_options_destroy(b->table);
    if (b->cache != NULL)
        rocksdb_cache_destroy(b->cache);
    memset(b, 0, sizeof(*b));
}

enum err rocks_base_applied(const struct rocks_base *b,
                            struct rec_applied *applied, struct errbuf *e)
{
    struct key k;
    char *message = NULL;
    size_t len = 0;
    key_meta(&k, SLICE_LIT("applied"));
    char *value = rocksdb_get_cf(b->db, b->read_persisted, b->cfs[FAMILY_META],
                                 k.bytes, k.len, &len, &message);
    if (message != NULL)
        return rocks_err(e, message, "family meta, key applied");
    *applied = (struct rec_applied){.index = 0};
    if (value == NULL)
        return ERR_OK;
    bool ok = rec_applied_decode(applied, slice_of(value, len)) &&
              applied->unsure <= applied->index;
    rocksdb_free(value);
    return ok ? ERR_OK : err_set(e, ERR_CORRUPT, "family meta, key applied");
}

uint64_t rocks_base_property(const struct rocks_base *b, const char *name)
{
    uint64_t sum = 0;
    for (int f = 0; f < FAMILIES; f++) {
        uint64_t n = 0;
        if (rocksdb_property_int_cf(b->db, b->cfs[f], name, &n) == 0)
            sum += n;
    }
    return sum;
}

bool rocks_base_failed(const struct rocks_base *b)
{
    uint64_t n = 0;
    return rocksdb_property_int(b->db, "rocksdb.background-errors", &n) != 0 ||
           n > 0;
}

enum err rocks_base_flush(const struct rocks_base *b, struct errbuf *e)
{
    static const char *const properties[] = {
        "rocksdb.num-entries-active-mem-table",
        "rocksdb.num-entries-imm-mem-tables"};
    uint64_t left = 0;
    /* Of the family "default", which is empty: fact 1. It returns nothing. */
    rocksdb_compact_range(b->db, NULL, 0, NULL, 0);
    for (size_t i = 0; i < ARRAY_LEN(properties); i++)
        left += rocks_base_property(b, properties[i]);
    if (left == 0)
        return ERR_OK;
    return err_set(e, ERR_IO, "flushing the base left %llu changes in memory",
                   (unsigned long long)left);
}

enum err rocks_base_vouch(const struct rocks_base *b,
                          const struct rec_applied *applied, struct errbuf *e)
{
    char value[ROCKS_APPLIED_MAX], *message = NULL;
    size_t len = (size_t)(rec_applied_encode(applied, value) - value);
    rocksdb_column_family_handle_t *meta = b->cfs[FAMILY_META];
    struct key k;
    key_meta(&k, SLICE_LIT("applied"));
    rocksdb_writeoptions_t *wo = rocksdb_writeoptions_create();
    rocksdb_flushoptions_t *fo = rocksdb_flushoptions_create();
    rocksdb_writeoptions_disable_WAL(wo, 1);
    rocksdb_put_cf(b->db, wo, meta, k.bytes, k.len, value, len, &message);
    if (message == NULL) /* no other family has anything to flush */
        rocksdb_flush_cf(b->db, fo, meta, &message);
    rocksdb_flushoptions_destroy(fo);
    rocksdb_writeoptions_destroy(wo);
    return message == NULL ? ERR_OK
                           : rocks_err(e, message, "family meta, key applied");
}

/* --- the directory ------------------------------------------------------- */

#define MARKER STORE_OWNER " data, format "

/* The format that a marker names; 0: it is none that we can read. */
static int marker_format(struct slice text)
{
    char want[64];
    for (int n = STORE_FORMAT; n >= STORE_FORMAT_OLDEST; n--) {
        snprintf(want, sizeof(want), MARKER "%d\n", n);
        if (slice_eq(text, slice_str(want)))
            return n;
    }
    return 0;
}

static enum err read_marker(const char *dir, struct buf *text, struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/belfry", dir);
    return file_read(path, 4096, text, e);
}

static enum err write_marker(const char *dir, struct slice text,
                             struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/belfry", dir);
    /* First, because who finds the marker does not do it again. */
    enum err rc = file_sync_dir_of(dir, e);
    /* A start that is killed must not leave half a marker, which the next one
     * would refuse. */
    return rc == ERR_OK ? file_replace(path, text, e) : rc;
}

enum err rocks_mark(const char *dir, struct errbuf *e)
{
    char text[64];
    snprintf(text, sizeof(text), MARKER "%d\n", STORE_FORMAT);
    return write_marker(dir, slice_str(text), e);
}

enum err rocks_mark_like(const char *dir, const char *other, struct errbuf *e)
{
    struct buf text = {0};
    enum err rc = read_marker(other, &text, e);
    if (rc == ERR_OK)
        rc = write_marker(dir, buf_slice(&text), e);
    buf_release(&text);
    return rc;
}

/* Data without a marker is somebody else's, or a backup or a copy that was cut
 * short: a part of it would pass for all. */
static bool holds_data(const char *dir)
{
    static const char *const parts[] = {"base", "base.tmp", "log"};
    char path[ROCKS_PATH_MAX + 16];
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, parts[i]);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

/* What a marker says, for errors: its first line. */
static int shown_len(const struct buf *text)
{
    const char *end = memchr(text->data, '\n', text->len);
    size_t len = end == NULL ? text->len : (size_t)(end - text->data);
    return len > 100 ? 100 : (int)len;
}

static enum err check_marker(const char *dir, struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 16];
    struct buf text = {0};
    snprintf(path, sizeof(path), "%s/belfry", dir);
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        if (holds_data(dir))
            return err_set(e, ERR_CORRUPT,
                           "%s holds data but no file \"belfry\" that says "
                           "whose it is: somebody else's, or a backup or a "
                           "copy that was cut short",
                           dir);
        return rocks_mark(dir, e);
    }
    enum err rc = read_marker(dir, &text, e);
    if (rc == ERR_OK && marker_format(buf_slice(&text)) == 0)
        rc = err_set(e, ERR_CORRUPT,
                     "%s says \"%.*s\", and this program reads \"" MARKER
                     "%d\" to %d",
                     path, shown_len(&text), text.data, STORE_FORMAT_OLDEST,
                     STORE_FORMAT);
    buf_release(&text);
    return rc;
}

enum err rocks_raise(const char *dir, struct errbuf *e)
{
    struct buf text = {0};
    enum err rc = read_marker(dir, &text, e);
    if (rc == ERR_OK && marker_format(buf_slice(&text)) != STORE_FORMAT)
        rc = rocks_mark(dir, e);
    buf_release(&text);
    return rc;
}

/* Of a damaged or missing marker a salvage makes a new one, but data that it
 * does not know it would take for rubbish. */
enum err rocks_may_salvage(const char *dir, struct errbuf *e)
{
    struct buf text = {0};
    enum err rc = ERR_OK;
    if (read_marker(dir, &text, NULL) == ERR_OK &&
        strstr(buf_cstr(&text), " data, format ") != NULL &&
        marker_format(buf_slice(&text)) == 0)
        rc = err_set(e, ERR_CORRUPT,
                     "%s/belfry says \"%.*s\", and this program reads \"" MARKER
                     "%d\" to %d. If it is that file which is damaged, delete "
                     "it",
                     dir, shown_len(&text), text.data, STORE_FORMAT_OLDEST,
                     STORE_FORMAT);
    buf_release(&text);
    return rc;
}

enum err rocks_lock(const char *dir, int *lock_fd, struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 16];
    *lock_fd = -1;
    snprintf(path, sizeof(path), "%s/lock", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (fd < 0 && errno == EROFS)
        return ERR_OK; /* a backup that nobody can work on */
    if (fd < 0)
        return err_sys(e, ERR_IO, errno, "create %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int failed = errno;
        close(fd);
        if (failed == EWOULDBLOCK)
            return err_set(e, ERR_BUSY, "another process uses %s", dir);
        return err_sys(e, ERR_IO, failed, "lock %s", path);
    }
    *lock_fd = fd;
    return ERR_OK;
}

enum err rocks_claim(const char *dir, int *lock_fd, struct errbuf *e)
{
    *lock_fd = -1;
    if (mkdir(dir, 0750) != 0 && errno != EEXIST)
        return err_sys(e, ERR_IO, errno, "create %s", dir);
    enum err rc = rocks_lock(dir, lock_fd, e);
    if (rc != ERR_OK)
        return rc;
    rc = check_marker(dir, e);
    if (rc != ERR_OK && *lock_fd >= 0) {
        close(*lock_fd);
        *lock_fd = -1;
    }
    return rc;
}

/* --- ballast ------------------------------------------------------------- */

/* Opening RocksDB writes a new manifest. On a disk that is full to the last
 * byte a server could be stopped but not started again, so a little is kept
 * aside for just that. */
void rocks_ballast_drop(const char *dir)
{
    char path[ROCKS_PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/ballast", dir);
    (void)unlink(path);
}

bool rocks_ballast_take(const char *dir)
{
    char path[ROCKS_PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/ballast", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
    if (fd < 0)
        return false;
    bool ok = posix_fallocate(fd, 0, ROCKS_BALLAST_BYTES) == 0;
    close(fd);
    if (!ok)
        (void)unlink(path);
    return ok;
}
