/* Words into numbers: the units that commands and configuration share.
 *
 * Durations are integers in ms or carry a suffix: 250ms 30s 5m 2h 7d.
 * Times are unix ms or RFC 3339. Sizes accept kb mb gb (1024) and k m g (1000)
 * as Redis does. Nothing is rounded and nothing overflows silently.
 *
 * All return false on anything else; the caller names the word in its error.
 */
#ifndef UTIL_PARSE_H
#define UTIL_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/slice.h"

#define DURATION_MS_MAX ((uint64_t)100 * 366 * 86400 * 1000) /* 100 years */
#define TIME_MS_MAX ((uint64_t)253402300799999)              /* end of 9999 */

bool parse_u64(struct slice s, uint64_t *out);
bool parse_i64(struct slice s, int64_t *out);
bool parse_double(struct slice s, double *out); /* finite, plain decimal */
bool parse_duration_ms(struct slice s, uint64_t *out);
bool parse_time_ms(struct slice s, uint64_t *out);
bool parse_size(struct slice s, uint64_t *out);

/* The civil calendar (proleptic Gregorian), days since 1970-01-01. */
int64_t days_from_civil(int64_t year, unsigned month, unsigned day);
void civil_from_days(int64_t days, int64_t *year, unsigned *month,
                     unsigned *day);

/* Redis' glob: * ? [a-z] [^a] and backslash; work is bounded by
 * len(pattern) x len(s). */
bool glob_match(struct slice pattern, struct slice s);
bool glob_match_nocase(struct slice pattern, struct slice s);

#endif
