/* Replies: values of RESP2 or RESP3, appended to a buffer.
 *
 * Only strings, integers, null, arrays, maps and (to subscribers) pushes are
 * ever sent: no attributes, doubles, booleans, sets or big numbers, because
 * widespread clients break on them. An object is a map in RESP3 and a flat
 * array with the same order in RESP2.
 */
#ifndef RESP_REPLY_H
#define RESP_REPLY_H

#include <stdint.h>

#include "util/buf.h"
#include "util/err.h"
#include "util/slice.h"

struct reply {
    struct buf *out;
    int proto;  /* 2 or 3 */
    bool muted; /* CLIENT REPLY OFF or SKIP: nothing is written */
};

void reply_ok(struct reply *r);
void reply_simple(struct reply *r, const char *text);
/* "-PREFIX text": text must not hold CR or LF (they become blanks). */
void reply_error(struct reply *r, enum err code, const char *text);
void reply_error_raw(struct reply *r, const char *line); /* without '-' */
void reply_int(struct reply *r, int64_t n);
void reply_bulk(struct reply *r, struct slice s);
void reply_str(struct reply *r, const char *s); /* as bulk */
void reply_printf(struct reply *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
void reply_verbatim(struct reply *r, struct slice s); /* txt; bulk in RESP2 */
void reply_null(struct reply *r);                     /* _ or $-1 */
void reply_null_array(struct reply *r); /* _ or *-1: EXEC that was aborted */
void reply_array(struct reply *r, size_t n);
void reply_map(struct reply *r, size_t n); /* n pairs follow */
void reply_set(struct reply *r, size_t n); /* array in RESP2 */
void reply_push(struct reply *r, size_t n);

/* An array or map whose length is known only afterwards. */
struct reply_mark {
    size_t at, body; /* its header, if guessed, is between the two */
    size_t guess;    /* SIZE_MAX: none */
};
struct reply_mark reply_array_begin(struct reply *r);
/* The same; if the guess is right, what follows need not be moved. */
struct reply_mark reply_array_guess(struct reply *r, size_t n);
void reply_array_end(struct reply *r, struct reply_mark m, size_t n);
struct reply_mark reply_map_begin(struct reply *r);
void reply_map_end(struct reply *r, struct reply_mark m, size_t n);

/* Bytes that are a reply already. */
static inline void reply_raw(struct reply *r, const char *bytes, size_t len)
{
    if (!r->muted)
        buf_add(r->out, bytes, len);
}

/* `len` bytes that were written to `out` already, at `at`, once more. */
void reply_again(struct reply *r, size_t at, size_t len);

/* One field of an object: the name as bulk, then the value. */
void reply_field_int(struct reply *r, const char *name, int64_t n);
void reply_field_str(struct reply *r, const char *name, struct slice s);
void reply_field_null(struct reply *r, const char *name);

#endif
