/* The order of questions:
 *
 *   1. watermark: is there one?
 *   2. no segments: a new log, unless the watermark knows better
 *   3. every segment: a head; and if it is not the newest, records up to the
 *      next one's name
 *   4. the newest: is what cannot be read named durable by a later record or by
 *      the watermark? Then it is damage, else the tail
 *   5. its name: not older than the newest that the watermark knows
 */
#include "log/check.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "util/alloc.h"

struct walk {
    const struct log_dir *d;
    struct check *c;
    enum err (*each)(const struct log_record *rec, void *ud, struct errbuf *e);
    void *ud;
};

static enum err damage(const struct walk *w, uint64_t named, const char *by,
                       struct errbuf *e)
{
    const struct check *c = w->c;
    return err_set(e, ERR_CORRUPT,
                   "%s/%020" PRIu64 ".seg, offset %" PRIu64 ": record %" PRIu64
                   " cannot be read, but %s names %" PRIu64 " as durable",
                   w->d->path, c->names[c->at], c->end.end, c->end.last + 1, by,
                   named);
}

static enum err rolled_back(const struct walk *w, const char *what,
                            struct errbuf *e)
{
    const struct mark *m = &w->c->mark;
    return err_set(e, ERR_CORRUPT,
                   "%s: the watermark says that record %" PRIu64
                   " was durable and segment %020" PRIu64
                   ".seg existed, but %s: the log was deleted or rolled back",
                   w->d->path, m->durable, m->newest, what);
}

static enum err counted(const struct log_record *rec, void *ud,
                        struct errbuf *e)
{
    struct walk *w = (struct walk *)ud;
    w->c->records++;
    return w->each == NULL ? ERR_OK : w->each(rec, w->ud, e);
}

/* Segment `i` into c->end. */
static enum err look_at(struct walk *w, size_t i, struct errbuf *e)
{
    struct check *c = w->c;
    uint64_t first = c->names[i], epoch = c->end.epoch;
    int fd;
    c->at = i;
    enum err rc = seg_open(w->d, first, O_RDONLY, &fd, &c->heads[i], e);
    if (rc == ERR_OK) {
        rc = seg_scan(w->d, fd, &c->heads[i], epoch, &c->end, counted, w, e);
        (void)close(fd);
        return rc;
    }
    c->headless = rc == ERR_CORRUPT;
    c->end = (struct seg_scan){.last = first - 1, .epoch = epoch};
    return rc;
}

static enum err look_at_all(struct walk *w, uint64_t verify_from,
                            struct errbuf *e)
{
    struct check *c = w->c;
    for (size_t i = 0; i < c->count; i++) {
        bool newest = i + 1 == c->count;
        if (!newest && c->names[i + 1] <= verify_from) {
            int fd = -1; /* the head all the same: its size is wanted */
            c->at = i;
            c->end.last = c->names[i] - 1;
            enum err rc =
                seg_open(w->d, c->names[i], O_RDONLY, &fd, &c->heads[i], e);
            if (rc != ERR_OK) {
                c->headless = rc == ERR_CORRUPT;
                return rc;
            }
            (void)close(fd);
            continue;
        }
        enum err rc = look_at(w, i, e);
        if (rc != ERR_OK)
            return rc;
        if (newest)
            break;
        uint64_t next = c->names[i + 1];
        if (c->end.last < next - 1)
            return damage(w, next - 1, "the next segment", e);
        if (c->end.last > next - 1)
            return err_set(e, ERR_CORRUPT,
                           "%s/%020" PRIu64 ".seg, offset %" PRIu64
                           ": records up to %" PRIu64
                           ", but the next segment begins at %" PRIu64,
                           w->d->path, c->names[i], c->end.end, c->end.last,
                           next);
    }
    if (c->end.after_named > c->end.last)
        return damage(w, c->end.after_named, "a later record", e);
    if (c->mark_state == MARK_GOOD && c->mark.durable > c->end.last)
        return damage(w, c->mark.durable, "the watermark", e);
    return ERR_OK;
}

enum err check_dir(const struct log_dir *d, uint64_t verify_from,
                   struct check *c,
                   enum err (*each)(const struct log_record *rec, void *ud,
                                    struct errbuf *e),
                   void *ud, struct errbuf *e)
{
    *c = (struct check){0};
    struct walk w = {d, c, each, ud};
    enum err rc = mark_read(d, &c->mark, &c->mark_state, e);
    if (rc == ERR_OK)
        rc = seg_list(d, ".seg", &c->names, &c->count, e);
    if (rc != ERR_OK)
        return rc;
    bool marked = c->mark_state == MARK_GOOD;
    if (c->count == 0) {
        c->end.last = c->mark.durable;
        return marked ? rolled_back(&w, "there is no segment", e) : ERR_OK;
    }
    c->heads =
        (struct seg_head *)mem_zalloc(c->count * sizeof(struct seg_head));
    rc = look_at_all(&w, verify_from, e);
    /* Said last, because salvage wants to know what the rest looks like. */
    if (rc == ERR_OK && marked && c->names[c->count - 1] < c->mark.newest)
        rc = rolled_back(&w, "it is missing", e);
    return rc;
}

void check_release(struct check *c)
{
    FREE(&c->names);
    FREE(&c->heads);
    c->count = 0;
}
