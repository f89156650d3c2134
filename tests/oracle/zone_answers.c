/* Answers questions about time zones, for tests/oracle/zones.py.
 *
 * Input lines:   z <zone>        from now on about this zone
 *                u <utc>         -> <offset>
 *                l <local>       -> once|gap|twice <first> <last>
 *                c <from> <to>   -> the changes in [from, to), on one line
 * Seconds everywhere. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cron/zone.h"

static void answer(const struct zone *z, char kind, int64_t a, int64_t b)
{
    static const char *const words[] = {"once", "gap", "twice"};
    struct zone_local local;
    struct zone_span span;
    switch (kind) {
    case 'u':
        printf("%" PRId32 "\n", zone_offset_at(z, a));
        break;
    case 'l':
        zone_local_to_utc(z, a, &local);
        printf("%s %" PRId64 " %" PRId64 "\n", words[local.when], local.first,
               local.last);
        break;
    case 'c':
        for (zone_span_at(z, a, &span); span.end < b;
             zone_span_at(z, span.end, &span))
            printf("%" PRId64 " ", span.end);
        printf("\n");
        break;
    }
}

int main(void)
{
    char line[256];
    const struct zone *z = zone_utc();
    struct errbuf e;
    while (fgets(line, sizeof(line), stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == 'z') {
            if (zone_get(slice_str(line + 2), &z, &e) != ERR_OK) {
                fprintf(stderr, "%s\n", e.text);
                return 1;
            }
            if (!zone_check(z)) {
                fprintf(stderr, "%s: zone_check\n", line + 2);
                return 1;
            }
            continue;
        }
        char *next;
        int64_t a = strtoll(line + 1, &next, 10);
        answer(z, line[0], a, strtoll(next, NULL, 10));
    }
    zone_cache_clear();
    return 0;
}
