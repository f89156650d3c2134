/* A heap whose members mostly come in their order.
 *
 *     in turn   [a <= c <= d <= g]      a list: to add behind the last one and
 *     heap      (b, f, e)               to take the first one cost nothing
 *
 * A member that does not come before the last of the list is appended to it;
 * only others stand in the heap. The top is the lesser of both tops. Of a
 * thousand owners who take turns each would go through all of a heap, and touch
 * the memory of twenty others on its way.
 *
 * As in a heap, one member at a time may have another key than its place says:
 * line_changed() must follow. `less` compares the heap nodes of two members.
 */
#ifndef UTIL_LINE_H
#define UTIL_LINE_H

#include "util/heap.h"
#include "util/list.h"

struct line_node {
    struct heap_node in_heap; /* in this, or */
    struct list in_turn;      /* in this, or in none */
};

struct line {
    struct list in_turn;
    size_t len; /* of both */
    struct heap heap;
};

void line_init(struct line *l, heap_less_fn less);
void line_release(struct line *l);

void line_add(struct line *l, struct line_node *n);
void line_remove(struct line *l, struct line_node *n);  /* none = no-op */
void line_changed(struct line *l, struct line_node *n); /* its key changed */
void line_rebuild(struct line *l);                      /* all keys have */

struct line_node *line_least(const struct line *l); /* if there is a heap */

/* The least, or NULL. */
static inline struct line_node *line_top(const struct line *l)
{
    if (l->heap.len > 0)
        return line_least(l);
    return list_empty(&l->in_turn)
               ? NULL
               : CONTAINER_OF(l->in_turn.next, struct line_node, in_turn);
}

static inline bool line_in(const struct line_node *n)
{
    return heap_in(&n->in_heap) || list_linked(&n->in_turn);
}

/* All members in no order: the first (n = NULL), the next, NULL. */
struct line_node *line_next(const struct line *l, const struct line_node *n);
/* The same for one who wants neither n nor what does not come before it: most
 * of that is left out. */
struct line_node *line_past(const struct line *l, const struct line_node *n);

void line_check(const struct line *l);

#endif
