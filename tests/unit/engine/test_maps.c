/* Every map of the engine stays quick, whatever its members have in common. */
#include "rig.h"

#include <stdio.h>

#include "engine/core.h"

#define MANY 3000
#define CHAIN_MAX 16 /* of a few thousand members that lie where they like */

static uint32_t chain_in(const struct map_table *t)
{
    uint32_t longest = 0;
    for (size_t i = 0; t->buckets != NULL && i <= t->mask; i++) {
        uint32_t n = 0;
        for (const struct map_node *m = t->buckets[i]; m != NULL; m = m->next)
            n++;
        longest = n > longest ? n : longest;
    }
    return longest;
}

static void look_at(const char *name, const struct map *m)
{
    uint32_t now = chain_in(&m->now), old = chain_in(&m->old);
    if (now > CHAIN_MAX || old > CHAIN_MAX)
        fail_msg("%s: of %zu members %u lie in one place", name, m->len,
                 now > old ? now : old);
}

#define LOOK_AT(r, map) look_at(#map, &(r)->engine->map)

static void look_at_all(struct rig *r)
{
    LOOK_AT(r, queues_by_name);
    LOOK_AT(r, handlers_by_name);
    LOOK_AT(r, owners_by_name);
    LOOK_AT(r, lanes_by_what);
    LOOK_AT(r, shares_by_what);
    LOOK_AT(r, strands_by_what);
    LOOK_AT(r, parts_by_what);
    LOOK_AT(r, limits_by_name);
    LOOK_AT(r, parked_by_what);
    LOOK_AT(r, jobs);
    LOOK_AT(r, sessions);
    LOOK_AT(r, workers);
    LOOK_AT(r, clients);
    LOOK_AT(r, done_counts);
    LOOK_AT(r, job_waits);
}

static int quick_setup(void **state)
{
    int rc = rig_setup(state);
    ((struct rig *)*state)->check = false; /* a recount for each job */
    return rc;
}

static const char *number(char *to, size_t size, char kind, uint32_t i)
{
    (void)snprintf(to, size, "%c%u", kind, i);
    return to;
}

static void many_queues_of_their_own_handlers(void **state)
{
    struct rig *r = *state;
    char name[16];
    for (uint32_t i = 0; i < MANY; i++)
        rig_add(r, number(name, sizeof(name), 'q', i), "x", NULL);
    assert_true(r->engine->shares_by_what.len >= MANY);
    look_at_all(r);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(rig_lease(r, number(name, sizeof(name), 'q', i), 1),
                         1);
        assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    }
    assert_true(r->engine->done_counts.len >= MANY);
    look_at_all(r);
}

static void many_queues_of_one_handler(void **state)
{
    struct rig *r = *state;
    char name[16];
    const struct job_options o = {.given = GIVEN(HANDLER),
                                  .handler = SLICE_LIT("h")};
    for (uint32_t i = 0; i < MANY; i++)
        rig_add(r, number(name, sizeof(name), 'q', i), "x", &o);
    assert_true(r->engine->strands_by_what.len >= MANY);
    look_at_all(r);
}

static void many_owners_parked_under_one_limit(void **state)
{
    struct rig *r = *state;
    char name[16];
    struct limit_rule one = {.has_concurrency = true, .concurrency = 1};
    struct queue_settings fair = {.has_fair = true, .fair = true};
    assert_int_equal(
        engine_limit_set(r->engine, SLICE_LIT("db"), &one, r->now, &r->err),
        ERR_OK);
    assert_int_equal(
        engine_queue_set(r->engine, SLICE_LIT("q"), &fair, r->now, &r->err),
        ERR_OK);
    for (uint32_t i = 0; i < MANY; i++) {
        struct job_options o = {.given = GIVEN(OWNER) | GIVEN(LIMIT),
                                .limits_n = 1};
        o.owner = slice_str(number(name, sizeof(name), 'o', i));
        o.limits[0] = SLICE_LIT("db");
        rig_add(r, "q", "x", &o);
    }
    for (uint32_t i = 0; i < MANY; i++)
        (void)rig_lease(r, "q", 1);
    assert_true(r->engine->parts_by_what.len >= MANY);
    assert_true(r->engine->parked_by_what.len >= MANY / 2);
    look_at_all(r);
}

static void many_sessions_and_their_clients(void **state)
{
    struct rig *r = *state;
    char name[16];
    for (uint32_t i = 0; i < MANY; i++)
        engine_session_attach(
            r->engine, slice_str(number(name, sizeof(name), 's', i)), i + 1);
    assert_true(r->engine->clients.len >= MANY);
    look_at_all(r);
    /* One client of all sessions, one session of all clients, all of it twice:
     * nobody is tied twice, and nothing is left when they have gone. */
    for (uint32_t n = 0; n < 2 * MANY; n++) {
        uint32_t i = n % MANY;
        struct slice s = slice_str(number(name, sizeof(name), 's', i));
        engine_session_attach(r->engine, s, 1);
        engine_session_attach(r->engine, SLICE_LIT("s0"), i + 1);
        engine_session_attach(r->engine, s, i + 1);
    }
    struct slice s0 = SLICE_LIT("s0");
    const struct session *all =
        CONTAINER_OF(map_get(&r->engine->sessions, hash64(s0), &s0),
                     struct session, by_name);
    assert_int_equal(all->clients_n, MANY);
    uint32_t ties = 0;
    LIST_FOR (it, &all->ties)
        ties++;
    assert_int_equal(ties, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        engine_client_gone(r->engine, i + 1, r->now);
    assert_int_equal(r->engine->clients.len, 0);
    assert_int_equal(r->engine->sessions.len, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, quick_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        TEST(many_queues_of_their_own_handlers),
        TEST(many_queues_of_one_handler),
        TEST(many_owners_parked_under_one_limit),
        TEST(many_sessions_and_their_clients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
