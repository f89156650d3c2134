#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "commands/command.h"
#include "option_pairs.h"

struct after {
    struct slice id;
    uint32_t on, otherwise;
};

struct args {
    uint64_t given[2];
    struct slice queue, payload;
    uint64_t delay_ms, at_ms;
    uint32_t retries;
    double factor;
    int64_t offset;
    uint32_t backoff;
    struct slice name;
    uint32_t n_after, n_tags;
    struct opt_list handlers;
    bool any, all;
    uint64_t size;
    struct opt_list also;
    struct after after[3]; /* from here on: cleared as they are used */
    struct opt_pair tags[2];
};

#define AT(field) offsetof(struct args, field)

static const char *const backoffs[] = {"exponential", "linear", "none", NULL};
static const char *const ons[] = {"success", "failure", NULL};
static const char *const elses[] = {"cancel", "run", "hold", NULL};

static const struct opt opts[] = {
    {"DELAY", OPT_MS, AT(delay_ms), .group = "when"},
    {"AT", OPT_TIME, AT(at_ms), .group = "when"},
    {"RETRIES", OPT_U32, AT(retries), .max = 100},
    {"FACTOR", OPT_F64, AT(factor), .min = 1, .max = 10},
    {"OFFSET", OPT_I64, AT(offset)},
    {"BACKOFF", OPT_ENUM, AT(backoff), .words = backoffs},
    {"NAME", OPT_NAME, AT(name), .max = 8},
    {"AFTER", OPT_NAME, AT(after), .max_count = 3,
     .elem_size = sizeof(struct after), .count_offset = AT(n_after)},
    {"ON", OPT_ENUM, offsetof(struct after, on), .words = ons,
     .parent = "AFTER"},
    {"ELSE", OPT_ENUM, offsetof(struct after, otherwise), .words = elses,
     .parent = "AFTER"},
    {"TAG", OPT_PAIR, AT(tags), .max_count = 2,
     .elem_size = sizeof(struct opt_pair), .count_offset = AT(n_tags)},
    {"HANDLERS", OPT_LIST, AT(handlers), .max = 4},
    {"ANY", OPT_FLAG, AT(any), .group = "which"},
    {"ALL", OPT_FLAG, AT(all), .group = "which"},
    {"SIZE", OPT_SIZE, AT(size), .min = 1},
    {0},
};

static const struct arg args[] = {
    {"queue", OPT_NAME, AT(queue), .key = true},
    {"payload", OPT_BYTES, AT(payload)},
    {0},
};

static const struct command job_add = {
    .name = "JOB.ADD",
    .args = args,
    .opts = opts,
    .args_size = sizeof(struct args),
    .clear_size = AT(after),
    .given_offset = AT(given),
    .also = true,
    .also_offset = AT(also),
};

static struct cmd_ctx ctx;
static struct args parsed;
static struct slice words[64];

static enum err parse(const struct command *cmd, const char *line)
{
    static char copy[1024];
    (void)snprintf(copy, sizeof(copy), "%s", line);
    ctx = (struct cmd_ctx){.cmd = cmd, .argv = words, .args = &parsed};
    for (char *w = strtok(copy, " "); w != NULL; w = strtok(NULL, " "))
        words[ctx.argc++] = slice_str(w);
    return cmd_parse(&ctx);
}

static void refused(const char *line, const char *text)
{
    enum err rc = parse(&job_add, line);
    assert_true(rc == ERR_SYNTAX || rc == ERR_LIMIT);
    assert_string_equal(ctx.e.text, text);
}

static void accepted(const char *line)
{
    enum err rc = parse(&job_add, line);
    if (rc != ERR_OK)
        fail_msg("%s: %s", line, ctx.e.text);
}

/* The struct is used again and again. */
static void nothing_is_left_of_the_command_before(void **state)
{
    (void)state;
    memset(&parsed, 0xa5, sizeof(parsed));
    accepted("job.add q p AFTER one ON failure ELSE hold AFTER two");
    assert_int_equal(parsed.n_after, 2);
    assert_int_equal(parsed.after[0].on, 1);
    assert_int_equal(parsed.after[1].on, 0);
    assert_int_equal(parsed.after[1].otherwise, 0);
    assert_int_equal(parsed.n_tags, 0);
    accepted("job.add q p AFTER one");
    assert_int_equal(parsed.n_after, 1);
    assert_int_equal(parsed.after[0].on, 0);
    assert_int_equal(parsed.after[0].otherwise, 0);
    assert_int_equal(parsed.retries, 0);
}

static void words_become_values(void **state)
{
    (void)state;
    accepted("JOB.ADD q payload delay 5m RETRIES 7 Factor 2.5 OFFSET -3 "
             "BACKOFF Linear NAME abc SIZE 2kb");
    assert_true(slice_is(parsed.queue, "q"));
    assert_true(slice_is(parsed.payload, "payload"));
    assert_int_equal(parsed.delay_ms, 300000);
    assert_int_equal(parsed.retries, 7);
    assert_true(parsed.factor > 2.49 && parsed.factor < 2.51);
    assert_int_equal(parsed.offset, -3);
    assert_int_equal(parsed.backoff, 1);
    assert_true(slice_is(parsed.name, "abc"));
    assert_int_equal(parsed.size, 2048);
    assert_true(cmd_given(&ctx, "DELAY"));
    assert_false(cmd_given(&ctx, "AT"));
    accepted("JOB.ADD q p AT 2026-01-31T09:30:00Z");
    assert_int_equal(parsed.at_ms, 1769851800000);
    /* What an earlier command gave is gone. */
    assert_int_equal(parsed.retries, 0);
    assert_false(cmd_given(&ctx, "DELAY"));
}

static void a_repeated_option_fills_an_array(void **state)
{
    (void)state;
    accepted("JOB.ADD q p AFTER a ON failure ELSE hold AFTER b TAG k=v TAG "
             "x=y=z AFTER c ELSE run");
    assert_int_equal(parsed.n_after, 3);
    assert_true(slice_is(parsed.after[0].id, "a"));
    assert_int_equal(parsed.after[0].on, 1);
    assert_int_equal(parsed.after[0].otherwise, 2);
    assert_int_equal(parsed.after[1].on, 0);
    assert_int_equal(parsed.after[1].otherwise, 0);
    assert_int_equal(parsed.after[2].otherwise, 1);
    assert_int_equal(parsed.n_tags, 2);
    assert_true(slice_is(parsed.tags[1].key, "x"));
    assert_true(slice_is(parsed.tags[1].value, "y=z"));
    refused("JOB.ADD q p TAG a=1 TAG b=2 TAG c=3",
            "JOB.ADD: TAG was given more than 2 times");
}

static void a_sub_option_stays_with_its_parent(void **state)
{
    (void)state;
    refused("JOB.ADD q p ON success",
            "JOB.ADD: ON belongs directly behind AFTER");
    refused("JOB.ADD q p AFTER a DELAY 5s ON success",
            "JOB.ADD: ON belongs directly behind AFTER");
    refused("JOB.ADD q p AFTER a ON success ON failure",
            "JOB.ADD: ON was given twice for one AFTER");
}

static void lists_count_their_words(void **state)
{
    (void)state;
    accepted("JOB.ADD q p HANDLERS 2 ANY DELAY ANY");
    assert_int_equal(parsed.handlers.n, 2);
    assert_true(slice_is(parsed.handlers.words[1], "DELAY"));
    assert_true(parsed.any);
    refused("JOB.ADD q p HANDLERS 3 a b",
            "JOB.ADD: HANDLERS says 3 words, but 2 follow");
    refused("JOB.ADD q p HANDLERS 0",
            "JOB.ADD: HANDLERS wants a whole number from 1 to 4, not '0'");
}

static void also_takes_what_is_left(void **state)
{
    (void)state;
    accepted("JOB.ADD q p DELAY 1s ALSO DELAY ON ALSO");
    assert_int_equal(parsed.also.n, 3);
    assert_true(slice_is(parsed.also.words[0], "DELAY"));
    refused("JOB.ADD q p ALSO", "JOB.ADD: ALSO wants at least one word");
}

static void errors_name_the_word_and_what_is_allowed(void **state)
{
    (void)state;
    refused("JOB.ADD q p DELAY abc",
            "JOB.ADD: DELAY wants a duration such as 250ms, 30s, 5m, 2h or 7d "
            "(up to 36600d), not 'abc'");
    refused("JOB.ADD q p DELAY",
            "JOB.ADD: DELAY wants a duration such as 250ms, 30s, 5m, 2h or 7d "
            "(up to 36600d), but the words end here");
    refused("JOB.ADD q p AT noon",
            "JOB.ADD: AT wants a time in unix milliseconds or RFC 3339, such "
            "as 2026-01-31T09:30:00Z, before the year 10000, not 'noon'");
    refused("JOB.ADD q p RETRIES 101",
            "JOB.ADD: RETRIES wants a whole number from 0 to 100, not '101'");
    refused("JOB.ADD q p FACTOR 0.5",
            "JOB.ADD: FACTOR wants a number from 1 to 10, not '0.5'");
    refused("JOB.ADD q p BACKOFF often",
            "JOB.ADD: BACKOFF wants exponential, linear or none, not 'often'");
    refused("JOB.ADD q p SIZE 0",
            "JOB.ADD: SIZE wants a size such as 512, 64kb or 10mb of at least "
            "1, not '0'");
    refused("JOB.ADD q p TAG novalue",
            "JOB.ADD: TAG wants name=value, not 'novalue'");
    refused("JOB.ADD q p NAME ninechars",
            "JOB.ADD: NAME wants a name of 1 to 8 bytes without blanks, not "
            "'ninechars'");
    refused("JOB.ADD q p DELAY 1s AT 5",
            "JOB.ADD: DELAY and AT exclude each other");
    refused("JOB.ADD q p ALL ANY", "JOB.ADD: ALL and ANY exclude each other");
    refused("JOB.ADD q p DELAY 1s delay 1s", "JOB.ADD: DELAY was given twice");
    refused("JOB.ADD q p TAG a=1 TAG a=2", "JOB.ADD: TAG a was given twice");
    accepted("JOB.ADD q p TAG a=1 TAG A=1");
    refused("JOB.ADD q p DELY 1s",
            "JOB.ADD: unknown option 'DELY', did you mean DELAY?");
    refused("JOB.ADD q p WHATEVER",
            "JOB.ADD: unknown option 'WHATEVER', allowed are DELAY, AT, "
            "RETRIES, FACTOR, OFFSET, BACKOFF, NAME, AFTER, ON, ELSE, TAG, "
            "HANDLERS, ANY, ALL, SIZE, ALSO");
    refused("JOB.ADD q p RETRIES \xff\x01\xc3\xa9",
            "JOB.ADD: RETRIES wants a whole number from 0 to 100, not "
            "'??\xc3\xa9'");
}

static void too_few_words_is_redis_error_and_what_is_wanted(void **state)
{
    (void)state;
    refused("JOB.ADD q", "wrong number of arguments for 'job.add' command: "
                         "JOB.ADD queue payload [...]");
    refused("JOB.ADD", "wrong number of arguments for 'job.add' command: "
                       "JOB.ADD queue payload [...]");
    assert_int_equal(cmd_arity(&job_add), -3);
}

struct little {
    struct slice text;
    struct opt_list more;
    struct opt_list list;
    struct slice last;
};

static void fixed_and_optional_arguments_have_their_arity(void **state)
{
    (void)state;
    static const struct arg one[] = {
        {"text", OPT_BYTES, offsetof(struct little, text), .optional = true},
        {0},
    };
    static const struct command ping = {
        .name = "PING", .args = one, .args_size = sizeof(struct little)};
    static const struct command none = {.name = "TIME"};
    static const struct arg many[] = {
        {"channel", OPT_BYTES, offsetof(struct little, more), .more = true},
        {0},
    };
    static const struct command subscribe = {
        .name = "SUBSCRIBE", .args = many, .args_size = sizeof(struct little)};
    static const struct command client_x = {
        .name = "CLIENT|X", .args = many, .args_size = sizeof(struct little)};
    static const struct arg counted[] = {
        {"list", OPT_LIST, offsetof(struct little, list)},
        {"last", OPT_BYTES, offsetof(struct little, last)},
        {0},
    };
    static const struct command addm = {
        .name = "ADDM", .args = counted, .args_size = sizeof(struct little)};
    assert_int_equal(cmd_arity(&ping), -1);
    assert_int_equal(cmd_arity(&none), 1);
    assert_int_equal(cmd_arity(&subscribe), -2);
    assert_int_equal(cmd_arity(&client_x), -3);
    assert_int_equal(cmd_arity(&addm), -4);

    assert_int_equal(parse(&ping, "PING"), ERR_OK);
    assert_int_equal(parse(&ping, "PING x"), ERR_OK);
    assert_true(slice_is(((struct little *)ctx.args)->text, "x"));
    assert_int_equal(parse(&ping, "PING x y"), ERR_SYNTAX);
    assert_string_equal(ctx.e.text,
                        "wrong number of arguments for 'ping' command");
    assert_int_equal(parse(&none, "TIME"), ERR_OK);
    assert_int_equal(parse(&none, "TIME x"), ERR_SYNTAX);
    assert_int_equal(parse(&subscribe, "SUBSCRIBE a b c"), ERR_OK);
    assert_int_equal(((struct little *)ctx.args)->more.n, 3);
    assert_int_equal(parse(&subscribe, "SUBSCRIBE"), ERR_SYNTAX);
    assert_int_equal(parse(&client_x, "CLIENT X"), ERR_SYNTAX);
    assert_string_equal(ctx.e.text,
                        "wrong number of arguments for 'client|x' command");
    assert_int_equal(parse(&client_x, "CLIENT X a"), ERR_OK);
    assert_int_equal(parse(&addm, "ADDM 2 a b c"), ERR_OK);
    assert_true(slice_is(((struct little *)ctx.args)->last, "c"));
    assert_int_equal(parse(&addm, "ADDM 2 a b"), ERR_SYNTAX);
    assert_int_equal(parse(&addm, "ADDM 1 a b c"), ERR_SYNTAX);
}

static void every_pair_of_options_follows_from_the_table(void **state)
{
    (void)state;
    static const struct command *const table[] = {&job_add, NULL};
    assert_int_equal(pairs_check(table), 15 * 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_of_the_command_before),
        cmocka_unit_test(words_become_values),
        cmocka_unit_test(a_repeated_option_fills_an_array),
        cmocka_unit_test(a_sub_option_stays_with_its_parent),
        cmocka_unit_test(lists_count_their_words),
        cmocka_unit_test(also_takes_what_is_left),
        cmocka_unit_test(errors_name_the_word_and_what_is_allowed),
        cmocka_unit_test(too_few_words_is_redis_error_and_what_is_wanted),
        cmocka_unit_test(fixed_and_optional_arguments_have_their_arity),
        cmocka_unit_test(every_pair_of_options_follows_from_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
