/* Time zones: what the local clock shows at an instant, and back.
 *
 * A zone is a list of instants at which its offset from UTC changes, read from
 * the system's TZif files (RFC 9636, versions 1 to 4) and continued for ever by
 * the rule in their footer:
 *
 *     UTC    ---- span ----|------- span -------|---- span ----
 *     local  offset 3600   |    offset 7200     |  offset 3600
 *                        begin                 end
 *
 * The process's own TZ is never read or changed, so no lock of the C library
 * is shared with other threads. Zones belong to one thread (the loop), which
 * reads each file once, some two kilobytes, and looks at its date once an hour.
 *
 * Zones are cached by name and live until zone_cache_clear(). A reload changes
 * a zone in place: pointers stay valid, zone_version() tells that it happened.
 *
 * Seconds are unix seconds. "Local seconds" are the civil time on the wall,
 * counted as if it were UTC.
 *
 * Invariants (checked by zone_check()):
 *  1. The instants of change ascend strictly.
 *  2. Two neighbouring spans differ in offset.
 *  3. Offsets are within 26 hours.
 */
#ifndef CRON_ZONE_H
#define CRON_ZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"
#include "util/slice.h"

#define ZONE_NAME_MAX 64
#define ZONE_OFFSET_MAX (26 * 3600)

struct zone;

/* A stretch of time with one offset: begin <= t < end. A zone's first span
 * begins at INT64_MIN and a last one ends at INT64_MAX. `before` and `after`
 * are the neighbours' offsets, or `offset` where there is no neighbour. */
struct zone_span {
    int64_t begin, end;
    int32_t offset;
    int32_t before, after;
};

enum zone_when {
    ZONE_ONCE,  /* an ordinary local time: first == last */
    ZONE_GAP,   /* skipped by the clock: first == last == the first instant
                   behind the gap */
    ZONE_TWICE, /* shown twice: first < last */
};

struct zone_local {
    enum zone_when when;
    int64_t first, last;
};

/* Find a zone by its IANA name ("Europe/Zurich"; exact case). "UTC" needs no
 * file.
 *
 * Errors:
 *   ERR_SYNTAX   not a name that a zone can have, or no such zone
 *   ERR_IO       the file cannot be read
 *   ERR_CORRUPT  the file is not a zone; *e says what is wrong with it
 */
MUST_USE enum err zone_get(struct slice name, const struct zone **out,
                           struct errbuf *e);

const struct zone *zone_utc(void);
const char *zone_name(const struct zone *z);

/* Grows by one each time the zone's data changed under it. */
uint32_t zone_version(const struct zone *z);

/* The span that `utc_s` lies in. */
void zone_span_at(const struct zone *z, int64_t utc_s, struct zone_span *out);

int32_t zone_offset_at(const struct zone *z, int64_t utc_s);

/* When the wall shows `local_s`. */
void zone_local_to_utc(const struct zone *z, int64_t local_s,
                       struct zone_local *out);

/* Look whether the files of cached zones were replaced and read those again.
 * Returns how many zones changed. A file that has become unreadable leaves
 * its zone as it was and is tried again next time; *e (may be NULL) then names
 * the last one, else its text is empty. */
unsigned zone_reload_changed(struct errbuf *e);

/* Where the files are; "/usr/share/zoneinfo" unless told. Clears the cache. */
void zone_set_dir(const char *path);
void zone_cache_clear(void); /* every zone from zone_get() is gone */

/* Invariants 1 to 3; used by tests. */
bool zone_check(const struct zone *z);

#endif
