#include "log/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/clock.h"
#include "util/hash.h"

#define HEAD_BYTES 64
#define HEAD_COPY UINT64_C(4096) /* where the second one stands */
#define HEAD_VERSION 1
static const char head_magic[8] = {'B', 'E', 'L', 'F', 'L', 'O', 'G', '1'};

void seg_drop(struct segment *seg)
{
    list_remove(&seg->node);
    seg->dropped = true;
    if (seg->readers == 0)
        mem_free(seg);
}

void seg_name(char name[SEG_NAME], uint64_t n, const char *suffix)
{
    (void)snprintf(name, SEG_NAME, "%020" PRIu64 "%s", n, suffix);
}

bool seg_parse_name(const char *name, uint64_t *n, const char *suffix)
{
    if (strlen(name) != 20 + strlen(suffix) || strcmp(name + 20, suffix) != 0)
        return false;
    uint64_t v = 0;
    for (int i = 0; i < 20; i++) {
        if (name[i] < '0' || name[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(name[i] - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *n = v;
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

enum err seg_list(const struct log_dir *d, const char *suffix, uint64_t **out,
                  size_t *count, struct errbuf *e)
{
    *out = NULL;
    *count = 0;
    int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        int why = errno;
        if (fd >= 0)
            (void)close(fd);
        return err_sys(e, ERR_IO, why, "cannot list %s", d->path);
    }
    size_t room = 0;
    for (struct dirent *f; (f = readdir(dir)) != NULL;) {
        uint64_t n;
        if (!seg_parse_name(f->d_name, &n, suffix))
            continue;
        if (*count == room) {
            room = room == 0 ? 16 : room * 2;
            *out = (uint64_t *)mem_realloc(*out, room * sizeof(**out));
        }
        (*out)[(*count)++] = n;
    }
    (void)closedir(dir);
    if (*count > 0)
        qsort(*out, *count, sizeof(**out), by_number);
    return ERR_OK;
}

uint64_t seg_new_salt(void)
{
    uint64_t salt;
    if (getrandom(&salt, sizeof(salt), 0) != (ssize_t)sizeof(salt))
        salt = clock_wall_us() ^ clock_mono_us() << 32 ^ (uint64_t)getpid();
    return salt;
}

static void head_encode(unsigned char p[HEAD_BYTES], const struct seg_head *h)
{
    memset(p, 0, HEAD_BYTES);
    memcpy(p, head_magic, sizeof(head_magic));
    put_le32(p + 8, HEAD_VERSION);
    put_le64(p + 16, h->first);
    put_le64(p + 24, h->epoch);
    put_le64(p + 32, h->salt);
    put_le64(p + 40, h->size);
    put_le64(p + 48, h->created_ms);
    put_le64(p + 56, hash64(slice_of(p, 56)));
}

static bool head_decode(const unsigned char p[HEAD_BYTES], struct seg_head *h)
{
    if (memcmp(p, head_magic, sizeof(head_magic)) != 0 ||
        get_le32(p + 8) != HEAD_VERSION ||
        get_le64(p + 56) != hash64(slice_of(p, 56)))
        return false;
    h->first = get_le64(p + 16);
    h->epoch = get_le64(p + 24);
    h->salt = get_le64(p + 32);
    h->size = get_le64(p + 40);
    h->created_ms = get_le64(p + 48);
    return true;
}

int seg_write_head(const struct log_io *io, int fd, const struct seg_head *h)
{
    unsigned char p[HEAD_BYTES];
    /* The place of the first record is cleared as well: a new segment ends
     * where it begins. */
    static const unsigned char blank[REC_HEAD];
    head_encode(p, h);
    int rc = io_write_bytes(io, fd, p, sizeof(p), 0);
    if (rc == 0)
        rc = io_write_bytes(io, fd, p, sizeof(p), HEAD_COPY);
    if (rc == 0)
        rc = io_write_bytes(io, fd, blank, sizeof(blank), SEG_DATA);
    return rc == 0 ? io_sync(io, fd) : rc;
}

static enum err read_head(const struct log_dir *d, const char *name, int fd,
                          struct seg_head *h, struct errbuf *e)
{
    unsigned char p[HEAD_BYTES];
    for (uint64_t off = 0; off <= HEAD_COPY; off += HEAD_COPY) {
        ssize_t n = io_read(fd, p, sizeof(p), off);
        if (n < 0)
            return err_sys(e, ERR_IO, errno, "cannot read %s/%s", d->path,
                           name);
        if (n == HEAD_BYTES && head_decode(p, h))
            return ERR_OK;
    }
    return err_set(e, ERR_CORRUPT,
                   "%s/%s, offset 0: neither copy of the segment's head can be "
                   "read",
                   d->path, name);
}

enum err seg_open(const struct log_dir *d, uint64_t first, int flags, int *fd,
                  struct seg_head *head, struct errbuf *e)
{
    char name[SEG_NAME];
    struct stat st;
    seg_name(name, first, ".seg");
    *fd = openat(d->fd, name, flags | O_CLOEXEC);
    if (*fd < 0)
        return err_sys(e, ERR_IO, errno, "cannot open %s/%s", d->path, name);
    enum err rc = ERR_OK;
    if (fstat(*fd, &st) != 0)
        rc = err_sys(e, ERR_IO, errno, "cannot look at %s/%s", d->path, name);
    if (rc == ERR_OK)
        rc = read_head(d, name, *fd, head, e);
    if (rc == ERR_OK && head->first != first)
        rc = err_set(e, ERR_CORRUPT,
                     "%s/%s, offset 16: the head says that the first index is "
                     "%" PRIu64,
                     d->path, name, head->first);
    if (rc == ERR_OK && (uint64_t)st.st_size < head->size)
        rc = err_set(e, ERR_CORRUPT,
                     "%s/%s: the file was cut off: it has %" PRIu64
                     " bytes of the %" PRIu64 " that were allocated",
                     d->path, name, (uint64_t)st.st_size, head->size);
    if (rc != ERR_OK) {
        (void)close(*fd);
        *fd = -1;
    }
    return rc;
}

static enum err io_error(const struct log_dir *d, const struct seg_head *head,
                         uint64_t off, struct errbuf *e)
{
    char name[SEG_NAME];
    seg_name(name, head->first, ".seg");
    return err_sys(e, ERR_IO, errno, "cannot read %s/%s at offset %" PRIu64,
                   d->path, name, off);
}

/* What stands behind the first unreadable place decides whether that place is
 * damage or the torn end (invariant 4). */
static enum rec_status scan_after(struct rec_reader *r, uint64_t size,
                                  struct seg_scan *out)
{
    struct log_record rec;
    enum rec_status st;
    r->off = out->end + REC_ALIGN;
    while ((st = rec_reader_search(r, out->last + 1, size, &rec)) == REC_OK) {
        if (rec.epoch < out->epoch)
            continue; /* from before a suffix was cut */
        out->after++;
        out->after_end = r->off;
        if (rec.index > out->after_last)
            out->after_last = rec.index;
        if (rec.durable > out->after_named)
            out->after_named = rec.durable;
    }
    return st;
}

enum err seg_scan(const struct log_dir *d, int fd, const struct seg_head *head,
                  uint64_t epoch, struct seg_scan *out,
                  enum err (*each)(const struct log_record *rec, void *ud,
                                   struct errbuf *e),
                  void *ud, struct errbuf *e)
{
    struct rec_reader r;
    struct log_record rec;
    enum err rc = ERR_OK;
    *out = (struct seg_scan){.last = head->first - 1,
                             .named = head->first - 1,
                             .epoch = epoch > head->epoch ? epoch : head->epoch,
                             .end = SEG_DATA};
    rec_reader_init(&r, fd, head->salt, SEG_DATA);
    for (;;) {
        uint64_t at = r.off;
        out->why = rec_reader_next(&r, &rec);
        /* Right bytes in the wrong place are no record of this log either
         * (invariants 1 and 2). */
        if (out->why == REC_OK &&
            (rec.index != out->last + 1 || rec.epoch < out->epoch)) {
            r.off = at;
            out->why = REC_BAD;
        }
        if (out->why != REC_OK)
            break;
        out->last = rec.index;
        out->epoch = rec.epoch;
        out->end = r.off;
        if (rec.durable > out->named)
            out->named = rec.durable;
        if (each != NULL)
            rc = each(&rec, ud, e);
        if (rc == ERR_CORRUPT) /* of what it says, not of its bytes */
            err_wrap(e, "%s/%020" PRIu64 ".seg, offset %" PRIu64, d->path,
                     head->first, at);
        if (rc != ERR_OK)
            goto out;
    }
    if (out->why == REC_IO || scan_after(&r, head->size, out) == REC_IO)
        rc = io_error(d, head, r.off, e);

out:
    rec_reader_release(&r);
    return rc;
}
