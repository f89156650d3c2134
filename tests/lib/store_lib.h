/* Helpers for tests of the store on RocksDB: a directory of its own, rows that
 * are numbers, and waiting without sleeping. */
#ifndef LIB_STORE_LIB_H
#define LIB_STORE_LIB_H

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <unistd.h>

#include "store/key.h"
#include "store/rocks.h"
#include "store/state.h"
#include "util/alloc.h"
#include "wait.h"

struct place {
    char dir[64];
    struct store_options o;
    struct store *s;
    int wake_fd;
};

static inline void wake(void *ud)
{
    uint64_t one = 1;
    const struct place *p = ud;
    assert_int_equal(write(p->wake_fd, &one, sizeof(one)), sizeof(one));
}

/* As the loop does: until another thread has something to say, then poll. */
static inline void turn(struct place *p)
{
    struct pollfd fd = {p->wake_fd, POLLIN, 0};
    uint64_t n;
    if (poll(&fd, 1, 20) > 0)
        assert_int_equal(read(p->wake_fd, &n, sizeof(n)), sizeof(n));
    store_poll(p->s, clock_now());
}

static inline void remove_tree(const char *dir)
{
    char command[256];
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

static inline int make_place(void **state)
{
    struct place *p = NEW(struct place);
    snprintf(p->dir, sizeof(p->dir), "/tmp/belfry-store-XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    store_options_default(&p->o);
    p->o.dir = p->dir;
    p->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    p->o.on_wake = wake;
    p->o.ud = p;
    p->o.log_segment_bytes = 1 << 20;
    p->o.generation_bytes = 64 << 10;
    p->o.disk_reserve_bytes = 0;
    *state = p;
    return 0;
}

static inline int remove_place(void **state)
{
    struct place *p = *state;
    store_close(&p->s);
    (void)umount2(p->dir, MNT_DETACH); /* of a test that failed */
    close(p->wake_fd);
    remove_tree(p->dir);
    mem_free(p);
    return 0;
}

/* Poll until `*done`; a test that waits longer than this has failed. */
static inline uint64_t deadline(void)
{
    return wait_end(20);
}

static inline void load(struct place *p)
{
    struct errbuf e;
    bool done = false;
    uint64_t end = deadline();
    enum err rc = store_open(&p->s, &p->o, &e);
    if (rc != ERR_OK)
        fail_msg("open: %s", e.text);
    while (!done) {
        assert_true(clock_mono_us() < end);
        rc = store_load_step(p->s, clock_now(), &done, &e);
        if (rc != ERR_OK)
            fail_msg("load: %s", e.text);
    }
}

static inline void wait_durable(struct place *p)
{
    uint64_t end = deadline();
    while (store_durable(p->s) < store_last(p->s)) {
        assert_true(clock_mono_us() < end);
        turn(p);
    }
}

static inline void wait_applied(struct place *p)
{
    uint64_t end = deadline();
    struct store_stats st;
    if (p->s->open->last_index != 0)
        store_seal(p->s);
    do {
        assert_true(clock_mono_us() < end);
        turn(p);
        store_get_stats(p->s, &st);
    } while (st.generations > 1);
}

/* Flush the base as RocksDB does by itself, which is what a checkpoint makes it
 * do: the applier knows nothing of it. */
static inline void flush_beside(const struct place *p)
{
    char path[sizeof(p->dir) + 8], *message = NULL;
    rocksdb_t *db = rocks_of(p->s->b)->base.db;
    snprintf(path, sizeof(path), "%s.flush", p->dir);
    rocksdb_checkpoint_t *c = rocksdb_checkpoint_object_create(db, &message);
    assert_null(message);
    rocksdb_checkpoint_create(c, path, 0, &message);
    assert_null(message);
    rocksdb_checkpoint_object_destroy(c);
    remove_tree(path);
}

static inline struct slice key_of(struct key *k, unsigned i)
{
    struct id id = {{0}};
    memcpy(id.bytes + 12, &(uint32_t){__builtin_bswap32(i)}, 4);
    return key_job(k, &id);
}

static inline void put(struct place *p, unsigned i, unsigned value, bool fresh)
{
    struct key k;
    memcpy(store_put(p->s, FAMILY_JOBS, key_of(&k, i), sizeof(value), fresh),
           &value, sizeof(value));
}

static inline void del(struct place *p, unsigned i)
{
    struct key k;
    store_del(p->s, FAMILY_JOBS, key_of(&k, i));
}

static inline void commit(struct place *p)
{
    store_commit(p->s, clock_now());
}

/* 0: no such row. */
static inline unsigned get(struct place *p, unsigned i)
{
    struct key k;
    struct slice v;
    unsigned value = 0;
    enum err rc = store_get(p->s, NULL, FAMILY_JOBS, key_of(&k, i), &v, NULL);
    if (rc == ERR_NOTFOUND)
        return 0;
    assert_int_equal(rc, ERR_OK);
    assert_int_equal(v.len, sizeof(value));
    memcpy(&value, v.data, sizeof(value));
    return value;
}

static inline bool count(struct slice key, struct slice value, void *ud)
{
    (void)key;
    (void)value;
    ++*(unsigned *)ud;
    return true;
}

static inline unsigned count_rows(struct place *p)
{
    unsigned n = 0;
    assert_int_equal(store_scan(p->s, NULL, FAMILY_JOBS, SLICE_EMPTY,
                                SLICE_EMPTY, SIZE_MAX, count, &n, NULL),
                     ERR_OK);
    return n;
}

static inline void set_flag(void *ud)
{
    *(bool *)ud = true;
}

static inline void fetch_all(struct place *p, struct gather *g)
{
    uint64_t end = deadline();
    bool done = false;
    store_fetch(p->s, g, set_flag, &done);
    while (!done) {
        assert_true(clock_mono_us() < end);
        turn(p);
    }
}

#endif
