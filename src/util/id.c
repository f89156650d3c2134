#include "util/id.h"

#include "util/assert.h"

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static void put_u64(uint64_t v, unsigned char *out)
{
    v = __builtin_bswap64(v);
    memcpy(out, &v, 8);
}

struct id id_make(uint64_t ms, uint16_t slot, uint32_t start, uint32_t counter)
{
    struct id id;
    put_u64(ms << 16 | slot, id.bytes);
    put_u64((uint64_t)start << 32 | counter, id.bytes + 8);
    return id;
}

/* 130 bits of digits for 128 bits of id: the first digit holds three. */
void id_text(const struct id *id, char out[ID_TEXT_LEN])
{
    uint64_t hi = id_word(id, 0), lo = id_word(id, 8);
    for (int i = ID_TEXT_LEN - 1; i >= 0; i--) {
        out[i] = digits[lo & 31];
        lo = lo >> 5 | hi << 59;
        hi >>= 5;
    }
    ASSERT((hi | lo) == 0);
}

/* The value of each digit plus one; 0: not a digit. */
#define BOTH(upper, lower, v) [upper] = (v) + 1, [lower] = (v) + 1
static const unsigned char values[256] = {
    ['0'] = 1,          ['1'] = 2,          ['2'] = 3,
    ['3'] = 4,          ['4'] = 5,          ['5'] = 6,
    ['6'] = 7,          ['7'] = 8,          ['8'] = 9,
    ['9'] = 10,         BOTH('O', 'o', 0),  BOTH('I', 'i', 1),
    BOTH('L', 'l', 1),  BOTH('A', 'a', 10), BOTH('B', 'b', 11),
    BOTH('C', 'c', 12), BOTH('D', 'd', 13), BOTH('E', 'e', 14),
    BOTH('F', 'f', 15), BOTH('G', 'g', 16), BOTH('H', 'h', 17),
    BOTH('J', 'j', 18), BOTH('K', 'k', 19), BOTH('M', 'm', 20),
    BOTH('N', 'n', 21), BOTH('P', 'p', 22), BOTH('Q', 'q', 23),
    BOTH('R', 'r', 24), BOTH('S', 's', 25), BOTH('T', 't', 26),
    BOTH('V', 'v', 27), BOTH('W', 'w', 28), BOTH('X', 'x', 29),
    BOTH('Y', 'y', 30), BOTH('Z', 'z', 31),
};
#undef BOTH

bool id_parse(struct slice text, struct id *out)
{
    if (text.len != ID_TEXT_LEN)
        return false;
    uint64_t hi = 0, lo = 0;
    for (size_t i = 0; i < ID_TEXT_LEN; i++) {
        unsigned v = values[(unsigned char)text.data[i]];
        if (v == 0 || (i == 0 && v > 8))
            return false;
        hi = hi << 5 | lo >> 59;
        lo = lo << 5 | (v - 1);
    }
    put_u64(hi, out->bytes);
    put_u64(lo, out->bytes + 8);
    return true;
}
