#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/conf.h"
#include "conf/directive.h"
#include "unit.h"
#include "util/alloc.h"
#include "util/file.h"

static struct conf *conf;
static struct errbuf e;
static char dir[64];

static int begin(void **state)
{
    (void)state;
    e.text[0] = '\0';
    conf = conf_new();
    (void)snprintf(dir, sizeof(dir), "/tmp/belfry-conf-XXXXXX");
    return mkdtemp(dir) == NULL;
}

static int end(void **state)
{
    (void)state;
    conf_free(&conf);
    char command[96];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    return system(command);
}

static const char *in_dir(const char *name)
{
    static char paths[4][160];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
    return path;
}

static void put(const char *name, const char *text)
{
    assert_ok(file_replace(in_dir(name), slice_str(text), &e));
}

static void assert_file(const char *name, const char *text)
{
    struct buf got = {NULL, 0, 0};
    assert_ok(file_read(in_dir(name), 100000, &got, &e));
    assert_string_equal(buf_cstr(&got), text);
    buf_release(&got);
}

static enum err text(const char *lines)
{
    return conf_load_text(conf, slice_str(lines), "t.conf", &e);
}

#define ARGS(...)                                                            \
    conf_load_args(                                                          \
        conf, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), \
        (const char *[]){__VA_ARGS__}, &e)

static enum err set(const char *a, const char *va, const char *b,
                    const char *vb)
{
    struct slice pairs[4] = {slice_str(a), slice_str(va)};
    if (b != NULL) {
        pairs[2] = slice_str(b);
        pairs[3] = slice_str(vb);
    }
    return conf_set(conf, pairs, b != NULL ? 4 : 2, &e);
}

struct got {
    char text[8000];
    int n;
};

static void collect(void *ud, const char *name, struct slice value)
{
    struct got *g = ud;
    size_t n = strlen(g->text);
    (void)snprintf(g->text + n, sizeof(g->text) - n, "%s=%.*s;", name,
                   SLICE_FMT(value));
    g->n++;
}

static struct got *get(const char *a, const char *b)
{
    static struct got g;
    memset(&g, 0, sizeof(g));
    struct slice patterns[2] = {slice_str(a), slice_str(b != NULL ? b : "")};
    conf_get(conf, patterns, b != NULL ? 2 : 1, collect, &g);
    return &g;
}

static void every_default_is_accepted_by_its_own_rule(void **state)
{
    (void)state;
    const struct config *c = conf_values(conf);
    assert_int_equal(c->port, 2355);
    assert_string_equal(c->bind, "127.0.0.1 -::1");
    assert_int_equal(c->appendfsync, FSYNC_ALWAYS);
    assert_int_equal(c->lease_default_ms, 30000);
    assert_int_equal(c->client_output_buffer_limit.of[OBUF_PUBSUB].hard_bytes,
                     32 << 20);
    assert_int_equal(c->client_output_buffer_limit.of[OBUF_NORMAL].hard_bytes,
                     0);
    assert_true(c->protected_mode);
}

static void lines_set_typed_fields(void **state)
{
    (void)state;
    assert_ok(text("# a comment\n\n  port 7000 \r\nmaxmemory 2gb\n"
                   "bind 10.0.0.1 ::1\nrequirepass \"a b\\x21\"\n"
                   "appendfsync EVERYSEC\nunixsocketperm 770\n"
                   "slowlog-log-slower-than -1\ndead-keep 2d\n"
                   "client-output-buffer-limit pubsub 1mb 1kb 7"));
    const struct config *c = conf_values(conf);
    assert_int_equal(c->port, 7000);
    assert_int_equal(c->maxmemory, 2147483648u);
    assert_string_equal(c->bind, "10.0.0.1 ::1");
    assert_string_equal(c->requirepass, "a b!");
    assert_int_equal(c->appendfsync, FSYNC_EVERYSEC);
    assert_int_equal(c->unixsocketperm, 0770);
    assert_int_equal(c->slowlog_log_slower_than_us, -1);
    assert_int_equal(c->dead_keep_ms, 2 * 86400000);
    assert_int_equal(c->client_output_buffer_limit.of[OBUF_PUBSUB].soft_s, 7);
}

/* A stock redis.conf has them. */
static void bounds_of_classes_that_are_not_here_are_ignored(void **state)
{
    (void)state;
    struct config before = *conf_values(conf);
    assert_ok(text("client-output-buffer-limit replica 256mb 64mb 60\n"
                   "client-output-buffer-limit slave 256mb 64mb 60\n"));
    assert_memory_equal(&before.client_output_buffer_limit,
                        &conf_values(conf)->client_output_buffer_limit,
                        sizeof(before.client_output_buffer_limit));
    assert_ok(set("client-output-buffer-limit",
                  "normal 1 2 3 replica 4 5 6 pubsub 7 8 9", NULL, NULL));
    assert_string_equal(
        get("client-output-buffer-limit", NULL)->text,
        "client-output-buffer-limit=normal 1 2 3 pubsub 7 8 9;");
}

static void
an_unknown_directive_is_refused_by_place_and_nearest_name(void **state)
{
    (void)state;
    assert_int_equal(text("port 1\n\nmaxclient 5\n"), ERR_SYNTAX);
    assert_string_equal(e.text, "t.conf:3: unknown directive 'maxclient'; did "
                                "you mean 'maxclients'?");
    assert_int_equal(text("zzzzzzzz 5\n"), ERR_SYNTAX);
    assert_string_equal(e.text, "t.conf:1: unknown directive 'zzzzzzzz'");
}

static void a_bad_value_is_refused_with_what_is_allowed(void **state)
{
    (void)state;
    static const struct {
        const char *line, *error;
    } bad[] = {
        {"port 70000", "port must be an integer from 0 to 65535, not '70000'"},
        {"port 65536", "port must be an integer from 0 to 65535, not '65536'"},
        {"slowlog-log-slower-than -2",
         "slowlog-log-slower-than must be an integer from -1 to 3600000000, "
         "not '-2'"},
        {"port -1", "port must be an integer from 0 to 65535, not '-1'"},
        {"port", "port takes one value, not 0"},
        {"port 1 2", "port takes one value, not 2"},
        {"daemonize maybe", "daemonize must be yes or no, not 'maybe'"},
        {"appendfsync x",
         "appendfsync must be always, everysec or no, not 'x'"},
        {"payload-max-size 17mb", "payload-max-size must be a size (bytes, or "
                                  "with kb mb gb) from 1kb to 4mb, not "
                                  "'17mb'"},
        {"lease-default 1", "lease-default must be a duration (ms, or with ms "
                            "s m h d) from 100ms to 1d, not '1'"},
        {"unixsocketperm 800",
         "unixsocketperm must be octal permissions from 0 to 777, not '800'"},
        {"dir \"\"", "dir must be one word, not empty, not ''"},
        {"logfile \"a\\x00b\"", "logfile may not contain a NUL byte"},
        {"logfile \"a", "unbalanced quotes"},
        {"databases 16", "'databases' cannot be set: There is one database."},
        {"client-output-buffer-limit master 1 1 1",
         "client-output-buffer-limit must be class (normal, pubsub, or "
         "replica, "
         "which is ignored), hard and soft size, seconds; again for each "
         "class, not 'master'"},
        {"client-output-buffer-limit replica 1 x 1",
         "client-output-buffer-limit must be class (normal, pubsub, or "
         "replica, "
         "which is ignored), hard and soft size, seconds; again for each "
         "class, not 'x'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char want[300];
        (void)snprintf(want, sizeof(want), "t.conf:1: %s", bad[i].error);
        assert_int_equal(text(bad[i].line), ERR_SYNTAX);
        assert_string_equal(e.text, want);
    }
}

static void a_bad_secret_is_not_repeated(void **state)
{
    (void)state;
    assert_int_equal(text("requirepass pass1 pass2\n"), ERR_SYNTAX);
    assert_null(strstr(e.text, "pass1"));
}

static void includes_stand_where_they_are_and_do_not_nest_for_ever(void **state)
{
    (void)state;
    char line[300];
    put("b.conf", "port 2\nmaxclients 7\n");
    (void)snprintf(line, sizeof(line), "port 1\ninclude %s\n# x\ntimeout 3\n",
                   in_dir("b.conf"));
    put("a.conf", line);
    assert_ok(conf_load_file(conf, in_dir("a.conf"), &e));
    assert_int_equal(conf_values(conf)->port, 2);
    assert_int_equal(conf_values(conf)->maxclients, 7);
    assert_int_equal(conf_values(conf)->timeout_s, 3);

    (void)snprintf(line, sizeof(line), "include %s\n", in_dir("c.conf"));
    put("c.conf", line);
    assert_int_equal(conf_load_file(conf, in_dir("c.conf"), &e), ERR_SYNTAX);
    assert_non_null(strstr(e.text, "nested more than 8 deep"));
}

static void argv_wins_over_the_file(void **state)
{
    (void)state;
    put("a.conf", "port 1\ntimeout 9\n");
    assert_ok(ARGS(in_dir("a.conf"), "--port", "7", "--bind", "::1", "1.2.3.4",
                   "--maxclients=5", "--slowlog-log-slower-than", "-1"));
    assert_int_equal(conf_values(conf)->port, 7);
    assert_int_equal(conf_values(conf)->timeout_s, 9);
    assert_int_equal(conf_values(conf)->maxclients, 5);
    assert_int_equal(conf_values(conf)->slowlog_log_slower_than_us, -1);
    assert_string_equal(conf_values(conf)->bind, "::1 1.2.3.4");
    assert_non_null(strstr(conf_path(conf), "/a.conf"));
}

static void argv_errors_name_the_argument(void **state)
{
    (void)state;
    assert_int_equal(ARGS("--prot", "1"), ERR_SYNTAX);
    assert_string_equal(
        e.text, "--prot: unknown directive 'prot'; did you mean 'port'?");
    assert_int_equal(ARGS("--port"), ERR_SYNTAX);
    assert_string_equal(e.text, "--port: port takes one value, not 0");
    assert_int_equal(ARGS("-x"), ERR_SYNTAX);
    assert_int_equal(ARGS("--"), ERR_SYNTAX);
    assert_int_equal(ARGS(in_dir("none")), ERR_IO);
    assert_non_null(strstr(e.text, "none: No such file"));
}

static void standard_input_is_read_for_a_dash(void **state)
{
    (void)state;
    int fds[2], saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], "timeout 4\nport 5\n", 17), 17);
    (void)close(fds[1]);
    (void)dup2(fds[0], STDIN_FILENO);
    (void)close(fds[0]);
    enum err rc = ARGS("-", "--port", "6");
    (void)dup2(saved, STDIN_FILENO);
    (void)close(saved);
    assert_ok(rc);
    assert_int_equal(conf_values(conf)->timeout_s, 4);
    assert_int_equal(conf_values(conf)->port, 6);
}

static void get_answers_several_patterns_once_each(void **state)
{
    (void)state;
    assert_string_equal(get("timeout", NULL)->text, "timeout=0;");
    assert_string_equal(get("TIME*", NULL)->text, "timeout=0;");
    assert_string_equal(get("time*", "t?meout")->text, "timeout=0;");
    assert_string_equal(get("save", "maxmemory")->text, "maxmemory=0;save=;");
    assert_string_equal(get("client-out*", NULL)->text,
                        "client-output-buffer-limit=normal 0 0 0 pubsub "
                        "33554432 8388608 60;");
    size_t n;
    (void)directives(&n);
    assert_int_equal(get("*", NULL)->n, n);
    assert_int_equal(get("nothing", NULL)->n, 0);
}

static void set_changes_all_or_nothing(void **state)
{
    (void)state;
    assert_ok(set("timeout", "5", "MAXCLIENTS", "6"));
    assert_int_equal(conf_values(conf)->timeout_s, 5);
    assert_int_equal(conf_values(conf)->maxclients, 6);
    assert_int_equal(set("timeout", "7", "maxclients", "x"), ERR_SYNTAX);
    assert_string_equal(e.text,
                        "CONFIG SET failed (argument 'maxclients'): maxclients "
                        "must be an integer from 1 to 1000000, not 'x'");
    assert_int_equal(conf_values(conf)->timeout_s, 5);
    assert_int_equal(set("timeout", "7", "timeout", "8"), ERR_SYNTAX);
    assert_int_equal(set("port", "7", NULL, NULL), ERR_SYNTAX);
    assert_non_null(strstr(e.text, "immutable"));
    assert_int_equal(set("databases", "7", NULL, NULL), ERR_SYNTAX);
    assert_int_equal(set("timeuot", "7", NULL, NULL), ERR_SYNTAX);
    assert_non_null(strstr(e.text, "did you mean 'timeout'?"));
    assert_int_equal(conf_set(conf, NULL, 0, &e), ERR_SYNTAX);
    assert_ok(set("requirepass", "two words", NULL, NULL));
    assert_string_equal(conf_values(conf)->requirepass, "two words");
}

static void bounds_between_directives_hold(void **state)
{
    (void)state;
    assert_ok(set("overlay-max-bytes", "1mb", NULL, NULL));
    assert_int_equal(text("log-segment-size 1gb\nlog-max-bytes 1gb\n"),
                     ERR_SYNTAX);
    assert_non_null(strstr(e.text, "log-max-bytes"));
}

struct user {
    int calls;
    uint64_t seen;
    bool refuse;
};

static enum err apply(void *ud, const struct config *now, struct errbuf *err)
{
    struct user *u = ud;
    u->calls++;
    u->seen = now->timeout_s;
    return u->refuse ? err_set(err, ERR_LIMIT, "too many") : ERR_OK;
}

static void a_refusing_user_undoes_the_whole_set(void **state)
{
    (void)state;
    struct user timeout = {0, 0, false}, maxclients = {0, 0, false};
    conf_on_set(conf, "timeout", apply, &timeout);
    conf_on_set(conf, "maxclients", apply, &maxclients);
    assert_ok(set("timeout", "5", NULL, NULL));
    assert_int_equal(timeout.calls, 1);
    assert_int_equal(timeout.seen, 5);
    assert_int_equal(maxclients.calls, 0);
    maxclients.refuse = true;
    assert_int_equal(set("timeout", "9", "maxclients", "3"), ERR_LIMIT);
    assert_string_equal(e.text,
                        "CONFIG SET failed (argument 'maxclients'): too many");
    assert_int_equal(timeout.calls, 3);
    assert_int_equal(timeout.seen, 5);
    assert_int_equal(conf_values(conf)->timeout_s, 5);
    assert_int_equal(conf_values(conf)->maxclients, 10000);
}

static void rewrite_keeps_comments_and_what_is_still_true(void **state)
{
    (void)state;
    put("a.conf", "# mine\ntimeout 4\ntimeout 5\n\n  maxmemory   1gb\n"
                  "client-output-buffer-limit pubsub 1mb 1kb 7\n"
                  "requirepass old\n# end");
    assert_ok(conf_load_file(conf, in_dir("a.conf"), &e));
    assert_int_equal(chmod(in_dir("a.conf"), 0600), 0);
    assert_ok(conf_rewrite(conf, &e));
    assert_file("a.conf", "# mine\ntimeout 5\n\n  maxmemory   1gb\n"
                          "client-output-buffer-limit pubsub 1mb 1kb 7\n"
                          "requirepass old\n# end\n");

    assert_ok(set("requirepass", "new \"word\"", "maxclients", "44"));
    assert_ok(
        set("client-output-buffer-limit", "normal 9 8 7", "maxmemory", "0"));
    assert_ok(conf_rewrite(conf, &e));
    const char *want = "# mine\ntimeout 5\n\nmaxmemory 0\n"
                       "client-output-buffer-limit normal 9 8 7\n"
                       "client-output-buffer-limit pubsub 1048576 1024 7\n"
                       "requirepass \"new \\\"word\\\"\"\n# end\n"
                       "# Generated by CONFIG REWRITE\nmaxclients 44\n";
    assert_file("a.conf", want);
    assert_ok(conf_rewrite(conf, &e));
    assert_file("a.conf", want);
    struct stat st;
    assert_int_equal(stat(in_dir("a.conf"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);

    struct conf *again = conf_new();
    assert_ok(conf_load_file(again, in_dir("a.conf"), &e));
    size_t n;
    const struct directive *d = directives(&n);
    for (size_t i = 0; i < n; i++)
        assert_true(
            directive_equal(&d[i], conf_values(again), conf_values(conf)));
    conf_free(&again);
}

static void rewrite_quotes_words_that_would_be_read_otherwise(void **state)
{
    (void)state;
    static const char *const odd[] = {"a\"b", "a  b",  "",   " ",
                                      "'a'",  "a\\ b", "a b"};
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        put("a.conf", "timeout 4\n");
        assert_ok(ARGS(in_dir("a.conf"), "--bind", odd[i]));
        assert_ok(conf_rewrite(conf, &e));
        struct conf *again = conf_new();
        assert_ok(conf_load_file(again, in_dir("a.conf"), &e));
        assert_string_equal(conf_values(again)->bind, conf_values(conf)->bind);
        conf_free(&again);
    }
    assert_file("a.conf",
                "timeout 4\n# Generated by CONFIG REWRITE\nbind a b\n");
}

static void rewrite_without_a_file_is_refused(void **state)
{
    (void)state;
    assert_int_equal(conf_rewrite(conf, &e), ERR_STATE);
    put("a.conf", "timeout 4\n");
    assert_ok(conf_load_file(conf, in_dir("a.conf"), &e));
    put("a.conf", "broken\n");
    assert_int_equal(conf_rewrite(conf, &e), ERR_SYNTAX);
    assert_file("a.conf", "broken\n");
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(every_default_is_accepted_by_its_own_rule),
        T(lines_set_typed_fields),
        T(bounds_of_classes_that_are_not_here_are_ignored),
        T(an_unknown_directive_is_refused_by_place_and_nearest_name),
        T(a_bad_value_is_refused_with_what_is_allowed),
        T(a_bad_secret_is_not_repeated),
        T(includes_stand_where_they_are_and_do_not_nest_for_ever),
        T(argv_wins_over_the_file),
        T(argv_errors_name_the_argument),
        T(standard_input_is_read_for_a_dash),
        T(get_answers_several_patterns_once_each),
        T(set_changes_all_or_nothing),
        T(bounds_between_directives_hold),
        T(a_refusing_user_undoes_the_whole_set),
        T(rewrite_keeps_comments_and_what_is_still_true),
        T(rewrite_quotes_words_that_would_be_read_otherwise),
        T(rewrite_without_a_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
