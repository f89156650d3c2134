/* What one record of a MANIFEST adds to the list of tables.
 *
 *     tag | value | tag | value | ...
 *
 * Numbers are varints; a text has its length in front. A table's value goes on
 * until a tag 1 of its own. We know the tags that RocksDB writes up to the last
 * table of a record, and give up at any other.
 */
#include "store/rocks.h"

enum {
    TAG_COMPARATOR = 1,
    TAG_LOG = 2,
    TAG_NEXT_FILE = 3,
    TAG_LAST_SEQUENCE = 4,
    TAG_CURSOR = 5,
    TAG_GONE_TABLE = 6,
    TAG_PREVIOUS_LOG = 9,
    TAG_LEAST_LOG = 10,
    TAG_NEW_TABLE = 103,
    TAG_FAMILY = 200,
    TAG_MAX_FAMILY = 203,
    TABLE_ENDS = 1,
};

void rocks_add_varint(struct buf *to, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_add_char(to, (char)(v | 0x80));
    buf_add_char(to, (char)v);
}

bool rocks_varint(struct slice *from, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && from->len > 0; shift += 7) {
        unsigned char c = (unsigned char)*from->data++;
        from->len--;
        *out |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return true;
    }
    return false;
}

static bool skip_number(struct slice *s)
{
    uint64_t n;
    return rocks_varint(s, &n);
}

static bool skip_text(struct slice *s)
{
    uint64_t len;
    if (!rocks_varint(s, &len) || len > s->len)
        return false;
    *s = slice_of(s->data + len, s->len - (size_t)len);
    return true;
}

/* Level, number, size, first and last key, two sequence numbers, and more. */
static bool take_table(struct slice *s, uint64_t *number)
{
    uint64_t tag = 0;
    if (!skip_number(s) || !rocks_varint(s, number) || !skip_number(s) ||
        !skip_text(s) || !skip_text(s) || !skip_number(s) || !skip_number(s))
        return false;
    while (rocks_varint(s, &tag) && tag != TABLE_ENDS)
        if (!skip_text(s))
            return false;
    return tag == TABLE_ENDS;
}

/* The value of a tag other than a table's; false: we do not know the tag. */
static bool skip_value(struct slice *record, uint64_t tag)
{
    switch (tag) {
    case TAG_COMPARATOR:
        return skip_text(record);
    case TAG_CURSOR:
        return skip_number(record) && skip_text(record);
    case TAG_GONE_TABLE:
        return skip_number(record) && skip_number(record);
    case TAG_LOG:
    case TAG_NEXT_FILE:
    case TAG_LAST_SEQUENCE:
    case TAG_PREVIOUS_LOG:
    case TAG_LEAST_LOG:
    case TAG_FAMILY:
    case TAG_MAX_FAMILY:
        return skip_number(record);
    default:
        return false;
    }
}

bool rocks_edit_next(struct slice *record, uint64_t *table)
{
    uint64_t tag;
    while (rocks_varint(record, &tag)) {
        if (tag == TAG_NEW_TABLE)
            return take_table(record, table);
        if (!skip_value(record, tag))
            return false;
    }
    return false;
}

/* --- giving tables a sequence number ---------------------------------------
 */

static void add_text(struct buf *to, struct slice text)
{
    rocks_add_varint(to, text.len);
    buf_add_slice(to, text);
}

/* A key has its sequence number and its kind behind it, in eight bytes. */
static bool add_key(struct buf *to, struct slice *from, uint64_t sequence)
{
    uint64_t len;
    if (!rocks_varint(from, &len) || len < 8 || len > from->len)
        return false;
    add_text(to, slice_of(from->data, (size_t)len));
    for (size_t i = 0; i < 7; i++)
        to->data[to->len - 7 + i] = (char)(sequence >> 8 * i);
    *from = slice_of(from->data + len, from->len - (size_t)len);
    return true;
}

static bool add_table(struct buf *to, struct slice *from,
                      const struct edit_sequences *s)
{
    struct slice rest = *from;
    const char *begin = from->data;
    uint64_t number, sequence;
    if (!take_table(from, &number))
        return false;
    sequence = s->of(s->ud, number);
    if (sequence == 0) {
        buf_add(to, begin, (size_t)(from->data - begin));
        return true;
    }
    if (!skip_number(&rest) || !skip_number(&rest) || !skip_number(&rest))
        return false;
    buf_add(to, begin, (size_t)(rest.data - begin));
    if (!add_key(to, &rest, sequence) || !add_key(to, &rest, sequence) ||
        !skip_number(&rest) || !skip_number(&rest))
        return false;
    rocks_add_varint(to, sequence);
    rocks_add_varint(to, sequence);
    buf_add(to, rest.data, (size_t)(from->data - rest.data));
    return true;
}

bool rocks_edit_number(struct slice record, const struct edit_sequences *s,
                       struct buf *out)
{
    while (record.len > 0) {
        const char *begin = record.data;
        struct slice value;
        uint64_t tag, last;
        if (!rocks_varint(&record, &tag))
            return false;
        value = record;
        if (tag == TAG_NEW_TABLE) {
            rocks_add_varint(out, tag);
            if (!add_table(out, &record, s))
                return false;
        } else if (!skip_value(&record, tag)) {
            record = slice_of(value.data + value.len, 0);
            buf_add(out, begin, (size_t)(record.data - begin));
        } else if (tag == TAG_LAST_SEQUENCE) {
            rocks_varint(&value, &last);
            rocks_add_varint(out, tag);
            rocks_add_varint(out, last < s->last ? s->last : last);
        } else {
            buf_add(out, begin, (size_t)(record.data - begin));
        }
    }
    return true;
}
