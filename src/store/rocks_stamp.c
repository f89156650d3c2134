/* A table that we wrote gets its family.
 *
 * RocksDB's C interface gives a writer of tables no family, and the table says
 * so in its properties. Nothing reads them until the MANIFEST is lost: then a
 * repair has nothing else to go by, and would put all rows of all such tables
 * into the family "default".
 *
 *     data blocks | filter | index | properties | metaindex | footer
 *                                  '----- written again -------------
 *
 * The happy path, with a table that nobody uses yet:
 *  1. Read the end, check that nothing but metaindex and footer is behind the
 *     properties.
 *  2. Write all three again, the properties with the id and name of the family.
 *  3. Sync: the writer synced only its own bytes.
 *
 * How it fails: the table is of no use then, and is made again.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "store/rocks.h"
#include "store/rocks_block.h"

#define FAMILY_ID "rocksdb.column.family.id"
#define FAMILY_NAME "rocksdb.column.family.name"

struct stamp {
    struct buf id;
    struct slice name;
};

static void put_family(struct buf *to, const struct stamp *s)
{
    table_add_entry(to, SLICE_LIT(FAMILY_ID), buf_slice(&s->id));
    table_add_entry(to, SLICE_LIT(FAMILY_NAME), s->name);
}

/* Keys must ascend: RocksDB asserts it. */
static bool put_properties(struct buf *to, struct slice old,
                           const struct stamp *s)
{
    struct slice rest, value;
    struct buf key = {0};
    bool good = table_entries(old, &rest), done = false;
    while (good && rest.len > 0) {
        good = table_entry(&rest, &key, &value);
        struct slice k = buf_slice(&key);
        if (!good || slice_eq(k, SLICE_LIT(FAMILY_ID)) ||
            slice_eq(k, SLICE_LIT(FAMILY_NAME)))
            continue;
        if (!done && slice_cmp(k, SLICE_LIT(FAMILY_NAME)) > 0) {
            put_family(to, s);
            done = true;
        }
        table_add_entry(to, k, value);
    }
    if (!done)
        put_family(to, s);
    buf_release(&key);
    return good;
}

static bool put_metaindex(struct buf *to, struct slice old,
                          struct table_handle properties)
{
    struct slice rest, value;
    struct buf key = {0}, handle = {0};
    bool good = table_entries(old, &rest);
    table_add_handle(&handle, properties);
    while (good && rest.len > 0) {
        good = table_entry(&rest, &key, &value);
        if (good && slice_eq(buf_slice(&key), SLICE_LIT(TABLE_PROPERTIES)))
            value = buf_slice(&handle);
        if (good)
            table_add_entry(to, buf_slice(&key), value);
    }
    buf_release(&handle);
    buf_release(&key);
    return good;
}

/* What is to stand from `properties` on. */
static const char *new_end(struct table *t, const struct stamp *s,
                           struct buf *end, uint64_t *from)
{
    struct table_handle properties, meta;
    const char *wrong = table_properties(t, &properties);
    if (wrong != NULL)
        return wrong;
    if (properties.at + properties.len + TABLE_TRAILER_LEN != t->meta.at ||
        t->meta.at + t->meta.len + TABLE_TRAILER_LEN != t->blocks_end)
        return "its properties are not at its end";
    if (!put_properties(end, buf_slice(&t->block), s))
        return "its properties cannot be read";
    properties.len = table_end_block(end, 0);
    meta.at = properties.at + end->len;
    if (!table_block(t, t->meta))
        return "its metaindex has a wrong checksum";
    size_t begin = end->len;
    if (!put_metaindex(end, buf_slice(&t->block), properties))
        return "its metaindex cannot be read";
    meta.len = table_end_block(end, begin);
    table_add_footer(end, meta, t->index);
    *from = properties.at;
    return NULL;
}

static enum err write_end(int fd, struct slice end, uint64_t from,
                          const char *path, struct errbuf *e)
{
    int failed = 0;
    for (size_t put = 0; failed == 0 && put < end.len;) {
        ssize_t n =
            pwrite(fd, end.data + put, end.len - put, (off_t)(from + put));
        if (n > 0)
            put += (size_t)n;
        else if (n == 0 || errno != EINTR)
            failed = n == 0 ? EIO : errno;
    }
    if (failed == 0 &&
        (ftruncate(fd, (off_t)(from + end.len)) != 0 || fdatasync(fd) != 0))
        failed = errno;
    if (failed == 0)
        return ERR_OK;
    bool full = failed == ENOSPC || failed == EDQUOT;
    return err_sys(e, full ? ERR_NOSPACE : ERR_IO, failed, "write %s", path);
}

enum err rocks_stamp(const char *path, uint32_t id, const char *name,
                     struct errbuf *e)
{
    struct stamp s = {.name = slice_str(name)};
    struct table t = {.fd = open(path, O_RDWR | O_CLOEXEC)};
    struct buf end = {0};
    uint64_t from = 0;
    if (t.fd < 0)
        return err_sys(e, ERR_IO, errno, "open %s", path);
    rocks_add_varint(&s.id, id);
    const char *wrong = new_end(&t, &s, &end, &from);
    enum err rc =
        wrong != NULL
            ? err_set(e, ERR_IO, "the table %s was not written well: %s", path,
                      wrong)
            : write_end(t.fd, buf_slice(&end), from, path, e);
    buf_release(&s.id);
    buf_release(&end);
    buf_release(&t.block);
    close(t.fd);
    return rc;
}
