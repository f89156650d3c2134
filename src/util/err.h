/* Errors: a code for the program, a sentence for people.
 *
 * A function that can fail returns `enum err` and puts the sentence into the
 * caller's `struct errbuf` (which may be NULL). The error is reported once, at
 * the top. The codes are listed in util/errors.def.
 */
#ifndef UTIL_ERR_H
#define UTIL_ERR_H

#include "util/assert.h"

enum err {
    ERR_OK = 0,
#define ERR(name, prefix, meaning) ERR_##name,
#include "util/errors.def"
#undef ERR
    ERR_COUNT
};

#define ERRBUF_SIZE 384

struct errbuf {
    char text[ERRBUF_SIZE];
};

/* Set the sentence and return `code`, so that callers can write
 * `return err_set(e, ERR_IO, "sync %s", path);`. Control characters are
 * replaced by blanks, because the text goes into a one-line reply. */
enum err err_set(struct errbuf *e, enum err code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* As err_set() with ": strerror(errnum)" at the end. */
enum err err_sys(struct errbuf *e, enum err code, int errnum, const char *fmt,
                 ...) PRINTF_LIKE(4, 5);

/* Put "context: " in front of the sentence. */
void err_wrap(struct errbuf *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

const char *err_name(enum err code);    /* "NOTFOUND" */
const char *err_prefix(enum err code);  /* first word of the error reply */
const char *err_meaning(enum err code); /* for docs/errors.md */

#endif
