#include "log/record.h"

#include <errno.h>
#include <string.h>

#include "log/io.h"
#include "util/hash.h"

/* 8 KiB serve a feed that follows record by record, 1 MiB a replay. */
#define AHEAD_MIN ((size_t)8 << 10)
#define AHEAD_MAX ((size_t)1 << 20)

static uint32_t rec_mark(const unsigned char *head, uint64_t salt)
{
    return (uint32_t)hash64_seed(slice_of(head + 12, REC_HEAD - 12), salt);
}

static uint64_t rec_sum(const unsigned char *head, struct slice entry,
                        uint64_t salt)
{
    uint64_t seed = hash64_seed(slice_of(head + 8, REC_HEAD - 8), salt);
    return hash64_seed(entry, seed);
}

void rec_encode(unsigned char head[REC_HEAD], const struct log_record *rec,
                uint64_t salt)
{
    ASSERT(rec->entry.len <= LOG_ENTRY_MAX);
    ASSERT(rec->durable < rec->index);
    put_le32(head + 12, (uint32_t)rec->entry.len);
    put_le64(head + 16, rec->index);
    put_le64(head + 24, rec->epoch);
    put_le64(head + 32, rec->durable);
    put_le32(head + 8, rec_mark(head, salt));
    put_le64(head, rec_sum(head, rec->entry, salt));
}

uint64_t rec_need(struct slice bytes, uint64_t salt)
{
    const unsigned char *p = (const unsigned char *)bytes.data;
    /* No index is 0, which passes zeroes by without hashing them. */
    if (bytes.len < REC_HEAD || get_le64(p + 16) == 0 ||
        get_le32(p + 12) > LOG_ENTRY_MAX ||
        get_le32(p + 8) != rec_mark(p, salt))
        return 0;
    return rec_size(get_le32(p + 12));
}

bool rec_decode(struct slice bytes, uint64_t salt, struct log_record *rec)
{
    const unsigned char *p = (const unsigned char *)bytes.data;
    uint64_t need = rec_need(bytes, salt);
    if (need == 0 || bytes.len < need)
        return false;
    rec->entry = slice_of(p + REC_HEAD, get_le32(p + 12));
    rec->index = get_le64(p + 16);
    rec->epoch = get_le64(p + 24);
    rec->durable = get_le64(p + 32);
#ifdef BELFRY_SABOTAGE_NO_CHECKSUM
    return rec->durable < rec->index; /* a cheat that the rigs must catch */
#endif
    return get_le64(p) == rec_sum(p, rec->entry, salt) &&
           rec->durable < rec->index;
}

void rec_reader_init(struct rec_reader *r, int fd, uint64_t salt, uint64_t off)
{
    *r = (struct rec_reader){.fd = fd, .salt = salt, .off = off};
    buf_init(&r->win);
    r->ahead = AHEAD_MIN;
}

void rec_reader_release(struct rec_reader *r)
{
    buf_release(&r->win);
}

/* The bytes from `off`, `need` of them if the file has them. */
static bool window(struct rec_reader *r, uint64_t off, uint64_t need,
                   struct slice *out)
{
    if (off < r->win_off || off + need > r->win_off + r->win.len) {
        size_t want = need > r->ahead ? (size_t)need : r->ahead;
        buf_clear(&r->win);
        ssize_t n = io_read(r->fd, buf_room(&r->win, want), want, off);
        if (n < 0)
            return false;
        r->win.len = (size_t)n;
        r->win_off = off;
        if (r->ahead < AHEAD_MAX)
            r->ahead *= 2;
    }
    size_t skip = (size_t)(off - r->win_off);
    if (skip > r->win.len)
        skip = r->win.len;
    *out = slice_of(r->win.data + skip, r->win.len - skip);
    return true;
}

static bool all_zero(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] != 0)
            return false;
    return true;
}

enum rec_status rec_reader_next(struct rec_reader *r, struct log_record *rec)
{
    struct slice s;
    if (!window(r, r->off, REC_HEAD, &s))
        return REC_IO;
    if (all_zero(slice_of(s.data, s.len < REC_HEAD ? s.len : REC_HEAD)))
        return REC_BLANK;
    uint64_t need = rec_need(s, r->salt);
    if (need == 0)
        return REC_BAD;
    if (s.len < need && !window(r, r->off, need, &s))
        return REC_IO;
    if (!rec_decode(s, r->salt, rec))
        return REC_BAD;
    r->off += need;
    return REC_OK;
}

enum rec_status rec_reader_retry(struct rec_reader *r, struct log_record *rec)
{
    buf_clear(&r->win);
    r->ahead = AHEAD_MIN;
    return rec_reader_next(r, rec);
}

/* The first offset in `s` where the index of a head could be one of the
 * `most` above `last`; s.len if there is none. Cheap, because a start reads a
 * whole segment this way and nearly all of it is zeroes or older records. */
static size_t likely_head(struct slice s, uint64_t last, uint64_t most)
{
    const unsigned char *p = (const unsigned char *)s.data;
    size_t i = 0;
    for (; i + REC_HEAD <= s.len; i += REC_ALIGN) {
        uint64_t index = get_le64(p + i + 16);
        if (index - last - 1 < most)
            return i;
    }
    return i;
}

enum rec_status rec_reader_search(struct rec_reader *r, uint64_t last,
                                  uint64_t end, struct log_record *rec)
{
    uint64_t most = end / REC_HEAD;
    r->ahead = AHEAD_MAX;
    while (r->off + REC_HEAD <= end) {
        struct slice s;
        if (!window(r, r->off, REC_HEAD, &s))
            return REC_IO;
        if (s.len < REC_HEAD)
            break; /* the file is shorter than its head says */
        size_t skip = likely_head(s, last, most);
        r->off += skip;
        if (skip + REC_HEAD > s.len)
            continue; /* on to the next window */
        enum rec_status st = rec_reader_next(r, rec);
        if (st == REC_OK || st == REC_IO)
            return st;
        r->off += REC_ALIGN;
    }
    return REC_BLANK;
}
