#include "quotas.h"

#include "owed.h"
#include "util/alloc.h"
#include "util/assert.h"

struct said {
    bool any; /* then there is such an owner */
    uint64_t live;
    struct rate adds;
};

struct quotas {
    struct undo *undo;
    struct owed_clock clock;
    struct said said[QUOTAS_OWNERS];
    struct owed owed[QUOTAS_OWNERS]; /* the engine keeps it in memory only */
};

struct quotas *quotas_new(struct undo *u)
{
    struct quotas *q = NEW(struct quotas);
    q->undo = u;
    return q;
}

void quotas_free(struct quotas **q)
{
    FREE(q);
}

void quotas_clock(struct quotas *q, struct now now)
{
    owed_clock(&q->clock, now);
}

void quotas_crashed(struct quotas *q)
{
    for (uint8_t i = 0; i < QUOTAS_OWNERS; i++)
        q->owed[i] = (struct owed){.least_us = 0};
}

void quotas_said(struct quotas *q, uint8_t owner, const struct quota_set *set)
{
    ASSERT(owner > 0 && owner < QUOTAS_OWNERS);
    struct said *s = &q->said[owner];
    UNDO_SAVE(q->undo, s);
    s->any = true;
    if (set->has_live)
        s->live = set->live;
    if (!set->has_adds)
        return;
    s->adds = set->adds;
    q->owed[owner] = (struct owed){.least_us = 0};
}

/* --- how many live ------------------------------------------------------- */

/* For certain, or at most. */
static uint64_t count(const struct model *m, uint8_t owner, bool at_most,
                      struct now now)
{
    uint64_t n = 0;
    for (uint32_t k = 0; k < model_jobs(m); k++) {
        const struct mjob *j = model_job(m, k);
        if (j->owner != owner)
            continue;
        if (model_is_live(m, k))
            n += at_most || model_sure(m, k, now);
        else
            n += at_most && j->purged;
    }
    return n;
}

/* --- requests ------------------------------------------------------------ */

void quotas_added(struct quotas *q, uint8_t owner, uint32_t n)
{
    const struct rate *r = &q->said[owner].adds;
    if (r->n > 0)
        owed_take(&q->clock, &q->owed[owner], n * owed_unit_us(r));
}

enum quota_word quotas_ask(const struct quotas *q, const struct model *m,
                           uint8_t owner, uint32_t n, uint32_t more,
                           struct now now)
{
    ASSERT(owner > 0 && owner < QUOTAS_OWNERS);
    const struct said *s = &q->said[owner];
    const struct rate *r = &s->adds;
    struct owed o = owed_now(&q->clock, &q->owed[owner]);
    bool bound = s->live > 0 && more > 0;
    if ((bound && count(m, owner, false, now) + more > s->live) ||
        (r->n > 0 && !owed_allows(r, r->n, o.least_us, n)))
        return QUOTA_REFUSE;
    if ((bound && count(m, owner, true, now) + more > s->live) ||
        (r->n > 0 && !owed_allows(r, r->n, o.most_us, n)))
        return QUOTA_MAYBE;
    return QUOTA_PASS;
}

const char *quotas_seen(const struct quotas *q, const struct model *m,
                        uint8_t owner, const struct owner_view *v,
                        struct now now)
{
    const struct said *s = &q->said[owner];
    if (v == NULL)
        return s->any ? "an owner is gone" : NULL;
    if (v->set.live_max != s->live || v->set.adds.n != s->adds.n ||
        (s->adds.n > 0 && v->set.adds.per_ms != s->adds.per_ms))
        return "an owner has another quota than was said";
    return v->live < count(m, owner, false, now) ||
                   v->live > count(m, owner, true, now)
               ? "an owner has another number of live jobs than is shown"
               : NULL;
}
