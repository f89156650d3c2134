/* Owners: weights, quotas, and how many live jobs they have.
 *
 * The number of live jobs is counted where jobs are born and end, and written
 * once a tick. The quota of running jobs is the limit `owner:<name>`. How often
 * an owner adds is remembered in memory only: a restart forgives.
 */
#include "engine/core.h"

static struct live_block *block_of(const struct engine *e, uint32_t id)
{
    return e->lives[id / LIVE_BLOCK];
}

void owner_born(struct engine *e, const struct owner *o)
{
    uint32_t i = o->set.id / LIVE_BLOCK;
    e->lives = names_array(e->lives, &e->lives_n, i);
    if (e->lives[i] != NULL)
        return;
    e->lives[i] = NEW(struct live_block);
    e->lives[i]->first = i * LIVE_BLOCK;
}

void owner_quota_changed(struct engine *e, const struct owner *o)
{
    uint32_t bit = (uint32_t)1 << o->set.id % LIVE_BLOCK;
    struct live_block *b = block_of(e, o->set.id);
    _Static_assert(LIVE_BLOCK <= 32, "a bit for each owner");
    if (o->gate != NULL || o->set.running_max > 0)
        b->quotas |= bit;
    else
        b->quotas &= ~bit;
}

static bool is_owner(const struct engine *e, uint32_t id)
{
    return id < e->owners_n && e->owners[id] != NULL;
}

bool owner_has_quota(const struct engine *e, const struct job *j)
{
    return is_owner(e, j->owner) &&
           (block_of(e, j->owner)->quotas >> j->owner % LIVE_BLOCK & 1) != 0;
}

uint32_t owner_running(const struct engine *e, const struct owner *o)
{
    return block_of(e, o->set.id)->running[o->set.id % LIVE_BLOCK];
}

void owner_runs(struct engine *e, const struct job *j, int by)
{
    if (!is_owner(e, j->owner))
        return;
    uint32_t *n = &block_of(e, j->owner)->running[j->owner % LIVE_BLOCK];
    ASSERT(by > 0 || *n > 0);
    *n = by > 0 ? *n + 1 : *n - 1;
}

uint64_t owner_live(const struct engine *e, uint32_t id)
{
    return block_of(e, id)->n[id % LIVE_BLOCK];
}

static void count(struct engine *e, uint32_t id, uint64_t n)
{
    struct live_block *b = block_of(e, id);
    b->n[id % LIVE_BLOCK] = n;
    if (list_linked(&b->touched))
        return;
    list_append(&e->touched_lives, &b->touched);
    e->owed_bytes += 2 * sizeof(struct rec_live);
}

void owner_count(struct engine *e, const struct job *j, int by)
{
    if ((j->flags & JOBF_OWNED) == 0 || !is_owner(e, j->owner))
        return;
    uint64_t n = owner_live(e, j->owner);
    ASSERT(by > 0 || n > 0);
    count(e, j->owner, by > 0 ? n + 1 : n - 1);
}

void owner_recount(struct engine *e, const struct owner *o, uint64_t live)
{
    count(e, o->set.id, live);
}

static void live_store(struct engine *e, const struct live_block *b)
{
    struct rec_live r;
    char name[4];
    struct key k;
    _Static_assert(sizeof(r) == sizeof(b->n), "a field for each owner");
    memcpy(&r, b->n, sizeof(r));
    rec_live_encode(
        &r, store_put(e->store, FAMILY_NAMED,
                      key_named(&k, NAMED_LIVE, name_u32(b->first, name)),
                      rec_live_size(&r), false));
}

bool owner_load_live(struct engine *e, uint32_t first, struct slice value)
{
    struct rec_live r;
    if (first % LIVE_BLOCK != 0 || !rec_live_decode(&r, value))
        return false;
    uint64_t n[LIVE_BLOCK];
    memcpy(n, &r, sizeof(n));
    for (uint32_t i = 0; i < LIVE_BLOCK; i++)
        if (n[i] > 0 &&
            (first + i >= e->owners_n || e->owners[first + i] == NULL))
            return false;
    if (first / LIVE_BLOCK < e->lives_n && block_of(e, first) != NULL)
        memcpy(block_of(e, first)->n, n, sizeof(n));
    return true;
}

void owners_commit(struct engine *e)
{
    struct list *it;
    while ((it = list_pop(&e->touched_lives)) != NULL)
        live_store(e, CONTAINER_OF(it, struct live_block, touched));
}

void lives_free(struct engine *e)
{
    for (uint32_t i = 0; i < e->lives_n; i++)
        mem_free(e->lives[i]);
    FREE(&e->lives);
}

static struct rate adds_of(const struct owner *o)
{
    return (struct rate){o->set.add_rate, o->set.add_per_ms, o->set.add_rate};
}

enum err owner_admits(struct engine *e, struct owner *o, uint32_t n,
                      uint32_t more, struct now now, struct errbuf *err)
{
    uint64_t live = owner_live(e, o->set.id);
    if (o->set.live_max > 0 && more > 0 && live + more > o->set.live_max)
        return err_set(err, ERR_LIMIT,
                       "owner %.*s has %llu live jobs; LIVE allows %llu",
                       SLICE_FMT(o->name), (unsigned long long)live,
                       (unsigned long long)o->set.live_max);
    struct rate r = adds_of(o);
    (void)rate_follow(&o->adds, now.wall_ms);
    uint64_t fits = rate_fits_ms(&r, o->adds.tat_us, n);
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
    o->adds.tat_us = rate_take(&r, o->adds.tat_us, n, now.wall_ms);
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
        o->adds.tat_us = 0;
    }
    if (s->has_running) {
        o->set.running_max = s->running_max;
        owner_quota_changed(e, o);
        limit_settle(e, owner_gate(e, o), now);
    }
    owner_store(e, o);
    return ERR_OK;
}

static void view_of(const struct engine *e, const struct owner *o,
                    struct owner_view *v)
{
    *v = (struct owner_view){.name = o->name,
                             .set = {.weight = o->set.weight,
                                     .live_max = o->set.live_max,
                                     .running_max = o->set.running_max,
                                     .adds = adds_of(o)},
                             .live = owner_live(e, o->set.id),
                             .running = owner_running(e, o)};
}

enum err engine_owner(struct engine *e, struct slice owner,
                      struct owner_view *v, struct errbuf *err)
{
    struct owner *o = owner_find(e, owner);
    if (o == NULL)
        return err_set(err, ERR_NOTFOUND, "no such owner");
    view_of(e, o, v);
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
        view_of(e, e->owners[i], &v);
        fn(ud, &v);
        n--;
    }
    *cursor = i < e->owners_n ? i : 0;
}
