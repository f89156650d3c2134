#include "store/record.h"

/* The shortest form only (invariant 1): otherwise two byte strings would mean
 * the same record and golden bytes would prove little. */
static uint64_t get_bytewise(struct record_reader *in)
{
    const char *at = in->at;
    size_t most = in->bad ? 0 : (size_t)(in->end - at);
    uint64_t n = 0;
    if (most > 10)
        most = 10;
    for (size_t i = 0; i < most; i++) {
        uint8_t byte = (uint8_t)at[i];
        n |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            if ((byte == 0 && i > 0) || (i == 9 && byte > 1))
                break;
            in->at = at + i + 1;
            return n;
        }
    }
    in->bad = true;
    return 0;
}

/* Times are most of the numbers that come here: their six bytes lie in eight
 * that can be loaded at once. */
uint64_t record_get_u64_long(struct record_reader *in)
{
    uint64_t n, ends;
    if (in->bad || in->end - in->at < 8)
        return get_bytewise(in);
    memcpy(&n, in->at, 8);
    ends = ~n & 0x8080808080808080;
    if (ends == 0)
        return get_bytewise(in);
    unsigned bits = (unsigned)__builtin_ctzll(ends) + 1; /* of all its bytes */
    n &= UINT64_MAX >> (64 - bits);
    if (bits > 8 && n >> (bits - 8) == 0)
        return get_bytewise(in); /* not the shortest form */
    n = (n & 0x007f007f007f007f) | (n & 0x7f007f007f007f00) >> 1;
    n = (n & 0x00003fff00003fff) | (n & 0x3fff00003fff0000) >> 2;
    n = (n & 0x000000000fffffff) | (n & 0x0fffffff00000000) >> 4;
    in->at += bits / 8;
    return n;
}
