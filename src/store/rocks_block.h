/* RocksDB's tables, as far as we look into them ourselves.
 *
 *     data blocks | meta blocks | metaindex | footer
 *
 * The footer (53 bytes) says where metaindex and index are, the metaindex where
 * the meta blocks are: properties, filter, ... Behind each block stand one byte
 * that says how it is compressed and four of checksum, over the block and that
 * byte.
 *
 * Meta blocks and metaindex hold sorted entries. Of a key only what differs
 * from the key before may be there; at the end stand the places where one is
 * written in full, four bytes each, and how many they are:
 *
 *     shared | own | length, as varints | own bytes of the key | value | ...
 */
#ifndef STORE_ROCKS_BLOCK_H
#define STORE_ROCKS_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"

#define TABLE_FOOTER_LEN 53
#define TABLE_TRAILER_LEN 5
#define TABLE_PROPERTIES "rocksdb.properties"
/* In its properties: what RocksDB wrote there, in place, as it took the table
 * in. The checksum is that without it. */
#define TABLE_SEQUENCE "rocksdb.external_sst_file.global_seqno"

struct table_handle {
    uint64_t at, len; /* without the trailer */
};

struct table {
    int fd;
    uint64_t blocks_end; /* where the footer begins */
    struct table_handle meta, index;
    struct buf block; /* the last one that was read; the owner releases it */
};

/* Read the footer. What is wrong with it, or NULL. */
const char *table_footer(struct table *t);
/* Read a block into t->block; false: it is not there or its checksum is wrong.
 * A sequence number in it is replaced by zero. */
bool table_block(struct table *t, struct table_handle h);
/* The same with the properties; *at is where they stand. What is wrong, or
 * NULL. */
const char *table_properties(struct table *t, struct table_handle *at);

/* The entries of a block, to be taken one by one; *key, empty at first, holds
 * the last one's key. False: it cannot be read. */
bool table_entries(struct slice block, struct slice *entries);
bool table_entry(struct slice *entries, struct buf *key, struct slice *value);
bool table_take_handle(struct slice *from, struct table_handle *h);

/* Writing: entries with keys in full, then the end of the block that begins at
 * `from` in *to, with its trailer; returns its length without that. */
void table_add_entry(struct buf *to, struct slice key, struct slice value);
size_t table_end_block(struct buf *to, size_t from);
void table_add_handle(struct buf *to, struct table_handle h);
void table_add_footer(struct buf *to, struct table_handle meta,
                      struct table_handle index);

#endif
