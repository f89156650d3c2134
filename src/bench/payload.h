/* Payloads: random text, another for each job, so that a server that
 * compresses is not flattered, behind a head that tells jobs apart and carries
 * a stamp: 20 digits and a blank.
 *
 * The text is the next slice of a pool: to draw each letter anew would measure
 * the client. */
#ifndef BENCH_PAYLOAD_H
#define BENCH_PAYLOAD_H

#include <stdint.h>

#include "util/buf.h"

#define PAYLOAD_HEAD 21

struct payload {
    struct buf body;
    struct buf pool;
    size_t place; /* of the next text */
};

void payload_init(struct payload *p, uint32_t size, uint64_t seed);
void payload_release(struct payload *p);

/* The next job's, valid until the one after it. The stamp is a time, or a
 * number. */
struct slice payload_next(struct payload *p, uint64_t stamp);

/* 0 if there is none. */
uint64_t payload_stamp(struct slice payload);

#endif
