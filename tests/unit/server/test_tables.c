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

/* Its first argument is what is to be done, to jobs of any queue. */
static bool is_keyless(const struct command *cmd)
{
    return strcmp(cmd->name, "JOB.BULK") == 0;
}

struct seen_keys {
    struct slice keys[16];
    unsigned n;
};

static void see_key(void *ud, struct slice key)
{
    struct seen_keys *seen = ud;
    assert_true(seen->n < ARRAY_LEN(seen->keys));
    seen->keys[seen->n++] = key;
}

/* What COMMAND INFO says of the positions: first, last, step. */
static void positions(const struct registry *reg, const struct command *cmd,
                      long out[3])
{
    struct buf text = {0};
    struct reply reply = {&text, 2, false};
    describe_info(&reply, reg, registry_find_full(reg, slice_str(cmd->name)));
    const char *end = text.data + text.len, *p = text.data;
    p = (const char *)memchr(p, '\n', text.len) + 1; /* the array's length */
    for (int i = 0; i < 3; i++)                      /* name, arity, flags */
        p = walk(p, end);
    for (int i = 0; i < 3; i++, p = walk(p, end))
        out[i] = strtol(p + 1, NULL, 10);
    buf_release(&text);
}

/* The first argument routes; further ones of its kind stand behind ALSO, or
 * follow it. */
static void routes(const struct registry *reg, const struct command *cmd)
{
    static struct pair_line line;
    static struct command copies[512]; /* an index is kept by their address */
    static unsigned used;
    const struct arg *first = cmd->args;
    if (first == NULL || first->name == NULL)
        return;
    bool keyless = is_keyless(cmd);
    if (first->key == keyless)
        fail_msg("%s: its first argument is %sa key", cmd->name,
                 first->key ? "" : "not ");
    long at[3];
    positions(reg, cmd, at);
    for (const struct arg *a = first + 1; a->name != NULL; a++)
        if (a->key)
            fail_msg("%s: %s is a key behind the first", cmd->name, a->name);
    if (keyless) {
        assert_int_equal(at[0], 0);
        return;
    }
    assert_int_equal(at[0], 1);
    assert_int_equal(at[1], first->more ? -1 : 1);
    assert_int_equal(at[2], 1);

    assert_true(used < ARRAY_LEN(copies));
    struct command *copy = &copies[used++];
    *copy = *cmd;
    copy->check = NULL; /* it judges values, which are made up here */
    pair_start(&line, copy);
    if (first->optional)
        pair_value(&line, first->type, first->words, first->min);
    if (first->more)
        pair_word(&line, "k2");
    for (const struct opt *o = copy->opts; o != NULL && o->name != NULL; o++)
        if (o->required)
            pair_opt(&line, o);
    if (copy->also) {
        pair_word(&line, "ALSO");
        pair_word(&line, "k2");
        pair_word(&line, "k3");
    }
    struct cmd_ctx c = {.cmd = copy,
                        .argv = line.words,
                        .argc = line.n,
                        .args = mem_zalloc(copy->args_size + 1)};
    if (cmd_parse(&c) != ERR_OK)
        fail_msg("%s: %s", cmd->name, c.e.text);
    struct seen_keys seen = {.n = 0};
    describe_keys(&c, see_key, &seen);
    unsigned wanted = 1u + (first->more ? 1 : 0) + (copy->also ? 2 : 0);
    if (seen.n != wanted)
        fail_msg("%s: %u keys instead of %u", cmd->name, seen.n, wanted);
    assert_ptr_equal(seen.keys[0].data, line.words[cmd_name_words(cmd)].data);
    for (unsigned i = 1; i < seen.n; i++)
        assert_true(
            slice_eq(seen.keys[i], i == 1 ? SLICE_LIT("k2") : SLICE_LIT("k3")));
    mem_free(c.args);
}

static void every_command_on_jobs_routes_by_its_first_argument(void **state)
{
    (void)state;
    struct registry r;
    registry_init(&r);
    registry_add(&r, registry_server);
    registry_add(&r, registry_jobs);
    for (size_t i = 0; registry_jobs[i] != NULL; i++)
        routes(&r, registry_jobs[i]);
    registry_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_options_is_taken_or_refused_by_name),
        cmocka_unit_test(every_entry_tells_what_the_docs_need),
        cmocka_unit_test(descriptions_are_whole_values_in_both_protocols),
        cmocka_unit_test(every_command_on_jobs_routes_by_its_first_argument),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
