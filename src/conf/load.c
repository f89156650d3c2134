/* Reading: files, their includes, standard input, argv.
 *
 *   1. argv is walked once for the file's name and `-`;
 *   2. the file's lines are set one by one, includes in their place;
 *   3. then the lines of standard input, then the directives of argv;
 *   4. at the end the bounds between directives are checked.
 *
 * Every error begins with its place: "belfry.conf:12: ...", "--port: ...". */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "conf/internal.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/tokens.h"

#define INCLUDE_DEPTH_MAX 8

static enum err load_file(struct conf *conf, const char *path, int depth,
                          struct errbuf *e);

static enum err set_words(struct conf *conf, const struct slice *words,
                          size_t n, int depth, struct errbuf *e)
{
    if (slice_is(words[0], "include")) {
        if (n != 2)
            return err_set(e, ERR_SYNTAX, "include takes one file name");
        char *path = mem_dup(words[1]);
        enum err rc = load_file(conf, path, depth + 1, e);
        mem_free(path);
        return rc;
    }
    const char *near;
    const struct directive *d = directive_find(words[0], &near);
    int len = (int)(words[0].len < 64 ? words[0].len : 64);
    if (d == NULL)
        return err_set(e, ERR_SYNTAX, "unknown directive '%.*s'%s%s%s", len,
                       words[0].data, near ? "; did you mean '" : "",
                       near ? near : "", near ? "'?" : "");
    if ((d->flags & CF_FIXED) != 0)
        return err_set(e, ERR_SYNTAX, "'%s' cannot be set: %s", d->name,
                       d->help);
    return directive_parse(d, &conf->now, words + 1, n - 1, e);
}

static enum err load_text(struct conf *conf, struct slice text,
                          const char *name, int depth, struct errbuf *e)
{
    struct tokens words = {NULL, 0, 0, {NULL, 0, 0}};
    enum err rc = ERR_OK;
    for (unsigned line_no = 1; text.len > 0 && rc == ERR_OK; line_no++) {
        const char *nl = memchr(text.data, '\n', text.len);
        size_t len = nl != NULL ? (size_t)(nl - text.data) : text.len;
        struct slice line = slice_of(text.data, len);
        size_t used = nl != NULL ? len + 1 : len;
        text = slice_of(text.data + used, text.len - used);
        if (conf_line_is_comment(line))
            continue;
        if (!tokens_split(&words, line))
            rc = err_set(e, ERR_SYNTAX, "unbalanced quotes");
        else if (words.len > 0)
            rc = set_words(conf, words.at, words.len, depth, e);
        if (rc != ERR_OK)
            err_wrap(e, "%s:%u", name, line_no);
    }
    tokens_release(&words);
    return rc;
}

bool conf_line_is_comment(struct slice line)
{
    size_t i = 0;
    while (i < line.len && (line.data[i] == ' ' || line.data[i] == '\t'))
        i++;
    return i < line.len && line.data[i] == '#';
}

static enum err load_file(struct conf *conf, const char *path, int depth,
                          struct errbuf *e)
{
    if (depth > INCLUDE_DEPTH_MAX)
        return err_set(e, ERR_SYNTAX,
                       "include of %s is nested more than %d deep", path,
                       INCLUDE_DEPTH_MAX);
    struct buf text = {NULL, 0, 0};
    enum err rc = file_read(path, CONF_FILE_MAX, &text, e);
    if (rc == ERR_OK)
        rc = load_text(conf, buf_slice(&text), path, depth, e);
    buf_release(&text);
    return rc;
}

enum err conf_load_text(struct conf *conf, struct slice text, const char *name,
                        struct errbuf *e)
{
    enum err rc = load_text(conf, text, name, 0, e);
    return rc == ERR_OK ? config_check(&conf->now, e) : rc;
}

/* REWRITE finds the file again even if the process has changed directory. */
static void remember_path(struct conf *conf, const char *path)
{
    char whole[PATH_MAX];
    if (realpath(path, whole) == NULL)
        return;
    mem_free(conf->path);
    conf->path = mem_dup(slice_str(whole));
}

static enum err load_named(struct conf *conf, const char *path,
                           struct errbuf *e)
{
    enum err rc = load_file(conf, path, 0, e);
    if (rc == ERR_OK)
        remember_path(conf, path);
    return rc;
}

enum err conf_load_file(struct conf *conf, const char *path, struct errbuf *e)
{
    enum err rc = load_named(conf, path, e);
    return rc == ERR_OK ? config_check(&conf->now, e) : rc;
}

static enum err load_stdin(struct conf *conf, struct errbuf *e)
{
    struct buf text = {NULL, 0, 0};
    enum err rc =
        file_read_fd(STDIN_FILENO, "standard input", CONF_FILE_MAX, &text, e);
    if (rc == ERR_OK)
        rc = load_text(conf, buf_slice(&text), "stdin", 0, e);
    buf_release(&text);
    return rc;
}

static bool is_directive(const char *arg)
{
    return arg[0] == '-' && arg[1] == '-';
}

/* `--name value...` or `--name=value`, at argv[0]; *used is how many. */
static enum err load_option(struct conf *conf, int argc,
                            const char *const *argv, int *used,
                            struct errbuf *e)
{
    struct slice *words =
        (struct slice *)mem_alloc(((size_t)argc + 1) * sizeof(struct slice));
    size_t n = 0;
    struct slice name = slice_str(argv[0] + 2);
    const char *equals = memchr(name.data, '=', name.len);
    if (equals != NULL) {
        words[n++] = slice_of(name.data, (size_t)(equals - name.data));
        words[n++] = slice_str(equals + 1);
    } else {
        words[n++] = name;
    }
    for (*used = 1; *used < argc; (*used)++) {
        if (is_directive(argv[*used]) || strcmp(argv[*used], "-") == 0)
            break;
        words[n++] = slice_str(argv[*used]);
    }
    enum err rc = set_words(conf, words, n, 0, e);
    if (rc != ERR_OK)
        err_wrap(e, "--%.*s", (int)(words[0].len < 64 ? words[0].len : 64),
                 words[0].data);
    mem_free(words);
    return rc;
}

enum err conf_load_args(struct conf *conf, int argc, const char *const *argv,
                        struct errbuf *e)
{
    int i = 0;
    enum err rc = ERR_OK;
    if (argc > 0 && argv[0][0] != '-')
        rc = load_named(conf, argv[i++], e);
    for (int j = i; j < argc && rc == ERR_OK; j++)
        if (strcmp(argv[j], "-") == 0) {
            rc = load_stdin(conf, e);
            break;
        }
    while (i < argc && rc == ERR_OK) {
        int used = 1;
        if (is_directive(argv[i]))
            rc = load_option(conf, argc - i, argv + i, &used, e);
        else if (strcmp(argv[i], "-") != 0)
            rc = err_set(e, ERR_SYNTAX,
                         "'%s' is not a directive: use [file] [-] "
                         "[--directive value...]...",
                         argv[i]);
        i += used;
    }
    return rc == ERR_OK ? config_check(&conf->now, e) : rc;
}
