/* Intrusive hash map. The map borrows its members; the member knows its key.
 *
 * Growing moves a few buckets per operation, so that no single call takes long
 * however many members there are:
 *
 *     old [.|.|.|.]  --- map_step() moves 4 buckets a call --->  new [........]
 *
 * Members are found by hash and an `eq` callback that compares a member with
 * the sought key. The low bits of the hash say where: of numbers take
 * hash_number(), or another that has them from all of its key.
 */
#ifndef UTIL_MAP_H
#define UTIL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_node {
    struct map_node *next;
    uint64_t hash;
};

/* True if `n` is the member that `key` names. */
typedef bool (*map_eq_fn)(const struct map_node *n, const void *key);

struct map_table {
    struct map_node **buckets;
    size_t mask; /* size - 1, or 0 with buckets == NULL */
};

struct map {
    struct map_table now, old; /* old.buckets != NULL while growing */
    size_t moved;              /* buckets of old that are empty by now */
    size_t len;
    map_eq_fn eq;
};

void map_init(struct map *m, map_eq_fn eq);
void map_release(struct map *m); /* the members are the caller's */

struct map_node *map_get(const struct map *m, uint64_t hash, const void *key);

/* The first member where `hash` belongs, or NULL. Mostly it is the one that
 * will be sought: somebody who knows what comes can ask for its memory. */
static inline const struct map_node *map_peek(const struct map *m,
                                              uint64_t hash)
{
    return m->now.buckets == NULL ? NULL : m->now.buckets[hash & m->now.mask];
}

/* The key must not be present. */
void map_add(struct map *m, struct map_node *n, uint64_t hash);
void map_remove(struct map *m, struct map_node *n);

/* Call `fn` for each member; `fn` may remove the member it is given. */
void map_each(struct map *m, void (*fn)(struct map_node *n, void *ud),
              void *ud);

#endif
