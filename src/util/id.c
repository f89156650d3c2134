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

/* The value of a digit, or -1. */
static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'z')
        c = (char)(c - 'a' + 'A');
    switch (c) {
    case 'O':
        return 0;
    case 'I':
    case 'L':
        return 1;
    default:
        break;
    }
    for (int i = 10; i < 32; i++)
        if (digits[i] == c)
            return i;
    return -1;
}

bool id_parse(struct slice text, struct id *out)
{
    if (text.len != ID_TEXT_LEN)
        return false;
    uint64_t hi = 0, lo = 0;
    for (size_t i = 0; i < ID_TEXT_LEN; i++) {
        int v = digit_value(text.data[i]);
        if (v < 0 || (i == 0 && v > 7))
            return false;
        hi = hi << 5 | lo >> 59;
        lo = lo << 5 | (uint64_t)v;
    }
    put_u64(hi, out->bytes);
    put_u64(lo, out->bytes + 8);
    return true;
}
