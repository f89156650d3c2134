#include "conf/conf.h"

#include "conf/internal.h"
#include "util/alloc.h"
#include "util/tokens.h"

struct conf *conf_new(void)
{
    struct conf *conf = NEW(struct conf);
    config_init(&conf->now);
    return conf;
}

void conf_free(struct conf **conf)
{
    if (*conf == NULL)
        return;
    config_release(&(*conf)->now);
    mem_free((*conf)->path);
    mem_free((*conf)->users);
    FREE(conf);
}

const struct config *conf_values(const struct conf *conf)
{
    return &conf->now;
}

const char *conf_path(const struct conf *conf)
{
    return conf->path;
}

enum err config_check(const struct config *c, struct errbuf *e)
{
    if (c->log_segment_size > c->log_max_bytes / 2)
        return err_set(e, ERR_SYNTAX,
                       "log-max-bytes (%llu) must be at least twice "
                       "log-segment-size (%llu)",
                       (unsigned long long)c->log_max_bytes,
                       (unsigned long long)c->log_segment_size);
    return ERR_OK;
}

bool conf_is_public(struct slice name, bool value)
{
    const struct directive *d = directive_find(name, NULL);
    return d != NULL && !(value && (d->flags & CF_SECRET) != 0);
}

void conf_on_set(struct conf *conf, const char *name, conf_apply_fn fn,
                 void *ud)
{
    const struct directive *d = NULL;
    if (name != NULL) {
        d = directive_find(slice_str(name), NULL);
        ASSERT(d != NULL);
    }
    conf->users = (struct conf_user *)mem_realloc(
        conf->users, (conf->users_len + 1) * sizeof(struct conf_user));
    conf->users[conf->users_len++] = (struct conf_user){d, fn, ud};
}

/* One name and value into *next. */
static enum err set_one(const struct directive *d, struct slice value,
                        struct config *next, struct errbuf *e)
{
    if ((d->flags & (CF_START | CF_FIXED)) != 0)
        return err_set(e, ERR_SYNTAX, "can't set immutable config");
    if (d->type != CT_OBUF && d->type != CT_WORDS)
        return directive_parse(d, next, &value, 1, e);
    struct tokens words = {NULL, 0, 0, {NULL, 0, 0}};
    enum err rc;
    if (tokens_split(&words, value))
        rc = directive_parse(d, next, words.at, words.len, e);
    else
        rc = err_set(e, ERR_SYNTAX, "unbalanced quotes");
    tokens_release(&words);
    return rc;
}

static enum err parse_pairs(const struct slice *pairs, size_t n,
                            struct config *next, struct errbuf *e)
{
    for (size_t i = 0; i < n; i += 2) {
        const char *near;
        const struct directive *d = directive_find(pairs[i], &near);
        int len = (int)(pairs[i].len < 64 ? pairs[i].len : 64);
        if (d == NULL)
            return err_set(e, ERR_SYNTAX,
                           "Unknown option or number of arguments for CONFIG "
                           "SET - '%.*s'%s%s%s",
                           len, pairs[i].data, near ? "; did you mean '" : "",
                           near ? near : "", near ? "'?" : "");
        enum err rc = ERR_OK;
        for (size_t j = 0; j < i && rc == ERR_OK; j += 2)
            if (slice_eq_nocase(pairs[i], pairs[j]))
                rc = err_set(e, ERR_SYNTAX, "duplicate parameter");
        if (rc == ERR_OK)
            rc = set_one(d, pairs[i + 1], next, e);
        if (rc != ERR_OK) {
            err_wrap(e, "CONFIG SET failed (argument '%s')", d->name);
            return rc;
        }
    }
    enum err rc = config_check(next, e);
    if (rc != ERR_OK)
        err_wrap(e, "CONFIG SET failed");
    return rc;
}

/* Tell the users of what changed; how many were told is in *told. */
static enum err tell(const struct conf *conf, const struct config *before,
                     size_t *told, struct errbuf *e)
{
    for (*told = 0; *told < conf->users_len; (*told)++) {
        const struct conf_user *u = &conf->users[*told];
        if (u->directive != NULL &&
            directive_equal(u->directive, before, &conf->now))
            continue;
        enum err rc = u->fn(u->ud, &conf->now, e);
        if (rc == ERR_OK)
            continue;
        err_wrap(e, "CONFIG SET failed (argument '%s')",
                 u->directive != NULL ? u->directive->name : "any");
        return rc;
    }
    return ERR_OK;
}

enum err conf_set(struct conf *conf, const struct slice *pairs, size_t n,
                  struct errbuf *e)
{
    if (n == 0 || n % 2 != 0)
        return err_set(e, ERR_SYNTAX,
                       "CONFIG SET takes pairs of a directive and its value");
    struct config next, before;
    config_copy(&next, &conf->now);
    enum err rc = parse_pairs(pairs, n, &next, e);
    if (rc != ERR_OK) {
        config_release(&next);
        return rc;
    }
    before = conf->now;
    conf->now = next;
    size_t told;
    rc = tell(conf, &before, &told, e);
    if (rc == ERR_OK) {
        config_release(&before);
        return ERR_OK;
    }
    /* Back to what was; who agreed to the new values agreed to the old ones
     * before, so their answer is not asked for. */
    next = conf->now;
    conf->now = before;
    for (size_t i = 0; i < told; i++) {
        const struct conf_user *u = &conf->users[i];
        if (u->directive == NULL ||
            !directive_equal(u->directive, &next, &conf->now))
            (void)u->fn(u->ud, &conf->now, NULL);
    }
    config_release(&next);
    return rc;
}

void conf_get(const struct conf *conf, const struct slice *patterns, size_t n,
              conf_get_fn fn, void *ud)
{
    size_t count;
    const struct directive *d = directives(&count);
    struct buf value = {NULL, 0, 0};
    for (size_t i = 0; i < count; i++) {
        bool wanted = false;
        for (size_t j = 0; j < n && !wanted; j++)
            wanted = glob_match_nocase(patterns[j], slice_str(d[i].name));
        if (!wanted)
            continue;
        buf_clear(&value);
        directive_print(&d[i], &conf->now, &value);
        fn(ud, d[i].name, buf_slice(&value));
    }
    buf_release(&value);
}
