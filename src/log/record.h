/* One record: its 40 bytes of head, and reading a run of them from a file.
 *
 *   0      8      12    16      24      32        40
 *   | sum  | mark | len | index | epoch | durable | entry ... | 0..7 pad |
 *
 * mark = xxh3(bytes 12..39), 32 bits of it: it tells a head from anything else
 * before `len` is believed. sum = xxh3(entry, seeded by xxh3(bytes 8..39)).
 * Both are seeded with the salt of the segment, so that neither an earlier life
 * of the file nor a payload that contains the image of a record ever verifies
 * (invariant 6 of log.h), and searching behind damage cannot be made slow by a
 * payload full of heads.
 */
#ifndef LOG_RECORD_H
#define LOG_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "log/log.h"
#include "util/buf.h"

#define REC_HEAD 40
#define REC_ALIGN 8

static inline uint64_t rec_size(uint64_t len)
{
    return REC_HEAD + (len + REC_ALIGN - 1) / REC_ALIGN * REC_ALIGN;
}

static inline uint32_t get_le32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static inline uint64_t get_le64(const unsigned char *p)
{
    return (uint64_t)get_le32(p) | (uint64_t)get_le32(p + 4) << 32;
}

static inline void put_le32(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> 8 * i);
}

static inline void put_le64(unsigned char *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (unsigned char)(v >> 8 * i);
}

void rec_encode(unsigned char head[REC_HEAD], const struct log_record *rec,
                uint64_t salt);

/* The record at the start of `bytes`, which may be anything. On success
 * rec->entry points into `bytes`. */
bool rec_decode(struct slice bytes, uint64_t salt, struct log_record *rec);

/* How many bytes the record takes whose head is at the start of `bytes`, or 0
 * if that is no head. The entry was not looked at. */
uint64_t rec_need(struct slice bytes, uint64_t salt);

/* Reads records one after the other through a window.
 *
 *   |---- before ----|== window ==|---- not read yet ----|
 *                    win_off
 * The window may hold bytes that were overwritten since; who reads a file that
 * is being written uses rec_reader_retry(). */
struct rec_reader {
    int fd;
    uint64_t salt;
    uint64_t off; /* of the next record */
    uint64_t win_off;
    struct buf win;
    size_t ahead; /* how much to read at once; grows while it pays */
};

enum rec_status {
    REC_OK,
    REC_BLANK, /* zeroes or the end of the file: nothing was written here */
    REC_BAD,   /* bytes that are no record */
    REC_IO,    /* the file cannot be read: errno */
};

void rec_reader_init(struct rec_reader *r, int fd, uint64_t salt, uint64_t off);
void rec_reader_release(struct rec_reader *r); /* does not close fd */

/* The record at r->off, which is moved behind it only on REC_OK. The entry is
 * borrowed until the next call. */
enum rec_status rec_reader_next(struct rec_reader *r, struct log_record *rec);

/* Forget the window and try again. */
enum rec_status rec_reader_retry(struct rec_reader *r, struct log_record *rec);

/* The next good record with an index above `last` that stands anywhere from
 * r->off to `end`, the length of the file: what is behind damage. Looks at
 * every eighth byte, 64 MiB in some 10 ms. */
enum rec_status rec_reader_search(struct rec_reader *r, uint64_t last,
                                  uint64_t end, struct log_record *rec);

#endif
