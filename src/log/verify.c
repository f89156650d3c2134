/* The log offline: verifying it, and saving what can be saved.
 *
 * Rescue is for who has the beginning from elsewhere: the base holds everything
 * up to an index, and what can be read behind that is worth as much as ever.
 *
 * Salvage keeps the records before the first damage and nothing else, because
 * entries build on each other: one that is missing makes all later ones
 * meaningless. What is behind goes into *.lost files, whole segments by
 * renaming, the rest of the damaged one as a copy of the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "log/check.h"
#include "log/impl.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"

static enum err open_dir(const char *path, struct log_dir *d, int *lock_fd,
                         struct errbuf *e)
{
    *lock_fd = -1;
    *d = (struct log_dir){.path = path};
    d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->fd < 0)
        return err_sys(e, ERR_IO, errno, "cannot open %s", path);
    /* Without a lock file nobody has ever opened this as a log. */
    *lock_fd = openat(d->fd, "lock", O_RDONLY | O_CLOEXEC);
    if (*lock_fd < 0 || flock(*lock_fd, LOCK_EX | LOCK_NB) == 0)
        return ERR_OK;
    (void)close(*lock_fd);
    (void)close(d->fd);
    return err_set(e, ERR_BUSY, "another process uses the log in %s", path);
}

static void close_dir(struct log_dir *d, int lock_fd)
{
    if (lock_fd >= 0)
        (void)close(lock_fd);
    (void)close(d->fd);
}

/* Good records in segments behind the one where the damage is. */
static void count_lost(const struct log_dir *d, const struct check *c,
                       struct log_check *out)
{
    out->lost_records = c->end.after;
    out->lost_last = c->end.after_last;
    for (size_t i = c->at + 1; i < c->count; i++) {
        struct seg_head head;
        struct seg_scan s;
        int fd;
        if (seg_open(d, c->names[i], O_RDONLY, &fd, &head, NULL) != ERR_OK)
            continue;
        if (seg_scan(d, fd, &head, 0, &s, NULL, NULL, NULL) == ERR_OK) {
            out->lost_records += s.last + 1 - head.first + s.after;
            if (s.last > out->lost_last)
                out->lost_last = s.last;
            if (s.after_last > out->lost_last)
                out->lost_last = s.after_last;
        }
        (void)close(fd);
    }
    if (c->mark.durable > out->lost_last)
        out->lost_last = c->mark.durable;
}

static void tell(const struct log_dir *d, const struct check *c, enum err rc,
                 struct log_check *out)
{
    *out = (struct log_check){
        .segments = c->count,
        .records = c->records,
        .first = c->count > 0 ? c->names[0] : c->end.last + 1,
        .last = c->end.last,
        .watermark_durable = c->mark.durable,
    };
    if (rc == ERR_CORRUPT) {
        out->damaged_index = c->end.last + 1;
        count_lost(d, c, out);
    } else if (c->count > 0) {
        out->tail_records = c->end.after + (c->end.why == REC_BAD);
    }
}

/* A cut that a crash interrupted: what is behind it is no longer the log. */
static enum err judge(const struct log_dir *d, struct check *c,
                      enum err (*each)(const struct log_record *rec, void *ud,
                                       struct errbuf *e),
                      void *ud, struct errbuf *e)
{
    enum err rc = check_dir(d, 0, c, each, ud, e);
    if (rc == ERR_CORRUPT && c->mark_state == MARK_GOOD && c->mark.cut != 0 &&
        c->end.last + 1 >= c->mark.cut)
        rc = ERR_OK;
    return rc;
}

enum err log_verify(const char *dir, struct log_check *out,
                    enum err (*each)(const struct log_record *rec, void *ud,
                                     struct errbuf *e),
                    void *ud, struct errbuf *e)
{
    struct log_dir d;
    struct check c;
    int lock_fd;
    *out = (struct log_check){0};
    enum err rc = open_dir(dir, &d, &lock_fd, e);
    if (rc != ERR_OK)
        return rc;
    rc = judge(&d, &c, each, ud, e);
    tell(&d, &c, rc, out);
    check_release(&c);
    close_dir(&d, lock_fd);
    return rc;
}

/* --- rescue -------------------------------------------------------------- */

struct rescue {
    uint64_t next, epoch;
    enum err (*each)(const struct log_record *rec, void *ud, struct errbuf *e);
    void *ud;
};

static enum err rescue_segment(const struct log_dir *d, uint64_t first,
                               struct rescue *r, struct errbuf *e)
{
    struct seg_head head;
    struct rec_reader reader;
    struct log_record rec;
    enum rec_status st;
    int fd;
    enum err rc = seg_open(d, first, O_RDONLY, &fd, &head, e);
    if (rc == ERR_CORRUPT)
        return ERR_OK; /* without its head nothing of it can be read */
    if (rc != ERR_OK)
        return rc;
    rec_reader_init(&reader, fd, head.salt, SEG_DATA);
    while ((st = rec_reader_search(&reader, r->next - 1, head.size, &rec)) ==
               REC_OK &&
           rec.index == r->next && rec.epoch >= r->epoch) {
        rc = r->each(&rec, r->ud, e);
        if (rc != ERR_OK)
            break;
        r->next++;
        r->epoch = rec.epoch;
    }
    if (st == REC_IO)
        rc = err_sys(e, ERR_IO, errno, "cannot read %s/%020" PRIu64 ".seg",
                     d->path, first);
    rec_reader_release(&reader);
    (void)close(fd);
    return rc;
}

enum err log_rescue(const char *dir, uint64_t from, uint64_t *last,
                    enum err (*each)(const struct log_record *rec, void *ud,
                                     struct errbuf *e),
                    void *ud, struct errbuf *e)
{
    struct rescue r = {.next = from, .each = each, .ud = ud};
    struct log_dir d;
    uint64_t *n = NULL;
    size_t count = 0;
    int lock_fd;
    *last = from - 1;
    enum err rc = open_dir(dir, &d, &lock_fd, e);
    if (rc != ERR_OK)
        return rc;
    rc = seg_list(&d, ".seg", &n, &count, e);
    for (size_t i = 0; rc == ERR_OK && i < count && n[i] <= r.next; i++)
        if (i + 1 == count || n[i + 1] > r.next)
            rc = rescue_segment(&d, n[i], &r, e);
    *last = r.next - 1;
    mem_free(n);
    close_dir(&d, lock_fd);
    return rc;
}

/* --- salvage ------------------------------------------------------------- */

static enum err set_aside(const struct log_dir *d, uint64_t first,
                          struct errbuf *e)
{
    char name[SEG_NAME], lost[SEG_NAME];
    seg_name(name, first, ".seg");
    seg_name(lost, first, ".lost");
    return io_rename(d, name, lost, e);
}

static enum err copy_aside(const struct log_dir *d, uint64_t first,
                           struct errbuf *e)
{
    char name[SEG_NAME], lost[SEG_NAME];
    struct buf b = {0};
    int why = 0;
    seg_name(name, first, ".seg");
    seg_name(lost, first, ".lost");
    int from = openat(d->fd, name, O_RDONLY | O_CLOEXEC);
    int to = openat(d->fd, lost, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (from < 0 || to < 0)
        why = errno;
    for (uint64_t off = 0; why == 0; off += b.len) {
        buf_clear(&b);
        ssize_t n = io_read(from, buf_room(&b, 1 << 20), 1 << 20, off);
        if (n <= 0) {
            why = n < 0 ? errno : 0;
            break;
        }
        b.len = (size_t)n;
        why = io_write_bytes(d->io, to, b.data, b.len, off);
    }
    if (why == 0)
        why = io_sync(d->io, to);
    if (from >= 0)
        (void)close(from);
    if (to >= 0)
        (void)close(to);
    buf_release(&b);
    if (why != 0)
        return err_sys(e, ERR_IO, why, "cannot copy %s/%s to %s", d->path, name,
                       lost);
    return ERR_OK;
}

/* From the damage to the end of what can be read behind it. */
static enum err clear_damage(const struct log_dir *d, const struct check *c,
                             struct errbuf *e)
{
    uint64_t first = c->names[c->at];
    struct seg_head head;
    int fd;
    enum err rc = seg_open(d, first, O_RDWR, &fd, &head, e);
    if (rc != ERR_OK)
        return rc;
    uint64_t end = c->end.after_end > c->end.end ? c->end.after_end
                                                 : c->end.end + REC_HEAD;
    if (end > head.size)
        end = head.size;
    int why =
        end > c->end.end ? io_zero(NULL, fd, c->end.end, end - c->end.end) : 0;
    if (why == 0)
        why = io_sync(NULL, fd);
    (void)close(fd);
    if (why != 0)
        return err_sys(e, ERR_IO, why, "cannot clear %s/%020" PRIu64 ".seg",
                       d->path, first);
    return ERR_OK;
}

/* A segment to go on in, for a log that has none left at its end. */
static enum err add_segment(const struct log_dir *d, uint64_t first,
                            uint64_t epoch, struct errbuf *e)
{
    char name[SEG_NAME], temp[SEG_NAME];
    struct seg_head head = {.first = first,
                            .epoch = epoch,
                            .salt = seg_new_salt(),
                            .size = FIRST_SEGMENT_BYTES,
                            .created_ms = clock_wall_us() / 1000};
    int fd;
    seg_name(temp, 0, ".new");
    seg_name(name, first, ".seg");
    enum err rc = io_create(d, temp, head.size, &fd, e);
    if (rc != ERR_OK)
        return rc;
    int why = seg_write_head(d->io, fd, &head);
    (void)close(fd);
    if (why != 0)
        return err_sys(e, ERR_IO, why, "cannot write %s/%s", d->path, temp);
    return io_rename(d, temp, name, e);
}

static enum err save(const struct log_dir *d, struct check *c, struct errbuf *e)
{
    uint64_t next = c->end.last + 1;
    enum err rc = ERR_OK;
    /* The newest first, so that a crash leaves the same damage to salvage. */
    for (size_t i = c->count; rc == ERR_OK && i-- > c->at + 1;)
        rc = set_aside(d, c->names[i], e);
    if (rc == ERR_OK && c->count > 0 && !c->headless &&
        (c->end.after > 0 || c->end.why == REC_BAD))
        rc = copy_aside(d, c->names[c->at], e);
    if (rc == ERR_OK && c->count > 0 && !c->headless)
        rc = clear_damage(d, c, e);
    if (rc == ERR_OK && c->headless)
        rc = set_aside(d, c->names[c->at], e);
    if (rc == ERR_OK && (c->headless || c->count == 0))
        rc = add_segment(d, next, c->end.epoch, e);
    if (rc == ERR_OK)
        rc = io_sync_dir(d, e);
    if (rc != ERR_OK)
        return rc;
    c->mark.durable = c->end.last;
    c->mark.newest = c->headless || c->count == 0 ? next : c->names[c->at];
    c->mark.cut = 0;
    return mark_write(d, &c->mark, e);
}

enum err log_salvage(const char *dir, struct log_check *out, struct errbuf *e)
{
    struct log_dir d;
    struct check c;
    int lock_fd;
    *out = (struct log_check){0};
    enum err rc = open_dir(dir, &d, &lock_fd, e);
    if (rc != ERR_OK)
        return rc;
    rc = judge(&d, &c, NULL, NULL, e);
    tell(&d, &c, rc, out);
    if (rc == ERR_CORRUPT)
        rc = save(&d, &c, e);
    check_release(&c);
    close_dir(&d, lock_fd);
    return rc;
}
