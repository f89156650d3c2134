/* Names, unique keys, idempotency, effects. */
#include "rig.h"

#include <string.h>

static struct add_result add_with(struct rig *r, const char *payload,
                                  struct job_options *o)
{
    o->given |= GIVEN(UNIQUE);
    o->unique = slice_str("k");
    return rig_add(r, "q", payload, o);
}

static void a_unique_key_returns_the_job_that_has_it(void **state)
{
    struct rig *r = *state;
    struct job_options o = {0};
    struct add_result a = add_with(r, "x", &o), b = add_with(r, "y", &o);
    assert_true(a.created);
    assert_false(b.created);
    assert_true(id_eq(&a.id, &b.id));
    assert_int_equal(rig_lease(r, "q", 5), 1);
    assert_false(add_with(r, "y", &o).created);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_true(add_with(r, "y", &o).created);
}

static void a_key_of_waiting_jobs_is_let_go_at_the_first_lease(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(WHILE),
                            .unique_while = WHILE_WAITING};
    assert_true(add_with(r, "x", &o).created);
    assert_int_equal(rig_lease(r, "q", 5), 1);
    struct add_result b = add_with(r, "y", &o);
    assert_true(b.created);
    /* Its end must not take the key of the second one. */
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_false(add_with(r, "z", &o).created);
}

static void a_key_with_a_time_outlives_its_job(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(FOR), .for_ms = 10000};
    struct add_result a = add_with(r, "x", &o);
    assert_int_equal(rig_lease(r, "q", 5), 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    rig_pass(r, 9999);
    struct add_result b = add_with(r, "y", &o);
    assert_false(b.created);
    assert_true(id_eq(&a.id, &b.id));
    assert_int_equal(b.state, JOB_COMPLETED);
    rig_pass(r, 1);
    assert_true(add_with(r, "z", &o).created);
}

/* There is nothing to replace, and the key is held all the same. */
static void
a_key_with_a_time_is_not_replaced_when_its_job_has_ended(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(FOR) | GIVEN(CONFLICT),
                            .for_ms = 10000,
                            .conflict = CONFLICT_REPLACE};
    struct job_options debounced = {.given = GIVEN(DEBOUNCE),
                                    .debounce_ms = 1000};
    struct add_result a = add_with(r, "x", &o), b = add_with(r, "y", &o);
    assert_true(id_eq(&a.id, &b.id));
    rig_pass(r, 1);
    assert_int_equal(rig_lease(r, "q", 5), 1);
    assert_string_equal(r->payload, "y");
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    for (int i = 0; i < 2; i++) {
        rig_restart(r);
        b = add_with(r, "z", i == 0 ? &o : &debounced);
        assert_false(b.created);
        assert_true(id_eq(&a.id, &b.id));
        assert_int_equal(b.state, JOB_COMPLETED);
    }
    rig_pass(r, 9999);
    assert_true(add_with(r, "z", &o).created);
}

/* Its key is that of whoever asked first, for that time; no live job's. */
static void a_job_whose_key_had_a_time_is_retried_beside_the_next(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(FOR), .for_ms = 10000};
    struct id a = add_with(r, "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    rig_pass(r, 10000);
    struct id b = add_with(r, "y", &o).id;
    struct manage_params retry = {.verb = MANAGE_RETRY};
    assert_int_equal(rig_manage(r, retry, &a, 1), ERR_OK);
    struct add_result c = add_with(r, "z", &o);
    assert_true(id_eq(&c.id, &b));
}

static void a_conflict_may_be_refused(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(CONFLICT),
                            .conflict = CONFLICT_REJECT};
    add_with(r, "x", &o);
    struct slice text = slice_str("y");
    struct add_params p = {
        .queue = slice_str("q"), .payloads = &text, .n = 1, .options = &o};
    struct add_result result;
    assert_int_equal(rig_try_add(r, &p, &result), ERR_EXISTS);
}

static void a_waiting_job_is_replaced_and_keeps_its_id(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(CONFLICT),
                            .conflict = CONFLICT_REPLACE};
    struct add_result a = add_with(r, "old", &o);
    rig_restart(r);
    struct add_result b = add_with(r, "new", &o);
    assert_true(id_eq(&a.id, &b.id));
    assert_false(b.created);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], 1);
    assert_int_equal(rig_lease(r, "q", 5), 1);
    assert_string_equal(r->payload, "new");
    struct slice text = slice_str("z");
    struct add_params p = {
        .queue = slice_str("q"), .payloads = &text, .n = 1, .options = &o};
    assert_int_equal(rig_try_add(r, &p, &b), ERR_STATE);
}

static void a_debounced_job_starts_after_the_last_of_them(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(DEBOUNCE), .debounce_ms = 1000};
    add_with(r, "1", &o);
    for (int i = 0; i < 5; i++) {
        rig_pass(r, 900);
        assert_int_equal(rig_lease(r, "q", 1), 0);
        add_with(r, "last", &o);
    }
    rig_pass(r, 1000);
    assert_int_equal(rig_lease(r, "q", 5), 1);
    assert_string_equal(r->payload, "last");
    /* What comes while it runs is another job. */
    assert_true(add_with(r, "next", &o).created);
}

static void keys_of_queues_do_not_meet(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(UNIQUE), .unique = slice_str("k")};
    assert_true(rig_add(r, "q1", "x", &o).created);
    assert_true(rig_add(r, "q2", "x", &o).created);
    o.given |= GIVEN(SCOPE);
    o.scope = SCOPE_GLOBAL;
    assert_true(rig_add(r, "q1", "x", &o).created);
    assert_false(rig_add(r, "q2", "x", &o).created);
}

static enum err add_idem(struct rig *r, const char *payload, const char *key,
                         struct add_result *result)
{
    static const struct job_options none;
    struct slice text = slice_str(payload);
    struct add_params p = {.queue = slice_str("q"),
                           .payloads = &text,
                           .n = 1,
                           .idempotency = slice_str(key),
                           .options = &none};
    return rig_try_add(r, &p, result);
}

static void the_same_request_again_makes_no_second_job(void **state)
{
    struct rig *r = *state;
    struct add_result a, b;
    assert_int_equal(add_idem(r, "x", "k1", &a), ERR_OK);
    rig_restart(r);
    assert_int_equal(add_idem(r, "x", "k1", &b), ERR_OK);
    assert_true(id_eq(&a.id, &b.id));
    assert_true(b.created);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], 1);
    assert_int_equal(add_idem(r, "other", "k1", &b), ERR_MISMATCH);
    rig_pass(r, 24 * 3600 * 1000);
    assert_int_equal(add_idem(r, "other", "k1", &b), ERR_OK);
    assert_false(id_eq(&a.id, &b.id));
}

static void a_lease_asked_for_again_gives_the_same_leases(void **state)
{
    struct rig *r = *state;
    struct slice q = slice_str("q");
    struct lease_params p = {.queues = &q,
                             .queues_n = 1,
                             .count = 2,
                             .idempotency = slice_str("l1")};
    char first[64];
    for (int i = 0; i < 4; i++)
        rig_add(r, "q", "x", NULL);
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    assert_int_equal(r->n, 2);
    memcpy(first, r->tokens[0], sizeof(first));
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    assert_int_equal(r->n, 2);
    assert_string_equal(first, r->tokens[0]);
    p.count = 3;
    assert_int_equal(rig_lease_with(r, &p), ERR_MISMATCH);
    p.count = 2;
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_ack(r, r->token[1]), ERR_OK);
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    assert_int_equal(r->n, 2);
    assert_string_not_equal(first, r->tokens[0]);
}

/* The reply to the first request is lost, and noticed late. */
static void an_undone_lease_is_not_shared_by_asking_again(void **state)
{
    struct rig *r = *state;
    struct slice q = slice_str("q");
    struct lease_params p = {
        .queues = &q, .queues_n = 1, .count = 1, .idempotency = slice_str("k")};
    char first[64];
    struct id id = rig_add(r, "q", "x", NULL).id;
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    engine_lease_undo(r->engine, &r->token[0], 1, r->now);
    rig_step(r);
    assert_int_equal(rig_lease(r, "q", 1), 1); /* somebody else */
    assert_int_equal(rig_lease_with(r, &p), ERR_EMPTY);
    assert_int_equal(rig_state(r, id), JOB_RUNNING);

    rig_add(r, "q", "y", NULL);
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    memcpy(first, r->tokens[0], sizeof(first));
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    assert_string_equal(first, r->tokens[0]);
    struct slice token = slice_str(first);
    engine_lease_undo(r->engine, &token, 1, r->now);
    rig_step(r);
    assert_int_equal(rig_ack(r, token), ERR_OK);
}

static enum err add_named(struct rig *r, const char *name,
                          struct add_result *result)
{
    static const struct job_options none;
    struct slice text = slice_str("x");
    struct add_params p = {.queue = slice_str("q"),
                           .payloads = &text,
                           .n = 1,
                           .name = slice_str(name),
                           .options = &none};
    return rig_try_add(r, &p, result);
}

static void a_name_finds_its_job_while_it_lives_and_is_kept(void **state)
{
    struct rig *r = *state;
    struct add_result a, b;
    struct id id;
    assert_int_equal(add_named(r, "report:7", &a), ERR_OK);
    assert_int_equal(add_named(r, "report:7", &b), ERR_EXISTS);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(
        engine_find(r->engine, NULL, slice_str("report:7"), &id, &r->err),
        ERR_OK);
    assert_true(id_eq(&id, &a.id));
    assert_int_equal(add_named(r, "report:7", &b), ERR_EXISTS);
    rig_pass(r, (uint64_t)8 * 24 * 3600 * 1000);
    rig_pass(r, (uint64_t)25 * 3600 * 1000); /* the brake of forgetting */
    for (int i = 0; i < 10; i++)
        rig_pass(r, 3600 * 1000);
    assert_int_equal(add_named(r, "report:7", &b), ERR_OK);
    assert_int_equal(add_named(r, "no blanks", &b), ERR_SYNTAX);
    assert_int_equal(add_named(r, "01M7QB5BH322BPNZCYC4000001", &b),
                     ERR_SYNTAX);
}

static void an_effect_is_claimed_once_per_job(void **state)
{
    struct rig *r = *state;
    bool first;
    rig_add(r, "q", "x", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct slice key = slice_str("charge");
    assert_int_equal(engine_effect(r->engine, NULL, r->token[0], key, r->now,
                                   &first, &r->err),
                     ERR_OK);
    assert_true(first);
    rig_step(r);
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    rig_pass(r, 1000);
    rig_restart(r);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(engine_effect(r->engine, NULL, r->token[0], key, r->now,
                                   &first, &r->err),
                     ERR_OK);
    assert_false(first);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
}

static bool effect(struct rig *r, const char *key)
{
    bool first;
    assert_int_equal(engine_effect(r->engine, NULL, r->token[0], slice_str(key),
                                   r->now, &first, &r->err),
                     ERR_OK);
    rig_step(r);
    return first;
}

static void a_replaced_job_is_new_work_with_effects_of_its_own(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(CONFLICT),
                            .conflict = CONFLICT_REPLACE};
    add_with(r, "old", &o);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_true(effect(r, "charge"));
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    assert_false(add_with(r, "new", &o).created);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_true(effect(r, "charge"));
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
}

static void a_replaced_job_stays_held(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(CONFLICT),
                            .conflict = CONFLICT_REPLACE};
    struct job_options later = {.given = GIVEN(DEBOUNCE), .debounce_ms = 1000};
    struct id id = add_with(r, "old", &o).id;
    assert_int_equal(
        rig_manage(r, (struct manage_params){.verb = MANAGE_HOLD}, &id, 1),
        ERR_OK);
    assert_int_equal(add_with(r, "new", &o).state, JOB_HELD);
    assert_int_equal(rig_lease(r, "q", 1), 0);
    rig_restart(r);
    assert_int_equal(add_with(r, "later", &later).state, JOB_HELD);
    assert_int_equal(rig_lease(r, "q", 1), 0);
    /* The delay goes on while it is held. */
    rig_pass(r, 400);
    assert_int_equal(
        rig_manage(r, (struct manage_params){.verb = MANAGE_UNHOLD}, &id, 1),
        ERR_OK);
    assert_int_equal(rig_state(r, id), JOB_SCHEDULED);
    rig_pass(r, 599);
    assert_int_equal(rig_lease(r, "q", 1), 0);
    rig_pass(r, 1);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_string_equal(r->payload, "later");
}

static enum err add_unique(struct rig *r, const char *name, const char *key,
                           struct job_options o, struct add_result *result)
{
    struct slice text = SLICE_LIT("x");
    o.given |= GIVEN(UNIQUE);
    o.unique = slice_str(key);
    struct add_params p = {.queue = SLICE_LIT("q"),
                           .payloads = &text,
                           .n = 1,
                           .name = slice_str(name),
                           .options = &o};
    return rig_try_add(r, &p, result);
}

static void a_name_may_be_that_of_the_job_that_is_replaced(void **state)
{
    struct rig *r = *state;
    struct job_options replace = {.given = GIVEN(CONFLICT),
                                  .conflict = CONFLICT_REPLACE};
    struct job_options wait = {.given = GIVEN(DEBOUNCE), .debounce_ms = 5000};
    struct job_options none = {0};
    struct add_result a, b;
    struct id id;
    assert_int_equal(add_unique(r, "n", "k", wait, &a), ERR_OK);
    assert_int_equal(add_unique(r, "n", "k", wait, &b), ERR_OK);
    assert_true(id_eq(&a.id, &b.id));
    assert_int_equal(add_unique(r, "n", "k", none, &b), ERR_EXISTS);
    assert_int_equal(add_unique(r, "n", "other", replace, &b), ERR_EXISTS);
    assert_int_equal(add_unique(r, "n2", "k", wait, &b), ERR_EXISTS);
    assert_non_null(strstr(r->err.text, "ID and DEBOUNCE exclude"));
    assert_int_equal(add_unique(r, "n2", "k", replace, &b), ERR_EXISTS);
    assert_non_null(strstr(r->err.text, "ID and CONFLICT exclude"));
    /* One without a name gets the new one, and keeps it. */
    assert_int_equal(add_unique(r, "", "free", none, &a), ERR_OK);
    assert_int_equal(add_unique(r, "n2", "free", replace, &b), ERR_OK);
    assert_true(id_eq(&a.id, &b.id));
    rig_restart(r);
    assert_int_equal(add_unique(r, "", "free", replace, &b), ERR_OK);
    assert_int_equal(
        engine_find(r->engine, NULL, SLICE_LIT("n2"), &id, &r->err), ERR_OK);
    assert_true(id_eq(&a.id, &id));
    assert_int_equal(rig_lease(r, "q", 5), 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
}

#define AGAIN 300

static void many_of_one_request_are_not_looked_at_again(void **state)
{
    struct rig *r = *state;
    static struct slice texts[AGAIN];
    static struct add_result first[AGAIN], again[AGAIN];
    static const struct job_options none;
    for (int i = 0; i < AGAIN; i++)
        texts[i] = SLICE_LIT("x");
    struct add_params p = {.queue = SLICE_LIT("q"),
                           .payloads = texts,
                           .n = AGAIN,
                           .idempotency = SLICE_LIT("r"),
                           .options = &none};
    r->generation_bytes = 4096; /* not to be had from memory */
    rig_restart(r);
    assert_int_equal(rig_try_add(r, &p, first), ERR_OK);
    rig_add(r, "other", "x", NULL);
    rig_restart(r);
    mem_knobs(r->disk)->pending_per_1000 = 1000;
    r->fetches = 0;
    assert_int_equal(rig_try_add(r, &p, again), ERR_OK);
    mem_knobs(r->disk)->pending_per_1000 = 0;
    assert_true(r->fetches <= 2);
    for (int i = 0; i < AGAIN; i++)
        assert_true(id_eq(&first[i].id, &again[i].id));
}

/* Replies are filed by day. */
static void
a_clock_that_is_put_back_over_midnight_makes_no_second_job(void **state)
{
    struct rig *r = *state;
    const uint64_t day = 86400000;
    struct add_result first, again;
    r->now.wall_ms = (r->now.wall_ms / day + 1) * day + 1000;
    assert_int_equal(add_idem(r, "x", "k", &first), ERR_OK);
    r->now.wall_ms -= 5000;
    assert_int_equal(add_idem(r, "x", "k", &again), ERR_OK);
    assert_true(id_eq(&first.id, &again.id));
}

#define PARTS 5
#define PART 3
#define ALL ((uint32_t)(PARTS * PART))

/* A call in parts, of which the last `PARTS - parts` are not made any more. */
static enum err add_parts(struct rig *r, const struct slice *texts,
                          unsigned parts, bool known, struct add_result *got)
{
    static const struct job_options none;
    enum err rc = ERR_OK;
    for (uint32_t i = 0; rc == ERR_OK && i < parts; i++) {
        uint32_t before = i * PART, n = 0;
        struct add_params p = {.queue = SLICE_LIT("q"),
                               .payloads = texts + before,
                               .n = PART,
                               .before = before,
                               .first = i > 0 ? got[0].id : (struct id){{0}},
                               .behind = ALL - before - PART,
                               .idempotency = SLICE_LIT("r"),
                               .options = &none};
        while ((rc = engine_added(r->engine, r->gather, &p, r->now, &n,
                                  &r->err)) == ERR_PENDING)
            rig_fetch(r);
        gather_release(r->gather);
        assert_int_equal(rc, known ? ERR_OK : ERR_NOTFOUND);
        assert_int_equal(n, known ? PART : 0);
        rc = rig_try_add(r, &p, got + before);
    }
    return rc;
}

static uint64_t ready_of(struct rig *r)
{
    return rig_queue(r, "q").jobs[JOB_READY];
}

static void a_request_in_parts_goes_on_where_it_was_cut(void **state)
{
    struct rig *r = *state;
    struct slice texts[ALL];
    struct add_result first[ALL], again[ALL];
    for (uint32_t i = 0; i < ALL; i++)
        texts[i] = SLICE_LIT("x");
    assert_int_equal(add_parts(r, texts, 2, false, first), ERR_OK);
    rig_restart(r);
    assert_int_equal(add_parts(r, texts, 2, true, again), ERR_OK);
    for (uint32_t i = 0; i < 2 * PART; i++) {
        assert_true(id_eq(&first[i].id, &again[i].id));
        assert_true(again[i].created);
    }
    assert_int_equal(ready_of(r), 2 * PART);

    struct add_params rest = {.queue = SLICE_LIT("q"),
                              .payloads = texts + 2 * PART,
                              .n = ALL - 2 * PART,
                              .before = 2 * PART,
                              .first = first[0].id,
                              .idempotency = SLICE_LIT("r"),
                              .options = &(struct job_options){0}};
    assert_int_equal(rig_try_add(r, &rest, again + 2 * PART), ERR_OK);
    assert_int_equal(ready_of(r), ALL);
    assert_int_equal(rig_try_add(r, &rest, first), ERR_OK);
    assert_int_equal(ready_of(r), ALL);
    assert_true(id_eq(&first[0].id, &again[2 * PART].id));
}

static void a_part_of_another_request_is_refused(void **state)
{
    struct rig *r = *state;
    struct slice texts[ALL];
    struct add_result got[ALL];
    for (uint32_t i = 0; i < ALL; i++)
        texts[i] = SLICE_LIT("x");
    assert_int_equal(add_parts(r, texts, PARTS, false, got), ERR_OK);
    texts[PART + 1] = SLICE_LIT("y");
    assert_int_equal(add_parts(r, texts, PARTS, true, got), ERR_MISMATCH);
    texts[PART + 1] = SLICE_LIT("x");
    assert_int_equal(add_parts(r, texts, PARTS, true, got), ERR_OK);
    assert_int_equal(ready_of(r), ALL);

    /* As many fewer behind. */
    struct add_params p = {.queue = SLICE_LIT("q"),
                           .payloads = texts,
                           .n = PART,
                           .behind = PART,
                           .idempotency = SLICE_LIT("r"),
                           .options = &(struct job_options){0}};
    assert_int_equal(rig_try_add(r, &p, got), ERR_MISMATCH);

    /* All parts are forgotten at once. */
    rig_pass(r, r->config.idempotency_ms);
    assert_int_equal(add_parts(r, texts, PARTS, false, got), ERR_OK);
    assert_int_equal(ready_of(r), 2 * ALL);
}

static void a_request_that_got_another_job_gets_it_again(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(UNIQUE), .unique = SLICE_LIT("k")};
    struct slice text = SLICE_LIT("x");
    struct add_params p = {.queue = SLICE_LIT("q"),
                           .payloads = &text,
                           .n = 1,
                           .idempotency = SLICE_LIT("r1"),
                           .options = &o};
    struct add_result a = add_with(r, "x", &o), b;
    assert_int_equal(rig_try_add(r, &p, &b), ERR_OK);
    assert_false(b.created);
    assert_true(id_eq(&a.id, &b.id));
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(rig_try_add(r, &p, &b), ERR_OK);
    assert_false(b.created);
    assert_true(id_eq(&a.id, &b.id));
}

static void undo(struct rig *r)
{
    engine_lease_undo(r->engine, &r->token[0], 1, r->now);
    rig_step(r);
}

static void an_undone_lease_keeps_the_key_of_a_waiting_job(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(WHILE),
                            .unique_while = WHILE_WAITING};
    struct id id = add_with(r, "x", &o).id;
    assert_int_equal(rig_lease(r, "q", 1), 1);
    undo(r);
    assert_false(add_with(r, "y", &o).created);
    /* Somebody has it by now: it stays theirs, and goes with them. */
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct id other = add_with(r, "z", &o).id;
    undo(r);
    struct id ids[] = {other, id};
    assert_false(id_eq(&ids[0], &ids[1]));
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            rig_manage(r, (struct manage_params){.verb = MANAGE_CANCEL},
                       &ids[i], 1),
            ERR_OK);
    struct add_result again = add_with(r, "again", &o);
    assert_true(again.created);
    /* A retried job has let it go for good. */
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    rig_pass(r, 1000);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    undo(r);
    assert_true(add_with(r, "new", &o).created);
}

/* All that makes it another request. */
/* With the key `k`: a queue and a handler. */
static struct lease_params keyed(const struct slice *names)
{
    return (struct lease_params){.queues = names,
                                 .queues_n = 1,
                                 .handlers = names + 1,
                                 .handlers_n = 1,
                                 .count = 1,
                                 .idempotency = SLICE_LIT("k")};
}

static void refuses_others(struct rig *r, const struct lease_params *p)
{
    struct slice names[] = {SLICE_LIT("other"), p->queues[0], p->handlers[0]};
    struct lease_params others[] = {*p, *p, *p, *p, *p, *p, *p, *p};
    others[0].count++;
    others[1].lease_ms = 1000;
    others[2].session = SLICE_LIT("s");
    others[3].worker = SLICE_LIT("w");
    others[4].handlers_n = 0;
    others[5].queues = names; /* another first one */
    others[6].queues = names;
    others[6].queues_n = 2;
    others[7].queues = names + 1; /* the handler is one more queue */
    others[7].queues_n = 2;
    others[7].handlers_n = 0;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_int_equal(rig_lease_with(r, &others[i]), ERR_MISMATCH);
}

static void a_lease_asked_for_otherwise_is_told_so(void **state)
{
    struct rig *r = *state;
    struct slice names[] = {SLICE_LIT("q"), SLICE_LIT("h")};
    const struct lease_params p = keyed(names);
    struct job_options o = {.given = GIVEN(HANDLER), .handler = names[1]};
    rig_add(r, "q", "x", &o);
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    refuses_others(r, &p);
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
}

struct caller {
    struct waiter waiter; /* first: wake() casts */
    int woken;
};

static void wake(struct waiter *w)
{
    ((struct caller *)w)->woken++;
}

static void a_call_that_waits_keeps_its_key_from_other_requests(void **state)
{
    struct rig *r = *state;
    struct slice names[] = {SLICE_LIT("q"), SLICE_LIT("h")};
    const struct lease_params p = keyed(names);
    struct job_options o = {.given = GIVEN(HANDLER), .handler = names[1]};
    struct caller old = {.waiter.wake = wake}, again = {.waiter.wake = wake};
    assert_int_equal(rig_lease_with(r, &p), ERR_EMPTY);
    assert_true(engine_wait_lease(r->engine, &old.waiter, &p));
    refuses_others(r, &p);
    /* The same one takes its place; it only waits for its time to be over. */
    assert_int_equal(rig_lease_with(r, &p), ERR_EMPTY);
    assert_true(engine_wait_lease(r->engine, &again.waiter, &p));
    refuses_others(r, &p);
    rig_add(r, "q", "x", &o);
    assert_int_equal(old.woken, 0);
    assert_int_equal(again.woken, 1);
    refuses_others(r, &p); /* also before it has looked */
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    engine_unwait(r->engine, &again.waiter);
    char token[64];
    memcpy(token, r->tokens[0], sizeof(token));
    assert_int_equal(rig_lease_with(r, &p), ERR_OK);
    assert_string_equal(token, r->tokens[0]);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    refuses_others(r, &p); /* the old one may still ask */
    engine_unwait(r->engine, &old.waiter);
    struct lease_params other = p;
    other.count = 2;
    rig_add(r, "q", "y", &o);
    assert_int_equal(rig_lease_with(r, &other), ERR_OK);
}

static void a_call_is_in_line_again_when_its_repetition_leaves(void **state)
{
    struct rig *r = *state;
    struct slice q = SLICE_LIT("q");
    struct lease_params p = {.queues = &q, .queues_n = 1, .count = 1};
    struct lease_params keyed = p;
    keyed.idempotency = SLICE_LIT("k");
    struct caller first = {.waiter.wake = wake}, second = first, third = first;
    struct caller behind = first;
    assert_true(engine_wait_lease(r->engine, &first.waiter, &keyed));
    assert_true(engine_wait_lease(r->engine, &behind.waiter, &p));
    assert_true(engine_wait_lease(r->engine, &second.waiter, &keyed));
    assert_true(engine_wait_lease(r->engine, &third.waiter, &keyed));
    /* One leaves from the line, one after it was woken. */
    engine_unwait(r->engine, &third.waiter);
    rig_add(r, "q", "x", NULL);
    assert_int_equal(second.woken, 1);
    engine_unwait(r->engine, &second.waiter);
    assert_int_equal(first.woken, 1);
    assert_int_equal(behind.woken, 0);
    assert_int_equal(engine_check(r->engine, &r->err), ERR_OK);
    assert_int_equal(rig_lease_with(r, &p), ERR_OK); /* who was quicker */
    assert_true(engine_wait_lease(r->engine, &first.waiter, &keyed));
    assert_true(engine_wait_lease(r->engine, &second.waiter, &keyed));
    rig_add(r, "q", "y", NULL);
    assert_int_equal(second.woken, 2);
    assert_int_equal(rig_lease_with(r, &keyed), ERR_OK);
    engine_unwait(r->engine, &second.waiter);
    rig_add(r, "q", "z", NULL);
    assert_int_equal(first.woken, 1); /* the request has its answer */
    assert_int_equal(behind.woken, 1);
    assert_int_equal(engine_check(r->engine, &r->err), ERR_OK);
    engine_unwait(r->engine, &first.waiter);
    engine_unwait(r->engine, &behind.waiter);
}

static void words_that_collide_are_named(void **state)
{
    struct rig *r = *state;
    struct slice text = slice_str("x");
    struct job_options o = {.given = GIVEN(DELAY) | GIVEN(AT)};
    struct add_params p = {
        .queue = slice_str("q"), .payloads = &text, .n = 1, .options = &o};
    struct add_result result;
    assert_int_equal(rig_try_add(r, &p, &result), ERR_SYNTAX);
    assert_string_equal(r->err.text, "DELAY and AT exclude each other");
    o.given = GIVEN(WHILE);
    assert_int_equal(rig_try_add(r, &p, &result), ERR_SYNTAX);
    assert_string_equal(r->err.text, "WHILE needs UNIQUE");
    o = (struct job_options){.given = GIVEN(TIMEOUT) | GIVEN(DEADLINE),
                             .timeout_ms = 2000,
                             .deadline_ms = 1000};
    assert_int_equal(rig_try_add(r, &p, &result), ERR_SYNTAX);
    assert_non_null(strstr(r->err.text, "TIMEOUT and DEADLINE exclude"));
    o = (struct job_options){.given = GIVEN(RETRIES) | GIVEN(JITTER)};
    assert_int_equal(rig_try_add(r, &p, &result), ERR_SYNTAX);
    assert_non_null(strstr(r->err.text, "RETRIES 0 and JITTER exclude"));
    p.queue = SLICE_EMPTY;
    assert_int_equal(rig_try_add(r, &p, &result), ERR_SYNTAX);
    p.queue = slice_of("a\0b", 3);
    assert_int_equal(rig_try_add(r, &p, &result), ERR_SYNTAX);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_clock_that_is_put_back_over_midnight_makes_no_second_job),
        TEST(a_unique_key_returns_the_job_that_has_it),
        TEST(a_key_of_waiting_jobs_is_let_go_at_the_first_lease),
        TEST(a_key_with_a_time_outlives_its_job),
        TEST(a_key_with_a_time_is_not_replaced_when_its_job_has_ended),
        TEST(a_job_whose_key_had_a_time_is_retried_beside_the_next),
        TEST(a_conflict_may_be_refused),
        TEST(a_waiting_job_is_replaced_and_keeps_its_id),
        TEST(a_debounced_job_starts_after_the_last_of_them),
        TEST(keys_of_queues_do_not_meet),
        TEST(the_same_request_again_makes_no_second_job),
        TEST(a_lease_asked_for_again_gives_the_same_leases),
        TEST(an_undone_lease_is_not_shared_by_asking_again),
        TEST(a_name_finds_its_job_while_it_lives_and_is_kept),
        TEST(an_effect_is_claimed_once_per_job),
        TEST(a_replaced_job_is_new_work_with_effects_of_its_own),
        TEST(a_replaced_job_stays_held),
        TEST(a_name_may_be_that_of_the_job_that_is_replaced),
        TEST(many_of_one_request_are_not_looked_at_again),
        TEST(a_request_in_parts_goes_on_where_it_was_cut),
        TEST(a_part_of_another_request_is_refused),
        TEST(a_request_that_got_another_job_gets_it_again),
        TEST(an_undone_lease_keeps_the_key_of_a_waiting_job),
        TEST(a_lease_asked_for_otherwise_is_told_so),
        TEST(a_call_that_waits_keeps_its_key_from_other_requests),
        TEST(a_call_is_in_line_again_when_its_repetition_leaves),
        TEST(many_of_one_request_are_not_looked_at_again),
        TEST(words_that_collide_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
