/* The records that the store itself writes, all in the family meta. The
 * engine's records are listed in engine/records.h. How a list becomes code is
 * told in store/record.h, the whole picture in store/format.h. */
#ifndef STORE_RECORDS_H
#define STORE_RECORDS_H

#include "store/record.h"

/* meta/applied: the base holds everything up to this index of the log. On the
 * disk it may lack some of what the last `unsure` entries before it did: see
 * rocks.h, fact 7. */
#define REC_APPLIED_V1(X) X(u64, index)
#define REC_APPLIED_V2(X) \
    X(u64, index)         \
    X(u64, unsure)

/* meta/format: who wrote this directory, and in which format. */
#define REC_FORMAT_V1(X) \
    X(bytes, owner)      \
    X(u32, version)

/* meta/start: the number of the last start, and when it was. */
#define REC_START_V1(X) \
    X(u32, number)      \
    X(u64, started_ms)

#define STORE_OWNER "belfry"
#define STORE_FORMAT 4
#define STORE_FORMAT_OLDEST 3 /* that is read; a start makes it the newest */

/* Every one, for tests of all records. */
#define STORE_RECORDS(R)         \
    R(rec_format, REC_FORMAT_V1) \
    R(rec_start, REC_START_V1)
#define STORE_RECORDS2(R) R(rec_applied, REC_APPLIED_V1, REC_APPLIED_V2)

/* clang-format off */
STORE_RECORDS(RECORD)
STORE_RECORDS2(RECORD2)
/* clang-format on */

/* Up to here the base has everything on the disk. */
static inline uint64_t applied_sure(const struct rec_applied *a)
{
    return a->index - a->unsure;
}

#endif
