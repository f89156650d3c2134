/* What `next` costs: each pattern of a corpus from many instants.
 *
 *   cron_next patterns.tsv zone
 *
 * Prints one line per pattern: kind, pattern, median ns, worst ns. The instants
 * are the same in benchmarks/cron/'s other programs. An instant's cost is the
 * lowest of a few tries of a short loop, so that what the machine does
 * meanwhile does not count; median and worst are over the instants. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cron/cron.h"
#include "cron/zone.h"

#define INSTANTS 500
#define TRIES 7
#define LOOP 8

static uint64_t mono_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Spread over 2024 to 2031, the same on every run and in every program. */
static int64_t instant(unsigned i)
{
    uint64_t x = ((uint64_t)i * 2654435761u) % 4294967296u;
    return (int64_t)(1704067200 + x % (8 * 365 * 86400u)) * 1000;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void measure(const char *kind, const char *text,
                    const struct cron_rules *rules)
{
    static uint64_t ns[INSTANTS];
    struct cron *c = NULL;
    struct errbuf e;
    uint64_t next, sum = 0;
    if (cron_parse(slice_str(text), SLICE_EMPTY, &c, &e) != ERR_OK) {
        (void)fprintf(stderr, "%s: %s\n", text, e.text);
        exit(1);
    }
    for (unsigned i = 0; i < INSTANTS; i++) {
        ns[i] = UINT64_MAX;
        for (unsigned try = 0; try < TRIES; try++) {
            uint64_t begin = mono_ns();
            for (unsigned j = 0; j < LOOP; j++)
                if (cron_next(c, rules, instant(i), &next, NULL))
                    sum += next;
            uint64_t spent = (mono_ns() - begin) / LOOP;
            if (spent < ns[i])
                ns[i] = spent;
        }
    }
    qsort(ns, INSTANTS, sizeof(ns[0]), by_size);
    printf("%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", kind, text,
           ns[INSTANTS / 2], ns[INSTANTS - 1], sum % 1000003);
    cron_free(&c);
}

int main(int argc, char **argv)
{
    char line[512];
    struct cron_rules rules = {0};
    struct errbuf e;
    FILE *f = argc == 3 ? fopen(argv[1], "r") : NULL;
    if (f == NULL) {
        (void)fprintf(stderr, "usage: cron_next patterns.tsv zone\n");
        return 2;
    }
    if (zone_get(slice_str(argv[2]), &rules.zone, &e) != ERR_OK) {
        (void)fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    while (fgets(line, sizeof(line), f) != NULL) {
        char *save = NULL;
        const char *kind = strtok_r(line, "\t", &save);
        const char *text = strtok_r(NULL, "\n", &save);
        if (text != NULL)
            measure(kind, text, &rules);
    }
    (void)fclose(f);
    zone_cache_clear();
    return 0;
}
