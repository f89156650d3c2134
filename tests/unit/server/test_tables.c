#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "commands/describe.h"
#include "option_pairs.h"
#include "server/commands.h"

static void every_pair_of_options_is_taken_or_refused_by_name(void **state)
{
    (void)state;
    unsigned n = pairs_check(registry_server);
    printf("%u pairs\n", n);
    assert_true(n > 0);
}

static void is_complete(const struct command *cmd)
{
    if (cmd->summary == NULL ||
        strchr(".?", cmd->summary[strlen(cmd->summary) - 1]) == NULL ||
        cmd->group == NULL || cmd->since == NULL || cmd->reply == NULL)
        fail_msg("%s: group, summary, since or reply is missing", cmd->name);
    for (const struct opt *o = cmd->opts; o != NULL && o->name != NULL; o++)
        if (o->help == NULL)
            fail_msg("%s %s has no help", cmd->name, o->name);
    unsigned kinds = cmd->flags & (CMD_WRITE | CMD_READONLY | CMD_FREE);
    if (kinds != CMD_WRITE && kinds != CMD_READONLY && kinds != CMD_FREE)
        fail_msg("%s: writes, shows state, or neither: one of them", cmd->name);
    for (size_t i = 0; cmd->subs != NULL && cmd->subs[i] != NULL; i++)
        is_complete(cmd->subs[i]);
}

static void every_entry_tells_what_the_docs_need(void **state)
{
    (void)state;
    for (size_t i = 0; registry_server[i] != NULL; i++)
        is_complete(registry_server[i]);
    for (size_t i = 0; registry_jobs[i] != NULL; i++)
        is_complete(registry_jobs[i]);
}

/* Walk one value of RESP; returns what is behind it. */
static const char *walk(const char *p, const char *end)
{
    const char *eol = memchr(p, '\n', (size_t)(end - p));
    assert_non_null(eol);
    long n = strtol(p + 1, NULL, 10);
    const char *next = eol + 1;
    switch (*p) {
    case '+':
    case ':':
    case '_':
        return next;
    case '$':
        return n < 0 ? next : next + n + 2;
    case '%':
        n *= 2;
        break;
    case '*':
        break;
    default:
        fail_msg("unexpected type '%c'", *p);
    }
    for (long i = 0; i < n; i++) {
        assert_true(next < end);
        next = walk(next, end);
    }
    return next;
}

static void descriptions_are_whole_values_in_both_protocols(void **state)
{
    (void)state;
    struct registry r;
    registry_init(&r);
    registry_add(&r, registry_server);
    registry_add(&r, registry_jobs);
    for (int proto = 2; proto <= 3; proto++) {
        for (uint32_t i = 0; i < r.len; i++) {
            struct buf out = {0};
            struct reply reply = {&out, proto, false};
            describe_info(&reply, &r, r.entries[i]);
            const char *end = out.data + out.len;
            assert_ptr_equal(walk(out.data, end), end);
            buf_clear(&out);
            describe_docs(&reply, &r, r.entries[i]); /* a name and a map */
            end = out.data + out.len;
            assert_ptr_equal(walk(walk(out.data, end), end), end);
            buf_release(&out);
        }
    }
    registry_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_options_is_taken_or_refused_by_name),
        cmocka_unit_test(every_entry_tells_what_the_docs_need),
        cmocka_unit_test(descriptions_are_whole_values_in_both_protocols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
