#include "shrink.h"

#include <stdio.h>
#include <stdlib.h>

#define RUNS_MAX 400

static bool fails(const struct world_options *o)
{
    struct world_report r;
    world_run(o, &r);
    return r.violation[0] != '\0';
}

/* What fails need not fail with fewer operations, so this is a guess. */
static void cut(struct world_options *o)
{
    uint32_t lo = 1, hi = o->ops;
    while (lo < hi) {
        struct world_options less = *o;
        less.ops = lo + (hi - lo) / 2;
        if (fails(&less))
            hi = less.ops;
        else
            lo = less.ops + 1;
    }
    o->ops = hi;
}

static bool skip(struct world_options *o, uint32_t from, uint32_t n)
{
    bool any = false;
    for (uint32_t i = from; i < from + n && i <= o->ops && i < SKIPS; i++) {
        any |= !world_skips(o, i);
        o->skip[i / 8] |= (uint8_t)(1u << i % 8);
    }
    return any;
}

void shrink(struct world_options *o)
{
    int runs = 0;
    cut(o);
    /* Half of them, then quarters, down to single ones. */
    for (uint32_t n = o->ops / 2; n > 0 && o->ops < SKIPS; n /= 2)
        for (uint32_t from = 1; from <= o->ops && runs < RUNS_MAX; from += n) {
            struct world_options less = *o;
            if (!skip(&less, from, n))
                continue;
            runs++;
            if (fails(&less))
                *o = less;
        }
}

void shrink_print(const struct world_options *o)
{
    const char *before = " --skip ";
    (void)printf("  repeat: belfry-sim --seed %llu --ops %u",
                 (unsigned long long)o->seed, o->ops);
    for (uint32_t i = 1; i < SKIPS; i++) {
        uint32_t from = i;
        if (!world_skips(o, i))
            continue;
        while (i + 1 < SKIPS && world_skips(o, i + 1))
            i++;
        (void)printf(from == i ? "%s%u" : "%s%u-%u", before, from, i);
        before = ",";
    }
    (void)printf(" --trace\n");
}

bool shrink_parse(struct world_options *o, const char *text)
{
    struct world_options all = *o;
    all.ops = SKIPS;
    while (*text != '\0') {
        char *end;
        unsigned long from = strtoul(text, &end, 10), to = from;
        if (end != text && *end == '-')
            to = strtoul(text = end + 1, &end, 10);
        if (end == text || from == 0 || to < from || to >= SKIPS ||
            (*end != ',' && *end != '\0'))
            return false;
        (void)skip(&all, (uint32_t)from, (uint32_t)(to - from + 1));
        text = *end == ',' ? end + 1 : end;
    }
    for (uint32_t i = 0; i < SKIPS / 8; i++)
        o->skip[i] = all.skip[i];
    return true;
}
