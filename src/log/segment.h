/* Segment files: their heads, their names, and what stands in them.
 *
 *   0          4096       8192
 *   | head ... | head ... | record | record | ... | zeroes or stale bytes |
 *
 *   head: magic "BELFLOG1", version, first index, epoch, salt, size, time, sum
 *
 * There are two copies of the head in two pages, because with the salt lost no
 * record of the segment could be verified any more. The size is that of the
 * allocated file: a shorter file was cut off by somebody.
 */
#ifndef LOG_SEGMENT_H
#define LOG_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "log/io.h"
#include "log/record.h"
#include "util/list.h"

#define SEG_DATA UINT64_C(8192) /* where records begin */
#define SEG_NAME 48             /* room for any file name of ours */

struct seg_head {
    uint64_t first;      /* index of its first record */
    uint64_t epoch;      /* of the log when it was begun */
    uint64_t salt;       /* random, one per life of the file */
    uint64_t size;       /* bytes allocated */
    uint64_t created_ms; /* wall clock, for people */
};

/* A segment that is kept. Owned by the list it stands in. */
struct segment {
    struct list node;
    struct seg_head head;
    unsigned readers; /* iterators that have it open */
    bool dropped;     /* in no list any more; the last reader frees it */
};

/* Take `seg` out of its list, and free it unless it is being read. */
void seg_drop(struct segment *seg);

/* "00000000000000000042.seg", ".spare" or ".reserve". A spare has been written
 * with zeroes, so that overwriting it syncs fast; a reserve only has its space
 * allocated. */
void seg_name(char name[SEG_NAME], uint64_t n, const char *suffix);
bool seg_parse_name(const char *name, uint64_t *n, const char *suffix);

/* The file names with `suffix` in `d`, as sorted numbers (mem_free). */
MUST_USE enum err seg_list(const struct log_dir *d, const char *suffix,
                           uint64_t **out, size_t *count, struct errbuf *e);

uint64_t seg_new_salt(void);

/* Write both copies of the head and sync. */
int seg_write_head(const struct log_io *io, int fd, const struct seg_head *h);

/* Open segment `first` (flags: O_RDONLY or O_RDWR) and read its head.
 *
 * Errors:
 *   ERR_CORRUPT  no usable head, wrong index, or the file was cut off. */
MUST_USE enum err seg_open(const struct log_dir *d, uint64_t first, int flags,
                           int *fd, struct seg_head *head, struct errbuf *e);

/* What reading a segment from end to end says. */
struct seg_scan {
    uint64_t last;       /* index of the last good record; first - 1: none */
    uint64_t epoch;      /* of the last good record, or of the head */
    uint64_t end;        /* offset behind it */
    uint64_t named;      /* highest durable index that good ones name */
    enum rec_status why; /* REC_BLANK: it ended as it should; else REC_BAD */
    /* good records behind the first unreadable place: */
    uint64_t after;
    uint64_t after_last;  /* highest index of them */
    uint64_t after_named; /* highest durable index they name */
    uint64_t after_end;   /* offset behind the last */
};

/* Calls `each` (may be NULL) for every good record of the prefix.
 *
 * Errors: ERR_IO, or what `each` returned. Damage is not an error here: the
 * caller knows what it means. */
MUST_USE enum err seg_scan(const struct log_dir *d, int fd,
                           const struct seg_head *head, uint64_t epoch,
                           struct seg_scan *out,
                           enum err (*each)(const struct log_record *rec,
                                            void *ud, struct errbuf *e),
                           void *ud, struct errbuf *e);

#endif
