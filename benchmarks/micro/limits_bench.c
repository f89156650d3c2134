/* What limits and fairness cost: lives of jobs (add, lease, ack) on the store
 * in memory, with and without.
 *
 *   limits_bench [jobs [kind]]
 *
 *   off     one queue by priority, jobs without names
 *   names   each job has one of 100 names with a limit above what runs
 *   full    as names, but the names are full all the time: every job parks
 *   fair    100 owners in a fair queue
 *   both    names and owners
 *
 * Rounds alternate, so that what the machine does meanwhile hits all alike; the
 * best round of each counts. The last column is the rate against `off`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/engine.h"
#include "store/mem.h"
#include "store/store.h"
#include "util/clock.h"

#define ROUNDS 9
#define BATCH 100
#define NAMES 100

enum kind { OFF, NAMED, FULL, FAIR, BOTH, KINDS };
static const char *const kinds[KINDS] = {"off", "names", "full", "fair",
                                         "both"};

static char names[NAMES][16], owners[NAMES][16];

struct bench {
    struct store *store;
    struct engine *engine;
    struct now now;
    char tokens[BATCH][64];
    struct slice token[BATCH];
    uint32_t n;
};

static void need(enum err rc, const struct errbuf *e)
{
    if (rc == ERR_OK)
        return;
    (void)fprintf(stderr, "%s\n", e->text);
    exit(1);
}

static void on_lease(void *ud, const struct lease_view *v)
{
    struct bench *b = ud;
    memcpy(b->tokens[b->n], v->token.data, v->token.len);
    b->token[b->n] = slice_of(b->tokens[b->n], v->token.len);
    b->n++;
}

static void on_end(void *ud, uint32_t i, enum err rc, const char *why)
{
    (void)ud;
    (void)i;
    if (rc != ERR_OK)
        (void)fprintf(stderr, "%s\n", why);
}

static void tick(struct bench *b)
{
    while (engine_tick(b->engine, b->now))
        ;
    engine_commit(b->engine, b->now);
    store_poll(b->store, b->now);
}

static void add(struct bench *b, enum kind kind, uint64_t i, struct errbuf *e)
{
    static const struct slice payload = SLICE_LIT("{\"to\":\"a@b.c\"}");
    struct add_result result;
    struct job_options o = {.given = (uint64_t)1 << JOPT_KEEP};
    if (kind == NAMED || kind == FULL || kind == BOTH) {
        o.given |= (uint64_t)1 << JOPT_LIMIT;
        o.limits[0] = slice_str(names[i % NAMES]);
        o.limits_n = 1;
    }
    if (kind == FAIR || kind == BOTH) {
        o.given |= (uint64_t)1 << JOPT_OWNER;
        o.owner = slice_str(owners[i % NAMES]);
    }
    struct add_params p = {
        .queue = SLICE_LIT("q"), .payloads = &payload, .n = 1, .options = &o};
    need(engine_add(b->engine, NULL, &p, b->now, &result, e), e);
}

/* Of this thread's processor: others share the machine. */
static double cpu_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Lives per second of the processor. */
static double run(enum kind kind, uint64_t jobs)
{
    struct bench b = {.now = {1700000000000, 5000}};
    struct mem_knobs knobs = {0};
    struct mem_disk *disk = mem_disk_new(&knobs);
    struct store_options so;
    struct engine_config c;
    struct errbuf e;
    bool done = false;
    store_options_default(&so);
    engine_config_default(&c);
    need(store_start_mem(&b.store, disk, &so, b.now, &e), &e);
    b.engine = engine_new(b.store, &c);
    while (!done)
        need(engine_load(b.engine, b.now, &done, &e), &e);
    struct limit_rule rule = {.has_concurrency = true,
                              .concurrency = kind == FULL ? 1 : 50};
    need(engine_limit_set(b.engine, SLICE_LIT("api:*"), &rule, b.now, &e), &e);
    struct queue_settings s = {.has_fair = true,
                               .fair = kind == FAIR || kind == BOTH};
    need(engine_queue_set(b.engine, SLICE_LIT("q"), &s, b.now, &e), &e);
    tick(&b);
    uint64_t added = 0, ended = 0;
    double began = cpu_us();
    /* A thousand wait, so that lanes have something to choose from. */
    while (ended < jobs) {
        while (added < jobs && added < ended + 1000)
            add(&b, kind, added++, &e);
        tick(&b);
        struct slice q = SLICE_LIT("q");
        struct lease_params p = {.queues = &q, .queues_n = 1, .count = BATCH};
        b.n = 0;
        enum err rc = engine_lease(b.engine, NULL, &p, b.now, on_lease, &b, &e);
        if (rc != ERR_EMPTY)
            need(rc, &e);
        struct ack_params a = {.tokens = b.token, .n = b.n};
        need(engine_ack(b.engine, NULL, &a, b.now, on_end, NULL, &e), &e);
        ended += b.n;
        tick(&b);
        b.now.wall_ms++;
        b.now.mono_ms++;
    }
    double us = cpu_us() - began;
    engine_free(&b.engine);
    store_abandon(&b.store);
    mem_disk_free(&disk);
    return (double)jobs * 1e6 / us;
}

int main(int argc, char **argv)
{
    uint64_t jobs = argc > 1 ? strtoull(argv[1], NULL, 10) : 50000;
    double best[KINDS] = {0};
    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "api:%d", i);
        (void)snprintf(owners[i], sizeof(owners[i]), "o%d", i);
    }
    for (int k = 0; argc > 2 && k < KINDS; k++)
        if (strcmp(argv[2], kinds[k]) == 0) { /* to look at it closely */
            (void)printf("%.0f\n", run((enum kind)k, jobs));
            return 0;
        }
    for (int round = 0; round < ROUNDS; round++)
        for (int k = 0; k < KINDS; k++) {
            double rate = run((enum kind)k, jobs);
            if (rate > best[k])
                best[k] = rate;
        }
    for (int k = 0; k < KINDS; k++)
        (void)printf("%-6s %10.0f lives/s %6.1f %%\n", kinds[k], best[k],
                     100 * best[k] / best[OFF]);
    return 0;
}
