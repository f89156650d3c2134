#include "util/heap.h"

#include "util/alloc.h"
#include "util/assert.h"

void heap_init(struct heap *h, heap_less_fn less)
{
    *h = (struct heap){.less = less};
}

void heap_release(struct heap *h)
{
    FREE(&h->nodes);
    h->len = h->cap = 0;
}

static void place(struct heap *h, size_t i, struct heap_node *n)
{
    h->nodes[i] = n;
    n->index = i + 1;
}

static void sift_up(struct heap *h, size_t i)
{
    struct heap_node *n = h->nodes[i];
    while (i > 0) {
        size_t parent = (i - 1) / 2;
        if (!h->less(n, h->nodes[parent]))
            break;
        place(h, i, h->nodes[parent]);
        i = parent;
    }
    place(h, i, n);
}

/* Behind the end if there is none. */
static size_t lesser_child(const struct heap *h, size_t i)
{
    size_t child = 2 * i + 1;
    return child + 1 < h->len && h->less(h->nodes[child + 1], h->nodes[child])
               ? child + 1
               : child;
}

static void sift_down(struct heap *h, size_t i)
{
    struct heap_node *n = h->nodes[i];
    for (size_t child; (child = lesser_child(h, i)) < h->len; i = child) {
        if (!h->less(h->nodes[child], n))
            break;
        place(h, i, h->nodes[child]);
    }
    place(h, i, n);
}

void heap_add(struct heap *h, struct heap_node *n)
{
    ASSERT(n->index == 0);
    if (h->len == h->cap) {
        h->cap = h->cap == 0 ? 16 : h->cap * 2;
        h->nodes = (struct heap_node **)mem_realloc(
            h->nodes, h->cap * sizeof(struct heap_node *));
    }
    h->nodes[h->len] = n;
    h->len++;
    sift_up(h, h->len - 1);
}

void heap_changed(struct heap *h, struct heap_node *n)
{
    size_t i = n->index - 1;
    ASSERT(n->index != 0 && h->nodes[i] == n);
    sift_up(h, i);
    sift_down(h, n->index - 1);
}

void heap_rebuild(struct heap *h)
{
    for (size_t i = h->len / 2; i > 0; i--)
        sift_down(h, i - 1);
}

void heap_remove(struct heap *h, struct heap_node *n)
{
    if (n->index == 0)
        return;
    size_t i = n->index - 1;
    ASSERT(i < h->len && h->nodes[i] == n);
    struct heap_node *last = h->nodes[--h->len];
    n->index = 0;
    if (last == n)
        return;
    /* The last one belongs near the bottom: the hole sinks there unasked. */
    for (size_t child; (child = lesser_child(h, i)) < h->len; i = child)
        place(h, i, h->nodes[child]);
    h->nodes[i] = last;
    sift_up(h, i);
}

void heap_check(const struct heap *h)
{
    for (size_t i = 0; i < h->len; i++) {
        ASSERT(h->nodes[i]->index == i + 1);
        if (i > 0)
            ASSERT(!h->less(h->nodes[i], h->nodes[(i - 1) / 2]));
    }
}
