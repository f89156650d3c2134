/* The watermark: a small file that remembers how far the log had come, so that
 * a log that was deleted or put back to an older copy is noticed.
 *
 *   0            4096          8192
 *   | slot 0 ... | slot 1 ... |      written in turn, each with its own sum
 *
 *   slot: magic "BELFMARK", version, turn, durable, epoch, newest, cut, time
 *
 * Of the readable slots the one with the higher turn counts; a torn write hits
 * the older one only. It is written soon after a segment is begun, every few
 * seconds while the log moves, at a clean stop, and around a cut.
 *
 * Never ahead of the truth: what it names durable has been synced before.
 */
#ifndef LOG_WATERMARK_H
#define LOG_WATERMARK_H

#include <stdbool.h>
#include <stdint.h>

#include "log/io.h"

struct mark {
    uint64_t turn;    /* counts writes; set by mark_write() */
    uint64_t durable; /* an index that has been synced */
    uint64_t epoch;
    uint64_t newest;  /* name of the newest segment */
    uint64_t cut;     /* not 0: a suffix from here on is being cut off; finish
                         that before anything is judged */
    uint64_t time_ms; /* wall clock, for people */
};

enum mark_state {
    MARK_GOOD,
    MARK_MISSING,
    MARK_DAMAGED, /* neither slot can be read */
};

MUST_USE enum err mark_read(const struct log_dir *d, struct mark *m,
                            enum mark_state *state, struct errbuf *e);

/* Write and sync the next slot. */
MUST_USE enum err mark_write(const struct log_dir *d, struct mark *m,
                             struct errbuf *e);

#endif
