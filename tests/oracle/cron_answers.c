/* Answers "when is the next time?", for the oracles.
 *
 * Input lines, fields separated by tabs: pattern, zone, after (unix ms).
 * Output: the next time in unix ms, "never", or "error: ..." */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cron/cron.h"
#include "cron/zone.h"

static void answer(const char *text, const char *zone, int64_t after_ms)
{
    struct cron *c = NULL;
    struct cron_rules rules = {0};
    struct errbuf e;
    uint64_t next;
    if (cron_parse(slice_str(text), SLICE_EMPTY, &c, &e) != ERR_OK ||
        zone_get(slice_str(zone), &rules.zone, &e) != ERR_OK)
        printf("error: %s\n", e.text);
    else if (cron_next(c, &rules, after_ms, &next, NULL))
        printf("%" PRIu64 "\n", next);
    else
        printf("never\n");
    cron_free(&c);
}

int main(void)
{
    char line[1024];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        char *save = NULL;
        const char *text = strtok_r(line, "\t", &save);
        const char *zone = strtok_r(NULL, "\t", &save);
        const char *after = strtok_r(NULL, "\t\n", &save);
        if (after == NULL) {
            fprintf(stderr, "three fields expected\n");
            return 1;
        }
        answer(text, zone, strtoll(after, NULL, 10));
    }
    zone_cache_clear();
    return 0;
}
