/* The scanner, by itself: the program's objects are in no library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/scanner.c"
#include "util/buf.h"

static void note(void *ud, const struct scan_item *item)
{
    struct buf *b = ud;
    buf_printf(b, "%c%u.%lld", "+-:$_*"[item->kind], item -> depth,
               (long long)item -> index);
    if (item->kind == SCAN_INT || item->kind == SCAN_ARRAY)
        buf_printf(b, "=%lld", (long long)item->n);
    else
        buf_printf(b, "=%.*s", SLICE_FMT(item->text));
    buf_add_char(b, ' ');
}

static const char nested[] = "*2\r\n*3\r\n$5\r\ntoken\r\n$2\r\na\n\r\n$-1\r\n"
                             "%1\r\n+k\r\n:-7\r\n";
static const char nested_items[] = "*0.0=2 *1.0=3 $2.0=token $2.1=a\n _2.2=-1 "
                                   "*1.1=2 +2.0=k :2.1=-7 ";

static void a_nested_reply_is_told_item_by_item(void **state)
{
    (void)state;
    struct scanner s = {0};
    struct buf b = {0};
    size_t used;
    assert_int_equal(SCAN_DONE,
                     scanner_step(&s, slice_str(nested), &used, note, &b));
    assert_int_equal(used, sizeof(nested) - 1);
    assert_string_equal(buf_cstr(&b), nested_items);
    buf_release(&b);
}

static void a_reply_cut_anywhere_is_resumed(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < sizeof(nested) - 1; cut++) {
        struct scanner s = {0};
        struct buf b = {0};
        size_t used, more;
        assert_int_equal(SCAN_MORE, scanner_step(&s, slice_of(nested, cut),
                                                 &used, note, &b));
        assert_true(used <= cut);
        assert_int_equal(SCAN_DONE, scanner_step(&s, slice_str(nested + used),
                                                 &more, note, &b));
        assert_int_equal(used + more, sizeof(nested) - 1);
        assert_string_equal(buf_cstr(&b), nested_items);
        buf_release(&b);
    }
}

struct picky {
    struct scanner s;
    struct buf told;
};

/* Of each inner array the first member is enough. */
static void note_first(void *ud, const struct scan_item *item)
{
    struct picky *p = ud;
    if (item->depth == 2 && item->kind == SCAN_BULK && item->index > 0)
        return;
    note(&p->told, item);
    if (item->depth == 2 && item->index == 0)
        p->s.skip = true;
}

static void members_of_no_interest_are_passed_over(void **state)
{
    (void)state;
    static const char reply[] =
        "*2\r\n*7\r\n$1\r\na\r\n$12\r\n0123456789ab\r\n:41\r\n$-1\r\n"
        "*1\r\n:5\r\n$0\r\n\r\n:6\r\n*2\r\n$1\r\nb\r\n$2\r\nxx\r\n";
    static const char told[] = "*0.0=2 *1.0=7 $2.0=a _2.3=-1 *2.4=1 :3.0=5 "
                               ":2.6=6 *1.1=2 $2.0=b ";
    for (size_t cut = 0; cut <= sizeof(reply) - 1; cut++) {
        struct picky p = {.told = {0}};
        size_t used = 0, more = 0;
        enum scan_state first =
            scanner_step(&p.s, slice_of(reply, cut), &used, note_first, &p);
        assert_int_equal(first,
                         cut == sizeof(reply) - 1 ? SCAN_DONE : SCAN_MORE);
        if (first == SCAN_MORE)
            assert_int_equal(SCAN_DONE,
                             scanner_step(&p.s, slice_str(reply + used), &more,
                                          note_first, &p));
        assert_int_equal(used + more, sizeof(reply) - 1);
        if (first == SCAN_DONE)
            assert_string_equal(buf_cstr(&p.told), told);
        buf_release(&p.told);
    }
}

static void one_step_takes_one_reply(void **state)
{
    (void)state;
    struct scanner s = {0};
    struct buf b = {0};
    size_t used;
    assert_int_equal(SCAN_DONE, scanner_step(&s, SLICE_LIT("*0\r\n-ERR x\r\n"),
                                             &used, note, &b));
    assert_int_equal(used, 4);
    buf_release(&b);
}

static void what_is_no_reply_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "HTTP/1.1 200\r\n", ":12x\r\n",      "$x\r\n", "+ok\n",
        "*99999999999\r\n", "$2\r\nabc\r\n", ":01\r\n"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct scanner s = {0};
        struct buf b = {0};
        size_t used;
        assert_int_equal(SCAN_BAD,
                         scanner_step(&s, slice_str(bad[i]), &used, note, &b));
        buf_release(&b);
    }
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    struct scanner s = {0};
    struct buf in = {0}, b = {0};
    size_t used;
    for (int i = 0; i <= SCAN_DEPTH_MAX; i++)
        buf_add_str(&in, "*1\r\n");
    assert_int_equal(SCAN_BAD,
                     scanner_step(&s, buf_slice(&in), &used, note, &b));
    buf_release(&in);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nested_reply_is_told_item_by_item),
        cmocka_unit_test(a_reply_cut_anywhere_is_resumed),
        cmocka_unit_test(members_of_no_interest_are_passed_over),
        cmocka_unit_test(one_step_takes_one_reply),
        cmocka_unit_test(what_is_no_reply_is_refused),
        cmocka_unit_test(nesting_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
