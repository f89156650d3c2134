/* RocksDB's repair, and the tables that it would leave out.
 *
 * Without a MANIFEST, the repair finds out from each table whose rows it has
 * and puts all of them on level 0, where the sequence number of a row says
 * which of two is the newer. A table that we wrote (rocks_file.c) has one
 * number for all its rows: RocksDB gave it as it took the table in, if there
 * were other rows between, and noted it in the MANIFEST and in the table's
 * properties. The repair refuses a table whose number is not zero, and one that
 * says zero loses its place.
 *
 * The happy path:
 *  1. Note the numbers of all tables in base/REPAIR.
 *  2. Write zero into the tables.
 *  3. RocksDB's repair, which writes a new MANIFEST.
 *  4. Put the numbers into that: the same records, with other numbers.
 *  5. Write them into the tables again, for the next time.
 *  6. Delete base/REPAIR.
 *
 * How it fails: while base/REPAIR is there, the base cannot be opened, and the
 * next repair begins with the numbers that it has. A backup may share the
 * tables (hard links): its own MANIFEST has their numbers, and a table that
 * says zero is as good as one that says the same.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/rocks.h"
#include "store/rocks_block.h"
#include "util/alloc.h"
#include "util/file.h"

#define NOTE "REPAIR"

struct numbered {
    uint64_t table, sequence;
    bool placed; /* in the new MANIFEST */
};

struct repair {
    const char *base;
    struct numbered *tables;
    size_t len, cap;
};

static void path_in(const struct repair *r, char *to, size_t size,
                    const char *name)
{
    snprintf(to, size, "%s/%s", r->base, name);
}

bool rocks_repair_begun(const char *base)
{
    char path[ROCKS_PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/" NOTE, base);
    return access(path, F_OK) == 0;
}

static struct numbered *find(const struct repair *r, uint64_t table)
{
    for (size_t i = 0; i < r->len; i++)
        if (r->tables[i].table == table)
            return &r->tables[i];
    return NULL;
}

static void remember(struct repair *r, uint64_t table, uint64_t sequence)
{
    struct numbered *n = find(r, table);
    if (n == NULL) {
        if (r->len == r->cap) {
            r->cap = r->cap == 0 ? 64 : r->cap * 2;
            r->tables = mem_realloc(r->tables, r->cap * sizeof(*r->tables));
        }
        n = &r->tables[r->len++];
    }
    *n = (struct numbered){table, sequence, false};
}

static uint64_t sequence_of(void *ud, uint64_t table)
{
    struct numbered *n = find(ud, table);
    if (n == NULL)
        return 0;
    n->placed = true;
    return n->sequence;
}

/* --- tables ----------------------------------------------------------------
 */

/* Where its sequence number stands; false: it has none, or is damaged. */
static bool find_sequence(struct table *t, uint64_t *at)
{
    struct table_handle properties;
    struct slice rest, value;
    struct buf key = {0};
    bool found = false;
    if (table_properties(t, &properties) != NULL ||
        !table_entries(buf_slice(&t->block), &rest))
        return false;
    while (!found && rest.len > 0 && table_entry(&rest, &key, &value))
        found = slice_eq(buf_slice(&key), SLICE_LIT(TABLE_SEQUENCE)) &&
                value.len == 8;
    if (found)
        *at = properties.at + (uint64_t)(value.data - t->block.data);
    buf_release(&key);
    return found;
}

/* With `set`, write *sequence into the table, else ask what it is. A table
 * without one, or that cannot be read, is left as it is, and 0. */
static enum err exchange(const struct repair *r, const char *name, bool set,
                         uint64_t *sequence, struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 320], bytes[8];
    struct table t = {.fd = -1};
    uint64_t at;
    enum err rc = ERR_OK;
    path_in(r, path, sizeof(path), name);
    t.fd = open(path, O_RDWR | O_CLOEXEC);
    if (!set)
        *sequence = 0;
    if (t.fd < 0)
        return errno == ENOENT ? ERR_OK
                               : err_sys(e, ERR_IO, errno, "open %s", path);
    if (find_sequence(&t, &at)) {
        for (int i = 0; i < 8; i++)
            bytes[i] = (char)(*sequence >> 8 * i);
        if (set &&
            (pwrite(t.fd, bytes, 8, (off_t)at) != 8 || fdatasync(t.fd) != 0))
            rc = err_sys(e, ERR_IO, errno, "write %s", path);
        else if (!set && pread(t.fd, bytes, 8, (off_t)at) != 8)
            rc = err_sys(e, ERR_IO, errno, "read %s", path);
        else if (!set)
            *sequence = rocks_little(bytes, 8);
    }
    buf_release(&t.block);
    close(t.fd);
    return rc;
}

static void name_of(char *to, size_t size, uint64_t table)
{
    snprintf(to, size, "%06" PRIu64 ".sst", table);
}

static enum err set_all(const struct repair *r, bool zero, struct errbuf *e)
{
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < r->len; i++) {
        char name[32];
        uint64_t sequence = zero ? 0 : r->tables[i].sequence;
        name_of(name, sizeof(name), r->tables[i].table);
        rc = exchange(r, name, true, &sequence, e);
    }
    return rc;
}

static enum err ask_all(struct repair *r, struct errbuf *e)
{
    enum err rc = ERR_OK;
    DIR *d = opendir(r->base);
    if (d == NULL)
        return err_sys(e, ERR_IO, errno, "open %s", r->base);
    for (struct dirent *f; rc == ERR_OK && (f = readdir(d)) != NULL;) {
        uint64_t sequence;
        if (!rocks_is_table(f->d_name))
            continue;
        rc = exchange(r, f->d_name, false, &sequence, e);
        if (rc == ERR_OK && sequence != 0)
            remember(r, strtoull(f->d_name, NULL, 10), sequence);
    }
    closedir(d);
    return rc;
}

/* --- the note --------------------------------------------------------------
 */

/* A line for each table: its number, and its sequence number. */
static enum err read_note(struct repair *r, struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 64];
    struct buf text = {0};
    path_in(r, path, sizeof(path), NOTE);
    if (!rocks_repair_begun(r->base))
        return ERR_OK;
    enum err rc = file_read(path, SIZE_MAX - 1, &text, e);
    const char *at = buf_cstr(&text);
    for (char *end; rc == ERR_OK && *at != '\0'; at = end) {
        uint64_t table = strtoull(at, &end, 10);
        uint64_t sequence = strtoull(end, &end, 10);
        if (end == at || *end++ != '\n')
            rc = err_set(e, ERR_CORRUPT, "%s cannot be read", path);
        else
            remember(r, table, sequence);
    }
    buf_release(&text);
    return rc;
}

static enum err write_note(const struct repair *r, struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 64];
    struct buf text = {0};
    path_in(r, path, sizeof(path), NOTE);
    for (size_t i = 0; i < r->len; i++)
        buf_printf(&text, "%" PRIu64 " %" PRIu64 "\n", r->tables[i].table,
                   r->tables[i].sequence);
    enum err rc = file_replace(path, buf_slice(&text), e);
    buf_release(&text);
    return rc;
}

static enum err delete_note(const struct repair *r, struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 64];
    path_in(r, path, sizeof(path), NOTE);
    if (unlink(path) != 0)
        return err_sys(e, ERR_IO, errno, "delete %s", path);
    return file_sync_dir_of(path, e);
}

/* --- the MANIFEST ----------------------------------------------------------
 */

static bool number_records(struct repair *r, struct slice file, struct buf *out)
{
    struct buf old = {0}, new = {0};
    struct manifest_scan scan;
    struct edit_sequences s = {sequence_of, r, 0};
    size_t at = 0;
    bool good = true;
    for (size_t i = 0; i < r->len; i++)
        if (s.last < r->tables[i].sequence)
            s.last = r->tables[i].sequence;
    manifest_scan(file, &scan);
    while (good && manifest_next(file, &at, &old)) {
        buf_clear(&new);
        good = rocks_edit_number(buf_slice(&old), &s, &new);
        manifest_add(out, buf_slice(&new));
    }
    buf_release(&old);
    buf_release(&new);
    return good && scan.whole;
}

/* Tables that the repair found damaged are not there any more. */
static bool all_placed(const struct repair *r)
{
    for (size_t i = 0; i < r->len; i++) {
        char path[ROCKS_PATH_MAX + 64], name[32];
        name_of(name, sizeof(name), r->tables[i].table);
        path_in(r, path, sizeof(path), name);
        if (!r->tables[i].placed && access(path, F_OK) == 0)
            return false;
    }
    return true;
}

static enum err number_manifest(struct repair *r, struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 64], name[32];
    struct buf old = {0}, new = {0};
    manifest_name(r->base, name, sizeof(name));
    path_in(r, path, sizeof(path), name);
    enum err rc = file_read(path, SIZE_MAX - 1, &old, e);
    if (rc == ERR_OK &&
        (!number_records(r, buf_slice(&old), &new) || !all_placed(r)))
        rc = err_set(e, ERR_CORRUPT,
                     "%s, which the repair wrote, cannot be read", path);
    if (rc == ERR_OK)
        rc = file_replace(path, buf_slice(&new), e);
    buf_release(&old);
    buf_release(&new);
    return rc;
}

/* --- all of it -------------------------------------------------------------
 */

static enum err repair_with_zeroes(const char *base, struct errbuf *e)
{
    char *message = NULL;
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_options_set_info_log_level(o, 4);
    rocksdb_options_set_create_missing_column_families(o, 1);
    rocksdb_repair_db(o, base, &message);
    rocksdb_options_destroy(o);
    return message == NULL ? ERR_OK : rocks_err(e, message, "repair");
}

enum err rocks_repair(const char *base, struct errbuf *e)
{
    struct repair r = {.base = base};
    enum err rc = read_note(&r, e);
    if (rc == ERR_OK)
        rc = ask_all(&r, e);
    if (rc == ERR_OK)
        rc = write_note(&r, e);
    if (rc == ERR_OK)
        rc = set_all(&r, true, e);
    if (rc == ERR_OK)
        rc = repair_with_zeroes(base, e);
    if (rc == ERR_OK && r.len > 0)
        rc = number_manifest(&r, e);
    if (rc == ERR_OK)
        rc = set_all(&r, false, e);
    if (rc == ERR_OK)
        rc = delete_note(&r, e);
    mem_free(r.tables);
    return rc;
}
