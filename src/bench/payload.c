#include "bench/payload.h"

#include "util/rng.h"

void payload_init(struct buf *b, uint32_t size, uint64_t seed)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    struct rng rng;
    rng_seed(&rng, seed);
    ASSERT(size >= PAYLOAD_HEAD);
    buf_clear(b);
    for (uint32_t i = 0; i < size; i++)
        buf_add_char(b, letters[rng_next(&rng) & 63]);
    payload_set(b, 0);
}

void payload_set(struct buf *b, uint64_t stamp)
{
    char *at = b->data + PAYLOAD_HEAD - 1;
    *at = ' ';
    for (int i = 0; i < PAYLOAD_HEAD - 1; i++) {
        *--at = (char)('0' + stamp % 10);
        stamp /= 10;
    }
}

uint64_t payload_stamp(struct slice payload)
{
    uint64_t n = 0;
    if (payload.len < PAYLOAD_HEAD)
        return 0;
    for (size_t i = 0; i < PAYLOAD_HEAD - 1; i++) {
        if (payload.data[i] < '0' || payload.data[i] > '9')
            return 0;
        n = n * 10 + (uint64_t)(payload.data[i] - '0');
    }
    return n;
}
