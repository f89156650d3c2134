/* The rules of store.h on the simulation's disk: views, gathers, sealing,
 * faults. The net is in test_net_model.c, RocksDB in test_rocks.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "store/key.h"
#include "store/mem.h"
#include "store/records.h"
#include "store/state.h"
#include "util/alloc.h"
#include "util/rng.h"

struct rig {
    struct mem_disk *disk;
    struct store *s;
    struct store_options o;
    struct now now;
    unsigned fetched;
};

static int begin(void **state)
{
    struct rig *r = NEW(struct rig);
    struct mem_knobs knobs = {.seed = 1};
    r->disk = mem_disk_new(&knobs);
    store_options_default(&r->o);
    r->now = (struct now){1700000000000, 5000};
    assert_int_equal(store_start_mem(&r->s, r->disk, &r->o, r->now, NULL),
                     ERR_OK);
    *state = r;
    return 0;
}

static int end(void **state)
{
    struct rig *r = *state;
    store_abandon(&r->s);
    mem_disk_free(&r->disk);
    mem_free(r);
    return 0;
}

static void put(struct rig *r, const char *key, const char *value)
{
    memcpy(store_put(r->s, FAMILY_JOBS, slice_str(key), strlen(value), false),
           value, strlen(value));
}

static void commit(struct rig *r)
{
    store_commit(r->s, r->now);
}

static void poll(struct rig *r)
{
    store_poll(r->s, r->now);
}

/* Everything into the base. */
static void settle(struct rig *r)
{
    commit(r);
    if (r->s->open->last_index != 0)
        store_seal(r->s);
    poll(r);
}

static enum err get(struct rig *r, struct gather *g, const char *key,
                    struct slice *value)
{
    return store_get(r->s, g, FAMILY_JOBS, slice_str(key), value, NULL);
}

static void is(struct rig *r, const char *key, const char *value)
{
    struct slice v;
    assert_int_equal(get(r, NULL, key, &v), ERR_OK);
    assert_true(slice_eq(v, slice_str(value)));
}

static void done(void *ud)
{
    ((struct rig *)ud)->fetched++;
}

static bool join(struct slice key, struct slice value, void *ud)
{
    (void)value;
    strncat(ud, key.data, key.len);
    return true;
}

static void fetch(struct rig *r, struct gather *g)
{
    unsigned before = r->fetched;
    store_fetch(r->s, g, done, r);
    for (int i = 0; i < 100 && r->fetched == before; i++)
        poll(r);
    assert_int_equal(r->fetched, before + 1);
}

/* --- visibility ---------------------------------------------------------- */

static void a_change_is_visible_within_its_tick(void **state)
{
    struct rig *r = *state;
    struct slice v;
    put(r, "a", "1");
    is(r, "a", "1");
    put(r, "a", "2");
    is(r, "a", "2");
    store_del(r->s, FAMILY_JOBS, SLICE_LIT("a"));
    assert_int_equal(get(r, NULL, "a", &v), ERR_NOTFOUND);
    assert_true(store_entry_bytes(r->s) > 0);
    commit(r);
    assert_int_equal(store_entry_bytes(r->s), 0);
}

static void a_commit_without_changes_covers_everything_so_far(void **state)
{
    struct rig *r = *state;
    put(r, "a", "1");
    uint64_t index = store_commit(r->s, r->now);
    assert_int_equal(store_commit(r->s, r->now), index);
    assert_int_equal(store_last(r->s), index);
}

static void nothing_is_acked_before_it_is_durable(void **state)
{
    struct rig *r = *state;
    mem_knobs(r->disk)->manual_sync = true;
    put(r, "a", "1");
    uint64_t first = store_commit(r->s, r->now);
    put(r, "b", "1");
    uint64_t second = store_commit(r->s, r->now);
    assert_true(store_acked(r->s) < first);
    assert_true(store_pending_bytes(r->s) > 0);
    mem_sync(r->disk, first);
    assert_int_equal(store_acked(r->s), first);
    mem_sync(r->disk, second);
    assert_int_equal(store_pending_bytes(r->s), 0);
}

static void a_generation_is_applied_only_when_durable(void **state)
{
    struct rig *r = *state;
    struct store_stats st;
    mem_knobs(r->disk)->manual_sync = true;
    put(r, "a", "1");
    commit(r);
    store_seal(r->s);
    poll(r);
    store_get_stats(r->s, &st);
    assert_true(st.applied_index < store_last(r->s));
    assert_int_equal(st.generations, 2);
    mem_sync(r->disk, UINT64_MAX);
    poll(r);
    store_get_stats(r->s, &st);
    assert_int_equal(st.applied_index, store_last(r->s));
    assert_int_equal(st.generations, 1);
    is(r, "a", "1");
}

/* --- sealing ------------------------------------------------------------- */

static void a_generation_is_sealed_by_age(void **state)
{
    struct rig *r = *state;
    struct store_stats st;
    settle(r);
    assert_true(store_next_poll_ms(r->s) == UINT64_MAX);
    put(r, "a", "1");
    commit(r);
    assert_true(store_next_poll_ms(r->s) ==
                r->now.mono_ms + r->o.generation_age_ms);
    r->now.mono_ms += r->o.generation_age_ms - 1;
    poll(r);
    store_get_stats(r->s, &st);
    assert_true(st.applied_index < store_last(r->s));
    r->now.mono_ms += 1;
    poll(r);
    poll(r);
    store_get_stats(r->s, &st);
    assert_int_equal(st.applied_index, store_last(r->s));
}

static void a_generation_is_sealed_by_size_at_the_end_of_an_entry(void **state)
{
    struct rig *r = *state;
    struct store_stats st;
    store_abandon(&r->s);
    r->o.generation_bytes = 4096;
    assert_int_equal(store_start_mem(&r->s, r->disk, &r->o, r->now, NULL),
                     ERR_OK);
    mem_knobs(r->disk)->manual_apply = true;
    for (int i = 0; i < 1000; i++) { /* one entry, far beyond the size */
        char key[16];
        snprintf(key, sizeof(key), "%04d", i);
        put(r, key, "0123456789");
    }
    store_get_stats(r->s, &st);
    assert_int_equal(st.generations, 1);
    commit(r);
    store_get_stats(r->s, &st);
    assert_int_equal(st.generations, 2);
}

#define QUIET_PAGES 64 /* of the region that a quiet store may keep */

/* Pages of the region in memory. */
static size_t resident(const struct generation *g)
{
    static unsigned char vec[16384];
    size_t pages = (g->region_size + 4095) / 4096, n = 0;
    assert_true(pages <= sizeof(vec));
    assert_int_equal(mincore(g->region, g->region_size, vec), 0);
    for (size_t i = 0; i < pages; i++)
        n += vec[i] & 1;
    return n;
}

/* Some thousands of leaves in one turn would hold up the loop. */
static void what_a_full_generation_had_is_freed_in_slices(void **state)
{
    struct rig *r = *state;
    char key[16];
    unsigned polls = 0;
    store_abandon(&r->s);
    r->o.generation_bytes = 8 << 20;
    assert_int_equal(store_start_mem(&r->s, r->disk, &r->o, r->now, NULL),
                     ERR_OK);
    for (int i = 0; i < 100000; i++) {
        snprintf(key, sizeof(key), "%06d", i);
        put(r, key, "v");
        if (i % 1000 == 999)
            commit(r);
    }
    store_seal(r->s);
    for (; r->s->generations_len > 1; polls++)
        store_poll(r->s, r->now);
    assert_non_null(r->s->shed);
    for (polls = 0; r->s->shed != NULL; polls++) {
        assert_int_equal(store_next_poll_ms(r->s), 0);
        store_poll(r->s, r->now);
    }
    assert_in_range(polls, 2, 20);
    is(r, "099999", "v");
}

static void a_store_that_became_quiet_gives_its_memory_back(void **state)
{
    struct rig *r = *state;
    char key[16], value[400];
    store_abandon(&r->s);
    r->o.generation_bytes = 1 << 20;
    assert_int_equal(store_start_mem(&r->s, r->disk, &r->o, r->now, NULL),
                     ERR_OK);
    memset(value, 'v', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    for (int i = 0; i < 10000; i++) {
        snprintf(key, sizeof(key), "%d", i);
        put(r, key, value);
        commit(r);
        poll(r);
    }
    assert_non_null(r->s->spare);
    /* One in which little is used is under way. */
    mem_knobs(r->disk)->manual_apply = true;
    assert_true(resident(r->s->open) > 200);
    store_seal(r->s);
    assert_true(resident(r->s->open) > 200);
    r->now.mono_ms += r->o.generation_age_ms;
    poll(r);
    assert_null(r->s->spare);
    assert_true(resident(r->s->open) <= r->s->open->used / 4096 + 1);
    is(r, "9999", value);
    mem_apply(r->disk, 9);
    poll(r);
    assert_true(r->s->spare == NULL || resident(r->s->spare) <= QUIET_PAGES);
    mem_knobs(r->disk)->manual_apply = false;
    put(r, "9999", "w");
    settle(r);
    is(r, "9999", "w");
    /* What it keeps is small. */
    assert_true(r->s->spare == NULL || resident(r->s->spare) <= QUIET_PAGES);
}

/* What of the store's regions is resident and not in use. */
static size_t left_over(const struct rig *r)
{
    size_t n = resident(r->s->open) - r->s->open->used / 4096;
    LIST_FOR (it, &r->s->retired)
        n += resident(CONTAINER_OF(it, struct generation, node));
    return r->s->spare == NULL ? n : n + resident(r->s->spare);
}

/* A slice a turn: the loop is not held up for the pages of a whole region. */
static void memory_is_given_back_in_slices(void **state)
{
    struct rig *r = *state;
    char key[16];
    static char value[4000];
    memset(value, 'v', sizeof(value) - 1);
    store_abandon(&r->s);
    r->o.generation_bytes = 8 << 20;
    assert_int_equal(store_start_mem(&r->s, r->disk, &r->o, r->now, NULL),
                     ERR_OK);
    for (int i = 0; i < 5000; i++) { /* two generations, half of a third */
        snprintf(key, sizeof(key), "%d", i);
        put(r, key, value);
        commit(r);
        poll(r);
    }
    store_seal(r->s);
    r->now.mono_ms += r->o.generation_age_ms;
    size_t was = left_over(r), turns = 0;
    assert_true(was > 1500);
    do {
        poll(r);
        size_t is = left_over(r);
        if (is < was) /* else another was applied */
            assert_in_range(was - is, 1, GENERATION_TRIM_BYTES / 4096 + 1);
        was = is;
        assert_true(++turns < 1000);
    } while (store_next_poll_ms(r->s) == 0);
    assert_in_range(was, 0, QUIET_PAGES);
    assert_true(list_empty(&r->s->retired));
}

static void a_slow_disk_makes_generations_larger_not_more(void **state)
{
    struct rig *r = *state;
    struct store_stats st;
    mem_knobs(r->disk)->manual_apply = true;
    for (int i = 0; i < 20; i++) {
        char key[16];
        snprintf(key, sizeof(key), "%d", i);
        put(r, key, "1");
        commit(r);
        r->now.mono_ms += r->o.generation_age_ms;
        poll(r);
    }
    store_get_stats(r->s, &st);
    assert_int_equal(st.generations, 2);
}

/* --- views and gathers --------------------------------------------------- */

static void a_generation_stays_while_a_view_is_held(void **state)
{
    struct rig *r = *state;
    struct store_stats st;
    struct slice v;
    struct gather *g = gather_new(r->s);
    put(r, "a", "1");
    commit(r);
    assert_int_equal(get(r, g, "a", &v), ERR_OK);
    settle(r);
    store_get_stats(r->s, &st);
    assert_int_equal(st.generations, 2); /* applied, not dropped */
    assert_true(slice_eq(v, SLICE_LIT("1")));
    put(r, "a", "2");
    settle(r);
    assert_true(slice_eq(v, SLICE_LIT("1"))); /* the slice stays, too */
    assert_int_equal(get(r, g, "a", &v), ERR_OK);
    assert_true(slice_eq(v, SLICE_LIT("2")));
    gather_release(g);
    poll(r);
    store_get_stats(r->s, &st);
    assert_int_equal(st.generations, 1);
    gather_free(&g);
}

static void a_missing_row_is_fetched_and_stays(void **state)
{
    struct rig *r = *state;
    struct store_stats st;
    struct slice v;
    struct gather *g = gather_new(r->s);
    put(r, "a", "1");
    settle(r);
    mem_knobs(r->disk)->pending_per_1000 = 1000;
    assert_int_equal(get(r, g, "a", &v), ERR_PENDING);
    assert_int_equal(get(r, g, "none", &v), ERR_PENDING);
    fetch(r, g);
    /* However often it asks: the row is its own now. */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(get(r, g, "a", &v), ERR_OK);
        assert_true(slice_eq(v, SLICE_LIT("1")));
        assert_int_equal(get(r, g, "none", &v), ERR_NOTFOUND);
    }
    gather_release(g);
    assert_int_equal(get(r, g, "a", &v), ERR_PENDING);
    gather_free(&g);
    store_get_stats(r->s, &st);
    assert_int_equal(st.blocking_reads, 0);
    assert_int_equal(st.loop_disk_reads, 0);
}

/* An actor that gathers and then acts finds what it had, whatever has been
 * evicted in between. */
static void what_was_in_memory_stays_with_the_gather(void **state)
{
    struct rig *r = *state;
    char seen[64] = "";
    struct slice v;
    struct gather *g = gather_new(r->s);
    for (const char *k = "abcdef"; *k != '\0'; k++)
        put(r, (char[]){*k, '\0'}, "1");
    settle(r);
    put(r, "bb", "1"); /* between rows of the base, and over one of them */
    put(r, "c", "2");
    store_del(r->s, FAMILY_JOBS, SLICE_LIT("d"));
    commit(r);
    assert_int_equal(get(r, g, "a", &v), ERR_OK);
    assert_int_equal(get(r, g, "none", &v), ERR_NOTFOUND);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(store_scan(r->s, g, FAMILY_JOBS, SLICE_LIT("b"),
                                    SLICE_LIT("f"), 9, join, seen, NULL),
                         ERR_OK);
        assert_string_equal(seen, "bbbce");
        seen[0] = '\0';
        assert_int_equal(store_scan_back(r->s, g, FAMILY_JOBS, SLICE_LIT("b"),
                                         SLICE_EMPTY, 9, join, seen, NULL),
                         ERR_OK);
        assert_string_equal(seen, "fecbbb");
        seen[0] = '\0';
        mem_knobs(r->disk)->pending_per_1000 = 1000; /* evicted */
        assert_int_equal(get(r, g, "a", &v), ERR_OK);
        assert_true(slice_eq(v, SLICE_LIT("1")));
        assert_int_equal(get(r, g, "none", &v), ERR_NOTFOUND);
    }
    /* What changes meanwhile is seen. */
    store_del(r->s, FAMILY_JOBS, SLICE_LIT("e"));
    put(r, "d", "3");
    commit(r);
    assert_int_equal(store_scan(r->s, g, FAMILY_JOBS, SLICE_LIT("b"),
                                SLICE_LIT("f"), 9, join, seen, NULL),
                     ERR_OK);
    assert_string_equal(seen, "bbbcd");
    gather_release(g);
    assert_int_equal(get(r, g, "a", &v), ERR_PENDING);
    gather_free(&g);
}

static void a_read_without_a_gather_blocks_and_is_counted(void **state)
{
    struct rig *r = *state;
    struct store_stats st;
    put(r, "a", "1");
    settle(r);
    mem_knobs(r->disk)->pending_per_1000 = 1000;
    is(r, "a", "1");
    store_get_stats(r->s, &st);
    assert_int_equal(st.blocking_reads, 1);
    assert_int_equal(st.loop_disk_reads, 1);
}

static void a_pending_scan_calls_nobody_and_then_is_whole(void **state)
{
    struct rig *r = *state;
    char seen[64] = "";
    struct gather *g = gather_new(r->s);
    for (const char *k = "abcdefgh"; *k != '\0'; k++)
        put(r, (char[]){*k, '\0'}, "1");
    settle(r);
    put(r, "bb", "1");
    store_del(r->s, FAMILY_JOBS, SLICE_LIT("c"));
    commit(r);
    mem_knobs(r->disk)->pending_per_1000 = 1000;
    assert_int_equal(store_scan(r->s, g, FAMILY_JOBS, SLICE_LIT("b"),
                                SLICE_LIT("g"), 4, join, seen, NULL),
                     ERR_PENDING);
    assert_string_equal(seen, "");
    fetch(r, g);
    assert_int_equal(store_scan(r->s, g, FAMILY_JOBS, SLICE_LIT("b"),
                                SLICE_LIT("g"), 4, join, seen, NULL),
                     ERR_OK);
    assert_string_equal(seen, "bbbde");
    seen[0] = '\0';
    assert_int_equal(store_scan_back(r->s, g, FAMILY_JOBS, SLICE_EMPTY,
                                     SLICE_EMPTY, 3, join, seen, NULL),
                     ERR_PENDING);
    fetch(r, g);
    assert_int_equal(store_scan_back(r->s, g, FAMILY_JOBS, SLICE_EMPTY,
                                     SLICE_EMPTY, 3, join, seen, NULL),
                     ERR_OK);
    assert_string_equal(seen, "hgf");
    gather_free(&g);
}

/* The overlay deletes more than was fetched beyond the limit: the scan has to
 * ask again, with more, and ends. */
static void a_scan_that_was_fetched_too_short_asks_for_more(void **state)
{
    struct rig *r = *state;
    char seen[64] = "", key[16];
    struct gather *g = gather_new(r->s);
    unsigned rounds = 0;
    enum err rc;
    for (int i = 0; i < 500; i++) {
        snprintf(key, sizeof(key), "%03d", i);
        put(r, key, "1");
    }
    settle(r);
    for (int i = 0; i < 499; i++) {
        snprintf(key, sizeof(key), "%03d", i);
        store_del(r->s, FAMILY_JOBS, slice_str(key));
    }
    commit(r);
    mem_knobs(r->disk)->pending_per_1000 = 1000;
    while ((rc = store_scan(r->s, g, FAMILY_JOBS, SLICE_EMPTY, SLICE_EMPTY, 1,
                            join, seen, NULL)) == ERR_PENDING) {
        assert_true(++rounds < 10);
        fetch(r, g);
    }
    assert_int_equal(rc, ERR_OK);
    assert_string_equal(seen, "499");
    assert_true(rounds > 1);
    gather_free(&g);
}

static void a_freed_gather_cancels_its_fetch(void **state)
{
    struct rig *r = *state;
    struct slice v;
    struct gather *g = gather_new(r->s);
    put(r, "a", "1");
    settle(r);
    mem_knobs(r->disk)->pending_per_1000 = 1000;
    assert_int_equal(get(r, g, "a", &v), ERR_PENDING);
    store_fetch(r->s, g, done, r);
    gather_free(&g);
    poll(r);
    poll(r);
    assert_int_equal(r->fetched, 0);
}

/* Actors gather some rows, wait, and act; whatever is applied, dropped or
 * changed in between, they act on the present. */
static void gathers_agree_with_the_present_under_random_load(void **state)
{
    struct rig *r = *state;
    struct rng rng;
    struct gather *g = gather_new(r->s);
    unsigned model[40] = {0}, value = 0;
    mem_knobs(r->disk)->pending_per_1000 = 400;
    mem_knobs(r->disk)->fetch_polls_max = 3;
    rng_seed(&rng, 11);
    for (int n = 0; n < 20000; n++) {
        unsigned i = (unsigned)rng_below(&rng, 40), got = 0;
        char key[8];
        struct slice v;
        enum err rc;
        snprintf(key, sizeof(key), "%02u", i);
        switch (rng_below(&rng, 6)) {
        case 0:
            model[i] = ++value;
            memcpy(store_put(r->s, FAMILY_JOBS, slice_str(key), sizeof(value),
                             false),
                   &value, sizeof(value));
            break;
        case 1:
            model[i] = 0;
            store_del(r->s, FAMILY_JOBS, slice_str(key));
            break;
        case 2:
            settle(r);
            break;
        case 3:
            gather_release(g);
            break;
        default:
            while ((rc = get(r, g, key, &v)) == ERR_PENDING)
                fetch(r, g);
            if (rc == ERR_OK)
                memcpy(&got, v.data, sizeof(got));
            assert_int_equal(got, model[i]);
        }
    }
    gather_free(&g);
}

/* --- faults -------------------------------------------------------------- */

static void a_failed_read_says_so_with_and_without_a_gather(void **state)
{
    struct rig *r = *state;
    struct slice v;
    struct gather *g = gather_new(r->s);
    put(r, "a", "1");
    settle(r);
    mem_knobs(r->disk)->fail_reads = 1;
    assert_int_equal(get(r, NULL, "a", &v), ERR_IO);
    mem_knobs(r->disk)->damage_reads = 1;
    assert_int_equal(get(r, NULL, "a", &v), ERR_CORRUPT);
    mem_knobs(r->disk)->pending_per_1000 = 1000;
    assert_int_equal(get(r, g, "a", &v), ERR_PENDING);
    mem_knobs(r->disk)->damage_reads = 1;
    fetch(r, g);
    assert_int_equal(get(r, g, "a", &v), ERR_CORRUPT);
    gather_free(&g);
    is(r, "a", "1");
}

static void failed_applies_stay_visible_and_are_tried_in_order(void **state)
{
    struct rig *r = *state;
    struct store_stats st;
    mem_knobs(r->disk)->fail_applies = 3;
    put(r, "a", "1");
    settle(r);
    store_get_stats(r->s, &st);
    assert_non_null(st.fault);
    put(r, "a", "2");
    commit(r);
    store_seal(r->s);
    for (int i = 0; i < 4; i++) {
        is(r, "a", "2");
        poll(r);
    }
    store_get_stats(r->s, &st);
    assert_null(st.fault);
    assert_int_equal(st.applied_index, store_last(r->s));
    is(r, "a", "2");
}

static void a_full_overlay_slows_down_then_refuses(void **state)
{
    struct rig *r = *state;
    static char large[4096];
    unsigned n = 0, finish_at = 0, slow_at = 0;
    store_abandon(&r->s);
    r->o.generation_bytes = 64 << 10;
    r->o.overlay_bytes_max = 1 << 20;
    assert_int_equal(store_start_mem(&r->s, r->disk, &r->o, r->now, NULL),
                     ERR_OK);
    mem_knobs(r->disk)->manual_apply = true;
    memset(large, 'x', sizeof(large) - 1);
    assert_int_equal(store_room(r->s), STORE_ROOM);
    for (; store_room(r->s) != STORE_FULL; n++) {
        char key[16];
        assert_true(n < 1000);
        snprintf(key, sizeof(key), "%u", n);
        put(r, key, large);
        commit(r);
        poll(r);
        if (slow_at == 0 && store_base_is_behind(r->s))
            slow_at = n;
        if (finish_at == 0 && store_room(r->s) == STORE_FINISH_ONLY)
            finish_at = n;
    }
    /* First clients are slowed down, then new work is refused, then all. */
    assert_true(slow_at > 0 && slow_at < finish_at - 20);
    assert_true(finish_at < n - 20);
    /* With a full disk waiting would not help. */
    assert_true(store_base_is_behind(r->s));
    mem_knobs(r->disk)->room = STORE_FINISH_ONLY;
    assert_false(store_base_is_behind(r->s));
    mem_knobs(r->disk)->room = STORE_ROOM;
    mem_knobs(r->disk)->manual_apply = false;
    poll(r);
    assert_int_equal(store_room(r->s), STORE_ROOM);
}

/* --- start --------------------------------------------------------------- */

static void the_start_number_is_durable_before_loading_ends(void **state)
{
    struct rig *r = *state;
    struct store *s = NULL;
    bool loaded = false;
    uint32_t last = store_start_number(r->s);
    assert_int_equal(last, r->now.wall_ms / 1000);
    mem_knobs(r->disk)->manual_sync = true;
    store_close(&r->s);
    /* The clock went back ten years: the number does not. */
    r->now.wall_ms -= (uint64_t)315360000000;
    assert_int_equal(store_open_mem(&s, r->disk, &r->o, NULL), ERR_OK);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(store_load_step(s, r->now, &loaded, NULL), ERR_OK);
        assert_false(loaded);
    }
    mem_sync(r->disk, UINT64_MAX);
    assert_int_equal(store_load_step(s, r->now, &loaded, NULL), ERR_OK);
    assert_true(loaded);
    assert_int_equal(store_start_number(s), last + 1);
    r->s = s;
}

static void somebody_elses_data_is_refused(void **state)
{
    struct rig *r = *state;
    struct rec_format format = {SLICE_LIT("sparrow"), 1};
    struct errbuf e;
    rec_format_encode(&format, store_put(r->s, FAMILY_META, SLICE_LIT("format"),
                                         rec_format_size(&format), false));
    commit(r);
    store_close(&r->s);
    assert_int_equal(store_start_mem(&r->s, r->disk, &r->o, r->now, &e),
                     ERR_CORRUPT);
    assert_non_null(strstr(e.text, "sparrow"));
}

static void an_older_format_is_raised(void **state)
{
    struct rig *r = *state;
    struct rec_format format = {SLICE_LIT("belfry"), STORE_FORMAT_OLDEST};
    struct errbuf e;
    struct slice v;
    rec_format_encode(&format, store_put(r->s, FAMILY_META, SLICE_LIT("format"),
                                         rec_format_size(&format), false));
    commit(r);
    store_close(&r->s);
    assert_int_equal(store_start_mem(&r->s, r->disk, &r->o, r->now, &e),
                     ERR_OK);
    assert_int_equal(
        store_get(r->s, NULL, FAMILY_META, SLICE_LIT("format"), &v, &e),
        ERR_OK);
    assert_true(rec_format_decode(&format, v));
    assert_int_equal(format.version, STORE_FORMAT);
}

static void a_newer_format_is_refused(void **state)
{
    struct rig *r = *state;
    struct rec_format format = {SLICE_LIT("belfry"), STORE_FORMAT + 1};
    struct errbuf e;
    rec_format_encode(&format, store_put(r->s, FAMILY_META, SLICE_LIT("format"),
                                         rec_format_size(&format), false));
    commit(r);
    store_close(&r->s);
    assert_int_equal(store_start_mem(&r->s, r->disk, &r->o, r->now, &e),
                     ERR_CORRUPT);
    assert_non_null(strstr(e.text, "format"));
}

static void a_damaged_value_is_seen_by_its_reader(void **state)
{
    struct rig *r = *state;
    struct slice v;
    put(r, "a", "1");
    settle(r);
    assert_true(mem_damage(r->disk, FAMILY_JOBS, SLICE_LIT("a"), 3));
    assert_false(mem_damage(r->disk, FAMILY_JOBS, SLICE_LIT("b"), 3));
    assert_int_equal(get(r, NULL, "a", &v), ERR_OK);
    assert_false(slice_eq(v, SLICE_LIT("1")));
}

static void one_seed_gives_one_history(void **state)
{
    uint64_t hashes[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        void *other;
        begin(&other);
        struct rig *r = other;
        for (int n = 0; n < 500; n++) {
            char key[16];
            snprintf(key, sizeof(key), "%d", n * 37 % 100);
            put(r, key, "v");
            if (n % 7 == 0)
                settle(r);
        }
        commit(r);
        hashes[i] = mem_hash(r->disk);
        end(&other);
    }
    assert_true(hashes[0] == hashes[1]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

/* A start on a full disk can apply nothing: all that was not flushed comes back
 * to the overlay, more than there ever was in it. */
static void what_a_start_finds_leaves_room_for_finishing(void **state)
{
    struct rig *r = *state;
    struct mem_knobs *k = mem_knobs(r->disk);
    struct store_stats st;
    char key[16], value[1000];
    unsigned n = 0;
    store_abandon(&r->s);
    k->manual_flush = true;
    r->o.overlay_bytes_max = 1 << 20;
    r->o.generation_bytes = 64 << 10;
    assert_int_equal(store_start_mem(&r->s, r->disk, &r->o, r->now, NULL),
                     ERR_OK);
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (; n < 4000; n++) {
        snprintf(key, sizeof(key), "%u", n);
        put(r, key, value);
        commit(r);
        poll(r);
        assert_int_equal(store_room(r->s), STORE_ROOM);
    }
    mem_crash(&r->s, 0);
    k->room = STORE_FINISH_ONLY;
    k->manual_apply = true;
    assert_int_equal(store_start_mem(&r->s, r->disk, &r->o, r->now, NULL),
                     ERR_OK);
    store_get_stats(r->s, &st);
    assert_true(st.overlay_bytes > 3 * r->o.overlay_bytes_max);
    assert_int_equal(store_room(r->s), STORE_FINISH_ONLY);
    /* What comes now has the same bound as ever. */
    while (store_room(r->s) != STORE_FULL) {
        snprintf(key, sizeof(key), "%u", n++);
        put(r, key, value);
        commit(r);
        assert_true(n < 6000);
    }
    assert_true(n > 4000 + 700);
    k->room = STORE_ROOM;
    k->manual_apply = false;
    poll(r);
    assert_int_equal(store_room(r->s), STORE_ROOM);
    assert_int_equal(r->s->replayed_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_change_is_visible_within_its_tick),
        TEST(a_commit_without_changes_covers_everything_so_far),
        TEST(nothing_is_acked_before_it_is_durable),
        TEST(a_generation_is_applied_only_when_durable),
        TEST(a_generation_is_sealed_by_age),
        TEST(a_generation_is_sealed_by_size_at_the_end_of_an_entry),
        TEST(what_a_full_generation_had_is_freed_in_slices),
        TEST(a_store_that_became_quiet_gives_its_memory_back),
        TEST(memory_is_given_back_in_slices),
        TEST(a_slow_disk_makes_generations_larger_not_more),
        TEST(a_generation_stays_while_a_view_is_held),
        TEST(a_missing_row_is_fetched_and_stays),
        TEST(what_was_in_memory_stays_with_the_gather),
        TEST(a_read_without_a_gather_blocks_and_is_counted),
        TEST(a_pending_scan_calls_nobody_and_then_is_whole),
        TEST(a_scan_that_was_fetched_too_short_asks_for_more),
        TEST(a_freed_gather_cancels_its_fetch),
        TEST(gathers_agree_with_the_present_under_random_load),
        TEST(a_failed_read_says_so_with_and_without_a_gather),
        TEST(failed_applies_stay_visible_and_are_tried_in_order),
        TEST(a_full_overlay_slows_down_then_refuses),
        TEST(the_start_number_is_durable_before_loading_ends),
        TEST(somebody_elses_data_is_refused),
        TEST(an_older_format_is_raised),
        TEST(a_newer_format_is_refused),
        TEST(a_damaged_value_is_seen_by_its_reader),
        TEST(one_seed_gives_one_history),
        TEST(what_a_start_finds_leaves_room_for_finishing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
