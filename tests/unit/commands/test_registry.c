#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "commands/registry.h"
#include "option_pairs.h"

static enum err no_exec(struct cmd_ctx *c)
{
    (void)c;
    return ERR_OK;
}

static const struct command ping = {.name = "PING", .exec = no_exec};
static const struct command job_add = {.name = "JOB.ADD", .exec = no_exec};
static const struct command client_id = {.name = "CLIENT|ID", .exec = no_exec};
static const struct command client_list = {.name = "CLIENT|LIST",
                                           .exec = no_exec};
static const struct command *const client_subs[] = {&client_id, &client_list,
                                                    NULL};
static const struct command client = {.name = "CLIENT", .subs = client_subs};
static const struct command command = {
    .name = "COMMAND", .exec = no_exec, .subs = client_subs};
static const struct command *const table[] = {&ping, &job_add, &client,
                                              &command, NULL};

static struct registry r;
static struct errbuf e;
static const struct cmd_entry *entry;

static int setup(void **state)
{
    (void)state;
    registry_init(&r);
    registry_add(&r, table);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    registry_release(&r);
    return 0;
}

static enum err resolve(const char *line)
{
    static char copy[1024];
    struct slice words[64];
    uint32_t n = 0;
    (void)snprintf(copy, sizeof(copy), "%s", line);
    for (char *w = strtok(copy, " "); w != NULL; w = strtok(NULL, " "))
        words[n++] = slice_str(w);
    return registry_resolve(&r, words, n, &entry, &e);
}

static void refused(const char *line, const char *text)
{
    assert_int_equal(resolve(line), ERR_SYNTAX);
    assert_string_equal(e.text, text);
}

static void names_are_found_in_any_case(void **state)
{
    (void)state;
    assert_int_equal(resolve("pInG x"), ERR_OK);
    assert_ptr_equal(entry->cmd, &ping);
    assert_int_equal(resolve("job.add"), ERR_OK);
    assert_ptr_equal(entry->cmd, &job_add);
    assert_string_equal(entry->name, "job.add");
    assert_int_equal(resolve("client LiSt"), ERR_OK);
    assert_ptr_equal(entry->cmd, &client_list);
    assert_string_equal(entry->name, "client|list");
    assert_ptr_equal(entry->parent, registry_find(&r, slice_str("CLIENT")));
    assert_ptr_equal(registry_find_full(&r, slice_str("client|list")), entry);
    assert_null(registry_find_full(&r, slice_str("ping|list")));
    assert_null(registry_find_full(&r, slice_str("client|")));
}

static void numbers_are_dense(void **state)
{
    (void)state;
    assert_int_equal(r.len, 8);
    for (uint32_t i = 0; i < r.len; i++)
        assert_int_equal(r.entries[i]->number, i);
    assert_int_equal(cmd_number(&job_add), 1);
}

static void a_container_alone_runs_only_if_it_can(void **state)
{
    (void)state;
    assert_int_equal(resolve("COMMAND"), ERR_OK);
    assert_ptr_equal(entry->cmd, &command);
    refused("CLIENT", "wrong number of arguments for 'client' command");
}

static void unknown_names_get_redis_text_and_the_nearest_name(void **state)
{
    (void)state;
    refused("foo a b",
            "unknown command 'foo', with args beginning with: 'a' 'b' ");
    refused("foo", "unknown command 'foo', with args beginning with: ");
    refused("job.ad q", "unknown command 'job.ad', with args beginning with: "
                        "'q' did you mean 'JOB.ADD'?");
    refused("client foo", "unknown subcommand 'foo'. Try CLIENT HELP.");
    refused("client lits", "unknown subcommand 'lits'. Try CLIENT HELP. Did "
                           "you mean 'LIST'?");
    char line[600];
    memset(line, 'x', sizeof(line));
    line[300] = ' ';
    line[599] = '\0';
    assert_int_equal(resolve(line), ERR_SYNTAX);
    assert_int_equal(strlen(e.text),
                     strlen("unknown command '', with args beginning with: ''"
                            " ") +
                         256);
}

static void every_pair_of_options_is_taken_or_refused_by_name(void **state)
{
    (void)state;
    unsigned n = pairs_check(registry_jobs);
    printf("%u pairs\n", n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_found_in_any_case, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(numbers_are_dense, setup, teardown),
        cmocka_unit_test_setup_teardown(a_container_alone_runs_only_if_it_can,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            unknown_names_get_redis_text_and_the_nearest_name, setup, teardown),
        cmocka_unit_test(every_pair_of_options_is_taken_or_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
