/* Judging a log: what its files hold, and whether that is damage.
 *
 * One judge for log_open(), log_verify() and log_salvage(), so that the three
 * can never disagree. It reads and changes nothing. Invariant 4 of log.h lives
 * here.
 */
#ifndef LOG_CHECK_H
#define LOG_CHECK_H

#include "log/segment.h"
#include "log/watermark.h"

struct check {
    struct mark mark;
    enum mark_state mark_state;
    uint64_t *names;        /* of the segments, sorted */
    struct seg_head *heads; /* one for each; first is 0 where none was read */
    size_t count;
    size_t at;           /* the segment looked at last: the newest, or where
                            the damage is */
    struct seg_scan end; /* what it holds; .last also without any segment */
    bool headless;       /* its head cannot be read */
    uint64_t records;    /* good ones, before any damage */
};

/* Judge the log in `d`; records below verify_from are not read. `each` (may be
 * NULL) is called for every good record and may stop it.
 *
 * Errors:
 *   ERR_CORRUPT  damage; *e names file, offset and index, `c` is filled in. */
MUST_USE enum err check_dir(const struct log_dir *d, uint64_t verify_from,
                            struct check *c,
                            enum err (*each)(const struct log_record *rec,
                                             void *ud, struct errbuf *e),
                            void *ud, struct errbuf *e);
void check_release(struct check *c);

#endif
