/* Full generations go to the base as tables, past the memtables.
 *
 * What a row costs on its way into a table is, for two thirds, the memtable
 * that carries it: it is copied into a batch, sorted in among others, read back
 * and compared. But in a generation the rows of each family stand in order
 * already. So the applier writes them into tables itself, in front of the
 * batch, and RocksDB takes them in. Tables whose keys lie behind those of all
 * others, as those of new jobs do, sink to the last level by name alone.
 *
 * The happy path, for a generation that was sealed because it was full:
 *  1. For each family with many rows: tables beside the base, written, told
 *     whose family they are (rocks_stamp.c), and synced.
 *  2. RocksDB links them into base/ and names them in its MANIFEST, synced.
 *  3. The batch has all other families, and the applied index.
 *
 * So these rows are on the disk before the base says so, and a crash between 2
 * and the next flush leaves some families as they were later than the others.
 * That does no harm, by three rules:
 *  a. Every change behind the flushed index is replayed, and nothing vanishes
 * on the way (load.c: no put is fresh there), so that what the overlay says of
 *     a key hides what the base says of it too early, until the base is told
 *     the same. Whoever copies the base copies the log as far as its tables may
 *     go (rocks_backup.c).
 *  b. Only what is durable is applied, so the log has all that is in a table.
 *     Without it, in a salvage, finished jobs are rather there twice than not
 *     at all: `past` goes first.
 *  c. A family of which rows may be in a memtable gets no table until they are
 *     flushed; RocksDB would do that in the middle of taking it in. A range
 *     deletion, which must come before the rows, goes by way of the memtable.
 *
 * How it fails: a table that cannot be written is tried again with its
 * generation. Families that were taken in, but whose batch failed, are not made
 * again. RocksDB 7.8 takes itself for stopped for ever once it has met a full
 * disk (ErrorHandler::ClearBGError() leaves is_db_stopped_ as it is), and then
 * taking in a table ends in an assertion: so after any error of its own there
 * are no tables until the next start.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "store/rocks.h"

/* Each table stays open, so a quiet server, whose generations end by age, makes
 * none, and few rows get none: a full generation of 48 MiB wants 6,144. */
#define FILE_SHARE 2
#define FILE_ROWS_SHARE 8192
#define FILE_ROWS_MIN 16
#define FILE_ROW_AHEAD 256 /* bytes of a row to come: that of a small job */
#define FILE_TABLES 8      /* of a family in one generation, at most */

/* --- what goes into one table --------------------------------------------- */

/* Rows that one table may hold. */
struct stretch {
    enum family family;
    struct sortmap_pos from, to; /* to: behind the last */
};

/* Rows of a kind lie together in the base, and those of two may lie far apart:
 * deletions at the head of a backlog, puts at its end, and each bucket of what
 * is finished behind the one before. A table of both would lie across all that
 * is between them, and be merged with it. */
static uint64_t kind_of(enum family f, const char *row)
{
    uint32_t bucket = 0;
    struct slice key = change_key(row);
    if (family_has_buckets(f) && key.len >= sizeof(bucket))
        memcpy(&bucket, key.data, sizeof(bucket));
    return (uint64_t)bucket << 1 | change_is_del(row);
}

/* From `pos` to where many rows of one kind, behind many of another, begin. */
static struct stretch stretch_at(enum family f, struct sortmap_pos pos,
                                 size_t many)
{
    struct stretch s = {f, pos, {NULL, 0}};
    struct sortmap_pos run = pos;
    uint64_t kind = 0, most = 0; /* of the run, and of many rows before it */
    size_t in_run = 0;
    bool has_many = false;
    for (; pos.leaf != NULL; pos = sortmap_next(pos)) {
        sortmap_ahead(pos, CHANGE_HEAD + sizeof(uint32_t));
        uint64_t k = kind_of(f, sortmap_row(pos));
        if (in_run == 0 || k != kind) {
            run = pos;
            kind = k;
            in_run = 0;
        }
        if (++in_run != many)
            continue;
        if (has_many && most != kind) {
            s.to = run;
            break;
        }
        has_many = true;
        most = kind;
    }
    return s;
}

static bool same_pos(struct sortmap_pos a, struct sortmap_pos b)
{
    return a.leaf == b.leaf && (a.leaf == NULL || a.at == b.at);
}

/* --- a table -------------------------------------------------------------- */

static void path_of(char *to, size_t size, const char *dir, size_t i)
{
    snprintf(to, size, "%s/base.table-%zu", dir, i);
}

/* One that was taken in a moment before a crash is the same file as one of the
 * base: it must not be opened for writing, which would empty both. */
static enum err clear(const char *path, struct errbuf *e)
{
    if (unlink(path) != 0 && errno != ENOENT)
        return err_sys(e, ERR_IO, errno, "delete %s", path);
    return ERR_OK;
}

enum err rocks_file_clear(const char *dir, struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 32];
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < FILE_TABLES; i++) {
        path_of(path, sizeof(path), dir, i);
        rc = clear(path, e);
    }
    return rc;
}

static void put_rows(rocksdb_sstfilewriter_t *w, const struct stretch *s,
                     char **message)
{
    struct sortmap_pos pos = s->from;
    for (; *message == NULL && !same_pos(pos, s->to); pos = sortmap_next(pos)) {
        sortmap_ahead(pos, FILE_ROW_AHEAD);
        const char *at = sortmap_row(pos);
        struct slice key = change_key(at), value = change_value(at);
        if (change_is_del(at))
            rocksdb_sstfilewriter_delete(w, key.data, key.len, message);
        else
            rocksdb_sstfilewriter_put(w, key.data, key.len, value.data,
                                      value.len, message);
    }
}

/* RocksDB has no family for it. */
static enum err stamp(const struct rocks *r, enum family f, const char *path,
                      struct errbuf *e)
{
    uint32_t id = rocksdb_column_family_handle_get_id(r->base.cfs[f]);
    return rocks_stamp(path, id, family_name(f), e);
}

static enum err make_table(const struct rocks *r, const struct stretch *s,
                           const char *path, struct errbuf *e)
{
    char *message = NULL;
    enum err rc = clear(path, e);
    if (rc != ERR_OK)
        return rc;
    rocksdb_envoptions_t *env = rocksdb_envoptions_create();
    rocksdb_sstfilewriter_t *w = rocksdb_sstfilewriter_create(
        env, rocks_base_options_of(&r->base, s->family));
    rocksdb_sstfilewriter_open(w, path, &message);
    if (message == NULL)
        put_rows(w, s, &message);
    if (message == NULL)
        rocksdb_sstfilewriter_finish(w, &message);
    rocksdb_sstfilewriter_destroy(w);
    rocksdb_envoptions_destroy(env);
    if (message != NULL)
        return rocks_err(e, message, "write a table");
    return stamp(r, s->family, path, e);
}

/* All tables of a family, or none. */
static enum err take_in(const struct rocks *r, enum family f, size_t n,
                        struct errbuf *e)
{
    char paths[FILE_TABLES][ROCKS_PATH_MAX + 32], *message = NULL;
    const char *list[FILE_TABLES];
    for (size_t i = 0; i < n; i++) {
        path_of(paths[i], sizeof(paths[i]), r->dir, i);
        list[i] = paths[i];
    }
    rocksdb_ingestexternalfileoptions_t *o =
        rocksdb_ingestexternalfileoptions_create();
    rocksdb_ingestexternalfileoptions_set_move_files(o, 1);
    rocksdb_ingestexternalfileoptions_set_snapshot_consistency(o, 0);
    rocksdb_ingest_external_file_cf(r->base.db, r->base.cfs[f], list, n, o,
                                    &message);
    rocksdb_ingestexternalfileoptions_destroy(o);
    return message == NULL ? ERR_OK : rocks_err(e, message, "take in a table");
}

/* --- a generation ----------------------------------------------------------
 */

static size_t many_rows(const struct rocks *r)
{
    size_t many = r->o.generation_bytes / FILE_ROWS_SHARE;
    return many < FILE_ROWS_MIN ? FILE_ROWS_MIN : many;
}

static bool is_large(const struct rocks *r, const struct generation *g,
                     enum family f)
{
    return f != FAMILY_META && g->used >= r->o.generation_bytes / FILE_SHARE &&
           g->maps[f].len >= many_rows(r) && g->ranges[f].len == 0;
}

bool rocks_file_waits(const struct rocks *r, const struct generation *g)
{
    if (rocks_base_failed(&r->base))
        return false;
    for (int f = 0; f < FAMILIES; f++)
        if (r->filing.loose_until[f] > 0 && is_large(r, g, (enum family)f))
            return true;
    return false;
}

static enum err file_family(struct rocks *r, const struct generation *g,
                            enum family f, struct errbuf *e)
{
    struct sortmap_pos pos = sortmap_seek(&g->maps[f], SLICE_EMPTY);
    enum err rc = ERR_OK;
    size_t n = 0;
    while (rc == ERR_OK && pos.leaf != NULL) {
        char path[ROCKS_PATH_MAX + 32];
        struct stretch s = stretch_at(f, pos, many_rows(r));
        if (n == FILE_TABLES - 1)
            s.to = (struct sortmap_pos){NULL, 0};
        path_of(path, sizeof(path), r->dir, n++);
        rc = make_table(r, &s, path, e);
        pos = s.to;
    }
    if (rc == ERR_OK)
        rc = take_in(r, f, n, e);
    if (rc == ERR_OK)
        atomic_fetch_add(&r->filed_changes, g->maps[f].len);
    return rc;
}

enum err rocks_file_rows(struct rocks *r, const struct generation *g,
                         struct errbuf *e)
{
    struct filing *filing = &r->filing;
    if (filing->generation != g->number)
        memset(filing->filed, 0, sizeof(filing->filed));
    filing->generation = g->number;
    if (rocks_base_failed(&r->base))
        return ERR_OK;
    for (int f = FAMILIES; f-- > 0;) {
        if (filing->filed[f] || filing->loose_until[f] > 0 ||
            !is_large(r, g, (enum family)f))
            continue;
        enum err rc = file_family(r, g, (enum family)f, e);
        if (rc != ERR_OK)
            return rc;
        filing->filed[f] = true;
    }
    return ERR_OK;
}

bool rocks_file_has(const struct rocks *r, enum family f)
{
    return r->filing.filed[f];
}

void rocks_file_written(struct rocks *r, const struct generation *g)
{
    struct filing *filing = &r->filing;
    for (int f = 0; f < FAMILIES; f++)
        if (g->ranges[f].len > 0 || (g->maps[f].len > 0 && !filing->filed[f]))
            filing->loose_until[f] = g->last_index;
}

void rocks_file_flushed(struct rocks *r, uint64_t index)
{
    for (int f = 0; f < FAMILIES; f++)
        if (r->filing.loose_until[f] <= index)
            r->filing.loose_until[f] = 0;
}
