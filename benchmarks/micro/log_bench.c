/* What a commit costs: inline sync against hand-over to the log thread, one
 * writer and fifty, always against everysec and no.
 *
 * A writer appends one entry, waits until it is acked, and appends the next.
 * All writers live on one thread, as the server's clients do on its loop: a
 * turn appends for each writer whose entry was acked, hands the entries over,
 * and sleeps on an eventfd until the log thread has something to say. The cases
 * take turns in short slices, so that a disk that is slow for a while is slow
 * for all of them.
 *
 *   log_bench directory [milliseconds per case] [bytes per entry]
 */
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "log/log.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/parse.h"
#include "util/rng.h"

#define WRITERS_MAX 1024
#define SAMPLES_MAX 500000
#define SLICES 20

struct test {
    const char *name;
    unsigned writers;
    bool in_line;
    enum log_sync_mode mode;
    /* what was measured */
    uint32_t *us; /* one per commit, the first SAMPLES_MAX of them */
    size_t n;
    uint64_t commits, spent_us, sync_p50_us; /* that of its last slice */
    struct log_stats sum;
};

static struct test tests[] = {
    {"always, 1 writer, inline", 1, true, LOG_ALWAYS},
    {"always, 1 writer, hand-over", 1, false, LOG_ALWAYS},
    {"always, 50 writers, inline", 50, true, LOG_ALWAYS},
    {"always, 50 writers, hand-over", 50, false, LOG_ALWAYS},
    {"always, 800 writers, hand-over", 800, false, LOG_ALWAYS},
    {"everysec, 1 writer, inline", 1, true, LOG_EVERYSEC},
    {"everysec, 1 writer, hand-over", 1, false, LOG_EVERYSEC},
    {"everysec, 50 writers, hand-over", 50, false, LOG_EVERYSEC},
    {"no, 1 writer, inline", 1, true, LOG_NO},
    {"no, 50 writers, hand-over", 50, false, LOG_NO},
    {"no, 800 writers, hand-over", 800, false, LOG_NO},
};

static int wake_fd;

static void wake(void *ud)
{
    uint64_t one = 1;
    (void)ud;
    ssize_t w = write(wake_fd, &one, sizeof(one));
    (void)w;
}

static void sleep_until_woken(void)
{
    struct pollfd p = {.fd = wake_fd, .events = POLLIN};
    uint64_t n;
    (void)poll(&p, 1, 1000);
    ssize_t r = read(wake_fd, &n, sizeof(n));
    (void)r;
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double percentile(const struct test *t, double p)
{
    return t->n == 0 ? 0 : t->us[(size_t)((double)(t->n - 1) * p)];
}

struct writer {
    uint64_t index; /* 0: idle */
    uint64_t begin_us;
};

static void slice(struct log *log, struct test *t, struct slice payload,
                  uint64_t us)
{
    struct writer w[WRITERS_MAX] = {{0, 0}};
    struct log_stats before, after;
    struct errbuf e;
    log_set_sync(log, t->mode);
    if (log_drain(log, &e) != ERR_OK) {
        (void)fprintf(stderr, "%s\n", e.text);
        exit(1);
    }
    log_stats(log, &before);
    uint64_t begin = clock_mono_us(), now = begin;
    while (now - begin < us) {
        uint64_t acked = log_acked(log);
        for (unsigned i = 0; i < t->writers; i++) {
            if (w[i].index > acked)
                continue;
            t->commits += w[i].index != 0;
            if (w[i].index != 0 && t->n < SAMPLES_MAX)
                t->us[t->n++] = (uint32_t)(now - w[i].begin_us);
            w[i].index = log_append(log, payload);
            w[i].begin_us = now;
        }
        bool done = false;
        if (t->in_line)
            done = log_sync_inline(log);
        else
            log_submit(log);
        if (!done && log_acked(log) == acked)
            sleep_until_woken();
        now = clock_mono_us();
    }
    t->spent_us += now - begin;
    log_stats(log, &after);
    t->sum.records += after.records - before.records;
    t->sum.writes += after.writes - before.writes;
    t->sum.syncs += after.syncs - before.syncs;
    t->sum.inline_syncs += after.inline_syncs - before.inline_syncs;
    t->sync_p50_us = after.sync_us.p50;
    log_forget_times(log);
    log_release(log, log_acked(log) + 1);
}

static double ratio(uint64_t a, uint64_t b)
{
    return b == 0 ? 0 : (double)a / (double)b;
}

static void print(struct test *t)
{
    qsort(t->us, t->n, sizeof(*t->us), by_size);
    (void)printf("%-32s %9.0f commits/s  p50 %5.0f us  p99 %6.0f us  "
                 "%6.0f per sync of %5.0f us  %3.0f%% inline\n",
                 t->name, 1e6 * ratio(t->commits, t->spent_us),
                 percentile(t, 0.50), percentile(t, 0.99),
                 ratio(t->sum.records, t->sum.syncs), (double)t->sync_p50_us,
                 100 * ratio(t->sum.inline_syncs, t->sum.writes));
}

int main(int argc, char **argv)
{
    uint64_t ms = 2000, bytes = 300;
    if (argc < 2 || (argc > 2 && !parse_u64(slice_str(argv[2]), &ms)) ||
        (argc > 3 && !parse_u64(slice_str(argv[3]), &bytes)) ||
        bytes > LOG_ENTRY_MAX) {
        (void)fprintf(stderr, "usage: log_bench directory [ms] [bytes]\n");
        return 2;
    }
    wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct log_options o = {
        .dir = argv[1], .threaded = true, .on_progress = wake};
    struct log *log;
    struct errbuf e;
    if (log_open(&log, &o, NULL, &e) != ERR_OK) {
        (void)fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    char *payload = (char *)mem_alloc((size_t)bytes);
    struct rng rng;
    rng_seed(&rng, 1);
    for (uint64_t i = 0; i < bytes; i++)
        payload[i] = (char)rng_next(&rng);
    for (size_t i = 0; i < ARRAY_LEN(tests); i++)
        tests[i].us = (uint32_t *)mem_alloc(SAMPLES_MAX * sizeof(uint32_t));
    for (int n = 0; n < SLICES; n++)
        for (size_t i = 0; i < ARRAY_LEN(tests); i++)
            slice(log, &tests[i], slice_of(payload, (size_t)bytes),
                  ms * 1000 / SLICES);
    enum err rc = log_drain(log, &e);
    log_close(&log);
    for (size_t i = 0; i < ARRAY_LEN(tests); i++) {
        print(&tests[i]);
        mem_free(tests[i].us);
    }
    mem_free(payload);
    return rc == ERR_OK ? 0 : 1;
}
