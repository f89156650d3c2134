#include "util/id.h"

#include "util/assert.h"

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static void put_u64(uint64_t v, char *out)
{
    for (int i = 7; i >= 0; i--, v >>= 8)
        out[i] = (char)(unsigned char)v;
}

static uint64_t get_u64(const char *in)
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v = v << 8 | (unsigned char)in[i];
    return v;
}

void id_put(struct id a, char out[ID_BYTES])
{
    put_u64(a.hi, out);
    put_u64(a.lo, out + 8);
}

struct id id_get(const char in[ID_BYTES])
{
    return (struct id){get_u64(in), get_u64(in + 8)};
}

/* 130 bits of digits for 128 bits of id: the first digit holds three. */
void id_text(struct id a, char out[ID_TEXT])
{
    uint64_t hi = a.hi, lo = a.lo;
    for (int i = ID_TEXT - 1; i >= 0; i--) {
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
    if (text.len != ID_TEXT)
        return false;
    uint64_t hi = 0, lo = 0;
    for (size_t i = 0; i < ID_TEXT; i++) {
        int v = digit_value(text.data[i]);
        if (v < 0 || (i == 0 && v > 7))
            return false;
        hi = hi << 5 | lo >> 59;
        lo = lo << 5 | (uint64_t)v;
    }
    *out = (struct id){hi, lo};
    return true;
}
