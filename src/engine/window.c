#include "engine/window.h"

#include <string.h>

#include "util/alloc.h"

#define CAP_MIN 4

void window_init(struct window *w)
{
    memset(w, 0, sizeof(*w));
    w->complete = true;
}

void window_init_unread(struct window *w, uint64_t order)
{
    memset(w, 0, sizeof(*w));
    w->bound_order = order;
}

void window_release(struct window *w)
{
    FREE(&w->at);
    w->first = w->len = w->cap = 0;
}

static int key_cmp(uint64_t order, const struct id *id, uint64_t order2,
                   const struct id *id2)
{
    if (order != order2)
        return order < order2 ? -1 : 1;
    return id_cmp(id, id2);
}

bool window_wants(const struct window *w, uint64_t order, const struct id *id)
{
    return w->complete || key_cmp(order, id, w->bound_order, &w->bound_id) < 0;
}

/* Index of the first member that is not below the key. Most arrivals belong
 * behind the last member: look there first. */
static uint32_t place_of(const struct window *w, uint64_t order,
                         const struct id *id)
{
    uint32_t low = 0, high = w->len;
    if (high == 0)
        return 0; /* there may be no array yet */
    const struct member *m = w->at + w->first;
    if (key_cmp(m[high - 1].order, &m[high - 1].id, order, id) < 0)
        return high;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (key_cmp(m[mid].order, &m[mid].id, order, id) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Room for one more behind the last. */
static void make_room(struct window *w)
{
    if (w->first + w->len < w->cap)
        return;
    if (w->first > w->cap / 2) {
        memmove(w->at, w->at + w->first, w->len * sizeof(*w->at));
        w->first = 0;
        return;
    }
    w->cap = w->cap == 0 ? CAP_MIN : w->cap * 2;
    w->at = mem_realloc(w->at, w->cap * sizeof(*w->at));
}

struct member *window_insert(struct window *w, const struct member *m)
{
    ASSERT(window_wants(w, m->order, &m->id));
    uint32_t i = place_of(w, m->order, &m->id);
    if (i <= w->len / 2 && w->first > 0) {
        /* What was popped left room in front. */
        struct member *head = w->at + w->first--;
        if (i > 0)
            memmove(head - 1, head, i * sizeof(*head));
    } else {
        make_room(w);
        struct member *at = w->at + w->first + i;
        if (i < w->len)
            memmove(at + 1, at, (w->len - i) * sizeof(*at));
    }
    w->len++;
    struct member *at = w->at + w->first + i;
    *at = *m;
    ASSERT(i + 1 == w->len ||
           key_cmp(at->order, &at->id, at[1].order, &at[1].id) < 0);
    return at;
}

struct member *window_find(const struct window *w, uint64_t order,
                           const struct id *id)
{
    uint32_t i = place_of(w, order, id);
    if (i == w->len)
        return NULL;
    struct member *m = w->at + w->first + i;
    return m->order == order && id_eq(&m->id, id) ? m : NULL;
}

/* Give memory back when a window has run empty: most lanes are idle. */
static void shrink(struct window *w)
{
    if (w->len == 0) {
        w->first = 0;
        if (w->cap > CAP_MIN * 16) {
            FREE(&w->at);
            w->cap = 0;
        }
    }
}

void window_remove(struct window *w, struct member *m)
{
    uint32_t i = (uint32_t)(m - (w->at + w->first));
    ASSERT(i < w->len);
    if (i < w->len / 2 || i == 0) {
        struct member *head = w->at + w->first++;
        if (i > 0)
            memmove(head + 1, head, i * sizeof(*head));
    } else if (i + 1 < w->len) {
        memmove(m, m + 1, (w->len - i - 1) * sizeof(*m));
    }
    w->len--;
    shrink(w);
}

void window_trim(struct window *w, uint32_t keep,
                 void (*drop)(void *ud, struct member *m), void *ud)
{
    if (w->len <= keep)
        return;
    struct member *bound = w->at + w->first + keep;
    w->bound_order = bound->order;
    w->bound_id = bound->id;
    w->complete = false;
    for (uint32_t i = keep; i < w->len; i++)
        drop(ud, w->at + w->first + i);
    w->len = keep;
    shrink(w);
}

void window_append(struct window *w, const struct member *m)
{
    ASSERT(!w->complete);
    ASSERT(key_cmp(m->order, &m->id, w->bound_order, &w->bound_id) >= 0);
    make_room(w);
    struct member *at = w->at + w->first + w->len;
    ASSERT(w->len == 0 ||
           key_cmp(at[-1].order, &at[-1].id, m->order, &m->id) < 0);
    *at = *m;
    w->len++;
}

/* The least key above (order, id). */
static void step(uint64_t *order, struct id *id)
{
    for (int i = ID_LEN - 1; i >= 0; i--)
        if (++id->bytes[i] != 0)
            return;
    ASSERT(*order < UINT64_MAX);
    ++*order;
}

void window_appended(struct window *w, bool complete)
{
    ASSERT(!w->complete);
    w->complete = complete;
    if (complete || w->len == 0)
        return;
    const struct member *last = w->at + w->first + w->len - 1;
    w->bound_order = last->order;
    w->bound_id = last->id;
    step(&w->bound_order, &w->bound_id);
}

void window_check(const struct window *w)
{
    ASSERT(w->first + w->len <= w->cap);
    for (uint32_t i = 0; i < w->len; i++) {
        const struct member *m = w->at + w->first + i;
        ASSERT(window_wants(w, m->order, &m->id));
        ASSERT(i == 0 || key_cmp(m[-1].order, &m[-1].id, m->order, &m->id) < 0);
    }
}
