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
