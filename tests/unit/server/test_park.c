/* Callers that wait for rows, for others, or for a time. */
#include "unit.h"

#include <sys/socket.h>
#include <unistd.h>

#include "net/loop.h"
#include "rig.h"
#include "server/multi.h"
#include "server/park.h"
#include "server/tick.h"

static const struct mem_knobs slow_reads = {.pending_per_1000 = 1000,
                                            .fetch_polls_max = 3};

/* A generation is full after this much, and is applied by the next poll. */
static const char *const small_generations = "generation-max-bytes 64kb\n";

static void put(struct rig *r, const char *key)
{
    memcpy(store_put(r->s->store, FAMILY_META, slice_str(key), 3, false), "yes",
           3);
    r->s->tick_dirty = true;
}

/* A row that only the base has, so that reads of it must fetch. */
static void put_into_base(struct rig *r, const char *key)
{
    struct slice filler = SLICE_LIT("filler");
    put(r, key);
    memset(store_put(r->s->store, FAMILY_META, filler, 100000, false), 'x',
           100000);
    struct store_stats st;
    rig_turn(r);
    rig_turn(r);
    store_get_stats(r->s->store, &st);
    assert_true(st.applied_changes > 0);
    *mem_knobs(r->disk) = slow_reads;
}

static void wait_for_rows(struct rig *r, int fd, const char *text)
{
    const char *got = "";
    for (int i = 0; i < 20 && got[0] == '\0'; i++) {
        rig_turn(r);
        got = rig_read(fd);
    }
    assert_string_equal(got, text);
}

static void a_missing_row_is_fetched_and_the_command_starts_over(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, small_generations, NULL);
    put_into_base(&r, "a");
    int fd = rig_connect(&r), other = rig_connect(&r);
    rig_send(fd, "T.GET a\r\nT.FREE\r\nT.GET a\r\n");
    rig_send(other, "T.FREE\r\n");
    wait_for_rows(&r, other, "+FREE\r\n"); /* nobody else waits */
    char all[256] = "";
    for (int i = 0; i < 40; i++) {
        rig_turn(&r);
        strcat(all, rig_read(fd));
    }
    assert_string_equal(all, "$3\r\nyes\r\n+FREE\r\n$3\r\nyes\r\n");
    assert_true(r.s->stats.parked_rows > 0);
    close(fd);
    close(other);
    rig_end(&r);
}

static void exec_gathers_before_it_changes_anything(void **state)
{
    (void)state;
    struct rig r;
    struct store_stats st;
    rig_begin(&r, small_generations, NULL);
    r.s->hooks.multi_queue = multi_queue;
    put_into_base(&r, "a");
    int fd = rig_connect(&r);
    rig_send(fd, "MULTI\r\nT.PUT b\r\nT.GET a\r\nT.GET b\r\nEXEC\r\n");
    char all[256] = "";
    for (int i = 0; i < 20; i++) {
        rig_turn(&r);
        strcat(all, rig_read(fd));
    }
    assert_string_equal(all, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"
                             "*3\r\n+PUT\r\n$3\r\nyes\r\n$3\r\nyes\r\n");
    assert_true(r.s->stats.parked_rows > 0);
    store_get_stats(r.s->store, &st);
    assert_int_equal(st.blocking_reads, 0);
    close(fd);
    rig_end(&r);
}

/* An entry of the log has its bound. */
static void those_whose_rows_came_together_share_no_endless_entry(void **state)
{
    (void)state;
    struct rig r;
    int fd[30];
    struct store_stats before, after;
    rig_begin(&r, small_generations, NULL);
    put_into_base(&r, "a");
    mem_knobs(r.disk)->fetch_polls_max = 0; /* all with the next poll */
    for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
        fd[i] = rig_connect(&r);
        rig_send(fd[i], "T.FILL a\r\n");
    }
    store_get_stats(r.s->store, &before);
    for (size_t i = 0; i < ARRAY_LEN(fd); i++)
        wait_for_rows(&r, fd[i], "+FULL\r\n");
    store_get_stats(r.s->store, &after);
    assert_in_range(after.entries - before.entries, ARRAY_LEN(fd) / 2,
                    ARRAY_LEN(fd));
    rig_end(&r);
    for (size_t i = 0; i < ARRAY_LEN(fd); i++)
        close(fd[i]);
}

static void a_connection_may_close_while_its_rows_are_fetched(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, small_generations, NULL);
    put_into_base(&r, "a");
    int fd = rig_connect(&r);
    rig_send(fd, "T.GET a\r\n");
    loop_wake(r.s->loop);
    server_turn(r.s);
    client_kill(client_by_id(r.s, 1));
    for (int i = 0; i < 10; i++)
        rig_turn(&r);
    assert_int_equal(r.s->client_count, 0);
    close(fd);
    rig_end(&r);
}

static void one_turn(struct rig *r)
{
    loop_wake(r->s->loop);
    server_turn(r->s);
}

/* Each part of the rig's list takes the time that all lists of a turn have,
 * also one that was begun by its command or by rows that came. */
static void a_long_list_lets_others_go_between_its_parts(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, small_generations, NULL);
    put_into_base(&r, "a");
    int fd = rig_connect(&r), other = rig_connect(&r);
    rig_send(fd, "T.LIST a\r\nT.FREE\r\n");
    one_turn(&r);
    assert_int_equal(r.s->stats.lists_cut, 1);
    assert_int_equal(r.s->stats.parked_rows, 0);
    assert_string_equal(rig_read(fd), ""); /* it answers as a whole */
    rig_send(other, "T.FREE\r\n");
    one_turn(&r);
    assert_string_equal(rig_read(other), "+FREE\r\n");
    assert_int_equal(r.s->stats.parked_rows, 1); /* of its second part */
    while (r.s->stats.lists_cut < 2)
        one_turn(&r);
    assert_false(list_empty(&r.s->more)); /* the third has another turn */
    char all[256] = "";
    for (int i = 0; i < 20; i++) {
        rig_turn(&r);
        strcat(all, rig_read(fd));
    }
    assert_string_equal(all, "*3\r\n:0\r\n$3\r\nyes\r\n:2\r\n+FREE\r\n");
    assert_int_equal(r.s->stats.lists_cut, 2);
    close(fd);
    close(other);
    rig_end(&r);
}

static void long_lists_take_turns(void **state)
{
    (void)state;
    struct rig r;
    int fd[3];
    rig_begin(&r, NULL, NULL);
    put(&r, "a");
    for (int i = 0; i < 3; i++) {
        fd[i] = rig_connect(&r);
        rig_send(fd[i], "T.LIST a\r\n");
    }
    one_turn(&r); /* all begin */
    for (uint64_t cut = 3; cut <= 6; cut++) {
        assert_int_equal(r.s->stats.lists_cut, cut);
        one_turn(&r); /* one part a turn */
    }
    for (int i = 0; i < 3; i++) {
        rig_expect(&r, fd[i], "*3\r\n:0\r\n$3\r\nyes\r\n:2\r\n");
        close(fd[i]);
    }
    rig_end(&r);
}

static void a_peer_may_leave_while_its_list_is_worked_off(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    put(&r, "a");
    rig_send(fd, "T.LIST a\r\n");
    one_turn(&r);
    assert_false(list_empty(&r.s->more));
    client_kill(client_by_id(r.s, 1));
    rig_turn(&r);
    assert_true(list_empty(&r.s->more));
    assert_int_equal(r.s->client_count, 0);
    close(fd);
    rig_end(&r);
}

static void a_list_inside_exec_is_not_cut(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    r.s->hooks.multi_queue = multi_queue;
    int fd = rig_connect(&r);
    rig_send(fd, "MULTI\r\nT.LIST a\r\nEXEC\r\n");
    rig_expect(&r, fd, "+OK\r\n+QUEUED\r\n*1\r\n*3\r\n:0\r\n");
    assert_int_equal(r.s->stats.lists_cut, 0);
    close(fd);
    rig_end(&r);
}

static void callers_are_woken_in_the_order_in_which_they_came(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd[3], waker = rig_connect(&r);
    for (int i = 0; i < 3; i++) {
        fd[i] = rig_connect(&r);
        rig_send(fd[i], "T.WAIT 0\r\nT.FREE\r\n");
        rig_expect(&r, fd[i], "");
    }
    assert_int_equal(r.s->blocked_count, 3);
    for (int i = 0; i < 3; i++) {
        rig_send(waker, "T.WAKE\r\n");
        rig_expect(&r, fd[i], "+WOKEN\r\n+FREE\r\n");
        for (int k = i + 1; k < 3; k++)
            assert_string_equal(rig_read(fd[k]), "");
    }
    assert_int_equal(r.s->blocked_count, 0);
    for (int i = 0; i < 3; i++)
        close(fd[i]);
    close(waker);
    rig_end(&r);
}

static void a_deadline_ends_the_wait(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    rig_send(fd, "T.WAIT 20\r\n");
    rig_expect(&r, fd, "");
    /* The loop itself waits for the deadline: no wake-up from here. */
    uint64_t begin = r.s->now.mono_ms;
    while (r.s->blocked_count > 0)
        server_turn(r.s);
    assert_true(r.s->now.mono_ms - begin >= 10);
    rig_waiting_count = 0;
    rig_expect(&r, fd, "+LATE\r\n");
    close(fd);
    rig_end(&r);
}

static void a_caller_that_hangs_up_is_forgotten(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    rig_send(fd, "T.WAIT 50000\r\n");
    rig_turn(&r);
    assert_int_equal(r.s->deadlines.len, 1);
    close(fd);
    rig_turn(&r);
    rig_waiting_count = 0;
    assert_int_equal(r.s->client_count, 0);
    assert_int_equal(r.s->blocked_count, 0);
    assert_int_equal(r.s->deadlines.len, 0);
    rig_end(&r);
}

static void input_behind_a_waiting_command_is_bounded(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    static char pings[32 * 1024];
    for (size_t i = 0; i + 8 <= sizeof(pings); i += 8)
        memcpy(pings + i, "T.FREE\r\n", 8);
    pings[sizeof(pings) - 1] = '\0';
    rig_send(fd, "T.WAIT 0\r\n");
    rig_turn(&r);
    for (int i = 0; i < 20; i++) {
        (void)!send(fd, pings, sizeof(pings), MSG_DONTWAIT | MSG_NOSIGNAL);
        rig_turn(&r);
    }
    struct client *c = client_by_id(r.s, 1);
    assert_true(client_in_bytes(c) > 64 * 1024);
    assert_true(client_in_bytes(c) < 256 * 1024);
    /* Even so, a peer that leaves is noticed. */
    close(fd);
    rig_turn(&r);
    rig_waiting_count = 0;
    assert_int_equal(r.s->client_count, 0);
    rig_end(&r);
}

/* What stood behind it in the socket is run when it is done. */
static void
a_closed_half_does_not_cut_what_waits_behind_missing_rows(void **state)
{
    (void)state;
    enum { PINGS = 12 * 1024, PING_BYTES = 8 };
    struct rig r;
    rig_begin(&r, small_generations, NULL);
    put_into_base(&r, "a");
    int fd = rig_connect(&r);
    static char pings[PINGS * PING_BYTES + 1];
    for (size_t i = 0; i < PINGS; i++)
        memcpy(pings + i * PING_BYTES, "T.FREE\r\n", PING_BYTES);
    mem_knobs(r.disk)->fetch_polls_max = 1000;
    rig_send(fd, "T.GET a\r\nT.GET a\r\n"); /* the second fetch is slow */
    rig_turn(&r);
    rig_send(fd, pings);
    rig_turn(&r);
    struct client *c = client_by_id(r.s, 1);
    assert_true(c->parked != NULL && (c->flags & CLIENT_HELD));
    rig_send(fd, pings);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    rig_turn(&r);
    assert_int_equal(r.s->client_count, 1);
    size_t answered = 0;
    bool closed = false;
    for (int i = 0; i < 2000 && !closed; i++) {
        rig_turn(&r);
        const char *got = rig_read(fd);
        closed = strcmp(got, "(closed)") == 0;
        for (const char *p = got; (p = strstr(p, "+FREE")) != NULL; p++)
            answered++;
    }
    assert_int_equal(answered, 2 * PINGS);
    assert_true(closed);
    close(fd);
    rig_end(&r);
}

/* What it found when it was parked is no longer true. */
static void a_caller_that_waited_is_refused_when_the_disk_is_full(void **state)
{
    (void)state;
    static const char full[] =
        "-NOSPACE the disk is full or too slow: no writes until changes in "
        "memory have been written\r\n+FREE\r\n";
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r), waker = rig_connect(&r);
    rig_send(fd, "T.TAKE 0\r\nT.FREE\r\n");
    rig_expect(&r, fd, "");
    mem_knobs(r.disk)->room = STORE_FULL;
    rig_waiting[0]->wake(rig_waiting[0]);
    rig_waiting_count = 0;
    rig_expect(&r, fd, full);
    /* CLIENT UNBLOCK says why by itself. */
    mem_knobs(r.disk)->room = STORE_ROOM;
    rig_send(fd, "T.TAKE 0\r\nT.FREE\r\n");
    rig_expect(&r, fd, "");
    mem_knobs(r.disk)->room = STORE_FULL;
    rig_send(waker, "CLIENT UNBLOCK 1 ERROR\r\n");
    rig_expect(&r, fd,
               "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n+FREE\r\n");
    rig_waiting_count = 0;
    close(fd);
    close(waker);
    rig_end(&r);
}

/* A list that has begun is one command: its end is not refused. */
static void
a_list_that_has_begun_is_done_although_the_disk_is_full(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    put(&r, "a");
    rig_send(fd, "T.LIST a\r\nT.LIST a\r\n");
    one_turn(&r);
    assert_non_null(client_by_id(r.s, 1)->parked);
    mem_knobs(r.disk)->room = STORE_FULL;
    rig_turn(&r);
    rig_expect(&r, fd,
               "*3\r\n:0\r\n$3\r\nyes\r\n:2\r\n"
               "-NOSPACE the disk is full or too slow: no writes until changes "
               "in memory have been written\r\n");
    close(fd);
    rig_end(&r);
}

static void a_list_waits_for_a_disk_that_is_behind(void **state)
{
    (void)state;
    static const struct mem_knobs by_hand = {.manual_sync = true};
    struct rig r;
    rig_begin(&r, "unsynced-max-bytes 4kb\n", &by_hand);
    int fd = rig_connect(&r);
    put(&r, "a");
    memset(store_put(r.s->store, FAMILY_META, SLICE_LIT("b"), 10000, false),
           'x', 10000);
    rig_send(fd, "T.LIST a\r\n");
    one_turn(&r);
    assert_true(r.s->input_held);
    uint64_t cut = r.s->stats.lists_cut;
    one_turn(&r);
    one_turn(&r);
    assert_int_equal(r.s->stats.lists_cut, cut);
    assert_int_equal(r.s->lists, 1);
    for (int i = 0; i < 10 && r.s->lists > 0; i++) {
        mem_sync(r.disk, UINT64_MAX);
        one_turn(&r);
    }
    mem_sync(r.disk, UINT64_MAX);
    rig_expect(&r, fd, "*3\r\n:0\r\n$3\r\nyes\r\n:2\r\n");
    close(fd);
    rig_end(&r);
}

static void a_drain_ends_every_wait(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    rig_send(fd, "T.WAIT 0\r\n");
    rig_turn(&r);
    server_shutdown(r.s, false);
    rig_waiting_count = 0;
    rig_expect(&r, fd, "+LATE\r\n");
    close(fd);
    rig_turn(&r);
    assert_int_equal(r.s->state, SERVER_STOPPING);
    rig_end(&r);
}

/* Nobody who goes on sending keeps it from ending. */
static void a_drain_runs_nothing_new_but_what_ends_it(void **state)
{
    (void)state;
    static const struct mem_knobs by_hand = {.manual_sync = true};
    struct rig r;
    rig_begin(&r, NULL, &by_hand);
    int fd = rig_connect(&r), admin = rig_connect(&r);
    rig_send(fd, "T.PUT a\r\n");
    rig_expect(&r, fd, "");
    server_shutdown(r.s, false);
    rig_send(fd, "T.PUT b\r\nT.FREE\r\n");
    rig_expect(&r, fd, "");
    assert_int_equal(r.s->state, SERVER_DRAINING);
    rig_send(admin, "CLIENT UNPAUSE\r\n");
    rig_expect(&r, admin, "+OK\r\n");
    mem_sync(r.disk, UINT64_MAX);
    rig_expect(&r, fd, "+PUT\r\n");
    assert_int_equal(r.s->stats.commands, 2);
    /* Now they see the end; what they send until then is not read as commands,
     * but it is read, or they would see a reset. */
    assert_int_equal(r.s->state, SERVER_DRAINING);
    rig_send(fd, "T.PUT c\r\n");
    rig_send(admin, "CLIENT UNPAUSE\r\n");
    rig_turn(&r);
    char byte;
    assert_int_equal(read(fd, &byte, 1), 0);
    assert_int_equal(read(admin, &byte, 1), 0);
    close(fd);
    close(admin);
    rig_turn(&r);
    assert_int_equal(r.s->state, SERVER_STOPPING);
    assert_int_equal(r.s->stats.commands, 2);
    rig_end(&r);
}

static void a_drain_waits_for_callers_whose_rows_are_fetched(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, small_generations, NULL);
    put_into_base(&r, "a");
    int fd = rig_connect(&r), other = rig_connect(&r);
    rig_send(fd, "T.GET a\r\n");
    wait_for_rows(&r, fd, "$3\r\nyes\r\n");
    rig_send(fd, "T.GET a\r\n");
    one_turn(&r); /* the second fetch is slow */
    assert_non_null(client_by_id(r.s, 1)->parked);
    server_shutdown(r.s, false);
    one_turn(&r);
    const char *got = rig_read(fd);
    for (int i = 0; i < 20 && got[0] == '\0'; i++) {
        assert_int_equal(r.s->state, SERVER_DRAINING);
        one_turn(&r);
        got = rig_read(fd);
    }
    assert_string_equal(got, "$3\r\nyes\r\n");
    close(fd);
    close(other);
    rig_end(&r);
}

/* After a stall an acknowledgement that waits in a socket comes first. */
static void leases_are_spared_until_the_sockets_were_drained(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    rig_turn(&r);
    assert_int_equal(r.s->stats.reaps_delayed, 0);
    rig_send(fd, "T.FREE\r\n");
    r.s->polled_ms -= 1000; /* as if the process had been stopped */
    loop_wake(r.s->loop);
    server_turn(r.s);
    assert_int_equal(r.s->stats.reaps_delayed, 1);
    loop_wake(r.s->loop);
    server_turn(r.s); /* nothing more to read */
    assert_int_equal(r.s->stats.reaps_delayed, 1);
    assert_int_equal(r.s->stalled_until_ms, 0);
    /* Sockets that never fall silent do not keep leases alive for ever. */
    r.s->polled_ms -= 1000;
    r.s->stalled_until_ms = r.s->now.mono_ms;
    rig_send(fd, "T.FREE\r\n");
    loop_wake(r.s->loop);
    server_turn(r.s);
    r.s->stalled_until_ms = r.s->now.mono_ms - 1;
    rig_send(fd, "T.FREE\r\n");
    loop_wake(r.s->loop);
    server_turn(r.s);
    assert_int_equal(r.s->stalled_until_ms, 0);
    close(fd);
    rig_end(&r);
}

/* Its last token may be the one whose time is over between two parts. */
static void leases_are_spared_until_a_list_is_done(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, small_generations, NULL);
    put_into_base(&r, "a");
    int fd = rig_connect(&r);
    rig_send(fd, "T.LIST a\r\n");
    one_turn(&r);
    assert_true(r.s->stats.reaps_delayed > 0);
    while (r.s->lists > 0) /* also while a part waits for rows */
        one_turn(&r);
    uint64_t delayed = r.s->stats.reaps_delayed;
    assert_true(delayed > 1);
    one_turn(&r);
    assert_int_equal(r.s->stats.reaps_delayed, delayed);
    rig_expect(&r, fd, "*3\r\n:0\r\n$3\r\nyes\r\n:2\r\n");
    /* Lists without end do not keep leases alive for ever. */
    rig_send(fd, "T.LIST a\r\n");
    one_turn(&r);
    delayed = r.s->stats.reaps_delayed;
    assert_true(r.s->lists > 0);
    r.s->lists_until_ms = r.s->now.mono_ms;
    one_turn(&r);
    assert_int_equal(r.s->stats.reaps_delayed, delayed);
    close(fd);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_row_is_fetched_and_the_command_starts_over),
        cmocka_unit_test(exec_gathers_before_it_changes_anything),
        cmocka_unit_test(a_connection_may_close_while_its_rows_are_fetched),
        cmocka_unit_test(those_whose_rows_came_together_share_no_endless_entry),
        cmocka_unit_test(a_long_list_lets_others_go_between_its_parts),
        cmocka_unit_test(long_lists_take_turns),
        cmocka_unit_test(a_peer_may_leave_while_its_list_is_worked_off),
        cmocka_unit_test(a_list_inside_exec_is_not_cut),
        cmocka_unit_test(callers_are_woken_in_the_order_in_which_they_came),
        cmocka_unit_test(a_deadline_ends_the_wait),
        cmocka_unit_test(a_caller_that_hangs_up_is_forgotten),
        cmocka_unit_test(input_behind_a_waiting_command_is_bounded),
        cmocka_unit_test(
            a_closed_half_does_not_cut_what_waits_behind_missing_rows),
        cmocka_unit_test(a_caller_that_waited_is_refused_when_the_disk_is_full),
        cmocka_unit_test(
            a_list_that_has_begun_is_done_although_the_disk_is_full),
        cmocka_unit_test(a_list_waits_for_a_disk_that_is_behind),
        cmocka_unit_test(a_drain_ends_every_wait),
        cmocka_unit_test(a_drain_runs_nothing_new_but_what_ends_it),
        cmocka_unit_test(a_drain_waits_for_callers_whose_rows_are_fetched),
        cmocka_unit_test(leases_are_spared_until_the_sockets_were_drained),
        cmocka_unit_test(leases_are_spared_until_a_list_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
