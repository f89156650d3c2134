/* QUEUE.PURGE: at once for everybody who looks, in slices for the rows. */
#include "rig.h"

#include <stdio.h>
#include <string.h>

#include "engine/core.h"

static struct id purge(struct rig *r, const char *queue)
{
    struct id id;
    enum err rc =
        engine_purge(r->engine, slice_str(queue), r->now, &id, &r->err);
    if (rc != ERR_OK)
        fail_msg("purge: %s", r->err.text);
    rig_step(r);
    return id;
}

static void fill(struct rig *r, const char *queue, int n)
{
    r->check = false; /* a recount per job would take its square */
    for (int i = 0; i < n; i++) {
        struct job_options o = {.given = GIVEN(DELAY) * (unsigned)(i % 3 == 0),
                                .delay_ms = 3600000};
        rig_add(r, queue, "x", &o);
    }
    r->check = true;
    rig_step(r);
}

static uint64_t waiting(struct rig *r, const char *queue)
{
    struct queue_view v = rig_queue(r, queue);
    uint64_t n = 0;
    for (unsigned s = JOB_BLOCKED; s < JOB_RUNNING; s++)
        n += v.jobs[s];
    return n;
}

static bool count_row(struct slice key, struct slice value, void *ud)
{
    (void)key;
    (void)value;
    (*(uint32_t *)ud)++;
    return true;
}

static uint32_t rows(struct rig *r, enum family f)
{
    uint32_t n = 0;
    assert_int_equal(store_scan(r->store, NULL, f, SLICE_EMPTY, SLICE_EMPTY,
                                SIZE_MAX, count_row, &n, &r->err),
                     ERR_OK);
    return n;
}

/* A watch that runs a millisecond per so many looks: slices end early. */
struct watch {
    uint64_t us;
};

static uint64_t look(void *ud)
{
    struct watch *w = ud;
    return w->us += 100;
}

static void nothing_purged_is_seen_although_its_rows_are_there(void **state)
{
    struct rig *r = *state;
    fill(r, "q", 300);
    struct id ready = rig_add(r, "q", "x", NULL).id;
    struct job_options o = {.given = GIVEN(DELAY), .delay_ms = 1000};
    struct id late = rig_add(r, "q", "x", &o).id;
    struct id held = rig_add(r, "q", "x", NULL).id;
    struct manage_params hold = {.verb = MANAGE_HOLD};
    assert_int_equal(rig_manage(r, hold, &held, 1), ERR_OK);
    assert_int_equal(rig_lease(r, "q", 3), 3);
    struct id running = r->ids[0];
    struct id id = purge(r, "q");
    assert_int_equal(rig_chore(r, id).done, 0);
    assert_int_equal(rig_chore(r, id).matched, 300);
    assert_true(rows(r, FAMILY_JOBS) == 303);
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(waiting(r, "q"), 0);
        assert_int_equal(rig_queue(r, "q").jobs[JOB_RUNNING], 3);
        assert_int_equal(rig_lease(r, "q", 10), 0);
        assert_int_equal(rig_state(r, ready), 0);
        assert_int_equal(rig_state(r, late), 0);
        assert_int_equal(rig_state(r, held), 0);
        assert_int_equal(rig_state(r, running), JOB_RUNNING);
        struct job_filter f = {.queue = SLICE_LIT("q")};
        struct list_params p = {.filter = &f, .count = 1000};
        struct list_result res;
        while (engine_list(r->engine, r->gather, &p, r->now, NULL, NULL, &res,
                           &r->err) == ERR_PENDING)
            rig_fetch(r);
        gather_release(r->gather);
        assert_int_equal(res.n, 3);
        rig_restart(r); /* the same after a crash */
    }
    rig_until_done(r, id);
    assert_int_equal(rig_chore(r, id).done, 300);
    assert_int_equal(rows(r, FAMILY_JOBS), 3);
    assert_int_equal(rows(r, FAMILY_READY), 0);
    assert_int_equal(rows(r, FAMILY_DUE), 0);
    struct engine_stats s;
    engine_get_stats(r->engine, &s);
    assert_int_equal(s.jobs_live, 3);
    assert_int_equal(s.lanes, 0); /* the dead ones are gone */
    rig_add(r, "q", "y", NULL);
    assert_int_equal(rig_lease(r, "q", 10), 1);
}

static void what_comes_after_a_purge_stays(void **state)
{
    struct rig *r = *state;
    fill(r, "q", 50);
    struct id id = purge(r, "q");
    struct id fresh = rig_add(r, "q", "y", NULL).id; /* the same millisecond */
    struct job_options o = {.given = GIVEN(DELAY), .delay_ms = 100};
    struct id late = rig_add(r, "q", "z", &o).id;
    rig_until_done(r, id);
    assert_int_equal(rig_chore(r, id).done, 50);
    assert_int_equal(rig_state(r, fresh), JOB_READY);
    assert_int_equal(rig_state(r, late), JOB_SCHEDULED);
    rig_restart(r);
    rig_pass(r, 200);
    assert_int_equal(rig_lease(r, "q", 10), 2);
}

static void a_running_job_outlives_the_purge_however_it_comes_back(void **state)
{
    struct rig *r = *state;
    char tokens[5][64];
    struct id ids[5];
    for (int i = 0; i < 5; i++)
        rig_add(r, "q", "x", NULL);
    assert_int_equal(rig_lease(r, "q", 5), 5);
    memcpy(tokens, r->tokens, sizeof(tokens));
    memcpy(ids, r->ids, sizeof(ids));
    fill(r, "q", 20);
    struct id id = purge(r, "q");
    assert_int_equal(rig_release(r, slice_str(tokens[0])), ERR_OK);
    assert_int_equal(rig_state(r, ids[0]), JOB_READY);
    rig_until_done(r, id);
    rig_restart(r); /* their lane is no more */
    struct slice undone = slice_str(tokens[1]);
    engine_lease_undo(r->engine, &undone, 1, r->now);
    rig_step(r);
    assert_int_equal(rig_nack(r, slice_str(tokens[2])), ERR_OK);
    assert_int_equal(rig_ack(r, slice_str(tokens[3])), ERR_OK);
    assert_int_equal(rig_state(r, ids[1]), JOB_READY);
    assert_int_equal(rig_state(r, ids[2]), JOB_RETRYING);
    assert_int_equal(rig_state(r, ids[3]), JOB_COMPLETED);
    rig_restart(r);
    rig_pass(r, 60000); /* the fifth is lost */
    rig_pass(r, 60000);
    assert_int_equal(rig_lease(r, "q", 10), 4);
    assert_true(id_eq(&r->ids[0], &ids[0])); /* in their old order */
    assert_true(id_eq(&r->ids[1], &ids[1]));
}

static void a_crash_in_the_middle_repeats_and_forgets_nothing(void **state)
{
    struct rig *r = *state;
    struct watch w = {0};
    r->config.window_lane = 16;
    engine_configure(r->engine, &r->config);
    fill(r, "other", 30);
    fill(r, "q", 200);
    fill(r, "other", 30);
    struct id id = purge(r, "q");
    uint64_t done = 0;
    int steps = 0;
    while (rig_chore(r, id).finished_ms == 0 && ++steps < 1000) {
        engine_set_watch(r->engine, look, &w);
        (void)engine_tick(r->engine, r->now);
        rig_step(r);
        assert_true(rig_chore(r, id).done >= done);
        done = rig_chore(r, id).done;
        rig_restart(r);
        assert_int_equal(rig_chore(r, id).done, done);
    }
    assert_true(steps > 15);
    assert_int_equal(done, 200);
    assert_int_equal(rows(r, FAMILY_JOBS), 60);
    assert_int_equal(waiting(r, "other"), 60);
    assert_int_equal(waiting(r, "q"), 0);
}

static void of_thousands_nothing_is_left(void **state)
{
    struct rig *r = *state;
    r->check = false;
    rig_add(r, "other", "x", NULL);
    for (int i = 0; i < 3000; i++)
        rig_add(r, "q", "x", NULL);
    rig_add(r, "other", "x", NULL);
    r->check = true;
    rig_step(r);
    rig_until_done(r, purge(r, "q"));
    assert_int_equal(rows(r, FAMILY_JOBS), 2);
    assert_int_equal(rows(r, FAMILY_READY), 2);
}

static void what_was_purged_does_not_become_due(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(DELAY), .delay_ms = 1000};
    for (int i = 0; i < 20; i++)
        rig_add(r, "q", "x", &o);
    struct id id = purge(r, "q");
    r->now.wall_ms += 2000; /* the chore has not come to them yet */
    r->now.mono_ms += 2000;
    (void)engine_tick(r->engine, r->now);
    rig_step(r);
    assert_int_equal(waiting(r, "q"), 0);
    assert_int_equal(rig_lease(r, "q", 5), 0);
    rig_until_done(r, id);
    assert_int_equal(rows(r, FAMILY_JOBS) + rows(r, FAMILY_DUE), 0);
}

static void names_and_unique_keys_are_free_at_once(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(UNIQUE) | GIVEN(OWNER),
                            .unique = SLICE_LIT("k"),
                            .owner = SLICE_LIT("acme")};
    struct slice payload = SLICE_LIT("x");
    struct add_params p = {.queue = SLICE_LIT("q"),
                           .payloads = &payload,
                           .n = 1,
                           .options = &o,
                           .name = SLICE_LIT("the-name")};
    struct add_result old, new, again;
    assert_int_equal(rig_try_add(r, &p, &old), ERR_OK);
    assert_int_equal(rig_try_add(r, &p, &again), ERR_EXISTS);
    struct id id = purge(r, "q");
    struct manage_params cancel = {.verb = MANAGE_CANCEL};
    assert_int_equal(rig_manage_name(r, cancel, p.name), ERR_NOTFOUND);
    assert_int_equal(rig_try_add(r, &p, &new), ERR_OK);
    assert_true(new.created);
    rig_until_done(r, id);
    /* The new one still has both. */
    assert_int_equal(rig_try_add(r, &p, &again), ERR_EXISTS);
    p.name = SLICE_EMPTY;
    assert_int_equal(rig_try_add(r, &p, &again), ERR_OK);
    assert_false(again.created);
    assert_true(id_eq(&again.id, &new.id));
    struct owner_view v;
    assert_int_equal(engine_owner(r->engine, SLICE_LIT("acme"), &v, &r->err),
                     ERR_OK);
    assert_int_equal(v.live, 1);
}

static void what_lies_beside_a_job_goes_too(void **state)
{
    struct rig *r = *state;
    char big[2001];
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    struct job_options o = {.given = GIVEN(EXPIRES) | GIVEN(RETRIES),
                            .expires_ms = 900000,
                            .retries = 5};
    for (int i = 0; i < 4; i++)
        rig_add(r, "q", big, &o);
    assert_int_equal(rig_lease(r, "q", 2), 2);
    bool first;
    assert_int_equal(engine_effect(r->engine, NULL, r->token[0],
                                   SLICE_LIT("mail"), r->now, &first, &r->err),
                     ERR_OK);
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_nack(r, r->token[1]), ERR_OK);
    rig_until_done(r, purge(r, "q"));
    assert_int_equal(rows(r, FAMILY_JOBS), 0);
    assert_int_equal(rows(r, FAMILY_BODIES), 0);
    assert_int_equal(rows(r, FAMILY_DUE), 0);
    assert_int_equal(rows(r, FAMILY_KEYS), 0);
}

static void a_second_purge_joins_the_first(void **state)
{
    struct rig *r = *state;
    struct watch w = {0};
    engine_set_watch(r->engine, look, &w);
    fill(r, "q", 100);
    struct id id = purge(r, "q");
    for (int i = 0; i < 5; i++) {
        (void)engine_tick(r->engine, r->now);
        rig_step(r);
    }
    assert_true(rig_chore(r, id).done > 0);
    assert_true(rig_chore(r, id).done < 100);
    fill(r, "q", 40);
    struct id again = purge(r, "q");
    assert_true(id_eq(&again, &id));
    assert_int_equal(rig_chore(r, id).matched, 140);
    assert_int_equal(waiting(r, "q"), 0);
    rig_until_done(r, id);
    assert_int_equal(rig_chore(r, id).done, 140);
    assert_int_equal(rows(r, FAMILY_JOBS), 0);
    /* A third one is another. */
    fill(r, "q", 10);
    again = purge(r, "q");
    assert_false(id_eq(&again, &id));
    rig_until_done(r, again);
    assert_int_equal(rows(r, FAMILY_JOBS), 0);
}

/* On a machine that erases ten in a slice it does not read a thousand. */
static void a_slow_purge_reads_about_what_it_erases(void **state)
{
    struct rig *r = *state;
    struct watch w = {0};
    struct job_options o = {.given = GIVEN(UNIQUE)};
    struct store_stats before, after;
    char key[16];
    r->check = false;
    for (int i = 0; i < 600; i++) {
        snprintf(key, sizeof(key), "u%d", i);
        o.unique = slice_str(key);
        rig_add(r, "q", "x", &o);
    }
    engine_set_watch(r->engine, look, &w);
    store_get_stats(r->store, &before);
    struct id id = purge(r, "q");
    for (int i = 0; i < 1000 && rig_chore(r, id).finished_ms == 0; i++) {
        (void)engine_tick(r->engine, r->now);
        rig_step(r);
    }
    store_get_stats(r->store, &after);
    assert_int_equal(rig_chore(r, id).done, 600);
    assert_in_range(after.reads - before.reads, 600, 600 * 15);
    assert_int_equal(rows(r, FAMILY_KEYS), 0);
    r->check = true;
}

static void a_purge_cannot_be_called_back(void **state)
{
    struct rig *r = *state;
    char text[ID_TEXT_LEN];
    fill(r, "q", 10);
    struct id id = purge(r, "q");
    id_text(&id, text);
    assert_int_equal(engine_chore_cancel(r->engine, slice_of(text, ID_TEXT_LEN),
                                         r->now, &r->err),
                     ERR_STATE);
    rig_until_done(r, id);
    assert_int_equal(
        engine_purge(r->engine, SLICE_LIT("no"), r->now, &id, &r->err),
        ERR_NOTFOUND);
}

static void parked_jobs_go_and_their_names_stay_usable(void **state)
{
    struct rig *r = *state;
    struct job_options o = {
        .given = GIVEN(LIMIT), .limits = {SLICE_LIT("api")}, .limits_n = 1};
    struct limit_rule one = {.has_concurrency = true, .concurrency = 1};
    assert_int_equal(
        engine_limit_set(r->engine, SLICE_LIT("api"), &one, r->now, &r->err),
        ERR_OK);
    for (int i = 0; i < 40; i++)
        rig_add(r, i % 2 == 0 ? "q" : "other", "x", &o);
    assert_int_equal(rig_lease(r, "other", 5), 1);
    assert_int_equal(rig_lease(r, "q", 5), 0);
    rig_restart(r);
    rig_pass(r, 0); /* the scan of parked rows */
    assert_int_equal(rig_queue(r, "other").jobs[JOB_RUNNING], 1);
    struct id id = purge(r, "q");
    assert_int_equal(waiting(r, "q"), 0);
    rig_until_done(r, id);
    assert_int_equal(waiting(r, "other"), 19);
    assert_int_equal(rows(r, FAMILY_PARKED) + rows(r, FAMILY_READY), 19);
    rig_add(r, "q", "x", &o);
    for (int i = 0; i < 20; i++) {
        rig_pass(r, 40000);
        uint32_t n = rig_lease(r, i % 2 == 0 ? "other" : "q", 5);
        assert_in_range(n, 0, 1);
        if (n == 1)
            assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    }
    assert_int_equal(waiting(r, "q"), 0);
}

static void a_hundred_owners_lanes_die_and_live_again(void **state)
{
    struct rig *r = *state;
    struct queue_settings fair = {.has_fair = true, .fair = true};
    assert_int_equal(
        engine_queue_set(r->engine, SLICE_LIT("q"), &fair, r->now, &r->err),
        ERR_OK);
    for (int round = 0; round < 3; round++) {
        r->check = false;
        for (int i = 0; i < 300; i++) {
            char name[16];
            snprintf(name, sizeof(name), "o%d", i % 100);
            struct job_options o = {.given = GIVEN(OWNER),
                                    .owner = slice_str(name)};
            rig_add(r, "q", "x", &o);
        }
        r->check = true;
        rig_step(r);
        assert_int_equal(rig_lease(r, "q", 50), 50);
        for (int i = 0; i < 50; i++)
            assert_int_equal(rig_ack(r, r->token[i]), ERR_OK);
        struct id id = purge(r, "q");
        assert_int_equal(rig_lease(r, "q", 10), 0);
        if (round == 1)
            rig_restart(r);
        rig_until_done(r, id);
        assert_int_equal(rig_chore(r, id).done, 250);
    }
    struct engine_stats s;
    engine_get_stats(r->engine, &s);
    assert_int_equal(s.lanes, 0);
    assert_int_equal(s.window_entries, 0);
}

static void add_for(struct rig *r, const char *owner, const char *limit)
{
    struct job_options o = {.given = GIVEN(OWNER), .owner = slice_str(owner)};
    if (limit != NULL) {
        o.given |= GIVEN(LIMIT);
        o.limits[0] = slice_str(limit);
        o.limits_n = 1;
    }
    rig_add(r, "q", "x", &o);
}

static void make_fair(struct rig *r)
{
    struct queue_settings fair = {.has_fair = true, .fair = true};
    assert_int_equal(
        engine_queue_set(r->engine, SLICE_LIT("q"), &fair, r->now, &r->err),
        ERR_OK);
}

static uint32_t lanes_in_heaps(const struct rig *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->engine->lanes_n; i++) {
        const struct lane *l = r->engine->lanes[i];
        n += l != NULL && line_in(&l->in_part);
    }
    return n;
}

/* It would take tens of milliseconds if there are a hundred thousand. */
static void the_beginning_of_a_purge_touches_no_lane(void **state)
{
    struct rig *r = *state;
    char name[16];
    make_fair(r);
    r->check = false;
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "o%d", i);
        add_for(r, name, NULL);
    }
    r->check = true;
    struct id id = purge(r, "q");
    assert_int_equal(lanes_in_heaps(r), 300);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(rig_lease(r, "q", 10), 0);
        add_for(r, "o7", NULL); /* one that has such a lane, and a new one */
        add_for(r, "new", NULL);
        assert_int_equal(rig_lease(r, "q", 10), 2);
        assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
        assert_int_equal(rig_ack(r, r->token[1]), ERR_OK);
    }
    assert_in_range(lanes_in_heaps(r), 300, 302);
    rig_until_done(r, id);
    assert_int_equal(rig_chore(r, id).done, 300);
    assert_int_equal(lanes_in_heaps(r), 0);
}

/* More lanes may be parked under a name than are looked at: those that are dead
 * must not be among them. */
static void purged_lanes_of_a_name_do_not_stand_before_new_ones(void **state)
{
    struct rig *r = *state;
    struct limit_rule one = {.has_concurrency = true, .concurrency = 1};
    char name[8], token[64];
    make_fair(r);
    assert_int_equal(
        engine_limit_set(r->engine, SLICE_LIT("api"), &one, r->now, &r->err),
        ERR_OK);
    r->check = false;
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "o%d", i);
        add_for(r, name, "api");
        if (i == 0)
            assert_int_equal(rig_lease(r, "q", 1), 1);
    }
    r->check = true;
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK); /* api opens */
    struct id id = purge(r, "q");
    add_for(r, "new", "api");
    assert_int_equal(rig_lease(r, "q", 10), 1);
    memcpy(token, r->tokens[0], sizeof(token));
    size_t len = r->token[0].len;
    add_for(r, "newer", "api");
    assert_int_equal(rig_lease(r, "q", 10), 0); /* it is parked */
    assert_int_equal(rig_queue(r, "q").jobs[JOB_PARKED], 1);
    assert_int_equal(rig_ack(r, slice_of(token, len)), ERR_OK);
    assert_int_equal(rig_lease(r, "q", 10), 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    rig_until_done(r, id);
    assert_int_equal(lanes_in_heaps(r), 0);
}

/* A full name keeps lanes out of all lines, so those that are dead do not stand
 * behind the others there. */
static void a_full_queue_drops_what_came_after_a_purge(void **state)
{
    struct rig *r = *state;
    struct limit_rule one = {.has_concurrency = true, .concurrency = 1};
    struct queue_settings two = {
        .has_maxlen = true, .maxlen = 2, .has_overflow = true, .overflow = 1};
    make_fair(r);
    rig_pass(r, 0); /* the scan at start, before which no window is complete */
    assert_int_equal(
        engine_limit_set(r->engine, SLICE_LIT("api"), &one, r->now, &r->err),
        ERR_OK);
    add_for(r, "a", "api");
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    rig_add(r, "other", "x",
            &(struct job_options){.given = GIVEN(LIMIT),
                                  .limits = {SLICE_LIT("api")},
                                  .limits_n = 1});
    assert_int_equal(rig_lease(r, "other", 1), 1);
    add_for(r, "a", "api");
    add_for(r, "b", "api");
    struct id id = purge(r, "q");
    assert_int_equal(
        engine_queue_set(r->engine, SLICE_LIT("q"), &two, r->now, &r->err),
        ERR_OK);
    for (uint64_t i = 1; i <= 5; i++) {
        r->now.wall_ms++; /* and no slice of the chore */
        add_for(r, "b", "api");
        assert_int_equal(waiting(r, "q"), i < 2 ? i : 2);
    }
    rig_until_done(r, id);
    assert_int_equal(waiting(r, "q"), 2);
}

/* Or it would be others who are slowed down, at last refused. */
static void a_purge_waits_for_a_base_that_is_busy(void **state)
{
    struct rig *r = *state;
    r->generation_bytes = 64 << 10;
    r->overlay_bytes = 1 << 20;
    rig_restart(r);
    mem_knobs(r->disk)->manual_apply = true;
    while (!store_base_is_busy(r->store))
        fill(r, "q", 100);
    assert_false(store_base_is_behind(r->store));
    struct id id = purge(r, "q");
    uint64_t done = rig_chore(r, id).done;
    for (int i = 0; i < 50; i++)
        rig_pass(r, 1);
    assert_int_equal(rig_chore(r, id).done, done);
    assert_in_range(engine_next_ms(r->engine, r->now), r->now.mono_ms + 1,
                    r->now.mono_ms + 1000);
    rig_pass(r, 100); /* it goes on a little all the same */
    assert_true(rig_chore(r, id).done > done);
    mem_knobs(r->disk)->manual_apply = false;
    rig_until_done(r, id);
    assert_int_equal(rows(r, FAMILY_JOBS), 0);
}

/* Its own deletions fill a generation that is not sealed yet. */
static void a_purge_does_not_wait_for_itself(void **state)
{
    struct rig *r = *state;
    r->overlay_bytes = 1 << 20;
    rig_restart(r);
    fill(r, "q", 20000);
    uint64_t begin = r->now.mono_ms;
    struct id id = purge(r, "q");
    while (rig_chore(r, id).finished_ms == 0)
        rig_pass(r, 1);
    assert_in_range(r->now.mono_ms - begin, 0, 90); /* no wait at all */
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        T(nothing_purged_is_seen_although_its_rows_are_there),
        T(what_comes_after_a_purge_stays),
        T(a_running_job_outlives_the_purge_however_it_comes_back),
        T(a_crash_in_the_middle_repeats_and_forgets_nothing),
        T(of_thousands_nothing_is_left),
        T(what_was_purged_does_not_become_due),
        T(names_and_unique_keys_are_free_at_once),
        T(what_lies_beside_a_job_goes_too),
        T(a_second_purge_joins_the_first),
        T(a_slow_purge_reads_about_what_it_erases),
        T(a_purge_cannot_be_called_back),
        T(parked_jobs_go_and_their_names_stay_usable),
        T(a_hundred_owners_lanes_die_and_live_again),
        T(the_beginning_of_a_purge_touches_no_lane),
        T(purged_lanes_of_a_name_do_not_stand_before_new_ones),
        T(a_full_queue_drops_what_came_after_a_purge),
        T(a_purge_waits_for_a_base_that_is_busy),
        T(a_purge_does_not_wait_for_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
