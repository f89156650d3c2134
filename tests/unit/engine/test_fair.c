/* Fairness: turns by weight, aging, and many owners. */
#include "engine/handlers.h"

#include "rig.h"
#include "util/alloc.h"
#include "util/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 1000

static int quiet_setup(void **state)
{
    int rc = rig_setup(state);
    struct rig *r = *state;
    r->check = false; /* recounting a hundred thousand jobs takes too long */
    r->config.lease_ms_max = r->config.lease_ms = 86400000;
    engine_configure(r->engine, &r->config);
    return rc;
}

static int checked_teardown(void **state)
{
    struct rig *r = *state;
    r->check = true;
    rig_step(r);
    return rig_teardown(state);
}

static void add_for(struct rig *r, const char *owner, const char *handler,
                    uint32_t n)
{
    static struct slice payloads[BATCH];
    static struct add_result results[BATCH];
    struct job_options o = {.given =
                                GIVEN(OWNER) | GIVEN(KEEP) | GIVEN(HANDLER),
                            .owner = slice_str(owner),
                            .handler = slice_str(handler)};
    for (uint32_t i = 0; i < BATCH; i++)
        payloads[i] = slice_str(owner);
    while (n > 0) {
        struct add_params p = {.queue = SLICE_LIT("q"),
                               .payloads = payloads,
                               .n = n < BATCH ? n : BATCH,
                               .options = &o};
        assert_int_equal(rig_try_add(r, &p, results), ERR_OK);
        n -= p.n;
    }
}

static void add_many(struct rig *r, const char *owner, uint32_t n)
{
    add_for(r, owner, "q", n);
}

struct counted {
    const char *owners[4];
    uint32_t got[4], all;
    char tokens[BATCH][64];
    struct slice token[BATCH];
    uint32_t n;
    const char *handler; /* of which alone; NULL: any */
};

static void on_lease(void *ud, const struct lease_view *v)
{
    struct counted *c = ud;
    memcpy(c->tokens[c->n], v->token.data, v->token.len);
    c->token[c->n] = slice_of(c->tokens[c->n], v->token.len);
    c->n++;
    c->all++;
    for (int i = 0; i < 4 && c->owners[i] != NULL; i++)
        c->got[i] += slice_is(v->owner, c->owners[i]);
}

static void on_end(void *ud, uint32_t i, enum err rc, const char *why)
{
    (void)ud;
    (void)i;
    (void)why;
    assert_int_equal(rc, ERR_OK);
}

static void fetched(void *ud)
{
    *(bool *)ud = true;
}

/* Lease and acknowledge `n` jobs, counting whose they were. */
static void serve(struct rig *r, struct counted *c, uint32_t n)
{
    struct slice q = SLICE_LIT("q");
    struct slice h = slice_str(c->handler == NULL ? "" : c->handler);
    memset(c->got, 0, sizeof(c->got));
    c->all = 0;
    while (c->all < n) {
        uint32_t left = n - c->all;
        struct lease_params p = {
            .queues = &q, .queues_n = 1, .count = left < 100 ? left : 100};
        p.handlers = &h;
        p.handlers_n = c->handler != NULL;
        c->n = 0;
        enum err rc = engine_lease(r->engine, r->gather, &p, r->now, on_lease,
                                   c, &r->err);
        if (rc == ERR_PENDING) {
            bool done = false;
            store_fetch(r->store, r->gather, fetched, &done);
            for (int i = 0; !done && i < 1000; i++)
                store_poll(r->store, r->now);
            continue;
        }
        gather_release(r->gather);
        assert_int_equal(rc, ERR_OK);
        struct ack_params ack = {.tokens = c->token, .n = c->n};
        assert_int_equal(
            engine_ack(r->engine, NULL, &ack, r->now, on_end, NULL, &r->err),
            ERR_OK);
        rig_step(r);
    }
}

static void within(uint32_t got, double wanted, double part)
{
    if ((double)got < wanted * (1 - part) || (double)got > wanted * (1 + part))
        fail_msg("%u is not within %.1f %% of %.0f", got, part * 100, wanted);
}

static void shares_are_those_of_the_weights(void **state)
{
    struct rig *r = *state;
    static struct counted c = {.owners = {"one", "two", "five"}};
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    rig_weigh(r, "one", 1);
    rig_weigh(r, "two", 2);
    rig_weigh(r, "five", 5);
    /* Unequal backlogs, the one with the least weight has the most. */
    add_many(r, "one", 80000);
    add_many(r, "two", 26000);
    add_many(r, "five", 64000);
    serve(r, &c, 100000);
    within(c.got[0], 12500, 0.02);
    within(c.got[1], 25000, 0.02);
    within(c.got[2], 62500, 0.02);
}

static void large_weights_differ_as_small_ones_do(void **state)
{
    struct rig *r = *state;
    struct counted c = {.owners = {"a", "b", "c"}};
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    rig_weigh(r, "a", 1000000);
    rig_weigh(r, "b", 600000);
    rig_weigh(r, "c", 400000);
    for (int i = 0; i < 3; i++)
        add_many(r, c.owners[i], 2000);
    serve(r, &c, 2000);
    within(c.got[0], 1000, 0.02);
    within(c.got[1], 600, 0.02);
    within(c.got[2], 400, 0.02);
}

static void nobody_takes_turns_any_more_where_it_is_no_longer_fair(void **state)
{
    struct rig *r = *state;
    struct counted c = {.owners = {"a", "b"}};
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    add_many(r, "a", 100);
    rig_pass(r, 1);
    add_many(r, "b", 100);
    serve(r, &c, 20);
    assert_int_equal(c.got[0], 10);
    rig_set(r, (struct queue_settings){.has_fair = true});
    serve(r, &c, 90);
    assert_int_equal(c.got[0], 90);
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    rig_pass(r, 1);
    add_many(r, "a", 100);
    serve(r, &c, 20);
    within(c.got[0], 10, 0.11);
    /* What came without turns stands in the line of nobody, as one owner. */
    rig_set(r, (struct queue_settings){.has_fair = true});
    serve(r, &c, 90 + 80);
    add_many(r, "a", 50);
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    add_many(r, "b", 50);
    serve(r, &c, 50);
    within(c.got[0], 25, 0.05);
}

static void weights_may_change_while_jobs_wait(void **state)
{
    struct rig *r = *state;
    static struct counted c = {.owners = {"a", "b"}};
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    add_many(r, "a", 10000);
    add_many(r, "b", 10000);
    serve(r, &c, 2000);
    within(c.got[0], 1000, 0.01);
    rig_weigh(r, "a", 4);
    serve(r, &c, 5000);
    within(c.got[0], 4000, 0.01);
    rig_weigh(r, "a", 1);
    rig_weigh(r, "b", 3);
    serve(r, &c, 4000);
    within(c.got[1], 3000, 0.01);
}

static void who_returns_from_idling_starts_at_the_present(void **state)
{
    struct rig *r = *state;
    static struct counted c = {.owners = {"busy", "idle"}};
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    add_many(r, "busy", 10000);
    add_many(r, "idle", 1);
    serve(r, &c, 5000);
    add_many(r, "idle", 1000);
    serve(r, &c, 200);
    within(c.got[1], 100, 0.02); /* not all of the next two hundred */
}

/* After a start each lane may have work, until somebody looks: where only jobs
 * of other priorities stood, or will stand later, that may take long. */
static void who_is_idle_since_a_start_begins_at_the_present(void **state)
{
    struct rig *r = *state;
    static struct counted c = {.owners = {"busy", "idle"}};
    struct job_options later = {.given = GIVEN(OWNER) | GIVEN(DELAY),
                                .owner = SLICE_LIT("idle"),
                                .delay_ms = 3600000};
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    rig_add(r, "q", "x", &later);
    add_many(r, "busy", 10000);
    rig_restart(r);
    serve(r, &c, 5000);
    assert_int_equal(c.got[1], 0);
    add_many(r, "idle", 1000);
    serve(r, &c, 200);
    within(c.got[1], 100, 0.02);
}

static void cost_counts_as_much_service(void **state)
{
    struct rig *r = *state;
    static struct counted c = {.owners = {"dear", "cheap"}};
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    struct job_options o = {.given = GIVEN(OWNER) | GIVEN(COST),
                            .owner = SLICE_LIT("dear"),
                            .cost = 3};
    for (int i = 0; i < 500; i++)
        rig_add(r, "q", "x", &o);
    add_many(r, "cheap", 2000);
    serve(r, &c, 1200);
    within(c.got[0], 300, 0.02);
}

static void an_undone_lease_costs_its_owner_nothing(void **state)
{
    struct rig *r = *state;
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    for (int i = 0; i < 20; i++) {
        const char *owner = i % 2 == 0 ? "a" : "b";
        struct job_options o = {.given = GIVEN(OWNER),
                                .owner = slice_str(owner)};
        rig_add(r, "q", owner, &o);
    }
    int served = 0;
    for (int i = 0; i < 8; i++) {
        assert_int_equal(rig_lease(r, "q", 1), 1);
        if (r->payload[0] == 'b') {
            served++;
            continue;
        }
        engine_lease_undo(r->engine, r->token, 1, r->now);
        rig_step(r);
    }
    /* It stays the turn of `a`, who has had nothing yet. */
    assert_in_range(served, 0, 1);
}

/* Who is served while nobody takes turns pays nothing, and gets back nothing.
 */
static void set_fair(struct rig *r, const char *queue, bool fair)
{
    struct queue_settings s = {.has_fair = true, .fair = fair};
    assert_int_equal(
        engine_queue_set(r->engine, slice_str(queue), &s, r->now, &r->err),
        ERR_OK);
}

static void an_undone_lease_gets_back_what_was_paid(void **state)
{
    struct rig *r = *state;
    for (int fair = 0; fair <= 1; fair++) {
        const char *queue = fair ? "leased-fair" : "undone-fair";
        struct job_options o = {.given = GIVEN(OWNER) | GIVEN(COST),
                                .owner = SLICE_LIT("a"),
                                .cost = 50};
        set_fair(r, queue, true);
        rig_add(r, queue, "a", &o);
        o.given = GIVEN(OWNER);
        o.cost = 0;
        for (int i = 0; i < 200; i++) {
            const char *owner = i % 2 == 0 ? "a" : "b";
            o.owner = slice_str(owner);
            rig_add(r, queue, owner, &o);
        }
        set_fair(r, queue, fair);
        assert_int_equal(rig_lease(r, queue, 1), 1);
        set_fair(r, queue, !fair);
        engine_lease_undo(r->engine, r->token, 1, r->now);
        rig_step(r);
        set_fair(r, queue, true);
        unsigned of_b = 0;
        for (int i = 0; i < 60; i++) {
            assert_int_equal(rig_lease(r, queue, 1), 1);
            of_b += r->payload[0] == 'b';
        }
        assert_in_range(of_b, 50, 58);
    }
}

static void a_hundred_thousand_owners_take_turns(void **state)
{
    struct rig *r = *state;
    static struct counted c = {.owners = {"whale"}};
    char owner[16];
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    add_many(r, "whale", 5000);
    for (int i = 0; i < 100000; i++) {
        (void)snprintf(owner, sizeof(owner), "o%d", i);
        add_many(r, owner, 1);
    }
    struct engine_stats s;
    engine_get_stats(r->engine, &s);
    assert_int_equal(s.owners, 100001);
    serve(r, &c, 1000);
    assert_in_range(c.got[0], 0, 2);
    serve(r, &c, 99000);
    assert_in_range(c.got[0], 0, 2);
}

static void on_owner(void *ud, const struct lease_view *v)
{
    struct counted *c = ud;
    unsigned owner;
    assert_int_equal(sscanf(v->owner.data, "o%3u", &owner), 1);
    assert_int_equal(owner, c->all * 7 % 300);
    on_lease(ud, v);
}

/* Owners who have had equally much, and one job each. */
static void equals_are_served_in_the_order_of_their_arrival(void **state)
{
    struct rig *r = *state;
    static struct counted c;
    struct slice q = SLICE_LIT("q");
    char name[5];
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 300; i++) {
            snprintf(name, sizeof(name), "o%03u", i * 7 % 300);
            add_many(r, name, 1);
        }
        for (c.all = 0; c.all < 300;) {
            struct lease_params p = {.queues = &q, .queues_n = 1, .count = 100};
            c.n = 0;
            assert_int_equal(engine_lease(r->engine, r->gather, &p, r->now,
                                          on_owner, &c, &r->err),
                             ERR_OK);
            rig_step(r);
        }
    }
}

/* OWNER_JOBS: many more, for a long run. */
static uint32_t owner_jobs(void)
{
    const char *said = getenv("OWNER_JOBS");
    uint64_t n = 20000;
    if (said != NULL && !parse_u64(slice_str(said), &n))
        fail_msg("OWNER_JOBS is %s", said);
    return (uint32_t)n;
}

static void cancelling_many_of_one_owner_leaves_the_others_alone(void **state)
{
    struct rig *r = *state;
    static struct counted c = {.owners = {"gone", "stays"}};
    static struct slice payloads[BATCH], refs[BATCH];
    static char texts[BATCH][ID_TEXT_LEN];
    uint32_t jobs = owner_jobs();
    struct add_result *gone = mem_alloc(jobs * sizeof(*gone));
    struct job_options o = {.given = GIVEN(OWNER), .owner = SLICE_LIT("gone")};
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    for (uint32_t i = 0; i < BATCH; i++)
        payloads[i] = SLICE_LIT("x");
    for (uint32_t i = 0; i < jobs; i += BATCH) {
        struct add_params p = {.queue = SLICE_LIT("q"),
                               .payloads = payloads,
                               .n = jobs - i < BATCH ? jobs - i : BATCH,
                               .options = &o};
        assert_int_equal(rig_try_add(r, &p, &gone[i]), ERR_OK);
    }
    add_many(r, "stays", 1000);
    serve(r, &c, 100);
    within(c.got[0], 50, 0.03);
    for (uint32_t i = c.got[0], n; i < jobs; i += n) {
        n = jobs - i < BATCH ? jobs - i : BATCH;
        for (uint32_t k = 0; k < n; k++) {
            id_text(&gone[i + k].id, texts[k]);
            refs[k] = slice_of(texts[k], ID_TEXT_LEN);
        }
        struct manage_params p = {.verb = MANAGE_CANCEL, .jobs = refs, .n = n};
        assert_int_equal(
            engine_manage(r->engine, NULL, &p, r->now, on_end, NULL, &r->err),
            ERR_OK);
        rig_step(r);
    }
    mem_free(gone);
    serve(r, &c, 950);
    assert_int_equal(c.got[1], 950);
    struct owner_view v;
    assert_int_equal(engine_owner(r->engine, slice_str("gone"), &v, &r->err),
                     ERR_OK);
    assert_int_equal(v.live, 0);
}

/* A stream of the highest priority that alone would keep the worker busy. */
static void aging_bounds_the_wait_of_the_lowest_priority(void **state)
{
    struct rig *r = *state;
    rig_set(r,
            (struct queue_settings){
                .has_order = true, .order = 1, .has_age = true, .age_ms = 2});
    struct job_options high = {.given = GIVEN(PRIORITY), .priority = 1000};
    struct job_options low = {.given = GIVEN(PRIORITY), .priority = 0};
    for (int i = 0; i < 20; i++)
        rig_add(r, "q", "high", &high);
    struct id id = rig_add(r, "q", "low", &low).id;
    uint64_t waited = 0;
    do {
        rig_pass(r, 10);
        waited += 10;
        rig_add(r, "q", "high", &high);
        assert_int_equal(rig_lease(r, "q", 1), 1);
        assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
        assert_true(waited < 5000);
    } while (!id_eq(&r->ids[0], &id));
    /* 1000 points are worth 2 s; 20 jobs of 10 ms were ahead. */
    assert_in_range(waited, 2000, 2300);
}

/* Jobs that wait when the order changes compete by the new formula. */
static void a_change_of_order_starves_nobody(void **state)
{
    struct rig *r = *state;
    struct job_options low = {.given = GIVEN(PRIORITY), .priority = 0};
    struct job_options high = {.given = GIVEN(PRIORITY), .priority = 1000};
    struct id old = rig_add(r, "q", "x", &low).id;
    rig_pass(r, 5000);
    rig_set(r,
            (struct queue_settings){
                .has_order = true, .order = 1, .has_age = true, .age_ms = 2});
    struct id young = rig_add(r, "q", "x", &high).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_true(id_eq(&r->ids[0], &old));
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_true(id_eq(&r->ids[0], &young));
}

/* Each slice takes so many lanes. */
static void many_lanes_get_their_new_order_in_slices(void **state)
{
    struct rig *r = *state;
    enum { OWNERS = 2000 };
    struct queue_settings aging = {
        .has_order = true, .order = 1, .has_age = true, .age_ms = 1};
    struct queue_settings plain = {.has_order = true};
    struct job_options o = {.given = GIVEN(OWNER) | GIVEN(PRIORITY)};
    char owner[16];
    struct id last = {{0}};
    int slices = 0;
    aging.has_fair = aging.fair = true;
    rig_set(r, aging);
    r->check = false;
    for (int i = 0; i < OWNERS; i++) {
        (void)snprintf(owner, sizeof(owner), "o%d", i);
        o.owner = slice_str(owner);
        o.priority = i == OWNERS - 1 ? 1000 : 0;
        last = rig_add(r, "q", "x", &o).id;
    }
    r->check = true;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_false(id_eq(&r->ids[0], &last)); /* it was the last to come */
    rig_set(r, plain);
    while (engine_next_ms(r->engine, r->now) == r->now.mono_ms) {
        slices++;
        (void)engine_tick(r->engine, r->now);
        rig_step(r);
    }
    assert_in_range(slices, 4, 5);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_true(id_eq(&r->ids[0], &last));
    assert_int_equal(rig_lease(r, "q", OWNERS), OWNERS - 2);
}

static void turns_are_of_owners_whatever_the_handlers(void **state)
{
    struct rig *r = *state;
    struct counted c = {.owners = {"a", "b", "c"}};
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    r->check = true;
    add_for(r, "a", "x", 60);
    add_for(r, "a", "y", 60);
    add_for(r, "a", "z", 60);
    add_for(r, "b", "x", 60);
    add_for(r, "b", "y", 60);
    add_for(r, "c", "x", 60);
    serve(r, &c, 60);
    for (int i = 0; i < 3; i++)
        assert_int_equal(c.got[i], 20);
    /* What b and c got meanwhile is not forgotten when a worker comes who may
     * have all. */
    c.handler = "x";
    serve(r, &c, 15);
    for (int i = 0; i < 3; i++)
        assert_int_equal(c.got[i], 5);
    c.handler = "z";
    serve(r, &c, 5);
    assert_int_equal(c.got[0], 5);
    c.handler = NULL;
    serve(r, &c, 10);
    assert_int_equal(c.got[0], 0);
    assert_int_equal(c.got[1], 5);
    assert_int_equal(c.got[2], 5);
    serve(r, &c, 6);
    for (int i = 0; i < 3; i++)
        assert_int_equal(c.got[i], 2);
}

static void who_comes_back_with_its_handler_starts_at_the_present(void **state)
{
    struct rig *r = *state;
    struct slice h = SLICE_LIT("h");
    struct counted c = {.owners = {"a", "b"}};
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    add_for(r, "a", "h", 300);
    add_many(r, "b", 600);
    assert_int_equal(engine_handler_pause(r->engine, h, true, r->now, &r->err),
                     ERR_OK);
    serve(r, &c, 200);
    assert_int_equal(c.got[1], 200);
    assert_int_equal(engine_handler_pause(r->engine, h, false, r->now, &r->err),
                     ERR_OK);
    serve(r, &c, 100);
    assert_in_range(c.got[0], 49, 51);
}

/* --- estimates ------------------------------------------------------------ */

/* One lease a second. */
static void set_pace(struct rig *r)
{
    for (int i = 0; i < 20; i++) {
        assert_int_equal(rig_lease(r, "q", 1), 1);
        rig_pass(r, 1000);
    }
}

static int64_t estimate(struct rig *r, const char *owner, uint32_t priority)
{
    struct slice payload = SLICE_LIT("x");
    struct job_options o = {.given = GIVEN(PRIORITY), .priority = priority};
    if (owner != NULL) {
        o.given |= GIVEN(OWNER);
        o.owner = slice_str(owner);
    }
    struct add_params p = {.queue = SLICE_LIT("q"),
                           .payloads = &payload,
                           .n = 1,
                           .options = &o,
                           .estimate = true};
    struct add_result result;
    assert_int_equal(rig_try_add(r, &p, &result), ERR_OK);
    return result.start_estimate_ms;
}

static void an_estimate_counts_what_stands_before_the_job(void **state)
{
    struct rig *r = *state;
    r->config.lease_ms = 100000000; /* none comes back */
    add_many(r, "someone", 120);
    set_pace(r);
    assert_in_range(estimate(r, NULL, 500), 90000, 111000);
    assert_in_range(estimate(r, NULL, 1000), 0, 1);
    assert_in_range(estimate(r, NULL, 900), 900, 1200);
    assert_in_range(estimate(r, NULL, 0), 90000, 115000);
    /* What lies beyond the window is behind all others, as far as one knows. */
    r->config.window_lane = 16;
    rig_restart(r);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_in_range(estimate(r, NULL, 500), 900000, 1040000);
    assert_in_range(estimate(r, NULL, 1000), 0, 11000);
}

/* As JOB.WHY tells it: no slot is free before the time of the rate. */
static void an_estimate_knows_the_rate_that_the_job_waits_for(void **state)
{
    struct rig *r = *state;
    struct limit_rule slow = {.has_rate = true,
                              .has_burst = true,
                              .rate = {.n = 1, .per_ms = 3600000, .burst = 1}};
    struct slice payload = SLICE_LIT("x");
    struct job_options o = {
        .given = GIVEN(LIMIT), .limits = {SLICE_LIT("api")}, .limits_n = 1};
    struct add_params p = {.queue = SLICE_LIT("q"),
                           .payloads = &payload,
                           .n = 1,
                           .options = &o,
                           .estimate = true};
    struct add_result result;
    rig_pass(r, 0); /* the scan at start, before which no place is known */
    assert_int_equal(
        engine_limit_set(r->engine, SLICE_LIT("api"), &slow, r->now, &r->err),
        ERR_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_try_add(r, &p, &result), ERR_OK);
        assert_int_equal(rig_lease(r, "q", 1), i == 0);
        if (i > 0)
            assert_in_range(result.start_estimate_ms, i * 3500000, i * 3600000);
    }
    assert_int_equal(result.state, JOB_PARKED);
}

static void an_estimate_of_a_fair_queue_counts_the_turns_of_others(void **state)
{
    struct rig *r = *state;
    rig_set(r, (struct queue_settings){.has_fair = true, .fair = true});
    add_many(r, "a", 200);
    add_many(r, "b", 14);
    add_many(r, "c", 14);
    set_pace(r);
    /* About seven of each before it. */
    assert_in_range(estimate(r, "b", 500), 15000, 30000);
    assert_in_range(estimate(r, "a", 500), 180000, 240000);
    assert_in_range(estimate(r, "new", 500), 0, 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) \
    cmocka_unit_test_setup_teardown(name, quiet_setup, checked_teardown)
        T(shares_are_those_of_the_weights),
        T(large_weights_differ_as_small_ones_do),
        T(nobody_takes_turns_any_more_where_it_is_no_longer_fair),
        T(weights_may_change_while_jobs_wait),
        T(who_returns_from_idling_starts_at_the_present),
        T(who_is_idle_since_a_start_begins_at_the_present),
        T(cost_counts_as_much_service),
        T(an_undone_lease_costs_its_owner_nothing),
        T(an_undone_lease_gets_back_what_was_paid),
        T(equals_are_served_in_the_order_of_their_arrival),
        T(a_hundred_thousand_owners_take_turns),
        T(cancelling_many_of_one_owner_leaves_the_others_alone),
        T(aging_bounds_the_wait_of_the_lowest_priority),
        T(a_change_of_order_starves_nobody),
        T(many_lanes_get_their_new_order_in_slices),
        T(turns_are_of_owners_whatever_the_handlers),
        T(who_comes_back_with_its_handler_starts_at_the_present),
        T(an_estimate_counts_what_stands_before_the_job),
        T(an_estimate_knows_the_rate_that_the_job_waits_for),
        T(an_estimate_of_a_fair_queue_counts_the_turns_of_others),
#undef T
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
