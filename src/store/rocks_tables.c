/* Which tables of a base do not hold?
 *
 * Opening RocksDB opens all its tables, and of one that is damaged it may say
 * no more than "properties unsorted in file MANIFEST-000145". Whoever has to
 * mend the disk or fetch a backup wants the file, so once opening has failed
 * we look for ourselves at what opening reads of a table: its end, index,
 * metaindex and meta blocks. Data blocks are read later, with their checksums
 * verified, by whoever needs them.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "store/rocks.h"
#include "store/rocks_block.h"
#include "util/buf.h"

/* What a sentence has room for; the rest is counted. */
#define NAMES_MAX 4

/* The blocks that the metaindex names: properties, filter, ... */
static const char *meta_blocks_hold(struct table *t)
{
    struct buf index = t->block, key = {0};
    struct slice rest, value;
    const char *wrong = NULL;
    buf_init(&t->block);
    if (!table_entries(buf_slice(&index), &rest)) {
        wrong = "its metaindex cannot be read";
        rest = SLICE_EMPTY;
    }
    while (rest.len > 0 && wrong == NULL) {
        struct table_handle h;
        if (!table_entry(&rest, &key, &value) || !table_take_handle(&value, &h))
            wrong = "its metaindex cannot be read";
        else if (!table_block(t, h))
            wrong = "a meta block has a wrong checksum";
    }
    buf_release(&key);
    buf_release(&index);
    return wrong;
}

/* What is wrong with the table, or NULL. */
static const char *table_fault(struct table *t)
{
    const char *wrong = table_footer(t);
    if (wrong != NULL)
        return wrong;
    if (!table_block(t, t->index))
        return "its index has a wrong checksum";
    if (!table_block(t, t->meta))
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
