/* Lists, and chores that walk them. */
#include "rig.h"

struct seen {
    struct id ids[600];
    uint32_t n;
};

static void see(void *ud, const struct job_view *v)
{
    struct seen *s = ud;
    s->ids[s->n++] = v->id;
}

static void ignore(void *ud, uint32_t i, enum err rc, const char *why)
{
    (void)ud;
    (void)i;
    (void)why;
    assert_int_equal(rc, ERR_OK);
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

static struct id bulk(struct rig *r, struct bulk_params p)
{
    struct id id;
    enum err rc = engine_bulk(r->engine, &p, r->now, &id, &r->err);
    if (rc != ERR_OK)
        fail_msg("bulk: %s", r->err.text);
    rig_step(r);
    return id;
}

static void a_bulk_leaves_out_what_came_behind_its_bound(void **state)
{
    struct rig *r = *state;
    struct id old = rig_add(r, "q", "x", NULL).id, chore;
    rig_pass(r, 10);
    struct job_filter f = {.created_to_ms = r->now.wall_ms - 1};
    struct bulk_params p = {.verb = MANAGE_HOLD, .filter = &f};
    assert_int_equal(engine_bulk(r->engine, &p, r->now, &chore, &r->err),
                     ERR_OK);
    struct id young = rig_add(r, "q", "x", NULL).id; /* in the same moment */
    rig_until_done(r, chore);
    assert_int_equal(rig_state(r, old), JOB_HELD);
    assert_int_equal(rig_state(r, young), JOB_READY);
}

static void a_walk_tells_every_job_once(void **state)
{
    struct rig *r = *state;
    fill(r, "q", 300);
    assert_int_equal(rig_lease(r, "q", 50), 50);
    for (int i = 0; i < 50; i++)
        assert_int_equal(rig_ack(r, r->token[i]), ERR_OK);
    rig_restart(r);
    struct job_filter f = {.queue = SLICE_LIT("q")};
    struct list_params p = {.filter = &f, .count = 7};
    struct list_result res = {0};
    struct seen s = {0};
    char cursor[CURSOR_MAX];
    do {
        memcpy(cursor, res.cursor, sizeof(cursor));
        p.cursor = slice_str(cursor);
        uint32_t had = s.n;
        while (engine_list(r->engine, r->gather, &p, r->now, see, &s, &res,
                           &r->err) == ERR_PENDING) {
            s.n = had;
            rig_fetch(r);
        }
        assert_true(s.n - had <= 7);
    } while (res.cursor[0] != '\0');
    assert_int_equal(s.n, 300);
    for (uint32_t i = 1; i < 250; i++)
        assert_true(id_cmp(&s.ids[i - 1], &s.ids[i]) < 0);
}

/* All pages; returns how many rows were looked at. */
static uint64_t list_all(struct rig *r, const struct job_filter *f,
                         struct seen *s)
{
    struct list_params p = {.filter = f, .count = 3};
    struct list_result res = {0};
    char cursor[CURSOR_MAX];
    uint64_t examined = 0;
    s->n = 0;
    do {
        memcpy(cursor, res.cursor, sizeof(cursor));
        p.cursor = slice_str(cursor);
        uint32_t had = s->n;
        while (engine_list(r->engine, r->gather, &p, r->now, see, s, &res,
                           &r->err) == ERR_PENDING) {
            s->n = had;
            rig_fetch(r);
        }
        gather_release(r->gather);
        examined += res.examined;
    } while (res.cursor[0] != '\0');
    return examined;
}

/* Of `all` that fit `f` exactly those are listed whose ids begin so. Returns
 * how many rows were looked at beside theirs. */
static uint64_t begin_so(struct rig *r, const struct seen *all,
                         struct job_filter f, const char *prefix)
{
    struct seen got;
    uint32_t n = 0;
    f.id_prefix = slice_str(prefix);
    uint64_t examined = list_all(r, &f, &got);
    for (uint32_t i = 0; i < all->n; i++) {
        char text[ID_TEXT_LEN];
        id_text(&all->ids[i], text);
        if (!slice_eq_nocase(slice_of(text, f.id_prefix.len), f.id_prefix))
            continue;
        uint32_t at = 0;
        while (at < got.n && !id_eq(&got.ids[at], &all->ids[i]))
            at++;
        assert_true(at < got.n);
        n++;
    }
    assert_int_equal(got.n, n);
    return examined - n;
}

static void ids_that_begin_so_are_found_without_a_look_at_others(void **state)
{
    struct rig *r = *state;
    struct seen all;
    for (int i = 0; i < 5; i++) {
        fill(r, "q", 60);
        rig_pass(r, 40);
    }
    assert_int_equal(rig_lease(r, "q", 100), 100);
    struct ack_params ack = {.tokens = r->token, .n = 80};
    assert_int_equal(
        engine_ack(r->engine, NULL, &ack, r->now, ignore, NULL, &r->err),
        ERR_OK);
    rig_step(r);
    for (int round = 0; round < 2; round++) {
        const struct job_filter filters[] = {
            {.queue = SLICE_LIT("q")},
            {.queue = SLICE_LIT("q"), .states = 1u << JOB_COMPLETED},
            {.states = 1u << JOB_RUNNING},
            {.created_from_ms = r->now.wall_ms - 130}};
        for (size_t k = 0; k < ARRAY_LEN(filters); k++) {
            (void)list_all(r, &filters[k], &all);
            assert_in_range(all.n, 20, 300);
            for (uint32_t i = 0; i < all.n; i += 7) {
                char text[ID_TEXT_LEN + 1] = "";
                id_text(&all.ids[i], text);
                assert_in_range(begin_so(r, &all, filters[k], text), 0, 1);
                for (size_t len = ID_TEXT_LEN - 1; len > 4; len -= 4) {
                    text[len] = '\0';
                    /* A row of the index names many, and is one look. */
                    assert_in_range(begin_so(r, &all, filters[k], text), 0, 10);
                }
            }
            (void)begin_so(r, &all, filters[k], "o1");
            (void)begin_so(r, &all, filters[k], "8");
            (void)begin_so(r, &all, filters[k], "0!");
        }
        rig_restart(r);
    }
}

static void what_runs_is_found_without_looking_at_the_backlog(void **state)
{
    struct rig *r = *state;
    struct slice q = SLICE_LIT("q"), worker = SLICE_LIT("w");
    struct lease_params p = {
        .queues = &q, .queues_n = 1, .count = 5, .worker = worker};
    struct seen s;
    fill(r, "q", 500);
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    struct id leased[5];
    memcpy(leased, r->ids, sizeof(leased));
    p.worker = SLICE_LIT("other");
    p.count = 2;
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    for (int round = 0; round < 2; round++) {
        struct job_filter running = {.states = 1u << JOB_RUNNING};
        assert_in_range(list_all(r, &running, &s), 7, 9);
        assert_int_equal(s.n, 7);
        struct job_filter his = {.worker = worker};
        assert_in_range(list_all(r, &his, &s), 5, 9);
        assert_int_equal(s.n, 5);
        for (int i = 0; i < 5; i++)
            assert_true(id_eq(&s.ids[i], &leased[i]));
        struct job_filter waiting = {.worker = worker,
                                     .states = 1u << JOB_READY};
        list_all(r, &waiting, &s);
        assert_int_equal(s.n, 0);
        rig_restart(r);
        mem_knobs(r->disk)->pending_per_1000 = 500;
    }
    mem_knobs(r->disk)->pending_per_1000 = 0;
    /* What is not there at all costs nothing. */
    struct job_filter held = {.queue = q, .states = 1u << JOB_HELD};
    assert_int_equal(list_all(r, &held, &s), 0);
    struct manage_params hold = {.verb = MANAGE_HOLD};
    struct job_filter all = {.queue = q, .states = 1u << JOB_READY};
    list_all(r, &all, &s);
    assert_int_equal(rig_manage(r, hold, &s.ids[100], 1), ERR_OK);
    struct id one = s.ids[100];
    assert_true(list_all(r, &held, &s) > 0);
    assert_int_equal(s.n, 1);
    assert_true(id_eq(&s.ids[0], &one));
}

static void a_chore_cancels_what_fits_and_survives_a_restart(void **state)
{
    struct rig *r = *state;
    fill(r, "q", 500);
    fill(r, "other", 20);
    struct job_filter f = {.queue = SLICE_LIT("q")};
    struct id id =
        bulk(r, (struct bulk_params){.verb = MANAGE_CANCEL, .filter = &f});
    for (int i = 0; i < 3; i++) {
        (void)engine_tick(r->engine, r->now);
        rig_step(r);
        rig_restart(r);
    }
    assert_true(rig_chore(r, id).done > 0);
    assert_true(rig_chore(r, id).done < 500);
    rig_add(r, "q", "late", NULL); /* in the same millisecond, or later */
    r->now.wall_ms += 5;
    struct id late = rig_add(r, "q", "late", NULL).id;
    rig_pass(r, 0);
    struct chore_view v = rig_chore(r, id);
    assert_string_equal(v.state.data, "done");
    assert_in_range(v.done, 500, 501);
    assert_int_equal(v.refused, 0);
    assert_int_equal(rig_state(r, late), JOB_READY);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_CANCELLED], v.done);
    assert_int_equal(rig_queue(r, "other").jobs[JOB_READY], 13);
}

static void a_retry_of_all_does_not_take_back_what_fails_again(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(RETRIES)};
    for (int i = 0; i < 100; i++)
        rig_add(r, "q", "x", &o);
    assert_int_equal(rig_lease(r, "q", 100), 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(rig_nack(r, r->token[i]), ERR_OK);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_FAILED], 100);
    struct job_filter f = {.queue = SLICE_LIT("q"), .states = 1u << JOB_FAILED};
    struct id id =
        bulk(r, (struct bulk_params){.verb = MANAGE_RETRY, .filter = &f});
    r->now.wall_ms += 10;
    for (int i = 0; i < 200; i++) {
        (void)engine_tick(r->engine, r->now);
        if (rig_lease(r, "q", 1) == 1)
            assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    }
    assert_int_equal(rig_chore(r, id).done, 100);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_FAILED], 100);
}

static void a_dry_run_counts_and_a_rate_slows_down(void **state)
{
    struct rig *r = *state;
    fill(r, "q", 90);
    struct job_filter f = {.queue = SLICE_LIT("q"),
                           .states = 1u << JOB_SCHEDULED};
    struct bulk_params p = {.verb = MANAGE_RUNNOW, .filter = &f, .dry = true};
    struct id dry = bulk(r, p);
    rig_pass(r, 0);
    assert_int_equal(rig_chore(r, dry).matched, 30);
    assert_int_equal(rig_chore(r, dry).done, 0);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_SCHEDULED], 30);
    p.dry = false;
    p.rate = 10;
    struct id slow = bulk(r, p);
    for (int i = 0; i < 10; i++)
        rig_pass(r, 100);
    assert_in_range(rig_chore(r, slow).done, 9, 12);
    char text[ID_TEXT_LEN];
    id_text(&slow, text);
    assert_int_equal(engine_chore_cancel(r->engine, slice_of(text, ID_TEXT_LEN),
                                         r->now, &r->err),
                     ERR_OK);
    rig_pass(r, 10000);
    assert_in_range(rig_chore(r, slow).done, 9, 12);
}

/* Dead letters of two groups, in turn. */
static void die(struct rig *r, int n)
{
    for (int i = 0; i < n; i++) {
        rig_add(r, "q", "x", NULL);
        assert_int_equal(rig_lease(r, "q", 1), 1);
        struct nack_params p = {.tokens = &r->token[0],
                                .n = 1,
                                .error = i % 2 == 0 ? SLICE_LIT("disk 7 full")
                                                    : SLICE_LIT("no route"),
                                .permanent = true};
        assert_int_equal(rig_nack_with(r, p), ERR_OK);
    }
}

static void a_group_of_dead_letters_comes_back_at_its_rate(void **state)
{
    struct rig *r = *state;
    die(r, 200);
    r->now.wall_ms++;
    struct job_filter f = {
        .queue = SLICE_LIT("q"),
        .states = 1u << JOB_FAILED,
        .signature = dead_signature(SLICE_EMPTY, SLICE_LIT("disk 8 full"))};
    struct id id = bulk(r, (struct bulk_params){
                               .verb = MANAGE_RETRY, .filter = &f, .rate = 10});
    for (uint64_t s = 1; s <= 9; s++) {
        for (int i = 0; i < 10; i++)
            rig_pass(r, 100);
        assert_in_range(rig_queue(r, "q").jobs[JOB_READY], 10 * s, 10 * s + 1);
        if (s ==
            4) /* its pace outlives a restart, its next turn comes at once */
            rig_restart(r);
    }
    for (int i = 0; i < 20; i++)
        rig_pass(r, 100);
    assert_string_equal(rig_chore(r, id).state.data, "done");
    assert_int_equal(rig_chore(r, id).done, 100);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_FAILED], 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_lease(r, "q", 1), 0);
}

static void
a_restart_within_a_block_of_the_index_counts_nothing_twice(void **state)
{
    struct rig *r = *state;
    fill(r, "q", 900); /* a third of them is put off */
    for (int i = 0; i < 12; i++) {
        assert_int_equal(rig_lease(r, "q", 50), 50);
        struct ack_params p = {.tokens = r->token, .n = 50};
        assert_int_equal(
            engine_ack(r->engine, r->gather, &p, r->now, ignore, NULL, &r->err),
            ERR_OK);
        rig_step(r); /* fifty ids make a row of the index */
    }
    struct job_filter f = {.queue = SLICE_LIT("q"),
                           .states = 1u << JOB_COMPLETED};
    struct bulk_params p = {.verb = MANAGE_RETRY, .filter = &f, .dry = true};
    r->now.wall_ms++;
    struct id dry = bulk(r, p);
    for (int i = 0; i < 10; i++) {
        (void)engine_tick(r->engine, r->now);
        rig_step(r);
        rig_restart(r);
    }
    assert_string_equal(rig_chore(r, dry).state.data, "done");
    assert_int_equal(rig_chore(r, dry).matched, 600);
}

static void a_deletion_leaves_the_counters_right(void **state)
{
    struct rig *r = *state;
    mem_knobs(r->disk)->pending_per_1000 = 300;
    fill(r, "q", 300);
    assert_int_equal(rig_lease(r, "q", 3), 3);
    struct job_filter f = {.queue = SLICE_LIT("q"),
                           .states = (1u << JOB_RUNNING) - 2};
    struct id id =
        bulk(r, (struct bulk_params){.verb = MANAGE_DELETE, .filter = &f});
    rig_until_done(r, id);
    struct queue_view v = rig_queue(r, "q");
    assert_int_equal(v.jobs[JOB_READY] + v.jobs[JOB_SCHEDULED], 0);
    assert_int_equal(v.jobs[JOB_RUNNING], 3);
    assert_int_equal(v.jobs[JOB_CANCELLED], 0);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
}

static uint64_t disk_reads(struct rig *r)
{
    struct store_stats st;
    store_get_stats(r->store, &st);
    return st.loop_disk_reads;
}

/* What was brought for a slice may be evicted before its turn, or be other than
 * what the job needs when the one before it has had its turn. */
static void a_chore_fetches_again_what_is_gone_from_memory(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(RETRIES), .retries = 1};
    for (int i = 0; i < 100; i++)
        rig_add(r, "q", "x", &o);
    for (int n = 0; n < 2; n++) { /* two executions are rows of their own */
        assert_int_equal(rig_lease(r, "q", 100), 100);
        for (int i = 0; i < 100; i++)
            assert_int_equal(rig_nack(r, r->token[i]), ERR_OK);
        rig_pass(r, 3600000);
    }
    rig_restart(r);
    rig_restart(r);   /* all is in the base */
    r->check = false; /* it reads the disk */
    mem_knobs(r->disk)->pending_per_1000 = 20;
    uint64_t before = disk_reads(r);
    struct job_filter f = {.queue = SLICE_LIT("q"), .states = 1u << JOB_FAILED};
    struct id id =
        bulk(r, (struct bulk_params){.verb = MANAGE_RETRY, .filter = &f});
    rig_until_done(r, id);
    assert_int_equal(rig_chore(r, id).done, 100);
    assert_int_equal(disk_reads(r), before);
    mem_knobs(r->disk)->pending_per_1000 = 0;
    r->check = true;
    rig_step(r);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        T(a_bulk_leaves_out_what_came_behind_its_bound),
        T(a_walk_tells_every_job_once),
        T(ids_that_begin_so_are_found_without_a_look_at_others),
        T(what_runs_is_found_without_looking_at_the_backlog),
        T(a_chore_cancels_what_fits_and_survives_a_restart),
        T(a_retry_of_all_does_not_take_back_what_fails_again),
        T(a_dry_run_counts_and_a_rate_slows_down),
        T(a_group_of_dead_letters_comes_back_at_its_rate),
        T(a_restart_within_a_block_of_the_index_counts_nothing_twice),
        T(a_deletion_leaves_the_counters_right),
        T(a_chore_fetches_again_what_is_gone_from_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
