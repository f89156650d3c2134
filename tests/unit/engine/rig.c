#include "rig.h"

#include <stdio.h>
#include <string.h>

#include "store/generation.h"
#include "util/alloc.h"

static void on_event(void *ud, const struct event *ev)
{
    struct rig *r = ud;
    r->events[ev->type]++;
}

void rig_open(struct rig *r)
{
    struct store_options o;
    bool done = false;
    store_options_default(&o);
    if (r->generation_bytes > 0)
        o.generation_bytes = r->generation_bytes;
    if (r->overlay_bytes > 0)
        o.overlay_bytes_max = r->overlay_bytes;
    assert_int_equal(store_start_mem(&r->store, r->disk, &o, r->now, &r->err),
                     ERR_OK);
    r->engine = engine_new(r->store, &r->config);
    while (!done)
        assert_int_equal(engine_load(r->engine, r->now, &done, &r->err),
                         ERR_OK);
    engine_on_event(r->engine, UINT64_MAX, on_event, r);
    r->gather = gather_new(r->store);
    rig_step(r);
}

void rig_close(struct rig *r)
{
    gather_free(&r->gather);
    engine_free(&r->engine);
    store_abandon(&r->store);
}

void rig_restart(struct rig *r)
{
    gather_free(&r->gather);
    engine_free(&r->engine);
    mem_crash(&r->store, 0);
    rig_open(r);
}

int rig_setup(void **state)
{
    struct rig *r = NEW(struct rig);
    r->disk = mem_disk_new(&r->knobs);
    engine_config_default(&r->config);
    r->config.jitter = 0;
    r->now = (struct now){1700000000000, 5000};
    r->check = true;
    rig_open(r);
    *state = r;
    return 0;
}

int rig_teardown(void **state)
{
    struct rig *r = *state;
    rig_close(r);
    mem_disk_free(&r->disk);
    mem_free(r);
    return 0;
}

void rig_step(struct rig *r)
{
    engine_commit(r->engine, r->now);
    store_poll(r->store, r->now);
    if (!r->check)
        return;
    enum err rc = engine_check(r->engine, &r->err);
    if (rc != ERR_OK)
        fail_msg("%s", r->err.text);
}

static void run_timers(struct rig *r)
{
    for (int i = 0; i < 100000; i++) {
        bool more = engine_reap(r->engine, r->now);
        more = engine_tick(r->engine, r->now) || more;
        assert_false(store_idle_pins(r->store));
        /* As the server does: an entry has its bounds. */
        assert_in_range(store_entry_bytes(r->store), 0, GENERATION_ENTRY_MAX);
        if (store_entry_bytes(r->store) >= (1 << 20))
            engine_commit(r->engine, r->now);
        store_poll(r->store, r->now);
        if (!more && engine_next_ms(r->engine, r->now) > r->now.mono_ms) {
            /* A fetch under way says never: see it through. */
            if (engine_next_ms(r->engine, r->now) != UINT64_MAX || i > 20)
                break;
        }
    }
    rig_step(r);
}

void rig_pass(struct rig *r, uint64_t ms)
{
    r->now.wall_ms += ms;
    r->now.mono_ms += ms;
    run_timers(r);
}

static void fetched(void *ud)
{
    *(bool *)ud = true;
}

/* An operation missed rows: bring them. */
void rig_fetch(struct rig *r)
{
    bool done = false;
    r->fetches++;
    store_fetch(r->store, r->gather, fetched, &done);
    for (int i = 0; !done && i < 1000; i++)
        store_poll(r->store, r->now);
    assert_true(done);
}

enum err rig_try_add(struct rig *r, const struct add_params *p,
                     struct add_result *result)
{
    enum err rc;
    while ((rc = engine_add(r->engine, r->gather, p, r->now, result,
                            &r->err)) == ERR_PENDING)
        rig_fetch(r);
    gather_release(r->gather);
    rig_step(r);
    return rc;
}

static struct add_result add(struct rig *r, const char *queue,
                             const char *payload, const char *name,
                             const struct job_options *o)
{
    static const struct job_options none;
    struct slice text = slice_str(payload);
    struct add_params p = {.queue = slice_str(queue),
                           .payloads = &text,
                           .n = 1,
                           .name = slice_str(name),
                           .options = o == NULL ? &none : o};
    struct add_result result;
    enum err rc = rig_try_add(r, &p, &result);
    if (rc != ERR_OK)
        fail_msg("add: %s", r->err.text);
    return result;
}

struct add_result rig_add(struct rig *r, const char *queue, const char *payload,
                          const struct job_options *o)
{
    return add(r, queue, payload, "", o);
}

struct add_result rig_add_named(struct rig *r, const char *name,
                                const struct job_options *o)
{
    return add(r, "q", "x", name, o);
}

static void on_lease(void *ud, const struct lease_view *v)
{
    struct rig *r = ud;
    assert_true(r->n < RIG_TOKENS);
    memcpy(r->tokens[r->n], v->token.data, v->token.len);
    r->token[r->n] = slice_of(r->tokens[r->n], v->token.len);
    r->ids[r->n] = v->id;
    r->n++;
    r->attempt = v->attempt;
    r->delivery = v->delivery;
    r->lease_ms = v->lease_ms;
    snprintf(r->payload, sizeof(r->payload), "%.*s", SLICE_FMT(v->payload));
    snprintf(r->handler, sizeof(r->handler), "%.*s", SLICE_FMT(v->handler));
}

enum err rig_lease_with(struct rig *r, const struct lease_params *p)
{
    enum err rc;
    do {
        r->n = 0;
        rc =
            engine_lease(r->engine, r->gather, p, r->now, on_lease, r, &r->err);
        if (rc == ERR_PENDING)
            rig_fetch(r);
    } while (rc == ERR_PENDING);
    gather_release(r->gather);
    rig_step(r);
    return rc;
}

uint32_t rig_lease(struct rig *r, const char *queue, uint32_t n)
{
    struct slice q = slice_str(queue);
    struct lease_params p = {.queues = &q, .queues_n = 1, .count = n};
    enum err rc = rig_lease_with(r, &p);
    if (rc != ERR_OK && rc != ERR_EMPTY)
        fail_msg("lease: %s", r->err.text);
    return r->n;
}

static void on_verdict(void *ud, uint32_t i, enum err rc, const char *why)
{
    struct rig *r = ud;
    (void)why;
    r->verdict = rc;
    if (i < sizeof(r->verdicts) / sizeof(r->verdicts[0]))
        r->verdicts[i] = rc;
}

enum err rig_ack(struct rig *r, struct slice token)
{
    struct ack_params p = {.tokens = &token, .n = 1};
    while (engine_ack(r->engine, r->gather, &p, r->now, on_verdict, r,
                      &r->err) == ERR_PENDING)
        rig_fetch(r);
    gather_release(r->gather);
    rig_step(r);
    return r->verdict;
}

struct renewed {
    struct rig *rig;
    enum lease_order order;
};

static void on_renewal(void *ud, uint32_t i, uint64_t left_ms,
                       enum lease_order order, enum err why)
{
    struct renewed *x = ud;
    (void)i;
    x->order = order;
    x->rig->left_ms = left_ms;
    x->rig->verdict = why;
}

enum lease_order rig_extend(struct rig *r, struct slice token,
                            uint64_t lease_ms)
{
    struct extend_params p = {.tokens = &token, .n = 1, .lease_ms = lease_ms};
    struct renewed x = {.rig = r};
    enum err rc;
    while ((rc = engine_extend(r->engine, r->gather, &p, r->now, on_renewal, &x,
                               &r->err)) == ERR_PENDING)
        rig_fetch(r);
    assert_int_equal(rc, ERR_OK);
    gather_release(r->gather);
    rig_step(r);
    return x.order;
}

enum err rig_nack_with(struct rig *r, struct nack_params p)
{
    while (engine_nack(r->engine, r->gather, &p, r->now, on_verdict, r,
                       &r->err) == ERR_PENDING)
        rig_fetch(r);
    gather_release(r->gather);
    rig_step(r);
    return r->verdict;
}

enum err rig_nack(struct rig *r, struct slice token)
{
    return rig_nack_with(r, (struct nack_params){.tokens = &token,
                                                 .n = 1,
                                                 .error = SLICE_LIT("boom"),
                                                 .type = SLICE_LIT("Oops")});
}

enum err rig_release(struct rig *r, struct slice token)
{
    while (engine_release(r->engine, r->gather, &token, 1, NULL, r->now,
                          on_verdict, r, &r->err) == ERR_PENDING)
        rig_fetch(r);
    gather_release(r->gather);
    rig_step(r);
    return r->verdict;
}

enum err rig_manage_all(struct rig *r, const struct manage_params *p)
{
    enum err rc;
    while ((rc = engine_manage(r->engine, r->gather, p, r->now, on_verdict, r,
                               &r->err)) == ERR_PENDING)
        rig_fetch(r);
    gather_release(r->gather);
    rig_step(r);
    return rc == ERR_OK ? r->verdict : rc;
}

enum err rig_manage_name(struct rig *r, struct manage_params p,
                         struct slice name)
{
    p.jobs = &name;
    p.n = 1;
    return rig_manage_all(r, &p);
}

enum err rig_manage(struct rig *r, struct manage_params p, const struct id *ids,
                    uint32_t n)
{
    char text[256][ID_TEXT_LEN];
    struct slice jobs[256];
    assert_true(n <= 256);
    for (uint32_t i = 0; i < n; i++) {
        id_text(&ids[i], text[i]);
        jobs[i] = slice_of(text[i], ID_TEXT_LEN);
    }
    p.jobs = jobs;
    p.n = n;
    return rig_manage_all(r, &p);
}

enum err rig_update(struct rig *r, struct id id, const struct job_options *o,
                    const char *payload)
{
    char text[ID_TEXT_LEN];
    enum err rc;
    id_text(&id, text);
    struct update_params p = {.job = slice_of(text, ID_TEXT_LEN),
                              .options = o,
                              .has_payload = payload != NULL,
                              .payload =
                                  slice_str(payload == NULL ? "" : payload)};
    while ((rc = engine_update(r->engine, r->gather, &p, r->now, &r->err)) ==
           ERR_PENDING)
        rig_fetch(r);
    gather_release(r->gather);
    rig_step(r);
    return rc;
}

static void on_execution(void *ud, const struct execution_view *v)
{
    (void)v;
    (*(uint32_t *)ud)++;
}

uint32_t rig_executions(struct rig *r, struct id id)
{
    char text[ID_TEXT_LEN];
    uint32_t n;
    enum err rc;
    id_text(&id, text);
    do {
        n = 0;
        rc =
            engine_executions(r->engine, r->gather, slice_of(text, ID_TEXT_LEN),
                              r->now, on_execution, &n, &r->err);
        if (rc == ERR_PENDING)
            rig_fetch(r);
    } while (rc == ERR_PENDING);
    gather_release(r->gather);
    assert_int_equal(rc, ERR_OK);
    return n;
}

enum job_state rig_state(struct rig *r, struct id id)
{
    char text[ID_TEXT_LEN];
    struct job_view v;
    enum err rc;
    id_text(&id, text);
    while ((rc = engine_get(r->engine, r->gather, slice_of(text, ID_TEXT_LEN),
                            r->now, &v, &r->err)) == ERR_PENDING)
        rig_fetch(r);
    gather_release(r->gather);
    return rc == ERR_OK ? v.state : (enum job_state)0;
}

struct job_view rig_view(struct rig *r, struct id id)
{
    char text[ID_TEXT_LEN];
    struct job_view v;
    id_text(&id, text);
    assert_int_equal(engine_get(r->engine, NULL, slice_of(text, ID_TEXT_LEN),
                                r->now, &v, &r->err),
                     ERR_OK);
    return v;
}

struct why_view rig_why(struct rig *r, struct id id)
{
    char text[ID_TEXT_LEN];
    struct why_view v;
    id_text(&id, text);
    assert_int_equal(engine_why(r->engine, NULL, slice_of(text, ID_TEXT_LEN),
                                r->now, &v, &r->err),
                     ERR_OK);
    return v;
}

void rig_set(struct rig *r, struct queue_settings s)
{
    assert_int_equal(
        engine_queue_set(r->engine, slice_str("q"), &s, r->now, &r->err),
        ERR_OK);
}

void rig_weigh(struct rig *r, const char *owner, uint32_t weight)
{
    struct owner_settings s = {.has_weight = true, .weight = weight};
    assert_int_equal(
        engine_owner_set(r->engine, slice_str(owner), &s, r->now, &r->err),
        ERR_OK);
}

struct queue_view rig_queue(struct rig *r, const char *queue)
{
    struct queue_view v = {0};
    enum err rc =
        engine_queue(r->engine, slice_str(queue), r->now, &v, &r->err);
    assert_int_equal(rc, ERR_OK);
    return v;
}

struct chore_view rig_chore(struct rig *r, struct id id)
{
    char text[ID_TEXT_LEN];
    struct chore_view v;
    id_text(&id, text);
    assert_int_equal(
        engine_chore(r->engine, slice_of(text, ID_TEXT_LEN), &v, &r->err),
        ERR_OK);
    return v;
}

void rig_until_done(struct rig *r, struct id id)
{
    for (int i = 0; i < 1000 && rig_chore(r, id).finished_ms == 0; i++)
        rig_pass(r, 1);
    assert_string_equal(rig_chore(r, id).state.data, "done");
}
