#include "store/rocks_block.h"

#include <sys/stat.h>
#include <unistd.h>

#include "store/rocks.h"
#include "util/hash.h"

#define CHECKSUM_XXH3 4
#define FORMAT_VERSION 5
#define MAGIC 0x88e241b785f4cff7u
#define BLOCK_MAX ((uint64_t)1 << 28)
#define UNCOMPRESSED 0

/* --- reading -------------------------------------------------------------- */

bool table_take_handle(struct slice *from, struct table_handle *h)
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

/* The name's beginning may be shared with the key before. */
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

bool table_block(struct table *t, struct table_handle h)
{
    if (h.len > BLOCK_MAX || h.at > t->blocks_end ||
        h.len + TABLE_TRAILER_LEN > t->blocks_end - h.at)
        return false;
    if (!read_at(t, h.at, (size_t)h.len + TABLE_TRAILER_LEN))
        return false;
    const char *trailer = t->block.data + h.len;
    t->block.len = (size_t)h.len;
    clear_sequence(&t->block);
    return checksum(buf_slice(&t->block), (unsigned char)trailer[0]) ==
           rocks_little(trailer + 1, 4);
}

const char *table_footer(struct table *t)
{
    struct stat st;
    if (fstat(t->fd, &st) != 0 || st.st_size < TABLE_FOOTER_LEN)
        return "it is cut off";
    t->blocks_end = (uint64_t)st.st_size - TABLE_FOOTER_LEN;
    if (!read_at(t, t->blocks_end, TABLE_FOOTER_LEN))
        return "it cannot be read";
    const char *footer = t->block.data;
    struct slice handles = slice_of(footer + 1, TABLE_FOOTER_LEN - 13);
    if (rocks_little(footer + TABLE_FOOTER_LEN - 8, 8) != MAGIC ||
        rocks_little(footer + TABLE_FOOTER_LEN - 12, 4) != FORMAT_VERSION ||
        footer[0] != CHECKSUM_XXH3 || !table_take_handle(&handles, &t->meta) ||
        !table_take_handle(&handles, &t->index))
        return "its end is not that of a table";
    return NULL;
}

bool table_entries(struct slice block, struct slice *entries)
{
    if (block.len < 4)
        return false;
    uint64_t restarts =
        rocks_little(block.data + block.len - 4, 4) & 0x7fffffff;
    if (restarts > (block.len - 4) / 4)
        return false;
    *entries = slice_of(block.data, block.len - 4 - 4 * (size_t)restarts);
    return true;
}

bool table_entry(struct slice *entries, struct buf *key, struct slice *value)
{
    uint64_t shared, own, len;
    if (!rocks_varint(entries, &shared) || !rocks_varint(entries, &own) ||
        !rocks_varint(entries, &len) || shared > key->len ||
        own > entries->len || len > entries->len - own)
        return false;
    key->len = (size_t)shared;
    buf_add(key, entries->data, (size_t)own);
    *value = slice_of(entries->data + own, (size_t)len);
    entries->data += own + len;
    entries->len -= (size_t)(own + len);
    return true;
}

/* The handle of the properties in a metaindex. */
static bool find_properties(struct slice metaindex, struct table_handle *h)
{
    struct slice rest, value;
    struct buf key = {0};
    bool found = false;
    if (!table_entries(metaindex, &rest))
        return false;
    while (!found && rest.len > 0 && table_entry(&rest, &key, &value))
        found = slice_eq(buf_slice(&key), SLICE_LIT(TABLE_PROPERTIES)) &&
                table_take_handle(&value, h);
    buf_release(&key);
    return found;
}

const char *table_properties(struct table *t, struct table_handle *at)
{
    const char *wrong = table_footer(t);
    if (wrong != NULL)
        return wrong;
    if (!table_block(t, t->meta))
        return "its metaindex has a wrong checksum";
    if (!find_properties(buf_slice(&t->block), at))
        return "its metaindex cannot be read";
    if (!table_block(t, *at))
        return "its properties have a wrong checksum";
    if (t->block.data[t->block.len] != UNCOMPRESSED)
        return "its properties are compressed";
    return NULL;
}

/* --- writing -------------------------------------------------------------- */

void table_add_handle(struct buf *to, struct table_handle h)
{
    rocks_add_varint(to, h.at);
    rocks_add_varint(to, h.len);
}

void table_add_entry(struct buf *to, struct slice key, struct slice value)
{
    rocks_add_varint(to, 0);
    rocks_add_varint(to, key.len);
    rocks_add_varint(to, value.len);
    buf_add_slice(to, key);
    buf_add_slice(to, value);
}

size_t table_end_block(struct buf *to, size_t from)
{
    rocks_add_little(to, 0,
                     4); /* the first entry; the others are found from there */
    rocks_add_little(to, 1, 4);
    struct slice block = slice_of(to->data + from, to->len - from);
    uint32_t sum = checksum(block, UNCOMPRESSED);
    buf_add_char(to, UNCOMPRESSED);
    rocks_add_little(to, sum, 4);
    return block.len;
}

void table_add_footer(struct buf *to, struct table_handle meta,
                      struct table_handle index)
{
    size_t from = to->len;
    buf_add_char(to, CHECKSUM_XXH3);
    table_add_handle(to, meta);
    table_add_handle(to, index);
    while (to->len - from < TABLE_FOOTER_LEN - 12)
        buf_add_char(to, 0);
    rocks_add_little(to, FORMAT_VERSION, 4);
    rocks_add_little(to, MAGIC, 8);
}
