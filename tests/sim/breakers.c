#include "breakers.h"

#include "util/alloc.h"
#include "util/assert.h"

#define OUTCOMES 64 /* more than a trip needs */

/* What a crash leaves. */
struct kept {
    bool on;
    struct breaker_settings set;
    enum breaker_state state;
    uint64_t until_ms, tripped_ms; /* wall */
    uint32_t trips;
};

struct outcome {
    uint64_t at_ms; /* monotonic */
    bool good;
};

struct breaker {
    struct kept kept;
    struct outcome last[OUTCOMES]; /* a ring */
    uint32_t n;
    uint32_t passed;         /* probes that ended well */
    bool said;               /* the engine: that it is ... */
    enum breaker_state says; /* ... this */
};

/* What an execution's end must have made of its breaker. */
enum must { MUST_STAY, MUST_OPEN, MAY_OPEN, MUST_CLOSE };

struct breakers {
    struct undo *undo;
    struct breaker of[BREAKERS];
    bool pending;
    uint32_t handler;
    enum must must;
    struct now when;
};

struct breakers *breakers_new(struct undo *u)
{
    struct breakers *b = NEW(struct breakers);
    b->undo = u;
    for (uint32_t i = 0; i < BREAKERS; i++)
        b->of[i].kept.set = (struct breaker_settings){
            .percent = 50,
            .least = 5,
            .window_ms = 60000,
            .open_ms = 30000,
            .probes = 5,
        };
    return b;
}

void breakers_free(struct breakers **b)
{
    FREE(b);
}

static bool recent(const struct breaker *b, const struct mjob *j)
{
    return j->trips == b->kept.trips;
}

/* Only the clock tells what began before a breaker opened. */
void breakers_crashed(struct breakers *b, struct model *m)
{
    b->pending = false;
    for (uint32_t i = 0; i < BREAKERS; i++) {
        b->of[i].n = b->of[i].passed = 0;
        b->of[i].said = false;
    }
    for (uint32_t k = 0; k < model_jobs(m); k++) {
        const struct mjob *j = model_job(m, k);
        const struct kept *h = &b->of[j->handler].kept;
        if (j->state == M_RUNNING)
            model_under_breaker(
                m, k, h->trips - (j->started_ms <= h->tripped_ms), j->probe);
    }
}

/* --- moves --------------------------------------------------------------- */

static void move(struct breakers *b, struct breaker *h, enum breaker_state to,
                 uint64_t open_ms, struct now now)
{
    UNDO_SAVE(b->undo, &h->kept);
    h->kept.state = to;
    h->n = h->passed = 0;
    if (to != BREAKER_OPEN)
        return;
    h->kept.trips++;
    h->kept.tripped_ms = now.wall_ms;
    h->kept.until_ms = now.wall_ms + open_ms;
}

/* Has the engine said so, and nothing else? */
static bool says(struct breaker *h, bool moved, enum breaker_state to)
{
    bool right = h->said == moved && (!moved || h->says == to);
    h->said = false;
    return right;
}

bool breakers_on(const struct breakers *b, uint32_t handler)
{
    return b->of[handler].kept.on;
}

const char *breakers_set(struct breakers *b, uint32_t handler, bool on,
                         const struct breaker_settings *s)
{
    struct breaker *h = &b->of[handler];
    struct breaker_settings *set = &h->kept.set;
    bool closes = !on && h->kept.state != BREAKER_CLOSED;
    UNDO_SAVE(b->undo, &h->kept);
    if (s->percent > 0)
        set->percent = s->percent;
    if (s->least > 0)
        set->least = s->least;
    if (s->window_ms > 0 && s->window_ms != set->window_ms) {
        set->window_ms = s->window_ms;
        h->n = 0;
    }
    if (s->open_ms > 0)
        set->open_ms = s->open_ms;
    if (s->probes > 0)
        set->probes = s->probes;
    h->kept.on = on;
    if (closes)
        move(b, h, BREAKER_CLOSED, 0, (struct now){0});
    return says(h, closes, BREAKER_CLOSED)
               ? NULL
               : "a breaker that is switched off does not close";
}

const char *breakers_trip(struct breakers *b, uint32_t handler,
                          uint64_t open_ms, struct now now)
{
    struct breaker *h = &b->of[handler];
    move(b, h, BREAKER_OPEN, open_ms == 0 ? h->kept.set.open_ms : open_ms, now);
    return says(h, true, BREAKER_OPEN) ? NULL
                                       : "a breaker does not open by hand";
}

const char *breakers_reset(struct breakers *b, uint32_t handler)
{
    struct breaker *h = &b->of[handler];
    bool closes = h->kept.state != BREAKER_CLOSED;
    move(b, h, BREAKER_CLOSED, 0, (struct now){0});
    return says(h, closes, BREAKER_CLOSED) ? NULL
                                           : "a breaker does not close by hand";
}

const char *breakers_moved(struct breakers *b, uint32_t handler,
                           enum breaker_state to, struct now now)
{
    struct breaker *h = &b->of[handler];
    if (to != BREAKER_HALF_OPEN) {
        if (h->said)
            return "a breaker moves twice at once";
        h->said = true;
        h->says = to;
        return NULL;
    }
    if (h->kept.state != BREAKER_OPEN || now.wall_ms < h->kept.until_ms)
        return "a breaker is half open before its time";
    move(b, h, BREAKER_HALF_OPEN, 0, now);
    return NULL;
}

/* --- what executions tell ------------------------------------------------ */

static bool trips(const struct breaker_settings *s, uint32_t good, uint32_t bad)
{
    return good + bad >= s->least &&
           (uint64_t)bad * 100 >= (uint64_t)(good + bad) * s->percent;
}

/* From the newest on: wherever the window may end, in its last tenth. */
static enum must judge_window(const struct breaker *h, struct now now)
{
    const struct breaker_settings *s = &h->kept.set;
    uint64_t tenth_ms = s->window_ms < 10 ? 1 : s->window_ms / 10;
    uint32_t good = 0, bad = 0, back = h->n < OUTCOMES ? h->n : OUTCOMES;
    bool may = false, must = true;
    for (uint32_t i = 0; i <= back; i++) {
        const struct outcome *o = &h->last[(h->n - 1 - i) % OUTCOMES];
        uint64_t age_ms = i == back ? UINT64_MAX : now.mono_ms - o->at_ms;
        if (age_ms > 9 * tenth_ms) {
            may = may || trips(s, good, bad);
            must = must && trips(s, good, bad);
        }
        if (age_ms >= 10 * tenth_ms)
            break;
        good += o->good;
        bad += !o->good;
    }
    return must ? MUST_OPEN : may ? MAY_OPEN : MUST_STAY;
}

static enum must outcome(struct breaker *h, enum told told, struct now now)
{
    if (told == TOLD_NOTHING || told == TOLD_LOST)
        return MUST_STAY;
    h->last[h->n++ % OUTCOMES] =
        (struct outcome){now.mono_ms, told == TOLD_GOOD};
    return told == TOLD_GOOD ? MUST_STAY : judge_window(h, now);
}

static enum must probe(struct breaker *h, enum told told)
{
    if (told == TOLD_BAD || told == TOLD_LOST)
        return MUST_OPEN;
    h->passed += told == TOLD_GOOD;
    return h->passed >= h->kept.set.probes ? MUST_CLOSE : MUST_STAY;
}

void breakers_ended(struct breakers *b, const struct model *m, uint32_t k,
                    enum told told, struct now now)
{
    const struct mjob *j = model_job(m, k);
    struct breaker *h = &b->of[j->handler];
    ASSERT(!b->pending);
    b->pending = true;
    b->handler = j->handler;
    b->when = now;
    b->must = MUST_STAY;
    if (j->handler == 0 || !h->kept.on || !recent(h, j))
        return;
    if (h->kept.state == BREAKER_HALF_OPEN && j->probe)
        b->must = probe(h, told);
    else if (h->kept.state == BREAKER_CLOSED)
        b->must = outcome(h, told, now);
}

/* Fewer probes have become enough: it closes when the next one ends, however
 * that does. */
static bool may_close(const struct breaker *h)
{
    return h->kept.state == BREAKER_HALF_OPEN &&
           h->passed >= h->kept.set.probes;
}

const char *breakers_judge(struct breakers *b)
{
    bool was = b->pending;
    struct breaker *h = &b->of[b->handler];
    b->pending = false;
    if (was && b->must == MAY_OPEN)
        b->must = h->said ? MUST_OPEN : MUST_STAY;
    if (was && b->must == MUST_OPEN) {
        move(b, h, BREAKER_OPEN, h->kept.set.open_ms, b->when);
        if (!says(h, true, BREAKER_OPEN))
            return "a breaker does not open";
    } else if (was && b->must == MUST_CLOSE) {
        move(b, h, BREAKER_CLOSED, 0, b->when);
        if (!says(h, true, BREAKER_CLOSED))
            return "a breaker does not close";
    }
    for (uint32_t i = 0; i < BREAKERS; i++) {
        h = &b->of[i];
        if (may_close(h) && h->said && h->says == BREAKER_CLOSED)
            move(b, h, BREAKER_CLOSED, 0, b->when);
        else if (!says(h, false, BREAKER_CLOSED))
            return "a breaker moves, and nothing tells why";
        h->said = false;
    }
    return NULL;
}

/* --- what starts --------------------------------------------------------- */

static uint32_t probing(const struct breakers *b, const struct model *m,
                        uint32_t handler)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < model_jobs(m); k++) {
        const struct mjob *j = model_job(m, k);
        n += j->state == M_RUNNING && j->handler == handler && j->probe &&
             recent(&b->of[handler], j);
    }
    return n;
}

const char *breakers_leased(struct breakers *b, struct model *m, uint32_t k)
{
    uint32_t handler = model_job(m, k)->handler;
    struct breaker *h = &b->of[handler];
    bool half = handler > 0 && h->kept.on && h->kept.state == BREAKER_HALF_OPEN;
    if (handler > 0 && h->kept.state == BREAKER_OPEN)
        return "a job was leased whose breaker is open";
    model_under_breaker(m, k, h->kept.trips, half);
    if (half && probing(b, m, handler) > h->passed + 1)
        return "more probes run than may";
    return NULL;
}

bool breakers_fit(const struct breakers *b, const struct model *m, uint32_t k)
{
    uint32_t handler = model_job(m, k)->handler;
    const struct breaker *h = &b->of[handler];
    if (h->kept.state == BREAKER_HALF_OPEN)
        return probing(b, m, handler) < h->passed + 1;
    return h->kept.state == BREAKER_CLOSED;
}

const char *breakers_seen(const struct breakers *b, const struct model *m,
                          uint32_t handler, const struct breaker_view *v,
                          struct now now)
{
    const struct breaker *h = &b->of[handler];
    const struct kept *kept = &h->kept;
    if (kept->state == BREAKER_OPEN && kept->until_ms <= now.wall_ms)
        return "a breaker is open beyond its time";
    if (v->on != kept->on || v->state != kept->state || v->trips != kept->trips)
        return "a breaker stands otherwise than it should";
    if (v->state == BREAKER_HALF_OPEN &&
        (v->probing != probing(b, m, handler) || v->probed_well != h->passed))
        return "a breaker counts other probes";
    return NULL;
}
