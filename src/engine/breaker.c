/* Breakers: a handler whose executions fail is stopped for a while, then tried
 * with a few.
 *
 * Outcomes are counted in ten slots that slide over the window. State and
 * settings are in the handler's row, written when the state changes; counts are
 * in memory alone, so a start begins with none. An execution that was begun
 * while half open is a probe (a flag in its `runs` row, so that a start knows
 * the probes that are under way).
 *
 * Invariants:
 *  1. OPEN has a row in `due` at until_ms, the other states have none.
 *  2. Outcomes of executions that began before the breaker tripped count
 *     nowhere: they tell about the past. An execution remembers how often it
 *     had tripped: a clock of walls may step back in between.
 *  3. While half open at most 1 + (probes that ended well) probes run.
 */
#include "engine/core.h"
#include "engine/handlers.h"

const char *breaker_state_name(enum breaker_state s)
{
    static const char *const names[] = {[BREAKER_CLOSED] = "closed",
                                        [BREAKER_OPEN] = "open",
                                        [BREAKER_HALF_OPEN] = "half-open"};
    return names[s];
}

void breaker_defaults(struct rec_breaker *b)
{
    *b = (struct rec_breaker){.percent = 50,
                              .least = 5,
                              .window_ms = 60 * 1000,
                              .open_ms = 30 * 1000,
                              .probes = 5};
}

/* Rows in `due` have an id; a handler's is its number. */
static struct id due_id(const struct handler *h)
{
    return id_make(0, 0, 0, h->set.id);
}

static uint32_t allowed(const struct breaker *b)
{
    return b->passed + 1;
}

bool breaker_allows(const struct handler *h)
{
    const struct breaker *b = &h->breaker;
    if (b->set.on == 0 || b->set.state == BREAKER_CLOSED)
        return true;
    return b->set.state == BREAKER_HALF_OPEN && b->probing < allowed(b);
}

uint64_t breaker_room(const struct handler *h)
{
    const struct breaker *b = &h->breaker;
    if (b->set.on == 0 || b->set.state == BREAKER_CLOSED)
        return UINT64_MAX;
    return breaker_allows(h) ? allowed(b) - b->probing : 0;
}

/* --- counting ------------------------------------------------------------ */

static uint64_t slot_ms(const struct breaker *b)
{
    uint64_t ms = b->set.window_ms / BREAKER_SLOTS;
    return ms == 0 ? 1 : ms;
}

static void count(struct breaker *b, bool good, struct now now)
{
    uint64_t number = now.mono_ms / slot_ms(b) + 1; /* 0: never used */
    struct breaker_slot *s = &b->slots[number % BREAKER_SLOTS];
    if (s->number != number)
        *s = (struct breaker_slot){.number = number};
    if (good)
        s->good++;
    else
        s->bad++;
}

static void sum(const struct breaker *b, struct now now, uint64_t *good,
                uint64_t *bad)
{
    uint64_t number = now.mono_ms / slot_ms(b) + 1;
    *good = *bad = 0;
    for (unsigned i = 0; i < BREAKER_SLOTS; i++) {
        const struct breaker_slot *s = &b->slots[i];
        if (s->number == 0 || s->number + BREAKER_SLOTS <= number)
            continue;
        *good += s->good;
        *bad += s->bad;
    }
}

/* --- moves --------------------------------------------------------------- */

static void tell(struct engine *e, const struct handler *h,
                 enum event_type type, const char *text, struct now now)
{
    struct event ev = {.type = type,
                       .at_ms = now.wall_ms,
                       .handler = h->name,
                       .handler_id = h->set.id,
                       .text = slice_str(text)};
    report_event(e, &ev);
}

/* The only writer of the state. */
static void move(struct engine *e, struct handler *h, enum breaker_state to,
                 uint64_t until_ms, struct now now)
{
    struct breaker *b = &h->breaker;
    struct id id = due_id(h);
    ASSERT((to == BREAKER_OPEN) == (until_ms > 0));
    if (b->set.state == BREAKER_OPEN)
        due_del(e, b->set.until_ms, DUE_BREAKER, &id);
    b->set.state = (uint8_t)to;
    b->set.since_ms = now.wall_ms;
    b->set.until_ms = until_ms;
    b->passed = b->probing = 0;
    memset(b->slots, 0, sizeof(b->slots));
    if (to == BREAKER_OPEN) {
        struct due d = {.at_ms = until_ms, .kind = DUE_BREAKER, .id = id};
        due_put(e, &d, false);
    }
    handler_keep(e, h);
    handler_refresh(e, h, now);
}

static void trip(struct engine *e, struct handler *h, uint64_t open_ms,
                 const char *why, struct now now)
{
    struct breaker *b = &h->breaker;
    b->set.trips++;
    b->set.tripped_ms = now.wall_ms;
    move(e, h, BREAKER_OPEN, now.wall_ms + open_ms, now);
    tell(e, h, EVENT_BREAKER_OPENED, why, now);
}

static void close_breaker(struct engine *e, struct handler *h, const char *why,
                          struct now now)
{
    move(e, h, BREAKER_CLOSED, 0, now);
    tell(e, h, EVENT_BREAKER_CLOSED, why, now);
}

void breaker_due(struct engine *e, const struct id *id, uint64_t at_ms,
                 struct now now)
{
    uint64_t number = id_word(id, 8);
    struct handler *h = number < e->handlers_n ? e->handlers[number] : NULL;
    if (h == NULL || h->breaker.set.state != BREAKER_OPEN ||
        h->breaker.set.until_ms != at_ms)
        return; /* set anew meanwhile; that has a row of its own */
    move(e, h, BREAKER_HALF_OPEN, 0, now);
    tell(e, h, EVENT_BREAKER_HALF_OPEN, "time for a probe", now);
}

/* --- what executions tell ------------------------------------------------ */

enum tells { TELLS_NOTHING, TELLS_GOOD, TELLS_BAD };

static enum tells tells(const struct outcome *o, bool probe)
{
    if (o->reason == REASON_PERMANENT || o->reason == REASON_CANCELLED)
        return TELLS_NOTHING;
    switch (o->verb) {
    case VERB_ACK:
        return TELLS_GOOD;
    case VERB_FAIL:
    case VERB_TIMEOUT:
        return TELLS_BAD;
    case VERB_LOST:
        return probe ? TELLS_BAD : TELLS_NOTHING; /* the worker's fault */
    case VERB_NONE:
    case VERB_RELEASE:
    case VERB_SNOOZE:
    case VERB_CANCEL:
        break;
    }
    return TELLS_NOTHING;
}

/* Has it not tripped since? */
static bool is_recent(const struct job *j)
{
    return j->trips == (uint32_t)j->handler->breaker.set.trips;
}

static bool is_probe(const struct job *j)
{
    const struct breaker *b = &j->handler->breaker;
    return (j->run_flags & RUNF_PROBE) != 0 &&
           b->set.state == BREAKER_HALF_OPEN && is_recent(j);
}

void breaker_taken(struct engine *e, struct job *j, struct now now)
{
    struct handler *h = j->handler;
    j->trips = (uint32_t)h->breaker.set.trips;
    if (h->breaker.set.on == 0 || h->breaker.set.state != BREAKER_HALF_OPEN)
        return;
    j->run_flags |= RUNF_PROBE;
    lease_store(e, j);
    h->breaker.probing++;
    handler_refresh(e, h, now);
}

/* A probe that told nothing is repeated: its place is free again. */
static void probe_ended(struct engine *e, struct job *j, struct now now)
{
    struct breaker *b = &j->handler->breaker;
    j->run_flags &= ~(uint32_t)RUNF_PROBE;
    if (b->probing > 0)
        b->probing--;
    handler_refresh(e, j->handler, now);
}

void breaker_untaken(struct engine *e, struct job *j, struct now now)
{
    if (is_probe(j))
        probe_ended(e, j, now);
}

void breaker_settle(struct engine *e, struct job *j, const struct outcome *o,
                    struct now now)
{
    struct handler *h = j->handler;
    struct breaker *b = &h->breaker;
    if (b->set.on == 0 || j->state != JOB_RUNNING)
        return;
    bool probe = is_probe(j);
    enum tells t = tells(o, probe);
    if (probe) {
        if (t == TELLS_BAD) {
            j->run_flags &= ~(uint32_t)RUNF_PROBE;
            trip(e, h, b->set.open_ms, "a probe failed", now);
            return;
        }
        b->passed += t == TELLS_GOOD;
        probe_ended(e, j, now);
        if (b->passed >= b->set.probes)
            close_breaker(e, h, "probes ended well", now);
        return;
    }
    if (b->set.state != BREAKER_CLOSED || t == TELLS_NOTHING || !is_recent(j))
        return;
    uint64_t good, bad;
    count(b, t == TELLS_GOOD, now);
    if (t == TELLS_GOOD)
        return;
    sum(b, now, &good, &bad);
    if (good + bad >= b->set.least &&
        bad * 100 >= (good + bad) * b->set.percent)
        trip(e, h, b->set.open_ms, "too many executions failed", now);
}

/* Only the clock tells what came first, and is believed. */
void breaker_lease_loaded(struct job *j)
{
    const struct rec_breaker *set = &j->handler->breaker.set;
    j->trips = (uint32_t)set->trips - (j->started_ms <= set->tripped_ms);
    if (is_probe(j))
        j->handler->breaker.probing++;
    handler_open(j->handler,
                 j->handler->set.paused == 0 && breaker_allows(j->handler));
}

/* --- by hand ------------------------------------------------------------- */

/* Settings changed (HANDLER.SET): a breaker that is switched off closes. */
void breaker_set(struct engine *e, struct handler *h, bool on,
                 const struct breaker_settings *s, struct now now)
{
    struct breaker *b = &h->breaker;
    if (s->percent > 0)
        b->set.percent = s->percent;
    if (s->least > 0)
        b->set.least = s->least;
    if (s->window_ms > 0 && s->window_ms != b->set.window_ms) {
        b->set.window_ms = s->window_ms;
        memset(b->slots, 0, sizeof(b->slots)); /* their numbers changed */
    }
    if (s->open_ms > 0)
        b->set.open_ms = s->open_ms;
    if (s->probes > 0)
        b->set.probes = s->probes;
    if (!on && b->set.state != BREAKER_CLOSED)
        close_breaker(e, h, "switched off", now);
    b->set.on = on;
}

static enum err find(struct engine *e, struct slice name, struct handler **h,
                     struct errbuf *err)
{
    *h = handler_find(e, name);
    if (*h == NULL)
        return err_set(err, ERR_NOTFOUND, "no such handler");
    if ((*h)->breaker.set.on == 0)
        return err_set(err, ERR_STATE,
                       "the breaker of handler %.*s is off; HANDLER.SET ... "
                       "BREAKER on",
                       SLICE_FMT((*h)->name));
    return ERR_OK;
}

enum err engine_breaker_trip(struct engine *e, struct slice name,
                             uint64_t open_ms, struct now now,
                             struct errbuf *err)
{
    struct handler *h;
    enum err rc = find(e, name, &h, err);
    if (rc == ERR_OK)
        trip(e, h, open_ms == 0 ? h->breaker.set.open_ms : open_ms, "by hand",
             now);
    return rc;
}

enum err engine_breaker_reset(struct engine *e, struct slice name,
                              struct now now, struct errbuf *err)
{
    struct handler *h;
    enum err rc = find(e, name, &h, err);
    if (rc != ERR_OK)
        return rc;
    if (h->breaker.set.state != BREAKER_CLOSED)
        close_breaker(e, h, "by hand", now);
    else
        memset(h->breaker.slots, 0, sizeof(h->breaker.slots));
    return ERR_OK;
}

void breaker_view_of(const struct handler *h, struct now now,
                     struct breaker_view *v)
{
    const struct breaker *b = &h->breaker;
    *v = (struct breaker_view){
        .on = b->set.on != 0,
        .set = {.percent = b->set.percent,
                .least = b->set.least,
                .window_ms = b->set.window_ms,
                .open_ms = b->set.open_ms,
                .probes = b->set.probes},
        .state = (enum breaker_state)b->set.state,
        .since_ms = b->set.since_ms,
        .until_ms = b->set.until_ms,
        .trips = b->set.trips,
        .probing = b->probing,
        .probed_well = b->passed,
    };
    sum(b, now, &v->good, &v->bad);
}

bool breaker_why(const struct handler *h, enum breaker_state *state,
                 uint64_t *until_ms)
{
    *state = (enum breaker_state)h->breaker.set.state;
    *until_ms = h->breaker.set.until_ms;
    return !breaker_allows(h);
}
