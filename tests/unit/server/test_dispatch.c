/* What is run, what is refused, and who is closed. */
#include "unit.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/addr.h"
#include "net/loop.h"
#include "rig.h"
#include "server/input.h"
#include "server/multi.h"
#include "server/parts.h"
#include "server/stats.h"
#include "server/tick.h"
#include "store/state.h"

static void check(struct rig *r, int fd, const char *sent, const char *got)
{
    rig_send(fd, sent);
    rig_turn(r);
    const char *text = rig_read(fd);
    if (strcmp(text, got) != 0)
        fail_msg("for \"%s\": got \"%s\" instead of \"%s\"", sent, text, got);
}

static void refusals_name_their_reason(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    check(&r, fd, "T.PUT\r\n",
          "-ERR wrong number of arguments for 't.put' command: T.PUT word\r\n");
    check(&r, fd, "T.FREE a\r\n",
          "-ERR wrong number of arguments for 't.free' command: T.FREE\r\n");
    check(&r, fd, "NOSUCHTHING a b\r\n",
          "-ERR unknown command 'NOSUCHTHING', with args beginning with: 'a' "
          "'b' \r\n");
    r.s->state = SERVER_LOADING;
    rig_send(fd, "T.PUT a\r\n");
    loop_wake(r.s->loop);
    loop_wait(r.s->loop, 0, 0);
    r.s->state = SERVER_RUNNING;
    rig_expect(&r, fd, "-LOADING Belfry is loading the dataset in memory\r\n");
    client_by_id(r.s, 1)->sub_count = 1;
    check(&r, fd, "T.FREE\r\n",
          "-ERR Can't execute 't.free': only (P|S)SUBSCRIBE / "
          "(P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this "
          "context\r\n");
    client_by_id(r.s, 1)->proto = 3;
    check(&r, fd, "T.FREE\r\n", "+FREE\r\n");
    client_by_id(r.s, 1)->sub_count = 0;
    close(fd);
    rig_end(&r);
}

/* Also as the very first command, and between two that are the same. */
static void an_empty_name_is_unknown(void **state)
{
    (void)state;
    struct rig r;
    const char *unknown =
        "-ERR unknown command '', with args beginning with: \r\n";
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    check(&r, fd, "*1\r\n$0\r\n\r\n", unknown);
    check(&r, fd, "T.FREE\r\nT.FREE\r\n", "+FREE\r\n+FREE\r\n");
    check(&r, fd, "*1\r\n$0\r\n\r\n", unknown);
    check(&r, fd, "t.free\r\nT.FREE x\r\n",
          "+FREE\r\n-ERR wrong number of arguments for 't.free' command: "
          "T.FREE\r\n");
    close(fd);
    rig_end(&r);
}

/* Whoever is told EXECABORT is outside of the transaction. */
static void an_exec_that_is_refused_ends_the_transaction(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    r.s->hooks.multi_queue = multi_queue;
    r.s->hooks.multi_spoil = multi_spoil;
    int fd = rig_connect(&r);
    check(&r, fd, "MULTI\r\nT.PUT a\r\nEXEC x\r\nT.FREE\r\n",
          "+OK\r\n+QUEUED\r\n"
          "-EXECABORT Transaction discarded because of: wrong number of "
          "arguments for 'exec' command\r\n+FREE\r\n");
    check(&r, fd, "MULTI\r\nT.PUT a\r\n", "+OK\r\n+QUEUED\r\n");
    mem_knobs(r.disk)->room = STORE_FULL;
    check(&r, fd, "EXEC\r\nT.FREE\r\n",
          "-EXECABORT Transaction discarded because of: NOSPACE the disk is "
          "full or too slow: no writes until changes in memory have been "
          "written\r\n+FREE\r\n");
    mem_knobs(r.disk)->room = STORE_ROOM;
    check(&r, fd, "EXEC\r\n", "-ERR EXEC without MULTI\r\n");
    close(fd);
    rig_end(&r);
}

static void a_failed_command_leaves_its_error_only(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    rig_send(fd, "T.FREE\r\nT.GET nothing\r\nT.FREE\r\n");
    rig_turn(&r);
    const char *got = rig_read(fd);
    assert_memory_equal(got, "+FREE\r\n-NOTFOUND ", 17);
    assert_null(strstr(got, "taken back"));
    assert_string_equal(got + strlen(got) - 7, "+FREE\r\n");
    close(fd);
    rig_end(&r);
}

/* A row that cannot be read says nothing of the lease. */
static void damage_is_an_error_of_a_renewal(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    static const char *const answers[] = {"*1\r\n", "-CORRUPT ", "-IOERR "};
    for (int i = 0; i < 3; i++) {
        mem_knobs(r.disk)->damage_reads = i == 1 ? 100 : 0;
        mem_knobs(r.disk)->fail_reads = i == 2 ? 100 : 0;
        rig_send(fd, "JOB.EXTEND 01J8ZQ4W2H0000000000000001#1.1700000000\r\n");
        rig_turn(&r);
        assert_memory_equal(rig_read(fd), answers[i], strlen(answers[i]));
    }
    close(fd);
    rig_end(&r);
}

static void without_the_password_only_some_commands_run(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, "requirepass secret\n", NULL);
    int fd = rig_connect(&r);
    check(&r, fd, "T.FREE\r\n", "-NOAUTH Authentication required.\r\n");
    check(&r, fd, "T.PUT a\r\n", "-NOAUTH Authentication required.\r\n");
    check(&r, fd, "AUTH secret\r\n", "+OK\r\n");
    check(&r, fd, "T.FREE\r\n", "+FREE\r\n");
    close(fd);
    fd = rig_connect(&r);
    check(&r, fd, "*11\r\n",
          "-ERR Protocol error: unauthenticated multibulk length\r\n");
    assert_string_equal(rig_read(fd), "(closed)");
    close(fd);
    rig_end(&r);
}

static void replies_can_be_switched_off(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    check(&r, fd, "CLIENT REPLY SKIP\r\nT.FREE\r\nT.PUT a\r\n", "+PUT\r\n");
    check(&r, fd, "CLIENT REPLY OFF\r\nT.FREE\r\nT.PUT a\r\nNO\r\n", "");
    check(&r, fd, "CLIENT REPLY ON\r\nT.FREE\r\n", "+OK\r\n+FREE\r\n");
    close(fd);
    rig_end(&r);
}

static void a_protocol_error_is_the_last_reply(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    check(&r, fd, "T.FREE\r\n*1\r\n:1\r\nT.FREE\r\n",
          "+FREE\r\n-ERR Protocol error: expected '$', got ':'\r\n");
    assert_string_equal(rig_read(fd), "(closed)");
    assert_int_equal(r.s->client_count, 0);
    close(fd);
    rig_end(&r);
}

static void a_web_request_is_cut_off_without_a_reply(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    check(&r, fd, "T.FREE\r\nPOST / HTTP/1.1\r\nT.PUT a\r\n", "(closed)");
    assert_int_equal(r.s->client_count, 0);
    assert_int_equal(r.s->stats.commands, 1);
    close(fd);
    rig_end(&r);
}

static void a_tick_is_cut_between_two_commands(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, "tick-max-commands 3\n", NULL);
    int fd = rig_connect(&r);
    uint64_t before = store_last(r.s->store);
    check(&r, fd,
          "T.PUT a\r\nT.PUT b\r\nT.PUT c\r\nT.PUT d\r\nT.PUT e\r\nT.PUT f\r\n"
          "T.PUT g\r\n",
          "+PUT\r\n+PUT\r\n+PUT\r\n+PUT\r\n+PUT\r\n+PUT\r\n+PUT\r\n");
    assert_int_equal(r.s->stats.ticks_cut, 2);
    assert_int_equal(store_last(r.s->store), before + 3);
    close(fd);
    rig_end(&r);
}

/* The commands of one tick are one entry, whoever sent them. */
static void a_tick_is_one_entry(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int a = rig_connect(&r), b = rig_connect(&r);
    rig_turn(&r);
    uint64_t before = store_last(r.s->store);
    rig_send(a, "T.PUT a\r\nT.PUT b\r\n");
    rig_send(b, "T.PUT c\r\n");
    rig_expect(&r, a, "+PUT\r\n+PUT\r\n");
    assert_string_equal(rig_read(b), "+PUT\r\n");
    assert_int_equal(store_last(r.s->store), before + 1);
    close(a);
    close(b);
    rig_end(&r);
}

static void one_turn(struct rig *r)
{
    loop_wake(r->s->loop);
    server_turn(r->s);
}

/* Each command is a slice: the other's only one is answered between them. */
static void a_long_pipeline_lets_the_others_in(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    r.s->slice_us = 0;
    int a = rig_connect(&r), b = rig_connect(&r);
    rig_turn(&r);
    rig_send(a, "T.FREE\r\nT.PUT a\r\nT.FREE\r\nT.FREE\r\nT.FR");
    one_turn(&r);
    assert_string_equal(rig_read(a), "+FREE\r\n");
    rig_send(a, "EE\r\n"); /* is read when the rest has run */
    rig_send(b, "T.FREE\r\n");
    one_turn(&r);
    assert_string_equal(rig_read(a), "+PUT\r\n");
    assert_string_equal(rig_read(b), "+FREE\r\n");
    shutdown(a, SHUT_WR);
    rig_turn(&r);
    rig_turn(&r);
    assert_string_equal(rig_read(a), "+FREE\r\n+FREE\r\n+FREE\r\n");
    assert_string_equal(rig_read(a), "(closed)");
    close(a);
    close(b);
    rig_end(&r);
}

/* What a peer that closed its half has sent is run to its end, also if the end
 * was seen while its input was held. */
static void the_end_of_a_peer_does_not_cut_its_pipeline(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    r.s->slice_us = 0;
    int a = rig_connect(&r), b = rig_connect(&r);
    rig_send(a, "T.FREE\r\nT.FREE\r\nT.FREE\r\nT.FREE\r\n");
    one_turn(&r);
    client_by_id(r.s, 1)->flags |= CLIENT_HELD;
    input_end(client_by_id(r.s, 1));
    rig_turn(&r);
    rig_turn(&r);
    assert_string_equal(rig_read(a), "+FREE\r\n+FREE\r\n+FREE\r\n+FREE\r\n");
    /* One that is killed meanwhile is forgotten. */
    rig_send(b, "T.FREE\r\nT.FREE\r\nT.FREE\r\n");
    one_turn(&r);
    client_kill(client_by_id(r.s, 2));
    rig_turn(&r);
    assert_string_equal(rig_read(b), "+FREE\r\n");
    assert_string_equal(rig_read(b), "(closed)");
    assert_true(list_empty(&r.s->sliced));
    close(a);
    close(b);
    rig_end(&r);
}

static void a_pause_of_writes_lets_reads_through(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int admin = rig_connect(&r), reader = rig_connect(&r);
    int writer = rig_connect(&r);
    check(&r, writer, "T.PUT a\r\n", "+PUT\r\n");
    check(&r, admin, "CLIENT PAUSE 3600000 WRITE\r\n", "+OK\r\n");
    check(&r, reader, "T.FREE\r\nT.GET a\r\nNO\r\n",
          "+FREE\r\n$3\r\nyes\r\n"
          "-ERR unknown command 'NO', with args beginning with: \r\n");
    check(&r, writer, "T.FREE\r\nT.PUT b\r\nT.FREE\r\n", "+FREE\r\n");
    check(&r, admin, "CLIENT PAUSE 3600000 ALL\r\n", "+OK\r\n");
    check(&r, reader, "T.GET a\r\n", "");
    check(&r, admin, "CLIENT UNPAUSE\r\n", "+OK\r\n");
    assert_string_equal(rig_read(reader), "$3\r\nyes\r\n");
    assert_string_equal(rig_read(writer), "+PUT\r\n+FREE\r\n");
    close(admin);
    close(reader);
    close(writer);
    rig_end(&r);
}

static void a_second(struct rig *r)
{
    r->s->cron_count = 9;
    r->s->next_cron_ms = 0;
    rig_turn(r);
}

static void an_idle_client_is_closed_a_waiting_one_is_not(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, "timeout 5\n", NULL);
    int idle = rig_connect(&r), waiting = rig_connect(&r), subscriber;
    subscriber = rig_connect(&r);
    rig_send(waiting, "T.WAIT 0\r\n");
    rig_turn(&r);
    client_by_id(r.s, 3)->sub_count = 1;
    a_second(&r);
    assert_int_equal(r.s->client_count, 3);
    LIST_FOR (it, &r.s->clients)
        CONTAINER_OF(it, struct client, all)->active_mono_ms -= 6000;
    a_second(&r);
    assert_string_equal(rig_read(idle), "(closed)");
    assert_int_equal(r.s->client_count, 2);
    assert_int_equal(r.s->stats.timed_out_closed, 1);
    client_by_id(r.s, 3)->sub_count = 0;
    rig_waiting_count = 0;
    close(idle);
    close(waiting);
    close(subscriber);
    rig_end(&r);
}

/* LATENCY tells when it was, not for ever after. */
static void a_slow_turn_is_an_event_once(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, "latency-monitor-threshold 3600000\n", NULL);
    struct latency *l = &r.s->parts->stats->latency[LATENCY_TICK];
    r.s->hooks.cron = stats_cron;
    r.s->stats.tick_us_max = r.s->stats.tick_us_recent = 7200000000;
    r.s->next_cron_ms = 0;
    rig_turn(&r);
    assert_int_equal(l->len, 1);
    assert_int_equal(l->max_ms, 7200000);
    l->len = 0; /* or one of the same second would be put to it */
    r.s->next_cron_ms = 0;
    rig_turn(&r);
    assert_int_equal(l->len, 0);
    assert_int_equal(r.s->stats.tick_us_max, 7200000000);
    rig_end(&r);
}

/* Commands run while sockets are read, before the rest of the turn. */
static void a_turn_is_as_long_as_its_commands(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    rig_turn(&r);
    r.s->stats.tick_us_max = r.s->stats.tick_cpu_us_max = 0;
    rig_send(fd, "T.BUSY\r\n");
    rig_expect(&r, fd, "+BUSY\r\n");
    assert_true(r.s->stats.tick_us_max >= RIG_BUSY_US / 2);
    assert_true(r.s->stats.tick_cpu_us_max > 0);
    assert_true(r.s->stats.tick_cpu_us_max <= r.s->stats.tick_us_max);
    close(fd);
    rig_end(&r);
}

static void the_soft_limit_closes_after_its_time(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, "client-output-buffer-limit normal 0 1mb 10\n", NULL);
    int fd = rig_connect(&r);
    rig_send(fd, "T.BIG 3000000\r\n");
    rig_turn(&r);
    struct client *c = client_by_id(r.s, 1);
    assert_true(c->soft_since_ms > 0);
    a_second(&r);
    assert_int_equal(r.s->client_count, 1);
    c->soft_since_ms -= 11000;
    a_second(&r);
    assert_int_equal(r.s->client_count, 0);
    assert_int_equal(r.s->stats.output_limit_closed, 1);
    close(fd);
    rig_end(&r);
}

static void a_client_can_end_itself_in_the_middle_of_its_pipeline(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    int fd = rig_connect(&r);
    check(&r, fd, "T.FREE\r\nQUIT\r\nT.FREE\r\n", "+FREE\r\n+OK\r\n");
    assert_string_equal(rig_read(fd), "(closed)");
    assert_int_equal(r.s->client_count, 0);
    close(fd);
    rig_end(&r);
}

static void too_many_clients_are_told(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, "maxclients 1\n", NULL);
    int a = rig_connect(&r), b = rig_connect(&r);
    assert_string_equal(rig_read(b), "-ERR max number of clients reached\r\n");
    check(&r, a, "T.FREE\r\n", "+FREE\r\n");
    close(a);
    close(b);
    rig_end(&r);
}

/* From another machine: nobody may come in while there is no password. */
static const char *said_to_a_stranger(struct rig *r)
{
    struct addr stranger = {.kind = ADDR_IP4, .ip = {10, 0, 0, 7}, .port = 9};
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    client_accept(pair[1], &stranger, r->s);
    (void)send(pair[0], "T.FREE\r\n", 8, MSG_NOSIGNAL);
    rig_turn(r);
    const char *got = rig_read(pair[0]);
    close(pair[0]);
    rig_turn(r);
    return got;
}

static void protected_mode_turns_strangers_away(void **state)
{
    (void)state;
    struct rig r;
    rig_begin(&r, NULL, NULL);
    assert_memory_equal(said_to_a_stranger(&r), "-DENIED Belfry is ", 18);
    assert_int_equal(r.s->client_count, 0);
    assert_int_equal(r.s->stats.rejected, 1);
    rig_end(&r);
    rig_begin(&r, "requirepass secret\n", NULL);
    assert_memory_equal(said_to_a_stranger(&r), "-NOAUTH ", 8);
    rig_end(&r);
    rig_begin(&r, "protected-mode no\n", NULL);
    assert_string_equal(said_to_a_stranger(&r), "+FREE\r\n");
    rig_end(&r);
}

static void what_is_configured_while_it_loads_holds_afterwards(void **state)
{
    (void)state;
    struct rig r;
    struct errbuf e;
    struct slice words[] = {SLICE_LIT("overlay-max-bytes"), SLICE_LIT("70mb")};
    rig_begin(&r, NULL, NULL);
    r.s->state = SERVER_LOADING;
    r.s->loaded = false;
    assert_int_equal(conf_set(r.s->conf, words, 2, &e), ERR_OK);
    server_ready(r.s);
    assert_int_equal(r.s->store->o.overlay_bytes_max, 70 << 20);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_name_their_reason),
        cmocka_unit_test(an_empty_name_is_unknown),
        cmocka_unit_test(an_exec_that_is_refused_ends_the_transaction),
        cmocka_unit_test(a_failed_command_leaves_its_error_only),
        cmocka_unit_test(damage_is_an_error_of_a_renewal),
        cmocka_unit_test(without_the_password_only_some_commands_run),
        cmocka_unit_test(replies_can_be_switched_off),
        cmocka_unit_test(a_protocol_error_is_the_last_reply),
        cmocka_unit_test(a_web_request_is_cut_off_without_a_reply),
        cmocka_unit_test(a_tick_is_cut_between_two_commands),
        cmocka_unit_test(a_tick_is_one_entry),
        cmocka_unit_test(a_pause_of_writes_lets_reads_through),
        cmocka_unit_test(an_idle_client_is_closed_a_waiting_one_is_not),
        cmocka_unit_test(a_slow_turn_is_an_event_once),
        cmocka_unit_test(a_turn_is_as_long_as_its_commands),
        cmocka_unit_test(the_soft_limit_closes_after_its_time),
        cmocka_unit_test(a_client_can_end_itself_in_the_middle_of_its_pipeline),
        cmocka_unit_test(too_many_clients_are_told),
        cmocka_unit_test(a_long_pipeline_lets_the_others_in),
        cmocka_unit_test(the_end_of_a_peer_does_not_cut_its_pipeline),
        cmocka_unit_test(protected_mode_turns_strangers_away),
        cmocka_unit_test(what_is_configured_while_it_loads_holds_afterwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
