/* What the files of this folder share. */
#ifndef CONF_INTERNAL_H
#define CONF_INTERNAL_H

#include "conf/conf.h"
#include "conf/directive.h"

/* Longest configuration file. */
#define CONF_FILE_MAX ((size_t)1 << 20)

struct conf_user {
    const struct directive *directive; /* NULL: any */
    conf_apply_fn fn;
    void *ud;
};

struct conf {
    struct config now;
    char *path; /* of the file, absolute; NULL = none */
    struct conf_user *users;
    size_t users_len;
};

/* True for `  # ...`. */
bool conf_line_is_comment(struct slice line);

/* Bounds between directives. */
MUST_USE enum err config_check(const struct config *c, struct errbuf *e);

#endif
