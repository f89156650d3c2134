/* TZif files (RFC 9636) and the POSIX rule in their footer.
 *
 *     header (44 bytes) | data, 32 bit times   <- version 1, skipped if more
 *     header            | data, 64 bit times   <- versions 2 to 4
 *     "\n" rule "\n"                           <- CET-1CEST,M3.5.0,M10.5.0/3
 *
 * Both become one table of instants and offsets. A rule with daylight saving
 * is written out for TZ_CYCLE_YEARS behind the last stored change; the
 * Gregorian calendar repeats after that, so the table continues as a cycle.
 *
 * Bytes are never trusted: each count and index is checked, and an error names
 * what is wrong. Leap seconds ("right/" files) are refused, because unix time
 * has none.
 */
#ifndef CRON_TZIF_H
#define CRON_TZIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "util/slice.h"

#define TZ_CYCLE_YEARS 400
#define TZ_CYCLE_S ((int64_t)146097 * 86400)
#define TZIF_SIZE_MAX (256 * 1024)

/* offset[i] holds before at[i], offset[len] from at[len - 1] on. */
struct tz_table {
    int64_t *at;
    int32_t *offset;
    size_t len, cap;
    bool cyclic; /* the last TZ_CYCLE_S before at[len - 1] repeat for ever */
};

/* One side of a rule: when in the year, in the local time before it. */
struct tz_day {
    enum { TZ_JULIAN, TZ_DAY0, TZ_MONTH } kind;
    unsigned month, week, day; /* TZ_MONTH: week 5 is the last */
    int32_t time_s;
};

struct tz_rule {
    int32_t std, dst; /* offsets east of UTC */
    bool has_dst;
    struct tz_day start, end; /* of daylight saving */
};

/* ERR_CORRUPT with a sentence if `bytes` is not a usable TZif file. On success
 * the table is the caller's: tz_table_release(). */
MUST_USE enum err tzif_decode(struct slice bytes, struct tz_table *out,
                              struct errbuf *e);

/* A table that has `offset` for ever. */
void tz_table_init(struct tz_table *t, int32_t offset);
void tz_table_release(struct tz_table *t);

/* Append a change; one that changes nothing is dropped, and one at the instant
 * of the last replaces it. */
void tz_table_add(struct tz_table *t, int64_t at, int32_t offset);

MUST_USE enum err tz_rule_parse(struct slice text, struct tz_rule *out,
                                struct errbuf *e);

/* Append what the rule says for instants after `after`, from year `year` on. */
void tz_rule_expand(const struct tz_rule *r, int64_t year, int64_t after,
                    struct tz_table *t);

#endif
