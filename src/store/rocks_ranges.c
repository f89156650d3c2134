/* Families with range deletions, whose iterators cannot be trusted.
 *
 * An iterator of RocksDB 7.8 that minds range deletions halts between two
 * tables of a level, and forgets what was wrong with the first block of the
 * second one (merging_iterator.cc, SkipNextDeleted()): the rest of that level
 * is missing, and its status says that all is well. For a read from memory
 * alone it is wrong that a block is not in the cache, so rows were missing on a
 * server that nothing ailed, until the next look from the disk.
 *
 * So iterators are told to ignore range deletions (they halt nowhere then, and
 * cost less) while a family has none. While it has some:
 *
 *     from memory   not tried; the reader thread is asked
 *     from the disk rocks_read.c walks over the same rows once more, without
 *                   minding range deletions, to learn of damage
 *
 * When has a family none? None is in a memtable if the base was flushed since
 * the last one came, and of its tables RocksDB knows how many each has. Only
 * the applier brings new ones. */
#include <stdio.h>
#include <stdlib.h>

#include "store/rocks.h"

static bool tables_have_some(const struct rocks_base *b, enum family f)
{
    static const char name[] = "# range deletions=";
    char *all = rocksdb_property_value_cf(
        b->db, b->cfs[f], "rocksdb.aggregated-table-properties");
    const char *at = all == NULL ? NULL : strstr(all, name);
    bool some = at == NULL || strtoull(at + sizeof(name) - 1, NULL, 10) > 0;
    rocksdb_free(all);
    return some;
}

void rocks_ranges_find(struct rocks_base *b)
{
    for (int f = 0; f < FAMILIES; f++)
        atomic_store(&b->ranged[f], tables_have_some(b, (enum family)f));
}

void rocks_ranges_come(struct rocks *r, const struct generation *g)
{
    for (int f = 0; f < FAMILIES; f++) {
        if (g->ranges[f].len == 0)
            continue;
        r->ranges_until[f] = g->last_index;
        atomic_store(&r->base.ranged[f], true);
    }
}

void rocks_ranges_look(struct rocks *r)
{
    uint64_t flushed = atomic_load(&r->flushed_index);
    for (int f = 0; f < FAMILIES; f++)
        if (atomic_load(&r->base.ranged[f]) && r->ranges_until[f] <= flushed &&
            !tables_have_some(&r->base, (enum family)f))
            atomic_store(&r->base.ranged[f], false);
}

const rocksdb_readoptions_t *rocks_ranges_options(const struct rocks_base *b,
                                                  enum family f)
{
    return atomic_load(&b->ranged[f]) ? b->read_disk : b->read_all;
}

enum err rocks_ranges_check(const struct rocks_base *b, enum family f,
                            struct errbuf *e)
{
    char *message = NULL;
    rocksdb_iterator_t *it =
        rocksdb_create_iterator_cf(b->db, b->read_all, b->cfs[f]);
    rocksdb_iter_seek_to_first(it);
    while (rocksdb_iter_valid(it))
        rocksdb_iter_next(it);
    rocksdb_iter_get_error(it, &message);
    rocksdb_iter_destroy(it);
    return message == NULL ? ERR_OK : rocks_err(e, message, family_name(f));
}
