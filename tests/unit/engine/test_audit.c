/* A directory whose rows do not fit each other: a look finds it, as a start
 * would or better, and says which row. The rows come from an engine on a disk
 * in memory; a test loses or plants some of them. */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/core.h"
#include "store/entry.h"
#include "store/offline.h"

struct audited {
    struct rig *r;
    char dir[64];
    struct store *s; /* of the directory, while it is open */
    char told[4096];
    unsigned findings;
    struct id ready, leased, late, parked, large, unique, done;
};

/* --- a directory --------------------------------------------------------- */

static void open_dir(struct audited *a)
{
    struct errbuf e;
    if (offline_start(&a->s, a->dir, &e) != ERR_OK)
        fail_msg("%s", e.text);
}

static bool copy_row(struct slice key, struct slice value, void *ud)
{
    void **to = ud;
    memcpy(store_put(to[0], *(enum family *)to[1], key, value.len, false),
           value.data, value.len);
    return true;
}

static void copy_rows(struct audited *a)
{
    open_dir(a);
    for (int f = FAMILY_NAMED; f < FAMILIES; f++) {
        enum family family = (enum family)f;
        void *to[] = {a->s, &family};
        assert_int_equal(store_scan(a->r->store, NULL, family, SLICE_EMPTY,
                                    SLICE_EMPTY, SIZE_MAX, copy_row, to,
                                    &a->r->err),
                         ERR_OK);
    }
    store_close(&a->s);
}

static struct id limited(struct rig *r)
{
    struct job_options o = {.given = GIVEN(LIMIT), .limits_n = 1};
    o.limits[0] = slice_str("api");
    return rig_add(r, "narrow", "x", &o).id;
}

/* One of each: ready, leased, late, parked, finished, with a large payload,
 * with a name and a unique key. */
static void fill(struct audited *a)
{
    struct rig *r = a->r;
    struct limit_rule rule = {.has_concurrency = true, .concurrency = 1};
    struct job_options late = {.given = GIVEN(DELAY) | GIVEN(DEADLINE),
                               .delay_ms = 3600000,
                               .deadline_ms = 7200000};
    struct job_options unique = {.given = GIVEN(UNIQUE),
                                 .unique = slice_str("k")};
    char payload[2000];
    memset(payload, 'p', sizeof(payload) - 1);
    payload[sizeof(payload) - 1] = '\0';
    a->done = rig_add(r, "q", "x", NULL).id;
    a->leased = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(rig_lease(r, "q", 2), 2);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    a->ready = rig_add(r, "q", "x", NULL).id;
    a->late = rig_add(r, "q", "x", &late).id;
    a->large = rig_add(r, "q", payload, NULL).id;
    a->unique = rig_add_named(r, "name", &unique).id;
    assert_int_equal(
        engine_limit_set(r->engine, slice_str("api"), &rule, r->now, &r->err),
        ERR_OK);
    limited(r);
    assert_int_equal(rig_lease(r, "narrow", 1), 1);
    a->parked = limited(r);
    assert_int_equal(rig_state(r, a->parked), JOB_PARKED);
    copy_rows(a);
}

static int setup(void **state)
{
    struct audited *a = NEW(struct audited);
    void *rig;
    snprintf(a->dir, sizeof(a->dir), "/tmp/belfry-audit-XXXXXX");
    assert_non_null(mkdtemp(a->dir));
    rig_setup(&rig);
    a->r = rig;
    fill(a);
    *state = a;
    return 0;
}

static int teardown(void **state)
{
    struct audited *a = *state;
    void *rig = a->r;
    char command[128];
    store_abandon(&a->s);
    snprintf(command, sizeof(command), "rm -rf '%s'", a->dir);
    assert_int_equal(system(command), 0);
    rig_teardown(&rig);
    mem_free(a);
    return 0;
}

/* --- looking ------------------------------------------------------------- */

static void tell(void *ud, const char *finding)
{
    struct audited *a = ud;
    size_t len = strlen(a->told);
    a->findings++;
    snprintf(a->told + len, sizeof(a->told) - len, "%s\n", finding);
}

static enum err look(struct audited *a, struct errbuf *e)
{
    struct offline *o = NULL;
    struct store *s = NULL;
    struct engine *engine = NULL;
    struct engine_config config;
    bool done = false;
    a->findings = 0;
    a->told[0] = '\0';
    engine_config_default(&config);
    enum err rc = offline_open(&o, a->dir, e);
    if (rc == ERR_OK)
        rc = offline_look(&s, o, e);
    if (rc == ERR_OK)
        engine = engine_new(s, &config);
    while (rc == ERR_OK && !done)
        rc = engine_load(engine, a->r->now, &done, e);
    if (rc == ERR_OK)
        rc = engine_audit(engine, tell, a, e);
    engine_free(&engine);
    store_abandon(&s);
    offline_close(&o);
    return rc;
}

static void fits(struct audited *a)
{
    struct errbuf e = {{0}};
    if (look(a, &e) != ERR_OK || a->findings > 0)
        fail_msg("%s%s", a->told, e.text);
}

/* Told, and in words that name the family. */
static void finds(struct audited *a, const char *family, const char *what)
{
    struct errbuf e = {{0}};
    char line[64];
    if (look(a, &e) != ERR_OK)
        fail_msg("%s", e.text);
    snprintf(line, sizeof(line), "family %s", family);
    const char *at = a->told;
    while ((at = strstr(at, line)) != NULL) {
        const char *end = strchr(at, '\n'), *said = strstr(at, what);
        if (said != NULL && said < end)
            return;
        at = end;
    }
    fail_msg("wanted \"%s: ... %s\", got \"%s\"", line, what, a->told);
}

/* --- damage -------------------------------------------------------------- */

static bool first_key(struct slice key, struct slice value, void *ud)
{
    struct key *k = ud;
    (void)value;
    memcpy(k->bytes, key.data, key.len);
    k->len = (uint16_t)key.len;
    return false;
}

/* `to_base`: also from the base; otherwise only the log says so. */
static void settle(struct audited *a, bool to_base)
{
    store_commit(a->s, clock_now());
    if (to_base) {
        store_close(&a->s);
        return;
    }
    while (store_durable(a->s) < store_last(a->s))
        store_poll(a->s, clock_now());
    store_abandon(&a->s);
}

static void lose(struct audited *a, enum family f, struct slice key,
                 bool to_base)
{
    struct slice value;
    open_dir(a);
    assert_int_equal(store_get(a->s, NULL, f, key, &value, NULL), ERR_OK);
    store_del(a->s, f, key);
    settle(a, to_base);
}

static void plant(struct audited *a, enum family f, struct slice key,
                  struct slice value)
{
    open_dir(a);
    memcpy(store_put(a->s, f, key, value.len, false), value.data, value.len);
    settle(a, true);
}

/* The job's row, decoded: good as long as the rig does nothing. */
static struct rec_job row_of(struct audited *a, const struct id *id)
{
    struct slice value;
    struct rec_job r;
    struct key k;
    assert_int_equal(store_get(a->r->store, NULL, FAMILY_JOBS, key_job(&k, id),
                               &value, NULL),
                     ERR_OK);
    assert_true(rec_job_decode(&r, value));
    return r;
}

static struct slice ready_key(struct audited *a, struct key *k,
                              const struct id *id)
{
    struct rec_job r = row_of(a, id);
    return key_ready(k, r.queue, r.lane, r.order, id);
}

static struct slice place(char *to)
{
    struct rec_ready r = {0};
    rec_ready_encode(&r, to);
    return slice_of(to, rec_ready_size(&r));
}

static struct key only_key(struct audited *a, enum family f)
{
    struct key k = {.len = 0};
    assert_int_equal(store_scan(a->r->store, NULL, f, SLICE_EMPTY, SLICE_EMPTY,
                                1, first_key, &k, &a->r->err),
                     ERR_OK);
    assert_true(k.len > 0);
    return k;
}

/* --- tests --------------------------------------------------------------- */

static void what_is_whole_fits(void **state)
{
    fits(*state);
}

static void what_the_log_alone_says_counts(void **state)
{
    struct audited *a = *state;
    char bytes[64];
    struct key k;
    ready_key(a, &k, &a->ready);
    lose(a, FAMILY_READY, key_slice(&k), false);
    finds(a, "ready", "is missing: job ");
    open_dir(a);
    struct slice value = place(bytes);
    memcpy(store_put(a->s, FAMILY_READY, key_slice(&k), value.len, false),
           value.data, value.len);
    settle(a, false);
    fits(a);
}

static void a_look_changes_nothing(void **state)
{
    struct audited *a = *state;
    struct offline_count before, after;
    struct errbuf e;
    struct key k;
    lose(a, FAMILY_READY, ready_key(a, &k, &a->ready), false);
    assert_int_equal(offline_verify(a->dir, &before, &e), ERR_OK);
    finds(a, "ready", "is missing");
    assert_int_equal(offline_verify(a->dir, &after, &e), ERR_OK);
    assert_int_equal(before.log_last, after.log_last);
    assert_int_equal(before.applied, after.applied);
    assert_int_equal(before.start_number, after.start_number);
    assert_true(before.replay > 0);
    assert_int_equal(before.replay, after.replay);
}

static void a_lease_without_its_job_is_refused_as_a_start_does(void **state)
{
    struct audited *a = *state;
    struct errbuf e;
    lose(a, FAMILY_JOBS, id_slice(&a->leased), true);
    assert_int_equal(look(a, &e), ERR_CORRUPT);
    assert_non_null(strstr(e.text, "family runs: a lease without its job"));
    assert_non_null(strstr(e.text, offline_hex(id_slice(&a->leased))));
}

static void a_lost_lease_is_found(void **state)
{
    struct audited *a = *state;
    lose(a, FAMILY_RUNS, id_slice(&a->leased), true);
    finds(a, "ready", "is missing: job ");
    finds(a, "named", "queue q counts 1 running jobs; the rows say 0");
}

static void a_lost_place_is_found(void **state)
{
    struct audited *a = *state;
    struct key k;
    lose(a, FAMILY_READY, ready_key(a, &k, &a->ready), true);
    finds(a, "ready, row 000000", "is ready in queue q, and has neither");
}

static void a_lost_time_is_found(void **state)
{
    struct audited *a = *state;
    struct rec_job r = row_of(a, &a->late);
    struct key k;
    lose(a, FAMILY_DUE, key_due(&k, r.since_ms, DUE_READY, id_slice(&a->late)),
         true);
    finds(a, "due", "is scheduled, and has neither");
}

static void a_lost_deadline_is_found(void **state)
{
    struct audited *a = *state;
    struct rec_job r = row_of(a, &a->late);
    struct rec_more m;
    struct key k;
    assert_true(rec_more_decode(&m, r.more));
    lose(a, FAMILY_DUE,
         key_due(&k, m.deadline_at_ms, DUE_DEADLINE, id_slice(&a->late)), true);
    finds(a, "due", "would not end at its deadline");
}

static void a_time_of_an_unknown_kind_is_found(void **state)
{
    struct audited *a = *state;
    struct rec_due d = {0};
    char bytes[64];
    struct key k;
    rec_due_encode(&d, bytes);
    plant(a, FAMILY_DUE, key_due(&k, 1, 9, id_slice(&a->late)),
          slice_of(bytes, rec_due_size(&d)));
    finds(a, "due", "a time of no kind that there is");
}

static void a_lost_parked_place_is_found(void **state)
{
    struct audited *a = *state;
    struct key k = only_key(a, FAMILY_PARKED);
    lose(a, FAMILY_PARKED, key_slice(&k), true);
    finds(a, "ready", "is ready in queue narrow, and has neither");
    finds(a, "named", "queue narrow counts 1 parked jobs; the rows say 0");
}

static void a_lost_job_is_found(void **state)
{
    struct audited *a = *state;
    lose(a, FAMILY_JOBS, id_slice(&a->large), true);
    finds(a, "ready", "a place without its job");
    finds(a, "bodies", "a body without its job");
    finds(a, "named", "counts 3 ready jobs; the rows say 2");
    lose(a, FAMILY_JOBS, id_slice(&a->parked), true);
    finds(a, "parked", "a place without its job");
    lose(a, FAMILY_JOBS, id_slice(&a->late), true);
    finds(a, "due", "a time that its job does not know of");
    lose(a, FAMILY_JOBS, id_slice(&a->unique), true);
    finds(a, "keys", "a name without its job");
    finds(a, "keys", "a unique key without its job");
}

static void a_lost_payload_is_found(void **state)
{
    struct audited *a = *state;
    struct key k;
    lose(a, FAMILY_BODIES, key_body(&k, &a->large, BODY_PAYLOAD, 0), true);
    finds(a, "bodies", "is missing: the payload of job");
}

static void lost_names_are_found(void **state)
{
    struct audited *a = *state;
    struct key k;
    lose(a, FAMILY_KEYS, key_key(&k, KEY_ALIAS, slice_str("name")), true);
    finds(a, "keys", "a job whose name does not find it");
    struct queue *q = queue_find(a->r->engine, slice_str("q"));
    lose(a, FAMILY_KEYS, unique_key(&k, SCOPE_QUEUE, q, slice_str("k")), true);
    finds(a, "keys", "a job that does not have its unique key");
}

static void a_job_in_two_places_is_found(void **state)
{
    struct audited *a = *state;
    char bytes[64];
    struct key k;
    plant(a, FAMILY_READY, ready_key(a, &k, &a->leased), place(bytes));
    finds(a, "ready", "stands in two places: it is leased");
    plant(a, FAMILY_READY, ready_key(a, &k, &a->late), place(bytes));
    finds(a, "due", "stands in two places: it has a time, and is ready");
    plant(a, FAMILY_READY, ready_key(a, &k, &a->parked), place(bytes));
    finds(a, "parked", "stands in two places: parked under api, and ready");
}

static void a_place_that_its_job_does_not_know_is_found(void **state)
{
    struct audited *a = *state;
    struct rec_job r = row_of(a, &a->ready);
    char bytes[64];
    struct key k;
    plant(a, FAMILY_READY,
          key_ready(&k, r.queue, r.lane, r.order + 1, &a->ready), place(bytes));
    finds(a, "ready", "whose row says another");
    struct rec_parked parked = {0};
    rec_parked_encode(&parked, bytes);
    r = row_of(a, &a->parked);
    plant(a, FAMILY_PARKED,
          key_parked(&k, slice_str("web"), r.lane, r.order, &a->parked),
          slice_of(bytes, rec_parked_size(&parked)));
    finds(a, "parked", "which is not its name");
}

static void a_place_in_no_queue_is_found(void **state)
{
    struct audited *a = *state;
    char bytes[64];
    struct key k;
    struct id id = {{7}};
    plant(a, FAMILY_READY, key_ready(&k, 1 << 30, 7, 7, &id), place(bytes));
    finds(a, "ready", "a place without its job");
}

static void jobs_of_a_lost_queue_are_refused(void **state)
{
    struct audited *a = *state;
    struct errbuf e;
    struct key k;
    lose(a, FAMILY_NAMED, key_named(&k, NAMED_QUEUE, slice_str("q")), true);
    assert_int_equal(look(a, &e), ERR_CORRUPT);
    assert_non_null(strstr(e.text, "family named: bad row of"));
}

static void a_job_of_a_lane_that_is_lost_is_found(void **state)
{
    struct audited *a = *state;
    struct rec_job r = row_of(a, &a->late);
    char name[4];
    struct key k;
    lose(a, FAMILY_RUNS, id_slice(&a->leased), true);
    lose(a, FAMILY_NAMED, key_named(&k, NAMED_LANE, name_u32(r.lane, name)),
         true);
    finds(a, "jobs", "which family named does not have there");
}

static void finished_jobs_and_their_lists_are_compared(void **state)
{
    struct audited *a = *state;
    struct key index = only_key(a, FAMILY_INDEX);
    struct key past = only_key(a, FAMILY_PAST);
    lose(a, FAMILY_PAST, key_slice(&past), true);
    finds(a, "past", "is missing: family index names job");
    lose(a, FAMILY_INDEX, key_slice(&index), true);
    finds(a, "done", "queue q counts 1 completed jobs; the rows say 0");
}

static void a_finished_job_that_nothing_lists_is_found(void **state)
{
    struct audited *a = *state;
    struct key index = only_key(a, FAMILY_INDEX);
    lose(a, FAMILY_INDEX, key_slice(&index), true);
    finds(a, "index", "does not name the finished job");
}

/* The row of the index of the only finished job: of the block `later` blocks
 * behind its own, with its id so many times. */
static void plant_index(struct audited *a, uint64_t later, unsigned times)
{
    struct key k = only_key(a, FAMILY_INDEX);
    struct index_key at;
    struct buf ids = {0};
    char row[128];
    assert_true(key_parse_index(key_slice(&k), &at));
    for (unsigned i = 0; i < times; i++)
        buf_add(&ids, a->done.bytes, ID_LEN);
    struct rec_index index = {buf_slice(&ids)};
    rec_index_encode(&index, row);
    key_index(&k, at.bucket, at.queue, at.state, at.time_ms, at.block + later);
    plant(a, FAMILY_INDEX, key_slice(&k),
          slice_of(row, rec_index_size(&index)));
    buf_release(&ids);
}

static void a_job_that_names_another_list_is_found(void **state)
{
    plant_index(*state, 1, 1);
    finds(*state, "index, row", "whose row says another");
}

static void a_job_that_is_listed_twice_is_found(void **state)
{
    plant_index(*state, 0, 2);
    finds(*state, "index", "names 2 finished jobs; family past has 1");
}

static void lost_counters_are_found(void **state)
{
    struct audited *a = *state;
    struct rec_job r = row_of(a, &a->ready);
    char name[4];
    struct key k;
    lose(a, FAMILY_NAMED, key_named(&k, NAMED_COUNTS, name_u32(r.queue, name)),
         true);
    finds(a, "named", "queue q counts 0 ready jobs; the rows say 3");
}

struct all_rows {
    struct key keys[64];
    char values[64][4096];
    size_t lens[64], n;
};

static bool note_row(struct slice key, struct slice value, void *ud)
{
    struct all_rows *all = ud;
    assert_true(all->n < 64 && value.len <= sizeof(all->values[0]));
    memcpy(all->keys[all->n].bytes, key.data, key.len);
    all->keys[all->n].len = (uint16_t)key.len;
    memcpy(all->values[all->n], value.data, value.len);
    all->lens[all->n++] = value.len;
    return true;
}

/* Of `named` and `done` some are settings, or what only a lookup wants. */
static bool may_be_missed(enum family f, struct slice key)
{
    struct past_key k;
    return f == FAMILY_NAMED || f == FAMILY_DONE || f == FAMILY_STATS ||
           (f == FAMILY_PAST && key_parse_past(key, &k) && k.kind != PAST_JOB);
}

static void whatever_row_is_lost_is_missed(void **state)
{
    struct audited *a = *state;
    struct all_rows *all = NEW(struct all_rows);
    for (int f = FAMILY_NAMED; f < FAMILIES; f++) {
        enum family family = (enum family)f;
        struct errbuf e;
        all->n = 0;
        assert_int_equal(store_scan(a->r->store, NULL, family, SLICE_EMPTY,
                                    SLICE_EMPTY, SIZE_MAX, note_row, all, &e),
                         ERR_OK);
        for (size_t i = 0; i < all->n; i++) {
            struct slice key = key_slice(&all->keys[i]);
            lose(a, family, key, false);
            if (look(a, &e) == ERR_OK && a->findings == 0 &&
                !may_be_missed(family, key))
                fail_msg("family %s, row %s is lost and nobody misses it",
                         family_name(family), offline_hex(key));
            plant(a, family, key, slice_of(all->values[i], all->lens[i]));
        }
    }
    fits(a);
    mem_free(all);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_is_whole_fits),
        T(what_the_log_alone_says_counts),
        T(a_look_changes_nothing),
        T(a_lease_without_its_job_is_refused_as_a_start_does),
        T(a_lost_lease_is_found),
        T(a_lost_place_is_found),
        T(a_lost_time_is_found),
        T(a_lost_deadline_is_found),
        T(a_time_of_an_unknown_kind_is_found),
        T(a_lost_parked_place_is_found),
        T(a_lost_job_is_found),
        T(a_lost_payload_is_found),
        T(lost_names_are_found),
        T(a_job_in_two_places_is_found),
        T(a_place_that_its_job_does_not_know_is_found),
        T(a_place_in_no_queue_is_found),
        T(jobs_of_a_lost_queue_are_refused),
        T(a_job_of_a_lane_that_is_lost_is_found),
        T(finished_jobs_and_their_lists_are_compared),
        T(a_finished_job_that_nothing_lists_is_found),
        T(a_job_that_names_another_list_is_found),
        T(a_job_that_is_listed_twice_is_found),
        T(lost_counters_are_found),
        T(whatever_row_is_lost_is_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
