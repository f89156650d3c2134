#include <string.h>

#include "unit.h"
#include "util/alloc.h"
#include "util/hash.h"
#include "util/heap.h"
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
        cmocka_unit_test(a_map_finds_everything_while_it_grows),
        cmocka_unit_test(a_map_is_walked_once_at_any_moment_of_its_growth),
        cmocka_unit_test(members_of_equal_hash_are_told_apart),
        cmocka_unit_test(a_list_keeps_order_and_removes_in_the_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
