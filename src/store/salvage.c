/* Salvage: a damaged directory becomes one that a server starts on.
 *
 *  1. The base, if it cannot be opened and its MANIFEST is not just torn at its
 *     end (rocks_manifest.h): RocksDB's own repair, which gathers what its
 *     tables still say (rocks_repair.c).
 *  2. The base, if some of it cannot be read: a new one with all rows that can.
 *     Behind a damaged block the walk goes on where the next table begins.
 *  3. The log, if it is damaged behind the base's end: its good beginning
 *     (log_salvage()).
 *  4. Log and base must meet: one that is damaged or ends before the base does,
 *     or begins behind it, is set aside, and a new one starts where the base
 *     ends, with the records of the old one from there on that can be read; or
 *     where the base is no longer sure, if the old one has all of that.
 *  5. Rows of jobs that are lost are dropped (orphans.c).
 *
 * A new base or log is <part>.new while it is made, then <part>.whole until the
 * old one is set aside, so that a salvage that was cut short can be done again.
 *
 * What was lost is told. What holds afterwards: each row can be read, and names
 * a job that exists. A job may have lost its place in its queue, and counters
 * may count what is gone: belfry-check goes on with engine_mend().
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/key.h"
#include "store/offline.h"
#include "store/records.h"
#include "store/rocks.h"
#include "util/alloc.h"
#include "util/file.h"

#define BATCH_ROWS 1000

static const struct rocks_base_options for_writing = {
    (uint64_t)16 << 20, (uint64_t)16 << 20, false};

struct salvage {
    const char *dir;
    char base[ROCKS_PATH_MAX + 32], log[ROCKS_PATH_MAX + 32];
    offline_tell_fn tell;
    void *ud;
    struct rocks_base from, to;
    rocksdb_writebatch_t *batch;
    uint64_t kept, gaps;
    bool has_base;
};

static void tell(const struct salvage *s, const char *fmt, ...)
    PRINTF_LIKE(2, 3);

static void tell(const struct salvage *s, const char *fmt, ...)
{
    char line[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    s->tell(s->ud, line);
}

/* --- a new part in place of the old one ----------------------------------- */

/* To <path>.damaged, or .damaged.2 ... if there is one already. */
static enum err set_aside(const char *path, char *aside, size_t size,
                          struct errbuf *e)
{
    snprintf(aside, size, "%s.damaged", path);
    for (unsigned n = 2; access(aside, F_OK) == 0; n++)
        snprintf(aside, size, "%s.damaged.%u", path, n);
    if (rename(path, aside) != 0)
        return err_sys(e, ERR_IO, errno, "rename %s to %s", path, aside);
    return ERR_OK;
}

static enum err move(const char *from, const char *to, struct errbuf *e)
{
    if (rename(from, to) != 0)
        return err_sys(e, ERR_IO, errno, "rename %s to %s", from, to);
    return file_sync_dir_of(to, e);
}

static void with_ending(char *to, size_t size, const char *path,
                        const char *ending)
{
    snprintf(to, size, "%s%s", path, ending);
}

/* Delete what an earlier salvage left. */
static enum err clear(const char *path, struct errbuf *e)
{
    if (access(path, F_OK) != 0)
        return ERR_OK;
    enum err rc = rocks_empty(path, e);
    if (rc == ERR_OK && rmdir(path) != 0)
        rc = err_sys(e, ERR_IO, errno, "delete %s", path);
    return rc;
}

/* <path>.new becomes <path>, which goes aside if it is there. Who finds neither
 * of them after a crash takes <path>.whole, so that must be whole. */
static enum err replace(const char *path, char *aside, size_t size,
                        struct errbuf *e)
{
    char new[ROCKS_PATH_MAX + 48], whole[ROCKS_PATH_MAX + 48];
    with_ending(new, sizeof(new), path, ".new");
    with_ending(whole, sizeof(whole), path, ".whole");
    enum err rc = clear(whole, e);
    if (rc == ERR_OK)
        rc = move(new, whole, e);
    if (rc == ERR_OK && access(path, F_OK) == 0)
        rc = set_aside(path, aside, size, e);
    return rc == ERR_OK ? move(whole, path, e) : rc;
}

static bool is_there(const char *path)
{
    char whole[ROCKS_PATH_MAX + 48];
    with_ending(whole, sizeof(whole), path, ".whole");
    return access(path, F_OK) == 0 || access(whole, F_OK) == 0;
}

static enum err go_on_with_whole(struct salvage *s, const char *path,
                                 struct errbuf *e)
{
    char whole[ROCKS_PATH_MAX + 48];
    if (access(path, F_OK) == 0 || !is_there(path))
        return ERR_OK;
    with_ending(whole, sizeof(whole), path, ".whole");
    tell(s, "%s: going on with %s, of a salvage that was cut short", path,
         whole);
    return move(whole, path, e);
}

/* --- the base ------------------------------------------------------------ */

static enum err open_damaged(struct rocks_base *b, const char *path,
                             struct errbuf *e)
{
    const struct rocks_base_options o = {(uint64_t)16 << 20, (uint64_t)16 << 20,
                                         true};
    return rocks_base_open(b, path, &o, e);
}

static bool reads_well(struct salvage *s)
{
    struct errbuf e;
    for (int f = 0; f < FAMILIES; f++)
        if (rocks_ranges_check(&s->from, (enum family)f, &e) != ERR_OK) {
            tell(s, "base: family %s", e.text);
            return false;
        }
    return true;
}

/* The least first key of a table of this family that is behind `key`. */
static bool next_table(const struct salvage *s, enum family f,
                       const struct key *key, struct key *next)
{
    const rocksdb_livefiles_t *files = rocksdb_livefiles(s->from.db);
    int n = rocksdb_livefiles_count(files);
    bool found = false;
    for (int i = 0; i < n; i++) {
        const char *name = rocksdb_livefiles_column_family_name(files, i);
        struct slice ends[2];
        bool same = strcmp(name, family_name(f)) == 0;
        ends[0].data = rocksdb_livefiles_smallestkey(files, i, &ends[0].len);
        ends[1].data = rocksdb_livefiles_largestkey(files, i, &ends[1].len);
        /* A table's last key counts, too: what it overlaps goes on there. */
        for (int k = 0; same && k < 2; k++) {
            if (ends[k].len > sizeof(next->bytes) ||
                slice_cmp(ends[k], key_slice(key)) <= 0 ||
                (found && slice_cmp(ends[k], key_slice(next)) >= 0))
                continue;
            memcpy(next->bytes, ends[k].data, ends[k].len);
            next->len = (uint16_t)ends[k].len;
            found = true;
        }
    }
    rocksdb_livefiles_destroy(files);
    return found;
}

static enum err write_batch(struct salvage *s, struct errbuf *e)
{
    rocksdb_writeoptions_t *wo = rocksdb_writeoptions_create();
    char *message = NULL;
    rocksdb_writeoptions_disable_WAL(wo, 1);
    rocksdb_write(s->to.db, wo, s->batch, &message);
    rocksdb_writeoptions_destroy(wo);
    rocksdb_writebatch_clear(s->batch);
    return message == NULL ? ERR_OK
                           : rocks_err(e, message, "write the new base");
}

/* Copy rows from where the iterator stands; *last is the last one copied. */
static enum err copy_run(struct salvage *s, enum family f,
                         rocksdb_iterator_t *it, struct key *last,
                         struct errbuf *e)
{
    enum err rc = ERR_OK;
    for (; rc == ERR_OK && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        struct slice key, value;
        key.data = rocksdb_iter_key(it, &key.len);
        value.data = rocksdb_iter_value(it, &value.len);
        if (!key_valid(f, key) || value.len == 0 ||
            key.len > sizeof(last->bytes)) {
            tell(s, "base: family %s, key %s: not a row, left out",
                 family_name(f), offline_hex(key));
            continue;
        }
        memcpy(last->bytes, key.data, key.len);
        last->len = (uint16_t)key.len;
        rocksdb_writebatch_put_cf(s->batch, s->to.cfs[f], key.data, key.len,
                                  value.data, value.len);
        s->kept++;
        if (rocksdb_writebatch_count(s->batch) >= BATCH_ROWS)
            rc = write_batch(s, e);
    }
    return rc;
}

/* From `from` to before `to`, if that is not NULL. */
static enum err copy_stretch(struct salvage *s, enum family f,
                             const struct key *from, const struct key *to,
                             struct errbuf *e)
{
    struct key last = *from;
    char *message = NULL;
    rocksdb_readoptions_t *o = rocksdb_readoptions_create();
    if (to != NULL)
        rocksdb_readoptions_set_iterate_upper_bound(o, to->bytes, to->len);
    rocksdb_iterator_t *it =
        rocksdb_create_iterator_cf(s->from.db, o, s->from.cfs[f]);
    rocksdb_iter_seek(it, from->bytes, from->len);
    enum err rc = copy_run(s, f, it, &last, e);
    if (rc == ERR_OK)
        rocksdb_iter_get_error(it, &message);
    if (message != NULL) {
        s->gaps++;
        tell(s, "base: family %s: rows behind key %s%s lost", family_name(f),
             offline_hex(key_slice(&last)), to == NULL ? " are" : " may be");
        if (to != NULL)
            tell(s, "base: family %s: going on at key %s", family_name(f),
                 offline_hex(key_slice(to)));
        rocksdb_free(message);
    }
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(o);
    return rc;
}

/* An iterator that met damage stays unusable, and one that goes from one table
 * to the next may not say that it met some (rocks_ranges.c): each gets a
 * stretch in which no table begins or ends. */
static enum err copy_family(struct salvage *s, enum family f, struct errbuf *e)
{
    struct key from = {.len = 0}, to;
    for (;;) {
        bool more = next_table(s, f, &from, &to);
        enum err rc = copy_stretch(s, f, &from, more ? &to : NULL, e);
        if (rc != ERR_OK || !more)
            return rc;
        from = to;
    }
}

static enum err rebuild(struct salvage *s, struct errbuf *e)
{
    char new[ROCKS_PATH_MAX + 48], aside[ROCKS_PATH_MAX + 48];
    with_ending(new, sizeof(new), s->base, ".new");
    enum err rc = clear(new, e);
    if (rc == ERR_OK)
        rc = rocks_base_open(&s->to, new, &for_writing, e);
    if (rc != ERR_OK)
        return rc;
    s->batch = rocksdb_writebatch_create();
    for (int f = 0; f < FAMILIES && rc == ERR_OK; f++)
        rc = copy_family(s, (enum family)f, e);
    if (rc == ERR_OK)
        rc = write_batch(s, e);
    rocksdb_writebatch_destroy(s->batch);
    if (rc == ERR_OK)
        rc = rocks_base_flush(&s->to, e);
    rocks_base_close(&s->to);
    rocks_base_close(&s->from);
    if (rc == ERR_OK)
        rc = replace(s->base, aside, sizeof(aside), e);
    if (rc == ERR_OK)
        tell(s,
             "base: %llu rows kept, %llu stretches could not be read; the old "
             "one is %s",
             (unsigned long long)s->kept, (unsigned long long)s->gaps, aside);
    return rc;
}

static enum err repair(struct salvage *s, struct errbuf *e)
{
    tell(s, "base: %s", e->text);
    tell(s, "base: repairing; what its newest tables held may be lost");
    enum err rc = rocks_repair(s->base, e);
    if (rc != ERR_OK)
        return rc;
    /* Families without a table are gone: opening for writing makes them. */
    rc = rocks_base_open(&s->from, s->base, &for_writing, e);
    rocks_base_close(&s->from);
    if (rc == ERR_OK)
        rc = open_damaged(&s->from, s->base, e);
    return rc;
}

/* A torn end that the log makes up for is cut off, as a start would do. */
static enum err open_mended(struct salvage *s, struct errbuf *e)
{
    struct manifest_cut cut;
    enum err rc = rocks_manifest_mend(s->dir, &cut, e);
    if (rc != ERR_OK)
        return rc;
    if (cut.bytes > 0)
        tell(s,
             "base: the last write to %s was torn: %llu bytes from offset %llu "
             "were cut off; the log has everything behind index %llu",
             cut.name, (unsigned long long)cut.bytes,
             (unsigned long long)cut.at, (unsigned long long)cut.applied);
    return open_damaged(&s->from, s->base, e);
}

static enum err salvage_base(struct salvage *s, struct rec_applied *applied,
                             struct errbuf *e)
{
    enum err rc = go_on_with_whole(s, s->base, e);
    if (rc == ERR_OK)
        rc = rocks_base_find(s->dir, &s->has_base, e);
    if (rc != ERR_OK || !s->has_base)
        return rc; /* what that means the log's first index says */
    rc = open_mended(s, e);
    bool repaired = rc != ERR_OK;
    if (repaired)
        rc = repair(s, e);
    if (rc != ERR_OK)
        return rc;
    /* A repair puts all tables on one level, where a read of a single row takes
     * the table with the newest row for the newest table: rows that a merge had
     * moved may read as they were before. A walk compares the rows. */
    if (repaired || !reads_well(s)) {
        rc = rebuild(s, e);
        if (rc == ERR_OK)
            rc = open_damaged(&s->from, s->base, e);
        if (rc != ERR_OK)
            return rc;
    } else {
        tell(s, "base: every row can be read");
    }
    rc = rocks_base_applied(&s->from, applied, e);
    rocks_base_close(&s->from);
    return rc;
}

/* --- the log ------------------------------------------------------------- */

struct keep {
    struct log *log;
    uint64_t first;
};

static enum err keep_record(const struct log_record *rec, void *ud,
                            struct errbuf *e)
{
    struct keep *k = ud;
    log_set_epoch(k->log, rec->epoch);
    log_append(k->log, rec->entry);
    log_submit(k->log);
    return log_written(k->log) < rec->index ? log_drain(k->log, e) : ERR_OK;
}

/* A new log behind the base, with all that the old one has for that place. */
static enum err begin_log(struct salvage *s, uint64_t first, struct errbuf *e)
{
    char new[ROCKS_PATH_MAX + 48], aside[ROCKS_PATH_MAX + 48];
    struct log_options lo = {.dir = new, .first_index = first, .sync = LOG_NO};
    struct log_found found;
    struct keep k = {0};
    uint64_t last = first - 1;
    with_ending(new, sizeof(new), s->log, ".new");
    bool old = access(s->log, F_OK) == 0;
    enum err rc = clear(new, e);
    if (rc == ERR_OK)
        rc = log_open(&k.log, &lo, &found, e);
    if (rc == ERR_OK && old)
        rc = log_rescue(s->log, first, &last, keep_record, &k, e);
    if (rc == ERR_OK)
        rc = log_drain(k.log, e);
    log_close(&k.log);
    if (rc == ERR_OK)
        rc = replace(s->log, aside, sizeof(aside), e);
    if (rc != ERR_OK)
        return rc;
    tell(s,
         "log: a new one begins at index %llu, behind what the base is sure to "
         "have",
         (unsigned long long)first);
    if (old)
        tell(s, "log: %llu records from there on were kept; the old one is %s",
             (unsigned long long)(last + 1 - first), aside);
    return ERR_OK;
}

static enum err keep_beginning(struct salvage *s, struct errbuf *e)
{
    struct log_check check;
    enum err rc = log_salvage(s->log, &check, e);
    if (rc != ERR_OK)
        return rc;
    if (check.damaged_index != 0)
        tell(s,
             "log: damage at index %llu; %llu readable records behind it "
             "were set aside",
             (unsigned long long)check.damaged_index,
             (unsigned long long)check.lost_records);
    if (check.tail_records != 0)
        tell(s, "log: %llu unfinished records at its end were dropped",
             (unsigned long long)check.tail_records);
    tell(s, "log: records %llu to %llu kept", (unsigned long long)check.first,
         (unsigned long long)check.last);
    return ERR_OK;
}

/* A new directory has no base yet, and its log begins at index 1. One that
 * begins later has let go of what was in a base. */
static void tell_no_base(const struct salvage *s, uint64_t log_first)
{
    if (log_first <= 1)
        tell(s, "base: there is none, so the log has everything");
    else
        tell(s,
             "base: there is none, and the log begins at index %llu: all that "
             "was in the base is lost",
             (unsigned long long)log_first);
}

/* The log has everything from `from` on: what the base may lack before is lost.
 */
static enum err believe_base(struct salvage *s, struct rec_applied applied,
                             uint64_t from, struct errbuf *e)
{
    struct rocks_base b;
    uint64_t sure = applied_sure(&applied);
    if (from <= sure + 1)
        return ERR_OK;
    tell(s,
         "base: taken at its word up to index %llu: it may lack changes from "
         "%llu on, which the log does not have either",
         (unsigned long long)from - 1, (unsigned long long)sure + 1);
    applied.unsure = applied.index + 1 - from;
    enum err rc = rocks_base_open(&b, s->base, &for_writing, e);
    if (rc != ERR_OK)
        return rc;
    rc = rocks_base_vouch(&b, &applied, e);
    rocks_base_close(&b);
    return rc;
}

static enum err pass(const struct log_record *rec, void *ud, struct errbuf *e)
{
    (void)rec;
    (void)ud;
    (void)e;
    return ERR_OK;
}

/* Damage behind the base's end leaves what is before it. Damage below that end
 * is no loss: the base has it, and what follows is good. What it is not sure to
 * have it is given by the log, if that can be read from there to the end of the
 * base. */
static enum err salvage_log(struct salvage *s, struct rec_applied applied,
                            struct errbuf *e)
{
    uint64_t end = applied.index, sure = applied_sure(&applied), last = 0;
    uint64_t from = end + 1; /* the log can be read from there on */
    struct log_check check = {0};
    enum err rc = go_on_with_whole(s, s->log, e);
    if (rc != ERR_OK)
        return rc;
    rc = log_verify(s->log, &check, NULL, NULL, e);
    if (rc != ERR_OK)
        tell(s, "log: %s", e->text);
    /* A folder without anything in it is no log either. */
    bool empty = rc == ERR_OK && check.segments == 0;
    bool readable = (rc == ERR_OK || rc == ERR_CORRUPT) && !empty;
    if (!s->has_base && readable)
        tell_no_base(s, check.first);
    bool meets = readable && check.last >= end && check.first <= end + 1;
    if (meets)
        from = check.first;
    else if (readable && sure < end &&
             log_rescue(s->log, sure + 1, &last, pass, NULL, e) == ERR_OK &&
             last >= end)
        from = sure + 1;
    else if (readable && check.damaged_index == 0 && s->has_base)
        tell(s, "log: the base ends at index %llu, so they do not meet",
             (unsigned long long)end);
    rc = meets ? keep_beginning(s, e) : begin_log(s, from, e);
    /* Last, because it cannot be taken back. */
    return rc == ERR_OK ? believe_base(s, applied, from, e) : rc;
}

enum err offline_salvage(const char *dir, offline_tell_fn told, void *ud,
                         struct errbuf *e)
{
    struct salvage s = {.dir = dir, .tell = told, .ud = ud};
    struct rec_applied applied = {.index = 0};
    int lock_fd = -1;
    enum err rc;
    if (strlen(dir) >= ROCKS_PATH_MAX)
        return err_set(e, ERR_IO, "the path is longer than %d bytes",
                       ROCKS_PATH_MAX - 1);
    snprintf(s.base, sizeof(s.base), "%s/base", dir);
    snprintf(s.log, sizeof(s.log), "%s/log", dir);
    if (!is_there(s.base) && !is_there(s.log))
        return err_set(e, ERR_NOTFOUND, "%s holds no data", dir);
    rc = rocks_lock(dir, &lock_fd, e);
    if (rc != ERR_OK)
        return rc;
    rc = rocks_may_salvage(dir, e);
    if (rc == ERR_OK)
        rc = salvage_base(&s, &applied, e);
    if (rc == ERR_OK)
        rc = salvage_log(&s, applied, e);
    if (rc == ERR_OK)
        rc = rocks_witness_forget(dir, e);
    if (rc == ERR_OK)
        rc = rocks_mark(dir, e);
    if (lock_fd >= 0)
        close(lock_fd);
    if (rc == ERR_OK)
        rc = offline_drop_orphans(dir, told, ud, e);
    return rc;
}
