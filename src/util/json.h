/* JSON that comes in (jansson behind it). What goes out is written by hand.
 *
 * A parsed value is a tree; json_parse() gives the root to the caller, all
 * else in it is borrowed until json_free(). Text must be one value, UTF-8,
 * without duplicate names; its length and depth are bounded before anything is
 * built.
 */
#ifndef UTIL_JSON_H
#define UTIL_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/err.h"
#include "util/slice.h"

#define JSON_DEPTH_MAX 64

struct json;

enum json_kind {
    JSON_KIND_NULL,
    JSON_KIND_BOOL,
    JSON_KIND_INT,
    JSON_KIND_REAL,
    JSON_KIND_STRING,
    JSON_KIND_ARRAY,
    JSON_KIND_OBJECT,
};

/* Errors:
 *   ERR_LIMIT   longer than `len_max` or deeper than JSON_DEPTH_MAX.
 *   ERR_SYNTAX  not JSON; *e says where.
 */
MUST_USE enum err json_parse(struct slice text, size_t len_max,
                             struct json **out, struct errbuf *e);
void json_free(struct json **j);

/* True if `text` is one JSON value within the bounds. */
bool json_valid(struct slice text, size_t len_max, struct errbuf *e);

enum json_kind json_kind(const struct json *j);

/* Members of an array. */
size_t json_len(const struct json *array);
const struct json *json_at(const struct json *array, size_t i);

/* Fields of an object. A missing one, or null, leaves *out as it is; if it is
 * JSON_REQUIRED that is an error. A field of another kind is an error that
 * names field, what it is and what it should be. */
enum json_need { JSON_OPTIONAL, JSON_REQUIRED };

MUST_USE enum err json_get_str(const struct json *object, const char *name,
                               enum json_need need, struct slice *out,
                               struct errbuf *e);
MUST_USE enum err json_get_i64(const struct json *object, const char *name,
                               enum json_need need, int64_t *out,
                               struct errbuf *e);
MUST_USE enum err json_get_u64(const struct json *object, const char *name,
                               enum json_need need, uint64_t *out,
                               struct errbuf *e);
MUST_USE enum err json_get_double(const struct json *object, const char *name,
                                  enum json_need need, double *out,
                                  struct errbuf *e);
MUST_USE enum err json_get_bool(const struct json *object, const char *name,
                                enum json_need need, bool *out,
                                struct errbuf *e);
MUST_USE enum err json_get_array(const struct json *object, const char *name,
                                 enum json_need need, const struct json **out,
                                 struct errbuf *e);
MUST_USE enum err json_get_object(const struct json *object, const char *name,
                                  enum json_need need, const struct json **out,
                                  struct errbuf *e);
/* Of any kind; NULL if it is missing. */
const struct json *json_get(const struct json *object, const char *name);

/* Refuse fields that are not in `names` (ends in NULL), so that a misspelt
 * option is not silently ignored. */
MUST_USE enum err json_only(const struct json *object, const char *const *names,
                            struct errbuf *e);

/* The bytes of a string. */
struct slice json_text(const struct json *string);

/* Append the compact text of `j`. */
void json_write(const struct json *j, struct buf *out);

#endif
