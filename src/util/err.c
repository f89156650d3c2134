#include "util/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *prefix, *meaning;
} errors[ERR_COUNT] = {
    [ERR_OK] = {"OK", "OK", "no error"},
#define ERR(name, prefix, meaning) [ERR_##name] = {#name, prefix, meaning},
#include "util/errors.def"
#undef ERR
};

static void clean(char *s)
{
    for (; *s != '\0'; s++)
        if ((unsigned char)*s < ' ' || *s == 127)
            *s = ' ';
}

enum err err_set(struct errbuf *e, enum err code, const char *fmt, ...)
{
    ASSERT(code != ERR_OK && code < ERR_COUNT);
    if (e != NULL) {
        va_list ap;
        va_start(ap, fmt);
        (void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
        va_end(ap);
        clean(e->text);
    }
    return code;
}

enum err err_sys(struct errbuf *e, enum err code, int errnum, const char *fmt,
                 ...)
{
    ASSERT(code != ERR_OK && code < ERR_COUNT);
    if (e != NULL) {
        char why[128];
        va_list ap;
        va_start(ap, fmt);
        (void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
        va_end(ap);
        size_t n = strlen(e->text);
        /* The GNU and POSIX strerror_r differ; %m needs neither. */
        (void)snprintf(why, sizeof(why), "%s", strerror(errnum));
        (void)snprintf(e->text + n, sizeof(e->text) - n, ": %s", why);
        clean(e->text);
    }
    return code;
}

void err_wrap(struct errbuf *e, const char *fmt, ...)
{
    if (e == NULL)
        return;
    char old[ERRBUF_SIZE];
    memcpy(old, e->text, sizeof(old));
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
    size_t n = strlen(e->text);
    (void)snprintf(e->text + n, sizeof(e->text) - n, ": %.*s",
                   (int)sizeof(old) - 1, old);
    clean(e->text);
}

const char *err_name(enum err code)
{
    ASSERT(code < ERR_COUNT);
    return errors[code].name;
}

const char *err_prefix(enum err code)
{
    ASSERT(code < ERR_COUNT);
    return errors[code].prefix;
}

const char *err_meaning(enum err code)
{
    ASSERT(code < ERR_COUNT);
    return errors[code].meaning;
}
