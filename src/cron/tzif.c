#include "cron/tzif.h"

#include "cron/zone.h"
#include "util/alloc.h"
#include "util/parse.h"

/* The happy path: read the first header; for version 2 and later skip its
 * block and read the second header; check types, then changes, in order; then
 * continue the table by the footer's rule.
 *
 * Everything else is ERR_CORRUPT: short, bad magic, counts that do not add up,
 * times out of order, an index behind the types, an offset beyond 26 hours,
 * leap seconds, a footer that is not a rule. */

#define HEADER_LEN 44

/* RFC 9636 allows -2^59 and zic writes it; arithmetic stays safe below 2^60. */
#define TIME_FAR ((int64_t)1 << 60)

/* A rule without a stored change is in force from here on, and none is written
 * out for earlier years: before anything that is asked for. */
#define RULE_YEAR_MIN 1800

struct header {
    char version;
    uint64_t isut, isstd, leap, time, type, chars;
};

void tz_table_init(struct tz_table *t, int32_t offset)
{
    *t = (struct tz_table){.cap = 16};
    t->at = mem_alloc(t->cap * sizeof(t->at[0]));
    t->offset = mem_alloc((t->cap + 1) * sizeof(t->offset[0]));
    t->offset[0] = offset;
}

void tz_table_release(struct tz_table *t)
{
    FREE(&t->at);
    FREE(&t->offset);
    t->len = t->cap = 0;
}

void tz_table_add(struct tz_table *t, int64_t at, int32_t offset)
{
    if (t->len > 0 && t->at[t->len - 1] == at)
        t->len--;
    ASSERT(t->len == 0 || t->at[t->len - 1] < at);
    if (t->offset[t->len] == offset)
        return;
    if (t->len == t->cap) {
        t->cap *= 2;
        t->at = mem_realloc(t->at, t->cap * sizeof(t->at[0]));
        t->offset = mem_realloc(t->offset, (t->cap + 1) * sizeof(t->offset[0]));
    }
    t->at[t->len++] = at;
    t->offset[t->len] = offset;
}

static uint32_t be32(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 |
           u[3];
}

static int64_t be64(const char *p)
{
    return (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4));
}

/* Take `n` bytes off the front of *s. */
static bool take(struct slice *s, uint64_t n, const char **out)
{
    if (n > s->len)
        return false;
    *out = s->data;
    *s = slice_of(s->data + n, s->len - n);
    return true;
}

static enum err header_read(struct slice *s, struct header *h, struct errbuf *e)
{
    const char *p;
    if (!take(s, HEADER_LEN, &p))
        return err_set(e, ERR_CORRUPT, "shorter than a TZif header");
    if (memcmp(p, "TZif", 4) != 0)
        return err_set(e, ERR_CORRUPT, "not a TZif file");
    *h = (struct header){.version = p[4],
                         .isut = be32(p + 20),
                         .isstd = be32(p + 24),
                         .leap = be32(p + 28),
                         .time = be32(p + 32),
                         .type = be32(p + 36),
                         .chars = be32(p + 40)};
    if (h->version != 0 && (h->version < '2' || h->version > '4'))
        return err_set(e, ERR_CORRUPT, "TZif version %d is not known",
                       h->version);
    return ERR_OK;
}

static uint64_t block_len(const struct header *h, uint64_t time_size)
{
    return h->time * (time_size + 1) + h->type * 6 + h->chars +
           h->leap * (time_size + 4) + h->isstd + h->isut;
}

static int32_t type_offset(const char *types, uint64_t i)
{
    return (int32_t)be32(types + i * 6);
}

/* The changes of one block, each checked. */
static enum err changes_read(const char *p, const struct header *h,
                             uint64_t time_size, struct tz_table *t,
                             struct errbuf *e)
{
    const char *index = p + h->time * time_size;
    const char *types = index + h->time;
    for (uint64_t i = 0; i < h->type; i++) {
        int32_t offset = type_offset(types, i);
        if (offset < -ZONE_OFFSET_MAX || offset > ZONE_OFFSET_MAX)
            return err_set(e, ERR_CORRUPT, "type %u has an offset of %d s",
                           (unsigned)i, offset);
    }
    tz_table_init(t, type_offset(types, 0));
    int64_t last = INT64_MIN;
    for (uint64_t i = 0; i < h->time; i++) {
        const char *q = p + i * time_size;
        int64_t at = time_size == 8 ? be64(q) : (int32_t)be32(q);
        unsigned type = (unsigned char)index[i];
        if (at < -TIME_FAR || at > TIME_FAR)
            return err_set(e, ERR_CORRUPT, "change %u is out of all bounds",
                           (unsigned)i);
        if (i > 0 && at <= last)
            return err_set(e, ERR_CORRUPT, "change %u is not after the last",
                           (unsigned)i);
        if (type >= h->type)
            return err_set(e, ERR_CORRUPT, "change %u names type %u of %u",
                           (unsigned)i, type, (unsigned)h->type);
        last = at;
        tz_table_add(t, at, type_offset(types, type));
    }
    return ERR_OK;
}

static enum err footer_read(struct slice s, bool any_change, int64_t last,
                            struct tz_table *t, struct errbuf *e)
{
    const char *end = s.len < 2 || s.data[0] != '\n'
                          ? NULL
                          : memchr(s.data + 1, '\n', s.len - 1);
    if (end == NULL)
        return err_set(e, ERR_CORRUPT, "the footer is missing");
    struct slice text = slice_of(s.data + 1, (size_t)(end - s.data) - 1);
    if (text.len == 0)
        return ERR_OK; /* the last offset stays */
    struct tz_rule rule;
    enum err rc = tz_rule_parse(text, &rule, e);
    if (rc != ERR_OK)
        return rc;
    int64_t year = RULE_YEAR_MIN;
    if (any_change) {
        unsigned month, day;
        /* In a year that is cut by a change the rule is not yet in force at
         * its beginning; what lies before `last` is left out. */
        civil_from_days(last / 86400 - 1, &year, &month, &day);
        if (year < RULE_YEAR_MIN)
            year = RULE_YEAR_MIN;
    }
    tz_rule_expand(&rule, year, any_change ? last : INT64_MIN, t);
    return ERR_OK;
}

enum err tzif_decode(struct slice bytes, struct tz_table *out, struct errbuf *e)
{
    struct tz_table t = {0};
    struct header h;
    const char *block;
    uint64_t time_size = 4;
    enum err rc = header_read(&bytes, &h, e);
    if (rc != ERR_OK)
        goto out;
    rc = ERR_CORRUPT;
    if (h.version != 0) {
        if (!take(&bytes, block_len(&h, 4), &block)) {
            (void)err_set(e, rc, "shorter than its header says");
            goto out;
        }
        rc = header_read(&bytes, &h, e);
        if (rc != ERR_OK)
            goto out;
        time_size = 8;
        rc = ERR_CORRUPT;
    }
    if (!take(&bytes, block_len(&h, time_size), &block)) {
        (void)err_set(e, rc, "shorter than its header says");
        goto out;
    }
    if (h.type == 0 || h.type > 256) {
        (void)err_set(e, rc, "%u local time types; 1 to 256 are allowed",
                      (unsigned)h.type);
        goto out;
    }
    if (h.leap > 0) {
        (void)err_set(e, rc,
                      "it counts leap seconds, which unix time does "
                      "not");
        goto out;
    }
    rc = changes_read(block, &h, time_size, &t, e);
    if (rc != ERR_OK)
        goto out;
    if (time_size == 8) {
        const char *at = block + (h.time > 0 ? h.time - 1 : 0) * 8;
        rc = footer_read(bytes, h.time > 0, h.time > 0 ? be64(at) : 0, &t, e);
        if (rc != ERR_OK)
            goto out;
    }
    *out = t;
    t = (struct tz_table){0};

out:
    tz_table_release(&t);
    return rc;
}
