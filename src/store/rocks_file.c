/* Finished jobs go to the base as tables, past the memtables.
 *
 * Of a fast life nothing reaches the base but one row of `past`, and of what
 * such a row costs there, two thirds were the memtable that carried it to a
 * table: it was copied into a batch, sorted in among others, read back and
 * compared. But in a generation these rows stand in order already, and those of
 * one bucket follow those of the generation before. So the applier writes them
 * into a table itself, in front of the batch, and RocksDB takes it in.
 *
 * The happy path, for a generation that was sealed because it was full:
 *  1. For each bucket with many rows: a table beside the base, written and
 *     synced.
 *  2. RocksDB links it into base/ and names it in its MANIFEST, synced.
 *  3. The batch has everything else, and the applied index.
 *
 * So these rows are on the disk before the base says so, and a crash between 2
 * and the next flush leaves them without the rest of their generation. That
 * does no harm, by three rules:
 *  a. Every change behind the flushed index is replayed, and none of this
 *     family vanishes (generation.h, invariant 6): what the overlay says of a
 *     key hides what the base has of it too early. Whoever copies the base
 *     copies the log as far as its tables may go (rocks_backup.c).
 *  b. Deletions are not put into tables. A table that was taken in too early
 *     adds rows and hides none, whatever becomes of the log.
 *  c. A bucket of which rows may be in a memtable gets no table until they are
 *     flushed: RocksDB would have to flush all families at once. Range
 *     deletions count for all buckets.
 *
 * How it fails: a table that cannot be written is tried again with its
 * generation. One that was taken in, but whose batch failed, is not made again.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "store/rocks.h"

/* Each table stays open, so a quiet server, whose generations end by age, makes
 * none, and few rows get none: a full generation of 32 MiB wants 4,096. */
#define FILE_SHARE 2
#define FILE_ROWS_SHARE 8192
#define FILE_ROWS_MIN 16

/* The rows of one bucket in a generation. */
struct group {
    struct sortmap_pos from, to; /* to: behind the last */
    uint32_t bucket;
    size_t rows;
};

static uint32_t bucket_of(const char *row)
{
    uint32_t bucket;
    struct slice key = change_key(row);
    ASSERT(key.len >= sizeof(bucket));
    memcpy(&bucket, key.data, sizeof(bucket));
    return __builtin_bswap32(bucket);
}

/* The rows of the bucket that begins at `pos`. A leaf whose last row is of it
 * is all of it: few rows are looked at. */
static struct group group_at(struct sortmap_pos pos)
{
    struct group g = {.from = pos, .bucket = bucket_of(sortmap_row(pos))};
    while (pos.leaf != NULL) {
        const struct sortmap_leaf *leaf = pos.leaf;
        if (bucket_of(leaf->rows[leaf->len - 1]) == g.bucket) {
            g.rows += leaf->len - pos.at;
            pos.at = leaf->len - 1;
        } else if (bucket_of(sortmap_row(pos)) == g.bucket) {
            g.rows++;
        } else {
            break;
        }
        pos = sortmap_next(pos);
    }
    g.to = pos;
    return g;
}

static bool same_pos(struct sortmap_pos a, struct sortmap_pos b)
{
    return a.leaf == b.leaf && (a.leaf == NULL || a.at == b.at);
}

/* --- which ---------------------------------------------------------------- */

static bool filed(const struct filing *f, uint32_t bucket)
{
    for (size_t i = 0; i < f->tables; i++)
        if (f->buckets[i] == bucket)
            return true;
    return false;
}

/* Rows of it may be in a memtable: rule c. */
static bool in_memtable(const struct filing *f, uint32_t bucket)
{
    if (f->all_until > 0)
        return true;
    for (size_t i = 0; i < f->loose_n; i++)
        if (f->loose[i].bucket == bucket)
            return true;
    return false;
}

static void note_loose(struct filing *f, uint32_t bucket, uint64_t index)
{
    for (size_t i = 0; i < f->loose_n; i++)
        if (f->loose[i].bucket == bucket) {
            f->loose[i].until = index;
            return;
        }
    if (f->loose_n == ARRAY_LEN(f->loose))
        f->all_until = index;
    else
        f->loose[f->loose_n++] = (struct loose){bucket, index};
}

void rocks_file_flushed(struct filing *f, uint64_t index)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->loose_n; i++)
        if (f->loose[i].until > index)
            f->loose[kept++] = f->loose[i];
    f->loose_n = kept;
    if (f->all_until <= index)
        f->all_until = 0;
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
    for (size_t i = 0; rc == ERR_OK && i < FILING_TABLES; i++) {
        path_of(path, sizeof(path), dir, i);
        rc = clear(path, e);
    }
    return rc;
}

static void put_rows(struct filing *f, rocksdb_sstfilewriter_t *w,
                     const struct group *g, char **message)
{
    struct sortmap_pos pos = g->from;
    for (; *message == NULL && !same_pos(pos, g->to); pos = sortmap_next(pos)) {
        const char *at = sortmap_row(pos);
        struct slice key = change_key(at), value = change_value(at);
        if (change_is_del(at))
            buf_add(&f->deletions, &at, sizeof(at));
        else
            rocksdb_sstfilewriter_put(w, key.data, key.len, value.data,
                                      value.len, message);
    }
}

static enum err make_table(struct rocks *r, const struct group *g,
                           const char *path, struct errbuf *e)
{
    char *message = NULL;
    enum err rc = clear(path, e);
    if (rc != ERR_OK)
        return rc;
    rocksdb_envoptions_t *env = rocksdb_envoptions_create();
    rocksdb_sstfilewriter_t *w =
        rocksdb_sstfilewriter_create(env, r->base.past_options);
    rocksdb_sstfilewriter_open(w, path, &message);
    if (message == NULL)
        put_rows(&r->filing, w, g, &message);
    if (message == NULL)
        rocksdb_sstfilewriter_finish(w, &message);
    rocksdb_sstfilewriter_destroy(w);
    rocksdb_envoptions_destroy(env);
    return message == NULL ? ERR_OK : rocks_err(e, message, "write a table");
}

static enum err take_in(struct rocks *r, struct errbuf *e)
{
    char paths[FILING_TABLES][ROCKS_PATH_MAX + 32], *message = NULL;
    const char *list[FILING_TABLES];
    size_t n = r->filing.tables;
    for (size_t i = 0; i < n; i++) {
        path_of(paths[i], sizeof(paths[i]), r->dir, i);
        list[i] = paths[i];
    }
    rocksdb_ingestexternalfileoptions_t *o =
        rocksdb_ingestexternalfileoptions_create();
    rocksdb_ingestexternalfileoptions_set_move_files(o, 1);
    rocksdb_ingestexternalfileoptions_set_snapshot_consistency(o, 0);
    rocksdb_ingest_external_file_cf(r->base.db, r->base.cfs[FAMILY_PAST], list,
                                    n, o, &message);
    rocksdb_ingestexternalfileoptions_destroy(o);
    return message == NULL ? ERR_OK : rocks_err(e, message, "take in a table");
}

/* --- a generation ----------------------------------------------------------
 */

static bool worth_tables(const struct rocks *r, const struct generation *g,
                         size_t rows)
{
    size_t least = r->o.generation_bytes / FILE_ROWS_SHARE;
    return g->used >= r->o.generation_bytes / FILE_SHARE &&
           rows >= (least < FILE_ROWS_MIN ? FILE_ROWS_MIN : least);
}

enum err rocks_file_rows(struct rocks *r, const struct generation *g,
                         struct errbuf *e)
{
    const struct sortmap *past = &g->maps[FAMILY_PAST];
    struct filing *f = &r->filing;
    enum err rc = ERR_OK;
    size_t rows = 0;
    if (f->generation == g->number)
        return ERR_OK; /* they were taken in, and then the batch failed */
    f->tables = 0;
    buf_clear(&f->deletions);
    if (g->ranges[FAMILY_PAST].len > 0 || !worth_tables(r, g, past->len))
        return ERR_OK;
    struct sortmap_pos pos = sortmap_seek(past, SLICE_EMPTY);
    while (rc == ERR_OK && pos.leaf != NULL && f->tables < FILING_TABLES) {
        struct group group = group_at(pos);
        pos = group.to;
        if (!worth_tables(r, g, group.rows) || in_memtable(f, group.bucket))
            continue;
        char path[ROCKS_PATH_MAX + 32];
        path_of(path, sizeof(path), r->dir, f->tables);
        rc = make_table(r, &group, path, e);
        f->buckets[f->tables++] = group.bucket;
        rows += group.rows;
    }
    if (rc == ERR_OK && f->tables > 0)
        rc = take_in(r, e);
    if (rc != ERR_OK)
        return rc;
    f->generation = g->number;
    atomic_fetch_add(&r->filed_changes,
                     rows - f->deletions.len / sizeof(const char *));
    return ERR_OK;
}

void rocks_file_rest(struct rocks *r, const struct generation *g)
{
    struct filing *f = &r->filing;
    struct sortmap_pos pos = sortmap_seek(&g->maps[FAMILY_PAST], SLICE_EMPTY);
    if (g->ranges[FAMILY_PAST].len > 0)
        f->all_until = g->last_index;
    while (pos.leaf != NULL) {
        struct group group = group_at(pos);
        pos = group.to;
        if (filed(f, group.bucket))
            continue;
        note_loose(f, group.bucket, g->last_index);
        for (pos = group.from; !same_pos(pos, group.to);
             pos = sortmap_next(pos))
            rocks_batch_row(r, FAMILY_PAST, sortmap_row(pos));
    }
    for (size_t i = 0; i < f->deletions.len; i += sizeof(const char *)) {
        const char *at;
        memcpy(&at, f->deletions.data + i, sizeof(at));
        note_loose(f, bucket_of(at), g->last_index);
        rocks_batch_row(r, FAMILY_PAST, at);
    }
}
