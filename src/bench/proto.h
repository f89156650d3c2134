/* How each server says add, lease and acknowledge.
 *
 * The loops know no protocol: they append requests through this table and take
 * replies through it, so each server is loaded by the same client.
 */
#ifndef BENCH_PROTO_H
#define BENCH_PROTO_H

#include "bench/conn.h"

struct rng;

/* One job to be added. */
struct new_job {
    struct slice payload;
    uint64_t seq;
    uint64_t at_ms; /* wall time at which it is due, 0 = now */
    struct rng *rng;
};

struct proto {
    const char *name;
    bool resp;     /* speaks Redis' protocol */
    bool blocking; /* has a lease that waits */
    /* Commands for the first connection; NULL if none. */
    enum err (*setup)(struct conn *c, struct errbuf *e);
    /* One reply each. */
    void (*add)(struct conn *c, const struct new_job *job);
    /* Ask for up to `n` jobs; returns the number of replies to come. */
    uint32_t (*lease)(struct conn *c, uint32_t n, uint64_t block_ms);
    /* Acknowledge all that `held` names; returns the number of replies. */
    uint32_t (*ack)(struct conn *c);
    /* Take one reply off `in`. */
    enum scan_state (*read)(struct conn *c, struct slice in, size_t *used);
};

extern const struct proto proto_belfry;
extern const struct proto proto_redis_stream;
extern const struct proto proto_redis_list;
extern const struct proto proto_beanstalkd;

const struct proto *proto_find(const char *name);

/* Requests of Redis' protocol. */
void proto_array(struct buf *out, size_t words);
void proto_bulk(struct buf *out, struct slice s);
void proto_bulk_u64(struct buf *out, uint64_t n);
/* `line`, split at blanks, as one command. */
void proto_line(struct buf *out, const char *line);
/* How many words `line` has. */
size_t proto_words(const char *line);
/* Append the words of `line` as bulks. */
void proto_add_words(struct buf *out, const char *line);

#endif
