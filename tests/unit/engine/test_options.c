/* Words that collide, said together or one after the other: of every pair it
 * must come out the same, by ADD, by ADD and UPDATE and by two HANDLER.SET. */
#include "rig.h"

#include <stdio.h>
#include <string.h>

#include "engine/handlers.h"

#define SECOND_MS ((uint64_t)1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS (60 * MINUTE_MS)
#define UNIQUE_KEY .unique = SLICE_LIT("u")

/* None is what the server does anyway. */
static const struct job_options words[] = {
    {.given = GIVEN(DELAY), .delay_ms = 20 * SECOND_MS},
    {.given = GIVEN(DELAY), .delay_ms = 2 * HOUR_MS},
    {.given = GIVEN(AT), .at_ms = (uint64_t)4000000 * 1000 * 1000},
    {.given = GIVEN(AT), .at_ms = 1},
    {.given = GIVEN(PRIORITY), .priority = 7},
    {.given = GIVEN(RETRIES), .retries = 0},
    {.given = GIVEN(RETRIES), .retries = 5},
    {.given = GIVEN(BACKOFF), .backoff = BACKOFF_LINEAR},
    {.given = GIVEN(BACKOFF), .backoff = BACKOFF_FIXED},
    {.given = GIVEN(BACKOFF), .backoff = BACKOFF_NONE},
    {.given = GIVEN(BASE), .base_ms = 5 * SECOND_MS},
    {.given = GIVEN(BASE), .base_ms = 2 * HOUR_MS},
    {.given = GIVEN(FACTOR), .factor = 3},
    {.given = GIVEN(CAP), .cap_ms = 5 * SECOND_MS},
    {.given = GIVEN(CAP), .cap_ms = 4999},
    {.given = GIVEN(JITTER), .jitter = 5},
    {.given = GIVEN(TIMEOUT), .timeout_ms = 30 * SECOND_MS},
    {.given = GIVEN(TIMEOUT), .timeout_ms = HOUR_MS},
    {.given = GIVEN(EXPECT), .expect_ms = 30 * SECOND_MS},
    {.given = GIVEN(EXPECT), .expect_ms = 2 * HOUR_MS},
    {.given = GIVEN(EXPIRES), .expires_ms = 20 * SECOND_MS},
    {.given = GIVEN(EXPIRES), .expires_ms = HOUR_MS},
    {.given = GIVEN(DEADLINE), .deadline_ms = 10 * SECOND_MS},
    {.given = GIVEN(DEADLINE), .deadline_ms = HOUR_MS},
    {.given = GIVEN(UNIQUE) | GIVEN(WHILE),
     UNIQUE_KEY,
     .unique_while = WHILE_WAITING},
    {.given = GIVEN(UNIQUE) | GIVEN(FOR), UNIQUE_KEY, .for_ms = HOUR_MS},
    {.given = GIVEN(UNIQUE) | GIVEN(DEBOUNCE),
     UNIQUE_KEY,
     .debounce_ms = MINUTE_MS},
    {.given = GIVEN(UNIQUE) | GIVEN(CONFLICT),
     UNIQUE_KEY,
     .conflict = CONFLICT_REJECT},
};
enum { WORDS = sizeof(words) / sizeof(words[0]) };

static unsigned queues;

/* To a queue of its own, where no unique key is taken. */
static enum err add(struct rig *r, const struct job_options *o, struct id *id)
{
    char name[16];
    struct slice text = slice_str("x");
    struct add_result result = {0};
    (void)snprintf(name, sizeof(name), "q%u", ++queues);
    struct add_params p = {
        .queue = slice_str(name), .payloads = &text, .n = 1, .options = o};
    enum err rc = rig_try_add(r, &p, &result);
    *id = result.id;
    return rc;
}

static enum err set(struct rig *r, const struct job_options *o, bool clear)
{
    struct handler_params p = {.options = o, .clear = clear};
    enum err rc =
        engine_handler_set(r->engine, slice_str("h"), &p, r->now, &r->err);
    rig_step(r);
    return rc;
}

static void assert_same(struct rig *r, struct id a, struct id b)
{
    struct job_view x = rig_view(r, a), y = rig_view(r, b);
    assert_int_equal(x.state, y.state);
    assert_int_equal(x.priority, y.priority);
    assert_int_equal(x.retries, y.retries);
    assert_int_equal(x.backoff, y.backoff);
    assert_int_equal(x.base_ms, y.base_ms);
    assert_true(x.factor == y.factor);
    assert_int_equal(x.cap_ms, y.cap_ms);
    assert_int_equal(x.jitter, y.jitter);
    assert_int_equal(x.timeout_ms, y.timeout_ms);
    assert_int_equal(x.expect_ms, y.expect_ms);
    assert_int_equal(x.expires_at_ms, y.expires_at_ms);
    assert_int_equal(x.deadline_at_ms, y.deadline_at_ms);
    assert_int_equal(x.unique_while, y.unique_while);
    assert_int_equal(x.for_ms, y.for_ms);
}

static const char *name_of(const struct job_options *o)
{
    uint64_t given = o->given & ~GIVEN(UNIQUE);
    return job_option_name((enum job_option)__builtin_ctzll(given));
}

/* As ADD answered for both; a refusal names both. */
static void assert_as(const struct rig *r, enum err rc, enum err together,
                      const struct job_options *a, const struct job_options *b)
{
    if (rc != together)
        fail_msg("%s, then %s: %s, together: %s", name_of(a), name_of(b),
                 rc == ERR_OK ? "ok" : r->err.text, err_name(together));
    if (rc == ERR_OK)
        return;
    /* A time that stands already is one, however it was said. */
    assert_true(strstr(r->err.text, name_of(a)) != NULL ||
                ((a->given & GIVEN(DELAY)) != 0 &&
                 strncmp(r->err.text, "AT and ", 7) == 0));
    assert_non_null(strstr(r->err.text, name_of(b)));
    assert_non_null(strstr(r->err.text, " exclude each other"));
}

static void a_pair_said_in_steps_is_judged_as_if_said_together(void **state)
{
    struct rig *r = *state;
    const uint64_t start = GIVEN(DELAY) | GIVEN(AT);
    const uint64_t fixed =
        GIVEN(UNIQUE) | GIVEN(WHILE) | GIVEN(FOR) | GIVEN(DEBOUNCE);
    unsigned refused = 0;
    for (unsigned i = 0; i < WORDS; i++)
        for (unsigned k = 0; k < WORDS; k++) {
            const struct job_options *a = &words[i], *b = &words[k];
            struct job_options both = *a;
            struct id one, other;
            if ((a->given & b->given & ~GIVEN(UNIQUE)) != 0)
                continue;
            options_inherit(&both, b);
            enum err together = add(r, &both, &one);
            assert_as(r, together, together, a, b);
            refused += together != ERR_OK;
            /* A start replaces the start that it had. */
            if (((a->given | b->given) & fixed) == 0 &&
                ((a->given & start) == 0 || (b->given & start) == 0)) {
                assert_int_equal(add(r, a, &other), ERR_OK);
                assert_as(r, rig_update(r, other, b, NULL), together, a, b);
                if (together == ERR_OK)
                    assert_same(r, one, other);
            }
            if (((a->given | b->given) & GIVEN(AT)) != 0)
                continue;
            assert_int_equal(set(r, a, true), ERR_OK);
            assert_as(r, set(r, b, false), together, a, b);
        }
    assert_true(refused > 100);
}

#define STARTS (GIVEN(DELAY) | GIVEN(AT) | GIVEN(DEBOUNCE))
#define ENDS (GIVEN(EXPIRES) | GIVEN(DEADLINE))

/* Does the default say how long at most, or how often, so that the job's word
 * has no effect? */
static bool is_bound(const struct job_options *def,
                     const struct job_options *own)
{
    return (def->given & (GIVEN(RETRIES) | GIVEN(DEADLINE))) != 0 ||
           ((def->given & GIVEN(TIMEOUT)) != 0 &&
            (own->given & GIVEN(EXPECT)) != 0);
}

static void of_a_word_and_a_default_that_collide_one_stays(void **state)
{
    struct rig *r = *state;
    unsigned bounds = 0, late = 0;
    for (unsigned i = 0; i < WORDS; i++)
        for (unsigned k = 0; k < WORDS; k++) {
            const struct job_options *def = &words[i], *stays = &words[k];
            struct job_options own = words[k], both = words[k];
            struct id one, other;
            if ((def->given & (own.given | GIVEN(AT)) & ~GIVEN(UNIQUE)) != 0)
                continue;
            options_inherit(&both, def);
            bool collide = add(r, &both, &one) != ERR_OK;
            bool never = collide && (def->given & ENDS) != 0 &&
                         (own.given & STARTS) != 0;
            if (collide && is_bound(def, &own))
                stays = def;
            if (collide)
                assert_int_equal(add(r, stays, &one), ERR_OK);
            bounds += stays == def;
            late += never;
            assert_int_equal(set(r, def, true), ERR_OK);
            own.given |= GIVEN(HANDLER);
            own.handler = slice_str("h");
            enum err rc = add(r, &own, &other);
            assert_as(r, rc, never ? ERR_SYNTAX : ERR_OK, &words[k], def);
            if (rc == ERR_OK)
                assert_same(r, one, other);
        }
    assert_true(bounds > 5 && late > 5);
}

/* An EXPECT beyond the handler's TIMEOUT is left out, with what needs it. */
static void a_word_that_has_no_effect_takes_its_sla_along(void **state)
{
    struct rig *r = *state;
    const struct job_options limit = {.given = GIVEN(TIMEOUT),
                                      .timeout_ms = MINUTE_MS};
    struct job_options own = {.given =
                                  GIVEN(HANDLER) | GIVEN(EXPECT) | GIVEN(SLA),
                              .handler = SLICE_LIT("h"),
                              .expect_ms = HOUR_MS,
                              .sla = SLA_STRICT};
    struct id id;
    assert_int_equal(set(r, &limit, true), ERR_OK);
    assert_int_equal(add(r, &own, &id), ERR_OK);
    assert_int_equal(rig_view(r, id).timeout_ms, MINUTE_MS);
    assert_int_equal(rig_view(r, id).expect_ms, 0);
}

/* Such settings may stand in the rows of an earlier version. */
static void of_defaults_that_collide_one_is_left_out(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(PRIORITY), .priority = 7};
    const struct job_options defaults = {.given = GIVEN(BACKOFF) | GIVEN(BASE) |
                                                  GIVEN(CAP),
                                         .backoff = BACKOFF_NONE,
                                         .base_ms = 5000,
                                         .cap_ms = 9000};
    options_apply(&o, &defaults, r->now);
    assert_int_equal(o.given, GIVEN(PRIORITY) | GIVEN(BACKOFF));
    assert_int_equal(o.base_ms, 0);
    assert_int_equal(o.cap_ms, 0);
}

static void a_word_is_taken_back_by_its_default(void **state)
{
    struct rig *r = *state;
    struct job_options o = {
        .given = GIVEN(BASE) | GIVEN(CAP), .base_ms = 5000, .cap_ms = 5000};
    struct job_options none = {.given = GIVEN(BACKOFF),
                               .backoff = BACKOFF_NONE};
    struct id id;
    assert_int_equal(add(r, &o, &id), ERR_OK);
    assert_int_equal(rig_update(r, id, &none, NULL), ERR_SYNTAX);
    assert_string_equal(r->err.text,
                        "BACKOFF none and BASE exclude each other: it runs "
                        "again at once (BASE stands already)");
    o.base_ms = r->config.base_ms;
    o.cap_ms = r->config.cap_ms;
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_OK);
    assert_int_equal(rig_update(r, id, &none, NULL), ERR_OK);
    assert_int_equal(rig_view(r, id).backoff, BACKOFF_NONE);
}

/* A CAP that only followed a long BASE goes back with it. */
static void nobody_said_a_cap_that_follows_the_base(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(BASE),
                            .base_ms = 2 * r->config.cap_ms};
    struct id id;
    assert_int_equal(add(r, &o, &id), ERR_OK);
    assert_int_equal(rig_view(r, id).cap_ms, o.base_ms);
    o.base_ms = 5000;
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_OK);
    assert_int_equal(rig_view(r, id).cap_ms, r->config.cap_ms);
    o.given = GIVEN(CAP);
    o.cap_ms = 5000;
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_OK);
    o.given = GIVEN(BASE);
    o.base_ms = 5001;
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_SYNTAX);
    assert_non_null(strstr(r->err.text, "BASE and CAP exclude each other"));
}

static void a_change_is_judged_by_the_time_that_is_left(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(TIMEOUT) | GIVEN(DEADLINE),
                            .timeout_ms = 50 * MINUTE_MS,
                            .deadline_ms = HOUR_MS};
    struct job_options more = {.given = GIVEN(PRIORITY), .priority = 7};
    struct id id;
    assert_int_equal(add(r, &o, &id), ERR_OK);
    rig_pass(r, 30 * MINUTE_MS);
    assert_int_equal(rig_update(r, id, &more, NULL), ERR_OK);
    o.given = GIVEN(TIMEOUT);
    o.timeout_ms = 30 * MINUTE_MS + 1;
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_SYNTAX);
    assert_non_null(strstr(r->err.text, "TIMEOUT and DEADLINE exclude"));
    o.timeout_ms--;
    assert_int_equal(rig_update(r, id, &o, NULL), ERR_OK);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_pair_said_in_steps_is_judged_as_if_said_together),
        T(of_a_word_and_a_default_that_collide_one_stays),
        T(a_word_that_has_no_effect_takes_its_sla_along),
        T(of_defaults_that_collide_one_is_left_out),
        T(a_word_is_taken_back_by_its_default),
        T(nobody_said_a_cap_that_follows_the_base),
        T(a_change_is_judged_by_the_time_that_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
