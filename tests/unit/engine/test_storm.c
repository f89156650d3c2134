/* Random operations on tiny windows, with reads that miss and restarts in
 * between; every step recounts all rows. What each token may still do is kept
 * beside, as a small model. */
#include "rig.h"
#include "util/rng.h"

#include <stdlib.h>

#define HELD_MAX 200
#define STEPS 1500
#define KNOWN_MAX 400

struct held {
    char token[64];
    size_t len;
    struct id id;
};

struct storm {
    struct rig *r;
    struct rng rng;
    struct held held[HELD_MAX];
    uint32_t n;
    struct id known[KNOWN_MAX]; /* jobs that were added, the last ones */
    uint32_t known_n;
    uint64_t added, revived, erased;
};

static const char *const queues[] = {"a", "b", "c"};

static uint64_t below(struct storm *s, uint64_t n)
{
    return rng_below(&s->rng, n);
}

static void storm_add(struct storm *s)
{
    struct job_options o = {0};
    char payload[1500];
    memset(payload, 'x', sizeof(payload));
    payload[below(s, 20) == 0 ? sizeof(payload) - 1 : below(s, 100)] = '\0';
    if (below(s, 3) == 0) {
        o.given |= GIVEN(DELAY);
        o.delay_ms = below(s, 5000);
    }
    if (below(s, 2) == 0) {
        o.given |= GIVEN(PRIORITY);
        o.priority = (uint32_t)below(s, 1001);
    }
    if (below(s, 4) == 0) {
        o.given |= GIVEN(HANDLER);
        o.handler = slice_str(below(s, 2) == 0 ? "h1" : "h2");
    }
    if (below(s, 4) == 0) {
        o.given |= GIVEN(KEEP);
        o.keep_ms = below(s, 2) == 0 ? 0 : 3600000;
    }
    if (below(s, 8) == 0) {
        o.given |= GIVEN(EXPIRES);
        o.expires_ms = 1 + below(s, 8000);
    }
    if (below(s, 8) == 0) {
        o.given |= GIVEN(DEADLINE);
        o.deadline_ms = 1 + below(s, 60000);
    }
    if (below(s, 8) == 0) {
        o.given |= GIVEN(TIMEOUT);
        o.timeout_ms = 1 + below(s, 4000);
        if (o.timeout_ms > o.deadline_ms && o.deadline_ms > 0)
            o.timeout_ms = o.deadline_ms;
    }
    if (below(s, 5) == 0) {
        o.given |= GIVEN(UNIQUE);
        o.unique = slice_str(below(s, 2) == 0 ? "u1" : "u2");
        switch (below(s, 5)) {
        case 0:
            o.given |= GIVEN(WHILE);
            o.unique_while = WHILE_WAITING;
            break;
        case 1:
            o.given |= GIVEN(FOR);
            o.for_ms = 1 + below(s, 20000);
            break;
        case 2:
            o.given |= GIVEN(CONFLICT);
            o.conflict = CONFLICT_REPLACE;
            break;
        case 3:
            o.given = (o.given | GIVEN(DEBOUNCE)) & ~GIVEN(DELAY);
            o.debounce_ms = 1 + below(s, 3000);
            break;
        default:
            break;
        }
    }
    /* It must not expire before it may start. */
    uint64_t start_ms = (o.given & GIVEN(DEBOUNCE)) != 0 ? o.debounce_ms
                        : (o.given & GIVEN(DELAY)) != 0  ? o.delay_ms
                                                         : 0;
    o.expires_ms += start_ms;
    o.deadline_ms += start_ms;
    if ((o.given & GIVEN(EXPIRES)) != 0 && o.expires_ms > o.deadline_ms)
        o.deadline_ms = o.expires_ms;
    struct slice text = slice_str(payload);
    struct add_params p = {.queue = slice_str(queues[below(s, 3)]),
                           .payloads = &text,
                           .n = 1,
                           .options = &o};
    struct add_result result;
    enum err rc = rig_try_add(s->r, &p, &result);
    if (rc != ERR_OK && rc != ERR_STATE)
        fail_msg("add: %s", s->r->err.text);
    s->added += rc == ERR_OK && result.created;
    if (rc == ERR_OK)
        s->known[s->known_n++ % KNOWN_MAX] = result.id;
}

/* A verb from outside, for some job, whatever became of it. */
static void storm_manage(struct storm *s)
{
    if (s->known_n == 0)
        return;
    uint32_t n = s->known_n < KNOWN_MAX ? s->known_n : KNOWN_MAX;
    struct id ids[3];
    uint32_t count = 1 + (uint32_t)below(s, 3);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = s->known[below(s, n)];
    struct manage_params p = {.verb = (enum manage_verb)(1 + below(s, 6)),
                              .has_force = below(s, 2) == 0,
                              .force_ms =
                                  below(s, 2) == 0 ? 0 : below(s, 3000)};
    enum job_state was[3];
    for (uint32_t i = 0; i < count; i++)
        was[i] = rig_state(s->r, ids[i]);
    rig_manage(s->r, p, ids, count);
    for (uint32_t i = 0; i < count; i++) {
        enum err rc = s->r->verdicts[i];
        bool over = was[i] >= JOB_COMPLETED;
        assert_true(rc == ERR_OK || rc == ERR_STATE || rc == ERR_FINISHED ||
                    rc == ERR_NOTFOUND || rc == ERR_EXISTS);
        if (rc != ERR_OK)
            continue;
        s->revived += p.verb == MANAGE_RETRY;
        s->erased += p.verb == MANAGE_DELETE && over;
    }
}

static void storm_update(struct storm *s)
{
    struct job_options o = {0};
    char payload[1500];
    if (s->known_n == 0)
        return;
    uint32_t n = s->known_n < KNOWN_MAX ? s->known_n : KNOWN_MAX;
    memset(payload, 'y', sizeof(payload));
    payload[below(s, 3) == 0 ? sizeof(payload) - 1 : below(s, 100)] = '\0';
    if (below(s, 2) == 0) {
        o.given |= GIVEN(DELAY);
        o.delay_ms = below(s, 3000);
    }
    if (below(s, 2) == 0) {
        o.given |= GIVEN(PRIORITY);
        o.priority = (uint32_t)below(s, 1001);
    }
    if (below(s, 3) == 0) {
        o.given |= GIVEN(HANDLER);
        o.handler = slice_str(below(s, 2) == 0 ? "h1" : "h3");
    }
    if (below(s, 4) == 0) {
        o.given |= GIVEN(EXPIRES) | GIVEN(DEADLINE);
        o.expires_ms = o.deadline_ms = o.delay_ms + 1 + below(s, 20000);
    }
    enum err rc = rig_update(s->r, s->known[below(s, n)], &o,
                             below(s, 3) == 0 || o.given == 0 ? payload : NULL);
    /* ERR_SYNTAX: it would expire before it may start. */
    assert_true(rc == ERR_OK || rc == ERR_STATE || rc == ERR_FINISHED ||
                rc == ERR_NOTFOUND || rc == ERR_SYNTAX);
}

static void storm_lease(struct storm *s)
{
    uint32_t n =
        rig_lease(s->r, queues[below(s, 3)], 1 + (uint32_t)below(s, 5));
    for (uint32_t i = 0; i < n && s->n < HELD_MAX; i++) {
        struct held *h = &s->held[s->n++];
        memcpy(h->token, s->r->token[i].data, s->r->token[i].len);
        h->len = s->r->token[i].len;
        h->id = s->r->ids[i];
    }
}

static void storm_end(struct storm *s)
{
    if (s->n == 0)
        return;
    uint32_t i = (uint32_t)below(s, s->n);
    struct held h = s->held[i];
    struct slice token = slice_of(h.token, h.len);
    struct nack_params p = {.tokens = &token, .n = 1};
    enum err rc;
    switch (below(s, 6)) {
    case 0:
        rc = rig_nack(s->r, token);
        assert_int_equal(rig_nack(s->r, token), rc);
        break;
    case 1:
        p.permanent = true;
        rc = rig_nack_with(s->r, p);
        break;
    case 2:
        p.snooze = true;
        p.delay_ms = below(s, 3000);
        rc = rig_nack_with(s->r, p);
        break;
    case 3:
        rc = rig_release(s->r, token);
        break;
    case 4:
        engine_lease_undo(s->r->engine, &token, 1, s->r->now);
        rig_step(s->r);
        rc = ERR_OK;
        break;
    default:
        rc = rig_ack(s->r, token);
        /* Again: the same answer, whatever it was. */
        assert_int_equal(rig_ack(s->r, token), rc);
    }
    assert_true(rc == ERR_OK || rc == ERR_STALE || rc == ERR_FINISHED ||
                rc == ERR_NOTFOUND);
    s->held[i] = s->held[--s->n];
}

static void storm_rage(struct rig *r, uint64_t seed, unsigned pending)
{
    struct storm *s = calloc(1, sizeof(*s));
    s->r = r;
    rng_seed(&s->rng, seed);
    mem_knobs(r->disk)->seed = seed;
    mem_knobs(r->disk)->pending_per_1000 = pending;
    mem_knobs(r->disk)->fetch_polls_max = 3;
    for (int i = 0; i < STEPS; i++) {
        uint64_t what = below(s, 100);
        if (what < 35)
            storm_add(s);
        else if (what < 60)
            storm_lease(s);
        else if (what < 75)
            storm_end(s);
        else if (what < 81)
            storm_manage(s);
        else if (what < 85)
            storm_update(s);
        else if (what < 98)
            rig_pass(r, below(s, 3000));
        else
            rig_restart(r);
    }
    assert_true(pending == 0 || r->fetches > 0);
    uint64_t live = 0, kept = 0;
    for (int q = 0; q < 3; q++) {
        struct queue_view v = rig_queue(r, queues[q]);
        for (unsigned k = 1; k <= JOB_RUNNING; k++)
            live += v.jobs[k];
        kept += v.completed + v.failed + v.cancelled + v.expired;
    }
    /* Who was taken back ends once more. */
    assert_int_equal(live + kept, s->added + s->revived);
    assert_true(s->revived > 0 && s->erased > 0);
    free(s);
}

static uint64_t seeds = 4;

static int small_setup(void **state)
{
    rig_setup(state);
    struct rig *r = *state;
    rig_close(r);
    r->config.window_lane = 8;
    r->config.window_due = 6;
    r->config.window_entries = 24;
    r->config.jobs_in_memory = 10;
    r->config.slice_ops = 7;
    r->generation_bytes = 3000;
    rig_open(r);
    return 0;
}

static void a_storm_leaves_every_row_in_its_place(void **state)
{
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        storm_rage(*state, seed, 0);
        rig_teardown(state);
        small_setup(state);
    }
}

static void a_storm_with_slow_reads_does_too(void **state)
{
    for (uint64_t seed = 1001; seed <= 1000 + seeds; seed++) {
        storm_rage(*state, seed, 400);
        rig_teardown(state);
        small_setup(state);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) /* more of the same: test_storm <seeds> */
        seeds = (uint64_t)atoi(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_storm_leaves_every_row_in_its_place,
                                        small_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_storm_with_slow_reads_does_too,
                                        small_setup, rig_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
