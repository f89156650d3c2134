/* Renewals of several leases, of which some are lost. */
#include "rig.h"

#include <string.h>

#define MIXED 4 /* tokens, every other one lost */

struct mixed {
    struct extend_params p;
    struct slice tokens[MIXED];
    char text[MIXED][64];
    enum lease_order orders[MIXED];
    uint64_t left_ms[MIXED];
    uint32_t n;
    enum err why[MIXED];
};

static void on_mixed(void *ud, uint32_t i, uint64_t left_ms,
                     enum lease_order order, enum err why)
{
    struct mixed *m = ud;
    assert_int_equal(i, m->n++);
    m->orders[i] = order;
    m->left_ms[i] = left_ms;
    m->why[i] = why;
}

static enum err extend_mixed(struct rig *r, struct mixed *m)
{
    m->n = 0;
    return engine_extend(r->engine, r->gather, &m->p, r->now, on_mixed, m,
                         &r->err);
}

static void lease_mixed(struct rig *r, struct mixed *m)
{
    *m = (struct mixed){.p = {.tokens = m->tokens, .n = MIXED}};
    for (uint32_t i = 0; i < MIXED; i++)
        rig_add(r, "q", "x", NULL);
    assert_int_equal(rig_lease(r, "q", MIXED), MIXED);
    memcpy(m->text, r->tokens, sizeof(m->text));
    for (uint32_t i = 0; i < MIXED; i++)
        m->tokens[i] = slice_str(m->text[i]);
    for (uint32_t i = 0; i < MIXED; i += 2)
        assert_int_equal(rig_ack(r, m->tokens[i]), ERR_OK);
    rig_restart(r);
    rig_pass(r, 20000); /* the rows go to the base */
    mem_knobs(r->disk)->pending_per_1000 = 1000;
}

static uint64_t running(struct rig *r)
{
    return rig_queue(r, "q").jobs[JOB_RUNNING];
}

static void leases_do_not_run_out_while_others_are_read(void **state)
{
    struct rig *r = *state;
    /* FOR, and what lives on meanwhile */
    static const uint64_t cases[][2] = {
        {0, 30000}, {60000, 30000}, {10000, 10000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mixed m;
        uint64_t lease_ms = cases[i][0], held_ms = cases[i][1];
        lease_mixed(r, &m);
        m.p.lease_ms = lease_ms;
        rig_pass(r, 9999);
        assert_int_equal(extend_mixed(r, &m), ERR_PENDING);
        assert_int_equal(m.n, 0);
        gather_release(r->gather); /* it starts over */
        rig_pass(r, held_ms - 1);
        assert_int_equal(running(r), MIXED / 2);
        while (extend_mixed(r, &m) == ERR_PENDING)
            rig_fetch(r);
        gather_release(r->gather);
        assert_int_equal(m.n, MIXED);
        for (uint32_t k = 0; k < MIXED; k++) {
            assert_int_equal(m.orders[k],
                             k % 2 == 0 ? ORDER_LOST : ORDER_CONTINUE);
            assert_int_equal(m.why[k], k % 2 == 0 ? ERR_FINISHED : ERR_OK);
            assert_int_equal(m.left_ms[k], k % 2 == 0      ? 0
                                           : lease_ms == 0 ? 30000
                                                           : lease_ms);
        }
        rig_step(r);
        mem_knobs(r->disk)->pending_per_1000 = 0;
        for (uint32_t k = 1; k < MIXED; k += 2)
            assert_int_equal(rig_ack(r, m.tokens[k]), ERR_OK);
    }
}

/* A worker that goes while the others are read has what it asked for. */
static void a_renewal_that_was_not_answered_holds_no_longer(void **state)
{
    struct rig *r = *state;
    struct mixed m;
    lease_mixed(r, &m);
    m.p.lease_ms = 5000;
    assert_int_equal(extend_mixed(r, &m), ERR_PENDING);
    gather_release(r->gather);
    mem_knobs(r->disk)->pending_per_1000 = 0;
    rig_pass(r, 9999); /* nor is it shorter than it was */
    assert_int_equal(running(r), MIXED / 2);
    rig_pass(r, 1);
    assert_int_equal(running(r), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)
        TEST(leases_do_not_run_out_while_others_are_read),
        TEST(a_renewal_that_was_not_answered_holds_no_longer),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
