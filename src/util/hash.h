/* Hashes and checksums (xxHash behind it), and Redis' slot function. */
#ifndef UTIL_HASH_H
#define UTIL_HASH_H

#include <stdint.h>

#include "util/slice.h"

uint64_t hash64(struct slice s);
uint64_t hash64_seed(struct slice s, uint64_t seed);

/* Of a number, or of several in one. A map looks at the low bits, which a
 * product alone has only from the low bits of `x`. */
static inline uint64_t hash_number(uint64_t x)
{
    x *= (uint64_t)0x9e3779b97f4a7c15u;
    return x ^ x >> 32;
}

/* CRC-32C, as RocksDB's own files use it. `crc` is 0, or what the bytes before
 * these gave. */
uint32_t crc32c(uint32_t crc, struct slice s);

/* CRC16/XMODEM, and the cluster slot (0..16383) of a key with its {tag}. */
uint16_t crc16(struct slice s);
uint16_t key_slot(struct slice key);

#endif
