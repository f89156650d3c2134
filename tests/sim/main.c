/* The simulation: the engine on a disk in memory, with a virtual clock, clients
 * that misbehave and crashes that lose the unsynced suffix. A third of the
 * seeds have schedules, around a change of some zone's clock, and a wall clock
 * that is set forwards and backwards. Each of the others draws what else it
 * has: limits and breakers, full queues, quotas of owners, keys, times by which
 * jobs end, owners who take turns, workers in line, leases by weights, notes
 * and changes. Any of them may have clients that wait for jobs to end.
 *
 *   belfry-sim [--seeds n] [--first seed] [--ops n]   each seed runs twice, and
 *                                                     both must agree
 *   belfry-sim --seed s [--ops n] [--skip 3,7-9] [--trace]
 *                                                     one, to repeat a failure
 *   belfry-sim --year | --days n                      a calm year, or about
 *                                              n days, of some 1,000 operations
 *                                              an hour, timed
 *
 * A failing seed prints the line that repeats it, cut behind the first
 * violation and without the operations that it does not need.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shrink.h"
#include "world.h"

static int run_one(struct world_options o)
{
    struct world_report a, b;
    world_run(&o, &a);
    if (a.violation[0] != '\0') {
        (void)printf("seed %llu: %s\n", (unsigned long long)o.seed,
                     a.violation);
        if (!o.trace)
            shrink(&o);
        shrink_print(&o);
        return 1;
    }
    world_run(&o, &b);
    if (a.hash != b.hash) {
        (void)printf("seed %llu: two runs differ\n",
                     (unsigned long long)o.seed);
        return 1;
    }
    return 0;
}

static int calm(uint64_t days)
{
    const uint64_t day_ms = (uint64_t)86400 * 1000;
    uint64_t done_ms = 0, ops = 0, leases = 0, completed = 0, lost = 0;
    clock_t began = clock();
    for (uint64_t seed = 1; done_ms < days * day_ms; seed++) {
        struct world_options o = {
            .seed = seed, .ops = 200000, .calm = true, .pace_ms = 13000};
        struct world_report r;
        world_run(&o, &r);
        if (r.violation[0] != '\0') {
            (void)printf("%s\n", r.violation);
            return 1;
        }
        done_ms += r.simulated_ms;
        ops += r.ops;
        leases += r.leases;
        completed += r.completed;
        lost += r.lost;
    }
    double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    (void)printf("%.1f simulated days, %llu operations (%.0f a simulated "
                 "hour) in %.1f s of CPU\n",
                 (double)done_ms / (double)day_ms, (unsigned long long)ops,
                 (double)ops / ((double)done_ms / 3600000.0), seconds);
    (void)printf("%llu leases, %llu of them lost, %llu jobs completed\n",
                 (unsigned long long)leases, (unsigned long long)lost,
                 (unsigned long long)completed);
    return 0;
}

int main(int argc, char **argv)
{
    struct world_options o = {.ops = 400};
    uint64_t seeds = 200, first = 1;
    bool one = false;
    for (int i = 1; i < argc; i++) {
        const char *v = i + 1 < argc ? argv[i + 1] : "0";
        if (strcmp(argv[i], "--year") == 0)
            return calm(365);
        if (strcmp(argv[i], "--trace") == 0) {
            o.trace = true;
            continue;
        }
        uint64_t n = strtoull(v, NULL, 10);
        if (strcmp(argv[i], "--days") == 0)
            return calm(n);
        if (strcmp(argv[i], "--seeds") == 0)
            seeds = n;
        else if (strcmp(argv[i], "--first") == 0)
            first = n;
        else if (strcmp(argv[i], "--ops") == 0)
            o.ops = (uint32_t)n;
        else if (strcmp(argv[i], "--skip") == 0 && shrink_parse(&o, v))
            ;
        else if (strcmp(argv[i], "--seed") == 0) {
            one = true;
            first = n;
            seeds = 1;
        } else {
            (void)fprintf(stderr, "unknown word: %s\n", argv[i]);
            return 2;
        }
        i++;
    }
    uint64_t failed = 0;
    for (uint64_t s = first; s < first + seeds; s++) {
        o.seed = s;
        failed += (uint64_t)run_one(o);
        if (failed >= 5 && !one)
            break;
    }
    (void)printf("simulation: seeds %llu to %llu, %u operations each, every "
                 "seed twice\n%llu passed, %llu failed\n",
                 (unsigned long long)first,
                 (unsigned long long)(first + seeds - 1), o.ops,
                 (unsigned long long)(seeds - failed),
                 (unsigned long long)failed);
    return failed == 0 ? 0 : 1;
}
