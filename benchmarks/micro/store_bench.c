/* What a change costs: short lives through the store, and the same batches
 * through RocksDB's own WAL with sync.
 *
 * A life has eight changes: add (jobs, ready), lease (-ready, runs), ack
 * (-runs, -jobs, done, its index). A tick does `clients` of each: it adds new
 * jobs, leases those of the tick before, acks those of the one before that.
 * Both sides commit each tick and may have 256 KiB that are not yet synced;
 * RocksDB waits for its sync. The sides take turns, so that a slow disk is slow
 * for both.
 *
 *   store_bench directory [milliseconds per side] [clients]
 */
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rocksdb/c.h>

#include "store/entry.h"
#include "store/key.h"
#include "store/mem.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/assert.h"
#include "util/clock.h"
#include "util/parse.h"
#include "util/rng.h"

#define CHANGES_PER_LIFE 8
#define TURNS 10
#define UNSYNCED_MAX ((uint64_t)256 << 10)

static const size_t job_len = 200, ready_len = 6, run_len = 40, done_len = 80,
                    index_len = 2;
#define VALUE_MAX 4096 /* a block of the index, with 1000 clients */
/* Values are random bytes, each from another place of these: RocksDB would
 * compress one letter to nothing. */
#define PLACES ((size_t)1 << 20)
static char pool[PLACES + VALUE_MAX];
static const char *filling = pool;
static struct rng rng;

struct side;

struct side {
    const char *name;
    char *(*put)(struct side *s, enum family f, struct slice key, size_t len,
                 bool fresh);
    void (*del)(struct side *s, enum family f, struct slice key);
    void (*commit)(struct side *s);
    struct store *store;
    struct mem_disk *disk;
    rocksdb_t *db;
    rocksdb_column_family_handle_t *cfs[FAMILIES];
    rocksdb_writeoptions_t *wo;
    rocksdb_writebatch_t *batch;
    char value[VALUE_MAX];
    uint64_t tick;
    /* measured */
    uint64_t lives, spent_us, cpu_ns;
};

static int wake_fd;

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

/* --- the sides ----------------------------------------------------------- */

static char *store_side_put(struct side *s, enum family f, struct slice key,
                            size_t len, bool fresh)
{
    return store_put(s->store, f, key, len, fresh);
}

static void store_side_del(struct side *s, enum family f, struct slice key)
{
    store_del(s->store, f, key);
}

static void store_side_commit(struct side *s)
{
    store_commit(s->store, clock_now());
    store_poll(s->store, clock_now());
    while (store_pending_bytes(s->store) > UNSYNCED_MAX) {
        nap();
        store_poll(s->store, clock_now());
    }
}

/* The value is filled after the call, so it goes in with the next one. */
static char *wal_put(struct side *s, enum family f, struct slice key,
                     size_t len, bool fresh)
{
    (void)fresh;
    rocksdb_writebatch_put_cf(s->batch, s->cfs[f], key.data, key.len, filling,
                              len);
    return s->value;
}

static void wal_del(struct side *s, enum family f, struct slice key)
{
    rocksdb_writebatch_delete_cf(s->batch, s->cfs[f], key.data, key.len);
}

static void wal_commit(struct side *s)
{
    char *message = NULL;
    rocksdb_write(s->db, s->wo, s->batch, &message);
    if (message != NULL) {
        fprintf(stderr, "%s\n", message);
        exit(1);
    }
    rocksdb_writebatch_clear(s->batch);
}

/* --- lives --------------------------------------------------------------- */

static struct id id_of(uint64_t tick, unsigned n)
{
    struct id id;
    uint64_t ms = __builtin_bswap64((1700000000000 + tick) << 16);
    uint64_t seq = __builtin_bswap64(tick * 1000 + n);
    memcpy(id.bytes, &ms, 8);
    memcpy(id.bytes + 8, &seq, 8);
    return id;
}

static void put(struct side *s, enum family f, struct slice key, size_t len)
{
    ASSERT(len <= VALUE_MAX);
    filling = pool + rng_next(&rng) % PLACES;
    memcpy(s->put(s, f, key, len, true), filling, len);
}

static void tick(struct side *s, unsigned clients)
{
    uint64_t t = ++s->tick;
    struct key k;
    for (unsigned n = 0; n < clients; n++) {
        struct id id = id_of(t, n);
        put(s, FAMILY_JOBS, key_job(&k, &id), job_len);
        put(s, FAMILY_READY, key_ready(&k, n % 4, 1, t, &id), ready_len);
    }
    for (unsigned n = 0; t > 1 && n < clients; n++) {
        struct id id = id_of(t - 1, n);
        s->del(s, FAMILY_READY, key_ready(&k, n % 4, 1, t - 1, &id));
        put(s, FAMILY_RUNS, key_run(&k, &id), run_len);
    }
    for (unsigned n = 0; t > 2 && n < clients; n++) {
        struct id id = id_of(t - 2, n);
        s->del(s, FAMILY_RUNS, key_run(&k, &id));
        s->del(s, FAMILY_JOBS, key_job(&k, &id));
        put(s, FAMILY_PAST, key_past_job(&k, 1, &id), done_len);
    }
    for (unsigned q = 0; t > 2 && q < 4; q++)
        put(s, FAMILY_INDEX, key_index(&k, 1, q, 1, t, t),
            index_len + clients / 4 * ID_LEN);
    s->commit(s);
}

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void turn(struct side *s, uint64_t ms, unsigned clients)
{
    uint64_t begin = clock_mono_us(), cpu = cpu_ns();
    while (clock_mono_us() - begin < ms * 1000) {
        tick(s, clients);
        s->lives += clients;
    }
    if (s->store != NULL) /* what was committed must be durable, too */
        while (store_acked(s->store) < store_last(s->store)) {
            nap();
            store_poll(s->store, clock_now());
        }
    s->spent_us += clock_mono_us() - begin;
    s->cpu_ns += cpu_ns() - cpu;
}

static void report(const struct side *s)
{
    double changes = (double)s->lives * CHANGES_PER_LIFE;
    printf("%-28s %9.0f lives/s %7.0f ns a change, of that %5.0f on the loop\n",
           s->name, (double)s->lives * 1e6 / (double)s->spent_us,
           (double)s->spent_us * 1e3 / changes, (double)s->cpu_ns / changes);
}

/* --- opening ------------------------------------------------------------- */

static void load(struct store *s)
{
    struct errbuf e;
    bool done = false;
    while (!done)
        if (store_load_step(s, clock_now(), &done, &e) != ERR_OK) {
            fprintf(stderr, "%s\n", e.text);
            exit(1);
        }
}

static void open_store(struct side *s, const char *dir)
{
    static char path[4096];
    struct store_options o;
    struct errbuf e;
    store_options_default(&o);
    snprintf(path, sizeof(path), "%s/store", dir);
    o.dir = path;
    o.on_wake = wake;
    o.disk_reserve_bytes = 0;
    if (store_open(&s->store, &o, &e) != ERR_OK) {
        fprintf(stderr, "%s\n", e.text);
        exit(1);
    }
    load(s->store);
    *s = (struct side){.name = "store, appendfsync always",
                       .store = s->store,
                       .put = store_side_put,
                       .del = store_side_del,
                       .commit = store_side_commit};
}

static void open_mem(struct side *s)
{
    struct mem_knobs knobs = {0};
    struct store_options o;
    store_options_default(&o);
    *s = (struct side){.name = "store, in memory",
                       .put = store_side_put,
                       .del = store_side_del,
                       .commit = store_side_commit,
                       .disk = mem_disk_new(&knobs)};
    if (store_open_mem(&s->store, s->disk, &o, NULL) != ERR_OK)
        abort();
    load(s->store);
}

static void open_wal(struct side *s, const char *dir)
{
    const char *names[FAMILIES + 1] = {"default"};
    const rocksdb_options_t *options[FAMILIES + 1];
    rocksdb_column_family_handle_t *handles[FAMILIES + 1];
    rocksdb_options_t *o = rocksdb_options_create();
    char path[4096], *message = NULL;
    *s = (struct side){.name = "RocksDB, WAL with sync",
                       .put = wal_put,
                       .del = wal_del,
                       .commit = wal_commit};
    snprintf(path, sizeof(path), "%s/wal", dir);
    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_set_create_missing_column_families(o, 1);
    rocksdb_options_set_info_log_level(o, 4);
    rocksdb_options_set_write_buffer_size(o, 16 << 20);
    rocksdb_options_set_max_write_buffer_number(o, 4);
    rocksdb_options_set_allow_concurrent_memtable_write(o, 0);
    for (int f = 0; f < FAMILIES; f++)
        names[f + 1] = family_name((enum family)f);
    for (int f = 0; f <= FAMILIES; f++)
        options[f] = o;
    s->db = rocksdb_open_column_families(o, path, FAMILIES + 1, names, options,
                                         handles, &message);
    if (message != NULL) {
        fprintf(stderr, "%s\n", message);
        exit(1);
    }
    memcpy(s->cfs, handles + 1, sizeof(s->cfs));
    rocksdb_column_family_handle_destroy(handles[0]);
    rocksdb_options_destroy(o);
    s->wo = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(s->wo, 1);
    s->batch = rocksdb_writebatch_create();
}

static void close_wal(struct side *s)
{
    rocksdb_writebatch_destroy(s->batch);
    rocksdb_writeoptions_destroy(s->wo);
    for (int f = 0; f < FAMILIES; f++)
        rocksdb_column_family_handle_destroy(s->cfs[f]);
    rocksdb_close(s->db);
}

int main(int argc, char **argv)
{
    uint64_t ms = 3000, clients = 100;
    struct side store = {0}, mem = {0}, wal = {0};
    struct store_stats st;
    if (argc < 2 || (argc > 2 && !parse_u64(slice_str(argv[2]), &ms)) ||
        (argc > 3 && !parse_u64(slice_str(argv[3]), &clients)) ||
        clients == 0 || clients > 1000) {
        fprintf(stderr, "usage: store_bench directory [milliseconds per side] "
                        "[clients, up to 1000]\n");
        return 2;
    }
    rng_seed(&rng, 1);
    for (size_t i = 0; i < sizeof(pool); i++)
        pool[i] = (char)rng_next(&rng);
    wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    open_store(&store, argv[1]);
    open_wal(&wal, argv[1]);
    open_mem(&mem);
    for (int i = 0; i < TURNS; i++) {
        turn(&store, ms / TURNS, (unsigned)clients);
        turn(&wal, ms / TURNS, (unsigned)clients);
        turn(&mem, ms / TURNS, (unsigned)clients);
    }
    printf("%" PRIu64 " clients, %d changes a life, job of %zu bytes\n",
           clients, CHANGES_PER_LIFE, job_len);
    report(&store);
    report(&wal);
    report(&mem);
    store_get_stats(store.store, &st);
    printf("store / RocksDB: %.2f; %.1f commits a sync; %.2f rows a life "
           "reached the base\n",
           (double)store.lives / (double)store.spent_us /
               ((double)wal.lives / (double)wal.spent_us),
           (double)st.entries / (double)st.syncs,
           (double)st.applied_changes / (double)store.lives);
    store_close(&store.store);
    store_close(&mem.store);
    mem_disk_free(&mem.disk);
    close_wal(&wal);
    close(wake_fd);
    return 0;
}
