#include <string.h>

#include "unit.h"
#include "util/alloc.h"
#include "util/hash.h"
#include "util/heap.h"
#include "util/line.h"
#include "util/list.h"
#include "util/map.h"
#include "util/rng.h"

struct item {
    struct heap_node heap;
    struct map_node map;
    struct list list;
    uint64_t key;
};

static struct item *item_of(struct map_node *n)
{
    return CONTAINER_OF(n, struct item, map);
}

static bool less(const struct heap_node *a, const struct heap_node *b)
{
    return CONTAINER_OF((struct heap_node *)(uintptr_t)a, struct item, heap)
               ->key <
           CONTAINER_OF((struct heap_node *)(uintptr_t)b, struct item, heap)
               ->key;
}

static bool same(const struct map_node *n, const void *key)
{
    return item_of((struct map_node *)(uintptr_t)n)->key ==
           *(const uint64_t *)key;
}

#define N 3000

static void a_heap_gives_its_members_in_order(void **state)
{
    (void)state;
    static struct item items[N];
    struct heap h;
    struct rng rng;
    memset(items, 0, sizeof(items));
    rng_seed(&rng, 1);
    heap_init(&h, less);
    for (size_t i = 0; i < N; i++) {
        items[i].key = rng_below(&rng, 500);
        heap_add(&h, &items[i].heap);
    }
    heap_check(&h);
    for (size_t i = 0; i < N; i += 3)
        heap_remove(&h, &items[i].heap);
    heap_remove(&h, &items[0].heap); /* a second time: nothing happens */
    for (size_t i = 1; i < N; i += 3) {
        items[i].key = rng_below(&rng, 500);
        heap_changed(&h, &items[i].heap);
    }
    heap_check(&h);
    for (size_t i = 0; i < N; i++)
        items[i].key = rng_below(&rng, 500);
    heap_rebuild(&h);
    heap_check(&h);
    uint64_t last = 0, n = 0;
    for (; heap_top(&h) != NULL; n++) {
        struct item *top = CONTAINER_OF(heap_top(&h), struct item, heap);
        assert_true(top->key >= last);
        last = top->key;
        heap_remove(&h, &top->heap);
        assert_false(heap_in(&top->heap));
    }
    assert_int_equal(n, N - N / 3);
    heap_release(&h);
}

struct waiting {
    struct line_node node;
    uint32_t key;
};

static bool waits_less(const struct heap_node *a, const struct heap_node *b)
{
    return CONTAINER_OF(a, struct waiting, node.in_heap)->key <
           CONTAINER_OF(b, struct waiting, node.in_heap)->key;
}

static size_t line_count(const struct line *l)
{
    size_t n = 0;
    for (const struct line_node *at = NULL; (at = line_next(l, at)) != NULL;)
        n++;
    return n;
}

/* Those below `end`, without a look at most of the others. */
static size_t line_count_below(const struct line *l, uint32_t end)
{
    size_t n = 0;
    const struct line_node *at = line_next(l, NULL);
    while (at != NULL) {
        bool below = CONTAINER_OF(at, struct waiting, node)->key < end;
        n += below;
        at = below ? line_next(l, at) : line_past(l, at);
    }
    return n;
}

static void a_line_gives_its_members_in_order(void **state)
{
    static struct waiting items[500];
    struct rng rng;
    struct line l;
    (void)state;
    rng_seed(&rng, 3);
    line_init(&l, waits_less);
    assert_null(line_top(&l));
    for (uint32_t i = 0; i < 500; i++) {
        /* Half of them in their order. */
        items[i].key = i % 2 == 0 ? i : (uint32_t)rng_below(&rng, 500);
        line_add(&l, &items[i].node);
        line_check(&l);
    }
    assert_true(l.heap.len > 0 && l.heap.len < l.len);
    for (uint32_t i = 0; i < 1000; i++) {
        struct waiting *w = &items[rng_below(&rng, 500)];
        if (rng_below(&rng, 3) == 0) {
            line_remove(&l, &w->node);
            line_remove(&l, &w->node); /* a second time: nothing happens */
            assert_false(line_in(&w->node));
        } else {
            w->key = (uint32_t)rng_below(&rng, 500);
            if (line_in(&w->node))
                line_changed(&l, &w->node);
            else
                line_add(&l, &w->node);
        }
        line_check(&l);
        assert_int_equal(line_count(&l), l.len);
        uint32_t end = (uint32_t)rng_below(&rng, 500);
        size_t below = 0;
        for (uint32_t k = 0; k < 500; k++)
            below += line_in(&items[k].node) && items[k].key < end;
        assert_int_equal(line_count_below(&l, end), below);
    }
    for (uint32_t i = 0; i < 500; i++)
        items[i].key = 1000 - items[i].key;
    line_rebuild(&l);
    line_check(&l);
    uint32_t last = 0;
    struct line_node *top;
    while ((top = line_top(&l)) != NULL) {
        struct waiting *w = CONTAINER_OF(top, struct waiting, node);
        assert_true(w->key >= last);
        last = w->key;
        line_remove(&l, top);
    }
    assert_int_equal(l.len, 0);
    line_release(&l);
}

/* Who stands in the list goes through no heap. */
static void those_who_take_turns_stay_out_of_the_heap(void **state)
{
    static struct waiting items[100];
    struct line l;
    (void)state;
    line_init(&l, waits_less);
    for (uint32_t i = 0; i < 100; i++) {
        items[i].key = i;
        line_add(&l, &items[i].node);
    }
    for (uint32_t i = 0; i < 1000; i++) {
        struct waiting *w = CONTAINER_OF(line_top(&l), struct waiting, node);
        assert_ptr_equal(w, &items[i % 100]);
        w->key += 100;
        line_changed(&l, &w->node);
    }
    assert_int_equal(l.heap.len, 0);
    line_check(&l);
    line_release(&l);
}

static uint32_t died; /* those with lesser keys */

static bool dies_less(const struct heap_node *a, const struct heap_node *b)
{
    uint32_t x = CONTAINER_OF(a, struct waiting, node.in_heap)->key;
    uint32_t y = CONTAINER_OF(b, struct waiting, node.in_heap)->key;
    if (x < died || y < died)
        return x >= died;
    return x < y;
}

/* As a purge does to all that stand in a queue. */
static void a_line_bears_that_all_its_members_become_last(void **state)
{
    static struct waiting items[200];
    struct rng rng;
    struct line l;
    (void)state;
    died = 0;
    rng_seed(&rng, 5);
    line_init(&l, dies_less);
    for (uint32_t i = 0; i < 200; i++) {
        if (i == 100)
            died = 1000;
        items[i].key = 1000 * (i / 100) +
                       (i % 2 == 0 ? i % 100 : (uint32_t)rng_below(&rng, 100));
        line_add(&l, &items[i].node);
        line_check(&l);
    }
    for (uint32_t i = 0; i < 150; i++) {
        struct waiting *w = CONTAINER_OF(line_top(&l), struct waiting, node);
        assert_true((w->key < died) == (i >= 100));
        line_remove(&l, &w->node);
        line_check(&l);
    }
    line_release(&l);
}

static struct item *lookup(const struct map *m, uint64_t key)
{
    struct slice s = slice_of(&key, sizeof(key));
    struct map_node *n = map_get(m, hash64(s), &key);
    return n == NULL ? NULL : item_of(n);
}

static void count_even(struct map_node *n, void *ud)
{
    struct map *m = ((void **)ud)[0];
    size_t *count = ((void **)ud)[1];
    if (item_of(n)->key % 2 == 0)
        map_remove(m, n);
    (*count)++;
}

static void a_map_finds_everything_while_it_grows(void **state)
{
    (void)state;
    static struct item items[N];
    struct map m;
    map_init(&m, same);
    for (uint64_t i = 0; i < N; i++) {
        items[i].key = i;
        struct slice s = slice_of(&items[i].key, sizeof(uint64_t));
        map_add(&m, &items[i].map, hash64(s));
        /* old and new table both hold members most of the time */
        assert_ptr_equal(lookup(&m, i / 2), &items[i / 2]);
        assert_ptr_equal(lookup(&m, i), &items[i]);
        assert_null(lookup(&m, i + 1));
        if (i % 5 == 4) {
            map_remove(&m, &items[i - 3].map);
            assert_null(lookup(&m, i - 3));
            map_add(&m, &items[i - 3].map, items[i - 3].map.hash);
        }
    }
    assert_int_equal(m.len, N);
    size_t count = 0;
    void *ud[] = {&m, &count};
    map_each(&m, count_even, ud);
    assert_int_equal(count, N);
    assert_int_equal(m.len, N / 2);
    for (uint64_t i = 0; i < N; i++)
        assert_ptr_equal(lookup(&m, i), i % 2 == 0 ? NULL : &items[i]);
    map_release(&m);
}

static void a_map_is_walked_once_at_any_moment_of_its_growth(void **state)
{
    (void)state;
    static struct item items[200];
    for (uint64_t n = 0; n <= 200; n++) {
        struct map m;
        map_init(&m, same);
        for (uint64_t i = 0; i < n; i++) {
            items[i].key = i;
            struct slice s = slice_of(&items[i].key, sizeof(uint64_t));
            map_add(&m, &items[i].map, hash64(s));
        }
        size_t count = 0;
        void *ud[] = {&m, &count};
        map_each(&m, count_even, ud);
        assert_int_equal(count, n);
        assert_int_equal(m.len, n / 2);
        map_release(&m);
    }
}

static void members_of_equal_hash_are_told_apart(void **state)
{
    (void)state;
    struct item a = {.key = 1}, b = {.key = 2};
    struct map m;
    map_init(&m, same);
    map_add(&m, &a.map, 42);
    map_add(&m, &b.map, 42);
    assert_ptr_equal(map_get(&m, 42, &a.key), &a.map);
    assert_ptr_equal(map_get(&m, 42, &b.key), &b.map);
    map_remove(&m, &a.map);
    assert_null(map_get(&m, 42, &a.key));
    assert_ptr_equal(map_get(&m, 42, &b.key), &b.map);
    map_release(&m);
}

static void a_list_keeps_order_and_removes_in_the_loop(void **state)
{
    (void)state;
    struct item items[6];
    struct list head;
    uint64_t order = 0;
    memset(items, 0, sizeof(items));
    list_init(&head);
    assert_true(list_empty(&head));
    assert_null(list_pop(&head));
    for (uint64_t i = 0; i < 6; i++)
        items[i].key = i;
    for (size_t i = 3; i < 6; i++)
        list_append(&head, &items[i].list);
    for (size_t i = 3; i-- > 0;)
        list_prepend(&head, &items[i].list);
    LIST_FOR (it, &head) {
        struct item *x = CONTAINER_OF(it, struct item, list);
        assert_int_equal(x->key, order++);
        if (x->key % 2 == 0)
            list_remove(it);
    }
    assert_int_equal(order, 6);
    list_remove(&items[0].list); /* in no list: nothing happens */
    assert_ptr_equal(list_pop(&head), &items[1].list);
    assert_ptr_equal(list_first(&head), &items[3].list);
    assert_false(list_linked(&items[1].list));

    struct list taken = {0};
    struct list *first = list_first(&head), *last = head.prev;
    list_take(&taken, &head);
    assert_true(list_empty(&head));
    assert_ptr_equal(list_first(&taken), first);
    assert_ptr_equal(taken.prev, last);
    list_take(&head, &taken);
    assert_ptr_equal(list_first(&head), first);
    struct list none = {0};
    list_init(&none);
    list_take(&taken, &none); /* nothing to move */
    assert_true(list_empty(&taken));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_heap_gives_its_members_in_order),
        cmocka_unit_test(a_line_gives_its_members_in_order),
        cmocka_unit_test(a_line_bears_that_all_its_members_become_last),
        cmocka_unit_test(those_who_take_turns_stay_out_of_the_heap),
        cmocka_unit_test(a_map_finds_everything_while_it_grows),
        cmocka_unit_test(a_map_is_walked_once_at_any_moment_of_its_growth),
        cmocka_unit_test(members_of_equal_hash_are_told_apart),
        cmocka_unit_test(a_list_keeps_order_and_removes_in_the_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
