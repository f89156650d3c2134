/* Which tables of a base do not hold?
 *
 * Opening RocksDB opens all its tables, and of one that is damaged it may say
 * no more than "properties unsorted in file MANIFEST-000145". Whoever has to
 * mend the disk or fetch a backup wants the file, so once opening has failed
 * we look for ourselves at what opening reads of a table:
 *
 *     data blocks | meta blocks | metaindex | index | footer
 *
 * The footer (53 bytes) says where metaindex and index are, the metaindex where
 * the other meta blocks are. Behind each block stand one byte that says how it
 * is compressed and four of checksum, over the block and that byte. Data
 * blocks are read later, with their checksums verified, by whoever needs them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/rocks.h"
#include "util/buf.h"
#include "util/hash.h"

#define FOOTER_LEN 53
#define TRAILER_LEN 5
#define CHECKSUM_XXH3 4
#define FORMAT_VERSION 5
#define MAGIC 0x88e241b785f4cff7u
#define BLOCK_MAX ((uint64_t)1 << 28)
/* What a sentence has room for; the rest is counted. */
#define NAMES_MAX 4

struct handle {
    uint64_t at, len;
};

struct table {
    int fd;
    uint64_t blocks_end; /* where the footer begins */
    struct buf block;
};

static bool take_handle(struct slice *from, struct handle *h)
{
    return rocks_varint(from, &h->at) && rocks_varint(from, &h->len);
}

static bool read_at(struct table *t, uint64_t at, size_t len)
{
    buf_clear(&t->block);
    char *to = buf_room(&t->block, len);
    for (size_t got = 0; got < len;) {
        ssize_t n = pread(t->fd, to + got, len - got, (off_t)(at + got));
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    t->block.len = len;
    return true;
}

/* The last byte is mixed in behind the hash, so that it need not stand behind
 * the block in memory when RocksDB writes. */
static uint32_t checksum(struct slice block, unsigned char last)
{
    return (uint32_t)hash64(block) ^ last * 0x6b9083d9u;
}

/* A table that we made (rocks_file.c) may get a sequence number as RocksDB
 * takes it in, written into its properties. The checksum is that without it. */
static void clear_sequence(struct buf *block)
{
    static const char name[] = "external_sst_file.global_seqno";
    char *at = memmem(block->data, block->len, name, sizeof(name) - 1);
    size_t behind =
        at == NULL ? 0
                   : block->len - (size_t)(at - block->data) - sizeof(name) + 1;
    if (behind >= 8)
        memset(at + sizeof(name) - 1, 0, 8);
}

/* Read a block; what it says is then in t->block. */
static bool block_holds(struct table *t, struct handle h)
{
    if (h.len > BLOCK_MAX || h.at > t->blocks_end ||
        h.len + TRAILER_LEN > t->blocks_end - h.at)
        return false;
    if (!read_at(t, h.at, (size_t)h.len + TRAILER_LEN))
        return false;
    const char *trailer = t->block.data + h.len;
    t->block.len = (size_t)h.len;
    clear_sequence(&t->block);
    return checksum(buf_slice(&t->block), (unsigned char)trailer[0]) ==
           rocks_little(trailer + 1, 4);
}

/* The next entry of a block whose keys are written in full. */
static bool next_value(struct slice *rest, struct slice *value)
{
    uint64_t shared, own, len;
    if (!rocks_varint(rest, &shared) || !rocks_varint(rest, &own) ||
        !rocks_varint(rest, &len) || own > rest->len || len > rest->len - own)
        return false;
    *value = slice_of(rest->data + own, (size_t)len);
    rest->data += own + len;
    rest->len -= (size_t)(own + len);
    return true;
}

/* The blocks that the metaindex names: properties, filter, ... */
static const char *meta_blocks_hold(struct table *t)
{
    struct buf index = t->block;
    struct slice rest = buf_slice(&index), value;
    const char *wrong = NULL;
    if (rest.len < 4)
        return "its metaindex is too short";
    /* At its end: where keys are written in full, and how many such places. */
    uint64_t restarts = rocks_little(rest.data + rest.len - 4, 4) & 0x7fffffff;
    if (restarts > (rest.len - 4) / 4)
        return "its metaindex cannot be read";
    rest.len -= 4 + 4 * (size_t)restarts;
    buf_init(&t->block);
    while (rest.len > 0 && wrong == NULL) {
        struct handle h;
        if (!next_value(&rest, &value) || !take_handle(&value, &h))
            wrong = "its metaindex cannot be read";
        else if (!block_holds(t, h))
            wrong = "a meta block has a wrong checksum";
    }
    buf_release(&index);
    return wrong;
}

/* What is wrong with the table, or NULL. */
static const char *table_fault(struct table *t)
{
    struct handle meta, index;
    struct stat st;
    if (fstat(t->fd, &st) != 0 || st.st_size < FOOTER_LEN)
        return "it is cut off";
    t->blocks_end = (uint64_t)st.st_size - FOOTER_LEN;
    if (!read_at(t, t->blocks_end, FOOTER_LEN))
        return "it cannot be read";
    const char *footer = t->block.data;
    struct slice handles = slice_of(footer + 1, FOOTER_LEN - 13);
    if (rocks_little(footer + FOOTER_LEN - 8, 8) != MAGIC ||
        rocks_little(footer + FOOTER_LEN - 12, 4) != FORMAT_VERSION ||
        footer[0] != CHECKSUM_XXH3 || !take_handle(&handles, &meta) ||
        !take_handle(&handles, &index))
        return "its end is not that of a table";
    if (!block_holds(t, index))
        return "its index has a wrong checksum";
    if (!block_holds(t, meta))
        return "its metaindex has a wrong checksum";
    return meta_blocks_hold(t);
}

bool rocks_is_table(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && strcmp(name + n - 4, ".sst") == 0;
}

void rocks_blame_tables(const char *path, struct errbuf *e)
{
    struct buf found = {0};
    size_t n = 0;
    DIR *d = opendir(path);
    if (d == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(d)) != NULL;) {
        if (!rocks_is_table(entry->d_name))
            continue;
        struct table t = {
            .fd = openat(dirfd(d), entry->d_name, O_RDONLY | O_CLOEXEC)};
        const char *fault = t.fd < 0 ? "it cannot be opened" : table_fault(&t);
        buf_release(&t.block);
        if (t.fd >= 0)
            close(t.fd);
        if (fault != NULL && n++ < NAMES_MAX)
            buf_printf(&found, "%s%s (%s)", n > 1 ? ", " : "", entry->d_name,
                       fault);
    }
    closedir(d);
    if (n == 0)
        err_wrap(e, "no table of the base is damaged where opening reads it; "
                    "RocksDB says");
    else if (n > NAMES_MAX)
        err_wrap(e, "damaged: %s and %zu more tables", buf_cstr(&found),
                 n - NAMES_MAX);
    else
        err_wrap(e, "damaged: %s", buf_cstr(&found));
    buf_release(&found);
}
