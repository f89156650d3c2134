#include "store/offline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/key.h"
#include "store/records.h"
#include "store/rocks.h"
#include "util/alloc.h"

#define CACHE_BYTES ((uint64_t)64 << 20)

const char *offline_hex(struct slice s)
{
    static char text[2 * 32 + 4];
    size_t n = s.len < 32 ? s.len : 32;
    for (size_t i = 0; i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned char)s.data[i]);
    snprintf(text + 2 * n, 4, "%s", s.len > 32 ? "..." : "");
    return text;
}

static bool is_there(const char *dir, const char *name)
{
    char path[ROCKS_PATH_MAX + 32];
    struct stat st;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return stat(path, &st) == 0;
}

enum err offline_open(struct offline **out, const char *dir, struct errbuf *e)
{
    const struct rocks_base_options bo = {CACHE_BYTES, (uint64_t)1 << 20, true};
    char path[ROCKS_PATH_MAX + 16];
    bool found = false;
    enum err rc;

    if (strlen(dir) >= ROCKS_PATH_MAX)
        return err_set(e, ERR_IO, "the path is longer than %d bytes",
                       ROCKS_PATH_MAX - 1);
    if (!is_there(dir, "belfry") && !is_there(dir, "base"))
        return err_set(e, ERR_NOTFOUND, "%s holds no data", dir);
    struct offline *o = NEW(struct offline);
    struct rocks *r = &o->rocks;
    snprintf(r->dir, sizeof(r->dir), "%s", dir);
    rc = rocks_claim(dir, &r->lock_fd, e);
    if (rc != ERR_OK)
        goto fail;
    snprintf(path, sizeof(path), "%s/base", dir);
    rc = rocks_base_find(dir, &found, e);
    if (rc == ERR_OK && found)
        rc = rocks_manifest_look(dir, &r->base, &r->cut, e);
    if (rc == ERR_OK && found && r->cut.bytes == 0)
        rc = rocks_base_open(&r->base, path, &bo, e);
    if (rc == ERR_OK && found)
        rc = rocks_base_applied(&r->base, &o->applied, e);
    if (rc != ERR_OK) {
        /* What cannot be opened although it is there is damaged. */
        rc = rc == ERR_IO ? ERR_CORRUPT : rc;
        goto fail;
    }
    atomic_store(&r->has_base, found);
    *out = o;
    return ERR_OK;

fail:
    offline_close(&o);
    return rc;
}

void offline_close(struct offline **op)
{
    struct offline *o = *op;
    if (o == NULL)
        return;
    rocks_base_close(&o->rocks.base);
    if (o->rocks.cut.bytes > 0)
        rocks_manifest_forget(o->rocks.dir);
    if (o->rocks.lock_fd >= 0)
        close(o->rocks.lock_fd);
    FREE(op);
}

const struct manifest_cut *offline_cut(const struct offline *o)
{
    return &o->rocks.cut;
}

uint64_t offline_applied(const struct offline *o)
{
    return applied_sure(&o->applied);
}

enum err offline_rows(struct offline *o, enum family f, offline_row_fn fn,
                      void *ud, struct errbuf *e)
{
    const struct rocks_base *base = rocks_base_of(&o->rocks);
    if (base == NULL)
        return ERR_OK;
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(
        base->db, rocks_ranges_options(base, f), base->cfs[f]);
    struct key last = {.len = 0};
    char *message = NULL;
    enum err rc = ERR_OK;
    rocksdb_iter_seek_to_first(it);
    for (; rc == ERR_OK && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        struct slice key, value;
        key.data = rocksdb_iter_key(it, &key.len);
        value.data = rocksdb_iter_value(it, &value.len);
        if (key.len <= sizeof(last.bytes)) {
            memcpy(last.bytes, key.data, key.len);
            last.len = (uint16_t)key.len;
        }
        rc = fn(f, key, value, ud, e);
    }
    if (rc == ERR_OK)
        rocksdb_iter_get_error(it, &message);
    rocksdb_iter_destroy(it);
    if (message != NULL) {
        rocks_err(e, message, "cannot be read");
        err_wrap(e, "family %s, behind key %s", family_name(f),
                 offline_hex(key_slice(&last)));
        return ERR_CORRUPT;
    }
    if (rc == ERR_OK && atomic_load(&base->ranged[f]))
        rc = rocks_ranges_check(base, f, e);
    return rc;
}

/* --- verify -------------------------------------------------------------- */

static enum err meta_row(struct slice key, struct slice value,
                         struct offline_count *n)
{
    struct rec_applied applied;
    struct rec_format format;
    struct rec_start start;
    if (slice_eq(key, SLICE_LIT("applied")))
        return rec_applied_decode(&applied, value) ? ERR_OK : ERR_CORRUPT;
    if (slice_eq(key, SLICE_LIT("format")))
        return rec_format_decode(&format, value) ? ERR_OK : ERR_CORRUPT;
    if (slice_eq(key, SLICE_LIT("start"))) {
        if (!rec_start_decode(&start, value))
            return ERR_CORRUPT;
        n->start_number = start.number;
    }
    return ERR_OK;
}

static enum err verify_row(enum family f, struct slice key, struct slice value,
                           void *ud, struct errbuf *e)
{
    struct offline_count *n = ud;
    n->rows[f]++;
    n->bytes += key.len + value.len;
    if (!key_valid(f, key))
        return err_set(e, ERR_CORRUPT, "family %s: %s is not a key of it",
                       family_name(f), offline_hex(key));
    if (value.len == 0)
        return err_set(e, ERR_CORRUPT, "family %s, key %s: an empty value",
                       family_name(f), offline_hex(key));
    if (f == FAMILY_META && meta_row(key, value, n) != ERR_OK)
        return err_set(e, ERR_CORRUPT, "family meta, key %.*s: cannot be read",
                       SLICE_FMT(key));
    return ERR_OK;
}

static enum err verify_entry(const struct log_record *rec, void *ud,
                             struct errbuf *e)
{
    struct offline_count *n = ud;
    struct entry_reader r;
    struct change c;
    enum err rc = entry_open(&r, rec->entry, e);
    while (rc == ERR_OK && (rc = entry_next(&r, &c, e)) == ERR_OK) {
        n->changes++;
        if (c.op != CHANGE_EVENT && c.op != CHANGE_RANGE &&
            !key_valid(c.family, c.key))
            rc = err_set(e, ERR_CORRUPT, "family %s: %s is not a key of it",
                         family_name(c.family), offline_hex(c.key));
        else if (c.family == FAMILY_META && c.op <= CHANGE_PUT_FRESH &&
                 meta_row(c.key, c.value, n) != ERR_OK)
            rc = err_set(e, ERR_CORRUPT, "family meta, key %.*s",
                         SLICE_FMT(c.key));
    }
    if (rc == ERR_EMPTY)
        return ERR_OK;
    err_wrap(e, "record %llu", (unsigned long long)rec->index);
    return rc;
}

static enum err verify_log(const char *dir, uint64_t base_end,
                           struct offline_count *n, struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 16];
    struct log_check check = {0};
    struct mark witness;
    snprintf(path, sizeof(path), "%s/log", dir);
    enum err rc = log_verify(path, &check, verify_entry, n, e);
    n->log_first = check.first;
    n->log_last = check.last;
    n->log_records = check.records;
    n->tail_records = check.tail_records;
    if (rc != ERR_OK)
        return rc;
    if (check.last < base_end)
        return err_set(e, ERR_CORRUPT,
                       "the base comes up to index %llu, but the log ends at "
                       "%llu: it was deleted or rolled back",
                       (unsigned long long)base_end,
                       (unsigned long long)check.last);
    rc = rocks_witness_read(dir, &witness, e);
    if (rc == ERR_OK)
        rc = rocks_witness_check(dir, &witness, check.last, e);
    if (rc != ERR_OK)
        return rc;
    if (check.first > n->applied + 1)
        return err_set(e, ERR_CORRUPT,
                       "the base holds everything up to index %llu, but the "
                       "log begins at %llu",
                       (unsigned long long)n->applied,
                       (unsigned long long)check.first);
    n->replay = check.last - n->applied;
    return ERR_OK;
}

enum err offline_verify(const char *dir, struct offline_count *out,
                        struct errbuf *e)
{
    struct offline *o = NULL;
    enum err rc;
    memset(out, 0, sizeof(*out));
    rc = offline_open(&o, dir, e);
    if (rc != ERR_OK)
        return rc;
    out->applied = applied_sure(&o->applied);
    out->cut = o->rocks.cut;
    for (int f = 0; f < FAMILIES && rc == ERR_OK; f++)
        rc = offline_rows(o, (enum family)f, verify_row, out, e);
    if (rc == ERR_OK)
        rc = verify_log(dir, o->applied.index, out, e);
    offline_close(&o);
    return rc;
}

/* --- copy ---------------------------------------------------------------- */

static enum err copy_file(const char *from, const char *to, struct errbuf *e)
{
    static char block[1 << 16];
    int in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
    enum err rc = ERR_OK;
    ssize_t n;
    if (in < 0)
        return err_sys(e, ERR_IO, errno, "open %s", from);
    out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    if (out < 0) {
        rc = err_sys(e, ERR_IO, errno, "create %s", to);
        goto done;
    }
    while ((n = read(in, block, sizeof(block))) > 0) {
        for (ssize_t at = 0, put; at < n; at += put) {
            put = write(out, block + at, (size_t)(n - at));
            if (put < 0) {
                rc = err_sys(e, ERR_IO, errno, "write %s", to);
                goto done;
            }
        }
    }
    if (n < 0)
        rc = err_sys(e, ERR_IO, errno, "read %s", from);
    else if (fsync(out) != 0)
        rc = err_sys(e, ERR_IO, errno, "sync %s", to);

done:
    close(in);
    if (out >= 0)
        close(out);
    return rc;
}

static enum err sync_dir(const char *dir, struct errbuf *e)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0) {
        int failed = errno;
        if (fd >= 0)
            close(fd);
        return err_sys(e, ERR_IO, failed, "sync %s", dir);
    }
    close(fd);
    return ERR_OK;
}

static bool is_lock(const char *name)
{
    return strcmp(name, "lock") == 0 || strcmp(name, "LOCK") == 0;
}

/* The plain files of one directory. */
static enum err copy_dir(const char *from, const char *to, struct errbuf *e)
{
    char a[ROCKS_PATH_MAX + 300], b[ROCKS_PATH_MAX + 300];
    enum err rc = ERR_OK;
    DIR *d = opendir(from);
    if (d == NULL)
        return err_sys(e, ERR_IO, errno, "open %s", from);
    if (mkdir(to, 0750) != 0) {
        rc = err_sys(e, ERR_IO, errno, "create %s", to);
        goto done;
    }
    for (struct dirent *f; rc == ERR_OK && (f = readdir(d)) != NULL;) {
        struct stat st;
        snprintf(a, sizeof(a), "%s/%s", from, f->d_name);
        snprintf(b, sizeof(b), "%s/%s", to, f->d_name);
        if (!is_lock(f->d_name) && stat(a, &st) == 0 && S_ISREG(st.st_mode))
            rc = copy_file(a, b, e);
    }
    if (rc == ERR_OK)
        rc = sync_dir(to, e);

done:
    closedir(d);
    return rc;
}

enum err offline_copy(const char *from, const char *to, struct errbuf *e)
{
    static const char *const parts[] = {"log", "base"};
    char a[ROCKS_PATH_MAX + 16], b[ROCKS_PATH_MAX + 16];
    if (strlen(from) >= ROCKS_PATH_MAX || strlen(to) >= ROCKS_PATH_MAX)
        return err_set(e, ERR_IO, "a path is longer than %d bytes",
                       ROCKS_PATH_MAX - 1);
    if (mkdir(to, 0750) != 0)
        return err_sys(e, errno == EEXIST ? ERR_EXISTS : ERR_IO, errno,
                       "create %s", to);
    bool has_base;
    enum err rc = rocks_base_find(from, &has_base, e);
    for (size_t i = 0; rc == ERR_OK && i < (has_base ? 2 : 1); i++) {
        snprintf(a, sizeof(a), "%s/%s", from, parts[i]);
        snprintf(b, sizeof(b), "%s/%s", to, parts[i]);
        rc = copy_dir(a, b, e);
    }
    if (rc == ERR_OK)
        rc = rocks_mark_like(to, from, e); /* for who wrote it, too */
    if (rc != ERR_OK)
        rocks_discard(to);
    return rc;
}
