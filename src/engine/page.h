/* Names in order, a page of them: what the lists of queues, handlers, breakers
 * and workers have in common. Of many thousands a list of all holds up the
 * loop; a page looks at each name and describes no more than it shows.
 *
 *     struct page_list l = page_begin(page);
 *     for each:
 *         page_offer(&l, name, what);
 *     page_sort(&l);
 *     for each of l.items[0..l.n): ...
 *     page_end(&l);
 */
#ifndef ENGINE_PAGE_H
#define ENGINE_PAGE_H

#include <stddef.h>
#include <stdint.h>

#include "util/slice.h"

struct page {
    struct slice after; /* only names behind this one; empty: all */
    struct slice match; /* only names that fit this pattern; empty: all */
    uint32_t most;      /* so many; 0: all */
};

struct page_item {
    struct slice name;
    void *what;
};

struct page_list {
    const struct page *page;
    struct page_item *items;
    size_t n, cap;
    size_t fit;        /* by `after` and `match` */
    struct slice last; /* the page is full up to this name; empty: it is not */
};

struct page_list page_begin(const struct page *page);
void page_offer(struct page_list *l, struct slice name, void *what);
void page_sort(struct page_list *l);
void page_end(struct page_list *l);

#endif
