#include "commands/rate_value.h"

#include <string.h>

#include "util/parse.h"

/* n/period; a period without a number is one of it: 100/s. */
enum err rate_parse(struct cmd_ctx *c, const char *name, struct slice word,
                    struct rate *out)
{
    uint64_t n = 0, per = 0;
    char one[16] = "1";
    *out = (struct rate){0};
    if (parse_u64(word, &n) && n == 0)
        return ERR_OK;
    const char *slash = memchr(word.data, '/', word.len);
    if (slash != NULL) {
        struct slice left = slice_of(word.data, (size_t)(slash - word.data));
        struct slice right = slice_of(slash + 1, word.len - left.len - 1);
        bool good = parse_u64(left, &n);
        if (right.len > 0 && right.len < 4 &&
            (right.data[0] < '0' || right.data[0] > '9')) {
            memcpy(one + 1, right.data, right.len);
            right = slice_of(one, right.len + 1);
        }
        if (good && parse_duration_ms(right, &per) && n > 0 && per > 0) {
            out->n = n;
            out->per_ms = per;
            return ERR_OK;
        }
    }
    return err_set(&c->e, ERR_SYNTAX,
                   "%s: %s is a number and a time, as in 100/1s, or 0 for "
                   "none; not '%.*s'",
                   c->cmd->name, name, (int)(word.len > 40 ? 40 : word.len),
                   word.data);
}

void reply_rate(struct reply *r, const char *name, const struct rate *rate)
{
    reply_field_int(r, name, (int64_t)rate->n);
    reply_field_int(r, "per_ms", (int64_t)rate->per_ms);
    reply_field_int(r, "burst", (int64_t)rate->burst);
}
