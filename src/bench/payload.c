#include "bench/payload.h"

#include "util/assert.h"
#include "util/rng.h"

/* Beyond the reach of LZ4 (64 KB) and of a block of RocksDB, so that two jobs
 * that one of them sees together share no text. One job's stands behind the
 * other's: random places would cost the generator a fifth of its time. */
#define PLACES ((size_t)1 << 20)

void payload_init(struct payload *p, uint32_t size, uint64_t seed)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    ASSERT(size >= PAYLOAD_HEAD);
    *p = (struct payload){0};
    struct rng rng;
    rng_seed(&rng, seed);
    size_t text = size - PAYLOAD_HEAD;
    for (size_t i = 0; i < PLACES + text; i += 8) {
        uint64_t bits = rng_next(&rng);
        for (int k = 0; k < 8; k++, bits >>= 6)
            buf_add_char(&p->pool, letters[bits & 63]);
    }
    for (size_t i = 0; i < size; i++)
        buf_add_char(&p->body, ' ');
}

void payload_release(struct payload *p)
{
    buf_release(&p->body);
    buf_release(&p->pool);
}

struct slice payload_next(struct payload *p, uint64_t stamp)
{
    char *at = p->body.data + PAYLOAD_HEAD - 1;
    size_t text = p->body.len - PAYLOAD_HEAD;
    memcpy(at + 1, p->pool.data + p->place, text);
    p->place = (p->place + text) % PLACES;
    for (int i = 0; i < PAYLOAD_HEAD - 1; i++) {
        *--at = (char)('0' + stamp % 10);
        stamp /= 10;
    }
    return buf_slice(&p->body);
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
