/* engine_check() finds what hangs from nothing. */
#include "rig.h"

#include <string.h>

#include "engine/core.h"
#include "engine/workers.h"

static const char *verdict(struct rig *r)
{
    engine_commit(r->engine, r->now);
    store_poll(r->store, r->now);
    return engine_check(r->engine, &r->err) == ERR_OK ? "" : r->err.text;
}

/* A row appears behind the engine's back, is told of, and goes. */
static void planted(struct rig *r, enum family f, struct slice key,
                    struct slice value, const char *what)
{
    assert_string_equal(verdict(r), "");
    memcpy(store_put(r->store, f, key, value.len, false), value.data,
           value.len);
    const char *told = verdict(r);
    if (strstr(told, what) == NULL)
        fail_msg("wanted \"%s\", got \"%s\"", what, told);
    store_del(r->store, f, key);
    assert_string_equal(verdict(r), "");
}

static struct slice mark(char *to)
{
    struct rec_mark m = {0};
    rec_mark_encode(&m, to);
    return slice_of(to, rec_mark_size(&m));
}

static void keys_that_no_job_has_are_found(void **state)
{
    struct rig *r = *state;
    struct key k;
    char bytes[64], effect[ID_LEN + 1];
    struct id id = rig_add(r, "q", "x", NULL).id;
    struct rec_alias a = {id};
    struct rec_unique u = {id, 0};
    rec_alias_encode(&a, bytes);
    planted(r, FAMILY_KEYS, key_key(&k, KEY_ALIAS, slice_str("name")),
            slice_of(bytes, rec_alias_size(&a)), "a name without its job");
    rec_unique_encode(&u, bytes);
    struct slice unique = unique_key(&k, SCOPE_GLOBAL, NULL, slice_str("u"));
    planted(r, FAMILY_KEYS, unique, slice_of(bytes, rec_unique_size(&u)),
            "a unique key without its job");
    u.until_ms = r->now.wall_ms + 1000;
    rec_unique_encode(&u, bytes);
    planted(r, FAMILY_KEYS, unique, slice_of(bytes, rec_unique_size(&u)),
            "a unique key that nobody will forget");
    memcpy(effect, id.bytes, ID_LEN);
    effect[ID_LEN] = 'e';
    planted(r, FAMILY_KEYS,
            key_key(&k, KEY_EFFECT, slice_of(effect, sizeof(effect))),
            mark(bytes), "an effect without its job");
}

/* It does not stand in the way of the others, and is leased with another. */
static void a_job_whose_payload_is_lost_is_held(void **state)
{
    struct rig *r = *state;
    static char payload[BODY_INLINE_MAX + 2];
    struct manage_params unhold = {.verb = MANAGE_UNHOLD};
    struct job_options none = {.given = 0};
    struct job_view v;
    enum job_state is;
    char text[ID_TEXT_LEN];
    struct key k;
    r->check = false; /* rows are lost for a while */
    memset(payload, 'x', sizeof(payload) - 1);
    struct id id = rig_add(r, "q", payload, NULL).id;
    rig_add(r, "q", "y", NULL);
    assert_string_equal(verdict(r), "");
    store_del(r->store, FAMILY_BODIES, key_body(&k, &id, BODY_PAYLOAD, 0));
    assert_non_null(strstr(verdict(r), "is missing: the payload of job"));
    assert_int_equal(rig_lease(r, "q", 2), 1);
    assert_string_equal(r->payload, "y");
    id_text(&id, text);
    struct slice ref = slice_of(text, ID_TEXT_LEN);
    assert_int_equal(engine_state(r->engine, NULL, ref, r->now, &is, &r->err),
                     ERR_OK);
    assert_int_equal(is, JOB_HELD);
    assert_int_equal(engine_get(r->engine, NULL, ref, r->now, &v, &r->err),
                     ERR_CORRUPT);
    assert_int_equal(r->events[EVENT_ENGINE_FAULT], 1);
    assert_int_equal(rig_update(r, id, &none, "z"), ERR_OK);
    assert_int_equal(rig_manage(r, unhold, &id, 1), ERR_OK);
    assert_string_equal(verdict(r), "");
    assert_int_equal(rig_lease(r, "q", 2), 1);
    assert_string_equal(r->payload, "z");
}

static void keys_that_a_job_lost_are_found(void **state)
{
    struct rig *r = *state;
    struct key k;
    struct job_options o = {.given = GIVEN(UNIQUE) | GIVEN(SCOPE),
                            .unique = slice_str("u"),
                            .scope = SCOPE_GLOBAL};
    struct add_result result = rig_add_named(r, "name", &o);
    store_del(r->store, FAMILY_KEYS, key_key(&k, KEY_ALIAS, slice_str("name")));
    assert_non_null(strstr(verdict(r), "a job whose name does not find it"));
    alias_put(r->engine, slice_str("name"), &result.id);
    assert_string_equal(verdict(r), "");
    store_del(r->store, FAMILY_KEYS,
              unique_key(&k, SCOPE_GLOBAL, NULL, slice_str("u")));
    assert_non_null(strstr(verdict(r), "does not have its unique key"));
}

static void times_that_nothing_waits_for_are_found(void **state)
{
    struct rig *r = *state;
    struct id id = rig_add(r, "q", "x", NULL).id;
    static const enum due_kind kinds[] = {DUE_READY,  DUE_EXPIRES, DUE_DEADLINE,
                                          DUE_CANCEL, DUE_UNIQUE,  DUE_BREAKER};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        bool job = kinds[i] != DUE_UNIQUE && kinds[i] != DUE_BREAKER;
        struct rec_due d = {0};
        struct key k;
        char bytes[64];
        rec_due_encode(&d, bytes);
        planted(r, FAMILY_DUE,
                key_due(&k, r->now.wall_ms + 3600 * 1000, (uint8_t)kinds[i],
                        id_slice(&id)),
                slice_of(bytes, rec_due_size(&d)),
                job                       ? "its job does not know"
                : kinds[i] == DUE_BREAKER ? "no breaker waits for"
                                          : "the end of no unique key");
    }
}

static void slots_that_no_job_reserved_are_found(void **state)
{
    struct rig *r = *state;
    struct limit_rule s = {.has_concurrency = true, .concurrency = 5};
    assert_int_equal(
        engine_limit_set(r->engine, slice_str("api"), &s, r->now, &r->err),
        ERR_OK);
    struct job_options o = {.given = GIVEN(LIMIT), .limits_n = 1};
    o.limits[0] = slice_str("api");
    rig_add(r, "q", "x", &o);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct limit *l = limit_find(r->engine, slice_str("api"));
    l->reserved++;
    assert_non_null(strstr(verdict(r), "counts 1 reserved slots, not 0"));
    l->reserved--;
    assert_string_equal(verdict(r), "");
}

static void sessions_of_no_worker_are_found(void **state)
{
    struct rig *r = *state;
    struct worker_view v;
    struct beat_params p = {.name = SLICE_LIT("w"), .session = SLICE_LIT("s")};
    assert_int_equal(engine_worker_beat(r->engine, &p, r->now, &v, &r->err),
                     ERR_OK);
    assert_string_equal(verdict(r), "");
    struct worker *w = worker_make(r->engine, p.name);
    w->has_session = false;
    assert_non_null(strstr(verdict(r), "a worker that does not have it"));
    w->has_session = true;
    w->registered = false;
    assert_non_null(strstr(verdict(r), "a session that is not its own"));
    w->registered = true;
    assert_string_equal(verdict(r), "");
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(keys_that_no_job_has_are_found),
        T(keys_that_a_job_lost_are_found),
        T(a_job_whose_payload_is_lost_is_held),
        T(times_that_nothing_waits_for_are_found),
        T(slots_that_no_job_reserved_are_found),
        T(sessions_of_no_worker_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
