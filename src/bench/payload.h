/* Payloads: text that does not repeat within a few hundred bytes, so that a
 * server that compresses is not flattered, behind a head that tells jobs apart
 * and carries a stamp: 20 digits and a blank. */
#ifndef BENCH_PAYLOAD_H
#define BENCH_PAYLOAD_H

#include <stdint.h>

#include "util/buf.h"

#define PAYLOAD_HEAD 21

void payload_init(struct buf *b, uint32_t size, uint64_t seed);

/* Write the head. The stamp is a time, or a number. */
void payload_set(struct buf *b, uint64_t stamp);

/* 0 if there is none. */
uint64_t payload_stamp(struct slice payload);

#endif
