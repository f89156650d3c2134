/* Owners that may add so many jobs, and so fast. */
#include <stdio.h>

#include "world_impl.h"

/* Few, so that they are reached at times. */
#define LIVE 8
#define ADDS 7

void quotas_begin(struct world *w)
{
    w->quotas = quotas_new(w->undo);
    if (w->owners >= QUOTAS_OWNERS)
        w->owners = 4;
}

static struct slice name_of(uint8_t owner, char *to, size_t size)
{
    (void)snprintf(to, size, "owner-%u", owner);
    return slice_str(to);
}

static void look(struct world *w, uint8_t owner)
{
    char name[16];
    struct owner_view v;
    enum err rc =
        engine_owner(w->engine, name_of(owner, name, sizeof(name)), &v, &w->e);
    violate(w, NULL,
            quotas_seen(w->quotas, w->model, owner, rc == ERR_OK ? &v : NULL,
                        w->now));
}

void quotas_look(struct world *w)
{
    for (uint8_t i = 1; i <= w->owners; i++)
        look(w, i);
}

static void draw_set(struct world *w, struct quota_set *set)
{
    static const uint64_t periods[] = {1000, 10000, 60000, 600000};
    *set = (struct quota_set){.has_live = chance(w, 600)};
    set->has_adds = !set->has_live || chance(w, 300);
    if (chance(w, 800))
        set->live = 1 + rng_below(&w->rng, LIVE);
    if (chance(w, 800)) {
        set->adds.n = 1 + rng_below(&w->rng, ADDS);
        set->adds.per_ms = periods[rng_below(&w->rng, 4)];
    }
}

enum err quotas_run(struct world *w)
{
    uint8_t owner = (uint8_t)(1 + rng_below(&w->rng, w->owners));
    char name[16];
    struct quota_set set;
    draw_set(w, &set);
    struct owner_settings s = {.has_live = set.has_live,
                               .live_max = set.live,
                               .has_adds = set.has_adds,
                               .adds = set.adds};
    trace(w, "  owner %u has %d/%llu adds %d/%llu per %llu", owner,
          set.has_live, (unsigned long long)set.live, set.has_adds,
          (unsigned long long)set.adds.n, (unsigned long long)set.adds.per_ms);
    enum err rc = engine_owner_set(
        w->engine, name_of(owner, name, sizeof(name)), &s, w->now, &w->e);
    if (rc == ERR_OK)
        quotas_said(w->quotas, owner, &set);
    look(w, owner);
    return rc;
}

enum quota_word quotas_expect(const struct world *w, const struct op *op)
{
    uint32_t k, more = op->n;
    if (w->quotas == NULL || op->owner == 0)
        return QUOTA_PASS;
    if (keys_replace(w, op, &k) && model_job(w->model, k)->owner == op->owner)
        more = 0;
    return quotas_ask(w->quotas, w->model, op->owner, op->n, more, w->now);
}

bool quotas_judge(struct world *w, const struct op *op,
                  enum quota_word expected, enum err rc, bool made)
{
    if (rc == ERR_LIMIT && expected != QUOTA_PASS) {
        uint32_t k;
        if (w->keys != NULL && !keys_make(w, op) && !keys_replace(w, op, &k))
            violate(w, op, "a quota refuses what would be no new job");
        return false;
    }
    if (rc != ERR_OK || !made)
        return true;
    if (expected == QUOTA_REFUSE)
        violate(w, op, "an owner adds more than it may");
    if (w->quotas != NULL && op->owner > 0)
        quotas_added(w->quotas, op->owner, op->n);
    return true;
}
