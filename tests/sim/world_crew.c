/* Those who work in a world: they wait in line, are cut off, come back and ask
 * again, drain. */
#include "world_impl.h"

#include <stdio.h>

#include "engine/workers.h"
#include "util/alloc.h"
#include "util/assert.h"

#define LOST_WAKES 50
#define VARIANTS 150 /* of 1,000 requests that are repeated so many differ */
#define UNNOTICED                                              \
    150 /* of 1,000 ticks so many notice that a client is gone \
         */

struct crew_line {
    bool used, left; /* its worker knows it no more */
    uint64_t id;     /* of the client, for the engine */
    struct op *op;   /* what it waits for */
};

/* What only lives as long as the process. */
struct crew_world {
    struct crew_line lines[CREW_LINES];
    uint32_t of_worker[CREW_WORKERS]; /* a line, and 1 */
    uint64_t ids, turns;
    uint32_t requests;
    struct op asked[ASKED_MAX];
    uint32_t asked_n;
};

void crew_begin(struct world *w)
{
    w->crew = crew_new(w->undo, w->config.session_grace_ms,
                       w->config.worker_forget_ms);
    w->crew_world = NEW(struct crew_world);
}

void crew_end(struct world *w)
{
    crew_free(&w->crew);
    mem_free(w->crew_world);
}

static struct slice named(char *to, size_t size, const char *what, unsigned n)
{
    (void)snprintf(to, size, "%s-%u", what, n);
    return slice_str(to);
}

/* --- connections --------------------------------------------------------- */

/* Its line, or a new one; NULL: there is none. */
static struct crew_line *connect(struct world *w, uint32_t worker)
{
    struct crew_world *c = w->crew_world;
    for (uint32_t i = 0; c->of_worker[worker] == 0 && i < CREW_LINES; i++) {
        if (c->lines[i].used)
            continue;
        c->lines[i] = (struct crew_line){.used = true, .id = ++c->ids};
        c->of_worker[worker] = i + 1;
    }
    uint32_t line = c->of_worker[worker];
    return line == 0 ? NULL : &c->lines[line - 1];
}

static void undo(struct world *w, struct op *op)
{
    struct slice tokens[LEASE_COUNT];
    for (uint32_t i = 0; i < op->got_n; i++)
        tokens[i] = slice_of(op->got[i].text, op->got[i].len);
    trace(w, "  %u leases are undone", op->got_n);
    engine_lease_undo(w->engine, tokens, op->got_n, w->now);
    for (uint32_t i = op->got_n; i > 0; i--) {
        const struct held *h = &op->got[i - 1];
        if (!model_undone(w->model, h->k, h->delivery, w->now))
            continue;
        if (w->gates != NULL)
            gates_undone(w->gates, w->model, h->k);
        if (w->keys != NULL)
            keys_undone(w->keys, w->model, h->k, w->now);
    }
}

/* Who else waits for what `op` asked for, and came last; NULL: nobody. */
static struct op *newest_alike(const struct world *w, const struct op *op)
{
    const struct list *all[] = {&w->waiting, &w->woken, &w->fetching};
    struct op *newest = NULL;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        LIST_FOR (it, all[i]) {
            struct op *other = CONTAINER_OF(it, struct op, in);
            if (other != op && other->turn > 0 &&
                other->request == op->request &&
                (newest == NULL || newest->came < other->came))
                newest = other;
        }
    return newest;
}

/* It leaves. Without jobs, the newest of those who lost their place by asking
 * the same before has its place. */
static void unwait(struct world *w, struct op *op)
{
    struct op *newest = op->request == 0 ? NULL : newest_alike(w, op);
    if (newest != NULL && newest->passed_on && !op->served) {
        trace(w, "  line %u has its place back", newest->line);
        newest->passed_on = false;
        if (op->turn < newest->turn)
            newest->turn = op->turn;
    }
    engine_unwait(w->engine, &op->waiter);
}

/* The server notices that the client is gone. */
static void close_line(struct world *w, uint32_t line)
{
    struct crew_line *l = &w->crew_world->lines[line];
    struct op *op = l->op;
    trace(w, "  client %llu is gone", (unsigned long long)l->id);
    if (op != NULL) {
        if (op->waiter.engine_private != NULL)
            unwait(w, op);
        if (op->done) /* and its reply has not left */
            undo(w, op);
        world_op_free(w, op);
    }
    engine_client_gone(w->engine, l->id, w->now);
    crew_gone(w->crew, line, w->now);
    *l = (struct crew_line){.used = false};
}

/* The worker has lost its connection; the server may not know for a while. */
static void hang_up(struct world *w, uint32_t worker)
{
    struct crew_world *c = w->crew_world;
    uint32_t line = c->of_worker[worker];
    if (line == 0)
        return;
    c->of_worker[worker] = 0;
    c->lines[line - 1].left = true;
    if (chance(w, 500))
        close_line(w, line - 1);
}

static void cut_off(struct world *w, const struct op *op)
{
    struct crew_world *c = w->crew_world;
    for (uint32_t i = 0; i < CREW_WORKERS; i++)
        if (c->of_worker[i] == op->line + 1u)
            c->of_worker[i] = 0;
    close_line(w, op->line);
}

bool crew_left(const struct world *w, const struct op *op)
{
    return w->crew_world->lines[op->line].left;
}

void crew_let_go(struct world *w, struct op *op)
{
    if (op->worker > 0)
        w->crew_world->lines[op->line].op = NULL;
}

/* --- asking -------------------------------------------------------------- */

static void draw(struct world *w, struct op *op, uint32_t worker)
{
    struct crew_world *c = w->crew_world;
    op->worker = (uint8_t)(worker + 1);
    if (chance(w, 600))
        op->session = (uint8_t)(1 + crew_session(worker));
    op->nameless = op->session > 0 && chance(w, 400);
    if (chance(w, 300))
        weights_draw(w, op);
    if (chance(w, 600))
        op->block_ms =
            chance(w, 200) ? UINT64_MAX : 1 + rng_below(&w->rng, 60000);
    if (!chance(w, 400))
        return;
    op->request = ++c->requests;
    c->asked[c->asked_n < ASKED_MAX ? c->asked_n++
                                    : rng_below(&w->rng, ASKED_MAX)] = *op;
}

/* A request of which the model still knows the answer, or NULL. */
static const struct op *asked_before(struct world *w)
{
    struct crew_world *c = w->crew_world;
    if (c->asked_n == 0)
        return NULL;
    const struct op *op = &c->asked[rng_below(&w->rng, c->asked_n)];
    return op->request + CREW_REQUESTS > c->requests ? op : NULL;
}

/* The same key with another length, or another first queue. */
static void vary(struct world *w, struct op *op)
{
    uint8_t queue = op->queue;
    op->variant = (uint8_t)(1 + rng_below(&w->rng, 2));
    if (op->variant == 1) {
        op->lease_ms++;
        return;
    }
    op->queue = (uint8_t)((queue + 1) % QUEUES);
    if (op->queue2 == op->queue + 1)
        op->queue2 = (uint8_t)(queue + 1);
}

void crew_draw(struct world *w, struct op *op)
{
    struct crew_world *c = w->crew_world;
    struct gather *gather = op->gather;
    uint32_t worker = (uint32_t)rng_below(&w->rng, CREW_WORKERS);
    const struct op *again = chance(w, 250) ? asked_before(w) : NULL;
    if (chance(w, 300))
        return;
    if (again != NULL) {
        *op = *again;
        op->gather = gather;
        worker = op->worker - 1u;
        op->worker = 0;
        if (chance(w, VARIANTS))
            vary(w, op);
        if (chance(w, 700))
            hang_up(w, worker); /* why it asks again */
    }
    struct crew_line *l = connect(w, worker);
    if (l == NULL || l->op != NULL) {
        op->queue2 = op->session = 0;
        op->request = 0;
        op->block_ms = 0;
        return; /* one at a time: somebody else asks */
    }
    if (again == NULL)
        draw(w, op, worker);
    op->worker = (uint8_t)(worker + 1);
    op->line = (uint8_t)(l - c->lines);
    l->op = op;
    trace(
        w,
        "  worker %u/%d line %u session %u queue2 %u block %llu request %u/%u",
        worker, op->nameless, op->line, op->session, op->queue2,
        (unsigned long long)op->block_ms, op->request, op->variant);
}

/* As whom it asks, and 1; 0: as nobody. */
static uint8_t asks_as(const struct world *w, const struct op *op)
{
    return op->nameless ? crew_named(w->crew, op->session - 1u, w->now)
                        : op->worker;
}

static enum crew_drains drains(const struct world *w, const struct op *op)
{
    return crew_drains_as(w->crew, asks_as(w, op), 0, w->now);
}

/* Has it asked for such a job? */
static bool asks_for(const struct world *w, const struct op *op, uint32_t k)
{
    const struct mjob *j = model_job(w->model, k);
    if (op->only == 1 && op->queue != j->queue)
        return false; /* it asks for the handler of its first queue's name */
    return (op->queue == j->queue || op->queue2 == j->queue + 1) &&
           (op->only == 0 || op->only - 1 == j->handler);
}

/* Could it have it? */
static bool wants(const struct world *w, const struct op *op, uint32_t k)
{
    return asks_for(w, op, k) && drains(w, op) == DRAINS_NOT;
}

bool crew_waits_for(const struct world *w, uint32_t k, uint64_t before)
{
    LIST_FOR (it, &w->waiting) {
        const struct op *op = CONTAINER_OF(it, struct op, in);
        if (op->turn >= before || op->passed_on || !wants(w, op, k))
            continue;
        trace(w, "  line %u stands in line since turn %llu", op->line,
              (unsigned long long)op->turn);
        return true;
    }
    return false;
}

/* Is somebody else about to look, who was woken for it, perhaps, if only before
 * it was told to drain? */
static bool comes_for(const struct world *w, const struct op *but, uint32_t k)
{
    const struct list *woken[] = {&w->fetching, &w->woken};
    for (size_t i = 0; i < 2; i++)
        LIST_FOR (it, woken[i]) {
            const struct op *op = CONTAINER_OF(it, struct op, in);
            if (op != but && op->turn > 0 && asks_for(w, op, k))
                return true;
        }
    return false;
}

bool crew_same_lease(struct world *w, struct op *op, uint32_t k,
                     uint32_t delivery)
{
    if (op->worker == 0 || op->request == 0 ||
        !crew_is_again(w->crew, w->model, op->request, k, delivery))
        return false;
    op->again_n++;
    model_leased_again(w->model, k);
    return true;
}

void crew_lease(struct world *w, struct op *op, uint32_t k)
{
    if (op->worker == 0)
        return;
    if (drains(w, op) == DRAINS)
        violate(w, op, "a worker that drains got a job");
    /* What time opens somebody may find before the timer that would wake the
     * first in line. */
    if (op->turn > 0 && w->gates == NULL && crew_waits_for(w, k, op->turn) &&
        !comes_for(w, op, k))
        violate(w, op, "somebody was served before who came earlier");
    model_under(w->model, k, op->session, asks_as(w, op));
    if (op->session > 0)
        crew_leased(w->crew, op->session - 1u, w->now);
}

static void on_wake(struct waiter *waiter)
{
    struct op *op = CONTAINER_OF(waiter, struct op, waiter);
    op->left_line = true;
    if (!op->in_line)
        return; /* it waits for rows, and asks again when they are there */
    op->in_line = false;
    list_remove(&op->in);
    list_append(op->woken, &op->in);
}

/* Whoever asked the same before loses its place to this one, also if it looks a
 * last time. */
static void take_over(struct world *w, struct op *op)
{
    const struct list *before[] = {&w->waiting, &w->fetching};
    for (size_t i = 0; i < 2; i++)
        LIST_FOR (it, before[i]) {
            struct op *old = CONTAINER_OF(it, struct op, in);
            if (old == op || old->turn == 0 || old->left_line ||
                old->passed_on || old->request != op->request)
                continue;
            trace(w, "  takes the place of line %u", old->line);
            old->passed_on = true;
            if (old->turn < op->turn)
                op->turn = old->turn;
        }
}

/* Does somebody wait, or hold leases, by another request with its key? */
static bool is_refused(const struct world *w, const struct op *op)
{
    const struct list *before[] = {&w->waiting, &w->woken, &w->fetching};
    if (op->request == 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(before); i++)
        LIST_FOR (it, before[i]) {
            const struct op *old = CONTAINER_OF(it, struct op, in);
            if (old != op && old->turn > 0 && old->request == op->request &&
                old->variant != op->variant)
                return true;
        }
    return crew_differs(w->crew, w->model, op->request, op->variant);
}

/* With it all are served who asked the same. */
static void serve(struct world *w, struct op *op, bool served)
{
    const struct list *all[] = {&w->waiting, &w->woken, &w->fetching};
    op->served = served;
    for (size_t i = 0; op->request > 0 && i < ARRAY_LEN(all); i++)
        LIST_FOR (it, all[i]) {
            struct op *other = CONTAINER_OF(it, struct op, in);
            if (other->request == op->request)
                other->served = served;
        }
}

static void stand(struct world *w, struct op *op)
{
    bool first = op->turn == 0; /* or it keeps its own */
    if (first)
        op->turn = op->came = ++w->crew_world->turns;
    serve(w, op, false);
    if (first && op->request != 0)
        take_over(w, op);
    op->left_line = false;
    op->in_line = true;
    trace(w, "  line %u stands, turn %llu", op->line,
          (unsigned long long)op->turn);
}

static void judge(struct world *w, struct op *op, enum err rc, uint32_t alive,
                  bool refused)
{
    struct crew_got got[CREW_GOT];
    if (refused != (rc == ERR_MISMATCH))
        violate(w, op,
                refused ? "another request with a key was not refused"
                        : "a request was refused for another with its key");
    if (op->request == 0 || (rc != ERR_OK && rc != ERR_EMPTY))
        return;
    if (alive > 0 && (op->again_n != alive || op->got_n != alive))
        violate(w, op, "a request that was repeated did not get its leases");
    if (alive > 0 || rc == ERR_EMPTY)
        return;
    for (uint32_t i = 0; i < op->got_n; i++)
        got[i] = (struct crew_got){op->got[i].k, op->got[i].delivery};
    crew_got(w->crew, op->request, op->variant, got, op->got_n);
}

enum err crew_ask(struct world *w, struct op *op, struct lease_params *p,
                  lease_fn fn, void *ud)
{
    char words[3][24];
    uint32_t alive = crew_alive(w->crew, w->model, op->request);
    bool refused = is_refused(w, op);
    if (!op->nameless)
        p->worker = named(words[0], sizeof(words[0]), "worker", op->worker);
    if (op->session > 0)
        p->session = named(words[1], sizeof(words[1]), "session", op->session);
    if (op->request > 0)
        p->idempotency =
            named(words[2], sizeof(words[2]), "lease", op->request);
    op->again_n = 0;
    uint8_t as = asks_as(w, op);
    enum err rc = engine_lease(w->engine, op->gather, p, w->now, fn, ud, &w->e);
    if (as > 0 && as != CREW_UNKNOWN)
        crew_asked(w->crew, as - 1u, w->now);
    if (rc == ERR_PENDING)
        return rc;
    judge(w, op, rc, alive, refused);
    if (op->session > 0 && (rc == ERR_OK || rc == ERR_EMPTY)) {
        engine_session_attach(w->engine, p->session,
                              w->crew_world->lines[op->line].id);
        crew_attached(w->crew, op->session - 1u, op->line);
    }
    bool late = op->deadline_ms > 0 && op->deadline_ms <= w->now.mono_ms;
    if (rc == ERR_EMPTY && op->block_ms > 0 && !late) {
        if (op->deadline_ms == 0)
            op->deadline_ms = op->block_ms == UINT64_MAX
                                  ? UINT64_MAX
                                  : w->now.mono_ms + op->block_ms;
        op->waiter.wake = on_wake;
        op->woken = &w->woken;
        if (!engine_wait_lease(w->engine, &op->waiter, p))
            violate(w, op, "nobody can wait for a queue");
        stand(w, op);
        return ERR_BUSY;
    }
    if (rc == ERR_OK)
        serve(w, op, true);
    if (op->waiter.engine_private != NULL)
        unwait(w, op);
    return rc == ERR_MISMATCH ? ERR_EMPTY : rc; /* it was judged */
}

/* Whose time to wait is over, or NULL. */
static struct op *first_late(const struct world *w)
{
    LIST_FOR (it, &w->waiting) {
        struct op *op = CONTAINER_OF(it, struct op, in);
        if (op->deadline_ms <= w->now.mono_ms)
            return op;
    }
    return NULL;
}

/* --- ticks --------------------------------------------------------------- */

bool crew_tick(struct world *w)
{
    bool quiet = true;
    struct list *it;
    for (uint32_t i = 0; i < CREW_LINES; i++)
        if (w->crew_world->lines[i].left && chance(w, UNNOTICED)) {
            close_line(w, i);
            quiet = false;
        }
    while ((it = list_first(&w->woken)) != NULL) {
        quiet = false;
        struct op *op = CONTAINER_OF(it, struct op, in);
        trace(w, "line %u was woken", op->line);
        if (chance(w, LOST_WAKES)) /* and nobody is there any more */
            cut_off(w, op);
        else
            world_op_run(w, op);
    }
    /* Each may wake others, who leave the list. */
    for (struct op *op; (op = first_late(w)) != NULL;) {
        quiet = false;
        op->in_line = false;
        world_op_run(w, op);
    }
    return quiet;
}

enum err crew_run(struct world *w)
{
    uint32_t worker = (uint32_t)rng_below(&w->rng, CREW_WORKERS);
    char name[24], session[24];
    struct beat_params p = {
        .name = named(name, sizeof(name), "worker", worker + 1),
        .session = named(session, sizeof(session), "session",
                         1 + crew_session(worker))};
    struct worker_view v;
    uint64_t r = rng_below(&w->rng, 100);
    if (r < 50) {
        hang_up(w, worker);
        return ERR_OK;
    }
    enum err rc = engine_worker_beat(w->engine, &p, w->now, &v, &w->e);
    if (rc != ERR_OK)
        return rc;
    if (crew_drains(w->crew, worker, w->now) == DRAINS && !v.draining)
        violate(w, NULL, "a worker drains no more, though nobody said so");
    if (crew_drains(w->crew, worker, w->now) == DRAINS_NOT && v.draining)
        violate(w, NULL, "a worker drains, though nobody said so");
    crew_beat(w->crew, worker, v.draining, w->now);
    bool drain = r < 65;
    trace(w, "  worker %u drains: %d", worker, drain);
    rc = r >= 90 ? engine_worker_forget(w->engine, p.name, w->now, &w->e)
                 : engine_worker_drain(w->engine, p.name, drain, w->now, &w->e);
    if (rc == ERR_OK && r >= 90)
        crew_forget(w->crew, worker);
    else if (rc == ERR_OK)
        crew_drain(w->crew, worker, drain, w->now);
    return rc;
}

/* Leases of a session that has ended must be gone. */
void crew_idle(struct world *w)
{
    for (uint32_t k = 0; k < w->next_k; k++) {
        const struct mjob *j = model_job(w->model, k);
        if (j->state == M_RUNNING && j->session > 0 &&
            model_sure(w->model, k, w->now) &&
            crew_over(w->crew, j->session - 1u, w->now))
            violate_job(w, k, "a lease outlives its session");
    }
}

/* Everybody leaves. */
void crew_leave(struct world *w, bool crashed)
{
    struct crew_world *c = w->crew_world;
    for (uint32_t i = 0; i < CREW_LINES; i++) {
        if (!c->lines[i].used)
            continue;
        if (!crashed)
            close_line(w, i);
        else if (c->lines[i].op != NULL &&
                 c->lines[i].op->waiter.engine_private != NULL)
            engine_unwait(w->engine, &c->lines[i].op->waiter);
        c->lines[i] = (struct crew_line){.used = false};
    }
    for (uint32_t i = 0; i < CREW_WORKERS; i++)
        c->of_worker[i] = 0;
}
