#include "util/map.h"

#include "util/alloc.h"
#include "util/assert.h"

#define MAP_MIN 16
#define MAP_STEP 4

void map_init(struct map *m, map_eq_fn eq)
{
    *m = (struct map){.eq = eq};
}

void map_release(struct map *m)
{
    FREE(&m->now.buckets);
    FREE(&m->old.buckets);
    m->len = m->moved = 0;
    m->now.mask = m->old.mask = 0;
}

static struct map_node *find(const struct map_table *t, map_eq_fn eq,
                             uint64_t hash, const void *key)
{
    if (t->buckets == NULL)
        return NULL;
    struct map_node *n = t->buckets[hash & t->mask];
    while (n != NULL && !(n->hash == hash && eq(n, key)))
        n = n->next;
    return n;
}

struct map_node *map_get(const struct map *m, uint64_t hash, const void *key)
{
    struct map_node *n = find(&m->now, m->eq, hash, key);
    return n != NULL ? n : find(&m->old, m->eq, hash, key);
}

static void link_node(struct map_table *t, struct map_node *n)
{
    struct map_node **b = &t->buckets[n->hash & t->mask];
    n->next = *b;
    *b = n;
}

static void step(struct map *m)
{
    for (int i = 0; i < MAP_STEP && m->old.buckets != NULL; i++) {
        struct map_node *n = m->old.buckets[m->moved];
        m->old.buckets[m->moved] = NULL;
        while (n != NULL) {
            struct map_node *next = n->next;
            link_node(&m->now, n);
            n = next;
        }
        if (m->moved++ == m->old.mask) {
            FREE(&m->old.buckets);
            m->old.mask = 0;
        }
    }
}

static void grow(struct map *m)
{
    size_t size = m->now.buckets == NULL ? MAP_MIN : (m->now.mask + 1) * 2;
    m->old = m->now;
    m->moved = 0;
    m->now.buckets =
        (struct map_node **)mem_zalloc(size * sizeof(struct map_node *));
    m->now.mask = size - 1;
}

void map_add(struct map *m, struct map_node *n, uint64_t hash)
{
    step(m);
    if (m->old.buckets == NULL &&
        (m->now.buckets == NULL || m->len > m->now.mask / 2))
        grow(m);
    n->hash = hash;
    link_node(&m->now, n);
    m->len++;
}

static bool unlink_from(struct map_table *t, struct map_node *n)
{
    if (t->buckets == NULL)
        return false;
    struct map_node **p = &t->buckets[n->hash & t->mask];
    while (*p != NULL && *p != n)
        p = &(*p)->next;
    if (*p == NULL)
        return false;
    *p = n->next;
    return true;
}

void map_remove(struct map *m, struct map_node *n)
{
    bool found = unlink_from(&m->now, n) || unlink_from(&m->old, n);
    ASSERT(found);
    n->next = NULL;
    m->len--;
    step(m);
}

static void each_in(struct map_table *t, void (*fn)(struct map_node *, void *),
                    void *ud)
{
    if (t->buckets == NULL)
        return;
    for (size_t i = 0; i <= t->mask; i++) {
        struct map_node *n = t->buckets[i];
        while (n != NULL) {
            struct map_node *next = n->next;
            fn(n, ud);
            n = next;
        }
    }
}

void map_each(struct map *m, void (*fn)(struct map_node *n, void *ud), void *ud)
{
    /* fn may remove, and removing moves buckets: finish the growth first. */
    while (m->old.buckets != NULL)
        step(m);
    each_in(&m->now, fn, ud);
}
