#include "util/json.h"

#include <jansson.h>
#include <stdlib.h>

#include "util/alloc.h"

/* A `struct json` is a json_t under another name, so that jansson stays in
 * this file. */
static const json_t *in(const struct json *j)
{
    return (const json_t *)(const void *)j;
}

static const struct json *out_of(const json_t *j)
{
    return (const struct json *)(const void *)j;
}

/* The parser recurses per level, so levels are counted before it runs. */
static bool too_deep(struct slice text)
{
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > JSON_DEPTH_MAX)
                return true;
        } else if (c == ']' || c == '}') {
            depth--;
        }
    }
    return false;
}

enum err json_parse(struct slice text, size_t len_max, struct json **out,
                    struct errbuf *e)
{
    *out = NULL;
    if (text.len > len_max)
        return err_set(e, ERR_LIMIT, "JSON of %zu bytes is over %zu", text.len,
                       len_max);
    if (too_deep(text))
        return err_set(e, ERR_LIMIT, "JSON is nested more than %d deep",
                       JSON_DEPTH_MAX);
    json_error_t why;
    json_t *j = json_loadb(text.len > 0 ? text.data : "", text.len,
                           JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (j == NULL)
        return err_set(e, ERR_SYNTAX, "not JSON at byte %d: %s", why.position,
                       why.text);
    *out = (struct json *)(void *)j;
    return ERR_OK;
}

void json_free(struct json **j)
{
    if (*j != NULL)
        json_decref((json_t *)(void *)*j);
    *j = NULL;
}

bool json_valid(struct slice text, size_t len_max, struct errbuf *e)
{
    struct json *j;
    bool valid = json_parse(text, len_max, &j, e) == ERR_OK;
    json_free(&j);
    return valid;
}

enum json_kind json_kind(const struct json *j)
{
    switch (json_typeof(in(j))) {
    case JSON_OBJECT:
        return JSON_KIND_OBJECT;
    case JSON_ARRAY:
        return JSON_KIND_ARRAY;
    case JSON_STRING:
        return JSON_KIND_STRING;
    case JSON_INTEGER:
        return JSON_KIND_INT;
    case JSON_REAL:
        return JSON_KIND_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return JSON_KIND_BOOL;
    case JSON_NULL:
        break;
    }
    return JSON_KIND_NULL;
}

static const char *kind_name(enum json_kind kind)
{
    static const char *const names[] = {
        [JSON_KIND_NULL] = "null",       [JSON_KIND_BOOL] = "a boolean",
        [JSON_KIND_INT] = "an integer",  [JSON_KIND_REAL] = "a number",
        [JSON_KIND_STRING] = "a string", [JSON_KIND_ARRAY] = "an array",
        [JSON_KIND_OBJECT] = "an object"};
    return names[kind];
}

size_t json_len(const struct json *array)
{
    return json_array_size(in(array));
}

const struct json *json_at(const struct json *array, size_t i)
{
    return out_of(json_array_get(in(array), i));
}

const struct json *json_get(const struct json *object, const char *name)
{
    return out_of(json_object_get(in(object), name));
}

static enum err wrong(const char *name, const char *want, const struct json *j,
                      struct errbuf *e)
{
    return err_set(e, ERR_SYNTAX, "field '%s' must be %s, not %s", name, want,
                   kind_name(json_kind(j)));
}

/* *field is NULL if there is nothing to read. */
static enum err find(const struct json *object, const char *name,
                     enum json_need need, enum json_kind want,
                     const struct json **field, struct errbuf *e)
{
    *field = NULL;
    if (json_kind(object) != JSON_KIND_OBJECT)
        return err_set(e, ERR_SYNTAX, "an object is wanted, not %s",
                       kind_name(json_kind(object)));
    const struct json *j = json_get(object, name);
    if (j == NULL || json_kind(j) == JSON_KIND_NULL) {
        if (need == JSON_REQUIRED)
            return err_set(e, ERR_SYNTAX, "field '%s' is missing", name);
        return ERR_OK;
    }
    bool number = want == JSON_KIND_REAL && json_kind(j) == JSON_KIND_INT;
    if (json_kind(j) != want && !number)
        return wrong(name, kind_name(want), j, e);
    *field = j;
    return ERR_OK;
}

struct slice json_text(const struct json *string)
{
    return slice_of(json_string_value(in(string)),
                    json_string_length(in(string)));
}

enum err json_get_str(const struct json *object, const char *name,
                      enum json_need need, struct slice *out, struct errbuf *e)
{
    const struct json *j;
    enum err rc = find(object, name, need, JSON_KIND_STRING, &j, e);
    if (rc == ERR_OK && j != NULL)
        *out = json_text(j);
    return rc;
}

enum err json_get_i64(const struct json *object, const char *name,
                      enum json_need need, int64_t *out, struct errbuf *e)
{
    const struct json *j;
    enum err rc = find(object, name, need, JSON_KIND_INT, &j, e);
    if (rc == ERR_OK && j != NULL)
        *out = (int64_t)json_integer_value(in(j));
    return rc;
}

enum err json_get_u64(const struct json *object, const char *name,
                      enum json_need need, uint64_t *out, struct errbuf *e)
{
    int64_t v = -1;
    enum err rc = json_get_i64(object, name, need, &v, e);
    if (rc != ERR_OK)
        return rc;
    const struct json *j = json_get(object, name);
    if (j == NULL || json_kind(j) == JSON_KIND_NULL)
        return ERR_OK;
    if (v < 0)
        return err_set(e, ERR_SYNTAX, "field '%s' must not be negative", name);
    *out = (uint64_t)v;
    return ERR_OK;
}

enum err json_get_double(const struct json *object, const char *name,
                         enum json_need need, double *out, struct errbuf *e)
{
    const struct json *j;
    enum err rc = find(object, name, need, JSON_KIND_REAL, &j, e);
    if (rc == ERR_OK && j != NULL)
        *out = json_number_value(in(j));
    return rc;
}

enum err json_get_bool(const struct json *object, const char *name,
                       enum json_need need, bool *out, struct errbuf *e)
{
    const struct json *j;
    enum err rc = find(object, name, need, JSON_KIND_BOOL, &j, e);
    if (rc == ERR_OK && j != NULL)
        *out = json_is_true(in(j));
    return rc;
}

enum err json_get_array(const struct json *object, const char *name,
                        enum json_need need, const struct json **out,
                        struct errbuf *e)
{
    const struct json *j;
    enum err rc = find(object, name, need, JSON_KIND_ARRAY, &j, e);
    if (rc == ERR_OK && j != NULL)
        *out = j;
    return rc;
}

enum err json_get_object(const struct json *object, const char *name,
                         enum json_need need, const struct json **out,
                         struct errbuf *e)
{
    const struct json *j;
    enum err rc = find(object, name, need, JSON_KIND_OBJECT, &j, e);
    if (rc == ERR_OK && j != NULL)
        *out = j;
    return rc;
}

enum err json_only(const struct json *object, const char *const *names,
                   struct errbuf *e)
{
    /* jansson's iterators take a pointer that is not const; they only read. */
    json_t *o = (json_t *)(uintptr_t)object;
    for (void *it = json_object_iter(o); it != NULL;
         it = json_object_iter_next(o, it)) {
        const char *key = json_object_iter_key(it);
        size_t i = 0;
        while (names[i] != NULL && strcmp(names[i], key) != 0)
            i++;
        if (names[i] == NULL)
            return err_set(e, ERR_SYNTAX, "unknown field '%.64s'", key);
    }
    return ERR_OK;
}

static int append(const char *bytes, size_t len, void *ud)
{
    struct buf *out = ud;
    buf_add(out, bytes, len);
    return 0;
}

void json_write(const struct json *j, struct buf *out)
{
    /* A value that was read can be written: it can only be memory. */
    if (json_dump_callback(in(j), append, out,
                           JSON_COMPACT | JSON_ENCODE_ANY) != 0)
        mem_refused("JSON");
}
