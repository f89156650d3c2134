/* The net rule against a model, with crashes at random boundaries.
 *
 * The model is a plain array of values and a history of what each entry did.
 * The store runs on the simulation's disk, where sealing, syncing, applying and
 * flushing happen at random moments, and the power fails. After every step all
 * rows are read back: in the overlay, in the base, or across both.
 *
 * Seeds: 20,000, or NET_SEEDS; a failure prints the seed, NET_SEED repeats it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/key.h"
#include "store/mem.h"
#include "store/state.h"
#include "util/alloc.h"
#include "util/rng.h"

#define KEYS 12
#define STEPS 60
#define HISTORY 512

enum rule {
    RULE_RIGHT, /* a put is marked fresh if there is no row, at most */
    RULE_NAIVE, /* every put is: a delete over any put of its generation
                   then vanishes, which is the rule one thinks of first */
};

/* What a row is; 0: there is none. */
struct model {
    unsigned rows[KEYS];
};

struct run {
    struct rng rng;
    enum rule rule;
    struct mem_disk *disk;
    struct store *s;
    struct store_options o;
    struct now now;
    struct model model;
    struct model history[HISTORY]; /* as of index */
    unsigned next_value;
    bool wrong;
};

static struct slice key_of(struct key *k, unsigned i)
{
    k->len = 2;
    k->bytes[0] = 'k';
    k->bytes[1] = (char)('a' + i);
    return key_slice(k);
}

static void check_get(struct run *r, unsigned i)
{
    struct key k;
    struct slice v;
    unsigned got = 0;
    enum err rc = store_get(r->s, NULL, FAMILY_JOBS, key_of(&k, i), &v, NULL);
    if (rc == ERR_OK) {
        assert_int_equal(v.len, sizeof(got));
        memcpy(&got, v.data, sizeof(got));
    } else {
        assert_int_equal(rc, ERR_NOTFOUND);
    }
    if (got != r->model.rows[i])
        r->wrong = true;
}

struct seen {
    unsigned rows[KEYS];
    unsigned n;
    int last;
    int step;
};

static bool see(struct slice key, struct slice value, void *ud)
{
    struct seen *s = ud;
    int i = key.data[1] - 'a';
    assert_true(s->step > 0 ? i > s->last : i < s->last);
    s->last = i;
    memcpy(&s->rows[i], value.data, sizeof(s->rows[i]));
    s->n++;
    return true;
}

static void check_scan(struct run *r, bool back)
{
    struct seen seen = {.last = back ? KEYS : -1, .step = back ? -1 : 1};
    unsigned from = (unsigned)rng_below(&r->rng, KEYS);
    unsigned to = from + 1 + (unsigned)rng_below(&r->rng, KEYS - from);
    unsigned max = (unsigned)rng_below(&r->rng, KEYS + 1), left = max;
    struct key a, b;
    enum err rc =
        back ? store_scan_back(r->s, NULL, FAMILY_JOBS, key_of(&a, from),
                               key_of(&b, to), max, see, &seen, NULL)
             : store_scan(r->s, NULL, FAMILY_JOBS, key_of(&a, from),
                          key_of(&b, to), max, see, &seen, NULL);
    assert_int_equal(rc, ERR_OK);
    for (unsigned n = 0; n < to - from; n++) {
        unsigned i = back ? to - 1 - n : from + n;
        unsigned want = left > 0 ? r->model.rows[i] : 0;
        if (want != 0)
            left--;
        if (seen.rows[i] != want)
            r->wrong = true;
    }
}

static void check_all(struct run *r)
{
    for (unsigned i = 0; i < KEYS; i++)
        check_get(r, i);
    check_scan(r, false);
    check_scan(r, true);
    LIST_FOR (n, &r->s->generations)
        generation_check(CONTAINER_OF(n, struct generation, node));
}

static void change(struct run *r)
{
    unsigned i = (unsigned)rng_below(&r->rng, KEYS);
    unsigned what = (unsigned)rng_below(&r->rng, 20);
    struct key k, to;
    if (what == 0) {
        unsigned end = i + 1 + (unsigned)rng_below(&r->rng, KEYS - i);
        store_del_range(r->s, FAMILY_JOBS, key_of(&k, i), key_of(&to, end));
        for (; i < end; i++)
            r->model.rows[i] = 0;
    } else if (what < 9) {
        /* The engine deletes only what is there. */
        if (r->model.rows[i] == 0 && what > 1)
            return;
        store_del(r->s, FAMILY_JOBS, key_of(&k, i));
        r->model.rows[i] = 0;
    } else {
        bool fresh = r->model.rows[i] == 0 && rng_below(&r->rng, 4) > 0;
        unsigned value = ++r->next_value;
        char *room = store_put(r->s, FAMILY_JOBS, key_of(&k, i), sizeof(value),
                               fresh || r->rule == RULE_NAIVE);
        memcpy(room, &value, sizeof(value));
        r->model.rows[i] = value;
    }
}

static void commit(struct run *r)
{
    uint64_t index = store_commit(r->s, r->now);
    assert_true(index < HISTORY);
    r->history[index] = r->model;
}

static void start(struct run *r)
{
    assert_int_equal(store_start_mem(&r->s, r->disk, &r->o, r->now, NULL),
                     ERR_OK);
    commit(r);
}

static void crash(struct run *r)
{
    uint64_t durable = store_durable(r->s), last = store_last(r->s);
    uint64_t keep = rng_below(&r->rng, 3);
    uint64_t kept = last - durable < keep ? last : durable + keep;
    mem_crash(&r->s, keep);
    r->model = r->history[kept];
    start(r);
}

static void step(struct run *r)
{
    switch (rng_below(&r->rng, 16)) {
    case 0:
        mem_sync(r->disk, UINT64_MAX);
        break;
    case 1:
        mem_sync(r->disk, store_durable(r->s) + 1);
        break;
    case 2:
    case 3:
        commit(r);
        if (r->s->open->last_index != 0)
            store_seal(r->s);
        break;
    case 4:
    case 5:
        mem_apply(r->disk, (unsigned)rng_below(&r->rng, 3));
        store_poll(r->s, r->now);
        break;
    case 6:
        mem_flush(r->disk);
        break;
    case 7:
        if (rng_below(&r->rng, 2) == 0)
            crash(r);
        break;
    case 8:
        r->now.mono_ms += 400;
        store_poll(r->s, r->now);
        break;
    case 9:
        commit(r);
        break;
    default:
        change(r);
    }
}

/* False: store and model disagreed. */
static bool run(uint64_t seed, enum rule rule)
{
    struct run *r = NEW(struct run);
    struct mem_knobs knobs = {.seed = seed,
                              .manual_sync = true,
                              .manual_apply = true,
                              .manual_flush = true,
                              .tables = seed % 2 == 0};
    rng_seed(&r->rng, seed);
    r->rule = rule;
    r->now = (struct now){1000, 1000};
    store_options_default(&r->o);
    r->o.generation_bytes = 256;
    r->o.generation_age_ms = 1000;
    r->disk = mem_disk_new(&knobs);
    start(r);
    for (unsigned i = 0; i < STEPS && !r->wrong; i++) {
        step(r);
        check_all(r);
    }
    bool right = !r->wrong;
    store_abandon(&r->s);
    mem_disk_free(&r->disk);
    mem_free(r);
    return right;
}

static uint64_t from_env(const char *name, uint64_t otherwise)
{
    const char *s = getenv(name);
    return s == NULL ? otherwise : strtoull(s, NULL, 10);
}

static void the_net_is_right_wherever_a_crash_falls(void **state)
{
    uint64_t first = from_env("NET_SEED", 1);
    uint64_t n = getenv("NET_SEED") ? 1 : from_env("NET_SEEDS", 20000);
    (void)state;
    for (uint64_t seed = first; seed < first + n; seed++)
        if (!run(seed, RULE_RIGHT))
            fail_msg("seed %llu: NET_SEED=%llu repeats it",
                     (unsigned long long)seed, (unsigned long long)seed);
}

static void the_naive_net_is_wrong_in_many_runs(void **state)
{
    unsigned wrong = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++)
        wrong += !run(seed, RULE_NAIVE);
    print_message("the naive rule went wrong in %u of 500 runs\n", wrong);
    assert_true(wrong > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_net_is_right_wherever_a_crash_falls),
        cmocka_unit_test(the_naive_net_is_wrong_in_many_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
