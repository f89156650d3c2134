/* Intrusive binary heap: the least member is on top.
 *
 *               top
 *              /   \        node[i].children = node[2i+1], node[2i+2]
 *             .     .
 *
 * The heap borrows its members. A member outside every heap has index 0.
 */
#ifndef UTIL_HEAP_H
#define UTIL_HEAP_H

#include <stdbool.h>
#include <stddef.h>

struct heap_node {
    size_t index; /* 1-based; 0 = in no heap */
};

typedef bool (*heap_less_fn)(const struct heap_node *a,
                             const struct heap_node *b);

struct heap {
    size_t len, cap;
    struct heap_node **nodes;
    heap_less_fn less;
};

void heap_init(struct heap *h, heap_less_fn less);
void heap_release(struct heap *h);

void heap_add(struct heap *h, struct heap_node *n);
void heap_remove(struct heap *h, struct heap_node *n);  /* none = no-op */
void heap_changed(struct heap *h, struct heap_node *n); /* its key changed */
void heap_rebuild(struct heap *h);                      /* all keys have */

static inline struct heap_node *heap_top(const struct heap *h)
{
    return h->len == 0 ? NULL : h->nodes[0];
}

static inline bool heap_in(const struct heap_node *n)
{
    return n->index != 0;
}

void heap_check(const struct heap *h);

#endif
