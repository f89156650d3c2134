/* Intrusive doubly linked list. The list borrows its members.
 *
 * A node that is in no list points at itself or is zeroed; list_remove() of
 * such a node does nothing, so cleaning up needs no flag.
 */
#ifndef UTIL_LIST_H
#define UTIL_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "util/assert.h"

struct list {
    struct list *prev, *next;
};

static inline void list_init(struct list *l)
{
    l->prev = l->next = l;
}

static inline bool list_linked(const struct list *n)
{
    return n->next != NULL && n->next != n;
}

static inline bool list_empty(const struct list *head)
{
    return !list_linked(head);
}

static inline void list_append(struct list *head, struct list *n)
{
    ASSERT(!list_linked(n));
    n->prev = head->prev;
    n->next = head;
    head->prev->next = n;
    head->prev = n;
}

static inline void list_prepend(struct list *head, struct list *n)
{
    list_append(head->next, n); /* before the first */
}

static inline void list_remove(struct list *n)
{
    if (list_linked(n)) {
        n->prev->next = n->next;
        n->next->prev = n->prev;
    }
    list_init(n);
}

/* The first member without removing it, or NULL. */
static inline struct list *list_first(const struct list *head)
{
    return list_empty(head) ? NULL : head->next;
}

static inline struct list *list_pop(struct list *head)
{
    struct list *n = list_first(head);
    if (n != NULL)
        list_remove(n);
    return n;
}

/* Move all members of `from` to the empty list `to`. */
static inline void list_take(struct list *to, struct list *from)
{
    ASSERT(list_empty(to));
    list_init(to);
    if (list_empty(from))
        return;
    list_append(from, to);
    list_remove(from);
}

/* `it` may be removed inside the loop. */
#define LIST_FOR(it, head)                                                    \
    for (struct list *it = (head)->next, *it##_next = it->next; it != (head); \
         it = it##_next, it##_next = it->next)

#endif
