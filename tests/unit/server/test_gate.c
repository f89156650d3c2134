/* Replies leave when what they tell is durable, in order, and only to those
 * who read them. */
#include "unit.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/loop.h"
#include "rig.h"
#include "server/backend.h"
#include "server/gate.h"
#include "server/tick.h"
#include "store/state.h"

static const struct mem_knobs by_hand = {.manual_sync = true};

static void a_change_is_told_when_it_is_durable(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, &by_hand);
    int fd = rig_connect(&r);
    rig_send(fd, "T.PUT a\r\n");
    rig_expect(&r, fd, "");
    mem_sync(r.disk, UINT64_MAX);
    rig_expect(&r, fd, "+PUT\r\n");
    close(fd);
    rig_end(&r);
}

static void what_a_read_shows_is_durable_too(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, &by_hand);
    int writer = rig_connect(&r), reader = rig_connect(&r);
    rig_send(writer, "T.PUT a\r\n");
    rig_turn(&r);
    rig_send(reader, "T.GET a\r\n");
    rig_expect(&r, reader, "");
    mem_sync(r.disk, UINT64_MAX);
    rig_expect(&r, reader, "$3\r\nyes\r\n");
    close(writer);
    close(reader);
    rig_end(&r);
}

static void free_replies_pass_unless_an_earlier_one_waits(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, &by_hand);
    int a = rig_connect(&r), b = rig_connect(&r);
    rig_send(a, "T.FREE\r\nT.PUT a\r\nT.FREE\r\n");
    rig_send(b, "T.FREE\r\n");
    rig_expect(&r, a, "+FREE\r\n");
    assert_string_equal(rig_read(b), "+FREE\r\n");
    rig_send(a, "T.FREE\r\n");
    rig_expect(&r, a, "");
    mem_sync(r.disk, UINT64_MAX);
    rig_expect(&r, a, "+PUT\r\n+FREE\r\n+FREE\r\n");
    close(a);
    close(b);
    rig_end(&r);
}

static void the_gate_opens_index_by_index(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, &by_hand);
    int fd = rig_connect(&r);
    uint64_t index[3];
    for (int i = 0; i < 3; i++) {
        rig_send(fd, i == 1 ? "T.FREE\r\nT.PUT b\r\n" : "T.PUT a\r\n");
        rig_expect(&r, fd, "");
        index[i] = store_last(r.s->store);
    }
    assert_true(index[0] < index[1] && index[1] < index[2]);
    mem_sync(r.disk, index[0]);
    rig_expect(&r, fd, "+PUT\r\n+FREE\r\n");
    mem_sync(r.disk, index[1]);
    rig_expect(&r, fd, "+PUT\r\n");
    mem_sync(r.disk, index[2]);
    rig_expect(&r, fd, "+PUT\r\n");
    close(fd);
    rig_end(&r);
}

/* Pushes of changes wait as replies do. */
static void a_message_about_a_change_waits_for_it(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, &by_hand);
    int writer = rig_connect(&r), listener = rig_connect(&r);
    rig_turn(&r);
    struct client *c = client_by_id(r.s, 2);
    rig_send(writer, "T.PUT a\r\n");
    struct reply push = client_push_begin(c, true);
    reply_simple(&push, "news");
    client_push_end(c);
    rig_expect(&r, listener, "");
    mem_sync(r.disk, UINT64_MAX);
    rig_expect(&r, listener, "+news\r\n");
    close(writer);
    close(listener);
    rig_end(&r);
}

static void a_closed_connection_gives_its_leases_back(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, &by_hand);
    int fd = rig_connect(&r);
    rig_send(fd, "T.PUT a\r\nT.LEASE tok\r\n");
    rig_expect(&r, fd, "");
    close(fd);
    rig_turn(&r);
    assert_int_equal(r.s->stats.undone_leases, 1);
    /* One whose reply has left is the worker's. */
    fd = rig_connect(&r);
    rig_send(fd, "T.LEASE tok\r\n");
    mem_sync(r.disk, UINT64_MAX);
    rig_turn(&r);
    mem_sync(r.disk, UINT64_MAX);
    rig_expect(&r, fd, "$3\r\ntok\r\n");
    close(fd);
    rig_turn(&r);
    assert_int_equal(r.s->stats.undone_leases, 1);
    assert_int_equal(r.s->client_count, 0);
    rig_end(&r);
}

static void a_client_that_does_not_read_is_not_read(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, "client-reply-backlog 64kb\n", NULL);
    int fd = rig_connect(&r);
    for (int i = 0; i < 200; i++)
        rig_send(fd, "T.BIG 20000\r\n");
    rig_turn(&r);
    struct client *c = client_by_id(r.s, 1);
    assert_true(c->flags & CLIENT_HELD);
    assert_true(client_out_bytes(c) < 3 * 64 * 1024);
    /* It reads on, and everything arrives. */
    size_t got = 0;
    for (int i = 0; i < 20000 && got < 200 * 20010; i++) {
        char bytes[65536];
        ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n > 0)
            got += (size_t)n;
        else
            rig_turn(&r);
    }
    assert_int_equal(got, 200 * 20010);
    rig_send(fd, "T.FREE\r\n");
    rig_expect(&r, fd, "+FREE\r\n");
    close(fd);
    rig_end(&r);
}

static void a_hard_limit_closes(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, "client-output-buffer-limit normal 3mb 0 0\n", NULL);
    int fd = rig_connect(&r);
    rig_send(fd, "T.BIG 5000000\r\n");
    rig_turn(&r);
    assert_int_equal(r.s->client_count, 0);
    assert_int_equal(r.s->stats.output_limit_closed, 1);
    close(fd);
    rig_end(&r);
}

static void an_idle_client_owns_no_buffers(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    rig_send(fd, "T.FREE\r\nT.PUT a\r\n*2\r\n$5\r\nT.GET\r\n");
    rig_turn(&r);
    struct client *c = client_by_id(r.s, 1);
    assert_int_equal(client_in_bytes(c), 15);
    rig_send(fd, "$1\r\na\r\n");
    rig_turn(&r);
    assert_int_equal(c->in.cap, 0);
    assert_int_equal(c->out.cap, 0);
    assert_int_equal(c->mark_cap, 0);
    assert_true(client_memory(c) < 2048);
    close(fd);
    rig_end(&r);
}

/* More than 4 kB that are not on the disk yet. */
static void put_behind(struct rig *r, int writer)
{
    char line[256];
    for (int i = 0; i < 100; i++) {
        (void)snprintf(line, sizeof(line), "T.PUT %0200d\r\n", i);
        rig_send(writer, line);
    }
    rig_turn(r);
}

static void while_the_disk_is_behind_only_free_commands_run(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, "unsynced-max-bytes 4kb\n", &by_hand);
    int writer = rig_connect(&r), other = rig_connect(&r);
    put_behind(&r, writer);
    assert_true(r.s->input_held);
    uint64_t last = store_last(r.s->store);
    rig_send(other, "T.FREE\r\nT.PUT b\r\nT.FREE\r\n");
    rig_expect(&r, other, "+FREE\r\n");
    assert_int_equal(store_last(r.s->store), last);
    for (int i = 0; i < 5; i++) {
        mem_sync(r.disk, UINT64_MAX);
        rig_turn(&r);
    }
    assert_string_equal(rig_read(other), "+PUT\r\n+FREE\r\n");
    close(writer);
    close(other);
    rig_end(&r);
}

/* A socket may become writable in the middle of a tick. */
static void what_the_open_tick_gated_is_not_sent_before_its_mark(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, &by_hand);
    int fd = rig_connect(&r);
    rig_send(fd, "T.FREE\r\nT.PUT a\r\n");
    loop_wake(r.s->loop);
    loop_wait(r.s->loop, 0, 0); /* commands have run, the tick is open */
    gate_flush(client_by_id(r.s, 1));
    assert_string_equal(rig_read(fd), "+FREE\r\n");
    mem_sync(r.disk, UINT64_MAX);
    rig_turn(&r);
    mem_sync(r.disk, UINT64_MAX);
    rig_expect(&r, fd, "+PUT\r\n");
    close(fd);
    rig_end(&r);
}

/* What runs at the end of a turn is sent by the next, which must not wait for
 * something else to happen. */
static void input_that_goes_on_is_answered_without_another_event(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, "unsynced-max-bytes 4kb\n", &by_hand);
    int writer = rig_connect(&r), other = rig_connect(&r);
    put_behind(&r, writer);
    rig_send(other, "T.PUT b\r\n");
    rig_turn(&r);
    *mem_knobs(r.disk) = (struct mem_knobs){0};
    mem_sync(r.disk, UINT64_MAX);
    uint64_t begin = r.s->now.mono_ms;
    r.s->next_cron_ms = begin + 10000;
    loop_wake(r.s->loop);
    const char *got = "";
    while (got[0] == '\0' && r.s->now.mono_ms - begin < 5000) {
        server_turn(r.s);
        got = rig_read(other);
    }
    assert_string_equal(got, "+PUT\r\n");
    assert_true(r.s->now.mono_ms - begin < 5000);
    close(writer);
    close(other);
    rig_end(&r);
}

/* What decides whether the loop syncs their entry by itself. */
static void those_who_share_an_entry_are_counted(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int a = rig_connect(&r), b = rig_connect(&r);
    rig_send(a, "T.PUT a\r\n");
    rig_send(b, "T.PUT b\r\n");
    rig_turn(&r);
    assert_int_equal(r.s->store->callers, 2);
    rig_send(a, "T.PUT a\r\nT.PUT b\r\nT.PUT c\r\n");
    rig_turn(&r);
    assert_int_equal(r.s->store->callers, 1);
    close(a);
    close(b);
    rig_end(&r);
}

static void send_puts(int fd, int n)
{
    while (n-- > 0)
        rig_send(fd, "T.PUT a\r\n");
}

/* Too many changes for the loop to sync by itself. */
static void an_entry_is_held_until_a_look_finds_nothing_more(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int a = rig_connect(&r);
    rig_turn(&r);
    for (int i = 0; i < 2; i++) {
        send_puts(a, 30);
        server_turn(r.s);
        assert_true(backend_holds(r.s));
    }
    server_turn(r.s);
    assert_false(backend_holds(r.s));
    close(a);
    rig_end(&r);
}

static void a_long_turn_holds_nothing(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int a = rig_connect(&r);
    rig_turn(&r);
    r.s->hold_us = 200;
    send_puts(a, 30);
    rig_send(a, "T.BUSY\r\n");
    server_turn(r.s);
    assert_false(backend_holds(r.s));
    close(a);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_told_when_it_is_durable),
        cmocka_unit_test(what_a_read_shows_is_durable_too),
        cmocka_unit_test(free_replies_pass_unless_an_earlier_one_waits),
        cmocka_unit_test(the_gate_opens_index_by_index),
        cmocka_unit_test(a_message_about_a_change_waits_for_it),
        cmocka_unit_test(a_closed_connection_gives_its_leases_back),
        cmocka_unit_test(a_client_that_does_not_read_is_not_read),
        cmocka_unit_test(a_hard_limit_closes),
        cmocka_unit_test(an_idle_client_owns_no_buffers),
        cmocka_unit_test(those_who_share_an_entry_are_counted),
        cmocka_unit_test(an_entry_is_held_until_a_look_finds_nothing_more),
        cmocka_unit_test(a_long_turn_holds_nothing),
        cmocka_unit_test(while_the_disk_is_behind_only_free_commands_run),
        cmocka_unit_test(what_the_open_tick_gated_is_not_sent_before_its_mark),
        cmocka_unit_test(input_that_goes_on_is_answered_without_another_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
