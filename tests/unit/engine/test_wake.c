/* Wake-ups: who stands in line hears of a job that it may have, also if others
 * before it cannot use what they hear; who may not block is told as well. */
#include "engine/handlers.h"
#include "engine/waiter.h"
#include "engine/workers.h"

#include "rig.h"

#include <string.h>

#define CALLERS 8

struct caller {
    struct waiter waiter; /* first: wake() casts */
    struct slice queues[2];
    struct lease_params p;
    struct slice handler;
    bool woken;
};

struct line {
    struct caller all[CALLERS];
    uint32_t n;
};

static void wake(struct waiter *w)
{
    ((struct caller *)(void *)w)->woken = true;
}

/* Ask for one job; what is not there is waited for. True: it got one. */
static bool ask(struct rig *r, struct caller *c)
{
    c->woken = false;
    enum err rc = rig_lease_with(r, &c->p);
    if (rc == ERR_EMPTY) {
        engine_wait_lease(r->engine, &c->waiter, &c->p);
        return false;
    }
    assert_int_equal(rc, ERR_OK);
    engine_unwait(r->engine, &c->waiter);
    return true;
}

/* One more caller, who finds nothing. `handler`: of which alone, or NULL. */
static struct caller *stand(struct rig *r, struct line *l, const char *queue,
                            const char *handler)
{
    struct caller *c = &l->all[l->n++];
    c->waiter.wake = wake;
    c->queues[0] = slice_str(queue);
    c->handler = slice_str(handler == NULL ? "" : handler);
    c->p = (struct lease_params){.queues = c->queues,
                                 .queues_n = 1,
                                 .count = 1,
                                 .handlers = &c->handler,
                                 .handlers_n = handler != NULL};
    assert_false(ask(r, c));
    return c;
}

/* Whoever was woken asks again, until nobody is. Returns how many got a job. */
static uint32_t settle(struct rig *r, struct line *l)
{
    uint32_t got = 0;
    for (uint32_t turns = 0, i = 0; i < l->n; turns++) {
        assert_true(turns < 100);
        if (l->all[i].woken) {
            got += ask(r, &l->all[i]);
            i = 0;
        } else {
            i++;
        }
    }
    return got;
}

static void leave(struct rig *r, struct line *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        engine_unwait(r->engine, &l->all[i].waiter);
}

static struct add_result add(struct rig *r, const char *handler,
                             const char *limit)
{
    struct job_options o = {.given = GIVEN(HANDLER),
                            .handler = slice_str(handler)};
    if (limit != NULL) {
        o.given |= GIVEN(LIMIT);
        o.limits[o.limits_n++] = slice_str(limit);
    }
    return rig_add(r, "q", "x", &o);
}

static void bound_queue(struct rig *r, uint32_t concurrency)
{
    struct queue_settings s = {.has_concurrency = true,
                               .concurrency = concurrency};
    assert_int_equal(
        engine_queue_set(r->engine, slice_str("q"), &s, r->now, &r->err),
        ERR_OK);
}

static void bound(struct rig *r, const char *limit, uint32_t concurrency)
{
    struct limit_rule s = {.has_concurrency = true, .concurrency = concurrency};
    assert_int_equal(
        engine_limit_set(r->engine, slice_str(limit), &s, r->now, &r->err),
        ERR_OK);
}

static void pause_queue(struct rig *r, bool on)
{
    assert_int_equal(
        engine_queue_pause(r->engine, slice_str("q"), on, r->now, &r->err),
        ERR_OK);
    rig_step(r);
}

static void pause_handler(struct rig *r, const char *name, bool on)
{
    assert_int_equal(
        engine_handler_pause(r->engine, slice_str(name), on, r->now, &r->err),
        ERR_OK);
    rig_step(r);
}

/* --- a wake-up that not everybody can use -------------------------------- */

static void a_queue_that_is_free_again_wakes_who_may_have_its_job(void **state)
{
    struct rig *r = *state;
    struct line l = {0};
    bound_queue(r, 1);
    add(r, "c", NULL);
    add(r, "b", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct slice first = r->token[0];
    struct caller *a = stand(r, &l, "q", "a"), *any = stand(r, &l, "q", NULL);
    assert_int_equal(rig_ack(r, first), ERR_OK);
    assert_false(a->woken); /* there is nothing for it */
    assert_true(any->woken);
    assert_int_equal(settle(r, &l), 1);
    assert_string_equal(r->handler, "b");
    leave(r, &l);
}

static void resuming_a_queue_wakes_who_may_have_its_job(void **state)
{
    struct rig *r = *state;
    struct line l = {0};
    pause_queue(r, true);
    add(r, "b", NULL);
    stand(r, &l, "q", "a");
    stand(r, &l, "q", "b");
    pause_queue(r, false);
    assert_int_equal(settle(r, &l), 1);
    leave(r, &l);
}

static void who_is_woken_in_vain_passes_it_on(void **state)
{
    struct rig *r = *state;
    struct line l = {0};
    char text[64];
    bound_queue(r, 1);
    bound(r, "y", 1);
    add(r, "c", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct slice first = slice_of(
        memcpy(text, r->token[0].data, r->token[0].len), r->token[0].len);
    add(r, "a", "y");
    add(r, "b", NULL);
    /* Only who leases a's job will see that its name is full by now. */
    struct job_options o = {
        .given = GIVEN(LIMIT), .limits = {SLICE_LIT("y")}, .limits_n = 1};
    rig_add(r, "p", "x", &o);
    assert_int_equal(rig_lease(r, "p", 1), 1);
    struct caller *a = stand(r, &l, "q", "a"), *b = stand(r, &l, "q", "b");
    assert_int_equal(rig_ack(r, first), ERR_OK);
    assert_true(a->woken && !b->woken);
    assert_int_equal(settle(r, &l), 1);
    assert_string_equal(r->handler, "b");
    leave(r, &l);
}

/* --- handlers ------------------------------------------------------------ */

static void a_handler_that_is_resumed_wakes_for_parked_jobs(void **state)
{
    struct rig *r = *state;
    struct line l = {0};
    bound(r, "x", 1);
    add(r, "h", "x");
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct slice first = r->token[0];
    assert_int_equal(add(r, "h", "x").state, JOB_PARKED);
    pause_handler(r, "h", true);
    struct caller *b = stand(r, &l, "q", NULL);
    assert_int_equal(rig_ack(r, first), ERR_OK);
    assert_false(b->woken);
    pause_handler(r, "h", false);
    assert_int_equal(settle(r, &l), 1);
    leave(r, &l);
}

static void a_probe_is_offered_where_somebody_waits(void **state)
{
    struct rig *r = *state;
    struct line l = {0};
    static const struct job_options none;
    struct handler_params p = {
        .given = HSET_BREAKER, .breaker = true, .options = &none};
    struct slice h = SLICE_LIT("h");
    struct job_options o = {.given = GIVEN(HANDLER), .handler = h};
    assert_int_equal(engine_handler_set(r->engine, h, &p, r->now, &r->err),
                     ERR_OK);
    assert_int_equal(engine_breaker_trip(r->engine, h, 5000, r->now, &r->err),
                     ERR_OK);
    rig_add(r, "first", "x", &o);
    add(r, "h", NULL);
    rig_add(r, "last", "x", &o);
    struct caller *c = stand(r, &l, "q", NULL);
    rig_pass(r, 5000);
    assert_true(c->woken);
    assert_int_equal(settle(r, &l), 1);
    leave(r, &l);
}

/* --- workers ------------------------------------------------------------- */

static struct caller *drained(struct rig *r, struct line *l)
{
    struct worker_view v;
    struct beat_params p = {.name = SLICE_LIT("w")};
    assert_int_equal(engine_worker_beat(r->engine, &p, r->now, &v, &r->err),
                     ERR_OK);
    assert_int_equal(
        engine_worker_drain(r->engine, p.name, true, r->now, &r->err), ERR_OK);
    rig_step(r);
    struct caller *c = &l->all[l->n++];
    c->waiter.wake = wake;
    c->queues[0] = slice_str("q");
    c->p = (struct lease_params){
        .queues = c->queues, .queues_n = 1, .count = 1, .worker = p.name};
    assert_false(ask(r, c));
    return c;
}

static void a_worker_that_drains_no_more_gets_parked_jobs(void **state)
{
    struct rig *r = *state;
    struct line l = {0};
    bound(r, "x", 1);
    add(r, "h", "x");
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct slice first = r->token[0];
    assert_int_equal(add(r, "h", "x").state, JOB_PARKED);
    struct caller *c = drained(r, &l);
    assert_int_equal(rig_ack(r, first), ERR_OK);
    assert_false(c->woken);
    assert_int_equal(
        engine_worker_drain(r->engine, slice_str("w"), false, r->now, &r->err),
        ERR_OK);
    assert_int_equal(settle(r, &l), 1);
    leave(r, &l);
}

static void a_forgotten_worker_drains_no_more(void **state)
{
    struct rig *r = *state;
    struct line l = {0};
    struct caller *c = drained(r, &l);
    add(r, "h", NULL);
    assert_false(c->woken);
    assert_int_equal(
        engine_worker_forget(r->engine, slice_str("w"), r->now, &r->err),
        ERR_OK);
    assert_int_equal(settle(r, &l), 1);
    leave(r, &l);
    /* Not by silence: it stands in line. */
    l.n = 0;
    c = drained(r, &l);
    add(r, "h", NULL);
    assert_false(c->woken);
    rig_pass(r, 600000);
    assert_int_equal(settle(r, &l), 0);
    assert_false(c->woken);
    leave(r, &l);
}

/* --- who may not block --------------------------------------------------- */

static void who_does_not_block_is_told_when_a_queue_opens(void **state)
{
    struct rig *r = *state;
    bound_queue(r, 1);
    add(r, "h", NULL);
    add(r, "h", NULL);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    r->events[EVENT_JOB_READY] = 0;
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(r->events[EVENT_JOB_READY], 1);
    pause_queue(r, true);
    pause_queue(r, false);
    assert_int_equal(r->events[EVENT_JOB_READY], 2);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    /* Nothing waits: there is nothing to tell. */
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    pause_queue(r, true);
    pause_queue(r, false);
    assert_int_equal(r->events[EVENT_JOB_READY], 2);
}

static void who_does_not_block_is_told_when_a_queues_rate_opens(void **state)
{
    struct rig *r = *state;
    struct queue_settings s = {.has_rate = true, .rate = {1, 1000, 0}};
    assert_int_equal(
        engine_queue_set(r->engine, slice_str("q"), &s, r->now, &r->err),
        ERR_OK);
    add(r, "h", NULL);
    add(r, "h", NULL);
    assert_int_equal(rig_lease(r, "q", 2), 1);
    r->events[EVENT_JOB_READY] = 0;
    rig_pass(r, 1000);
    assert_int_equal(r->events[EVENT_JOB_READY], 1);
    assert_int_equal(rig_lease(r, "q", 2), 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

static void nobody_has(struct rig *r, const char *handler)
{
    struct handler_view v;
    assert_int_equal(
        engine_handler(r->engine, slice_str(handler), r->now, &v, &r->err),
        ERR_NOTFOUND);
}

/* Names that are only asked for would fill the store. */
static void waiting_for_a_handler_does_not_make_it(void **state)
{
    struct rig *r = *state;
    struct line l = {.n = 0};
    struct engine_stats before, after;
    engine_get_stats(r->engine, &before);
    struct caller *one = stand(r, &l, "q", "one");
    struct caller *two = stand(r, &l, "q", "two");
    struct caller *any = stand(r, &l, "q", NULL);
    rig_step(r);
    nobody_has(r, "one");
    nobody_has(r, "two");
    engine_get_stats(r->engine, &after);
    assert_int_equal(after.handlers, before.handlers);
    add(r, "two", NULL); /* it is first in line for this one */
    assert_false(one->woken);
    assert_true(two->woken);
    assert_false(any->woken);
    assert_int_equal(settle(r, &l), 1);
    nobody_has(r, "one");
    pause_queue(r, true);
    add(r, "one", NULL);
    assert_false(one->woken);
    pause_queue(r, false);
    assert_true(one->woken);
    assert_int_equal(settle(r, &l), 1);
    assert_false(any->woken);
    leave(r, &l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(waiting_for_a_handler_does_not_make_it),
        T(a_queue_that_is_free_again_wakes_who_may_have_its_job),
        T(resuming_a_queue_wakes_who_may_have_its_job),
        T(who_is_woken_in_vain_passes_it_on),
        T(a_handler_that_is_resumed_wakes_for_parked_jobs),
        T(a_probe_is_offered_where_somebody_waits),
        T(a_worker_that_drains_no_more_gets_parked_jobs),
        T(a_forgotten_worker_drains_no_more),
        T(who_does_not_block_is_told_when_a_queue_opens),
        T(who_does_not_block_is_told_when_a_queues_rate_opens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
