#include "util/line.h"

static struct line_node *of_list(const struct list *l)
{
    return CONTAINER_OF(l, struct line_node, in_turn);
}

static struct line_node *of_heap(const struct heap_node *n)
{
    return CONTAINER_OF(n, struct line_node, in_heap);
}

static bool is_before(const struct line *l, const struct list *a,
                      const struct list *b)
{
    return l->heap.less(&of_list(a)->in_heap, &of_list(b)->in_heap);
}

void line_init(struct line *l, heap_less_fn less)
{
    list_init(&l->in_turn);
    heap_init(&l->heap, less);
    l->len = 0;
}

void line_release(struct line *l)
{
    heap_release(&l->heap);
}

static void put(struct line *l, struct line_node *n)
{
    const struct list *last = l->in_turn.prev;
    if (last == &l->in_turn || !is_before(l, &n->in_turn, last))
        list_append(&l->in_turn, &n->in_turn);
    else
        heap_add(&l->heap, &n->in_heap);
}

void line_add(struct line *l, struct line_node *n)
{
    ASSERT(!line_in(n));
    put(l, n);
    l->len++;
}

void line_remove(struct line *l, struct line_node *n)
{
    if (!line_in(n))
        return;
    if (heap_in(&n->in_heap))
        heap_remove(&l->heap, &n->in_heap);
    else
        list_remove(&n->in_turn);
    l->len--;
}

void line_changed(struct line *l, struct line_node *n)
{
    const struct list *at = &n->in_turn;
    if (list_linked(at)) {
        if ((at->prev == &l->in_turn || !is_before(l, at, at->prev)) &&
            (at->next == &l->in_turn || !is_before(l, at->next, at)))
            return;
        list_remove(&n->in_turn);
        put(l, n);
        return;
    }
    const struct list *last = l->in_turn.prev;
    if (last != &l->in_turn && is_before(l, at, last)) {
        heap_changed(&l->heap, &n->in_heap);
        return;
    }
    heap_remove(&l->heap, &n->in_heap);
    list_append(&l->in_turn, &n->in_turn);
}

void line_rebuild(struct line *l)
{
    struct list *it;
    heap_rebuild(&l->heap);
    struct list all;
    list_init(&all);
    list_take(&all, &l->in_turn);
    while ((it = list_pop(&all)) != NULL)
        put(l, of_list(it));
}

struct line_node *line_least(const struct line *l)
{
    struct list *first = list_first(&l->in_turn);
    struct heap_node *top = heap_top(&l->heap);
    if (first == NULL || l->heap.less(top, &of_list(first)->in_heap))
        return of_heap(top);
    return of_list(first);
}

/* Of the heap's nodes (1 is the top, 2n and 2n + 1 are below n). */
static struct line_node *node_at(const struct line *l, size_t i)
{
    return i <= l->heap.len ? of_heap(l->heap.nodes[i - 1]) : NULL;
}

struct line_node *line_next(const struct line *l, const struct line_node *n)
{
    const struct list *next = n == NULL ? l->in_turn.next : n->in_turn.next;
    if (n != NULL && heap_in(&n->in_heap))
        return 2 * n->in_heap.index <= l->heap.len
                   ? node_at(l, 2 * n->in_heap.index)
                   : line_past(l, n);
    return next != &l->in_turn ? of_list(next) : node_at(l, 1);
}

struct line_node *line_past(const struct line *l, const struct line_node *n)
{
    size_t i = n->in_heap.index;
    if (i == 0)
        return node_at(l, 1);
    while (i > 1 && (i % 2 == 1 || i == l->heap.len))
        i /= 2;
    return i > 1 ? node_at(l, i + 1) : NULL;
}

void line_check(const struct line *l)
{
    size_t n = l->heap.len;
    heap_check(&l->heap);
    LIST_FOR (it, &l->in_turn) {
        ASSERT(!heap_in(&of_list(it)->in_heap));
        ASSERT(it->prev == &l->in_turn || !is_before(l, it, it->prev));
        n++;
    }
    ASSERT(n == l->len);
}
