/* The happy path of a mend:
 *  1. Read the MANIFEST that CURRENT names, and find where its records end.
 *  2. Put the part before that, and CURRENT, into base.look/, and open this for
 *     reading, with the tables where they are: nothing in base/ is written.
 *  3. Read the log: it must go on where that base ends.
 *  4. Keep the file as *.torn, then replace it by its good part.
 *
 * How it fails: at 2 or 3 by refusing, and base/ is as it was. Opening the base
 * for writing without a look would not do: RocksDB deletes the tables that its
 * list does not name, and they could be what a salvage needs. After a crash
 * between 4's two steps the next start does the same again.
 *
 * A MANIFEST has the format of RocksDB's own log: blocks of 32 KiB, in each
 *
 *     | checksum 4 | length 2 | type 1 | bytes | ... | less than 7 zeroes
 *
 * The checksum is the CRC-32C of type and bytes, masked. A record that does not
 * fit into the rest of a block is several pieces: first, middle ..., last.
 */
#include "store/rocks_manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/log.h"
#include "store/rocks.h"
#include "util/buf.h"
#include "util/file.h"
#include "util/hash.h"

#define BLOCK 32768
#define HEAD 7
#define CURRENT_MAX 1024

/* RocksDB begins a MANIFEST with a list of all that there is: two records for
 * each family, one with its name and one with its tables. It is synced before
 * CURRENT names the file. A beginning that ends within the list was never a
 * state of the base: families would come out empty. */
#define LIST_RECORDS (2 * ((uint64_t)FAMILIES + 1))

enum { FULL = 1, FIRST, MIDDLE, LAST };

struct piece {
    size_t end; /* where it ends */
    int type;
    struct slice bytes;
};

static uint32_t unmasked(uint32_t sum)
{
    sum -= 0xa282ead8u;
    return sum >> 17 | sum << 15;
}

/* False: nothing that can be read begins at `at`. */
static bool piece_at(struct slice file, size_t at, struct piece *p)
{
    size_t room = BLOCK - at % BLOCK;
    if (room > file.len - at)
        room = file.len - at;
    if (room < HEAD)
        return false;
    const char *head = file.data + at;
    size_t len = rocks_little(head + 4, 2);
    p->type = (unsigned char)head[6];
    if (p->type < FULL || p->type > LAST || len > room - HEAD)
        return false;
    p->bytes = slice_of(head + HEAD, len);
    p->end = at + HEAD + len;
    return crc32c(0, slice_of(head + 6, len + 1)) ==
           unmasked((uint32_t)rocks_little(head, 4));
}

/* Tables of several families that appear together are a group of records, each
 * of which ends with how many are still to come:
 *
 *     ... | tag 300, as a varint: ac 02 | rest, below 128
 *
 * No other record ends like this: behind the varint of a value there would be a
 * tag without its value. -1: it is of no group. */
static int group_rest(struct slice record)
{
    if (record.len < 3)
        return -1;
    const unsigned char *end =
        (const unsigned char *)record.data + record.len - 3;
    return end[0] == 0xac && end[1] == 0x02 && end[2] < 128 ? end[2] : -1;
}

/* Of one write the disk may have any of the sectors, so behind a bad record
 * there may be good ones: the rest of the bad one itself, and the rest of its
 * group, whose numbers fall. Find the first that is neither, or 0. */
static uint64_t find_other(struct slice file, size_t bad)
{
    int before = 128;
    bool begun = false; /* a record other than that at `bad` */
    struct piece p;
    for (size_t at = bad + 1; at < file.len;) {
        if (!piece_at(file, at, &p)) {
            at++;
            continue;
        }
        if (p.type == FULL || p.type == FIRST)
            begun = true;
        if (begun && (p.type == FULL || p.type == LAST)) {
            int rest = group_rest(p.bytes);
            if (rest < 0 || rest >= before)
                return at;
            before = rest;
        }
        at = p.end;
    }
    return 0;
}

void manifest_scan(struct slice file, struct manifest_scan *out)
{
    bool inside = false; /* a record of several pieces */
    size_t at = 0, begin = 0;
    struct piece p;
    *out = (struct manifest_scan){0};
    while (at < file.len) {
        if (BLOCK - at % BLOCK < HEAD) {
            at += BLOCK - at % BLOCK;
            continue;
        }
        if (!piece_at(file, at, &p) ||
            inside != (p.type == MIDDLE || p.type == LAST))
            break;
        if (!inside)
            begin = at;
        at = p.end;
        inside = p.type == FIRST || p.type == MIDDLE;
        if (!inside) {
            out->last = begin;
            out->end = at;
            out->records++;
        }
    }
    out->bad = at;
    out->whole = at >= file.len && !inside;
    if (!out->whole)
        out->other = find_other(file, at);
}

bool manifest_next(struct slice file, size_t *at, struct buf *record)
{
    struct piece p = {.type = FIRST};
    buf_clear(record);
    while (p.type == FIRST || p.type == MIDDLE) {
        if (*at < file.len && BLOCK - *at % BLOCK < HEAD)
            *at += BLOCK - *at % BLOCK;
        if (*at >= file.len || !piece_at(file, *at, &p))
            return false;
        buf_add_slice(record, p.bytes);
        *at = p.end;
    }
    return true;
}

static void add_piece(struct buf *to, int type, struct slice bytes)
{
    char t = (char)type;
    uint32_t sum = crc32c(crc32c(0, slice_of(&t, 1)), bytes);
    rocks_add_little(to, (uint32_t)((sum >> 15 | sum << 17) + 0xa282ead8u), 4);
    rocks_add_little(to, bytes.len, 2);
    buf_add_char(to, t);
    buf_add_slice(to, bytes);
}

void manifest_add(struct buf *file, struct slice record)
{
    bool first = true, last = false;
    while (!last) {
        size_t room = BLOCK - file->len % BLOCK;
        if (room < HEAD) {
            rocks_add_little(file, 0, room);
            room = BLOCK;
        }
        size_t n = record.len < room - HEAD ? record.len : room - HEAD;
        last = n == record.len;
        int type = first && last ? FULL : first ? FIRST : last ? LAST : MIDDLE;
        add_piece(file, type, slice_of(record.data, n));
        record = slice_of(record.data + n, record.len - n);
        first = false;
    }
}

/* --- looking ------------------------------------------------------------- */

struct manifest {
    char path[ROCKS_PATH_MAX + 64];
    struct buf content;
    struct manifest_scan scan;
};

static void base_path(char *to, size_t size, const char *dir, const char *name)
{
    snprintf(to, size, "%s/%s", dir, name);
}

void manifest_name(const char *base, char *name, size_t size)
{
    char path[ROCKS_PATH_MAX + 48];
    struct buf text = {0};
    base_path(path, sizeof(path), base, "CURRENT");
    name[0] = '\0';
    if (file_read(path, CURRENT_MAX, &text, NULL) == ERR_OK && text.len > 1 &&
        text.len <= size && text.data[text.len - 1] == '\n' &&
        strncmp(buf_cstr(&text), "MANIFEST-", 9) == 0 &&
        memchr(text.data, '/', text.len) == NULL) {
        memcpy(name, text.data, text.len - 1);
        name[text.len - 1] = '\0';
    }
    buf_release(&text);
}

static enum err read_manifest(const char *dir, struct manifest *m, char *name,
                              size_t size, struct errbuf *e)
{
    char base[ROCKS_PATH_MAX + 32];
    base_path(base, sizeof(base), dir, "base");
    manifest_name(base, name, size);
    snprintf(m->path, sizeof(m->path), "%s/base/%s", dir, name);
    if (name[0] == '\0' || (access(m->path, F_OK) != 0 && errno == ENOENT)) {
        m->scan.whole = true; /* opening says what is wrong */
        return ERR_OK;
    }
    enum err rc = file_read(m->path, SIZE_MAX - 1, &m->content, e);
    if (rc == ERR_OK)
        manifest_scan(buf_slice(&m->content), &m->scan);
    return rc;
}

/* A table that the last record names and that is not there; 0: there is none.
 */
static uint64_t missing_table(const char *dir, const struct manifest *m)
{
    struct buf record = {0};
    uint64_t number, missing = 0;
    size_t at = (size_t)m->scan.last;
    if (!manifest_next(buf_slice(&m->content), &at, &record))
        buf_clear(&record);
    struct slice rest = buf_slice(&record);
    while (missing == 0 && rocks_edit_next(&rest, &number)) {
        char path[ROCKS_PATH_MAX + 64];
        snprintf(path, sizeof(path), "%s/base/%06" PRIu64 ".sst", dir, number);
        if (access(path, F_OK) != 0 && errno == ENOENT)
            missing = number;
    }
    buf_release(&record);
    return missing;
}

/* Have the last record cut off, if its table is missing and it is not of the
 * list. */
static void drop_last(const char *dir, struct manifest *m,
                      struct manifest_cut *cut)
{
    if (m->scan.records <= LIST_RECORDS)
        return;
    cut->table = missing_table(dir, m);
    if (cut->table == 0)
        return;
    m->scan.whole = false;
    m->scan.bad = m->scan.end = m->scan.last;
    m->scan.records--;
}

/* What can be said without opening anything. */
static enum err may_be_cut(const struct manifest *m, struct errbuf *e)
{
    const struct manifest_scan *s = &m->scan;
    if (s->other != 0)
        return err_set(e, ERR_CORRUPT,
                       "%s is damaged: what stands at offset %" PRIu64
                       " cannot be read, but a record that was written later, "
                       "at offset %" PRIu64 ", can",
                       m->path, s->bad, s->other);
    if (s->records < LIST_RECORDS)
        return err_set(e, ERR_CORRUPT,
                       "%s is damaged: what stands at offset %" PRIu64
                       " cannot be read, and it was synced before the file "
                       "was used",
                       m->path, s->bad);
    return ERR_OK;
}

static enum err open_without(const char *dir, const struct manifest *m,
                             const char *name, struct rocks_base *b,
                             struct errbuf *e)
{
    char look[ROCKS_PATH_MAX + 32], tables[ROCKS_PATH_MAX + 32];
    char path[ROCKS_PATH_MAX + 64], current[64];
    base_path(look, sizeof(look), dir, "base.look");
    base_path(tables, sizeof(tables), dir, "base");
    const struct rocks_base_options o = {
        .block_cache_bytes = (uint64_t)16 << 20,
        .write_buffer_bytes = (uint64_t)1 << 20,
        .read_only = true,
        .tables = tables,
    };
    if (mkdir(look, 0750) != 0)
        return err_sys(e, ERR_IO, errno, "create %s", look);
    snprintf(path, sizeof(path), "%s/%s", look, name);
    enum err rc =
        file_replace(path, slice_of(m->content.data, (size_t)m->scan.end), e);
    if (rc != ERR_OK)
        return rc;
    snprintf(path, sizeof(path), "%s/CURRENT", look);
    snprintf(current, sizeof(current), "%s\n", name);
    rc = file_replace(path, slice_str(current), e);
    return rc == ERR_OK ? rocks_base_open(b, look, &o, e) : rc;
}

static enum err log_goes_on(const char *dir, const struct rec_applied *applied,
                            struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 32];
    struct log_check found;
    base_path(path, sizeof(path), dir, "log");
    enum err rc = log_verify(path, &found, NULL, NULL, e);
    if (rc != ERR_OK)
        return rc;
    if (found.first > applied_sure(applied) + 1 || found.last < applied->index)
        return err_set(e, ERR_CORRUPT,
                       "the base would end at index %" PRIu64
                       ", and the log, from %" PRIu64 " to %" PRIu64
                       ", does not go on there",
                       applied->index, found.first, found.last);
    return ERR_OK;
}

static enum err look(const char *dir, struct manifest *m, struct rocks_base *b,
                     struct manifest_cut *cut, struct errbuf *e)
{
    struct rec_applied applied = {.index = 0};
    memset(b, 0, sizeof(*b));
    *cut = (struct manifest_cut){.bytes = 0};
    rocks_manifest_forget(dir); /* a crash may have left it */
    enum err rc = read_manifest(dir, m, cut->name, sizeof(cut->name), e);
    if (rc == ERR_OK && m->scan.whole)
        drop_last(dir, m, cut);
    if (rc != ERR_OK || m->scan.whole)
        return rc;
    rc = may_be_cut(m, e);
    if (rc != ERR_OK)
        return rc;
    cut->at = m->scan.end;
    rc = open_without(dir, m, cut->name, b, e);
    if (rc == ERR_OK)
        rc = rocks_base_applied(b, &applied, e);
    if (rc == ERR_OK)
        rc = log_goes_on(dir, &applied, e);
    cut->applied = applied_sure(&applied);
    if (rc == ERR_OK) {
        cut->bytes = m->content.len - m->scan.end;
        return ERR_OK;
    }
    rocks_base_close(b);
    rocks_manifest_forget(dir);
    char what[64] = "is torn";
    if (cut->table != 0)
        snprintf(what, sizeof(what), "names %06" PRIu64 ".sst, which is gone,",
                 cut->table);
    err_wrap(e,
             "%s %s at offset %" PRIu64 " and cannot do without the %" PRIu64
             " bytes from %" PRIu64 " on",
             m->path, what, m->scan.bad, (uint64_t)m->content.len - m->scan.end,
             m->scan.end);
    return rc;
}

enum err rocks_manifest_look(const char *dir, struct rocks_base *b,
                             struct manifest_cut *cut, struct errbuf *e)
{
    struct manifest m = {.content = {0}};
    enum err rc = look(dir, &m, b, cut, e);
    buf_release(&m.content);
    return rc;
}

void rocks_manifest_forget(const char *dir)
{
    char path[ROCKS_PATH_MAX + 32];
    base_path(path, sizeof(path), dir, "base.look");
    if (access(path, F_OK) == 0 && rocks_empty(path, NULL) == ERR_OK)
        (void)rmdir(path);
}

/* --- cutting ------------------------------------------------------------- */

static enum err keep_and_cut(const struct manifest *m, struct errbuf *e)
{
    char torn[ROCKS_PATH_MAX + 72];
    snprintf(torn, sizeof(torn), "%s.torn", m->path);
    enum err rc = file_replace(torn, buf_slice(&m->content), e);
    if (rc != ERR_OK)
        return rc;
    return file_replace(m->path, slice_of(m->content.data, (size_t)m->scan.end),
                        e);
}

enum err rocks_manifest_mend(const char *dir, struct manifest_cut *cut,
                             struct errbuf *e)
{
    struct manifest m = {.content = {0}};
    struct rocks_base b;
    enum err rc = look(dir, &m, &b, cut, e);
    if (rc == ERR_OK && cut->bytes > 0) {
        rocks_base_close(&b);
        rocks_manifest_forget(dir);
        rc = keep_and_cut(&m, e);
    }
    buf_release(&m.content);
    return rc;
}
