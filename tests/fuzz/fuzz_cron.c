#include <stddef.h>
#include <stdint.h>

#include "cron/cron.h"
#include "cron/tzif.h"
#include "cron/zone.h"

/* The pattern parser, the search and the TZif reader. The first byte chooses
 * the instant and zone, or that the rest is a zone file.
 *
 * Whatever parses must obey the laws: next is strictly later and covered, prev
 * of next comes back to it, an error has a sentence. */

static void try_file(struct slice bytes)
{
    struct tz_table t;
    struct errbuf e;
    if (tzif_decode(bytes, &t, &e) != ERR_OK) {
        ASSERT(e.text[0] != '\0');
        return;
    }
    for (size_t i = 1; i < t.len; i++)
        ASSERT(t.at[i - 1] < t.at[i]);
    for (size_t i = 1; i <= t.len; i++)
        ASSERT(t.offset[i - 1] != t.offset[i]);
    for (size_t i = 0; i <= t.len; i++)
        ASSERT(t.offset[i] >= -ZONE_OFFSET_MAX &&
               t.offset[i] <= ZONE_OFFSET_MAX);
    tz_table_release(&t);
}

static void try_pattern(struct slice text, unsigned choice)
{
    struct cron_rules rules = {.gap = (enum cron_gap)(choice & 1),
                               .fold = (enum cron_fold)(choice % 3),
                               .gap_given = (choice & 4) != 0,
                               .fold_given = (choice & 8) != 0};
    struct cron *c = NULL;
    struct errbuf e = {{0}};
    if (cron_parse(text, SLICE_LIT("name"), &c, &e) != ERR_OK) {
        ASSERT(c == NULL);
        ASSERT(e.text[0] != '\0');
        return;
    }
    if ((choice & 16) != 0 &&
        zone_get(SLICE_LIT("Europe/Zurich"), &rules.zone, &e) != ERR_OK)
        rules.zone = NULL;
    int64_t t = (int64_t)choice * 5000000000 - 1;
    uint64_t next, back, until;
    unsigned marks;
    for (int i = 0; i < 4 && cron_next(c, &rules, t, &next, &marks); i++) {
        ASSERT((int64_t)next > t);
        ASSERT(cron_covers(c, rules.zone, next, (marks & CRON_MARK_GAP) != 0,
                           &until));
        ASSERT(until > next);
        ASSERT(cron_prev(c, &rules, (int64_t)next + 1, &back, NULL));
        ASSERT(back == next);
        t = (int64_t)next;
    }
    cron_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct slice rest = slice_of(data + 1, size - 1);
    if (data[0] == 255)
        try_file(rest);
    else
        try_pattern(rest, data[0]);
    return 0;
}
