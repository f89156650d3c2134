#include "engine/page.h"

#include <stdlib.h>

#include "util/alloc.h"
#include "util/parse.h"

static int by_name(const void *a, const void *b)
{
    const struct page_item *x = a, *y = b;
    return slice_cmp(x->name, y->name);
}

struct page_list page_begin(const struct page *page)
{
    return (struct page_list){.page = page};
}

/* Now and then, so that what is too far behind is refused at a glance. */
static void trim(struct page_list *l)
{
    qsort(l->items, l->n, sizeof(l->items[0]), by_name);
    if (l->page->most == 0 || l->n < l->page->most)
        return;
    l->n = l->page->most;
    l->last = l->items[l->n - 1].name;
}

void page_offer(struct page_list *l, struct slice name, void *what)
{
    const struct page *p = l->page;
    if ((p->after.len > 0 && slice_cmp(name, p->after) <= 0) ||
        (p->match.len > 0 && !glob_match(p->match, name)))
        return;
    l->fit++;
    if (l->last.len > 0 && slice_cmp(name, l->last) > 0)
        return;
    if (l->n == l->cap) {
        l->cap = l->cap == 0 ? 64 : l->cap * 2;
        l->items = (struct page_item *)mem_realloc(
            l->items, l->cap * sizeof(l->items[0]));
    }
    l->items[l->n++] = (struct page_item){name, what};
    if (p->most > 0 && l->n >= 2 * (size_t)p->most)
        trim(l);
}

void page_sort(struct page_list *l)
{
    if (l->n > 0)
        trim(l);
}

void page_end(struct page_list *l)
{
    FREE(&l->items);
    *l = (struct page_list){0};
}
