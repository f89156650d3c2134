#include "crew.h"

#include <string.h>

#include "util/alloc.h"
#include "util/assert.h"

struct session {
    uint32_t lines; /* a bit for each connection */
    bool seen;      /* one, since the start */
    uint64_t ends_ms;
};

struct drain {
    bool on, registered;
    bool was;         /* registered, at any time */
    uint64_t seen_ms; /* monotonic: it is forgotten when it has been silent */
};

struct request {
    uint32_t number; /* and 1 */
    uint8_t variant;
    struct crew_got got[CREW_GOT];
    uint32_t n;
};

struct crew {
    struct undo *undo;
    uint64_t grace_ms, forget_ms;
    struct session sessions[CREW_SESSIONS];
    struct drain drains[CREW_WORKERS];
    struct request requests[CREW_REQUESTS];
};

struct crew *crew_new(struct undo *u, uint64_t grace_ms, uint64_t forget_ms)
{
    struct crew *c = NEW(struct crew);
    c->undo = u;
    c->grace_ms = grace_ms;
    c->forget_ms = forget_ms;
    return c;
}

void crew_free(struct crew **c)
{
    FREE(c);
}

/* --- sessions ------------------------------------------------------------ */

static void not_before(struct session *s, uint64_t at_ms)
{
    if (s->ends_ms < at_ms)
        s->ends_ms = at_ms;
}

/* All connections are gone; each session has the length of its leases to come
 * back. */
void crew_crashed(struct crew *c, const struct model *m, struct now now)
{
    for (uint32_t i = 0; i < CREW_SESSIONS; i++)
        c->sessions[i] = (struct session){.ends_ms = now.mono_ms + c->grace_ms};
    for (uint32_t k = 0; k < model_jobs(m); k++) {
        const struct mjob *j = model_job(m, k);
        if (j->state == M_RUNNING && j->session > 0)
            not_before(&c->sessions[j->session - 1], now.mono_ms + j->lease_ms);
    }
}

void crew_attached(struct crew *c, uint32_t session, uint32_t line)
{
    c->sessions[session].lines |= (uint32_t)1 << line;
    c->sessions[session].seen = true;
    c->sessions[session].ends_ms = 0;
}

void crew_gone(struct crew *c, uint32_t line, struct now now)
{
    for (uint32_t i = 0; i < CREW_SESSIONS; i++) {
        struct session *s = &c->sessions[i];
        bool was = s->lines != 0;
        s->lines &= ~((uint32_t)1 << line);
        if (was && s->lines == 0)
            not_before(s, now.mono_ms + c->grace_ms);
    }
}

void crew_leased(struct crew *c, uint32_t session, struct now now)
{
    if (c->sessions[session].lines == 0)
        not_before(&c->sessions[session], now.mono_ms + c->grace_ms);
}

bool crew_over(const struct crew *c, uint32_t session, struct now now)
{
    const struct session *s = &c->sessions[session];
    return s->lines == 0 && s->ends_ms <= now.mono_ms;
}

bool crew_back(const struct crew *c, uint32_t session)
{
    return c->sessions[session].seen;
}

/* --- workers ------------------------------------------------------------- */

static bool is_silent(const struct crew *c, const struct drain *d,
                      struct now now)
{
    return now.mono_ms >= d->seen_ms + c->forget_ms;
}

void crew_drain(struct crew *c, uint32_t worker, bool drain, struct now now)
{
    UNDO_SAVE(c->undo, &c->drains[worker]);
    c->drains[worker] = (struct drain){drain, true, true, now.mono_ms};
}

void crew_asked(struct crew *c, uint32_t worker, struct now now)
{
    const struct drain *d = &c->drains[worker];
    if (d->registered && !is_silent(c, d, now))
        crew_drain(c, worker, d->on, now);
}

void crew_beat(struct crew *c, uint32_t worker, bool drains, struct now now)
{
    crew_drain(c, worker, drains, now);
}

void crew_forget(struct crew *c, uint32_t worker)
{
    UNDO_SAVE(c->undo, &c->drains[worker]);
    c->drains[worker] = (struct drain){.was = true};
}

/* The first by name that has registered with it; should one before that have
 * gone, it may not know so far. */
uint8_t crew_named(const struct crew *c, uint32_t session, struct now now)
{
    for (uint32_t i = session; i < CREW_WORKERS; i += CREW_SESSIONS) {
        const struct drain *d = &c->drains[i];
        if (d->registered && !is_silent(c, d, now))
            return (uint8_t)(i + 1);
        if (d->was)
            return CREW_UNKNOWN;
    }
    return 0;
}

enum crew_drains crew_drains(const struct crew *c, uint32_t worker,
                             struct now now)
{
    const struct drain *d = &c->drains[worker];
    if (!d->on)
        return DRAINS_NOT;
    return is_silent(c, d, now) ? DRAINS_MAYBE : DRAINS;
}

enum crew_drains crew_drains_as(const struct crew *c, uint8_t worker,
                                uint8_t session, struct now now)
{
    if (worker == 0 && session > 0)
        worker = crew_named(c, session - 1u, now);
    if (worker == CREW_UNKNOWN)
        return DRAINS_MAYBE;
    return worker == 0 ? DRAINS_NOT : crew_drains(c, worker - 1u, now);
}

/* --- requests ------------------------------------------------------------ */

static const struct request *request_of(const struct crew *c, uint32_t number)
{
    const struct request *r = &c->requests[number % CREW_REQUESTS];
    return r->number == number + 1 ? r : NULL;
}

static bool lives(const struct model *m, const struct crew_got *g)
{
    const struct mjob *j = model_job(m, g->k);
    return j->state == M_RUNNING && j->delivery == g->delivery;
}

uint32_t crew_alive(const struct crew *c, const struct model *m,
                    uint32_t number)
{
    const struct request *r = request_of(c, number);
    uint32_t n = 0;
    for (uint32_t i = 0; r != NULL && i < r->n; i++)
        n += lives(m, &r->got[i]);
    return n;
}

bool crew_is_again(const struct crew *c, const struct model *m, uint32_t number,
                   uint32_t k, uint32_t delivery)
{
    const struct request *r = request_of(c, number);
    for (uint32_t i = 0; r != NULL && i < r->n; i++)
        if (r->got[i].k == k && r->got[i].delivery == delivery)
            return lives(m, &r->got[i]);
    return false;
}

bool crew_differs(const struct crew *c, const struct model *m, uint32_t number,
                  uint8_t variant)
{
    const struct request *r = request_of(c, number);
    return crew_alive(c, m, number) > 0 && r->variant != variant;
}

void crew_got(struct crew *c, uint32_t number, uint8_t variant,
              const struct crew_got *got, uint32_t n)
{
    struct request *r = &c->requests[number % CREW_REQUESTS];
    ASSERT(n <= CREW_GOT);
    UNDO_SAVE(c->undo, r);
    r->number = number + 1;
    r->variant = variant;
    r->n = n;
    memcpy(r->got, got, n * sizeof(*got));
}
