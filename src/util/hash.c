#include "util/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash64(struct slice s)
{
    return XXH3_64bits(s.data, s.len);
}

uint64_t hash64_seed(struct slice s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.data, s.len, seed);
}

/* Half a byte at a time: small, and fast enough for files of some kilobytes. */
uint32_t crc32c(uint32_t crc, struct slice s)
{
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    crc = ~crc;
    for (size_t i = 0; i < s.len; i++) {
        crc ^= (unsigned char)s.data[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

uint16_t crc16(struct slice s)
{
    uint16_t crc = 0;
    for (size_t i = 0; i < s.len; i++) {
        crc = (uint16_t)(crc ^ ((unsigned)(unsigned char)s.data[i] << 8));
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)((crc & 0x8000) ? ((unsigned)crc << 1) ^ 0x1021
                                            : (unsigned)crc << 1);
    }
    return crc;
}

uint16_t key_slot(struct slice key)
{
    const char *open = key.len ? memchr(key.data, '{', key.len) : NULL;
    if (open != NULL) {
        size_t left = key.len - (size_t)(open - key.data) - 1;
        const char *close = memchr(open + 1, '}', left);
        if (close != NULL && close > open + 1)
            key = slice_of(open + 1, (size_t)(close - open) - 1);
    }
    return crc16(key) & 16383;
}
