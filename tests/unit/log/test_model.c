/* The log against a model, with power cuts anywhere.
 *
 * The model is a list of entries and the durable index that the log reported.
 * After a cut the log may end anywhere between that and the last entry that
 * was appended, and every record up to there must be the one that was put in.
 * BELFRY_SEED and BELFRY_RUNS repeat and lengthen it.
 */
#include "unit.h"

#include "log_disk.h"
#include "log_lib.h"

struct model {
    struct place place;
    struct disk disk;
    struct log *log;
    struct rng rng;
    struct buf *entries;    /* [index]; lives until the run ends */
    uint64_t *epochs;       /* [index] */
    uint64_t room;          /* of both */
    uint64_t last, durable; /* promised */
    uint64_t first;
    uint64_t epoch;
    uint64_t seed;
    uint64_t cuts, reopened, tails;
};

static uint64_t names_lost; /* in all runs */

static void must(struct model *m, bool yes, const char *what)
{
    if (!yes)
        fail_msg("seed %llu: %s", (unsigned long long)m->seed, what);
}

static void append(struct model *m)
{
    uint64_t index = m->last + 1;
    if (index >= m->room) {
        uint64_t room = m->room == 0 ? 256 : m->room * 2;
        m->entries =
            (struct buf *)mem_realloc(m->entries, room * sizeof(struct buf));
        m->epochs = (uint64_t *)mem_realloc(m->epochs, room * sizeof(uint64_t));
        for (uint64_t i = m->room; i < room; i++)
            buf_init(&m->entries[i]);
        m->room = room;
    }
    if (rng_below(&m->rng, 20) == 0)
        log_set_epoch(m->log, ++m->epoch);
    struct buf *b = &m->entries[index];
    size_t len = rng_below(&m->rng, 100) == 0 ? 3000 : 200;
    /* Records of one size stand where dropped ones stood before. */
    len = m->seed % 2 == 0 ? 100 : (size_t)rng_below(&m->rng, len);
    buf_clear(b);
    for (size_t i = 0; i < len; i++)
        buf_add_char(b, (char)rng_next(&m->rng));
    m->epochs[index] = m->epoch;
    must(m, log_append(m->log, buf_slice(b)) == index, "indexes are dense");
    m->last = index;
}

/* What the log says while the power is on is a promise. */
static void note(struct model *m)
{
    if (!m->disk.dead && log_durable(m->log) > m->durable)
        m->durable = log_durable(m->log);
}

static void compare(struct model *m)
{
    struct log_iter *it;
    struct log_record rec;
    struct errbuf e;
    m->first = log_first(m->log);
    must(m, m->first <= m->durable + 1, "nothing durable was released");
    assert_ok(log_iter_open(&it, m->log, m->first, &e));
    for (uint64_t i = m->first; i <= m->last; i++) {
        assert_ok(log_iter_next(it, UINT64_MAX, &rec, &e));
        must(m, rec.index == i, "index");
        must(m, rec.epoch == m->epochs[i], "epoch");
        must(m, slice_eq(rec.entry, buf_slice(&m->entries[i])), "entry");
    }
    must(m, log_iter_next(it, UINT64_MAX, &rec, &e) == ERR_EMPTY, "end");
    log_iter_close(&it);
}

static void open_it(struct model *m, bool may_die)
{
    struct log_options o = place_options(&m->place, false);
    struct errbuf e = {""};
    for (;;) {
        struct log_found found;
        m->disk.dies_after = may_die && rng_below(&m->rng, 4) == 0
                                 ? 1 + rng_below(&m->rng, 8)
                                 : 0;
        enum err rc = log_open(&m->log, &o, &found, &e);
        if (m->disk.dead) { /* a cut while recovering: again */
            log_close(&m->log);
            disk_crash(&m->disk, m->place.path);
            m->cuts++;
            continue;
        }
        m->disk.dies_after = 0;
        if (rc != ERR_OK)
            fail_msg("seed %llu: %s", (unsigned long long)m->seed, e.text);
        must(m, found.last >= m->durable, "what was durable is there");
        must(m, found.last <= m->last, "nothing came from nowhere");
        m->tails += found.tail_records;
        m->last = m->durable = found.last;
        m->epoch = log_epoch(m->log);
        m->reopened++;
        compare(m);
        return;
    }
}

static void cut_power(struct model *m)
{
    m->disk.dead = true;
    log_close(&m->log);
    disk_crash(&m->disk, m->place.path);
    m->cuts++;
    open_it(m, true);
}

static void truncate_some(struct model *m)
{
    struct errbuf e;
    uint64_t first = log_first(m->log);
    uint64_t from = first + rng_below(&m->rng, m->last + 2 - first);
    note(m);
    uint64_t before = m->durable;
    if (rng_below(&m->rng, 2) == 0)
        m->disk.dies_after = 1 + rng_below(&m->rng, 10);
    (void)!log_truncate_suffix(m->log, from, &e);
    if (m->disk.dead) { /* it may or may not have happened */
        m->durable = before < from - 1 ? before : from - 1;
        cut_power(m);
        return;
    }
    m->disk.dies_after = 0;
    m->last = m->durable = from - 1;
    must(m, log_last(m->log) == from - 1, "the suffix is gone");
    /* A new leader's records follow, never the old one's. */
    m->epoch = log_epoch(m->log) + 1;
    log_set_epoch(m->log, m->epoch);
    compare(m);
}

static void one_run(uint64_t seed, uint64_t *cuts, uint64_t *tails)
{
    struct model m = {.seed = seed};
    place_make(&m.place);
    m.place.segment_bytes = LOG_SEGMENT_BYTES_MIN + 4096;
    m.place.sync = seed % 3 == 0 ? LOG_ALWAYS : LOG_NO;
    disk_init(&m.disk, seed * 31 + 7);
    m.place.io = &m.disk.io;
    rng_seed(&m.rng, seed);
    open_it(&m, false);
    for (int step = 0; step < 150; step++) {
        if (rng_below(&m.rng, 12) == 0 && m.disk.dies_after == 0)
            m.disk.dies_after = 1 + rng_below(&m.rng, 12);
        uint64_t what = rng_below(&m.rng, 100);
        if (what < 60) {
            for (uint64_t n = 1 + rng_below(&m.rng, 6); n > 0; n--)
                append(&m);
            log_submit(m.log);
        } else if (what < 78) {
            log_request_sync(m.log);
        } else if (what < 84) {
            uint64_t durable = m.durable;
            log_release(m.log, durable > 30 ? durable - 30 : 0);
        } else if (what < 88 && !m.disk.dead) {
            compare(&m);
        } else if (what < 91 && !m.disk.dead) {
            m.disk.dies_after = 0;
            truncate_some(&m);
        } else if (what < 94 && !m.disk.dead) { /* a clean stop */
            struct errbuf e;
            m.disk.dies_after = 0;
            assert_ok(log_drain(m.log, &e));
            note(&m);
            must(&m, m.durable == m.last, "a drain leaves nothing");
            log_close(&m.log);
            open_it(&m, true);
        } else if (what < 97) {
            cut_power(&m);
        }
        note(&m);
        if (m.disk.dead)
            cut_power(&m);
        must(&m, log_durable(m.log) <= log_acked(m.log), "invariant 3");
        must(&m, log_acked(m.log) <= log_written(m.log), "invariant 3");
        must(&m, log_written(m.log) <= log_last(m.log), "invariant 3");
    }
    log_close(&m.log);
    *cuts += m.cuts;
    names_lost += m.disk.names_lost;
    *tails += m.tails;
    for (uint64_t i = 0; i < m.room; i++)
        buf_release(&m.entries[i]);
    mem_free(m.entries);
    mem_free(m.epochs);
    disk_release(&m.disk);
    place_remove(&m.place);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *s = getenv(name);
    return s == NULL ? otherwise : strtoull(s, NULL, 10);
}

static void power_cuts_lose_nothing_that_was_durable(void **state)
{
    (void)state;
    uint64_t seed = setting("BELFRY_SEED", 1),
             runs = setting("BELFRY_RUNS", 60);
    uint64_t cuts = 0, tails = 0;
    for (uint64_t i = 0; i < runs; i++)
        one_run(seed + i, &cuts, &tails);
    print_message("seeds %llu.. : %llu power cuts, %llu torn records dropped, "
                  "%llu names lost\n",
                  (unsigned long long)seed, (unsigned long long)cuts,
                  (unsigned long long)tails, (unsigned long long)names_lost);
    assert_true(cuts > runs); /* else it tests nothing */
    assert_true(tails > runs);
    assert_true(names_lost > runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_cuts_lose_nothing_that_was_durable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
