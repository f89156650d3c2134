#include "util/id.h"

#include "util/assert.h"

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/* All pairs of two digits, in order. */
#define PAIRS_1(a)                                                            \
    a "0" a "1" a "2" a "3" a "4" a "5" a "6" a "7" a "8" a "9" a "A" a "B" a \
      "C" a "D" a "E" a "F" a "G" a "H" a "J" a "K" a "M" a "N" a "P" a "Q" a \
      "R" a "S" a "T" a "V" a "W" a "X" a "Y" a "Z"
#define PAIRS_8(a, b, c, d, e, f, g, h) \
    PAIRS_1(a)                          \
    PAIRS_1(b) PAIRS_1(c) PAIRS_1(d) PAIRS_1(e) PAIRS_1(f) PAIRS_1(g) PAIRS_1(h)
static const char pairs[] = PAIRS_8("0", "1", "2", "3", "4", "5", "6", "7")
    PAIRS_8("8", "9", "A", "B", "C", "D", "E", "F")
        PAIRS_8("G", "H", "J", "K", "M", "N", "P", "Q")
            PAIRS_8("R", "S", "T", "V", "W", "X", "Y", "Z");

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

/* Each life of a job prints and reads its id some times: the loops are laid
 * out straight. */
#define UNROLL _Pragma("GCC unroll 13")

/* 130 bits of digits for 128 bits of id: the first digit holds three. */
void id_text(const struct id *id, char out[ID_TEXT_LEN])
{
    uint64_t hi = id_word(id, 0), lo = id_word(id, 8);
    /* Twelve digits of the low word, one of both, thirteen of the high one. */
    UNROLL
    for (int i = 0; i < 6; i++)
        memcpy(out + 24 - 2 * i, pairs + 2 * (lo >> (10 * i) & 1023), 2);
    out[13] = digits[lo >> 60 | (hi & 1) << 4];
    UNROLL
    for (int i = 0; i < 6; i++)
        memcpy(out + 11 - 2 * i, pairs + 2 * (hi >> (10 * i + 1) & 1023), 2);
    out[0] = digits[hi >> 61];
}

/* The value of each digit, and that it is one. */
#define DIGIT 32
#define BOTH(upper, lower, v) [upper] = DIGIT | (v), [lower] = DIGIT | (v)
static const unsigned char values[256] = {
    ['1'] = DIGIT | 1,  ['2'] = DIGIT | 2,  ['3'] = DIGIT | 3,
    ['4'] = DIGIT | 4,  ['5'] = DIGIT | 5,  ['6'] = DIGIT | 6,
    ['7'] = DIGIT | 7,  ['8'] = DIGIT | 8,  ['9'] = DIGIT | 9,
    ['0'] = DIGIT,      BOTH('O', 'o', 0),  BOTH('I', 'i', 1),
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
    const unsigned char *at = (const unsigned char *)text.data;
    uint64_t hi = 0, lo = 0;
    unsigned all = DIGIT;
    UNROLL
    for (size_t i = 0; i < 13; i++) {
        unsigned v = values[at[i]];
        all &= v;
        hi = hi << 5 | (v & 31);
    }
    unsigned both = values[at[13]]; /* one bit of `hi`, four of `lo` */
    all &= both;
    hi = hi << 1 | (both >> 4 & 1);
    lo = both & 15;
    UNROLL
    for (size_t i = 14; i < ID_TEXT_LEN; i++) {
        unsigned v = values[at[i]];
        all &= v;
        lo = lo << 5 | (v & 31);
    }
    if (all == 0 || (values[at[0]] & 31) > 7)
        return false;
    put_u64(hi, out->bytes);
    put_u64(lo, out->bytes + 8);
    return true;
}
