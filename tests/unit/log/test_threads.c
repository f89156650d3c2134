/* The log with its threads: hand-over, modes changed live, readers that follow
 * while segments come and go. Run under TSan as well. */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "log_disk.h"
#include "log_lib.h"
#include "wait.h"

#define RECORDS 6000

struct follower {
    struct log *log;
    uint64_t from;
    atomic_bool stop;
    _Atomic uint64_t read;
    struct log_hold hold;
    bool wrong;
};

static void *follow(void *arg)
{
    struct follower *f = (struct follower *)arg;
    struct log_iter *it;
    struct log_record rec;
    char text[64];
    uint64_t next = f->from;
    if (log_iter_open(&it, f->log, next, NULL) != ERR_OK) {
        f->wrong = true;
        return NULL;
    }
    while (!f->wrong) {
        enum err rc = log_iter_next(it, log_durable(f->log), &rec, NULL);
        if (rc == ERR_EMPTY) {
            if (atomic_load(&f->stop))
                break;
            wait_a_little();
            continue;
        }
        f->wrong = rc != ERR_OK || rec.index != next ||
                   !slice_eq(rec.entry, entry_text(text, next));
        atomic_store(&f->read, next++);
        if (next % 64 == 0)
            log_hold_move(f->log, &f->hold, next);
    }
    log_iter_close(&it);
    return NULL;
}

/* Append with the contract of log_append(): bytes live until written. */
struct ring {
    char text[512][64];
};

static void append_next(struct log *l, struct ring *r, uint64_t i)
{
    while (i > log_written(l) + 500)
        wait_a_little();
    (void)log_append(l, entry_text(r->text[i % 512], i));
}

static void readers_follow_while_segments_come_and_go(void **state)
{
    (void)state;
    static struct ring ring;
    struct place p;
    struct errbuf e;
    place_make(&p);
    p.segment_bytes = LOG_SEGMENT_BYTES_MIN * 2;
    struct log *l = place_open(&p, true);
    struct follower f[2] = {{.log = l, .from = 1}, {.log = l, .from = 1}};
    pthread_t t[2];
    for (int i = 0; i < 2; i++) {
        log_hold_begin(l, &f[i].hold, 1);
        assert_int_equal(pthread_create(&t[i], NULL, follow, &f[i]), 0);
    }
    struct rng rng;
    rng_seed(&rng, 11);
    for (uint64_t i = 1; i <= RECORDS; i++) {
        append_next(l, &ring, i);
        uint64_t roll = rng_below(&rng, 40);
        if (roll < 6)
            log_submit(l);
        else if (roll < 10)
            (void)log_sync_inline(l);
        else if (roll == 10)
            log_request_sync(l);
        else if (roll == 11)
            log_release(l, log_durable(l) > 50 ? log_durable(l) - 50 : 0);
        else if (roll == 12 && i % 5 == 0)
            log_set_sync(l, (enum log_sync_mode)rng_below(&rng, 3));
        else if (roll == 13)
            assert_true(log_durable(l) <= log_written(l));
        if (i % 400 == 0)
            log_submit(l);
    }
    assert_ok(log_drain(l, &e));
    assert_int_equal(log_durable(l), RECORDS);
    assert_int_equal(log_acked(l), RECORDS);
    assert_int_equal(log_pending_bytes(l), 0);
    for (int i = 0; i < 2; i++) {
        atomic_store(&f[i].stop, true);
        assert_int_equal(pthread_join(t[i], NULL), 0);
        assert_false(f[i].wrong);
        assert_int_equal(f[i].read, RECORDS);
        log_hold_end(l, &f[i].hold);
    }
    struct log_stats st;
    log_stats(l, &st);
    assert_true(st.switches > 5);
    uint64_t first = log_first(l);
    log_close(&l);
    l = place_open(&p, true);
    check_entries(l, log_first(l), RECORDS);
    assert_true(log_first(l) >= first);
    log_close(&l);
    place_remove(&p);
}

static void many_entries_share_a_sync(void **state)
{
    (void)state;
    struct place p;
    struct errbuf e;
    struct log_stats st;
    static char text[1000][64];
    place_make(&p);
    struct log *l = place_open(&p, true);
    for (uint64_t i = 1; i <= 1000; i++)
        (void)log_append(l, entry_text(text[i - 1], i));
    log_submit(l);
    assert_ok(log_drain(l, &e));
    /* They are timed after who waits for them is told. */
    assert_true(wait_until((log_stats(l, &st), st.commit_us.max > 0)));
    assert_int_equal(st.records, 1000);
    assert_true(st.syncs <= 4);
    assert_true(st.sync_us.max > 0);
    assert_true(st.commit_us.p50 > 0);
    assert_true(st.commit_us.p50 <= st.commit_us.p99);
    assert_true(st.commit_us.p99 <= st.commit_us.max);
    log_forget_times(l);
    log_stats(l, &st);
    assert_int_equal(st.commit_us.max, 0);
    assert_int_equal(st.sync_us.max, 0);
    assert_true(st.writes <= 1000 / 256 + 4);
    log_close(&l);
    place_remove(&p);
}

static void everysec_acks_what_is_written_and_syncs_by_itself(void **state)
{
    (void)state;
    struct place p;
    char text[64];
    place_make(&p);
    p.sync = LOG_EVERYSEC;
    struct log *l = place_open(&p, true);
    uint64_t begin = clock_mono_us();
    (void)log_append(l, entry_text(text, 1));
    log_submit(l);
    assert_true(wait_until(log_acked(l) >= 1));
    assert_true(wait_until(log_durable(l) >= 1));
    assert_true(clock_mono_us() - begin < 2500000);
    log_close(&l);
    place_remove(&p);
}

static int shut_sync(void *ud, int fd)
{
    while (atomic_load((atomic_bool *)ud))
        wait_a_little();
    return fdatasync(fd);
}

/* What a power cut could take back stays a second's. */
static void everysec_acks_no_more_while_a_sync_takes_long(void **state)
{
    (void)state;
    static atomic_bool shut;
    struct log_io io = {.sync = shut_sync, .ud = &shut};
    struct place p;
    char text[64];
    uint64_t i = 0, end = wait_end(20);
    place_make(&p);
    p.sync = LOG_EVERYSEC;
    p.segment_bytes = 1 << 20; /* the next one would begin with a sync */
    p.io = &io;
    struct log *l = place_open(&p, true);
    atomic_store(&shut, true);
    do {
        assert_true(clock_mono_us() < end);
        (void)log_append(l, entry_text(text, ++i));
        log_submit(l);
        assert_true(wait_until(log_written(l) == i));
        wait_a_little();
    } while (log_acked(l) + 1 >= i); /* that of the last may be on its way */
    assert_true(log_acked(l) > 0);   /* they were acked unsynced */
    assert_int_equal(log_durable(l), 0);
    atomic_store(&shut, false);
    assert_true(wait_until(log_acked(l) == i));
    log_close(&l);
    place_remove(&p);
}

static void without_syncs_only_a_request_makes_durable(void **state)
{
    (void)state;
    struct place p;
    char text[64];
    struct errbuf e;
    struct log_stats st;
    place_make(&p);
    p.sync = LOG_NO;
    struct log *l = place_open(&p, true);
    (void)log_append(l, entry_text(text, 1));
    log_submit(l);
    assert_true(wait_until(log_acked(l) >= 1));
    log_stats(l, &st);
    assert_int_equal(st.syncs, 0);
    assert_int_equal(log_durable(l), 0);
    log_request_sync(l);
    assert_true(wait_until(log_durable(l) >= 1));
    /* Towards always: what waits is synced, and acked never goes back. */
    log_set_sync(l, LOG_ALWAYS);
    (void)log_append(l, entry_text(text, 2));
    assert_ok(log_drain(l, &e));
    assert_int_equal(log_acked(l), log_durable(l));
    log_close(&l);
    place_remove(&p);
}

struct bell {
    atomic_uint rung;
};

static void ring_it(void *ud)
{
    atomic_fetch_add(&((struct bell *)ud)->rung, 1);
}

static void the_loop_is_woken_once_a_sync(void **state)
{
    (void)state;
    struct place p;
    struct bell bell = {0};
    struct log *l;
    struct log_stats st;
    struct errbuf e;
    char text[64];
    place_make(&p);
    struct log_options o = place_options(&p, true);
    o.on_progress = ring_it;
    o.ud = &bell;
    assert_ok(log_open(&l, &o, NULL, &e));
    for (uint64_t i = 1; i <= 50; i++) {
        (void)log_append(l, entry_text(text, i));
        log_submit(l);
        assert_true(wait_until(log_acked(l) >= i));
    }
    log_stats(l, &st);
    assert_int_equal(st.syncs, 50);
    (void)wait_until(bell.rung >= 50);
    assert_int_equal(bell.rung, 50);
    log_close(&l);
    place_remove(&p);
}

/* A disk on which the log thread's syncs wait until they are let go. */
struct sync_gate {
    atomic_int let, waiting;
};

static int gate_sync(void *ud, int fd)
{
    struct sync_gate *g = ud;
    char name[16] = "";
    (void)pthread_getname_np(pthread_self(), name, sizeof(name));
    if (strcmp(name, "log") != 0)
        return fdatasync(fd);
    atomic_fetch_add(&g->waiting, 1);
    while (atomic_fetch_sub(&g->let, 1) <= 0) {
        atomic_fetch_add(&g->let, 1);
        wait_a_little();
    }
    atomic_fetch_sub(&g->waiting, 1);
    return fdatasync(fd);
}

struct seen {
    struct log *log;
    atomic_bool look; /* nobody appends meanwhile */
    _Atomic uint64_t told, pending;
};

static void look_at_pending(void *ud)
{
    struct seen *s = ud;
    if (!atomic_load(&s->look))
        return;
    atomic_store(&s->pending, log_pending_bytes(s->log));
    atomic_fetch_add(&s->told, 1);
}

/* The next group may be filled while the disk has one, and who waited for room
 * is told when that group is taken, not when it is synced. */
static void what_the_disk_has_is_not_pending(void **state)
{
    (void)state;
    struct place p;
    struct sync_gate g = {0};
    const struct log_io io = {.sync = gate_sync, .ud = &g};
    struct seen seen = {0};
    struct errbuf e;
    static const char text[1000];
    place_make(&p);
    p.io = &io;
    atomic_store(&g.let, 1 << 20);
    struct log_options o = place_options(&p, true);
    o.on_progress = look_at_pending;
    o.ud = &seen;
    assert_ok(log_open(&seen.log, &o, NULL, &e));
    struct log *l = seen.log;
    (void)log_append(l, slice_of(text, sizeof(text)));
    assert_ok(log_drain(l, &e));
    atomic_store(&g.let, 0);
    (void)log_append(l, slice_of(text, sizeof(text)));
    assert_true(log_pending_bytes(l) > 0);
    log_submit(l);
    assert_true(wait_until(log_pending_bytes(l) == 0));
    assert_true(wait_until(atomic_load(&g.waiting) > 0));
    assert_true(log_durable(l) < log_last(l));
    (void)log_append(l, slice_of(text, sizeof(text)));
    log_submit(l);
    assert_true(log_pending_bytes(l) >= sizeof(text));
    atomic_store(&seen.look, true);
    atomic_store(&g.let, 1); /* the first group's, and no other */
    assert_true(wait_until(atomic_load(&seen.told) > 0));
    assert_int_equal(atomic_load(&seen.pending), 0);
    assert_true(log_durable(l) < log_last(l));
    atomic_store(&g.let, 1 << 20);
    assert_ok(log_drain(l, &e));
    log_close(&l);
    place_remove(&p);
}

static void note_failure(const char *why, void *ud)
{
    (void)why;
    atomic_store((atomic_bool *)ud, true);
}

/* Nothing more can be opened; what is open goes on. */
static void out_of_descriptors_a_sync_in_the_background_goes_on(void **state)
{
    (void)state;
    struct place p;
    struct log *l;
    struct errbuf e;
    struct rlimit was, none;
    atomic_bool failed = false;
    char text[64];
    place_make(&p);
    p.sync = LOG_EVERYSEC;
    struct log_options o = place_options(&p, true);
    o.on_fatal = note_failure;
    o.ud = &failed;
    assert_ok(log_open(&l, &o, NULL, &e));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = was;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    (void)log_append(l, entry_text(text, 1));
    log_submit(l);
    bool durable = wait_until(atomic_load(&failed) || log_durable(l) >= 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_true(durable);
    assert_false(atomic_load(&failed));
    log_close(&l);
    place_remove(&p);
}

struct slow {
    atomic_bool begun, cut, over;
};

/* The keeper's sync lasts until the cut is over, or, as it has to wait for this
 * sync, for a while. */
static int slow_sync(void *ud, int fd)
{
    struct slow *s = ud;
    char name[32] = "";
    (void)pthread_getname_np(pthread_self(), name, sizeof(name));
    if (strcmp(name, "log-keeper") != 0 || atomic_load(&s->cut))
        return fdatasync(fd);
    atomic_store(&s->begun, true);
    uint64_t end = clock_mono_us() + 200000;
    while (!atomic_load(&s->cut) && clock_mono_us() < end)
        wait_a_little();
    atomic_store(&s->over, true);
    return fdatasync(fd);
}

static void a_cut_waits_for_a_sync_in_the_background(void **state)
{
    (void)state;
    static struct slow slow;
    struct log_io io = {.sync = slow_sync, .ud = &slow};
    struct place p;
    struct log *l;
    struct errbuf e;
    char text[5][64];
    place_make(&p);
    p.sync = LOG_EVERYSEC;
    atomic_store(&slow.cut, true); /* opening syncs, too */
    p.io = &io;
    l = place_open(&p, true);
    atomic_store(&slow.cut, false);
    for (uint64_t i = 1; i <= 5; i++)
        (void)log_append(l, entry_text(text[i - 1], i));
    log_submit(l);
    assert_true(wait_until(atomic_load(&slow.begun)));
    assert_ok(log_truncate_suffix(l, 3, &e));
    atomic_store(&slow.cut, true);
    assert_true(wait_until(atomic_load(&slow.over)));
    log_close(&l);
    l = place_open(&p, true);
    assert_int_equal(log_last(l), 2);
    log_close(&l);
    place_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_follow_while_segments_come_and_go),
        cmocka_unit_test(many_entries_share_a_sync),
        cmocka_unit_test(everysec_acks_what_is_written_and_syncs_by_itself),
        cmocka_unit_test(everysec_acks_no_more_while_a_sync_takes_long),
        cmocka_unit_test(without_syncs_only_a_request_makes_durable),
        cmocka_unit_test(the_loop_is_woken_once_a_sync),
        cmocka_unit_test(what_the_disk_has_is_not_pending),
        cmocka_unit_test(out_of_descriptors_a_sync_in_the_background_goes_on),
        cmocka_unit_test(a_cut_waits_for_a_sync_in_the_background),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
