/* Owners: weights, quotas, and how many live jobs they have.
 *
 * The number of live jobs is counted where jobs are born and end, and written
 * once a tick. The quota of running jobs is the limit `owner:<name>`. How often
 * an owner adds is remembered in memory only: a restart forgives.
 */
#include "engine/core.h"

void owner_touch(struct engine *e, struct owner *o)
{
    if (!list_linked(&o->touched))
        list_append(&e->touched_owners, &o->touched);
}

void owner_count(struct engine *e, const struct job *j, int by)
{
    if ((j->flags & JOBF_OWNED) == 0)
        return;
    struct owner *o = j->owner < e->owners_n ? e->owners[j->owner] : NULL;
    if (o == NULL)
        return;
    ASSERT(by > 0 || o->live > 0);
    if (by > 0)
        o->live++;
    else
        o->live--;
    owner_touch(e, o);
}

/* The live jobs of the owners from `first` on, those that are touched and the
 * others of their block. */
static void live_store(struct engine *e, uint32_t first)
{
    uint64_t n[LIVE_BLOCK] = {0};
    char name[4];
    struct key k;
    for (uint32_t i = 0; i < LIVE_BLOCK && first + i < e->owners_n; i++) {
        struct owner *o = e->owners[first + i];
        if (o == NULL)
            continue;
        n[i] = o->live;
        if (list_linked(&o->touched))
            list_remove(&o->touched);
    }
    struct rec_live r = {n[0], n[1], n[2],  n[3],  n[4],  n[5],  n[6],  n[7],
                         n[8], n[9], n[10], n[11], n[12], n[13], n[14], n[15]};
    rec_live_encode(&r,
                    store_put(e->store, FAMILY_NAMED,
                              key_named(&k, NAMED_LIVE, name_u32(first, name)),
                              rec_live_size(&r), false));
}

bool owner_load_live(struct engine *e, uint32_t first, struct slice value)
{
    struct rec_live r;
    if (first % LIVE_BLOCK != 0 || !rec_live_decode(&r, value))
        return false;
    const uint64_t n[LIVE_BLOCK] = {r.n0,  r.n1,  r.n2,  r.n3, r.n4,  r.n5,
                                    r.n6,  r.n7,  r.n8,  r.n9, r.n10, r.n11,
                                    r.n12, r.n13, r.n14, r.n15};
    for (uint32_t i = 0; i < LIVE_BLOCK; i++) {
        struct owner *o = first + i < e->owners_n ? e->owners[first + i] : NULL;
        if (o != NULL)
            o->live = n[i];
        else if (n[i] > 0)
            return false;
    }
    return true;
}

void owners_commit(struct engine *e)
{
    struct list *it;
    while ((it = list_pop(&e->touched_owners)) != NULL) {
        struct owner *o = CONTAINER_OF(it, struct owner, touched);
        live_store(e, o->set.id - o->set.id % LIVE_BLOCK);
    }
}

static struct rate adds_of(const struct owner *o)
{
    return (struct rate){o->set.add_rate, o->set.add_per_ms, o->set.add_rate};
}

enum err owner_admits(struct engine *e, const struct owner *o, uint32_t n,
                      struct now now, struct errbuf *err)
{
    (void)e;
    if (o->set.live_max > 0 && o->live + n > o->set.live_max)
        return err_set(err, ERR_LIMIT,
                       "owner %.*s has %llu live jobs; LIVE allows %llu",
                       SLICE_FMT(o->name), (unsigned long long)o->live,
                       (unsigned long long)o->set.live_max);
    struct rate r = adds_of(o);
    uint64_t fits = rate_fits_ms(&r, o->add_tat_us, n, now.wall_ms);
    if (fits > now.wall_ms)
        return err_set(err, ERR_LIMIT,
                       "owner %.*s adds faster than ADDS allows; again in "
                       "%llu ms",
                       SLICE_FMT(o->name),
                       (unsigned long long)(fits - now.wall_ms));
    return ERR_OK;
}

void owner_added(struct owner *o, uint32_t n, struct now now)
{
    struct rate r = adds_of(o);
    o->add_tat_us = rate_take(&r, o->add_tat_us, n, now.wall_ms);
}

enum err engine_owner_set(struct engine *e, struct slice owner,
                          const struct owner_settings *s, struct now now,
                          struct errbuf *err)
{
    enum err rc = name_check(owner, "owner", err);
    if (rc == ERR_OK && s->has_weight &&
        (s->weight == 0 || s->weight > WEIGHT_MAX))
        rc = err_set(err, ERR_SYNTAX, "WEIGHT is 1 to %d", WEIGHT_MAX);
    if (rc == ERR_OK && s->has_adds)
        rc = rate_check(&s->adds, err);
    if (rc != ERR_OK)
        return rc;
    struct owner *o = owner_make(e, owner);
    if (o == NULL)
        return err_set(err, ERR_LIMIT, "there are %u owners already",
                       (unsigned)e->config.names_max);
    if (s->has_weight)
        o->set.weight = s->weight;
    if (s->has_live)
        o->set.live_max = s->live_max;
    if (s->has_adds) {
        o->set.add_rate = s->adds.n;
        o->set.add_per_ms = s->adds.n == 0 ? 0 : s->adds.per_ms;
        o->add_tat_us = 0;
    }
    if (s->has_running) {
        o->set.running_max = s->running_max;
        limit_settle(e, owner_gate(e, o), now);
    }
    owner_store(e, o);
    return ERR_OK;
}

static void view_of(const struct owner *o, struct owner_view *v)
{
    *v = (struct owner_view){.name = o->name,
                             .set = {.weight = o->set.weight,
                                     .live_max = o->set.live_max,
                                     .running_max = o->set.running_max,
                                     .adds = adds_of(o)},
                             .live = o->live,
                             .running = o->running};
}

enum err engine_owner(struct engine *e, struct slice owner,
                      struct owner_view *v, struct errbuf *err)
{
    struct owner *o = owner_find(e, owner);
    if (o == NULL)
        return err_set(err, ERR_NOTFOUND, "no such owner");
    view_of(o, v);
    return ERR_OK;
}

void engine_owners(struct engine *e, uint32_t *cursor, uint32_t n, owner_fn fn,
                   void *ud)
{
    uint32_t i = *cursor;
    for (; i < e->owners_n && n > 0; i++) {
        struct owner_view v;
        if (e->owners[i] == NULL)
            continue;
        view_of(e->owners[i], &v);
        fn(ud, &v);
        n--;
    }
    *cursor = i < e->owners_n ? i : 0;
}
