#include "store/entry.h"

static const char *const names[FAMILIES] = {
#define FAMILY(NAME, number, name, what) [number] = name,
#include "store/families.def"
#undef FAMILY
};

const char *family_name(enum family f)
{
    ASSERT(f < FAMILIES);
    return names[f];
}

bool family_has_buckets(enum family f)
{
    return f == FAMILY_DONE || f == FAMILY_PAST || f == FAMILY_INDEX ||
           f == FAMILY_LOGS;
}

/* The heads of entries and changes are copied as they stand in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little-endian");

void entry_write_head(char *at, uint32_t changes, uint64_t wall_ms)
{
    uint32_t version = ENTRY_VERSION;
    memcpy(at, &version, 4);
    memcpy(at + 4, &changes, 4);
    memcpy(at + 8, &wall_ms, 8);
}

enum err entry_open(struct entry_reader *r, struct slice entry,
                    struct errbuf *e)
{
    uint32_t version;
    if (entry.len < ENTRY_HEAD)
        return err_set(e, ERR_CORRUPT, "an entry of %zu bytes has no head",
                       entry.len);
    memcpy(&version, entry.data, 4);
    if (version != ENTRY_VERSION)
        return err_set(e, ERR_CORRUPT, "entry version %u, we know %d", version,
                       ENTRY_VERSION);
    memcpy(&r->left, entry.data + 4, 4);
    memcpy(&r->wall_ms, entry.data + 8, 8);
    r->begin = entry.data;
    r->at = entry.data + ENTRY_HEAD;
    r->end = entry.data + entry.len;
    return ERR_OK;
}

/* What the table in entry.h allows; NULL if it does. */
static const char *what_is_wrong(const struct change *c)
{
    if (c->op < CHANGE_PUT || c->op > CHANGE_EVENT)
        return "unknown kind of change";
    if (c->op == CHANGE_EVENT)
        return c->family != 0 || c->key.len > 0 ? "an event with a key" : NULL;
    if (c->family >= FAMILIES)
        return "unknown family";
    if (c->op == CHANGE_RANGE)
        return c->value.len > 0 && slice_cmp(c->key, c->value) >= 0
                   ? "a range that ends before it begins"
                   : NULL;
    if (c->key.len == 0)
        return "an empty key";
    if (c->op == CHANGE_DEL)
        return c->value.len > 0 ? "a delete with a value" : NULL;
    return c->value.len == 0 ? "an empty value" : NULL;
}

static enum err next(struct entry_reader *r, struct change *out,
                     struct errbuf *e)
{
    size_t room = (size_t)(r->end - r->at);
    const char *why;

    if (r->left == 0) {
        if (room > 0)
            return err_set(e, ERR_CORRUPT,
                           "%zu bytes behind the last change of an entry",
                           room);
        return ERR_EMPTY;
    }
    if (room < CHANGE_HEAD)
        return err_set(e, ERR_CORRUPT, "an entry ends inside a change");
    struct change_head h = change_head(r->at);
    if (room - CHANGE_HEAD < (uint64_t)h.key_len + h.value_len)
        return err_set(e, ERR_CORRUPT,
                       "a change of %u + %u bytes where %zu are left",
                       h.key_len, h.value_len, room - CHANGE_HEAD);
    out->op = (enum change_op)h.op;
    out->family = (enum family)h.family;
    out->at = r->at;
    out->key = change_key(r->at);
    out->value = change_value(r->at);
    why = what_is_wrong(out);
    if (why != NULL)
        return err_set(e, ERR_CORRUPT, "%s (op %u, family %u, key of %u bytes)",
                       why, h.op, h.family, h.key_len);
    r->at += change_size(h.key_len, h.value_len);
    r->left--;
    return ERR_OK;
}

enum err entry_next(struct entry_reader *r, struct change *out,
                    struct errbuf *e)
{
    enum err rc = next(r, out, e);
    if (rc == ERR_CORRUPT)
        err_wrap(e, "byte %zu", (size_t)(r->at - r->begin));
    return rc;
}

enum err entry_check(struct slice entry, struct errbuf *e)
{
    struct entry_reader r;
    struct change c;
    enum err rc = entry_open(&r, entry, e);
    while (rc == ERR_OK)
        rc = entry_next(&r, &c, e);
    return rc == ERR_EMPTY ? ERR_OK : rc;
}
