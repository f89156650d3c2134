/* The inside of a cron: what the parser fills and the search reads.
 *
 * Fields are masks; bit n of `dom` is day n (1 to 31), of `month` month n. The
 * parser fills everything but `months_of_kind` and `never`, which
 * pattern_finish() derives.
 *
 * Invariants:
 *  1. No mask of second, minute, hour and month is empty.
 *  2. months_of_kind[k] has bit m if and only if month m is in `month` and has
 *     a matching day in a year of kind k.
 */
#ifndef CRON_PATTERN_H
#define CRON_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "cron/cron.h"

#define CRON_MAGIC 0x43726f6eu
#define CRON_YEARS (CRON_YEAR_MAX - CRON_YEAR_MIN + 1)
#define DAY_S 86400

/* A year is known by whether it is a leap year and by the weekday of its
 * 1 January: 14 kinds. */
#define YEAR_KINDS 14

struct cron {
    OBJ_MAGIC;
    bool every, reboot, elapsed, never;
    bool minutes; /* five fields: nothing was said about seconds */
    uint64_t every_ms, anchor_ms;

    uint64_t second, minute;
    uint32_t hour;
    uint16_t month;
    uint64_t years[(CRON_YEARS + 63) / 64]; /* bit n is CRON_YEAR_MIN + n */

    uint32_t dom;
    uint8_t dom_workday; /* nW: n; 0 is none */
    bool dom_last;       /* L */
    bool dom_last_workday;
    bool dom_star; /* the field begins with `*` or `?`: unrestricted */

    uint8_t dow;    /* bit 0 is Sunday; every such day of the month */
    uint8_t nth[5]; /* n#m: bit n in nth[m - 1] */
    uint8_t dow_last;
    bool dow_star;
    bool both; /* leading +: day fields joined by AND */

    uint16_t months_of_kind[YEAR_KINDS];
};

/* Derive `months_of_kind` and `never`. */
void pattern_finish(struct cron *c);

/* The matching days (bits 1 to 31) of a month of `len` days whose first is
 * the weekday `first` (0 is Sunday). */
uint32_t pattern_days(const struct cron *c, unsigned len, unsigned first);

/* The first matching local second at or after `local_s`; false: none up to the
 * end of CRON_YEAR_MAX. */
bool pattern_next(const struct cron *c, int64_t local_s, int64_t *out);

/* Is this local second (or the minute it is in) a match? *end lies behind it:
 * all that begins in between is one, too. */
bool pattern_covers(const struct cron *c, int64_t local_s, int64_t *end);

#endif
