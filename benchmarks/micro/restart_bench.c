/* How long a start takes, and what a queue costs for ever.
 *
 *   restart_bench directory [live jobs] [jobs through the queue]
 *
 * 1. Fills the store with live jobs (a row in jobs, one in ready).
 * 2. Churns: a new job at the tail, the oldest of its queue acknowledged, so
 *    that every row that dies is an old one and reaches the base as a
 *    tombstone; the head is looked up from its lower bound all the while.
 * 3. In the middle of it leaves as kill -9 does and starts again: rate and head
 *    of the second half are those of a queue whose tombstones were reopened.
 * 4. Leaves as kill -9 does, starts again; looks for the head; leaves cleanly,
 *    starts again.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log/log.h"
#include "store/key.h"
#include "store/store.h"
#include "util/clock.h"
#include "util/parse.h"
#include "util/rng.h"

#define TICK_JOBS 200
#define QUEUE 1
#define JOB_BYTES 200
/* Jobs are random text, each from another place of this one: what compresses
 * would make the base smaller than it is. */
#define PLACES ((size_t)1 << 20)

static char text[PLACES + JOB_BYTES];
static struct rng rng;
static int wake_fd;
static struct store_options options;
static struct store *s;

static void wake(void *ud)
{
    uint64_t one = 1;
    (void)ud;
    if (write(wake_fd, &one, sizeof(one)) != sizeof(one))
        abort();
}

static void nap(void)
{
    struct pollfd p = {wake_fd, POLLIN, 0};
    uint64_t n;
    if (poll(&p, 1, 100) > 0 && read(wake_fd, &n, sizeof(n)) != sizeof(n))
        abort();
}

static void die(const struct errbuf *e)
{
    fprintf(stderr, "%s\n", e->text);
    exit(1);
}

static struct id id_of(uint64_t n)
{
    struct id id = {{0}};
    uint64_t ms = __builtin_bswap64((1700000000000 + n / 100) << 16);
    uint64_t seq = __builtin_bswap64(n);
    memcpy(id.bytes, &ms, 8);
    memcpy(id.bytes + 8, &seq, 8);
    return id;
}

static void add(uint64_t n)
{
    struct id id = id_of(n);
    struct key k;
    memcpy(store_put(s, FAMILY_JOBS, key_job(&k, &id), JOB_BYTES, true),
           text + rng_next(&rng) % PLACES, JOB_BYTES);
    memset(store_put(s, FAMILY_READY, key_ready(&k, QUEUE, 1, n, &id), 6, true),
           'r', 6);
}

static void end(uint64_t n)
{
    struct id id = id_of(n);
    struct key k;
    store_del(s, FAMILY_JOBS, key_job(&k, &id));
    store_del(s, FAMILY_READY, key_ready(&k, QUEUE, 1, n, &id));
}

static void tick(void)
{
    store_commit(s, clock_now());
    store_poll(s, clock_now());
    while (store_pending_bytes(s) > ((uint64_t)1 << 20) ||
           store_base_is_behind(s)) {
        nap();
        store_poll(s, clock_now());
    }
}

static uint64_t rss_mb(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%*u %lu", &pages) != 1)
        pages = 0;
    if (f != NULL)
        fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) >> 20;
}

static void start(const char *what)
{
    struct errbuf e;
    struct store_stats st;
    bool done = false;
    uint64_t begin = clock_mono_us(), opened;
    if (store_open(&s, &options, &e) != ERR_OK)
        die(&e);
    opened = clock_mono_us();
    while (!done)
        if (store_load_step(s, clock_now(), &done, &e) != ERR_OK)
            die(&e);
    store_get_stats(s, &st);
    printf("%-24s ready in %5.0f ms (open %4.0f), %8" PRIu64
           " entries replayed, %4" PRIu64 " MB resident (overlay %" PRIu64
           ", base %" PRIu64 "); base on disk %" PRIu64 " MB\n",
           what, (double)(clock_mono_us() - begin) / 1e3,
           (double)(opened - begin) / 1e3, st.replayed_entries, rss_mb(),
           st.overlay_bytes >> 20, st.base_memory_bytes >> 20,
           st.base_disk_bytes >> 20);
}

static bool first(struct slice key, struct slice value, void *ud)
{
    struct ready_key k;
    (void)value;
    if (key_parse_ready(key, &k))
        *(uint64_t *)ud = k.order;
    return false;
}

/* Microseconds to find the head from its lower bound. */
static double head(uint64_t want)
{
    struct key from, to;
    uint64_t got = UINT64_MAX, begin = clock_mono_us();
    const struct id zero = {{0}};
    key_ready(&from, QUEUE, 1, want, &zero);
    key_prefix_lane(&to, QUEUE, 1);
    struct key after;
    struct slice bound = key_after(&after, key_slice(&to));
    if (store_scan(s, NULL, FAMILY_READY, key_slice(&from), bound, 1, first,
                   &got, NULL) != ERR_OK ||
        got != want) {
        fprintf(stderr, "head %" PRIu64 ", found %" PRIu64 "\n", want, got);
        exit(1);
    }
    return (double)(clock_mono_us() - begin);
}

static void fill(uint64_t jobs)
{
    uint64_t begin = clock_mono_us();
    for (uint64_t n = 0; n < jobs; n++) {
        add(n);
        if (n % TICK_JOBS == TICK_JOBS - 1)
            tick();
    }
    tick();
    printf("%-24s %.0f jobs/s\n", "fill",
           (double)jobs * 1e6 / (double)(clock_mono_us() - begin));
}

/* The jobs from `from` to before `to` of those that go through. */
static void churn(const char *what, uint64_t jobs, uint64_t from, uint64_t to)
{
    double worst = 0, sum = 0;
    uint64_t begin = clock_mono_us(), looks = 0;
    for (uint64_t n = from; n < to; n++) {
        add(jobs + n);
        end(n);
        if (n % TICK_JOBS != TICK_JOBS - 1)
            continue;
        tick();
        if (n % (TICK_JOBS * 50) == TICK_JOBS - 1) {
            double us = head(n + 1);
            worst = us > worst ? us : worst;
            sum += us;
            looks++;
        }
    }
    tick();
    printf("%-24s %.0f jobs/s through a queue of %" PRIu64
           "; head found in %.1f us (mean), %.0f us (worst)\n",
           what, (double)(to - from) * 1e6 / (double)(clock_mono_us() - begin),
           jobs, looks == 0 ? 0 : sum / (double)looks, worst);
}

static void look_for_head(uint64_t want)
{
    double once = head(want);
    printf("%-24s head found in %.1f us, again %.1f us\n", "", once,
           head(want));
}

static void first_half(uint64_t jobs, uint64_t count)
{
    start("new");
    fill(jobs);
    churn("churn, first half", jobs, 0, count / 2);
}

static void second_half(uint64_t jobs, uint64_t count)
{
    start("reopened in the middle");
    look_for_head(count / 2);
    churn("churn, second half", jobs, count / 2, count);
}

/* In a process of its own, so that what it leaves is what kill -9 leaves, and
 * the memory of the next start is its own. */
static void run_and_die(void (*run)(uint64_t jobs, uint64_t count),
                        uint64_t jobs, uint64_t count)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        run(jobs, count);
        fflush(stdout);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        exit(1);
}

int main(int argc, char **argv)
{
    uint64_t jobs = 1000000, count = 1000000;
    if (argc < 2 || (argc > 2 && !parse_u64(slice_str(argv[2]), &jobs)) ||
        (argc > 3 && !parse_u64(slice_str(argv[3]), &count))) {
        fprintf(stderr, "usage: restart_bench directory [live jobs] [jobs "
                        "through the queue]\n");
        return 2;
    }
    rng_seed(&rng, 1);
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)rng_next(&rng);
    wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    store_options_default(&options);
    options.dir = argv[1];
    options.log_sync = LOG_NO; /* the disk is not what is measured */
    options.on_wake = wake;
    run_and_die(first_half, jobs, count);
    run_and_die(second_half, jobs, count);
    start("after kill -9");
    look_for_head(count);
    uint64_t begin = clock_mono_us();
    store_close(&s);
    printf("%-24s %.0f ms\n", "clean stop",
           (double)(clock_mono_us() - begin) / 1e3);
    start("after a clean stop");
    look_for_head(count);
    store_close(&s);
    close(wake_fd);
    return 0;
}
